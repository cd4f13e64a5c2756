/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which entries are fit for a worker; see eligible.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "attr.h"
#include "entry.h"
#include "environment.h"
#include "parallel-checkout/engine.h"
#include "read-cache.h"
#include "repository.h"

/*
 * A path that is longer is not for us. entry.c says so, as no system call takes
 * it, while a worker could well reach it by handles.
 */
#define MAX_PATH_LEN (PATH_MAX < POOL_MAX_PATH ? PATH_MAX : POOL_MAX_PATH)

void pc_forget_barriers(struct parallel_checkout *pc)
{
	if (pc->lookup.barriers_known)
		barriers_release(&pc->lookup.barriers);
	pc->lookup.barriers_known = 0;
}

enum checkout_barrier pc_find_barrier(struct parallel_checkout *pc,
				      const struct cache_entry *ce)
{
	struct checkout_barriers *barriers = &pc->lookup.barriers;

	if (pc->lookup.barriers_known && barriers->outdated)
		pc_forget_barriers(pc);
	if (!pc->lookup.barriers_known) {
		/*
		 * With core.ignoreCase, files in d/ have attributes that are in
		 * the index as D/.gitattributes, and are only found in the
		 * working tree.
		 */
		barriers_init(barriers, the_repository,
			      pc->state->base_dir,
			      !pc->lookup.attrs_from_index || ignore_case);
		pc->lookup.barriers_known = 1;
	}
	return barrier_at(barriers, ce);
}

int pc_collides(struct parallel_checkout *pc, const struct cache_entry *ce)
{
	if (pc->config.nr == 1 || !(ignore_case || pc->lookup.may_repeat))
		return 0;
	return collision_add(&pc->lookup.names, ce->name);
}

void pc_look_up_attrs(const struct parallel_checkout *pc,
		      struct queued_entry *entry)
{
	git_attr_set_real_dirs(pc->lookup.barriers.in_place);
	convert_attrs(pc->state->istate, &entry->ca, entry->ce->name);
	git_attr_set_real_dirs(0);
	entry->has_attrs = 1;
}

void pc_get_conversion(const struct parallel_checkout *pc,
		       const struct queued_entry *entry,
		       struct checkout_conversion *conv)
{
	if (output_eol(entry->ca.crlf_action) != EOL_CRLF)
		conv->eol = CHECKOUT_EOL_AS_IS;
	else if (entry->ca.crlf_action == CRLF_TEXT_CRLF)
		conv->eol = CHECKOUT_EOL_CRLF;
	else
		conv->eol = CHECKOUT_EOL_AUTO_CRLF;
	conv->ident = !!entry->ca.ident;
	conv->encoding = entry->ca.working_tree_encoding;
	pc_get_filter(pc, entry, conv);
}

/*
 * On Windows a symbolic link is made for a file or for a directory, and what is
 * not there yet is believed to be a file until this process makes a directory
 * of that name; see mingw_symlink(). So it is for the main process, in the end.
 */
static int is_eligible_link(const struct cache_entry *ce MAYBE_UNUSED)
{
#ifdef GIT_WINDOWS_NATIVE
	return 0;
#else
	return S_ISLNK(ce->ce_mode) && has_symlinks;
#endif
}

int pc_has_eligible_type(const struct parallel_checkout *pc,
			 const struct cache_entry *ce)
{
	return (S_ISREG(ce->ce_mode) || is_eligible_link(ce)) &&
		pc->state->base_dir_len + ce_namelen(ce) < MAX_PATH_LEN;
}

int pc_is_eligible(const struct parallel_checkout *pc,
		   const struct queued_entry *entry)
{
	const struct conv_attrs *ca = &entry->ca;

	if (!pc_has_eligible_type(pc, entry->ce))
		return 0;
	if (!S_ISREG(entry->ce->ce_mode))
		return 1;

	switch (classify_conv_attrs(ca)) {
	case CA_CLASS_INCORE:
		/*
		 * An ident is expanded in core in another way than by the
		 * streaming filter, and this is the one case in which the
		 * writer, that is only told of line ends, would stream.
		 */
		return !(ca->ident && ca->crlf_action == CRLF_AUTO &&
			 output_eol(CRLF_AUTO) != EOL_CRLF);
	case CA_CLASS_STREAMABLE:
		return 1;
	case CA_CLASS_INCORE_FILTER:
	case CA_CLASS_INCORE_PROCESS:
		/* Unless somebody promised it, two instances might not do. */
		return pc_has_parallel_filter(pc, entry);
	}
	BUG("unsupported conv_attrs classification");
}

