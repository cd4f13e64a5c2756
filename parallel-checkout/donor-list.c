/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find other working trees, and list their files; see donor-list.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "abspath.h"
#include "config.h"
#include "fsmonitor-settings.h"
#include "hash.h"
#include "hex.h"
#include "parallel-checkout/donor-list.h"
#include "parallel-checkout/wire.h"
#include "path.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "setup.h"
#include "split-index.h"
#include "strbuf.h"
#include "worktree.h"

/* The reader works while we do. */
#define FRAME_SIZE (64 * 1024)

struct donor {
	char *path, *git_dir;
	struct stat st;
	struct index_state index;
	unsigned int next;	/* entry of the index */
};

struct donor_list {
	struct repository *repo;
	struct stat root;
	struct donor donors[CHECKOUT_MAX_DONORS];
	size_t nr;
};

static int is_same_dir(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is it there, of that type, and the current user's? Links are not followed. */
static int is_ours(const char *dir, const char *name, mode_t type)
{
	char *path = xstrfmt("%s%s", dir, name);
	struct stat st;
	int ret = !lstat(path, &st) && (st.st_mode & S_IFMT) == type &&
		is_path_owned_by_current_user(path, NULL);

	free(path);
	return ret;
}

static int is_absent_or_our_file(const char *dir, const char *name)
{
	char *path = xstrfmt("%s%s", dir, name);
	struct stat st;
	int ret = (lstat(path, &st) && is_missing_file_error(errno)) ||
		is_ours(path, "", S_IFREG);

	free(path);
	return ret;
}

/* Which reads "commondir", for one. */
static int may_resolve(const char *dot_git)
{
	return is_ours(dot_git, "", S_IFREG) ||
		(is_ours(dot_git, "", S_IFDIR) &&
		 is_absent_or_our_file(dot_git, "/commondir"));
}

/* An index with other object names makes no sense to us. */
static int can_be_read(struct repository *repo, const char *git_dir)
{
	struct repository_format format = REPOSITORY_FORMAT_INIT;
	struct strbuf path = STRBUF_INIT, err = STRBUF_INIT;
	int ret = 0;

	if (!is_ours(git_dir, "", S_IFDIR) ||
	    !is_ours(git_dir, "/index", S_IFREG) ||
	    !is_absent_or_our_file(git_dir, "/commondir"))
		return 0;
	get_common_dir_noenv(&path, git_dir);
	if (is_ours(path.buf, "", S_IFDIR) &&
	    is_ours(path.buf, "/config", S_IFREG)) {
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
 * Take the working tree at the path if it can be a donor. The index of somebody
 * else is not read: what parses it trusts who has written it.
 */
static void add_donor(struct donor_list *list, const char *path)
{
	struct donor *donor;
	struct stat st;
	const char *git_dir;
	char *dot_git;
	int err;

	if (list->nr == ARRAY_SIZE(list->donors) || stat(path, &st) ||
	    !S_ISDIR(st.st_mode) || st.st_dev != list->root.st_dev ||
	    is_same_dir(&st, &list->root))
		return;
	for (size_t i = 0; i < list->nr; i++)
		if (is_same_dir(&st, &list->donors[i].st))
			return;

	dot_git = xstrfmt("%s/.git", path);
	git_dir = is_ours(path, "", S_IFDIR) && may_resolve(dot_git) ?
		resolve_gitdir_gently(dot_git, &err) : NULL;
	if (git_dir && can_be_read(list->repo, git_dir)) {
		donor = &list->donors[list->nr++];
		donor->path = absolute_pathdup(path);
		donor->git_dir = xstrdup(git_dir);
		donor->st = st;
	}
	free(dot_git);
}

/* The working tree of a repository on this machine that we are a clone of. */
static void add_origin(struct donor_list *list)
{
	const char *url;
	char *path;
	size_t len;

	if (repo_config_get_value(list->repo, "remote.origin.url", &url) ||
	    !url || !is_absolute_path(url))
		return;
	len = strlen(url);
	strip_suffix(url, "/.git", &len);
	path = xmemdupz(url, len);
	add_donor(list, path);
	free(path);
}

static void find_donors(struct donor_list *list)
{
	struct worktree **worktrees;
	char *named = NULL;

	if (!repo_config_get_pathname(list->repo, "checkout.reflinkFrom",
				      &named) && named)
		add_donor(list, named);
	free(named);
	worktrees = get_worktrees_without_reading_head();
	for (struct worktree **wt = worktrees; *wt; wt++)
		if (!(*wt)->is_bare)
			add_donor(list, (*wt)->path);
	free_worktrees(worktrees);
	add_origin(list);
}

/*
 * Read it as it is. What is not there in full is no file, and what a file
 * system monitor says is of no interest. If it is split, its other half is read
 * when it is known whose that is.
 */
static void read_donor(struct donor_list *list, struct donor *donor)
{
	char *path = xstrfmt("%s/index", donor->git_dir), *shared;
	const struct split_index *split;

	index_state_init(&donor->index, list->repo);
	do_read_index(&donor->index, path, 0);
	split = donor->index.split_index;
	if (split && !is_null_oid(&split->base_oid)) {
		shared = xstrfmt("/sharedindex.%s",
				 oid_to_hex(&split->base_oid));
		discard_index(&donor->index);
		if (is_ours(donor->git_dir, shared, S_IFREG))
			read_index_from(&donor->index, path, donor->git_dir);
		free(shared);
	}
	free(path);
}

static int flush_frame(int fd, struct strbuf *out)
{
	int ret = 0;

	if (out->len) {
		wire_end_frame(out, 0);
		ret = write_in_full(fd, out->buf, out->len) < 0 ? -1 : 0;
		strbuf_reset(out);
	}
	return ret;
}

static int send_paths(const struct donor_list *list, int fd)
{
	struct strbuf out = STRBUF_INIT;
	int ret;

	wire_begin_frame(&out, WIRE_DONORS);
	for (size_t i = 0; i < list->nr; i++)
		wire_put_path(&out, list->donors[i].path);
	ret = flush_frame(fd, &out);
	strbuf_release(&out);
	return ret;
}

/* The next entry that may be a file, or NULL. */
static const struct cache_entry *next_file(struct donor *donor)
{
	for (; donor->next < donor->index.cache_nr; donor->next++) {
		const struct cache_entry *ce = donor->index.cache[donor->next];

		if (S_ISREG(ce->ce_mode) && !ce_stage(ce) &&
		    !ce_skip_worktree(ce) &&
		    ce_namelen(ce) < WIRE_MAX_PAYLOAD / 2)
			return ce;
	}
	return NULL;
}

static void put_file(const struct donor_list *list, struct strbuf *out,
		     const struct cache_entry *ce, uint32_t number)
{
	struct checkout_item item = {
		.id = number,
		.mode = ce->ce_mode,
		.path = ce->name,
		.path_len = ce_namelen(ce),
	};

	oidcpy(&item.oid, &ce->oid);
	if (!out->len)
		wire_begin_frame(out, WIRE_ITEMS);
	wire_put_item(out, &item, list->repo->hash_algo);
}

/* Put what donors say of the next path. Returns 0 if there is none. */
static int put_next_path(struct donor_list *list, struct strbuf *out)
{
	const struct cache_entry *ce, *first = NULL, *last = NULL;

	for (size_t i = 0; i < list->nr; i++) {
		ce = next_file(&list->donors[i]);
		if (ce && (!first || strcmp(ce->name, first->name) < 0))
			first = ce;
	}
	for (size_t i = 0; first && i < list->nr; i++) {
		ce = next_file(&list->donors[i]);
		if (!ce || strcmp(ce->name, first->name))
			continue;
		if (!last || last->ce_mode != ce->ce_mode ||
		    !oideq(&last->oid, &ce->oid))
			put_file(list, out, ce, i + 1);
		last = ce;
		list->donors[i].next++;
	}
	return !!first;
}

int list_donors(struct repository *repo, const char *root, int fd)
{
	struct donor_list list = { .repo = repo };
	struct strbuf out = STRBUF_INIT;
	int ret;

	prepare_repo_settings(repo);
	repo->settings.command_requires_full_index = 0;
	fsm_settings__set_disabled(repo);

	if (!stat(*root ? root : ".", &list.root))
		find_donors(&list);
	ret = send_paths(&list, fd);
	for (size_t i = 0; i < list.nr; i++)
		read_donor(&list, &list.donors[i]);

	while (!ret && put_next_path(&list, &out))
		if (out.len >= FRAME_SIZE)
			ret = flush_frame(fd, &out);
	if (!ret)
		ret = flush_frame(fd, &out);

	strbuf_release(&out);
	for (size_t i = 0; i < list.nr; i++) {
		release_index(&list.donors[i].index);
		free(list.donors[i].path);
		free(list.donors[i].git_dir);
	}
	return ret;
}
