/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walk a working tree by directory handles; see dirs.h for the why.
 */
#include "git-compat-util.h"
#include "dir.h"
#include "dirs.h"

#ifndef NO_OPENAT

#define HANDLE_FLAGS (O_PATH | O_DIRECTORY)

/*
 * Handles that are kept open at once; others need descriptors, too. Below that
 * depth, parents are closed as their child is entered.
 */
#define MAX_OPEN_LEVELS 16

/* A file system that is always interrupted has to end in an error at last. */
#define CREATE_ATTEMPTS 16

#ifndef EFTYPE
#define EFTYPE EMLINK
#endif

/* Returns -1 if there are none between the root and the current directory. */
static int close_parents(struct dir_handles *dirs)
{
	int ret = -1;

	for (size_t i = 1; i + 1 < dirs->nr; i++) {
		struct dir_level *level = &dirs->level[i];

		if (level->fd < 0)
			continue;
		close(level->fd);
		level->fd = -1;
		ret = 0;
	}
	return ret;
}

static void push_level(struct dir_handles *dirs, int fd)
{
	struct dir_level *level;

	if (dirs->nr > (dirs->may_move ? 1 : MAX_OPEN_LEVELS)) {
		level = &dirs->level[dirs->nr - 1];
		close(level->fd);
		level->fd = -1;
	}
	ALLOC_GROW(dirs->level, dirs->nr + 1, dirs->alloc);
	level = &dirs->level[dirs->nr++];
	level->fd = fd;
	level->path_len = dirs->path.len;
}

static void pop_level(struct dir_handles *dirs)
{
	struct dir_level *level = &dirs->level[--dirs->nr];

	if (level->fd >= 0)
		close(level->fd);
	if (dirs->nr)
		strbuf_setlen(&dirs->path, dirs->level[dirs->nr - 1].path_len);
}

int dirs_open_root(struct dir_handles *dirs, const char *root)
{
	/* The current directory is as good as a handle, and never closed. */
	int fd = *root ? open(root, HANDLE_FLAGS | O_CLOEXEC) : AT_FDCWD;

	if (*root && fd < 0)
		return -1;
	push_level(dirs, fd);
	return 0;
}

void dirs_release(struct dir_handles *dirs)
{
	while (dirs->nr)
		pop_level(dirs);
	FREE_AND_NULL(dirs->level);
	dirs->alloc = 0;
	strbuf_release(&dirs->path);
}

void dirs_forget(struct dir_handles *dirs)
{
	while (dirs->nr > 1)
		pop_level(dirs);
}

static int current_fd(const struct dir_handles *dirs)
{
	return dirs->level[dirs->nr - 1].fd;
}

/* Does the path of the current directory still lead to it? */
static int is_in_place(const struct dir_handles *dirs)
{
	struct stat here, there;

	return !fstat(current_fd(dirs), &here) &&
		!fstatat(dirs->level[0].fd, dirs->path.buf, &there,
			 AT_SYMLINK_NOFOLLOW) &&
		here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/*
 * Climb to the deepest level that path[0..len) is, or is beneath, and whose
 * handle is of use. The root always qualifies.
 */
static void climb(struct dir_handles *dirs, const char *path, size_t len)
{
	const struct strbuf *cur = &dirs->path;

	while (dirs->nr > 1 &&
	       (current_fd(dirs) < 0 || cur->len > len ||
		memcmp(cur->buf, path, cur->len) ||
		(cur->len < len && path[cur->len] != '/')))
		pop_level(dirs);
	if (dirs->may_move && dirs->nr > 1 &&
	    (cur->len < len || !(dirs->in_place || is_in_place(dirs))))
		dirs_forget(dirs);
}

/*
 * Open something in the current directory. Where open() is interrupted by
 * signals (see OPEN_RETURNS_EINTR in Makefile), openat() may be, too; then all
 * but a creation can just be done again. And if we have spent all descriptors
 * on a deep path, most of them can be had back.
 */
static int open_in_current(struct dir_handles *dirs, const char *name,
			   int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(current_fd(dirs), name,
			    flags | O_NOFOLLOW | O_CLOEXEC, mode);
	while (fd < 0 && ((errno == EINTR && !(flags & O_CREAT)) ||
			  ((errno == EMFILE || errno == ENFILE) &&
			   !close_parents(dirs))));

	/* what FreeBSD and NetBSD say of a symbolic link */
	if (fd < 0 && (errno == EMLINK || errno == EFTYPE))
		errno = ELOOP;
	return fd;
}

/* Enter `name` in the current directory; the component is already in `path`. */
static int descend(struct dir_handles *dirs, const char *name, int make)
{
	int fd = open_in_current(dirs, name, HANDLE_FLAGS, 0);

	/* What another worker makes at the same time is no less welcome. */
	if (fd < 0 && errno == ENOENT && make &&
	    (!dirs_mkdir(dirs, name) || errno == EEXIST))
		fd = open_in_current(dirs, name, HANDLE_FLAGS, 0);
	if (fd < 0)
		return -1;
	push_level(dirs, fd);
	return 0;
}

/*
 * A creation was interrupted, which may have made the file before. Whoever else
 * makes an empty file of ours at this very moment loses nothing that was in it.
 * Make way for another attempt. Returns -1 if something else is there.
 */
static int undo_creation(struct dir_handles *dirs, const char *name)
{
	struct stat st;

	if (dirs_lstat(dirs, name, &st))
		return errno == ENOENT ? 0 : -1;
	if (!S_ISREG(st.st_mode) || st.st_size || st.st_nlink != 1 ||
	    st.st_uid != geteuid())
		return -1;
	return dirs_unlink(dirs, name) && errno != ENOENT ? -1 : 0;
}

int dirs_create(struct dir_handles *dirs, const char *name, int access,
		mode_t mode)
{
	int fd = -1;

	for (int i = 0; i < CREATE_ATTEMPTS; i++) {
		fd = open_in_current(dirs, name, access | O_CREAT | O_EXCL,
				     mode);
		if (fd >= 0 || errno != EINTR)
			break;
		if (undo_creation(dirs, name)) {
			errno = EINTR;
			break;
		}
	}
	return fd;
}

int dirs_open(struct dir_handles *dirs, const char *name, int flags)
{
	return open_in_current(dirs, name, O_RDONLY | flags, 0);
}

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st)
{
	return fstatat(current_fd(dirs), name, st, AT_SYMLINK_NOFOLLOW);
}

