/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on whole paths in a working tree; see the end of dirs.h.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "symlinks.h"
#include "wrapper.h"

/* The next operation is most often in the directory of the last one. */
static struct {
	struct dir_handles dirs;
	struct strbuf root;
	unsigned is_open : 1;
} last = {
	.dirs = DIR_HANDLES_INIT,
	.root = STRBUF_INIT,
};

/*
 * Make the directory of the path the current one in last.dirs, and return the
 * name in it; or NULL, with errno set.
 */
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
	if (!last.is_open || root_len != last.root.len ||
	    memcmp(path, last.root.buf, root_len)) {
		dirs_release(&last.dirs);
		strbuf_reset(&last.root);
		strbuf_add(&last.root, path, root_len);
		last.dirs.may_move = 1;
		last.is_open = !dirs_open_root(&last.dirs, last.root.buf);
		if (!last.is_open)
			return NULL;
	}
	return dirs_enter(&last.dirs, path + root_len, 0);
}

int beneath_open(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	/*
	 * What is wrong with a leading directory is for those to say who make
	 * them.
	 */
	if (!name && strlen(path) < PATH_MAX &&
	    errno != EMFILE && errno != ENFILE)
		errno = ENOTDIR;
	return name ? dirs_open(&last.dirs, name, 0) : -1;
}

#ifndef NO_OPENAT

int beneath_create(const char *path, size_t base_len, mode_t mode)
{
	const char *name = enter(path, base_len);

	return name ? dirs_create(&last.dirs, name, O_WRONLY, mode) : -1;
}

int beneath_mkdir(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_mkdir(&last.dirs, name) : -1;
}

int beneath_symlink(const char *target, const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_symlink(&last.dirs, target, name) : -1;
}

int beneath_unlink(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? dirs_unlink(&last.dirs, name) : -1;
}

int beneath_rmdir(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);
	int ret = name ? dirs_rmdir(&last.dirs, name) : -1;

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

int beneath_rmdir_or_warn(const char *path, size_t base_len)
{
	return warn_if_unremovable("rmdir", path,
				   beneath_rmdir(path, base_len));
}
