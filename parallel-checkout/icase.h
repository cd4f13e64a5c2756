/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_ICASE_H
#define PARALLEL_CHECKOUT_ICASE_H

/*
 * Names that are the same file on a file system that ignores case.
 *
 * Where two entries collide, the sequential code writes the second one over the
 * first, while the worker that comes second, whichever entry it has, leaves
 * alone what is there, or replaces the old file of both. So all of them are
 * done once more, in their order, when all others are written.
 */

#include "parallel-checkout/collision.h"

struct cache_entry;
struct parallel_checkout;

struct checkout_icase {
	/*
	 * With core.ignoreCase: the names of the entries that have been
	 * offered, what was found for the last one, and how many of those that
	 * were taken collide with an earlier one.
	 */
	struct collision_set names;
	struct spelling_set spelling;
	const struct cache_entry *offered;
	unsigned offered_collides : 1;
	size_t collisions;
};

/*
 * With core.ignoreCase, an entry whose path is that of an earlier one must not
 * be looked at before that is written, and the first spelling of a directory is
 * to become its name. Returns 1 if the entry has to be put off for this.
 */
int pc_collides(struct parallel_checkout *pc, struct cache_entry *ce);

/* Make it as if the colliding entries that were written had been put off. */
void pc_redo_collisions(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_ICASE_H */
