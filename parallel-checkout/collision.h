/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_COLLISION_H
#define PARALLEL_CHECKOUT_COLLISION_H

/*
 * Paths that may collide: on a file system which does not tell all names apart
 * they are the same file, or one is a leading directory of the other.
 *
 * What a file system takes for the same name is its own secret. Here ASCII
 * letters are compared without their case. Of a name with other characters,
 * only the digits and punctuation marks are compared, since the same accented
 * letter can be one character or two. So paths that are different files are
 * taken for a collision now and then; the reverse takes a character that is
 * ignored, or one whose other case is an ASCII letter.
 */

#include "strbuf.h"
#include "strmap.h"

struct collision_set {
	struct strintmap names;	/* folded paths; how many of each */
	struct strset dirs;	/* their folded leading directories */
	struct strbuf folded;
};

void collision_init(struct collision_set *set);
void collision_release(struct collision_set *set);

void collision_add(struct collision_set *set, const char *path);

/*
 * May the path collide with one in the set? With `is_member`, the path has
 * been added itself, and that does not count.
 */
int collision_found(struct collision_set *set, const char *path, int is_member);

/*
 * Directories, and how the first path that goes through them spells their
 * names. On a file system that ignores case (core.ignoreCase), another spelling
 * is the same directory, and whoever makes it decides about its name.
 */
struct spelling_set {
	struct strmap dirs;	/* from folded path to the first spelling */
	struct strbuf folded, dir;
	int differs;		/* the answer for "dir" */
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