int pc_has_stat_data(const struct cache_entry *ce)
{
	static const struct stat_data none;

	return memcmp(&ce->ce_stat_data, &none, sizeof(none));
}

static int has_file(const struct parallel_checkout *pc,
		    const struct cache_entry *ce)
{
	int base_len = pc->state->base_dir_len;
	char *path = xstrfmt("%.*s%s", base_len, pc->state->base_dir, ce->name);
	struct stat st;
	int ret = !check_path(path, strlen(path), &st, base_len);

	free(path);
	return ret;
}

int pc_may_be_filtered(const struct parallel_checkout *pc,
		       struct queued_entry *entry)
{
	const struct cache_entry *ce = entry->ce;

	if (!pc_is_behind(pc) || !S_ISREG(ce->ce_mode) || !pc->state->istate ||
	    !pc_has_stat_data(ce) || !is_racy_timestamp(pc->state->istate, ce))
		return 0;
	pc_look_up_attrs(pc, entry);
	if (pc_is_eligible(pc, entry))
		return pc_filter_cost(entry) && has_file(pc, ce);
	return 1;
}

/*
 * Find what the old index has at the path. Entries mostly come in the order of
 * the index, so we need not search. To miss one is no harm: the writer will
 * find the file, and report a conflict.
 */
static const struct cache_entry *find_old(struct parallel_checkout *pc,
					  const struct cache_entry *ce)
{
	const struct index_state *old_index = pc->lookup.old_index;
	unsigned int *pos = &pc->lookup.old_pos;

	while (old_index && *pos < old_index->cache_nr) {
		const struct cache_entry *old = old_index->cache[*pos];
		int cmp = cmp_cache_name_compare(&old, &ce);

		if (!cmp)
			return old;
		if (cmp > 0)
			break;
		(*pos)++;
	}
	return NULL;
}

/*
 * Should a file that has exactly the stat data of the old entry be replaced
 * without a further look?
 *
 * Whether what is at the path may go has been decided before the entry is
 * offered: a switch has compared the file with the old entry, by its content if
 * that is racily clean (verify_uptodate() in unpack-trees.c), and a reset takes
 * whatever is there. From then on entry.c asks nothing more of the old entry:
 * with force, it keeps a file only if that matches the stat data of the new
 * entry, which has none here, and removes it otherwise. So the stat data are
 * no proof of content, and need not be: they only make the worker stricter than
 * entry.c, which handles whatever else is at the path. This is why a racily
 * clean or an assume-unchanged entry is as good as any other.
 *
 * Where there are no files because of a sparse checkout, it is not worth the
 * look.
 */
static int names_file(const struct cache_entry *old)
{
	return (S_ISREG(old->ce_mode) || S_ISLNK(old->ce_mode)) &&
		!ce_skip_worktree(old) && pc_has_stat_data(old);
}

int pc_expect_old(struct parallel_checkout *pc, struct queued_entry *entry)
{
	const struct cache_entry *old = find_old(pc, entry->ce);

	if (!old)
		return 0;
	if (names_file(old)) {
		entry->old_mode = old->ce_mode;
		entry->old_sd = &old->ce_stat_data;
		return 0;
	}
	return ce_skip_worktree(old) ? 0 : -1;
}

void pc_expect_seen(struct parallel_checkout *pc, struct queued_entry *entry,
		    const struct stat *st)
{
	struct stat copy = *st;
	struct stat_data *sd = mem_pool_alloc(&pc->lookup.seen, sizeof(*sd));

	fill_stat_data(sd, &copy);
	entry->old_mode = st->st_mode;
	entry->old_sd = sd;
}
