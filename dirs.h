/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DIRS_H
#define DIRS_H

/*
 * Operations in a working tree that do not go through a symbolic link.
 *
 * A path below the root is walked one component at a time, from the handle of
 * one directory to that of the next, and what is done in a directory is done
 * relative to its handle. So a symbolic link that takes a directory's place at
 * any moment (because two paths collide, or because somebody means harm) cannot
 * redirect an operation to another place; cf. CVE-2021-21300.
 *
 * openat2(2) is not used: layers that keep the current directory or names to
 * themselves, like PRoot, do not know it, so it would go past them to another
 * place; and a sandbox may kill who calls it.
 *
 * With NO_OPENAT, the same interface works with whole paths. A walk then looks
 * at the leading directories, which may be too early.
 */

#include "strbuf.h"

/*
 * O_PATH of Linux and O_SEARCH of POSIX also open a directory that we may
 * search but not read. Without either, use whole paths; so do it where
 * git-compat-util.h translates the modes of lstat(), but not of fstatat().
 */
#if !defined(O_PATH) && defined(O_SEARCH)
#define O_PATH O_SEARCH
#endif
#if !defined(NO_OPENAT) && (!defined(O_PATH) || defined(NEEDS_MODE_TRANSLATION))
#define NO_OPENAT
#endif
#ifndef AT_FDCWD
#define AT_FDCWD -1
#endif

struct dir_handles {
	/* The current directory, relative to the root; "" for the root. */
	struct strbuf path;

	/*
	 * The handle of the root, and those of the directories in `path`. Of
	 * the latter, all but the last may be closed, and -1.
	 */
	int root, *fd;
	size_t nr, alloc;

	/*
	 * Set if a directory may be moved away between two operations, where
	 * its handle would follow it. dirs_enter() then keeps no parents, and
	 * uses the handle of the directory itself only if its path still leads
	 * there, as the caller can be sure of with `in_place`.
	 */
	unsigned may_move : 1, in_place : 1;

	/* NO_OPENAT only: the last path used, which begins with the root. */
	struct strbuf whole;
	size_t root_len;
};

#define DIR_HANDLES_INIT { \
	.path = STRBUF_INIT, \
	.root = AT_FDCWD, \
	.whole = STRBUF_INIT, \
}

/*
 * Take `root`, in which symbolic links are followed, as the root; "" is the
 * current working directory. Returns 0, or -1 with errno set.
 */
int dirs_open_root(struct dir_handles *dirs, const char *root);

/* Free everything; `dirs` is as it was initialized. */
void dirs_release(struct dir_handles *dirs);

/*
 * Forget all handles but the root's, so that the next dirs_enter() looks at
 * every component again. To be called from time to time unless `may_move`.
 */
void dirs_forget(struct dir_handles *dirs);

/*
 * Make the directory of `path`, which is relative to the root, the current one.
 * With `make`, components that do not exist are made.
 *
 * Returns the last component, for the functions below, or NULL with errno set.
 * ENOTDIR or ELOOP mean that a leading component is there and is no directory.
 */
const char *dirs_enter(struct dir_handles *dirs, const char *path, int make);

/*
 * What follows works on `name`, a single component, in the current directory.
 * Symbolic links are not followed. Errors are -1, with errno set.
 */

/*
 * Create a new file, and open it with O_WRONLY or O_RDWR. EEXIST: somebody else
 * has made what is there. EINTR: it is not known who has.
 */
int dirs_create(struct dir_handles *dirs, const char *name, int access,
		mode_t mode);

/* Open a file for reading, with O_RDONLY and these flags. */
int dirs_open(struct dir_handles *dirs, const char *name, int flags);

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st);
int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name);
int dirs_mkdir(struct dir_handles *dirs, const char *name);
int dirs_unlink(struct dir_handles *dirs, const char *name);
int dirs_rmdir(struct dir_handles *dirs, const char *name);

/*
 * System calls on whole paths in a working tree, which walk to the directory as
 * above. They return and set errno as the system call does; ENOTDIR or ELOOP
 * mean that a leading directory is none. Not for several threads.
 *
 * The first base_len bytes of a path, up to their last slash, are trusted, and
 * may go through symbolic links; cf. base_dir in struct checkout.
 *
 * With NO_OPENAT, callers of all but beneath_open() have to check the leading
 * directories before, with has_dirs_only_path() or check_path(). That is not
 * enough: what was a directory can be a link by then.
 */

#ifndef NO_OPENAT
int beneath_create(const char *path, size_t base_len, mode_t mode);
int beneath_mkdir(const char *path, size_t base_len);
int beneath_symlink(const char *target, const char *path, size_t base_len);
int beneath_unlink(const char *path, size_t base_len);
int beneath_rmdir(const char *path, size_t base_len);
#else
#define beneath_create(path, base_len, mode) \
	((void)(base_len), open(path, O_WRONLY | O_CREAT | O_EXCL, mode))
#define beneath_mkdir(path, base_len) ((void)(base_len), mkdir(path, 0777))
#define beneath_symlink(target, path, base_len) \
	((void)(base_len), symlink(target, path))
#define beneath_unlink(path, base_len) ((void)(base_len), unlink(path))
#define beneath_rmdir(path, base_len) ((void)(base_len), rmdir(path))
#endif

/*
 * Open a file for reading. ENOTDIR if there is no directory that it is in, and
 * ENOENT if that cannot be entered, for whatever reason but a path that is too
 * long or a lack of descriptors.
 */
int beneath_open(const char *path, size_t base_len);

/* As unlink_or_warn() and remove_or_warn(). */
int beneath_unlink_or_warn(const char *path, size_t base_len);
int beneath_remove_or_warn(unsigned int mode, const char *path,
			   size_t base_len);

#endif /* DIRS_H */
