/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONORS_H
#define PARALLEL_CHECKOUT_DONORS_H

/*
 * Donors are other working trees that may have files with the bytes of blobs,
 * so that these need not be written. Which files these are is what the index of
 * the donor says, and only a hint: the writer sees whether a file is the blob.
 *
 * To find that out, files are read that a checkout does not read otherwise.
 * They may be corrupt, lie on a server that is gone, or be pipes. So it is done
 * by a process of its own, the lister, which may die, and is killed if it has
 * to be waited for. What it has not listed by then has no donor.
 */

#include "parallel-checkout/item.h"
#include "parallel-checkout/settings.h"
#include "strmap.h"
#include "strvec.h"

struct repository;

struct checkout_donors {
	enum checkout_reflink reflink;	/* until they have been looked for */
	struct strvec args;		/* "--donor=<path>" for each */
	struct strintmap files;	/* "<object name> <path>" to number of donor */
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

/* Set the donor that may have the file of an item, which is complete else. */
void donors_find(struct checkout_donors *donors, struct checkout_item *item);

/*
 * For the lister: print at most CHECKOUT_MAX_DONORS donors. For each,
 * "donor <path>", then "<object name> <path>" for each of its files, where a
 * NUL ends each line. May die(), as all that reads an index may.
 *
 * Donors are working trees other than the one at `root` (the current directory
 * if it is ""), on the same file system: that of checkout.reflinkFrom, those of
 * this repository, and the one that "origin" names by its path. They, their
 * repositories and indexes have to belong to the current user.
 */
void donors_list(struct repository *repo, const char *root);

#endif /* PARALLEL_CHECKOUT_DONORS_H */
