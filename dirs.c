/* SPDX-License-Identifier: GPL-2.0-only */
/* Walk a working tree by directory handles; see dirs.h for the why. */
#include "git-compat-util.h"
#include "abspath.h"
#include "dir.h"
#include "dirs.h"

#ifndef NO_OPENAT

#define HANDLE_FLAGS (O_PATH | O_DIRECTORY)

/* Others need descriptors, too: below that depth, parents are closed. */
#define MAX_OPEN_PARENTS 16

/* A file system that is always interrupted has to end in an error at last. */
#define CREATE_ATTEMPTS 16

#ifndef EFTYPE
#define EFTYPE EMLINK
#endif

int dirs_open_root(struct dir_handles *dirs, const char *root)
{
	if (*root)
		dirs->root = open(root, HANDLE_FLAGS | O_CLOEXEC);
	return dirs->root == -1 ? -1 : 0;
}

void dirs_release(struct dir_handles *dirs)
{
	dirs_forget(dirs);
	if (dirs->root >= 0)
		close(dirs->root);
	dirs->root = AT_FDCWD;
	FREE_AND_NULL(dirs->fd);
	dirs->alloc = 0;
	strbuf_release(&dirs->path);
}

/* Make the parent of the current directory the current one. */
static void ascend(struct dir_handles *dirs)
{
	const char *slash = strrchr(dirs->path.buf, '/');
	int fd = dirs->fd[--dirs->nr];

	if (fd >= 0)
		close(fd);
	strbuf_setlen(&dirs->path, slash ? slash - dirs->path.buf : 0);
}

void dirs_forget(struct dir_handles *dirs)
{
	while (dirs->nr)
		ascend(dirs);
}

static int current_fd(const struct dir_handles *dirs)
{
	return dirs->nr ? dirs->fd[dirs->nr - 1] : dirs->root;
}

/* Does the path of the current directory still lead to it? */
static int is_in_place(const struct dir_handles *dirs)
{
	struct stat here, there;

	return !fstat(current_fd(dirs), &here) &&
		!fstatat(dirs->root, dirs->path.buf, &there,
			 AT_SYMLINK_NOFOLLOW) &&
		here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/*
 * Climb to the deepest directory that path[0..len) is, or is beneath, and whose
 * handle is of use.
 */
static void climb(struct dir_handles *dirs, const char *path, size_t len)
{
	const struct strbuf *cur = &dirs->path;

	while (dirs->nr &&
	       (current_fd(dirs) < 0 || strncmp(path, cur->buf, cur->len) ||
		path[cur->len] != '/'))
		ascend(dirs);
	if (dirs->may_move && dirs->nr &&
	    (cur->len < len || !(dirs->in_place || is_in_place(dirs))))
		dirs_forget(dirs);
}

/* Returns -1 if no parent of the current directory was open. */
static int close_parents(struct dir_handles *dirs)
{
	int ret = -1;

	for (size_t i = 0; i + 1 < dirs->nr; i++) {
		if (dirs->fd[i] < 0)
			continue;
		close(dirs->fd[i]);
		dirs->fd[i] = -1;
		ret = 0;
	}
	return ret;
}

/*
 * Open something in the current directory. What is interrupted by signals (see
 * OPEN_RETURNS_EINTR in Makefile) can just be done again, but for a creation.
 * If we have spent all descriptors on a deep path, get most of them back.
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

	if (dirs->nr >= (dirs->may_move ? 1 : MAX_OPEN_PARENTS)) {
		close(dirs->fd[dirs->nr - 1]);
		dirs->fd[dirs->nr - 1] = -1;
	}
	ALLOC_GROW(dirs->fd, dirs->nr + 1, dirs->alloc);
	dirs->fd[dirs->nr++] = fd;
	return 0;
}

/*
 * A creation that was interrupted may have made the file nevertheless. Make way
 * for another attempt: remove it if it can be ours. Whoever else makes an empty
 * file at this very moment loses nothing. Returns -1 if that is something else.
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
	for (int i = 0; i < CREATE_ATTEMPTS; i++) {
		int fd = open_in_current(dirs, name,
					 access | O_CREAT | O_EXCL, mode);

		if (fd >= 0 || errno != EINTR)
			return fd;
		if (undo_creation(dirs, name))
			break;
	}
	errno = EINTR;
	return -1;
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
	ssize_t len = strlen(target);
	int attempts = 0, ret;

	do
		ret = symlinkat(target, current_fd(dirs), name);
	while (ret && errno == EINTR && ++attempts < CREATE_ATTEMPTS);

	/* An attempt that was interrupted may have made it. */
	if (ret && errno == EEXIST && attempts) {
		if (readlinkat(current_fd(dirs), name, found, sizeof(found)) ==
		    len && !memcmp(found, target, len))
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
	errno = ENOTDIR;	/* unless the system says otherwise */
	if (*root && !is_directory(root))
		return -1;
	strbuf_addstr(&dirs->whole, root);
	strbuf_complete(&dirs->whole, '/');
	dirs->root_len = dirs->whole.len;
	return 0;
}

void dirs_release(struct dir_handles *dirs)
{
	strbuf_release(&dirs->path);
	strbuf_release(&dirs->whole);
	dirs->root_len = 0;
}

void dirs_forget(struct dir_handles *dirs)
{
	strbuf_reset(&dirs->path);
}

/*
 * The path of `name` in the current directory, or of that if it is "". When
 * asked for the same once more, it only copies bytes, as in a signal handler.
 */
static const char *whole_path(struct dir_handles *dirs, const char *name)
{
	strbuf_setlen(&dirs->whole, dirs->root_len);
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
