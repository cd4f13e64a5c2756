/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of "test-tool worktree-state".
 */
#ifndef WORKTREE_STATE_H
#define WORKTREE_STATE_H

#include "strbuf.h"

/* FNV-1a: tells contents apart, and is the same everywhere. */
uint64_t hash_of(const char *buf, size_t len);

/* Called for everything in a directory, sorted by name. */
typedef void (*child_fn)(const char *path, const char *name,
			 const struct stat *st, void *data);

void for_each_child(const char *path, child_fn fn, void *data);

/* Read a file or a symbolic link. Returns a negative number if it cannot be. */
int read_contents(const char *path, const struct stat *st,
		  struct strbuf *contents);

/*
 * Make one change in the working tree, which is the current directory; see
 * worktree-change.c for what there is.
 */
void change_worktree(const char *what);

/* Changes that have to come when all files have got a time. */
void change_times(const char *what);

/*
 * Give everything below a directory a time in the past, which depends on the
 * contents of a file: none is racily clean, and one that was changed has
 * another time than before. The others are not touched.
 */
void age_all(const char *path);

/*
 * Run a command in a working tree, the current directory. Its standard streams
 * are the files "stdin", "out" and "err" of a directory; "code" is written,
 * too. Returns the number of arguments that were options.
 */
void run_in_worktree(const char *dir, int argc, const char **argv);

#ifdef GIT_WINDOWS_NATIVE
/* Random cases are not run there, where these are missing. */
#define fork() (-1)
#define mkfifo(path, mode) ((void)(path), -1)
#define lchown(path, uid, gid) ((void)(path), -1)
#endif

#endif
