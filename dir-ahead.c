/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that read directories; see dir-ahead.h. */
#include "git-compat-util.h"
#include "config.h"
#include "dir.h"
#include "dir-ahead.h"
#include "fsmonitor.h"
#include "hash.h"
#include "parse.h"
#include "read-cache.h"
#include "repository.h"
#include "strmap.h"
#include "symlinks.h"
#include "trace2.h"
#include "waiting-loop.h"

#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

#define MAX_BYTES (64 * 1024 * 1024)
#define MAX_DIR_BYTES (4 * 1024 * 1024)

struct dir_ahead {
	const struct dir_struct *dir;
	struct index_state *istate;
	const char *base;
	size_t baselen;
	size_t first;		/* entry of the index that may be in base */
	const struct pathspec *pathspec;

	/* The mutex of the loop is for what follows. */
	struct strmap dirs;	/* by path */
	size_t bytes;
};

/* What a thread has of its own. */
struct reader {
	struct waiting_loop *loop;
	struct waiting_loop_share share;
	struct cache_def cache;
	struct strbuf path;
};

static void read_list(struct dir_ahead_dir *dir)
{
	DIR *stream = opendir(*dir->path ? dir->path : ".");
	struct dirent *e;

	if (!stream)
		return;
	while (errno = 0, (e = readdir_skip_dot_and_dotdot(stream))) {
		if (dir->list.len > MAX_DIR_BYTES)
			break;
		strbuf_add(&dir->list, e->d_name, strlen(e->d_name) + 1);
		strbuf_addch(&dir->list, DTYPE(e));
	}
	dir->has_list = !e && !errno;
	closedir(stream);
}

/*
 * Whether there is an ignore file is not asked of the list, which may be older
 * than the file on a file system that keeps lists.
 */
static void read_ignore(struct dir_ahead_dir *dir, const char *name)
{
	char *path = xstrfmt("%s%s", dir->path, name);
	/* do not wait for somebody to write if it is a pipe */
	int fd = open_nofollow(path, O_RDONLY | O_NONBLOCK);

	dir->lacks_ignore = fd < 0 && errno == ENOENT;
	free(path);
	if (fd < 0)
		return;
	if (!fstat(fd, &dir->ignore_st) && S_ISREG(dir->ignore_st.st_mode) &&
	    dir->ignore_st.st_size <= MAX_DIR_BYTES) {
		size_t size = xsize_t(dir->ignore_st.st_size);

		strbuf_grow(&dir->ignore, size);
		dir->has_ignore = read_in_full(fd, dir->ignore.buf, size) ==
			(ssize_t)size;
	}
	close(fd);
}

static int is_full(struct reader *reader)
{
	struct dir_ahead *ahead = reader->loop->data;
	int ret;

	pthread_mutex_lock(&reader->loop->mutex);
	ret = ahead->bytes > MAX_BYTES;
	pthread_mutex_unlock(&reader->loop->mutex);
	return ret;
}

/* The path is "" or has no slash at the end; it need not end there. */
static void read_dir(struct reader *reader, const char *path, size_t len)
{
	struct dir_ahead *ahead = reader->loop->data;
	const char *ignore_name = ahead->dir->exclude_per_dir;
	const struct untracked_cache *uc = ahead->dir->untracked;
	const struct untracked_cache_dir *ucd =
		uc ? untracked_cache_find(uc, path, len) : NULL;
	struct dir_ahead_dir *dir;
	struct stat st;

	if (dir_simplify_away(path, len, ahead->pathspec) ||
	    (ucd && ucd->valid && uc->use_fsmonitor) || is_full(reader))
		return;
	strbuf_reset(&reader->path);
	strbuf_add(&reader->path, path, len);
	reader->share.looks++;
	if (threaded_has_symlink_leading_path(&reader->cache, path, len) ||
	    lstat(len ? reader->path.buf : ".", &st) || !S_ISDIR(st.st_mode))
		return;
	strbuf_complete(&reader->path, '/');

	FLEX_ALLOC_MEM(dir, path, reader->path.buf, reader->path.len);
	dir->st = st;
	strbuf_init(&dir->list, 0);
	strbuf_init(&dir->ignore, 0);
	if (!ucd || !ucd->valid || ucd->check_only ||
	    match_stat_data_racy(ahead->istate, &ucd->stat_data, &st)) {
		read_list(dir);
		ucd = NULL;
	}
	if (ignore_name && (!ucd || !is_null_oid(&ucd->exclude_oid)))
		read_ignore(dir, ignore_name);

	pthread_mutex_lock(&reader->loop->mutex);
	strmap_put(&ahead->dirs, dir->path, dir);
	ahead->bytes += sizeof(*dir) + reader->path.len + dir->list.alloc +
		dir->ignore.alloc;
	pthread_mutex_unlock(&reader->loop->mutex);
}

