/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remember which directory is not there; see absent-dirs.h.
 */
#include "git-compat-util.h"
#include "absent-dirs.h"

/* Is path[0..len) the directory `dir`, or below it? */
static int is_within(const char *path, size_t len, const struct strbuf *dir)
{
	return dir->len && len >= dir->len &&
		!memcmp(path, dir->buf, dir->len) &&
		(len == dir->len || path[dir->len] == '/');
}

/* The length of the directory that path[0..len) is in, 0 for the top. */
static size_t parent_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

int absent_dirs_cover(struct absent_dirs *dirs, const char *path)
{
	size_t dir_len = parent_len(path, strlen(path));
	size_t up_len = parent_len(path, dir_len);
	struct stat st;

	/* That is not missing for the system; see warn_on_fopen_errors(). */
	if (strlen(path) >= PATH_MAX)
		return 0;
	if (is_within(path, dir_len, &dirs->absent))
		return 1;
	if (!up_len)
		return 0;
	if (dirs->present.len >= up_len &&
	    !memcmp(dirs->present.buf, path, up_len) &&
	    (dirs->present.len == up_len || dirs->present.buf[up_len] == '/'))
		return 0;

	strbuf_reset(&dirs->present);
	strbuf_add(&dirs->present, path, up_len);
	if (!lstat(dirs->present.buf, &st) || !is_missing_file_error(errno))
		return 0;
	strbuf_swap(&dirs->absent, &dirs->present);
	strbuf_reset(&dirs->present);
	return 1;
}

void absent_dirs_clear(struct absent_dirs *dirs)
{
	strbuf_release(&dirs->absent);
	strbuf_release(&dirs->present);
}
