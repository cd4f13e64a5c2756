/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the entries and the extensions of an index file; see index-file.h.
 */
#define _GNU_SOURCE
#include "index-file.h"
#include "base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_SIZE 12
#define STAT_DATA_SIZE 40
#define MODE_OFFSET 24
#define FLAG_EXTENDED 0x4000
#define FLAG_NAME_LEN 0x0fff

uint32_t get_be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		(uint32_t)p[2] << 8 | p[3];
}

int index_open(struct index_file *file, int dir, const char *path,
	       size_t hash_size)
{
	struct stat st;
	void *map = MAP_FAILED;
	/* It might be a FIFO. */
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size >= (off_t)(HEADER_SIZE + hash_size) &&
	    (uintmax_t)st.st_size <= SIZE_MAX)
		map = mmap(NULL, st.st_size, PROT_READ,
			   MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -1;

	file->data = map;
	file->size = st.st_size;
	file->hash_size = hash_size;
	file->version = get_be32(file->data + 4);
	file->nr = get_be32(file->data + 8);
	if (memcmp(file->data, "DIRC", 4) ||
	    file->version < 2 || file->version > 4) {
		index_close(file);
		return -1;
	}
	return 0;
}

void index_close(struct index_file *file)
{
	munmap((void *)file->data, file->size);
	file->data = NULL;
}

void index_begin(struct index_cursor *cursor, const struct index_file *file)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->file = file;
	cursor->pos = HEADER_SIZE;
	cursor->left = file->nr;
}

void index_end(struct index_cursor *cursor)
{
	free(cursor->buf);
	cursor->buf = NULL;
}

int read_varint(const unsigned char **p, const unsigned char *end,
		size_t *value)
{
	size_t v = 0;

	for (;;) {
		unsigned char c;

		if (*p == end)
			return -1;
		c = *(*p)++;
		v += c & 0x7f;
		if (!(c & 0x80))
			break;
		if (++v > SIZE_MAX >> 7)
			return -1;
		v <<= 7;
	}
	*value = v;
	return 0;
}

/*
 * Version 4: the name is that of the entry before, without some bytes at its
 * end and with others instead.
 */
static int next_compressed(struct index_cursor *cursor,
			   const unsigned char *p, const unsigned char *end)
{
	const unsigned char *nul;
	size_t strip, len;

	if (read_varint(&p, end, &strip) || strip > cursor->entry.len)
		return -1;
	nul = memchr(p, '\0', end - p);
	if (!nul)
		return -1;
	len = cursor->entry.len - strip + (nul - p);
	if (len >= cursor->alloc) {
		cursor->alloc = 2 * len + 256;
		cursor->buf = grow(cursor->buf, cursor->alloc);
	}
	memcpy(cursor->buf + cursor->entry.len - strip, p, nul - p);
	cursor->buf[len] = '\0';
	cursor->entry.name = cursor->buf;
	cursor->entry.len = len;
	cursor->pos = nul + 1 - cursor->file->data;
	return 1;
}

int index_next(struct index_cursor *cursor)
{
	const struct index_file *file = cursor->file;
	const unsigned char *start = file->data + cursor->pos, *p, *nul;
	const unsigned char *end = file->data + file->size - file->hash_size;
	unsigned int flags;
	size_t fixed, len;

	if (!cursor->left)
		return 0;
	cursor->left--;

	fixed = STAT_DATA_SIZE + file->hash_size + 2;
	if ((size_t)(end - start) < fixed + 2)
		return -1;
	flags = start[fixed - 2] << 8 | start[fixed - 1];
	cursor->entry.mode = get_be32(start + MODE_OFFSET);
	cursor->entry.oid = start + STAT_DATA_SIZE;
	cursor->entry.flags = flags;
	if (flags & FLAG_EXTENDED) {
		if (file->version < 3)
			return -1;
		fixed += 2;
	}
	p = start + fixed;
	if (file->version == 4)
		return next_compressed(cursor, p, end);

	len = flags & FLAG_NAME_LEN;
	if (len == FLAG_NAME_LEN) {
		if ((size_t)(end - p) < len)
			return -1;
		nul = memchr(p + len, '\0', end - p - len);
		if (!nul)
			return -1;
		len = nul - p;
	}
	fixed = (fixed + len + 8) & ~(size_t)7;
	if ((size_t)(end - start) < fixed || p[len])
		return -1;
	cursor->entry.name = (const char *)p;
	cursor->entry.len = len;
	cursor->pos += fixed;
	return 1;
}

int index_next_extension(struct index_cursor *cursor,
			 struct index_extension *extension)
{
	const struct index_file *file = cursor->file;
	const unsigned char *p = file->data + cursor->pos;
	size_t left = file->size - file->hash_size - cursor->pos;

	if (!left)
		return 0;
	if (left < 8)
		return -1;
	extension->signature = (const char *)p;
	extension->data = p + 8;
	extension->len = get_be32(p + 4);
	if (extension->len > left - 8)
		return -1;
	cursor->pos += 8 + extension->len;
	return 1;
}

/*
 * The object ID is followed by two bitmaps, or by nothing. A bitmap begins
 * with the number of its bits; there is none in one that has never been set.
 */
static int parse_link(const struct index_extension *extension,
		      size_t hash_size, struct index_tail *tail)
{
	const unsigned char *p = extension->data;
	char *out = tail->link;
	int is_null = 1;
	size_t i;

	if (tail->has_link || extension->len < hash_size)
		return -1;
	out += sprintf(out, "sharedindex.");
	for (i = 0; i < hash_size; i++) {
		out += sprintf(out, "%02x", p[i]);
		if (p[i])
			is_null = 0;
	}
	tail->has_link = !is_null;
	tail->bitmaps = p + hash_size;
	tail->bitmaps_end = p + extension->len;
	if (extension->len > hash_size) {
		if (extension->len < hash_size + 4)
			return -1;
		tail->has_deletions = !!get_be32(p + hash_size);
	}
	return 0;
}

int index_read_tail(struct index_cursor *cursor, struct index_tail *tail)
{
	struct index_extension extension;
	int ret;

	memset(tail, 0, sizeof(*tail));
	while ((ret = index_next_extension(cursor, &extension)) > 0) {
		if (!memcmp(extension.signature, "link", 4)) {
			if (parse_link(&extension, cursor->file->hash_size,
				       tail))
				return -1;
		} else if (!memcmp(extension.signature, "UNTR", 4)) {
			tail->untracked = extension;
		} else if (*extension.signature < 'A' ||
			   *extension.signature > 'Z') {
			return -1;
		}
	}
	return ret;
}
