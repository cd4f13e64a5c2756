/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_ELIGIBLE_H
#define PARALLEL_CHECKOUT_ELIGIBLE_H

/*
 * Which entries are fit for a worker, how they are converted, and what is
 * believed of their paths.
 *
 * What decides that is what the sequential code would have seen at the entry's
 * turn; see barrier.h for the files that it is read from.
 */

#include "mem-pool.h"
#include "parallel-checkout/barrier.h"
#include "parallel-checkout/collision.h"

struct cache_entry;
struct checkout_conversion;
struct index_state;
struct parallel_checkout;
struct queued_entry;

struct checkout_lookup {
	const struct index_state *old_index;
	unsigned int old_pos;		/* in old_index */

	struct checkout_barriers barriers;
	unsigned barriers_known : 1;
	unsigned attrs_from_index : 1, may_repeat : 1;
	unsigned config_removed : 1;	/* a file that configuration is in */

	struct collision_set names;	/* see pc_collides() */

	struct mem_pool seen;		/* stat data that somebody else saw */
};

void pc_forget_barriers(struct parallel_checkout *pc);

/*
 * Is the entry's file one that decides how others are handled? Then it is
 * entry.c's, which knows when it reads the file: after the old one is gone, and
 * before the new one is there.
 */
enum checkout_barrier pc_find_barrier(struct parallel_checkout *pc,
				      const struct cache_entry *ce);

/*
 * To be called once for each entry that is offered: is its path that of an
 * earlier one, on a file system that ignores case, or because the caller has
 * named it twice? Then all before it have to be written first: which of the two
 * stays, how a directory is spelled that both have, and what is said of them
 * depends on the order.
 */
int pc_collides(struct parallel_checkout *pc, const struct cache_entry *ce);

/*
 * A submodule is checked out by a child process that has its own workers. And
 * what stands for a symbolic link where there are none is not a worker's
 * business.
 */
int pc_has_eligible_type(const struct parallel_checkout *pc,
			 const struct cache_entry *ce);

/*
 * May a worker write this entry, whose attributes are known? If it has a filter
 * that workers may run, pc_note_filtered() has to be asked besides.
 */
int pc_is_eligible(const struct parallel_checkout *pc,
		   const struct queued_entry *entry);

/*
 * Look up the attributes of an entry before its path is made ready. A symbolic
 * link in that will have been replaced by a directory when the entry is
 * written, so nothing is behind it.
 */
void pc_look_up_attrs(const struct parallel_checkout *pc,
		      struct queued_entry *entry);

/* What a worker is told of the attributes. */
void pc_get_conversion(const struct parallel_checkout *pc,
		       const struct queued_entry *entry,
		       struct checkout_conversion *conv);

int pc_has_stat_data(const struct cache_entry *ce);

/*
 * Would a look at the entry's file run a filter, to know whether it is up to
 * date, while entries before it are not written yet?
 */
int pc_may_be_filtered(const struct parallel_checkout *pc,
		       struct queued_entry *entry);

/*
 * What is at the path of an entry that nobody has looked at: a file with the
 * stat data that the old index has, or nothing. Returns -1 if there is something
 * else, most likely, like a submodule.
 */
int pc_expect_old(struct parallel_checkout *pc, struct queued_entry *entry);

/* The same, where `st` was seen. */
void pc_expect_seen(struct parallel_checkout *pc, struct queued_entry *entry,
		    const struct stat *st);

#endif /* PARALLEL_CHECKOUT_ELIGIBLE_H */
