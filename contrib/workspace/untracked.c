/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the folders of an untracked cache; see untracked.h. The format is that
 * of gitformat-index(5), of which the part after the names does not matter.
 */
#include "untracked.h"
#include "base.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Stat data of two files, and flags; two object IDs follow. */
#define FIXED_SIZE (2 * 36 + 4)

int is_dotgit_elsewhere(const char *name)
{
	char plain[6];
	size_t len = 0;
	const char *p;

	/* NTFS: spaces, periods and a stream do not count, nor does case. */
	if (!strncasecmp(name, ".git", 4) || !strncasecmp(name, "git~1", 5)) {
		p = name + (*name == '.' ? 4 : 5);
		p += strspn(p, " .");
		if (!*p || *p == ':' || *p == '\\')
			return 1;
	}

	/* HFS+: there are characters that it ignores. */
	for (p = name; *p && len < sizeof(plain) - 1; p++) {
		if ((p[0] == '\xe2' && (p[1] == '\x80' || p[1] == '\x81')) ||
		    (p[0] == '\xef' && p[1] == '\xbb')) {
			if (!p[2])
				break;
			p += 2;
			continue;
		}
		plain[len++] = *p;
	}
	plain[len] = '\0';
	return !strcasecmp(plain, ".git");
}

struct reader {
	const unsigned char *p, *end;
};

/* Returns a string and moves past it, or NULL if it has no end. */
static const char *read_string(struct reader *in)
{
	const char *start = (const char *)in->p;
	const unsigned char *nul = memchr(in->p, '\0', in->end - in->p);

	if (!nul)
		return NULL;
	in->p = nul + 1;
	return start;
}

static int skip(struct reader *in, size_t len)
{
	if (len > (size_t)(in->end - in->p))
		return -1;
	in->p += len;
	return 0;
}

/* Moves to the number of folders. Returns 1, 0 if there is none, or -1. */
static int read_head(struct reader *in, size_t hash_size)
{
	size_t len, nr;

	if (read_varint(&in->p, in->end, &len) || skip(in, len) ||
	    skip(in, FIXED_SIZE + 2 * hash_size) || !read_string(in))
		return -1;
	if (in->p == in->end)
		return 0;
	if (read_varint(&in->p, in->end, &nr))
		return -1;
	return !!nr;
}

/* A folder that has others in it which come next. */
struct level {
	size_t left;		/* of these */
	size_t path_len;	/* of its path, with a slash unless empty */
};

struct path {
	char *buf;
	size_t len, alloc;
};

static void set_path(struct path *path, size_t parent_len, const char *name)
{
	size_t len = strlen(name), need = parent_len + len + 2;

	if (need > path->alloc) {
		path->alloc = need * 2 + 256;
		path->buf = grow(path->buf, path->alloc);
	}
	memcpy(path->buf + parent_len, name, len);
	path->len = parent_len + len;
	if (len)
		path->buf[path->len++] = '/';
}

/* Whether a name in this folder, whose path ends with a slash, is taken. */
static int is_safe(struct path *path)
{
	char *p = path->buf, *end = path->buf + path->len;

	while (p < end) {
		char *slash = memchr(p, '/', end - p);
		int bad;

		*slash = '\0';
		bad = is_dotgit_elsewhere(p);
		*slash = '/';
		if (bad)
			return 0;
		p = slash + 1;
	}
	return 1;
}

int untracked_add(const struct index_extension *extension, size_t hash_size,
		  struct names *names)
{
	struct reader in = {
		extension->data, extension->data + extension->len
	};
	struct level *levels = NULL;
	struct path path = { NULL, 0, 0 };
	size_t nr = 0, alloc = 0;
	int ret = read_head(&in, hash_size);

	if (ret <= 0)
		return ret;
	ret = -1;
	do {
		size_t files, folders;
		int has_files;
		const char *name;

		if (read_varint(&in.p, in.end, &files) ||
		    read_varint(&in.p, in.end, &folders) ||
		    !(name = read_string(&in)))
			goto out;
		has_files = !!files;
		while (files--)
			if (!read_string(&in))
				goto out;

		set_path(&path, nr ? levels[nr - 1].path_len : 0, name);
		if (path.len && (has_files || names_cover(names, path.buf,
							  path.len))) {
			if (!is_safe(&path))
				goto out;
			names_add(names, path.buf, path.len, NO_SUCH_NAME);
		}

		if (nr)
			levels[nr - 1].left--;
		if (nr == alloc) {
			alloc = alloc * 2 + 16;
			levels = grow(levels, alloc * sizeof(*levels));
		}
		levels[nr].left = folders;
		levels[nr++].path_len = path.len;
		while (nr && !levels[nr - 1].left)
			nr--;
	} while (nr);
	ret = 0;
out:
	free(levels);
	free(path.buf);
	return ret;
}
