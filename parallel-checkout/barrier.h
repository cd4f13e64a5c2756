/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_BARRIER_H
#define PARALLEL_CHECKOUT_BARRIER_H

/*
 * Which entries are files that decide how other entries are handled.
 *
 * The sequential code writes them when their turn comes; entries before that see
 * the old file, if they see it, and entries after that see the new one. So with
 * workers, such an entry is a barrier between the two.
 */

#include "string-list.h"

struct cache_entry;
struct repository;

enum checkout_barrier {
	BARRIER_NONE = 0,

	/* The entries before it have to be written first. */
	BARRIER_FILE,

	/*
	 * Besides, configuration is read from it. This process has done that,
	 * but a process that is started later reads the new file: there can be
	 * no workers any more.
	 */
	BARRIER_CONFIG,
};

struct checkout_barriers {
	/* Files that configuration names; util is an enum checkout_barrier. */
	struct string_list named;

	struct repository *repo;
	unsigned attributes : 1, submodules : 1;
};

/*
 * Find out which there are for a checkout into the working tree of `repo`.
 * `attributes` says that attributes come from .gitattributes files of the
 * working tree, and not from the index before. Named files are found whether
 * they exist or not, by their own names and by those that symbolic links lead
 * to. The repository must outlive the barriers.
 */
void barriers_init(struct checkout_barriers *barriers, struct repository *repo,
		   int attributes);

/* The same for a checkout to another place: only .gitattributes files count. */
void barriers_init_elsewhere(struct checkout_barriers *barriers,
			     struct repository *repo);

void barriers_release(struct checkout_barriers *barriers);

/* What is this entry, which is to be written? */
enum checkout_barrier barrier_at(const struct checkout_barriers *barriers,
				 const struct cache_entry *ce);

#endif /* PARALLEL_CHECKOUT_BARRIER_H */
