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
#include "object-store-ll.h"
#include "parallel-checkout/barrier.h"
#include "parallel-checkout/silence.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "strbuf.h"
#include "submodule.h"

struct search {
	struct checkout_barriers *barriers;
	struct repository *repo;
	const char *last_file;
};

static void add_real(struct search *search, const char *path,
		     enum checkout_barrier barrier)
{
	const char *name;

	if (skip_prefix(path, search->repo->worktree, &name) && *name == '/')
		string_list_append(&search->barriers->named, name + 1)->util =
			(void *)(intptr_t)barrier;
}

static void add_file(struct search *search, const char *path,
		     enum checkout_barrier barrier)
{
	const char *slash = path ? find_last_dir_sep(path) : NULL;
	struct strbuf dir = STRBUF_INIT, real = STRBUF_INIT;

	if (!path)
		return;
	strbuf_add(&dir, path, slash ? slash + 1 - path : 0);
	if (strbuf_realpath(&real, dir.len ? dir.buf : ".", 0)) {
		strbuf_complete(&real, '/');
		strbuf_addstr(&real, slash ? slash + 1 : path);
		add_real(search, real.buf, barrier);
	}
	if (strbuf_realpath(&real, path, 0))
		add_real(search, real.buf, barrier);
	strbuf_release(&dir);
	strbuf_release(&real);
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

void barriers_init(struct checkout_barriers *barriers, struct repository *repo,
		   int attributes)
{
	struct search search = { .barriers = barriers, .repo = repo };
	char *user, *xdg;

	string_list_init_dup(&barriers->named);
	barriers->repo = repo;
	barriers->attributes = !!attributes;
	barriers->submodules = !!should_update_submodules();
	if (!repo->worktree)
		return;

	add_file(&search, git_attr_global_file(), BARRIER_FILE);
	if (git_attr_system_is_enabled())
		add_file(&search, git_attr_system_file(), BARRIER_FILE);

	/* what may not be there yet, or has no variable */
	git_global_config_paths(&user, &xdg);
	add_file(&search, user, BARRIER_CONFIG);
	add_file(&search, xdg, BARRIER_CONFIG);
	free(user);
	free(xdg);
	repo_config(repo, add_config, &search);
}

void barriers_init_elsewhere(struct checkout_barriers *barriers,
			     struct repository *repo)
{
	string_list_init_dup(&barriers->named);
	barriers->repo = repo;
	barriers->attributes = 1;
	barriers->submodules = 0;
}

void barriers_release(struct checkout_barriers *barriers)
{
	string_list_clear(&barriers->named, 0);
}

/* Without a word, and without fetching it. */
static int can_be_read(struct repository *repo, const struct object_id *oid)
{
	struct object_info oi = OBJECT_INFO_INIT;
	struct silence silence;
	void *buf = NULL;
	int ret;

	oi.contentp = &buf;
	be_silent(&silence);
	ret = !oid_object_info_extended(repo, oid, &oi,
					OBJECT_INFO_LOOKUP_REPLACE |
					OBJECT_INFO_SKIP_FETCH_OBJECT);
	end_silence(&silence);
	free(buf);
	return ret;
}

enum checkout_barrier barrier_at(const struct checkout_barriers *barriers,
				 const struct cache_entry *ce)
{
	const char *slash = strrchr(ce->name, '/');
	const struct string_list_item *item;

	/* What cannot be read in the index is read in the working tree. */
	if (!fspathcmp(slash ? slash + 1 : ce->name, GITATTRIBUTES_FILE) &&
	    (barriers->attributes || !can_be_read(barriers->repo, &ce->oid)))
		return BARRIER_FILE;
	if (barriers->submodules && !fspathcmp(ce->name, GITMODULES_FILE))
		return BARRIER_FILE;
	for_each_string_list_item(item, &barriers->named)
		if (!fspathcmp(ce->name, item->string))
			return (intptr_t)item->util;
	return BARRIER_NONE;
}
