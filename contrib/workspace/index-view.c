/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read an index that may be split, and compare two; see index-view.h.
 */
#define _GNU_SOURCE
#include "index-view.h"

#include <string.h>

#define FLAG_STAGE 0x3000
#define FLAG_EXTENDED 0x4000

/*
 * A bitmap is compressed as gitformat-bitmap-v1(5) says: 32 bits for its size,
 * 32 for the number of words, the words, and 32 that matter to who appends. A
 * marker word has a bit, how many words have only such bits, and how many come
 * behind it as they are. Returns 0, or -1 if it is not there in full.
 */
static int bits_begin(struct index_bits *bits, const unsigned char **p,
		      const unsigned char *end)
{
	size_t words;

	if (end - *p < 12)
		return -1;
	words = get_be32(*p + 4);
	if (words > (size_t)(end - *p - 12) / 8)
		return -1;
	bits->p = *p + 8;
	bits->end = bits->p + 8 * words;
	*p = bits->end + 4;
	return 0;
}

static uint64_t next_word(struct index_bits *bits)
{
	uint64_t word = (uint64_t)get_be32(bits->p) << 32 |
		get_be32(bits->p + 4);

	bits->p += 8;
	return word;
}

/* Returns the next bit; behind the end, all are 0. */
static int bits_next(struct index_bits *bits)
{
	int bit;

	while (!bits->run && !bits->left) {
		uint64_t word;

		if (bits->p == bits->end)
			return 0;
		word = next_word(bits);
		if (bits->literals) {
			bits->literals--;
			bits->word = word;
			bits->left = 64;
		} else {
			bits->run_bit = word & 1;
			bits->run = (word >> 1 & UINT32_MAX) * 64;
			bits->literals = word >> 33;
		}
	}
	if (bits->run) {
		bits->run--;
		return bits->run_bit;
	}
	bit = bits->word & 1;
	bits->word >>= 1;
	bits->left--;
	return bit;
}

static void next_shared(struct index_view *view)
{
	struct index_entry *entry = &view->shared_entry;

	while ((view->shared_ret = index_next(&view->shared)) > 0) {
		int deleted = bits_next(&view->deleted);

		*entry = view->shared.entry;
		if (bits_next(&view->replaced)) {
			const struct index_entry *by =
				&view->replacements.entry;

			if (index_next(&view->replacements) <= 0 || by->len) {
				view->shared_ret = -1;
				return;
			}
			entry->mode = by->mode;
			entry->oid = by->oid;
			entry->flags = by->flags;
		}
		if (!deleted)
			return;
	}
}

int index_view_begin(struct index_view *view, const struct index_file *index,
		     const struct index_tail *tail,
		     const struct index_file *shared)
{
	const unsigned char *p = tail->bitmaps, *end = tail->bitmaps_end;

	memset(view, 0, sizeof(*view));
	index_begin(&view->added, index);
	/* Those that replace others come first. */
	do {
		view->added_ret = index_next(&view->added);
	} while (view->added_ret > 0 && !view->added.entry.len);

	view->is_split = !!shared;
	if (!shared)
		return 0;
	index_begin(&view->shared, shared);
	index_begin(&view->replacements, index);
	if (p != end && (bits_begin(&view->deleted, &p, end) ||
			 bits_begin(&view->replaced, &p, end)))
		return -1;
	view->last_shared = 1;
	return 0;
}

void index_view_end(struct index_view *view)
{
	index_end(&view->added);
	if (!view->is_split)
		return;
	index_end(&view->shared);
	index_end(&view->replacements);
}

/* The order of an index, except for stages. */
static int compare_names(const struct index_entry *a,
			 const struct index_entry *b)
{
	int cmp = memcmp(a->name, b->name, a->len < b->len ? a->len : b->len);

	return cmp ? cmp : (a->len > b->len) - (a->len < b->len);
}

/*
 * The name of an entry is in a buffer of its cursor, which may be used again
 * for the one behind it: hence what was given out last is moved past only now.
 */
int index_view_next(struct index_view *view, struct index_entry *entry)
{
	if (view->last_shared)
		next_shared(view);
	else if (view->last_added)
		view->added_ret = index_next(&view->added);
	view->last_shared = view->last_added = 0;

	if (view->shared_ret < 0 || view->added_ret < 0)
		return -1;
	if (view->shared_ret &&
	    (!view->added_ret || compare_names(&view->shared_entry,
					       &view->added.entry) < 0)) {
		view->last_shared = 1;
		*entry = view->shared_entry;
		return 1;
	}
	if (!view->added_ret)
		return 0;
	view->last_added = 1;
	*entry = view->added.entry;
	return 1;
}

/*
 * An entry with extended flags may be one of a file that is only intended to
 * be added, and has no object yet.
 */
static int same_file(const struct index_entry *a, const struct index_entry *b,
		     size_t hash_size)
{
	return !((a->flags | b->flags) & (FLAG_STAGE | FLAG_EXTENDED)) &&
		a->mode == b->mode && !memcmp(a->oid, b->oid, hash_size);
}

static void add(struct names *names, const struct index_entry *entry)
{
	if (entry->len && !names_cover(names, entry->name, entry->len))
		names_add(names, entry->name, entry->len, "");
}

int index_view_changes(struct index_view *view, struct names *names)
{
	size_t hash_size = view->added.file->hash_size;
	const struct index_entry *was = &view->shared.entry;
	const struct index_entry *is = &view->replacements.entry;
	int ret;

	while ((ret = index_next(&view->shared)) > 0) {
		int deleted = bits_next(&view->deleted);
		int replaced = bits_next(&view->replaced);

		if (replaced && (index_next(&view->replacements) <= 0 ||
				 is->len))
			return -1;
		if (deleted || (replaced && !same_file(was, is, hash_size)))
			add(names, was);
	}
	while (view->added_ret > 0) {
		add(names, &view->added.entry);
		view->added_ret = index_next(&view->added);
	}
	return ret < 0 ? ret : view->added_ret;
}

int index_view_diff(struct index_view *a, struct index_view *b,
		    struct names *names)
{
	size_t hash_size = a->added.file->hash_size;
	struct index_entry x, y;
	int a_ret = index_view_next(a, &x), b_ret = index_view_next(b, &y);

	while (a_ret > 0 || b_ret > 0) {
		int cmp;

		if (a_ret < 0 || b_ret < 0)
			break;
		cmp = !a_ret ? 1 : !b_ret ? -1 : compare_names(&x, &y);
		if (cmp > 0)
			add(names, &y);
		else if (cmp < 0 || !same_file(&x, &y, hash_size))
			add(names, &x);
		if (cmp <= 0)
			a_ret = index_view_next(a, &x);
		if (cmp >= 0)
			b_ret = index_view_next(b, &y);
	}
	return a_ret < 0 || b_ret < 0 ? -1 : 0;
}
