/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fsmonitor hook (version 2) of a workspace, a worktree that is an overlay:
 *
 *	git-workspace-fsmonitor <state folder> 2 <token>
 *	git-workspace-fsmonitor --base <token of the base> 2 <token>
 *
 * The second form serves while a base is made: nothing changes there.
 *
 * It remembers nothing, and hence misses nothing. A token stands for a place,
 * not for a time: either for a base, as in the index that a workspace begins
 * with, or for this upper layer on it, as in what Git has written since. With
 * either, Git is told everything that may differ from the base: what is in the
 * upper layer now (upper.c), what the untracked cache believes of folders that
 * the base does not have or not so (untracked.c), and what the index has that
 * the base has not or not so, whatever the upper layer says (index-view.c).
 * Any other token, such as that of another workspace on the same base, and
 * whatever goes wrong, is answered with "/": all may have changed.
 */
#define _GNU_SOURCE
#include "base.h"
#include "index-view.h"
#include "names.h"
#include "untracked.h"
#include "upper.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not in linux/magic.h before Linux 5.14. */
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif
#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

/* Never the token of a base, so that the next answer is "/", too. */
#define NO_TOKEN "git-workspace:unknown"

#define GITFILE_LIMIT (PATH_MAX + 64)
#define KIND_LIMIT 64

/* Returns the exit code. */
static int answer(const char *token, const char *names, size_t len)
{
	if (write_fully(STDOUT_FILENO, token, strlen(token) + 1) ||
	    write_fully(STDOUT_FILENO, names, len))
		return 1;
	return 0;
}

static int answer_all(const char *token)
{
	return answer(token, "/", 2);
}

/*
 * Whether we see the extended attributes that the kernel gives an overlay of
 * root's. They need a capability, and that outside of any user namespace; else
 * they seem not to be there.
 */
static int sees_trusted(void)
{
	static const char initial[] = "user:[4026531837]";
	struct __user_cap_header_struct header = {
		_LINUX_CAPABILITY_VERSION_3, 0
	};
	struct __user_cap_data_struct data[2];
	const ssize_t len = strlen(initial);
	char ns[sizeof(initial)];

	if (syscall(SYS_capget, &header, data) ||
	    !(data[0].effective & 1u << CAP_SYS_ADMIN))
		return 0;
	return readlink("/proc/self/ns/user", ns, sizeof(ns)) == len &&
		!memcmp(ns, initial, len);
}

/*
 * Git may work with another tree than that of the workspace, by --work-tree.
 * The ".git" of ours exists nowhere else. Returns the path in it, or NULL.
 */
static char *read_gitfile(int upper)
{
	static const char key[] = "gitdir: ";
	size_t len, other_len;
	char *ours = read_small_file(upper, ".git", GITFILE_LIMIT, &len);
	char *other = read_small_file(AT_FDCWD, ".git", GITFILE_LIMIT,
				      &other_len);
	char *ret = NULL;

	if (ours && other && len == other_len && !memcmp(ours, other, len) &&
	    !strncmp(ours, key, strlen(key))) {
		ours[strcspn(ours, "\n")] = '\0';
		ret = grow(NULL, strlen(ours));
		strcpy(ret, ours + strlen(key));
	}
	free(ours);
	free(other);
	return ret;
}

/*
 * A copy of a workspace has the same ".git", but what is changed in the copy is
 * in no upper layer. Returns whether the current folder is where the workspace
 * is mounted. Kind "none" is for tests without a mount.
 */
static int is_mounted_here(int state, const char *kind)
{
	struct statfs fs;
	struct stat here, there;
	size_t len;
	char *path;
	int same;

	if (!strcmp(kind, "none"))
		return 1;
	if (statfs(".", &fs) ||
	    (unsigned long)fs.f_type != (strcmp(kind, "fuse") ?
					 OVERLAYFS_SUPER_MAGIC :
					 FUSE_SUPER_MAGIC))
		return 0;
	path = read_small_file(state, "path", PATH_MAX, &len);
	if (!path)
		return 0;
	path[strcspn(path, "\n")] = '\0';
	same = *path == '/' && !stat(".", &here) && !stat(path, &there) &&
		here.st_dev == there.st_dev && here.st_ino == there.st_ino;
	free(path);
	return same;
}

