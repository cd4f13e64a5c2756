/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walk through the upper layer of an overlay; see upper.h.
 *
 * A path that the upper layer has once had, and that the lower layer has too,
 * never shows the lower layer's again: overlays leave a whiteout behind, or an
 * opaque folder. Hence what the upper layer has now is all that can ever have
 * differed from the lower layer, but for names that neither has any more. A
 * folder that such a name has been in is in the upper layer, or it has
 * vanished itself, and so on upwards.
 *
 * That is why NO_SUCH_NAME is told for each folder.
 *
 * What is below a folder that only the upper layer has, or that hides or shows
 * another one of the lower layer's, need not be looked at: such a folder is
 * told with a slash, which means that nothing that Git believes of it is good.
 * There may be many files in it, such as a build makes.
 */
#define _GNU_SOURCE
#include "upper.h"
#include "base.h"
#include "untracked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* How fuse-overlayfs marks what it cannot mark otherwise. */
#define WHITEOUT_PREFIX ".wh."
#define OPAQUE_NAME ".wh..wh..opq"

struct walk {
	int upper, lower;
	struct names *names;

	/* Folders that wait to be read: where their paths begin in paths. */
	size_t *folders;
	size_t nr, alloc;
	char *paths;
	size_t paths_len, paths_alloc;

	/* The folder that is being read: its path, with a slash unless empty */
	char *path;
	size_t path_len, path_alloc;

	/* What is in it: a byte that says if it is a folder, a name, a NUL. */
	char *entries;
	size_t entries_len, entries_alloc;
};

static void append(char **buf, size_t *len, size_t *alloc, const char *data,
		   size_t n)
{
	if (*len + n > *alloc) {
		*alloc = (*len + n) * 2 + 256;
		*buf = grow(*buf, *alloc);
	}
	if (n)
		memcpy(*buf + *len, data, n);
	*len += n;
}

/* The folder of this name in the current one is to be read. */
static void push(struct walk *w, const char *name)
{
	if (w->nr == w->alloc) {
		w->alloc = w->alloc * 2 + 64;
		w->folders = grow(w->folders,
				  w->alloc * sizeof(*w->folders));
	}
	w->folders[w->nr++] = w->paths_len;
	append(&w->paths, &w->paths_len, &w->paths_alloc,
	       w->path, w->path_len);
	append(&w->paths, &w->paths_len, &w->paths_alloc,
	       name, strlen(name));
	if (*name)
		append(&w->paths, &w->paths_len, &w->paths_alloc, "/", 1);
}

/* The last one of them becomes the current folder. */
static void pop(struct walk *w)
{
	size_t offset = w->folders[--w->nr];

	w->path_len = 0;
	append(&w->path, &w->path_len, &w->path_alloc,
	       w->paths + offset, w->paths_len - offset);
	append(&w->path, &w->path_len, &w->path_alloc, "", 1);
	w->path_len--;
	w->paths_len = offset;
}

/* Adds a name in the current folder. */
static void add(struct walk *w, const char *name)
{
	names_add(w->names, w->path, w->path_len, name);
}

/* Adds the current folder itself, both with a slash and without. */
static void add_folder(struct walk *w)
{
	names_add(w->names, w->path, w->path_len, "");
	names_add(w->names, w->path, w->path_len - 1, "");
}

static int is_folder(int fd, const struct dirent *de)
{
	struct stat st;

	if (de->d_type != DT_UNKNOWN)
		return de->d_type == DT_DIR;
	return !fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		S_ISDIR(st.st_mode);
}

/* Reads what is in the open folder, which is closed, into entries. */
static int read_entries(struct walk *w, int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *de;
	int ret;

	if (!dir) {
		close(fd);
		return -1;
	}
	w->entries_len = 0;
	while (errno = 0, (de = readdir(dir))) {
		/*
		 * Git does not look into a .git, here or below. That there is
		 * one may matter, but then the folder it is in is told anyway.
		 */
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, "..") ||
		    !strcmp(de->d_name, ".git"))
			continue;
		append(&w->entries, &w->entries_len, &w->entries_alloc,
		       is_folder(fd, de) ? "d" : "f", 1);
		append(&w->entries, &w->entries_len, &w->entries_alloc,
		       de->d_name, strlen(de->d_name) + 1);
	}
	ret = errno ? -1 : 0;
	closedir(dir);
	return ret;
}

