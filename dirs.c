/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walk a working tree by directory handles; see dirs.h for the why.
 */
#include "git-compat-util.h"
#include "dirs.h"

/*
 * verify_path() lets no path with such a component into the index, so nobody
 * should ask for one.
 */
static int is_bad_component(const char *name, size_t len)
{
	return !len || (name[0] == '.' &&
			(len == 1 || (len == 2 && name[1] == '.')));
}

#ifndef NO_OPENAT

#define HANDLE_FLAGS (O_PATH | O_DIRECTORY)

/*
 * Handles that are kept open at once; others need descriptors, too. Below that
 * depth, parents are closed as their child is entered.
 */
#define MAX_OPEN_LEVELS 16

/* A file system that is always interrupted has to end in an error at last. */
#define CREATE_ATTEMPTS 16

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

static void push_level(struct dir_handles *dirs, int fd, unsigned made)
{
	struct dir_level *level;

	if (dirs->nr > MAX_OPEN_LEVELS) {
		level = &dirs->level[dirs->nr - 1];
		close(level->fd);
		level->fd = -1;
	}
	ALLOC_GROW(dirs->level, dirs->nr + 1, dirs->alloc);
	level = &dirs->level[dirs->nr++];
	level->fd = fd;
	level->path_len = dirs->path.len;
	level->made = made;
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
	push_level(dirs, fd, 0);
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

void dirs_look_again(struct dir_handles *dirs)
{
	struct stat here, there;

	if (dirs->nr > 1 &&
	    (fstat(current_fd(dirs), &here) ||
	     fstatat(dirs->level[0].fd, dirs->path.buf, &there,
		     AT_SYMLINK_NOFOLLOW) ||
	     here.st_dev != there.st_dev || here.st_ino != there.st_ino))
		dirs_forget(dirs);
}

/* Not all systems say ELOOP of a symbolic link that must not be followed. */
static int is_link_error(int err)
{
#ifdef EFTYPE
	if (err == EFTYPE)	/* open(2) of NetBSD */
		return 1;
#endif
	return err == EMLINK;	/* open(2) of FreeBSD */
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
		fd = openat(current_fd(dirs), name, flags | O_CLOEXEC, mode);
	while (fd < 0 && ((errno == EINTR && !(flags & O_CREAT)) ||
			  ((errno == EMFILE || errno == ENFILE) &&
			   !close_parents(dirs))));
	if (fd < 0 && (flags & O_NOFOLLOW) && is_link_error(errno))
		errno = ELOOP;
	return fd;
}

/* Enter `name` in the current directory; the component is already in `path`. */
static int descend(struct dir_handles *dirs, const char *name, int make)
{
	const struct dir_level *parent = &dirs->level[dirs->nr - 1];
	unsigned made = 0;
	int fd;

	/* In a directory of our own making there is most likely nothing. */
	if (make && parent->made && !mkdirat(parent->fd, name, 0777))
		made = 1;

	fd = open_in_current(dirs, name, HANDLE_FLAGS | O_NOFOLLOW, 0);
	if (fd < 0 && errno == ENOENT && make && !made) {
		/*
		 * Another worker may be doing the same; then this directory
		 * is no less welcome.
		 */
		if (!mkdirat(parent->fd, name, 0777))
			made = 1;
		else if (errno != EEXIST)
			return -1;
		fd = open_in_current(dirs, name, HANDLE_FLAGS | O_NOFOLLOW, 0);
	}
	if (fd < 0)
		return -1;
	push_level(dirs, fd, made);
	return 0;
}

int dirs_enter(struct dir_handles *dirs, const char *path, size_t len,
	       int make)
{
	struct strbuf *cur = &dirs->path;

	/*
	 * Climb to the deepest level that the path is beneath and that is
	 * still open. The root always qualifies.
	 */
	while (dirs->nr > 1 &&
	       (current_fd(dirs) < 0 || cur->len > len ||
		memcmp(cur->buf, path, cur->len) ||
		(cur->len < len && path[cur->len] != '/')))
		pop_level(dirs);

	while (cur->len < len) {
		size_t parent_len = cur->len;
		size_t name_at = parent_len ? parent_len + 1 : 0;
		const char *slash = memchr(path + name_at, '/', len - name_at);
		size_t end = slash ? (size_t)(slash - path) : len;

		if (is_bad_component(path + name_at, end - name_at)) {
			errno = EINVAL;
			return -1;
		}
		strbuf_add(cur, path + parent_len, end - parent_len);
		if (descend(dirs, cur->buf + name_at, make)) {
			strbuf_setlen(cur, parent_len);
			return -1;
		}
	}
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
		fd = open_in_current(dirs, name, access | O_CREAT | O_EXCL |
				     O_NOFOLLOW, mode);
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
	return open_in_current(dirs, name, O_RDONLY | O_NOFOLLOW | flags, 0);
}

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st)
{
	return fstatat(current_fd(dirs), name, st, AT_SYMLINK_NOFOLLOW);
}

