/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the entries that decide how others are handled; see barrier.h.
 */
#include "git-compat-util.h"
#include "abspath.h"
#include "attr.h"
#include "config.h"
#include "dir.h"
#include "environment.h"
#include "parallel-checkout/barrier.h"
#include "parallel-checkout/silence.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "strbuf.h"
#include "submodule.h"

/* As many symbolic links are followed, as in strbuf_realpath(). */
#define MAX_LINKS 32

/* see struct checkout_barriers */
#define BARRIER_IN_THE_WAY 4

struct search {
	struct checkout_barriers *barriers;
	const char *root;	/* of the files; no slash at the end */
	const char *prefix;	/* of their names below that */
	const char *last_file;
};

/*
 * Something on the way to a named file; all links before it are resolved. No
 * entry is, or is below, ".git".
 */
static void add_name(struct search *search, const char *path, int barrier)
{
	const char *name;

	if (!search->root || !skip_prefix(path, search->root, &name) ||
	    *name != '/' || !skip_prefix(name + 1, search->prefix, &name) ||
	    !*name || !strcmp(name, ".git") || starts_with(name, ".git/"))
		return;
	string_list_insert(&search->barriers->named, name)->util =
		(void *)(intptr_t)barrier;
}

/*
 * Add all that decides which file a path leads to: each component, and where
 * it is a symbolic link, each one of its target.
 */
static void add_file(struct search *search, const char *path,
		     enum checkout_barrier barrier)
{
	struct strbuf done = STRBUF_INIT, rest = STRBUF_INIT;
	struct strbuf link = STRBUF_INIT;
	int links = 0, missing = 0;

	if (!path)
		return;
	if (!is_absolute_path(path)) {
		strbuf_getcwd(&done);
		strbuf_trim_trailing_dir_sep(&done);
	} else if (has_dos_drive_prefix(path)) {
		strbuf_add(&done, path, 2);
		path += 2;
	}
	strbuf_addstr(&rest, path);
	while (rest.len) {
		size_t start = 0, end;
		size_t parent = done.len;
		struct stat st;

		while (is_dir_sep(rest.buf[start]))
			start++;
		for (end = start; end < rest.len; end++)
			if (is_dir_sep(rest.buf[end]))
				break;
		if (end - start == 2 && !memcmp(rest.buf + start, "..", 2)) {
			while (done.len && done.buf[done.len - 1] != '/')
				strbuf_setlen(&done, done.len - 1);
			if (done.len)
				strbuf_setlen(&done, done.len - 1);
		} else if (end > start &&
			   (end - start > 1 || rest.buf[start] != '.')) {
			strbuf_addch(&done, '/');
			strbuf_add(&done, rest.buf + start, end - start);
			add_name(search, done.buf, barrier);
		}
		strbuf_remove(&rest, 0, end);

		if (done.len <= parent || missing)
			continue;
		missing = lstat(done.buf, &st);
		if (!missing && !S_ISDIR(st.st_mode))
			add_name(search, done.buf, barrier | BARRIER_IN_THE_WAY);
		if (missing || !S_ISLNK(st.st_mode) || ++links > MAX_LINKS ||
		    strbuf_readlink(&link, done.buf, st.st_size))
			continue;
		strbuf_insert(&rest, 0, link.buf, link.len);
		strbuf_setlen(&done, is_absolute_path(link.buf) ? 0 : parent);
	}
	strbuf_release(&done);
	strbuf_release(&rest);
	strbuf_release(&link);
}

/* A path in `file`, which is relative to that. */
static void add_include(struct search *search, const char *path,
			const char *file)
{
	char *expanded = interpolate_path(path, 0);
	const char *slash = file ? find_last_dir_sep(file) : NULL;

	if (expanded && slash && !is_absolute_path(expanded)) {
		char *whole = xstrfmt("%.*s%s", (int)(slash + 1 - file), file,
				      expanded);

		add_file(search, whole, BARRIER_CONFIG);
		free(whole);
	} else if (expanded) {
		add_file(search, expanded, BARRIER_CONFIG);
	}
	free(expanded);
}

/* Called for each variable: where does it come from, and does it lead on? */
static int add_config(const char *key, const char *value,
		      const struct config_context *ctx, void *data)
{
	struct search *search = data;
	const char *file = ctx->kvi->filename, *cond, *name;
	size_t cond_len;

	/* that is interned, and variables come file by file */
	if (file && file != search->last_file)
		add_file(search, file, BARRIER_CONFIG);
	search->last_file = file;

	if (value &&
	    (!strcmp(key, "include.path") ||
	     (!parse_config_key(key, "includeif", &cond, &cond_len, &name) &&
	      cond && !strcmp(name, "path"))))
		add_include(search, value, file);
	return 0;
}

