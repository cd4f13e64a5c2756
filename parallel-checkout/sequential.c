/* SPDX-License-Identifier: GPL-2.0-only */
/* Which commands are not for workers; see sequential.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "abspath.h"
#include "attr.h"
#include "config.h"
#include "dir.h"
#include "entry.h"
#include "environment.h"
#include "parallel-checkout/sequential.h"
#include "parallel-checkout/state.h"
#include "parse.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"

struct tracked_search {
	const struct index_state *index;
	struct strbuf base;	/* what its names come after */
	const char *file;	/* of the last variable */
	int found;
};

/*
 * Is anything tracked at the path, or in the topmost folder that leads there?
 * That takes in links that lead there, and what is in the way.
 */
static int may_be_tracked(const struct tracked_search *search, const char *path)
{
	const char *top;
	size_t len;

	/* Nothing that is tracked is below ".git". */
	if (!skip_prefix(path, search->base.buf, &top) ||
	    starts_with(top, ".git/"))
		return 0;
	len = strcspn(top, "/");
	for (unsigned int i = 0; i < search->index->cache_nr; i++) {
		const char *name = search->index->cache[i]->name;

		if (!fspathncmp(name, top, len) &&
		    (!name[len] || name[len] == '/'))
			return 1;
	}
	return 0;
}

/*
 * Look for the file itself, and for the name that it goes by, which may lead to
 * another file once a symbolic link has been written. It need not exist.
 */
static void find_tracked(struct tracked_search *search, const char *path)
{
	struct strbuf name = STRBUF_INIT;

	if (!path || search->found)
		return;
	strbuf_add_absolute_path(&name, path);
	search->found = (!strbuf_normalize_path(&name) &&
			 may_be_tracked(search, name.buf)) ||
			(strbuf_realpath_forgiving(&name, path, 0) &&
			 may_be_tracked(search, name.buf));
	strbuf_release(&name);
}

/* Called for each variable: where does it come from, and does it lead on? */
static int find_tracked_config(const char *key, const char *value,
			       const struct config_context *ctx, void *data)
{
	struct tracked_search *search = data;
	const char *file = ctx->kvi->filename, *slash, *cond, *name;
	size_t cond_len;
	char *path, *dir, *whole;

	if (file != search->file)
		find_tracked(search, file);
	search->file = file;
	if (!value ||
	    (strcmp(key, "include.path") &&
	     (parse_config_key(key, "includeif", &cond, &cond_len, &name) ||
	      !cond || strcmp(name, "path"))))
		return 0;
	path = interpolate_path(value, 0);
	if (!path)
		return 0;
	slash = file ? find_last_dir_sep(file) : NULL;
	dir = slash ? xmemdupz(file, slash + 1 - file) : NULL;
	whole = prefix_filename(dir, path);
	find_tracked(search, whole);
	free(whole);
	free(dir);
	free(path);
	return 0;
}

/* Does Git read configuration or attributes from a file that is tracked? */
static int is_configured_by_tracked_files(struct tracked_search *search)
{
	char *info = repo_git_path(the_repository, "info/attributes");
	char *user, *xdg;

	find_tracked(search, info);
	find_tracked(search, git_attr_global_file());
	if (git_attr_system_is_enabled())
		find_tracked(search, git_attr_system_file());

	/* what may not be there yet, or has no variable */
	git_global_config_paths(&user, &xdg);
	find_tracked(search, user);
	find_tracked(search, xdg);
	repo_config(the_repository, find_tracked_config, search);

	free(info);
	free(user);
	free(xdg);
	return search->found;
}

/* What is said by the place where the files go? */
static const char *why_place_is_sequential(const struct checkout *state)
{
	const char *worktree = the_repository->worktree, *why = NULL;
	const char *slash = find_last_dir_sep(state->base_dir);
	const char *name_prefix = slash ? slash + 1 : state->base_dir;
	char *dir = xmemdupz(state->base_dir, name_prefix - state->base_dir);
	char *place = NULL;
	struct tracked_search search = {
		.index = state->istate,
		.base = STRBUF_INIT,
	};

	/* It is made if it does not exist. */
	if (!strbuf_realpath_forgiving(&search.base, *dir ? dir : ".", 0))
		goto out;

	/* Files are written where Git looks for attributes of others. */
	strbuf_complete(&search.base, '/');
	place = xstrdup(search.base.buf);
	if (worktree && *state->base_dir) {
		strbuf_reset(&search.base);
		strbuf_addstr(&search.base, worktree);
		strbuf_complete(&search.base, '/');
		if (!fspathcmp(place, search.base.buf) ||
		    may_be_tracked(&search, place)) {
			why = "the prefix is where tracked files are";
			goto out;
		}
	}

	strbuf_reset(&search.base);
	strbuf_addf(&search.base, "%s%s", place, name_prefix);
	if (is_configured_by_tracked_files(&search))
		why = "files that Git is configured by are tracked";
out:
	strbuf_release(&search.base);
	free(place);
	free(dir);
	return why;
}

const char *why_sequential(const struct parallel_checkout *pc)
{
	if (pc->config.nr == 1)
		return "checkout.workers is 1";
	if (!git_env_bool("GIT_TEST_PARALLEL_CHECKOUT", 1))
		return "a test says so";
	if (pc->state->not_new)
		return "only files that exist are written";
	if (!pc->config.nr && ignore_case)
		return "core.ignoreCase is set";
	if (!pc->config.nr && pc->one_by_one)
		return "somebody may wait for each file";
	return why_place_is_sequential(pc->state);
}
