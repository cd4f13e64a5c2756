/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_NAMES_H
#define WORKSPACE_NAMES_H
/*
 * The names that the fsmonitor hook answers with, as Git wants them: one
 * after the other, each followed by a NUL.
 */

#include <stddef.h>

/*
 * The name of something that does not exist: told for a folder, it makes Git
 * read that again, rather than believe its untracked cache. That there is
 * something with this name after all does no harm.
 */
#define NO_SUCH_NAME ".git-workspace"

struct names {
	char *buf;
	size_t len, alloc;
	size_t nr;
	size_t folders;		/* names with a slash at their end */
	size_t *slots;		/* hash table of offsets in buf, plus one */
	size_t mask;
};

#define NAMES_INIT { NULL, 0, 0, 0, 0, NULL, 0 }

/* Adds the name path, of len bytes, with suffix at its end. */
void names_add(struct names *names, const char *path, size_t len,
	       const char *suffix);

/*
 * Whether an answer with what names_freeze() has seen covers the path: it
 * has the path, or a folder above it with a slash at its end.
 */
int names_cover(const struct names *names, const char *path, size_t len);

/* Makes names_cover() know all names that have been added so far. */
void names_freeze(struct names *names);

void names_release(struct names *names);

#endif
