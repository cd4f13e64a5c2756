/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_INDEX_VIEW_H
#define WORKSPACE_INDEX_VIEW_H
/*
 * The entries of an index as Git sees them, also if it is split: those of the
 * shared index, without deleted ones and with what replaces others, and those
 * that the small part adds. Nothing in the files is trusted.
 */

#include "index-file.h"
#include "names.h"

/* One of the two bitmaps of a split index, read bit by bit. */
struct index_bits {
	const unsigned char *p, *end;	/* words that come */
	uint64_t run;			/* bits to come, all of them the same */
	unsigned int run_bit;
	uint32_t literals;		/* words that come as they are */
	uint64_t word;
	unsigned int left;		/* bits of this word */
};

struct index_view {
	int is_split;
	struct index_cursor shared, replacements, added;
	struct index_bits deleted, replaced;
	/* what comes next: 1 if it is there, 0 at the end, -1 if broken */
	int shared_ret, added_ret;
	struct index_entry shared_entry;
	int last_shared, last_added;	/* which one is to be moved past */
};

/*
 * Begins with the index whose tail index_read_tail() has read, and its shared
 * index, or NULL if it has none. Returns 0, or -1 if they do not fit. In both
 * cases index_view_end() has to be called.
 */
int index_view_begin(struct index_view *view, const struct index_file *index,
		     const struct index_tail *tail,
		     const struct index_file *shared);

/*
 * Moves to the next entry, in the order of the names if the files are sorted.
 * Returns as index_next() does, and the entry is valid for as long.
 */
int index_view_next(struct index_view *view, struct index_entry *entry);

void index_view_end(struct index_view *view);

/*
 * Adds to names, unless covered there, the names of all entries that are not
 * those of the shared index, or whose objects or modes are not: all that differ
 * from those of a base whose shared index it is. Returns 0, or -1 if one of
 * the files is broken. For a view that has just begun.
 */
int index_view_changes(struct index_view *view, struct names *names);

/*
 * Adds to names, unless covered there, the names of all entries that are in
 * one view only, or whose objects or modes differ. What is skipped is equal
 * for certain; of views that are not sorted, more is added. Returns 0, or -1
 * if one of the files is broken. For views that have just begun.
 */
int index_view_diff(struct index_view *a, struct index_view *b,
		    struct names *names);

#endif
