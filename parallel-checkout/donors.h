/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONORS_H
#define PARALLEL_CHECKOUT_DONORS_H

/*
 * Other working trees that may have files with the bytes of blobs, so that
 * these need not be written. A lister, which is a process of its own (see
 * donor-list.h), finds out which they are, and which files; the writer opens
 * these and sees whether they are what is said here.
 */

#include "mem-pool.h"
#include "parallel-checkout/item.h"
#include "parallel-checkout/settings.h"
#include "run-command.h"
#include "strbuf.h"

struct donor_file;
struct strvec;

struct checkout_donors {
	enum checkout_reflink reflink;

	/* Says what there is; NULL if it does not, or no more. */
	struct child_process *lister;
	unsigned asked : 1;
	struct strbuf in;

	/* What it has said; files are sorted by path. */
	char *path[CHECKOUT_MAX_DONORS];
	unsigned int nr;
	struct donor_file *files;
	size_t files_nr, files_alloc;
	size_t next;		/* after the file that was found last */
	struct mem_pool names;	/* of files */
};

/* Ask for the configuration. Dies if it makes no sense. */
void donors_init(struct checkout_donors *donors);

/* End the lister, and free everything. */
void donors_release(struct checkout_donors *donors);

/*
 * Workers are about to be started, that write below `root` files whose names
 * begin with `name_prefix`: look for donors, once, and add the arguments that
 * tell them.
 */
void donors_add_args(struct checkout_donors *donors, const char *root,
		     const char *name_prefix, struct strvec *args);

/*
 * If a donor may have the file of an item, which is complete otherwise, name it
 * there. Waits for the lister, but not for long.
 */
void donors_find(struct checkout_donors *donors, struct checkout_item *item);

#endif /* PARALLEL_CHECKOUT_DONORS_H */
