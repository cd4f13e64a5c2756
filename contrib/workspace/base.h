/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_BASE_H
#define WORKSPACE_BASE_H
/*
 * What the programs of "git workspace" have to know of a base: the folder
 * with the frozen checkout of a commit ("tree"), its index ("index" and
 * "sharedindex.<oid>"), and the token that stands for both ("token").
 */

#include <stddef.h>

struct base {
	int fd;			/* the folder */
	char *token;		/* "git-workspace:<commit>:<random>" */
	size_t hash_size;	/* of an object ID, in bytes */
};

/*
 * Opens the base at path, relative to the folder dir (or AT_FDCWD). Returns 0,
 * or -1 if there is none or if it is broken.
 */
int base_open(struct base *base, int dir, const char *path);

void base_close(struct base *base);

/*
 * Returns what is in the file at path, relative to dir, followed by a NUL, or
 * NULL if it cannot be read or is longer than limit.
 */
char *read_small_file(int dir, const char *path, size_t limit, size_t *len);

/* Writes len bytes; returns 0, or -1 if that is not possible. */
int write_fully(int fd, const void *data, size_t len);

/* realloc() that ends the program where there is no memory. */
void *grow(void *data, size_t size);

#endif
