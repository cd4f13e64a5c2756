/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_INDEX_FILE_H
#define WORKSPACE_INDEX_FILE_H
/*
 * Read an index file of Git, in the versions 2, 3 and 4 that
 * gitformat-index(5) describes: its entries, then its
 * extensions. Nothing in the file is trusted.
 */

#include <stddef.h>
#include <stdint.h>

struct index_file {
	const unsigned char *data;
	size_t size;		/* with the checksum at the end */
	size_t hash_size;
	unsigned int version;
	uint32_t nr;		/* entries */
};

/*
 * Maps the index at path, relative to dir. hash_size is that of an object ID,
 * 20 or 32. Returns 0, or -1 if this is no index that we can read.
 */
int index_open(struct index_file *file, int dir, const char *path,
	       size_t hash_size);

void index_close(struct index_file *file);

struct index_entry {
	const char *name;	/* it may lack a NUL */
	size_t len;
	const unsigned char *oid;
	uint32_t mode;
	unsigned int flags;	/* without those that are extended */
};

struct index_cursor {
	const struct index_file *file;
	size_t pos;		/* of what comes next */
	uint32_t left;		/* entries that come */
	struct index_entry entry;
	char *buf;		/* holds the name in version 4 */
	size_t alloc;
};

void index_begin(struct index_cursor *cursor, const struct index_file *file);

/*
 * Moves to the next entry. Returns 1, 0 if there is none, or -1 if the file is
 * broken. The entry is valid up to the next call. An entry that replaces one
 * in a shared index has an empty name.
 */
int index_next(struct index_cursor *cursor);

void index_end(struct index_cursor *cursor);

struct index_extension {
	const char *signature;	/* four bytes */
	const unsigned char *data;
	size_t len;
};

/*
 * Moves to the next extension; only after index_next() has returned 0. Returns
 * as index_next() does.
 */
int index_next_extension(struct index_cursor *cursor,
			 struct index_extension *extension);

/*
 * Room for the name of a shared index, "sharedindex." and an object ID in hex.
 */
#define SHARED_NAME_SIZE (sizeof("sharedindex.") + 64)

struct index_tail {
	int has_link;		/* whether there is a shared index at all */
	int has_deletions;	/* whether some of its entries do not count */
	char link[SHARED_NAME_SIZE];
	const unsigned char *bitmaps, *bitmaps_end;	/* of a split index */
	struct index_extension untracked;	/* data is NULL without */
};

/*
 * Reads on from where index_next() has returned 0 to the end of the file, and
 * tells what is there. Returns 0, or -1 if the file is broken, is sparse or
 * needs an extension that we do not know.
 */
int index_read_tail(struct index_cursor *cursor, struct index_tail *tail);

/* Reads 32 bits, the highest ones first. */
uint32_t get_be32(const unsigned char *p);

/*
 * Reads a number in the variable width encoding of gitformat-pack(5), and
 * moves *p past it. Returns 0, or -1 if it is not there in full or too large.
 */
int read_varint(const unsigned char **p, const unsigned char *end,
		size_t *value);

#endif
