/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations that stay beneath a directory; see beneath.h.
 */
#include "git-compat-util.h"
#include "beneath.h"
#include "parallel-checkout/dirs.h"
#include "symlinks.h"
#include "wrapper.h"

/*
 * Enter the directory of the path and return the name in it, or NULL with errno
 * set. In both cases leave() is to be called. Handles are not kept: what they
 * stand for may be moved away.
 */
static const char *enter(struct dir_handles *dirs, const char *path,
			 size_t base_len)
{
	size_t len = strlen(path), root_len, name_at;
	char *root;
	int ret;

	/* As for the system call with this path. */
	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	for (root_len = base_len < len ? base_len : len; root_len; root_len--)
		if (is_dir_sep(path[root_len - 1]))
			break;
	for (name_at = len; name_at > root_len; name_at--)
		if (is_dir_sep(path[name_at - 1]))
			break;

	root = xmemdupz(path, root_len);
	ret = dirs_open_root(dirs, root);
	free(root);
	if (ret < 0 ||
	    dirs_enter(dirs, path + root_len,
		       name_at > root_len ? name_at - root_len - 1 : 0, 0) < 0)
		return NULL;
	return path + name_at;
}

static int leave(struct dir_handles *dirs, int ret)
{
	int saved_errno = errno;

	dirs_release(dirs);
	errno = saved_errno;
	return ret;
}

int beneath_create(const char *path, size_t base_len, mode_t mode)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? dirs_create(&dirs, name, mode) : -1);
}

int beneath_open(const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	/*
	 * What is wrong with a leading directory is for those to say who make
	 * them.
	 */
	if (!name && strlen(path) < PATH_MAX &&
	    errno != EMFILE && errno != ENFILE)
		errno = ENOTDIR;
	return leave(&dirs, name ? dirs_open_file(&dirs, name) : -1);
}

int beneath_mkdir(const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? dirs_mkdir(&dirs, name) : -1);
}

int beneath_symlink(const char *target, const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? dirs_symlink(&dirs, target, name) : -1);
}

int beneath_unlink(const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? dirs_unlink(&dirs, name) : -1);
}

int beneath_rmdir(const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);
	int ret = leave(&dirs, name ? dirs_rmdir(&dirs, name) : -1);

	/* As rmdir() does; see symlinks.h. */
	if (!ret)
		invalidate_lstat_cache();
	return ret;
}

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
