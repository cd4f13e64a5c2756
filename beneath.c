/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on whole paths in a working tree; see the end of dirs.h.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "wrapper.h"

/*
 * The directory of the last operation. The next one is most often in the same,
 * and uses its handle again if that is what the path still leads to: what was
 * moved away is not to be written to at its new place. Whatever has become of
 * the path, the handle is of a directory that was reached through no symbolic
 * link, so the look at the path need not be a walk.
 */
static struct {
	struct dir_handles dirs;
	struct strbuf path;	/* without a slash at the end; empty: none */
	size_t root_len;
	dev_t dev;
	ino_t ino;
} last = {
	.dirs = DIR_HANDLES_INIT,
	.path = STRBUF_INIT,
};

#ifndef NO_OPENAT

static int is_last(const char *path, size_t len, size_t root_len)
{
	struct stat st;

	return len == last.path.len && root_len == last.root_len &&
		!memcmp(path, last.path.buf, len) &&
		!lstat(last.path.buf, &st) &&
		st.st_dev == last.dev && st.st_ino == last.ino;
}

static void remember(const char *path, size_t len, size_t root_len)
{
	struct stat st;

	dirs_keep_current(&last.dirs);
	if (dirs_fstat(&last.dirs, &st))
		return;
	strbuf_add(&last.path, path, len);
	last.root_len = root_len;
	last.dev = st.st_dev;
	last.ino = st.st_ino;
}

#else

/* To walk is to look at the directories, which is what should be done. */
static int is_last(const char *path UNUSED, size_t len UNUSED,
		   size_t root_len UNUSED)
{
	return 0;
}

static void remember(const char *path UNUSED, size_t len UNUSED,
		     size_t root_len UNUSED)
{
}

#endif

/*
 * Make the directory of the path the current one in last.dirs, and return the
 * name in it; or NULL, with errno set.
 */
static const char *enter(const char *path, size_t base_len)
{
	size_t len = strlen(path), root_len, name_at, dir_end, dir_len;
	int ret;

	/* As for a system call with the whole path. */
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
	dir_end = name_at > root_len ? name_at - 1 : root_len;
	dir_len = dir_end - root_len;
	if (dir_len && is_last(path, dir_end, root_len))
		return path + name_at;

	dirs_release(&last.dirs);
	strbuf_reset(&last.path);
	strbuf_add(&last.path, path, root_len);
	ret = dirs_open_root(&last.dirs, last.path.buf);
	strbuf_reset(&last.path);
	if (ret)
		return NULL;

	if (dirs_enter(&last.dirs, path + root_len, dir_len, 0))
		return NULL;
	if (dir_len)
		remember(path, dir_end, root_len);
	return path + name_at;
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

	return name ? dirs_rmdir(&last.dirs, name) : -1;
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
