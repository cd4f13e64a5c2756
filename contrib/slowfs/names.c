/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of a directory, found regardless of case; see names.h.
 */
#define _GNU_SOURCE
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

struct names {
	void *tree;	/* of struct dir_entry, by its folded name */
};

struct dir_entry {
	char *folded;
	char *stored;
};

static void *check(void *p)
{
	if (!p) {
		fputs("slowfs: out of memory\n", stderr);
		abort();
	}
	return p;
}

static char *fold_ascii(const char *name)
{
	char *out = check(strdup(name)), *p;

	for (p = out; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p += 'a' - 'A';
	return out;
}

static char *fold(const char *name)
{
	mbstate_t in = { 0 }, back = { 0 };
	const char *s = name;
	/* lower case may take more bytes than upper case did */
	char *out = check(malloc(strlen(name) * MB_CUR_MAX + 1)), *p = out;

	while (*s) {
		wchar_t wc;
		size_t n = mbrtowc(&wc, s, strlen(s), &in);

		if (n == (size_t)-1 || n == (size_t)-2)
			goto ascii;
		s += n;
		n = wcrtomb(p, towlower(wc), &back);
		if (n == (size_t)-1)
			goto ascii;
		p += n;
	}
	*p = '\0';
	return out;
ascii:
	free(out);
	return fold_ascii(name);
}

static int entry_cmp(const void *a, const void *b)
{
	return strcmp(((const struct dir_entry *)a)->folded,
		      ((const struct dir_entry *)b)->folded);
}

static void entry_free(void *p)
{
	struct dir_entry *e = p;

	free(e->folded);
	free(e->stored);
	free(e);
}

struct names *names_read(int dirfd)
{
	struct names *n;
	struct dirent *de;
	DIR *dir;
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir) {
		int saved = errno;

		close(fd);
		errno = saved;
		return NULL;
	}
	n = check(calloc(1, sizeof(*n)));
	while ((de = readdir(dir)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			names_add(n, de->d_name);
	closedir(dir);
	return n;
}

const char *names_find(struct names *n, const char *name)
{
	struct dir_entry key = { .folded = fold(name) };
	struct dir_entry **found = tfind(&key, &n->tree, entry_cmp);

	free(key.folded);
	return found ? (*found)->stored : NULL;
}

void names_add(struct names *n, const char *name)
{
	struct dir_entry *e = check(calloc(1, sizeof(*e))), **slot;

	e->folded = fold(name);
	slot = check(tsearch(e, &n->tree, entry_cmp));
	if (*slot != e)
		entry_free(e);
	else
		e->stored = check(strdup(name));
}

void names_remove(struct names *n, const char *name)
{
	struct dir_entry key = { .folded = fold(name) }, **found, *e;

	found = tfind(&key, &n->tree, entry_cmp);
	if (found) {
		e = *found;
		tdelete(e, &n->tree, entry_cmp);
		entry_free(e);
	}
	free(key.folded);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	tdestroy(n->tree, entry_free);
	free(n);
}
