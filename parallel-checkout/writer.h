/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_WRITER_H
#define PARALLEL_CHECKOUT_WRITER_H

/*
 * Write one entry into the working tree: read the blob, convert it, create the
 * file; or remove one. The workers do nothing else.
 *
 * What is not as the item says is left alone, and answered with a status,
 * without any message: only entry.c, which writes the entry then, knows what
 * Git does and says when something is in the way or goes wrong.
 */

#include "dirs.h"
#include "parallel-checkout/item.h"
#include "parallel-checkout/smudge.h"

struct repository;

/* Another working tree, whose files may be cloned. */
struct writer_donor {
	struct dir_handles dirs;
	dev_t dev;		/* and nothing that is mounted below it */
	unsigned refused : 1;	/* it cannot be had, or cannot share blocks */
};

struct checkout_writer {
	struct repository *repo;
	struct dir_handles dirs;

	/* Item.donor is one more than the index in here. */
	struct writer_donor donors[CHECKOUT_MAX_DONORS];
	unsigned int donors_nr;

	struct smudge smudge;
	unsigned want_stat : 1;

	/* The last entry collided: look at the next before its blob is read. */
	unsigned expect_collision : 1;

	/* The errno of the last entry if there was no room for it, or 0. */
	int no_room;

	/* What was done since the caller last cleared it, but for times. */
	struct checkout_outcome outcome;

	/*
	 * Standard output leads to whoever wants the files. If nobody can read
	 * it any more, raise SIGTERM instead of creating or removing anything.
	 */
	unsigned has_listener : 1;
	uint64_t looked_ns;	/* when that was seen to be so */
};

/*
 * Prepare to write below the directory `root` (the current working directory
 * if it is ""), which must exist. If `want_stat`, results carry stat data.
 * Returns 0, or -1 with errno set. The repository must outlive the writer.
 */
int writer_open(struct checkout_writer *writer, struct repository *repo,
		const char *root, int want_stat);

void writer_close(struct checkout_writer *writer);

/*
 * Let items name the working tree at `path` as their donor, by its number. One
 * that cannot be opened, or is one too many, is not used.
 */
void writer_add_donor(struct checkout_writer *writer, const char *path);

/* To be called when others may have changed directories in the meantime. */
void writer_begin_batch(struct checkout_writer *writer);

/*
 * Write the item's blob to its path, or remove what is there, and fill in the
 * result. Missing leading directories are made for what is written. If the
 * status is not CHECKOUT_WRITTEN, there is no new file at the path; the old
 * file that the item describes may be gone.
 *
 * May die() where the object store does, on a pack index that is corrupt.
 */
void writer_write(struct checkout_writer *writer,
		  const struct checkout_item *item,
		  struct checkout_result *result);

/*
 * For the handler of a signal that ends this process: remove the file that is
 * being written, if there is one, so that nobody takes it for the whole.
 * Returns -1 if it is just being created; the signal is raised again when it is
 * known whether it exists, and the handler is to return. Async-signal-safe.
 */
int writer_abandon(int sig);

#endif /* PARALLEL_CHECKOUT_WRITER_H */
