/* SPDX-License-Identifier: GPL-2.0-only */
/* Which entries are for workers; see classify.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "attr.h"
#include "convert.h"
#include "dir.h"
#include "entry.h"
#include "environment.h"
#include "odb.h"
#include "parallel-checkout/classify.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/state.h"
#include "parallel-checkout/tune.h"
#include "read-cache.h"
#include "replace-object.h"
#include "repository.h"
#include "statinfo.h"
#include "submodule.h"

/*
 * A path that is longer is not for us. entry.c says so, as no system call takes
 * it, while a worker could well reach it by handles.
 */
#define MAX_PATH_LEN (PATH_MAX < POOL_MAX_PATH ? PATH_MAX : POOL_MAX_PATH)

/* A longer command may not fit into a message. */
#define MAX_COMMAND_LEN 4096

/* Attributes that cannot be had from the index are looked for in the tree. */
static int can_be_read(struct repository *repo, const struct object_id *oid)
{
	struct object_info oi = OBJECT_INFO_INIT;
	enum object_type type;
	void *buf = NULL;
	size_t size;
	int ret;

	prepare_objects(repo);
	oi.contentp = &buf;
	oi.sizep = &size;
	oi.typep = &type;
	be_silent();
	ret = !odb_read_object_info_extended(repo->objects, oid, &oi,
					     OBJECT_INFO_LOOKUP_REPLACE |
					     OBJECT_INFO_SKIP_FETCH_OBJECT) &&
		type == OBJ_BLOB && size < ATTR_MAX_FILE_SIZE;
	if (end_silence() || !ret)
		forget_bad_objects(repo);
	free(buf);
	return ret;
}

/* The component of the path that is named like a file of attributes. */
static const char *find_attributes_file(const char *path)
{
	const size_t len = strlen(GITATTRIBUTES_FILE);

	for (;;) {
		if (!fspathncmp(path, GITATTRIBUTES_FILE, len) &&
		    (!path[len] || path[len] == '/'))
			return path;
		path = strchr(path, '/');
		if (!path)
			return NULL;
		path++;
	}
}

/*
 * Does the file decide how others are handled? Those before it see the old one,
 * and those after it the new one; or none, if it gives way to a directory.
 *
 * With core.ignoreCase, files in d/ have attributes that are in the index as
 * D/.gitattributes, and are only found in the working tree.
 */
static int is_at_its_turn(const struct parallel_checkout *pc,
			  const struct cache_entry *ce)
{
	const char *attributes = find_attributes_file(ce->name);

	if (attributes &&
	    (strchr(attributes, '/') || !pc->attrs_from_index || ignore_case ||
	     !can_be_read(the_repository, &ce->oid)))
		return 1;
	return should_update_submodules() &&
		!fspathcmp(ce->name, GITMODULES_FILE);
}

/*
 * On Windows a symbolic link is made for a file or for a directory, and what is
 * not there yet is believed to be a file until this process makes a directory
 * of that name; see mingw_symlink(). So it is for the main process, in the end.
 */
static int is_fit_link(const struct cache_entry *ce MAYBE_UNUSED)
{
#ifdef GIT_WINDOWS_NATIVE
	return 0;
#else
	return S_ISLNK(ce->ce_mode) && has_symlinks;
#endif
}

/*
 * A submodule is checked out by a child process that has its own workers. And
 * what stands for a symbolic link where there are none is for entry.c.
 */
static int has_fit_type(const struct parallel_checkout *pc,
			const struct cache_entry *ce)
{
	return (S_ISREG(ce->ce_mode) || is_fit_link(ce)) &&
		pc->state->base_dir_len + ce_namelen(ce) < MAX_PATH_LEN;
}

static int has_stat_data(const struct cache_entry *ce)
{
	static const struct stat_data none;

	return memcmp(&ce->ce_stat_data, &none, sizeof(none));
}

/*
 * A symbolic link in the path will have been replaced by a directory when the
 * entry is written, so nothing is behind it.
 */
static void look_up_attrs(const struct parallel_checkout *pc,
			  struct accepted_entry *entry)
{
	git_attr_set_real_dirs(!pc->state->base_dir_len);
	convert_attrs(pc->state->istate, &entry->item.ca, entry->ce->name);
	git_attr_set_real_dirs(0);
}

/*
 * May a worker run the filter of the entry? Unless the user says so, two
 * instances of it might not do. And the result of a merge may be gone by the
 * time that a filter has what it has delayed. Fills in what is to be run.
 */
static int has_fit_filter(const struct parallel_checkout *pc,
			  struct accepted_entry *entry)
{
	const struct delayed_checkout *dco = pc->state->delayed_checkout;
	int base_len = pc->state->base_dir_len;
	struct checkout_item *item = &entry->item;
	struct smudge_command smudge;

	/* A worker tells a filter the path that it writes. */
	if (pc->filters_stopped ||
	    (base_len && !is_dir_sep(pc->state->base_dir[base_len - 1])) ||
	    !get_parallel_smudge(&item->ca, &smudge) ||
	    strlen(smudge.cmd) > MAX_COMMAND_LEN ||
	    ce_stage(entry->ce))
		return 0;
	item->filter = smudge.cmd;
	item->required = smudge.required;
	item->is_process = smudge.is_process;
	item->can_delay = smudge.is_process && dco &&
		dco->state == CE_CAN_DELAY;
	return 1;
}

/* May a worker do what the attributes say? */
static int has_fit_conversion(const struct parallel_checkout *pc,
			      struct accepted_entry *entry)
{
	enum conv_attrs_classification class =
		classify_conv_attrs(&entry->item.ca);