/* Reads what comes after the entries. Returns 0, or -1 as index_read_tail(). */
static int read_tail(const struct index_file *index, struct index_tail *tail)
{
	struct index_cursor cursor;
	int ret;

	index_begin(&cursor, index);
	while ((ret = index_next(&cursor)) > 0)
		; /* nothing */
	if (!ret)
		ret = index_read_tail(&cursor, tail);
	index_end(&cursor);
	return ret;
}

/* Opens a shared index where Git looks for it: there are two places. */
static int open_shared(const char *gitdir, const char *index_path,
		       const char *name, size_t hash_size,
		       struct index_file *shared)
{
	const char *slash = strrchr(index_path, '/');
	char path[PATH_MAX];
	size_t len = slash ? (size_t)(slash - index_path) : 1;
	int n;

	n = snprintf(path, sizeof(path), "%s/%s", gitdir, name);
	if (n > 0 && (size_t)n < sizeof(path) &&
	    !index_open(shared, AT_FDCWD, path, hash_size))
		return 0;
	n = snprintf(path, sizeof(path), "%.*s/%s", (int)len,
		     slash ? index_path : ".", name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	return index_open(shared, AT_FDCWD, path, hash_size);
}

/*
 * Adds what differs between the entries of the index and those of the base,
 * of which this is the shared index, or NULL.
 */
static int add_differences(const struct base *base,
			   const struct index_file *index,
			   const struct index_tail *tail,
			   const struct index_file *shared,
			   struct names *names)
{
	struct index_file base_index, base_shared;
	struct index_tail base_tail;
	struct index_view ours, theirs;
	int ret;

