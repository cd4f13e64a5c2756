/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_BARRIER_H
#define PARALLEL_CHECKOUT_BARRIER_H

/*
 * Which entries are files that decide how other entries are handled.
 *
 * The sequential code writes them when their turn comes; entries before that
 * see the old file, if they see it, and entries after that see the new one. So
 * with workers, such an entry is a barrier between the two.
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
	/*
	 * Files with a name of their own, and what leads there. util is an enum
	 * checkout_barrier, and BARRIER_IN_THE_WAY besides for what is there and
	 * no directory: an entry below it can only be written when that is
	 * replaced.
	 */
	struct string_list named;

	struct repository *repo;
	unsigned attributes : 1, submodules : 1;

	/* Files are written to where attributes are looked for. */
	unsigned in_place : 1;

	/*
	 * One of `named` has been met. When it is written, names may lead to
	 * other files: find out anew.
	 */
	unsigned outdated : 1;
};

/*
 * Find out which there are for a checkout to `base_dir`, which is put before
 * the names of the entries of `repo`; cf. struct checkout. `attributes` says
 * that attributes come from .gitattributes files of the working tree, and not
 * from the index before. Of a named file, whether it exists or not, all that
 * decides where its name leads is a barrier: its leading directories, and
 * symbolic links. Once one of them has been written, that may be another file.
 * The repository must outlive the barriers.
 */
void barriers_init(struct checkout_barriers *barriers, struct repository *repo,
		   const char *base_dir, int attributes);

void barriers_release(struct checkout_barriers *barriers);

/*
 * What is this entry, which is to be written or removed? Sets `outdated` if it
 * is named.
 */
enum checkout_barrier barrier_at(struct checkout_barriers *barriers,
				 const struct cache_entry *ce);

#endif /* PARALLEL_CHECKOUT_BARRIER_H */