	return class == CA_CLASS_INCORE || class == CA_CLASS_STREAMABLE ||
		has_fit_filter(pc, entry);
}

/*
 * What is at the path of an entry that nobody has looked at: a file with the
 * stat data that the old index has, or nothing. If there is something else, a
 * worker finds out.
 *
 * That whatever is there may go was decided before the entry is offered, by
 * content if need be: a switch has compared the file with the old entry (see
 * verify_uptodate() in unpack-trees.c), and a reset takes anything. So the stat
 * data need not prove content, and racily clean or assume-unchanged entries are
 * as good as others. Where there are no files because of a sparse checkout, it
 * is not worth the look.
 */
static void expect_old(struct parallel_checkout *pc,
		       struct accepted_entry *entry)
{
	const struct index_state *old_index = pc->old_index;
	const struct cache_entry *old = NULL, *ce = entry->ce;
	int cmp = -1;

	/* They mostly come in its order. To miss one is no harm. */
	for (; pc->old_pos < old_index->cache_nr; pc->old_pos++) {
		old = old_index->cache[pc->old_pos];
		cmp = cmp_cache_name_compare(&old, &ce);
		if (cmp >= 0)
			break;
	}
	if (cmp || ce_skip_worktree(old) || !has_stat_data(old) ||
	    !(S_ISREG(old->ce_mode) || S_ISLNK(old->ce_mode)))
		return;
	entry->item.old_mode = old->ce_mode;
	entry->item.old_sd = old->ce_stat_data;
}

/* Has the entry a file with the stat data that the index has of it? */
static int has_its_file(const struct checkout *state,
			const struct cache_entry *ce)
{
	int base_len = state->base_dir_len;
	char *path = xstrfmt("%.*s%s", base_len, state->base_dir, ce->name);
	struct stat st;
	int ret = !check_path(path, strlen(path), &st, base_len) &&
		!match_stat_data(&ce->ce_stat_data, &st);

	free(path);
	return ret;
}

/*
 * To know whether a file is up to date that was changed in the second of the
 * index, entry.c converts it: its filter may look for entries before this one,
 * and there may be complaints about its attribute files.
 */
static int needs_comparison(const struct parallel_checkout *pc,
			    const struct cache_entry *ce)
{
	return S_ISREG(ce->ce_mode) && has_stat_data(ce) &&
		is_racy_timestamp(pc->state->istate, ce) &&
		has_its_file(pc->state, ce);
}

/* What is expected at the path, and can a worker cope with that? */
static enum entry_class classify_path(struct parallel_checkout *pc,
				      struct accepted_entry *entry,
				      const struct stat *st)
{
	if (!st) {
		if (needs_comparison(pc, entry->ce))
			return ENTRY_UNFIT;

		/*
		 * The file may be up to date; that can be seen without removing
		 * it. Or there may be another file, of which nothing is known.
		 * And without force, what a lost worker leaves is only known
		 * for its own if the path was seen to be absent.
		 */
		if (has_stat_data(entry->ce) || !pc->old_index ||
		    !pc->state->force)
			return ENTRY_UNSEEN;
		expect_old(pc, entry);
	} else if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)) {
		if (pc->state->clone)
			return ENTRY_UNFIT;	/* for it to be reported */
		entry->item.old_mode = st->st_mode;
		fill_stat_data(&entry->item.old_sd, (struct stat *)st);
	} else if (st->st_mode) {
		return ENTRY_UNFIT;
	}
	return ENTRY_ORDINARY;
}

enum entry_class classify_entry(struct parallel_checkout *pc,
				struct accepted_entry *entry,
				const struct stat *st)
{
	const struct cache_entry *ce = entry->ce;
	enum entry_class class;

	if (is_at_its_turn(pc, ce))
		return ENTRY_AT_ITS_TURN;
	if ((ce->ce_flags & CE_WT_REMOVE) || !has_fit_type(pc, ce))
		return ENTRY_UNFIT;
	class = classify_path(pc, entry, st);
	if (class == ENTRY_UNSEEN)
		return class;
	/* That may die, so do not ask for a blob that is not read. */
	if (class == ENTRY_ORDINARY &&
	    lookup_replace_object(the_repository, &ce->oid) != &ce->oid)
		return ENTRY_UNFIT;
	entry->item.mode = create_ce_mode(ce->ce_mode);
	oidcpy(&entry->item.oid, &ce->oid);
	if (!S_ISREG(ce->ce_mode))
		return class;
	look_up_attrs(pc, entry);
	return has_fit_conversion(pc, entry) ? class : ENTRY_UNFIT;
}

enum entry_class classify_cleared(const struct parallel_checkout *pc,
				  struct accepted_entry *entry,
				  const struct conv_attrs *ca)
{
	const struct cache_entry *ce = entry->ce;

	if (!has_fit_type(pc, ce) || !S_ISREG(ce->ce_mode) || ca->drv)
		return ENTRY_UNFIT;
	entry->item.mode = create_ce_mode(ce->ce_mode);
	oidcpy(&entry->item.oid, &ce->oid);
	entry->item.ca = *ca;
	return ENTRY_ORDINARY;
}

enum entry_class classify_removal(const struct parallel_checkout *pc,
				  struct accepted_entry *entry)
{
	entry->item.mode = CHECKOUT_REMOVE_FILE;
	return has_fit_type(pc, entry->ce) ? ENTRY_ORDINARY : ENTRY_UNFIT;
}

unsigned int classify_cost(const struct accepted_entry *entry)
{
	if (!entry->item.filter)
		return 0;
	return entry->item.is_process ? TUNE_COST_PROCESS : TUNE_COST_COMMAND;
}
