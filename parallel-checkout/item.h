/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_ITEM_H
#define PARALLEL_CHECKOUT_ITEM_H

/* What a checkout worker is asked to write, and what it answers. */

#include "convert.h"
#include "hash.h"
#include "statinfo.h"

#define CHECKOUT_MAX_DONORS 2

/*
 * What is to be at a path, and what the main process believes is there, though
 * it may not have looked: the writer does.
 */
struct checkout_item {
	/* Number of the entry in the main process; comes back in the result. */
	uint32_t id;

	/*
	 * To be written: S_IFREG | 0644, S_IFREG | 0755 or S_IFLNK. To be
	 * removed: CHECKOUT_REMOVE_FILE, or CHECKOUT_REMOVE_DIR if it is empty.
	 * Then there is no oid, and nothing is believed.
	 */
	uint32_t mode;

	struct object_id oid;

	/*
	 * How the blob of a regular file is converted. A worker does not know
	 * the driver, but for `filter`.
	 */
	struct conv_attrs ca;

	/*
	 * The command of a filter that comes last, or NULL; not owned. It may
	 * be required, or a long-running process, which may be told that it may
	 * answer later. In a worker only: it was, and has the content.
	 */
	const char *filter;
	unsigned required : 1, is_process : 1, can_delay : 1, was_delayed : 1;

	/* Relative to the writer's root; NUL terminated and not owned. */
	const char *path;
	size_t path_len;

	/*
	 * The path is absent, or if old_mode is not zero, there may be a file
	 * or symbolic link like this, which is to be replaced.
	 */
	uint32_t old_mode;
	struct stat_data old_sd;

	/*
	 * If not zero, the number, from 1 on, of another working tree whose
	 * file at the same path may have the bytes of the blob. A hint, and
	 * only for a regular file that is not converted.
	 */
	unsigned int donor;
};

#define CHECKOUT_REMOVE_FILE 0u
#define CHECKOUT_REMOVE_DIR ((uint32_t)S_IFDIR)

enum checkout_status {
	/* Not answered, or not yet; never on the wire. */
	CHECKOUT_PENDING = 0,

	/* The file is there, whole. Or it is gone, if that was asked for. */
	CHECKOUT_WRITTEN = 1,

	/*
	 * The path or a leading directory is not what it was believed to be,
	 * and was left alone. For a directory: it cannot be removed.
	 */
	CHECKOUT_COLLIDED = 2,

	/*
	 * Something failed, or would have had to be said. Nothing of the new
	 * file is left. entry.c will do it again, with all messages.
	 */
	CHECKOUT_DECLINED = 3,

	/* By its filter. Nothing is at the path. See WIRE_COLLECT. */
	CHECKOUT_DELAYED = 4,

	/*
	 * Declined, as the filter failed. If that is required, the worker
	 * declines whatever has a filter from then on. If it failed after it
	 * had delayed, the file may be there, and is to be written again.
	 */
	CHECKOUT_UNFILTERED = 5,
};

struct checkout_result {
	uint32_t id;
	enum checkout_status status;

	/* of a CHECKOUT_WRITTEN file, if the writer was asked for it */
	unsigned has_sd : 1;
	struct stat_data sd;
};

/* What was done for a batch, or since the checkout began. */
struct checkout_outcome {
	uint64_t bytes;				/* written */
	uint64_t cloned_files, cloned_bytes;	/* of these, from donors */
	uint64_t removed;			/* answers to removals */
	uint64_t busy_ns;	/* from first item to last result */
};

static inline void outcome_add(struct checkout_outcome *total,
			       const struct checkout_outcome *more)
{
	total->bytes += more->bytes;
	total->cloned_files += more->cloned_files;
	total->cloned_bytes += more->cloned_bytes;
	total->removed += more->removed;
	total->busy_ns += more->busy_ns;
}

#endif /* PARALLEL_CHECKOUT_ITEM_H */
