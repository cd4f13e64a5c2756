/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which commands are not for workers; see sequential.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "abspath.h"
#include "attr.h"
#include "config.h"
#include "dir.h"
#include "entry.h"
#include "environment.h"
#include "name-hash.h"
#include "parallel-checkout/sequential.h"
#include "parallel-checkout/state.h"
#include "parse.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"

struct tracked_search {
	struct index_state *istate;
	const char *root;	/* of the files, without symbolic links */
	const char *prefix;	/* of their names below that */
	const char *file;	/* of the last variable */
	int found;
};

/* Is there an entry below that name? */
static int has_entries_below(struct index_state *istate, const char *name)
{
	char *dir;
	int pos, ret;

	if (ignore_case)
		return index_dir_exists(istate, name, strlen(name));
	dir = xstrfmt("%s/", name);
	pos = index_name_pos_sparse(istate, dir, strlen(dir));
	if (pos < 0)
		pos = -pos - 1;
	ret = (unsigned int)pos < istate->cache_nr &&
		starts_with(istate->cache[pos]->name, dir);
	free(dir);
	return ret;
}

/*
 * Is the path, or what leads there, in the index? It need not exist. Or is it
 * in the way of a directory?
 */
static int is_tracked(const struct tracked_search *search, const char *path)
{
	const char *name, *slash;

	/* Nothing that is tracked is, or is below, ".git". */
	if (!skip_prefix(path, search->root, &name) || *name++ != '/' ||
	    !skip_prefix(name, search->prefix, &name) || !*name ||
	    !strcmp(name, ".git") || starts_with(name, ".git/"))
		return 0;
	for (slash = name; *slash; slash++)
		if (*slash == '/' &&
		    index_file_exists(search->istate, name, slash - name,
				      ignore_case))
			return 1;
	return index_file_exists(search->istate, name, slash - name,
				 ignore_case) ||
		has_entries_below(search->istate, name);
}

/*
 * Look for the file itself, and for the name that it goes by, which may lead to
 * another file once a symbolic link has been written.
 */
static void find_tracked(struct tracked_search *search, const char *path)
{
	struct strbuf name = STRBUF_INIT;

	if (!path || search->found)
		return;
	strbuf_add_absolute_path(&name, path);
	if (!strbuf_normalize_path(&name))
		search->found = is_tracked(search, name.buf);
	if (!search->found &&
	    strbuf_realpath_forgiving(&name, path, 0))
		search->found = is_tracked(search, name.buf);
	strbuf_release(&name);
}

/* Called for each variable: where does it come from, and does it lead on? */
static int find_tracked_config(const char *key, const char *value,
			       const struct config_context *ctx, void *data)
{
	struct tracked_search *search = data;
	const char *file = ctx->kvi->filename, *slash, *cond, *name;
	size_t cond_len;
	char *path;

	if (file != search->file)
		find_tracked(search, file);
	search->file = file;
	if (!value ||
	    (strcmp(key, "include.path") &&
	     (parse_config_key(key, "includeif", &cond, &cond_len, &name) ||
	      !cond || strcmp(name, "path"))))
		return 0;
	path = interpolate_path(value, 0);
	slash = file ? find_last_dir_sep(file) : NULL;
	if (path && slash && !is_absolute_path(path)) {
		char *whole = xstrfmt("%.*s%s", (int)(slash + 1 - file), file,
				      path);

		find_tracked(search, whole);
		free(whole);
	} else {
		find_tracked(search, path);
	}
	free(path);
	return 0;
}

static struct index_state *get_index(const struct parallel_checkout *pc)
{
	return pc->state->istate ? pc->state->istate : the_repository->index;
}

/*
 * Where do files go, and how do their names begin there? Returns -1 if the
 * place does not exist.
 */
static int find_root(const struct parallel_checkout *pc, struct strbuf *root,
		     const char **prefix)
{
	const char *base_dir = pc->state->base_dir;
	const char *slash = find_last_dir_sep(base_dir);
	char *dir = xmemdupz(base_dir, slash ? slash + 1 - base_dir : 0);
	int ret = strbuf_realpath(root, *dir ? dir : ".", 0) ? 0 : -1;

	*prefix = slash ? slash + 1 : base_dir;
	free(dir);
	return ret;
}

/*
 * Does --prefix lead to the working tree? Then files are written where Git
 * looks for attributes of others.
 */
static int is_prefix_in_place(const struct parallel_checkout *pc)
{
	const char *worktree = the_repository->worktree, *prefix;
	struct strbuf root = STRBUF_INIT;
	int ret;

	if (!pc->state->base_dir_len || !worktree)
		return 0;
	ret = !find_root(pc, &root, &prefix) && !*prefix &&
		!fspathcmp(root.buf, worktree);
	strbuf_release(&root);
	return ret;
}

/* Does Git read configuration or attributes from a file that is tracked? */
static int is_configured_by_tracked_files(const struct parallel_checkout *pc)
{
	struct repository *repo = the_repository;
	struct tracked_search search = { .istate = get_index(pc) };
	struct strbuf root = STRBUF_INIT;
	char *info, *user, *xdg;

	if (find_root(pc, &root, &search.prefix))
		return 0;
	strbuf_trim_trailing_dir_sep(&root);
	search.root = root.buf;

	info = repo_git_path(repo, "info/attributes");
	find_tracked(&search, info);
	find_tracked(&search, git_attr_global_file());
	if (git_attr_system_is_enabled())
		find_tracked(&search, git_attr_system_file());

	/* what may not be there yet, or has no variable */
	git_global_config_paths(&user, &xdg);
	find_tracked(&search, user);
	find_tracked(&search, xdg);
	repo_config(repo, find_tracked_config, &search);

	free(info);
	free(user);
	free(xdg);
	strbuf_release(&root);
	return search.found;
}

const char *why_sequential(const struct parallel_checkout *pc, int one_by_one)
{
	if (pc->config.nr == 1)
		return "checkout.workers is 1";
	if (!git_env_bool("GIT_TEST_PARALLEL_CHECKOUT", 1))
		return "a test says so";
	if (pc->state->not_new)
		return "only files that exist are written";
	if (!pc->config.nr && ignore_case)
		return "core.ignoreCase is set";
	if (!pc->config.nr && one_by_one)
		return "somebody may wait for each file";
	if (is_prefix_in_place(pc))
		return "the prefix is the working tree";
	if (is_configured_by_tracked_files(pc))
		return "files that Git is configured by are tracked";
	return NULL;
}
