/* SPDX-License-Identifier: GPL-2.0-only */
/* Find other working trees, and list their files; see donors.h. */
#include "git-compat-util.h"
#include "abspath.h"
#include "config.h"
#include "dir.h"
#include "fsmonitor-settings.h"
#include "hash.h"
#include "hex.h"
#include "parallel-checkout/donors.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "setup.h"
#include "split-index.h"
#include "strbuf.h"
#include "worktree.h"

struct donor_list {
	struct repository *repo;
	/* the working tree that is written, and those that have been listed */
	struct stat dirs[1 + CHECKOUT_MAX_DONORS];
	size_t nr;
};

/* Is it there, no link or pipe, and the current user's? */
static int is_ours(const char *path)
{
	struct stat st;

	return !lstat(path, &st) &&
		(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
		is_path_owned_by_current_user(path, NULL);
}

static int is_our_git_dir(const char *path)
{
	const char *commondir = mkpath("%s/commondir", path);

	return is_ours(path) && (!file_exists(commondir) || is_ours(commondir));
}

/* An index with other object names makes no sense to us. */
static int can_be_read(struct repository *repo, const char *git_dir)
{
	struct repository_format format = REPOSITORY_FORMAT_INIT;
	struct strbuf path = STRBUF_INIT, err = STRBUF_INIT;
	int ret = 0;

	if (!is_our_git_dir(git_dir) || !is_ours(mkpath("%s/index", git_dir)))
		return 0;
	get_common_dir_noenv(&path, git_dir);
	if (is_ours(path.buf) && is_ours(mkpath("%s/config", path.buf))) {
		strbuf_addstr(&path, "/config");
		read_repository_format(&format, path.buf);
		ret = !verify_repository_format(&format, &err) &&
			hash_algo_by_ptr(repo->hash_algo) ==
			(uint32_t)format.hash_algo;
	}
	clear_repository_format(&format);
	strbuf_release(&path);
	strbuf_release(&err);
	return ret;
}

/*
 * Read the index as it is. What is not there in full is no file. If the index
 * is split, its other half is read when it is known whose that is.
 */
static void list_files(struct repository *repo, const char *git_dir)
{
	struct index_state index = INDEX_STATE_INIT(repo);
	char *path = xstrfmt("%s/index", git_dir);

	do_read_index(&index, path, 0);
	if (index.split_index && !is_null_oid(&index.split_index->base_oid)) {
		const char *shared =
			mkpath("%s/sharedindex.%s", git_dir,
			       oid_to_hex(&index.split_index->base_oid));

		discard_index(&index);
		if (is_ours(shared))
			read_index_from(&index, path, git_dir);
	}

	for (unsigned int i = 0; i < index.cache_nr; i++) {
		const struct cache_entry *ce = index.cache[i];

		if (S_ISREG(ce->ce_mode) && !ce_stage(ce) &&
		    !ce_skip_worktree(ce))
			printf("%s %s%c", oid_to_hex(&ce->oid), ce->name, '\0');
	}
	release_index(&index);
	free(path);
}

/*
 * List the working tree at the path if it can be a donor. The index of somebody
 * else is not read: what parses it trusts who has written it.
 */
static void list_donor(struct donor_list *list, const char *path)
{
	struct stat *st = &list->dirs[list->nr];
	const char *git_dir;
	char *dot_git;
	int err;

	if (list->nr == ARRAY_SIZE(list->dirs) || stat(path, st) ||
	    !S_ISDIR(st->st_mode) || st->st_dev != list->dirs[0].st_dev)
		return;
	for (size_t i = 0; i < list->nr; i++)
		if (list->dirs[i].st_ino == st->st_ino)
			return;

	dot_git = xstrfmt("%s/.git", path);
	git_dir = is_ours(path) && is_our_git_dir(dot_git) ?
		resolve_gitdir_gently(dot_git, &err) : NULL;
	if (git_dir && can_be_read(list->repo, git_dir)) {
		list->nr++;
		printf("donor %s%c", path, '\0');
		list_files(list->repo, git_dir);
	}
	free(dot_git);
}

/* The working tree of a repository on this machine that we are a clone of. */
static void list_origin(struct donor_list *list)
{
	struct strbuf path = STRBUF_INIT;
	const char *url;

	if (repo_config_get_value(list->repo, "remote.origin.url", &url) ||
	    !url || !is_absolute_path(url))
		return;
	strbuf_addstr(&path, url);
	strbuf_strip_suffix(&path, "/.git");
	list_donor(list, path.buf);
	strbuf_release(&path);
}

void donors_list(struct repository *repo, const char *root)
{
	struct donor_list list = { .repo = repo };
	struct worktree **worktrees;
	char *named = NULL;

	prepare_repo_settings(repo);
	repo->settings.command_requires_full_index = 0;
	fsm_settings__set_disabled(repo);

	if (stat(*root ? root : ".", &list.dirs[list.nr++]))
		return;
	if (!repo_config_get_pathname(repo, "checkout.reflinkFrom", &named) &&
	    named)
		list_donor(&list, named);
	free(named);
	worktrees = get_worktrees_without_reading_head();
	for (struct worktree **wt = worktrees; *wt; wt++)
		list_donor(&list, (*wt)->path);
	free_worktrees(worktrees);
	list_origin(&list);
}
