/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_COLLISION_H
#define PARALLEL_CHECKOUT_COLLISION_H

/*
 * Paths that collide: they are the same file, one is a leading directory of the
 * other, or they spell a directory differently that they have in common, so
 * that whoever makes it decides about its name. The latter is for file systems
 * that ignore case. As elsewhere in Git, that is the case of ASCII letters, and
 * all other bytes are compared as they are (see paths_collide() in dir.h, which
 * compares two of them).
 */

#include "strbuf.h"
#include "strmap.h"

struct collision_set {
	unsigned fold : 1;	/* case is ignored */
	struct strset files;	/* folded paths */
	struct strmap dirs;	/* their folded directories, and the last spelling */
	struct strbuf folded;
	struct strbuf last_dir;	/* of the path that was added last */
};

void collision_init(struct collision_set *set, int ignore_case);
void collision_release(struct collision_set *set);

/*
 * Add a path. Returns 1 if it collides with one that is in the set, as the same
 * path does, and 0 if not. Of the spellings of a directory, only the last one
 * counts: one who asks before each path, and waits until all others are written
 * if it collides, knows that the directory is there by then.
 */
int collision_add(struct collision_set *set, const char *path);

#endif /* PARALLEL_CHECKOUT_COLLISION_H */
