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
 * redirect an operation to another place; cf. CVE-2021-21300. Since the handles
 * of the current directory and its parents are kept, a walk costs fewer
 * look-ups than whole paths would.
 *
 * openat2(2) would find a directory in one call. It is not used: layers that
 * keep the current directory or names to themselves, like PRoot, do not know
 * it, so it would go past them to another place; and a sandbox may kill who
 * calls it.
 *
 * With NO_OPENAT, the same interface works with whole paths. A walk then looks
 * at the leading directories, which may be too early.
 */

#include "strbuf.h"

/*
 * For the directory argument of the *at() functions, Linux has O_PATH and POSIX
 * has O_SEARCH: they also work for directories that we may search but not read,
 * as whole paths do. Without either, use whole paths. So do it where
 * git-compat-util.h translates the modes of files, which it does for lstat()
 * and not for fstatat().
 */
#if !defined(O_PATH) && defined(O_SEARCH)
#define O_PATH O_SEARCH
#endif
#if !defined(NO_OPENAT) && (!defined(O_PATH) || defined(NEEDS_MODE_TRANSLATION))
#define NO_OPENAT
#endif

struct dir_level {
	int fd;			/* -1 if it was closed to spare descriptors */
	size_t path_len;	/* of its path in dir_handles.path */
};

struct dir_handles {
	/* The current directory, relative to the root; "" for the root. */
	struct strbuf path;

	/* level[0] is the root, level[nr - 1] the current directory. */
	struct dir_level *level;
	size_t nr, alloc;

	/*
	 * Set by those who do single operations, between which a directory may
	 * be moved away; a handle would follow it there. dirs_enter() then uses
	 * only the handle of the directory itself, if its path still leads
	 * there, and keeps no handles of its parents.
	 */
	unsigned may_move : 1;

	/* With `may_move`: the caller knows that it still does. */
	unsigned in_place : 1;

	/* NO_OPENAT only: the root with its slash, and the last path used. */
	struct strbuf root, whole;
};

#define DIR_HANDLES_INIT { \
	.path = STRBUF_INIT, \
	.root = STRBUF_INIT, \
	.whole = STRBUF_INIT, \
}

/*
 * Take the directory `root` (the current working directory if it is "") as the
 * root. Symbolic links in `root` itself are followed. Returns 0, or -1 with
 * errno set.
 */
int dirs_open_root(struct dir_handles *dirs, const char *root);

/* Close all handles and free everything; `dirs` can be opened again. */
void dirs_release(struct dir_handles *dirs);

/*
 * Forget all handles but the root's, so that the next dirs_enter() looks at
 * every component again. To be called from time to time unless `may_move`.
 */
void dirs_forget(struct dir_handles *dirs);

/*
 * Make the directory of `path`, which is relative to the root, the current one.
 * Components that do not exist are made with mode 0777 less the umask if `make`
 * says so, and are an error (ENOENT) otherwise.
 *
 * Returns the last component, for the functions below, or NULL with errno set.
 * ENOTDIR or ELOOP mean that a leading component is there and is no directory.
 */
const char *dirs_enter(struct dir_handles *dirs, const char *path, int make);

/*
 * The following work on `name`, a single component, in the current directory.
 * None follows a symbolic link. They return -1 and set errno on error.
 */

/*
 * Create a new file, and open it with O_WRONLY or O_RDWR; returns its
 * descriptor. EEXIST: somebody else has made what is there.
 *
 * With EINTR, a file system may have made the file nevertheless, and another
 * attempt would meet it. So what is there after an interruption is removed
 * before that, if it can be ours: an empty file with one name, of this user.
 * Anything else stays, and errno is EINTR: it is not known who has made it.
 */
int dirs_create(struct dir_handles *dirs, const char *name, int access,
		mode_t mode);

/* Open a file for reading, with O_RDONLY and these flags. */
int dirs_open(struct dir_handles *dirs, const char *name, int flags);

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st);

/*
 * After an interruption, a link to the target is ours: who makes it is all one.
 */
int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name);
int dirs_mkdir(struct dir_handles *dirs, const char *name);
int dirs_unlink(struct dir_handles *dirs, const char *name);
int dirs_rmdir(struct dir_handles *dirs, const char *name);

/*
 * System calls on whole paths in a working tree (in beneath.c), which walk to
 * the directory as above. To check the leading directories and then use the
 * path would not be enough: what was a directory can be a link by then, and the
 * cache in symlinks.c remembers for long what was one.
 *
 * The first base_len bytes of a path, up to their last slash, are trusted, and
 * may go through symbolic links; cf. base_dir in struct checkout. The functions
 * return what the system call of that name does and set errno likewise. With
 * ENOTDIR or ELOOP a leading directory is there and is none. They are not for
 * several threads.
 *
 * With NO_OPENAT, these are the system calls themselves, except beneath_open():
 * callers have to check the leading directories first, with
 * has_dirs_only_path() or check_path(), and that is all that there is.
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
 * Open a file for reading. Where its directory cannot be entered, for whatever
 * reason, there is no file: that is ENOTDIR, unless the path is too long or
 * there are no descriptors left.
 */
int beneath_open(const char *path, size_t base_len);

/*
 * The ones above, with the warning of unlink_or_warn() and rmdir_or_warn()
 * unless what is to be removed is not there.
 */
int beneath_unlink_or_warn(const char *path, size_t base_len);
int beneath_rmdir_or_warn(const char *path, size_t base_len);

#endif /* DIRS_H */
