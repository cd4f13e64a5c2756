/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_COLLISION_H
#define PARALLEL_CHECKOUT_COLLISION_H

/*
 * Paths that collide on a file system that ignores case: they are the same
 * file, or one is a leading directory of the other. As elsewhere in Git, the
 * case of ASCII letters is ignored, and all other bytes are compared as they
 * are (see paths_collide() in dir.h, which compares two of them).
 */

#include "strbuf.h"
#include "strmap.h"

struct collision_set {
	struct strset names;	/* folded paths */
	struct strset dirs;	/* their folded leading directories */
	struct strbuf folded;
};

void collision_init(struct collision_set *set);
void collision_release(struct collision_set *set);

void collision_add(struct collision_set *set, const char *path);

/* Does the path collide with one in the set? It does with itself. */
int collision_found(struct collision_set *set, const char *path);

/*
 * Directories, and how the first path that goes through them spells their
 * names. On a file system that ignores case (core.ignoreCase), another spelling
 * is the same directory, and whoever makes it decides about its name.
 */
struct spelling_set {
	struct strmap dirs;	/* from folded path to the first spelling */
	struct strbuf folded;
	struct strbuf dir;	/* asked for last */
	int differs;		/* the answer for it */
};

void spelling_init(struct spelling_set *set);
void spelling_release(struct spelling_set *set);

/*
 * Add the leading directories of a path. Returns 1 if one of them is spelled
 * otherwise in an earlier path, 0 if not. It is cheap for consecutive paths in
 * the same directory.
 */
int spelling_differs(struct spelling_set *set, const char *path);

#endif /* PARALLEL_CHECKOUT_COLLISION_H */
