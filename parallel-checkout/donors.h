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
#include "run-command.h"
#include "strbuf.h"

struct donor_file;
struct parallel_checkout;
struct strvec;

struct checkout_donors {
	unsigned wanted : 1;	/* checkout.reflink */
	unsigned on_any_fs : 1;	/* checkout.reflink=force */

	/* Says what there is, until it is_listing no more. */
	struct child_process lister;
	unsigned asked : 1, is_listing : 1, lent : 1;
	struct strbuf in;
	size_t entries_before;	/* it was asked */

	/* What it has said; files are sorted by path. */
	char *path[CHECKOUT_MAX_DONORS];
	unsigned int nr;
	struct donor_file *files;
	size_t files_nr, files_alloc;
	size_t next;		/* after the file that was found last */
	struct mem_pool names;	/* of files */

	uintmax_t cloned_files, cloned_bytes;
};

/* Ask for the configuration. Dies if it makes no sense. */
void pc_init_donors(struct parallel_checkout *pc);

/* End the lister, and free everything. */
void pc_release_donors(struct parallel_checkout *pc);

/*
 * Workers are about to be started: look for donors, once, and add the arguments
 * that tell them. The root must have been prepared.
 */
void pc_add_donor_args(struct parallel_checkout *pc, struct strvec *args);

/*
 * If a donor may have the file of an entry, name it in the item, which is
 * complete otherwise. Waits for the lister, but not for long.
 */
void pc_find_donor(struct parallel_checkout *pc, struct checkout_item *item);

/* Tell the writer of this process; before it is given an item with a donor. */
void pc_lend_donors(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DONORS_H */
