/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DIR_AHEAD_H
#define DIR_AHEAD_H

/*
 * Read directories before somebody who walks through them gets there.
 *
 * On a file system that is far away, each of the calls that read a directory
 * and its ignore file waits for a round trip. A walk that reads one after
 * another adds them all up; here, threads wait for many of them at the same
 * time. What they have read is stored, and the walk, which comes after that,
 * takes it from there instead of asking the file system.
 *
 * The threads only read. Which directories are read is decided by the caller's
 * plan, which is called in the caller's thread for each that has been read, and
 * names those of its subdirectories that the walk will enter. What has not been
 * read, for whatever reason, is no error: the walk reads it itself, and reports
 * what is wrong with it.
 *
 * Where all is in memory, threads would only be in the way. So the caller reads
 * the first few directories alone, and judges how long it had to wait. Unless
 * that is a round trip for most of them, that is all; these are stored and not
 * read again.
 *
 * What is stored is limited to some 64 MB, enough for a million files, and that
 * of one directory to 4 MB. What is left is read by the walk. That is
 * everything where the address space is limited; see waiting_loop_may_grow().
 */

#include "strbuf.h"

struct dir_ahead;

/* What there is to be read. */
#define DIR_AHEAD_STAT (1 << 0)	/* lstat(), before all else */
#define DIR_AHEAD_LIST (1 << 1) /* names and types; ignore file, if listed */
#define DIR_AHEAD_IGNORE (1 << 2)	/* the ignore file, without a list */

enum dir_ahead_ignore {
	DIR_AHEAD_IGNORE_UNKNOWN = 0,
	DIR_AHEAD_IGNORE_ABSENT,
	DIR_AHEAD_IGNORE_READ
};

/* A directory. To be changed by nobody but dir-ahead.c, except for the data. */
struct dir_ahead_dir {
	struct dir_ahead_dir *next;	/* in a queue */
	unsigned wanted;	/* what was asked for last */
	unsigned has;		/* DIR_AHEAD_STAT, _LIST: what could be read */
	struct stat st;		/* with DIR_AHEAD_STAT */
	struct strbuf list;	/* with DIR_AHEAD_LIST; see dir_ahead_next() */
	enum dir_ahead_ignore ignore;
	struct stat ignore_st;	/* with DIR_AHEAD_IGNORE_READ, as is this: */
	char *ignore_buf;	/* contents, as many bytes as that says */
	void *data;		/* of the plan */
	char path[FLEX_ARRAY];	/* "", or with a slash at the end */
};

/*
 * The plan: add the subdirectories of `dir`, or ask for more of it. Called once
 * for each dir_ahead_add() and dir_ahead_ask(), unless these came to nothing.
 */
typedef void (*dir_ahead_plan_fn)(struct dir_ahead *ahead,
				  struct dir_ahead_dir *dir, void *plan_data);

/*
 * Begin. The ignore file is one of that name in each directory, or none if it
 * is NULL; the name has no slash and lives as long as the result. With
 * `is_forced`, threads read from the start. Returns what dir_ahead_free() has
 * to be called for.
 */
struct dir_ahead *dir_ahead_new(const char *ignore_name, int is_forced);

/*
 * Have a directory read, unless it has been added before. The path ends in a
 * slash, unless it is empty. Nothing may be wanted; then there is only the plan
 * to be called.
 */
void dir_ahead_add(struct dir_ahead *ahead, const char *path, unsigned wanted,
		   void *data);

/*
 * For the plan: is this no time to add more? Then it should return. It is
 * called again for the same directory if there is more to be added after all;
 * what was added before is not added again.
 */
int dir_ahead_has_enough(struct dir_ahead *ahead);

/* Have more of a directory read, from within the plan for it. */
void dir_ahead_ask(struct dir_ahead *ahead, struct dir_ahead_dir *dir,
		   unsigned wanted);

/*
 * Read what was added, and what the plan adds. Returns, when all is done, how
 * many threads there were: 0 if it was not worth one.
 */
int dir_ahead_run(struct dir_ahead *ahead, dir_ahead_plan_fn plan,
		  void *plan_data);

/* How many directories are stored? */
size_t dir_ahead_nr(const struct dir_ahead *ahead);

/*
 * What is stored of the directory, or NULL. `ahead` may be NULL. It is owned by
 * the store.
 */
const struct dir_ahead_dir *dir_ahead_find(const struct dir_ahead *ahead,
					   const char *path);

/*
 * The name of the list at *pos, in the order of the file system and without "."
 * and "..", and its type, a DT_* constant; *pos, at first 0, then is that of
 * the next. Returns NULL after the last one. Names live as long as the store.
 */
const char *dir_ahead_next(const struct dir_ahead_dir *dir, size_t *pos,
			   int *type);

/* Free the store. It may be NULL. */
void dir_ahead_free(struct dir_ahead *ahead);

#endif /* DIR_AHEAD_H */
