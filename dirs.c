/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walk a working tree by directory handles; see dirs.h for the why.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "gettext.h"
#include "wrapper.h"
#ifdef __linux__
#include <sys/syscall.h>
#endif

#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif
#ifndef O_NOCTTY
#define O_NOCTTY 0
#endif

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

/*
 * Close the handles between the root and the current directory; climbing out of
 * that means to walk from the root again. Returns -1 if there are none.
 */
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
 * signals (see OPEN_RETURNS_EINTR in Makefile), openat() may be, too. And if we
 * have spent all descriptors on a deep path, most of them can be had back.
 */
static int open_in_current(struct dir_handles *dirs, const char *name,
			   int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(current_fd(dirs), name, flags | O_CLOEXEC, mode);
	while (fd < 0 && (errno == EINTR ||
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

	/*
	 * In a directory of our own making there is most likely nothing, so
	 * ask for the new directory at once.
	 */
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

int dirs_create(struct dir_handles *dirs, const char *name, mode_t mode)
{
	return open_in_current(dirs, name,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

static int open_file(struct dir_handles *dirs, const char *name)
{
	return open_in_current(dirs, name, O_RDONLY | O_NOFOLLOW, 0);
}

int dirs_open(struct dir_handles *dirs, const char *name)
{
	return open_in_current(dirs, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

int dirs_lstat(struct dir_handles *dirs, const char *name, struct stat *st)
{
	return fstatat(current_fd(dirs), name, st, AT_SYMLINK_NOFOLLOW);
}

int dirs_symlink(struct dir_handles *dirs, const char *target,
		 const char *name)
{
	return symlinkat(target, current_fd(dirs), name);
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

/* The path of `name` in the current directory; valid until the next call. */
static const char *whole_path(struct dir_handles *dirs, const char *name)
{
	strbuf_reset(&dirs->whole);
	strbuf_addf(&dirs->whole, "%s%s%s%s", dirs->root.buf, dirs->path.buf,
		    dirs->path.len ? "/" : "", name);
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

int dirs_create(struct dir_handles *dirs, const char *name, mode_t mode)
{
	return open(whole_path(dirs, name),
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static int open_file(struct dir_handles *dirs, const char *name)
{
	return open_nofollow(whole_path(dirs, name), O_RDONLY | O_CLOEXEC);
}

int dirs_open(struct dir_handles *dirs, const char *name)
{
	return open_nofollow(whole_path(dirs, name),
			     O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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

/* -- whole paths -- */

#if defined(SYS_openat2) && !defined(NO_OPENAT)

/* openat2(2), Linux 5.6; not every C library has the header of that. */
struct how_to_open {
	uint64_t flags, mode, resolve;
};
#define HOW_NO_SYMLINKS 0x04	/* RESOLVE_NO_SYMLINKS, which is for all components */

/*
 * As dirs_enter() from the root, but in one system call, and without handles of
 * the parents. Returns 1 if it is to be done by that instead: this call may be
 * unknown or forbidden, and there are errors that only a walk can avoid.
 */
static int enter_at_once(struct dir_handles *dirs, const char *path, size_t len)
{
	struct how_to_open how = {
		.flags = HANDLE_FLAGS | O_CLOEXEC,
		.resolve = HOW_NO_SYMLINKS,
	};
	size_t name_at = 0;
	int fd;

	errno = EINVAL;
	strbuf_add(&dirs->path, path, len);
	for (size_t i = 0; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		if (is_bad_component(path + name_at, i - name_at))
			goto failed;
		name_at = i + 1;
	}
	fd = syscall(SYS_openat2, current_fd(dirs), dirs->path.buf, &how,
		     sizeof(how));
	if (fd < 0)
		goto failed;
	push_level(dirs, fd, 0);
	return 0;

failed:
	strbuf_reset(&dirs->path);
	return errno == ENOENT || errno == ENOTDIR ? -1 : 1;
}

#else

static int enter_at_once(struct dir_handles *dirs UNUSED,
			 const char *path UNUSED, size_t len UNUSED)
{
	return 1;
}

#endif

/*
 * Enter the directory of the path and return the name in it, or NULL with errno
 * set. In both cases leave() is to be called. Handles are not kept: what they
 * stand for may be moved away.
 */
static const char *enter(struct dir_handles *dirs, const char *path,
			 size_t base_len)
{
	size_t len = strlen(path), root_len, name_at, dir_len;
	char *root;
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

	root = xmemdupz(path, root_len);
	ret = dirs_open_root(dirs, root);
	free(root);
	if (ret < 0)
		return NULL;

	dir_len = name_at > root_len ? name_at - root_len - 1 : 0;
	ret = dir_len ? enter_at_once(dirs, path + root_len, dir_len) : 0;
	if (ret > 0)
		ret = dirs_enter(dirs, path + root_len, dir_len, 0);
	if (ret < 0)
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
	return leave(&dirs, name ? open_file(&dirs, name) : -1);
}

#ifndef NO_OPENAT

int beneath_create(const char *path, size_t base_len, mode_t mode)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? dirs_create(&dirs, name, mode) : -1);
}

int beneath_mkdir(const char *path, size_t base_len)
{
	struct dir_handles dirs = DIR_HANDLES_INIT;
	const char *name = enter(&dirs, path, base_len);

	return leave(&dirs, name ? mkdirat(current_fd(&dirs), name, 0777) : -1);
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

	return leave(&dirs, name ? dirs_rmdir(&dirs, name) : -1);
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
