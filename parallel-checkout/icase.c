/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names that are the same file; see icase.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "dirs.h"
#include "entry.h"
#include "environment.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/prune.h"
#include "read-cache-ll.h"
#include "symlinks.h"

int pc_collides(struct parallel_checkout *pc, struct cache_entry *ce)
{
	struct checkout_icase *icase = &pc->icase;
	int other_dir;

	if (!ignore_case || pc->config.nr == 1)
		return 0;

	icase->offered = ce;
	icase->offered_collides = collision_found(&icase->names, ce->name);
	collision_add(&icase->names, ce->name);
	other_dir = spelling_differs(&icase->spelling, ce->name);

	/* Entries that nobody has taken have been written. */
	return pc->nr &&
		(other_dir || (icase->offered_collides &&
			       (pc_has_stat_data(ce) || !pc->state->force)));
}

/*
 * Is what is at the path of an entry something that we have written there? The
 * path is the caller's.
 */
static int is_ours(const struct parallel_checkout *pc,
		   const struct cache_entry *ce, char **path)
{
	struct stat_data sd;
	struct stat st;

	if (pc_lstat_entry(pc, ce, path, &st))
		return 0;
	if (pc->state->refresh_cache)
		return !match_stat_data(&ce->ce_stat_data, &st);
	fill_stat_data(&sd, &st);
	return sd.sd_ino && pc_is_inode_known(pc, sd.sd_ino);
}

/*
 * Remove the directories in the list, and their parents, as far as they are
 * empty, below the first base_len bytes of their paths.
 */
static void remove_empty_dirs(struct prune_list *list, int base_len)
{
	struct strset level;

	while (!prune_take_level(list, &level)) {
		struct hashmap_iter iter;
		struct strmap_entry *dir;

		strset_for_each_entry(&level, &iter, dir)
			if (strlen(dir->key) > (size_t)base_len &&
			    !beneath_rmdir(dir->key, base_len))
				prune_add_parent(list, dir->key);
		strset_clear(&level);
	}
	invalidate_lstat_cache();
}

static void undo_collisions(struct parallel_checkout *pc)
{
	struct prune_list list = PRUNE_LIST_INIT;

	for (size_t i = 0; i < pc->nr; i++) {
		struct queued_entry *entry = &pc->entries[i];
		struct cache_entry *ce = entry->ce;
		char *path;
		int ours;

		if (!entry->collides || entry->put_off ||
		    entry->status != CHECKOUT_WRITTEN)
			continue;
		/*
		 * A directory is in nobody's way if it may be replaced; but a
		 * clone would report it.
		 */
		ours = is_ours(pc, ce, &path);
		if (ours && !beneath_unlink(path, pc->state->base_dir_len) &&
		    (pc->state->clone || !pc->state->force))
			prune_add_parent(&list, path);
		free(path);

		/* Without force, what is there stays, whoever wrote it. */
		if (!ours && !pc->state->force)
			continue;
		pc_put_off(pc, entry);
		if (entry->nr_checkouts)
			(*entry->nr_checkouts)--;

		/* What comes next may get the same inode. */
		if (pc->state->refresh_cache) {
			memset(&ce->ce_stat_data, 0, sizeof(ce->ce_stat_data));
			ce->ce_flags &= ~CE_UPTODATE;
		}
	}
	remove_empty_dirs(&list, pc->state->base_dir_len);
}

/*
 * Those that collide with an earlier entry were marked when they were taken;
 * find the earlier ones.
 */
void pc_redo_collisions(struct parallel_checkout *pc)
{
	struct collision_set set;
	int added;

	if (!pc->icase.collisions)
		return;

	collision_init(&set);
	for (size_t i = 0; i < pc->nr; i++)
		if (pc->entries[i].collides)
			collision_add(&set, pc->entries[i].ce->name);
	do {
		added = 0;
		for (size_t i = 0; i < pc->nr; i++) {
			struct queued_entry *entry = &pc->entries[i];

			if (entry->collides ||
			    !collision_found(&set, entry->ce->name))
				continue;
			collision_add(&set, entry->ce->name);
			entry->collides = added = 1;
		}
	} while (added);
	collision_release(&set);
	undo_collisions(pc);
}
