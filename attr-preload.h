/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ATTR_PRELOAD_H
#define ATTR_PRELOAD_H

/*
 * Where the working tree has no .gitattributes, found out ahead.
 *
 * The attributes of a path come from a file in each of its leading directories,
 * which most often is not there. On a network file system, each look that finds
 * nothing is a round trip. A checkout makes one for each directory, so let
 * threads make them all before, if they have to wait; see waiting-loop.h.
 */

struct cache_entry;
struct index_state;
struct strset;

/*
 * Add to `absent` the paths of those .gitattributes files that would be looked
 * for in the working tree to know the attributes of the entries for which
 * is_wanted() returns nonzero, that are not in the index, and that are not
 * there. That may be only some of them, and is only the first few if nobody has
 * to wait.
 *
 * The caller has to know for how long that stays true.
 */
void find_absent_attributes(struct index_state *istate,
			    int (*is_wanted)(const struct cache_entry *),
			    struct strset *absent);

#endif /* ATTR_PRELOAD_H */
