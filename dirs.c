/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walk a working tree by directory handles; see dirs.h for the why.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "gettext.h"
#include "wrapper.h"

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

/* A file system that is always interrupted has to end in an error at last. */
#define CREATE_ATTEMPTS 16

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

/*
 * A creation was interrupted. Has it made the file before? Nobody can tell for
 * certain, but if it has, that is empty, has one name, and is ours; and whoever
 * makes such a file at this very moment loses nothing that was in it. Make way
 * for another attempt. Returns -1 if something else is there.
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

static int create_file(struct dir_handles *dirs, const char *name, int access,
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

int dirs_create(struct dir_handles *dirs, const char *name, mode_t mode)
{
	return create_file(dirs, name, O_WRONLY, mode);
}

int dirs_create_readable(struct dir_handles *dirs, const char *name,
			 mode_t mode)
{
	return create_file(dirs, name, O_RDWR, mode);
}

static int open_file(struct dir_handles *dirs, const char *name)
{
	return open_in_current(dirs, name, O_RDONLY | O_NOFOLLOW, 0);
}

int dirs_open(struct dir_handles *dirs, const char *name)
{
	return open_in_current(dirs, name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			       0);
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

int dirs_create(struct dir_handles *dirs, const char *name, mode_t mode)
{
	return open(whole_path(dirs, name),
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

int dirs_create_readable(struct dir_handles *dirs, const char *name,
			 mode_t mode)
{
	return open(whole_path(dirs, name),
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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

	close_parents(&last.dirs);
	if (fstat(current_fd(&last.dirs), &st))
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
	return name ? open_file(&last.dirs, name) : -1;
}

#ifndef NO_OPENAT

int beneath_create(const char *path, size_t base_len, mode_t mode)
{
	const char *name = enter(path, base_len);

	return name ? dirs_create(&last.dirs, name, mode) : -1;
}

int beneath_mkdir(const char *path, size_t base_len)
{
	const char *name = enter(path, base_len);

	return name ? mkdirat(current_fd(&last.dirs), name, 0777) : -1;
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