	if (index_open(&base_index, base->fd, "index", base->hash_size))
		return -1;
	ret = read_tail(&base_index, &base_tail);
	if (!ret && !base_tail.has_link)
		ret = -1;
	if (!ret)
		ret = index_open(&base_shared, base->fd, base_tail.link,
				 base->hash_size);
	if (!ret) {
		ret = index_view_begin(&ours, index, tail, shared);
		ret |= index_view_begin(&theirs, &base_index, &base_tail,
					&base_shared);
		if (!ret)
			ret = index_view_diff(&ours, &theirs, names);
		index_view_end(&ours);
		index_view_end(&theirs);
		index_close(&base_shared);
	}
	index_close(&base_index);
	return ret;
}

/* The same, where the shared index is the base's own. */
static int add_changes(const struct index_file *index,
		       const struct index_tail *tail,
		       const struct index_file *shared, struct names *names)
{
	struct index_view view;
	int ret = index_view_begin(&view, index, tail, shared);

	if (!ret)
		ret = index_view_changes(&view, names);
	index_view_end(&view);
	return ret;
}

/*
 * Adds what only the index tells.
 *
 * The upper layer should have all files whose index entries are not those of
 * the base, and a mark for all that are in the base only. It may not have them
 * any more: a file that only the upper layer has had leaves no trace when it
 * is deleted, and somebody may have written to the layer while it was not
 * mounted, or restored it from a backup. Git may have marked such entries as
 * unchanged before. Likewise with what the untracked cache has.
 *
 * While all entries are in the base's own shared index, there is no difference.
 */
static int add_index_names(const struct base *base, const char *gitdir,
			   const char *index_path, struct names *names)
{
	struct index_file index, shared;
	struct index_tail tail;
	int is_base_link, ret;

	if (index_open(&index, AT_FDCWD, index_path, base->hash_size))
		return -1;
	ret = read_tail(&index, &tail);
	if (!ret && tail.untracked.data)
		ret = untracked_add(&tail.untracked, base->hash_size, names);
	if (ret)
		goto out;
	is_base_link = tail.has_link &&
		!faccessat(base->fd, tail.link, F_OK, 0);
	if (is_base_link && !index.nr && !tail.has_deletions)
		goto out;
	if (!tail.has_link) {
		ret = add_differences(base, &index, &tail, NULL, names);
		goto out;
	}
	ret = open_shared(gitdir, index_path, tail.link, base->hash_size,
			  &shared);
	if (ret)
		goto out;
	if (is_base_link)
		ret = add_changes(&index, &tail, &shared, names);
	else
		ret = add_differences(base, &index, &tail, &shared, names);
	index_close(&shared);
out:
	index_close(&index);
	return ret;
}

/*
 * Adds everything that may differ from the base. Returns -1 if that cannot be
 * told.
 */
static int list(int upper, const struct base *base, const char *gitdir,
		struct names *names)
{
	const char *index_path = getenv("GIT_INDEX_FILE");
	const char *env = getenv("GIT_DIR");
	char *own_index = NULL;
	int lower = openat(base->fd, "tree",
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret;

	if (lower < 0)
		return -1;
	if (env && *env)
		gitdir = env;
	if (!index_path || !*index_path) {
		size_t size = strlen(gitdir) + sizeof("/index");

		own_index = grow(NULL, size);
		snprintf(own_index, size, "%s/index", gitdir);
		index_path = own_index;
	}
	ret = upper_list(upper, lower, names);
	if (!ret) {
		names_freeze(names);
		ret = add_index_names(base, gitdir, index_path, names);
	}
	free(own_index);
	close(lower);
	return ret;
}

/*
 * The token of the base, and what tells this upper layer from any other: an
 * inode, and when it came to be, as numbers are used again.
 */
static char *own_token(const struct base *base, int upper)
{
	size_t size = strlen(base->token) + 64;
	struct statx st;
	char *token;

	memset(&st, 0, sizeof(st));
	if (statx(upper, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) ||
	    !(st.stx_mask & STATX_INO))
		return NULL;
	token = grow(NULL, size);
	snprintf(token, size, "%s:%llx:%llx.%x", base->token,
		 (unsigned long long)st.stx_ino,
		 (unsigned long long)st.stx_btime.tv_sec,
		 (unsigned int)st.stx_btime.tv_nsec);
	return token;
}

static int serve(const char *path, const char *token)
{
	struct names names = NAMES_INIT;
	struct base base;
	size_t len;
	char *kind = NULL, *gitdir = NULL, *own = NULL;
	int state, upper = -1, ret;

	state = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0)
		return answer_all(NO_TOKEN);
	if (base_open(&base, state, "base")) {
		close(state);
		return answer_all(NO_TOKEN);
	}
	upper = openat(state, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (upper >= 0) {
		gitdir = read_gitfile(upper);
		own = own_token(&base, upper);
	}
	kind = read_small_file(state, "kind", KIND_LIMIT, &len);
	if (kind)
		kind[strcspn(kind, "\n")] = '\0';

	if (!kind || !gitdir || !own ||
	    (!strcmp(kind, "overlay") && !sees_trusted()) ||
	    !is_mounted_here(state, kind))
		ret = answer_all(NO_TOKEN);
	else if (strcmp(token, own) && strcmp(token, base.token))
		ret = answer_all(own);
	else if (list(upper, &base, gitdir, &names))
		ret = answer_all(NO_TOKEN);
	else
		ret = answer(own, names.buf, names.len);

	names_release(&names);
	free(kind);
	free(gitdir);
	free(own);
	if (upper >= 0)
		close(upper);
	base_close(&base);
	close(state);
	return ret;
}

int main(int argc, char **argv)
{
	int is_base = argc > 1 && !strcmp(argv[1], "--base");

	if (argc != 4 + is_base || strcmp(argv[2 + is_base], "2")) {
		fputs("usage: git-workspace-fsmonitor <state folder> 2 "
		      "<token>\n"
		      "   or: git-workspace-fsmonitor --base <token> 2 "
		      "<token>\n", stderr);
		return 129;
	}
	if (!is_base)
		return serve(argv[1], argv[3]);
	return strcmp(argv[2], argv[4]) ? answer_all(argv[2]) :
		answer(argv[2], "", 0);
}