/*
 * Whether extended attributes say that the folder is not, or not only, that of
 * the lower layer with the same path: it hides that ("opaque"), or shows
 * another one ("redirect"). Returns -1 if that cannot be told.
 */
static int has_mark(int fd)
{
	static const char *const marks[] = {
		"trusted.overlay.opaque",
		"trusted.overlay.redirect",
		"user.overlay.opaque",
		"user.overlay.redirect",
		"user.fuseoverlayfs.opaque",
		"user.fuseoverlayfs.redirect",
	};
	static char list[1 << 16];	/* the kernel allows no more */
	ssize_t len = flistxattr(fd, list, sizeof(list));
	const char *name;
	size_t i;

	if (len < 0)
		return errno == ENOTSUP ? 0 : -1;
	for (name = list; name < list + len; name += strlen(name) + 1)
		for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
			if (!strcmp(name, marks[i]))
				return 1;
	return 0;
}

/* Whether the lower layer has a folder here; -1 if that cannot be told. */
static int lower_has_folder(struct walk *w)
{
	struct stat st;

	if (!w->path_len)
		return 1;
	w->path[w->path_len - 1] = '\0';
	if (!fstatat(w->lower, w->path, &st, AT_SYMLINK_NOFOLLOW)) {
		w->path[w->path_len - 1] = '/';
		return S_ISDIR(st.st_mode);
	}
	w->path[w->path_len - 1] = '/';
	return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/* Opens the current folder in the upper layer. */
static int open_folder(struct walk *w)
{
	int fd;

	if (!w->path_len)
		return openat(w->upper, ".",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->path[w->path_len - 1] = '\0';
	fd = openat(w->upper, w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	w->path[w->path_len - 1] = '/';
	return fd;
}

/*
 * Somebody may take away what we have just read about. We are to tell what
 * there was when Git has called us or later, so that is no error.
 */
static int has_vanished(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

/* Reads the current folder. */
static int read_folder(struct walk *w)
{
	size_t prefix_len = strlen(WHITEOUT_PREFIX);
	const char *p;
	int fd = open_folder(w), mark, has_lower;

	if (fd < 0) {
		if (!has_vanished() || !w->path_len)
			return -1;
		add_folder(w);
		return 0;
	}
	mark = has_mark(fd);
	has_lower = lower_has_folder(w);
	if (mark < 0 || has_lower < 0) {
		close(fd);
		return -1;
	}

	add(w, NO_SUCH_NAME);
	if (w->path_len && (mark || !has_lower)) {
		close(fd);
		add_folder(w);
		return 0;
	}

	if (read_entries(w, fd))
		return -1;
	for (p = w->entries; p < w->entries + w->entries_len;
	     p += strlen(p) + 1)
		if (!strcmp(p + 1, OPAQUE_NAME))
			mark = 1;
	if (mark) {
		if (!w->path_len)
			return -1;
		add_folder(w);
		return 0;
	}

	for (p = w->entries; p < w->entries + w->entries_len;
	     p += strlen(p) + 1) {
		const char *name = p + 1;

		if (*p == 'd') {
			if (is_dotgit_elsewhere(name))
				return -1;
			push(w, name);
			continue;
		}
		add(w, name);
		if (!strncmp(name, WHITEOUT_PREFIX, prefix_len) &&
		    name[prefix_len])
			add(w, name + prefix_len);
	}
	return 0;
}

int upper_list(int upper, int lower, struct names *names)
{
	struct walk w = { .upper = upper, .lower = lower, .names = names };
	int ret = 0;

	push(&w, "");
	while (w.nr && !ret) {
		pop(&w);
		ret = read_folder(&w);
	}
	free(w.folders);
	free(w.paths);
	free(w.path);
	free(w.entries);
	return ret;
}
