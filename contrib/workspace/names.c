/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of names in which names can be found; see names.h.
 */
#include "names.h"
#include "base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void names_add(struct names *names, const char *path, size_t len,
	       const char *suffix)
{
	size_t suffix_len = strlen(suffix);
	size_t need = names->len + len + suffix_len + 1;

	if (need > names->alloc) {
		names->alloc = need + need / 2 + 4096;
		names->buf = grow(names->buf, names->alloc);
	}
	memcpy(names->buf + names->len, path, len);
	memcpy(names->buf + names->len + len, suffix, suffix_len + 1);
	if (need > 1 + names->len && names->buf[need - 2] == '/')
		names->folders++;
	names->len = need;
	names->nr++;
}

#define HASH_INIT 2166136261u
#define HASH_STEP(h, c) (((h) ^ (unsigned char)(c)) * 16777619u)

static void insert(struct names *names, size_t offset, size_t len)
{
	const char *name = names->buf + offset;
	uint32_t hash = HASH_INIT;
	size_t i;

	for (i = 0; i < len; i++)
		hash = HASH_STEP(hash, name[i]);
	for (i = hash & names->mask; names->slots[i]; i = (i + 1) & names->mask)
		if (!strcmp(names->buf + names->slots[i] - 1, name))
			return;
	names->slots[i] = offset + 1;
}

void names_freeze(struct names *names)
{
	size_t size = 64, offset, len;

	while (size < 2 * names->nr)
		size *= 2;
	names->mask = size - 1;
	names->slots = grow(names->slots, size * sizeof(*names->slots));
	memset(names->slots, 0, size * sizeof(*names->slots));
	for (offset = 0; offset < names->len; offset += len + 1) {
		len = strlen(names->buf + offset);
		insert(names, offset, len);
	}
}

static int has(const struct names *names, uint32_t hash, const char *path,
	       size_t len)
{
	size_t i;

	for (i = hash & names->mask; names->slots[i];
	     i = (i + 1) & names->mask) {
		const char *name = names->buf + names->slots[i] - 1;

		if (!strncmp(name, path, len) && !name[len])
			return 1;
	}
	return 0;
}

int names_cover(const struct names *names, const char *path, size_t len)
{
	uint32_t hash = HASH_INIT;
	size_t i;

	for (i = 0; i < len; i++) {
		hash = HASH_STEP(hash, path[i]);
		if (path[i] == '/' && has(names, hash, path, i + 1))
			return 1;
	}
	return has(names, hash, path, len);
}

void names_release(struct names *names)
{
	free(names->buf);
	free(names->slots);
}
