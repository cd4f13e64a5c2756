/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls on whole paths in a working tree; see the end of dirs.h. */
#include "git-compat-util.h"
#include "dirs.h"
#include "object.h"
#include "symlinks.h"

/* The next operation is most often in the directory of the last one. */
static struct dir_handles last = DIR_HANDLES_INIT;
static struct strbuf last_root = STRBUF_INIT;

/* Make the directory of the path the current one; cf. dirs_enter(). */
static const char *enter(const char *path, size_t base_len)
{
	size_t len = strlen(path);
	size_t root_len = base_len < len ? base_len : len;

	/* As for a system call with the whole path. */
	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	while (root_len && !is_dir_sep(path[root_len - 1]))
		root_len--;
	if (root_len != last_root.len ||
	    memcmp(path, last_root.buf, root_len)) {
		dirs_release(&last);
		strbuf_reset(&last_root);
		strbuf_add(&last_root, path, root_len);
		if (dirs_open_root(&last, last_root.buf)) {
			strbuf_reset(&last_root);
			dirs_release(&last);	/* nothing that changes errno */
			return NULL;
		}
	}
	last.may_move = 1;
	return dirs_enter(&last, path + root_len, 0);
}

int beneath_open(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	if (name)
		return dirs_open(&last, name, 0);
	/* What is wrong with a directory is for those to say who make it. */
	if (is_missing_file_error(errno) || errno == ELOOP)
		errno = ENOTDIR;
	else if (strlen(path) < PATH_MAX && errno != EMFILE && errno != ENFILE)
		errno = ENOENT;
	return -1;
}

#ifndef NO_OPENAT

int beneath_create(const char *path, size_t base_len, mode_t mode)
{
	const char *name = enter(path, base_len);

	return name ? dirs_create(&last, name, O_WRONLY, mode) : -1;
}

int beneath_mkdir(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_mkdir(&last, name) : -1;
}

int beneath_symlink(const char *target, const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_symlink(&last, target, name) : -1;
}

int beneath_unlink(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_unlink(&last, name) : -1;
}

int beneath_rmdir(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);
	int ret = name ? dirs_rmdir(&last, name) : -1;

	/* As lstat_cache_aware_rmdir() does. */
	if (!ret)
		invalidate_lstat_cache();
	return ret;
}

#endif /* NO_OPENAT */

int beneath_unlink_or_warn(const char *path, size_t base_len)
{
	return warn_if_unremovable("unlink", path,
				   beneath_unlink(path, base_len));
}

int beneath_remove_or_warn(unsigned int mode, const char *path,
			   size_t base_len)
{
	if (!S_ISGITLINK(mode))
		return beneath_unlink_or_warn(path, base_len);
	return warn_if_unremovable("rmdir", path,
				   beneath_rmdir(path, base_len));
}
