/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DIR_AHEAD_H
#define DIR_AHEAD_H

/*
 * Read directories before the walk that looks for untracked files gets there.
 *
 * On a file system that is far away, each of the calls that read a directory
 * and its ignore file waits for a round trip. The walk reads one directory
 * after another and would add them all up; here, threads wait for many of them
 * at the same time. What they have read is stored, and the walk, which comes
 * after that, takes it from there instead of asking the file system.
 *
 * Read are the directories that have tracked files, as far as the pathspec does
 * not rule them out: the walk enters all of them, unless they are ignored. The
 * threads only read, and through no symbolic link. What has not been read, for
 * whatever reason, is no error: the walk reads it itself, and reports what is
 * wrong with it.
 *
 * Unless the first few directories have to wait, these are all; see
 * waiting-loop.h. What is stored is limited to some 64 MB, enough for a million
 * files, and the list or the ignore file of one directory to 4 MB.
 */

#include "strbuf.h"

struct dir_ahead;
struct dir_struct;
struct index_state;
struct pathspec;

/* A directory that has been read. */
struct dir_ahead_dir {
	struct stat st;
	struct strbuf list;	/* see dir_ahead_next() */
	struct stat ignore_st;
	struct strbuf ignore;	/* the contents of the ignore file */
	unsigned has_list : 1;
	unsigned has_ignore : 1;
	unsigned lacks_ignore : 1;	/* there is no such file */
	char path[FLEX_ARRAY];	/* "", or with a slash at the end */
};

/*
 * Read what a walk that begins in the directory `base` is going to read. It may
 * have the untracked cache at hand: of a directory that it has, and that has
 * not changed, there is no list. The result has to be freed with
 * dir_ahead_free(); like there, it may be NULL.
 */
struct dir_ahead *dir_ahead_read(const struct dir_struct *dir,
				 struct index_state *istate,
				 const char *base, int baselen,
				 const struct pathspec *pathspec);

/* The directory of that path (see there), or NULL. It is owned by the store. */
const struct dir_ahead_dir *dir_ahead_find(const struct dir_ahead *ahead,
					   const char *path);

/*
 * The next name of a list, which starts at list.buf, in the order of the file
 * system and without "." and "..", and its type, a DT_* constant. Returns NULL
 * after the last one. Names live as long as the store.
 */
const char *dir_ahead_next(const char **list, int *type);

void dir_ahead_free(struct dir_ahead *ahead);

#endif /* DIR_AHEAD_H */
