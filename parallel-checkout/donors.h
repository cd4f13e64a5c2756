/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONORS_H
#define PARALLEL_CHECKOUT_DONORS_H

/*
 * Other working trees that have files with the bytes of blobs, so that these
 * need not be written: which they are, and which files. It is the writer that
 * opens them and looks whether they still are what is said here.
 */

#include "mem-pool.h"
#include "parallel-checkout/item.h"
#include "run-command.h"
#include "strbuf.h"

struct donor_file;
struct parallel_checkout;
struct strvec;

enum checkout_reflink {
	REFLINK_NEVER = 0,
	REFLINK_AUTO,		/* where it takes no longer than to write */
	REFLINK_ALWAYS,		/* wherever that is possible */
};

struct checkout_donor {
	char *path;

	/* Says which files there are, until it is_listing no more. */
	struct child_process lister;
	unsigned is_listing : 1;
	struct strbuf in;

	/* Sorted by path; `next` is the one after that found last. */
	struct donor_file *files;
	size_t nr, alloc, next;
};

struct checkout_donors {
	enum checkout_reflink reflink;
	char *named;		/* checkout.reflinkFrom, or NULL */

	/* As looked for when there was something to be written. */
	struct checkout_donor donor[CHECKOUT_MAX_DONORS];
	int nr;
	unsigned looked_for : 1, asked : 1, lent : 1;
	size_t entries_before;	/* somebody was asked */
	unsigned int since_read;	/* entries since a list was read */
	int patience_ms;
	uint64_t looked_at;	/* time(2) */

	struct mem_pool paths;	/* of files */
	uintmax_t files, bytes;	/* that were cloned */
};

/* Ask for the configuration. Dies if it makes no sense. */
void pc_init_donors(struct parallel_checkout *pc);

/* End all processes, and free everything. */
void pc_release_donors(struct parallel_checkout *pc);

/*
 * Workers are about to be started: look for donors, once, and add the arguments
 * that tell them. The root must have been prepared.
 */
void pc_add_donor_args(struct parallel_checkout *pc, struct strvec *args);

/*
 * If a donor has the file of an entry, name it in the item, which is complete
 * otherwise.
 */
void pc_find_donor(struct parallel_checkout *pc, struct checkout_item *item);

/* Tell the writer of this process; before it is given an item with a donor. */
void pc_lend_donors(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DONORS_H */
