/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONORS_H
#define PARALLEL_CHECKOUT_DONORS_H

/*
 * Other working trees that may have files with the bytes of blobs, so that
 * these need not be written. A lister, which is a process of its own (see
 * donor-list.h), finds out which they are, and which files; the writer opens
 * these and sees whether they are what is said here.
 */

#include "parallel-checkout/item.h"
#include "parallel-checkout/settings.h"
#include "strbuf.h"
#include "strmap.h"

struct strvec;

struct checkout_donors {
	enum checkout_reflink reflink;	/* until they have been looked for */

	/* What the lister has said; paths and files point into it. */
	struct strbuf list;
	unsigned int nr;
	const char *path[CHECKOUT_MAX_DONORS];
	struct strset files[CHECKOUT_MAX_DONORS];

	struct strbuf wanted;	/* the file that is looked for */
};

/* Ask for the configuration. Dies if it makes no sense. */
void donors_init(struct checkout_donors *donors);

void donors_release(struct checkout_donors *donors);

/*
 * Workers are about to be started, that write below `root` files whose names
 * begin with `name_prefix`: look for donors, once, and add the arguments that
 * tell them. Waits for the lister, but not for long.
 */
void donors_add_args(struct checkout_donors *donors, const char *root,
		     const char *name_prefix, struct strvec *args);

/*
 * If a donor may have the file of an item, which is complete otherwise, name it
 * there.
 */
void donors_find(struct checkout_donors *donors, struct checkout_item *item);

#endif /* PARALLEL_CHECKOUT_DONORS_H */
