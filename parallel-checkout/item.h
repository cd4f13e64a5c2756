/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_ITEM_H
#define PARALLEL_CHECKOUT_ITEM_H

/*
 * What a checkout worker is asked to write, and what it answers. These structs
 * are the common language of all parts of parallel checkout; nothing in here
 * does any work.
 */

#include "convert.h"
#include "hash.h"
#include "statinfo.h"

#define CHECKOUT_MAX_DONORS 2

/*
 * What is to be at a path, together with what the main process believes is
 * there. The main process has not necessarily looked: it is the writer that
 * finds out, and answers CHECKOUT_COLLIDED when it is not so.
 */
struct checkout_item {
	/* Number of the entry in the main process; comes back in the result. */
	uint32_t id;

	/*
	 * To be written: S_IFREG | 0644, S_IFREG | 0755 or S_IFLNK, as in the
	 * index. To be removed: CHECKOUT_REMOVE_FILE or CHECKOUT_REMOVE_DIR, of
	 * which the latter only removes an empty directory. Then there is no
	 * oid, and nothing is believed.
	 */
	uint32_t mode;

	struct object_id oid;

	/*
	 * How the blob of a regular file is converted. All of it is decided by
	 * the main process. Of the driver a worker only knows `filter`; the
	 * action of the attribute, which is there for messages, it does not
	 * know either.
	 */
	struct conv_attrs ca;

	/*
	 * The command of a filter that comes last, or NULL; not owned. It may
	 * be required, or a long-running process, which may be told that it may
	 * answer later.
	 */
	const char *filter;
	unsigned required : 1, is_process : 1, can_delay : 1;

	/*
	 * The path, relative to the root that the writer was opened with; NUL
	 * terminated. Not owned by the item.
	 */
	const char *path;
	size_t path_len;

	/*
	 * If old_mode is zero, the path is believed to be absent. Otherwise
	 * there may be a file (or a symbolic link) of this mode with this stat
	 * data, which is to be replaced. It being absent is fine, too.
	 */
	uint32_t old_mode;
	struct stat_data old_sd;

	/*
	 * If not zero, the number, from 1 on, of another working tree that is
	 * known to the writer: a file there, at the same path, may have the
	 * bytes of the blob. That is a hint; the writer sees to it that it is
	 * so. Only for a regular file that is not converted.
	 */
	unsigned int donor;
};

#define CHECKOUT_REMOVE_FILE 0u
#define CHECKOUT_REMOVE_DIR ((uint32_t)S_IFDIR)

enum checkout_status {
	/* Not answered yet; never on the wire. */
	CHECKOUT_PENDING = 0,

	/* The file is there, whole. Or it is gone, if that was asked for. */
	CHECKOUT_WRITTEN = 1,

	/*
	 * The path or one of its leading directories is not what it was
	 * believed to be. Whatever is there was left alone. For a directory:
	 * it cannot be removed, most likely as it is not empty.
	 */
	CHECKOUT_COLLIDED = 2,

	/*
	 * Something failed, or would have had to be said to the user. Nothing
	 * of the new file is left. entry.c will do it again, with all
	 * messages.
	 */
	CHECKOUT_DECLINED = 3,

	/*
	 * The filter of the item has delayed its answer. Nothing is at the
	 * path. The worker asks for it when it is told to, and answers once
	 * more.
	 */
	CHECKOUT_DELAYED = 4,

	/*
	 * The same as CHECKOUT_DECLINED, and it is the filter that failed. If
	 * that is required, the worker declines whatever has a filter from then
	 * on, and leaves it as it is. If it failed when asked for more of what
	 * it has delayed, the file may be there, and is to be written again.
	 */
	CHECKOUT_UNFILTERED = 5,
};

struct checkout_result {
	uint32_t id;
	enum checkout_status status;

	/*
	 * The stat data of a CHECKOUT_WRITTEN file, if the writer was asked to
	 * stat what it writes.
	 */
	unsigned has_sd : 1;
	struct stat_data sd;
};

/*
 * What was done, in numbers: by a worker with a batch, or by all of them since
 * the checkout began.
 */
struct checkout_outcome {
	uint64_t files, bytes;			/* written */
	uint64_t cloned_files, cloned_bytes;	/* of these, from donors */
	uint64_t removed;			/* files and directories */
	uint64_t collided, declined, delayed;	/* answers */

	/*
	 * Nanoseconds from the first item of a batch to its last result, and
	 * for how much of that the worker was running; see run-clock.h. The
	 * latter is 0 where nobody knows.
	 */
	uint64_t busy_ns, run_ns;
};

static inline void outcome_add(struct checkout_outcome *total,
			       const struct checkout_outcome *more)
{
	total->files += more->files;
	total->bytes += more->bytes;
	total->cloned_files += more->cloned_files;
	total->cloned_bytes += more->cloned_bytes;
	total->removed += more->removed;
	total->collided += more->collided;
	total->declined += more->declined;
	total->delayed += more->delayed;
	total->busy_ns += more->busy_ns;
	total->run_ns += more->run_ns;
}

#endif /* PARALLEL_CHECKOUT_ITEM_H */