/* Read each directory that has this entry of the index as its first one. */
static void read_dirs_of(struct reader *reader, size_t i)
{
	struct dir_ahead *ahead = reader->loop->data;
	struct cache_entry **cache = ahead->istate->cache;
	const char *name = cache[i]->name, *prev = NULL, *slash;
	size_t pos = ahead->baselen;

	if (ce_skip_worktree(cache[i]) || strncmp(name, ahead->base, pos))
		return;
	while (!prev && i-- > ahead->first)
		if (!ce_skip_worktree(cache[i]))
			prev = cache[i]->name;

	/* Which directories is the entry before that in, too? */
	if (prev) {
		for (size_t n = pos; name[n] && name[n] == prev[n]; n++)
			if (name[n] == '/')
				pos = n + 1;
	} else if (pos) {
		pos--;
	} else {
		read_dir(reader, "", 0);
	}
	while ((slash = strchr(name + pos, '/'))) {
		read_dir(reader, name, slash - name);
		pos = slash + 1 - name;
	}
}

static void read_dirs(struct waiting_loop *loop)
{
	struct dir_ahead *ahead = loop->data;
	struct reader reader = {
		.loop = loop,
		.cache = CACHE_DEF_INIT,
		.path = STRBUF_INIT,
	};

	while (waiting_loop_next(loop, &reader.share))
		for (size_t i = reader.share.begin; i < reader.share.end; i++)
			read_dirs_of(&reader, ahead->first + i);
	cache_def_clear(&reader.cache);
	strbuf_release(&reader.path);
}

struct dir_ahead *dir_ahead_read(const struct dir_struct *dir,
				 struct index_state *istate,
				 const char *base, int baselen,
				 const struct pathspec *pathspec)
{
	struct waiting_loop loop = { .fn = read_dirs };
	struct dir_ahead *ahead;
	int is_wanted = 1, pos, threads;

	repo_config_get_bool(istate->repo, "core.preloadindex", &is_wanted);
	if (!HAVE_THREADS || !is_wanted)
		return NULL;
	if (dir->untracked)
		refresh_fsmonitor(istate);

	CALLOC_ARRAY(ahead, 1);
	ahead->dir = dir;
	ahead->istate = istate;
	ahead->base = base;
	ahead->baselen = baselen;
	ahead->pathspec = pathspec;
	strmap_init_with_options(&ahead->dirs, NULL, 0);
	pos = index_name_pos_sparse(istate, base, baselen);
	ahead->first = pos < 0 ? -pos - 1 : pos;

	loop.nr = istate->cache_nr - ahead->first;
	loop.data = ahead;
	threads = waiting_loop_run(&loop,
				   git_env_bool("GIT_TEST_DIR_AHEAD", 0) ?
				   4 : 0);
	if (threads > 1) {
		trace2_data_intmax("dir", istate->repo, "read-ahead/threads",
				   threads);
		trace2_data_intmax("dir", istate->repo,
				   "read-ahead/directories",
				   strmap_get_size(&ahead->dirs));
	}
	return ahead;
}

const struct dir_ahead_dir *dir_ahead_find(const struct dir_ahead *ahead,
					   const char *path)
{
	return ahead ? strmap_get((struct strmap *)&ahead->dirs, path) : NULL;
}

const char *dir_ahead_next(const char **list, int *type)
{
	const char *name = *list;

	/* No name is empty, but there is a NUL at the end. */
	if (!*name)
		return NULL;
	*list += strlen(name) + 1;
	*type = (unsigned char)*(*list)++;
	return name;
}

void dir_ahead_free(struct dir_ahead *ahead)
{
	struct hashmap_iter iter;
	struct strmap_entry *entry;

	if (!ahead)
		return;
	strmap_for_each_entry(&ahead->dirs, &iter, entry) {
		struct dir_ahead_dir *dir = entry->value;

		strbuf_release(&dir->list);
		strbuf_release(&dir->ignore);
	}
	strmap_clear(&ahead->dirs, 1);
	free(ahead);
}
