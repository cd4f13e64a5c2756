/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make the index of a new workspace from that of its base:
 *
 *	git-workspace-index <base folder> <worktree> <output file>
 *
 * It is a copy of the small part of the base's split index, but for
 *
 *  - the untracked cache, which names the worktree that it is good for, as
 *    Git throws it away elsewhere;
 *
 *  - the checksum, which is null: Git takes that as "not computed", as if
 *    index.skipHash had been set (since 2.40; before, "git fsck" alone does
 *    not take it), and writes a real one as soon as it writes the index;
 *
 *  - EOIE, which has a checksum over the lengths of the other extensions, and
 *    which only matters for large files.
 *
 * The hook believes that all names in the shared index are in the base, hence
 * no entry of it may be deleted in the small part.
 */
#define _GNU_SOURCE
#include "base.h"
#include "index-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "git-workspace-index: %s: %s\n", what, why);
	return 1;
}

struct output {
	unsigned char *data;
	size_t len, alloc;
};

static void put(struct output *out, const void *data, size_t len)
{
	if (out->len + len > out->alloc) {
		out->alloc = (out->len + len) * 2;
		out->data = grow(out->data, out->alloc);
	}
	if (len)
		memcpy(out->data + out->len, data, len);
	out->len += len;
}

static void put_be32(unsigned char *p, size_t value)
{
	p[0] = value >> 24;
	p[1] = value >> 16;
	p[2] = value >> 8;
	p[3] = value;
}

static void put_varint(struct output *out, size_t value)
{
	unsigned char buf[16];
	size_t pos = sizeof(buf) - 1;

	buf[pos] = value & 0x7f;
	while (value >>= 7)
		buf[--pos] = 0x80 | (--value & 0x7f);
	put(out, buf + pos, sizeof(buf) - pos);
}

/*
 * An untracked cache begins with the length of the names of places where it
 * is good, and these, each with a NUL; Git writes one and looks at the first.
 */
static int put_untracked(struct output *out, const char *worktree,
			 const struct index_extension *extension)
{
	const unsigned char *p = extension->data;
	const unsigned char *end = p + extension->len;
	struct utsname system;
	size_t start, old_len, ident_len;
	char *ident;

	if (read_varint(&p, end, &old_len) || old_len > (size_t)(end - p))
		return -1;
	p += old_len;
	if (uname(&system))
		return -1;
	ident_len = strlen("Location , system ") + strlen(worktree) +
		strlen(system.sysname) + 1;
	ident = grow(NULL, ident_len);
	snprintf(ident, ident_len, "Location %s, system %s", worktree,
		 system.sysname);

	put(out, "UNTR\0\0\0\0", 8);
	start = out->len;
	put_varint(out, ident_len);
	put(out, ident, ident_len);
	put(out, p, end - p);
	put_be32(out->data + start - 4, out->len - start);
	free(ident);
	return 0;
}

/* Returns 0, or -1 if the index is broken or not fit for a workspace. */
static int convert(struct output *out, const struct index_file *index,
		   const char *worktree)
{
	static const unsigned char null[32];
	struct index_cursor cursor;
	struct index_extension extension;
	struct index_tail tail;
	size_t start;
	int ret;

	index_begin(&cursor, index);
	while ((ret = index_next(&cursor)) > 0)
		; /* nothing */
	start = cursor.pos;
	if (!ret)
		ret = index_read_tail(&cursor, &tail);
	if (!ret && (!tail.has_link || tail.has_deletions))
		ret = -1;
	if (ret)
		goto out;

	cursor.pos = start;
	put(out, index->data, start);
	while ((ret = index_next_extension(&cursor, &extension)) > 0) {
		if (!memcmp(extension.signature, "EOIE", 4))
			continue;
		if (memcmp(extension.signature, "UNTR", 4))
			put(out, extension.signature, 8 + extension.len);
		else if ((ret = put_untracked(out, worktree, &extension)))
			break;
	}
	put(out, null, index->hash_size);
out:
	index_end(&cursor);
	return ret;
}

/* The file appears at once and in full. */
static int write_index(const char *path, const struct output *out)
{
	size_t size = strlen(path) + sizeof(".new");
	char *tmp = grow(NULL, size);
	int fd, ret = 0;

	snprintf(tmp, size, "%s.new", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		ret = fail(tmp, strerror(errno));
		free(tmp);
		return ret;
	}
	if (write_fully(fd, out->data, out->len))
		ret = fail(tmp, strerror(errno));
	if (close(fd) && !ret)
		ret = fail(tmp, strerror(errno));
	if (!ret && rename(tmp, path))
		ret = fail(path, strerror(errno));
	if (ret)
		unlink(tmp);
	free(tmp);
	return ret;
}

int main(int argc, char **argv)
{
	struct output out = { NULL, 0, 0 };
	struct index_file index;
	struct base base;
	char *worktree;
	int ret;

	if (argc != 4) {
		fputs("usage: git-workspace-index <base folder> <worktree> "
		      "<output file>\n", stderr);
		return 129;
	}
	if (base_open(&base, AT_FDCWD, argv[1]))
		return fail(argv[1], "not a base of a workspace");
	worktree = realpath(argv[2], NULL);
	if (!worktree) {
		ret = fail(argv[2], strerror(errno));
	} else if (index_open(&index, base.fd, "index", base.hash_size)) {
		ret = fail(argv[1], "cannot read the index");
	} else {
		if (convert(&out, &index, worktree))
			ret = fail(argv[1], "the index is broken");
		else
			ret = write_index(argv[3], &out);
		index_close(&index);
	}
	base_close(&base);
	free(worktree);
	free(out.data);
	return ret;
}