/* Is this a symbolic link to the target? */
static int is_link_to(struct dir_handles *dirs, const char *name,
		      const char *target)
{
	size_t len = strlen(target);
	char *buf = xmalloc(len + 1);
	int ret = readlinkat(current_fd(dirs), name, buf, len + 1) ==
		(ssize_t)len && !memcmp(buf, target, len);

	free(buf);
	return ret;
}

int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name)
{
	int ret = symlinkat(target, current_fd(dirs), name);

	for (int i = 1; ret && errno == EINTR && i < CREATE_ATTEMPTS; i++) {
		ret = symlinkat(target, current_fd(dirs), name);

		/* The attempt that was interrupted may have made it. */
		if (ret && errno == EEXIST) {
			ret = is_link_to(dirs, name, target) ? 0 : -1;
			errno = EEXIST;
		}
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

int dirs_fstat(const struct dir_handles *dirs, struct stat *st)
{
	return fstat(current_fd(dirs), st);
}

void dirs_keep_current(struct dir_handles *dirs)
{
	close_parents(dirs);
}

#else /* NO_OPENAT */

void dirs_keep_current(struct dir_handles *dirs UNUSED)
{
}

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

void dirs_look_again(struct dir_handles *dirs)
{
	dirs_forget(dirs);
}

/*
 * The path of `name` in the current directory; valid until the next call. When
 * asked for the same once more, it only copies bytes, as it may have to in the
 * handler of a signal.
 */
static const char *whole_path(struct dir_handles *dirs, const char *name)
{
	strbuf_reset(&dirs->whole);
	strbuf_addbuf(&dirs->whole, &dirs->root);
	strbuf_addbuf(&dirs->whole, &dirs->path);
	if (dirs->path.len)
		strbuf_addch(&dirs->whole, '/');
	strbuf_addstr(&dirs->whole, name);
	return dirs->whole.buf;
}

/* Is this a directory, and no symbolic link? Sets errno if not. */
static int is_real_dir(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return 0;
	errno = ENOTDIR;
	return S_ISDIR(st.st_mode);
}

int dirs_enter(struct dir_handles *dirs, const char *path, size_t len,
	       int make)
{
	struct strbuf dir = STRBUF_INIT;
	size_t end = 0;
	int ret = 0;

	/* Entries come by directory, and that was looked at a moment ago. */
	if (len && len == dirs->path.len && !memcmp(dirs->path.buf, path, len))
		return 0;

	strbuf_addbuf(&dir, &dirs->root);
	while (!ret && end < len) {
		size_t name_at = end + !!end;
		const char *slash = memchr(path + name_at, '/', len - name_at);
		size_t next = slash ? (size_t)(slash - path) : len;

		if (is_bad_component(path + name_at, next - name_at)) {
			errno = EINVAL;
			ret = -1;
			break;
		}
		strbuf_add(&dir, path + end, next - end);
		end = next;
		if (is_real_dir(dir.buf))
			continue;
		if (errno != ENOENT || !make ||
		    (mkdir(dir.buf, 0777) && errno != EEXIST) ||
		    !is_real_dir(dir.buf))
			ret = -1;
	}
	strbuf_reset(&dirs->path);
	if (!ret)
		strbuf_add(&dirs->path, path, len);
	strbuf_release(&dir);
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

int dirs_unlink(struct dir_handles *dirs, const char *name)
{
	return unlink(whole_path(dirs, name));
}

int dirs_rmdir(struct dir_handles *dirs, const char *name)
{
	return rmdir(whole_path(dirs, name));
}

#endif /* NO_OPENAT */