static void add_files(struct search *search, struct repository *repo)
{
	char *info = repo_git_path(repo, "info/attributes");
	char *user, *xdg;

	add_file(search, info, BARRIER_FILE);
	add_file(search, git_attr_global_file(), BARRIER_FILE);
	if (git_attr_system_is_enabled())
		add_file(search, git_attr_system_file(), BARRIER_FILE);

	/* what may not be there yet, or has no variable */
	git_global_config_paths(&user, &xdg);
	add_file(search, user, BARRIER_CONFIG);
	add_file(search, xdg, BARRIER_CONFIG);
	repo_config(repo, add_config, search);
	free(info);
	free(user);
	free(xdg);
}

void barriers_init(struct checkout_barriers *barriers, struct repository *repo,
		   const char *base_dir, int attributes)
{
	const char *slash = find_last_dir_sep(base_dir);
	struct search search = { .barriers = barriers };
	struct strbuf dir = STRBUF_INIT, root = STRBUF_INIT;

	string_list_init_dup(&barriers->named);
	barriers->named.cmp = fspathcmp;
	barriers->repo = repo;
	barriers->attributes = !!attributes;
	barriers->submodules = !!should_update_submodules();
	barriers->in_place = 0;
	barriers->outdated = 0;

	strbuf_add(&dir, base_dir, slash ? slash + 1 - base_dir : 0);
	if (strbuf_realpath(&root, dir.len ? dir.buf : ".", 0)) {
		barriers->in_place = repo->worktree && !(slash ? slash[1] : *base_dir) &&
			!fspathcmp(root.buf, repo->worktree);
		strbuf_trim_trailing_dir_sep(&root);
		search.root = root.buf;
		search.prefix = slash ? slash + 1 : base_dir;
		add_files(&search, repo);
	}
	strbuf_release(&dir);
	strbuf_release(&root);
}

void barriers_release(struct checkout_barriers *barriers)
{
	string_list_clear(&barriers->named, 0);
}

/* As read_attr_from_index() does, but without a word, and without fetching it. */
static int can_be_read(struct repository *repo, const struct object_id *oid)
{
	struct object_info oi = OBJECT_INFO_INIT;
	enum object_type type;
	size_t size;
	struct silence silence;
	void *buf = NULL;
	int ret;

	oi.contentp = &buf;
	oi.typep = &type;
	oi.sizep = &size;
	be_silent(&silence);
	ret = !object_info_here(repo, oid, &oi, OBJECT_INFO_LOOKUP_REPLACE) &&
		type == OBJ_BLOB && size < ATTR_MAX_FILE_SIZE;
	if (end_silence(&silence) || !ret)
		forget_bad_objects(repo);
	free(buf);
	return ret;
}

/* Is it a named file, or below one? Returns what has been kept of it, or 0. */
static int find_named(struct checkout_barriers *barriers, const char *name)
{
	const struct string_list_item *item =
		string_list_lookup(&barriers->named, name);

	if (item)
		return (intptr_t)item->util;
	for_each_string_list_item(item, &barriers->named) {
		size_t len = strlen(item->string);

		if (((intptr_t)item->util & BARRIER_IN_THE_WAY) &&
		    !fspathncmp(name, item->string, len) && name[len] == '/')
			return (intptr_t)item->util;
	}
	return 0;
}

enum checkout_barrier barrier_at(struct checkout_barriers *barriers,
				 const struct cache_entry *ce)
{
	const char *slash = strrchr(ce->name, '/');
	const char *dir = strstr(ce->name, GITATTRIBUTES_FILE "/");
	int found = barriers->named.nr ? find_named(barriers, ce->name) : 0;

	if (found) {
		barriers->outdated = 1;
		return found & ~BARRIER_IN_THE_WAY;
	}

	/* There may be a file now, which gives way to a directory. */
	if (dir && (dir == ce->name || dir[-1] == '/'))
		return BARRIER_FILE;

	/* What cannot be read in the index is read in the working tree. */
	if (!fspathcmp(slash ? slash + 1 : ce->name, GITATTRIBUTES_FILE) &&
	    (barriers->attributes || !can_be_read(barriers->repo, &ce->oid)))
		return BARRIER_FILE;
	if (barriers->submodules && !fspathcmp(ce->name, GITMODULES_FILE))
		return BARRIER_FILE;
	return BARRIER_NONE;
}