int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name)
{
	char found[PATH_MAX];
	size_t len = strlen(target);
	int attempts = 0, ret;

	do
		ret = symlinkat(target, current_fd(dirs), name);
	while (ret && errno == EINTR && ++attempts < CREATE_ATTEMPTS);

	/* An attempt that was interrupted may have made it. */
	if (ret && errno == EEXIST && attempts) {
		if (readlinkat(current_fd(dirs), name, found, sizeof(found)) ==
		    (ssize_t)len && !memcmp(found, target, len))
			return 0;
		errno = EEXIST;
	}
	return ret;
}

int dirs_mkdir(struct dir_handles *dirs, const char *name)
{
	return mkdirat(current_fd(dirs), name, 0777);
}

int dirs_unlink(struct dir_handles *dirs, const char *name)
{
	return unlinkat(current_fd(dirs), name, 0);
}

int dirs_rmdir(struct dir_handles *dirs, const char *name)
{
	return unlinkat(current_fd(dirs), name, AT_REMOVEDIR);
}

#else /* NO_OPENAT */

int dirs_open_root(struct dir_handles *dirs, const char *root)
{
	struct stat st;

	if (stat(*root ? root : ".", &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	strbuf_addstr(&dirs->root, root);
	if (dirs->root.len)
		strbuf_complete(&dirs->root, '/');
	return 0;
}

void dirs_release(struct dir_handles *dirs)
{
	strbuf_release(&dirs->path);
	strbuf_release(&dirs->root);
	strbuf_release(&dirs->whole);
}

void dirs_forget(struct dir_handles *dirs)
{
	strbuf_reset(&dirs->path);
}

/*
 * The path of `name` in the current directory, or of that if it is ""; valid
 * until the next call. When asked for the same once more, it only copies bytes,
 * as it may have to in the handler of a signal.
 */
static const char *whole_path(struct dir_handles *dirs, const char *name)
{
	strbuf_reset(&dirs->whole);
	strbuf_addbuf(&dirs->whole, &dirs->root);
	strbuf_addbuf(&dirs->whole, &dirs->path);
	if (dirs->path.len && *name)
		strbuf_addch(&dirs->whole, '/');
	strbuf_addstr(&dirs->whole, name);
	return dirs->whole.buf;
}

/* Entries come by directory; look at all of the path when that changes. */
static void climb(struct dir_handles *dirs, const char *path, size_t len)
{
	if (dirs->may_move || len != dirs->path.len ||
	    memcmp(dirs->path.buf, path, len))
		dirs_forget(dirs);
}

/* Look at the last component of the current directory. */
static int descend(struct dir_handles *dirs, const char *name UNUSED, int make)
{
	struct stat st;
	int ret = dirs_lstat(dirs, "", &st);

	if (ret && errno == ENOENT && make &&
	    (!dirs_mkdir(dirs, "") || errno == EEXIST))
		ret = dirs_lstat(dirs, "", &st);
	if (!ret && !S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		ret = -1;
	}
	return ret;
}

int dirs_create(struct dir_handles *dirs, const char *name, int access,
		mode_t mode)
{
	return open(whole_path(dirs, name),
		    access | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int dirs_open(struct dir_handles *dirs, const char *name, int flags)
{
	return open_nofollow(whole_path(dirs, name),
			     O_RDONLY | O_CLOEXEC | flags);
}

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st)
{
	return lstat(whole_path(dirs, name), st);
}

int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name)
{
	return symlink(target, whole_path(dirs, name));
}

int dirs_mkdir(struct dir_handles *dirs, const char *name)
{
	return mkdir(whole_path(dirs, name), 0777);
}

int dirs_unlink(struct dir_handles *dirs, const char *name)
{
	return unlink(whole_path(dirs, name));
}

int dirs_rmdir(struct dir_handles *dirs, const char *name)
{
	return rmdir(whole_path(dirs, name));
}

#endif /* NO_OPENAT */

const char *dirs_enter(struct dir_handles *dirs, const char *path, int make)
{
	struct strbuf *cur = &dirs->path;
	const char *slash = strrchr(path, '/');
	size_t len = slash ? slash - path : 0;

	climb(dirs, path, len);
	while (cur->len < len) {
		size_t parent_len = cur->len;
		size_t name_at = parent_len ? parent_len + 1 : 0;
		const char *end = strchr(path + name_at, '/');
		const char *name;

		strbuf_add(cur, path + parent_len, end - path - parent_len);
		name = cur->buf + name_at;
		errno = EINVAL;		/* cf. verify_path() */
		if (!*name || is_dot_or_dotdot(name) ||
		    descend(dirs, name, make)) {
			strbuf_setlen(cur, parent_len);
			return NULL;
		}
	}
	return slash ? slash + 1 : path;
}
