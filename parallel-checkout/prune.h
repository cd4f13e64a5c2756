/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_PRUNE_H
#define PARALLEL_CHECKOUT_PRUNE_H

/*
 * The directories that may have become empty, as files in them were removed,
 * in the order in which they can be removed: those at the same depth at the
 * same time, the deepest ones first.
 */

#include "strmap.h"

struct prune_list {
	/* By depth, the number of slashes in the path. */
	struct strset *levels;
	size_t nr, alloc;
};

#define PRUNE_LIST_INIT { 0 }

/*
 * Something at `path` has been removed: its directory, if it has one, may be
 * empty now. The one that the command was started in is left out.
 */
void prune_add_parent(struct prune_list *list, const char *path);

/*
 * Take the directories of the deepest level out of the list; the set is the
 * caller's then, to be released by strset_clear(). Returns 0, or -1 if there
 * are no more.
 */
int prune_take_level(struct prune_list *list, struct strset *level);

#endif /* PARALLEL_CHECKOUT_PRUNE_H */
