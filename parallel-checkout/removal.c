/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removals, and directories that are empty; see removal.h.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "entry.h"
#include "hashmap.h"
#include "parallel-checkout/classify.h"
#include "parallel-checkout/dispatch.h"
#include "parallel-checkout/prune.h"
#include "parallel-checkout/removal.h"
#include "parallel-checkout/state.h"
#include "read-cache-ll.h"
#include "symlinks.h"

int removal_accept(struct parallel_checkout *pc, struct cache_entry *ce)
{
	struct accepted_entry entry = { .ce = ce };

	dispatch_watch(pc);
	if (pc->phase != PHASE_ACCEPTING)
		return -1;
	if (classify_removal(pc, &entry) != ENTRY_ORDINARY ||
	    pc_prepare_root(pc))
		pc_defer(pc, pc_append(pc, &entry), DEFERRED_UNFIT);
	else
		dispatch_enqueue(pc, &entry);
	return 0;
}

/* Is the directory gone? Nobody else is removing anything now. */
static int is_removed(const struct accepted_entry *dir)
{
	if (dir->state == ENTRY_DONE)
		return 1;
	if (dir->why == DEFERRED_ANSWERED)
		return 0;

	/* A worker that was lost may have removed it. */
	return !beneath_rmdir(dir->item.path, 0) ||
		(dir->why == DEFERRED_LOST && errno == ENOENT);
}

/*
 * Remove the directories of one level. Those that were removed may have been
 * the last thing in their parents.
 */
static void prune_level(struct parallel_checkout *pc, struct strset *level,
			struct prune_list *list)
{
	struct hashmap_iter iter;
	struct strmap_entry *dir;

	pc_enter(pc, PHASE_ACCEPTING);
	strset_for_each_entry(level, &iter, dir) {
		struct accepted_entry entry = {
			.item = {
				.mode = CHECKOUT_REMOVE_DIR,
				.path = dir->key,
				.path_len = strlen(dir->key),
			},
		};

		dispatch_enqueue(pc, &entry);
	}
	dispatch_drain(pc, 0);
	for (size_t i = 0; i < pc->nr; i++)
		if (is_removed(&pc->entries[i]))
			prune_add_parent(list, pc->entries[i].item.path);
	pc->deferred_nr = 0;
	pc_forget_entries(pc);
}

void removal_finish(struct parallel_checkout *pc)
{
	struct prune_list list = PRUNE_LIST_INIT;
	struct strset level;

	dispatch_drain(pc, 0);
	for (size_t i = 0; i < pc->nr; i++) {
		struct accepted_entry *entry = &pc->entries[i];

		if (entry->state == ENTRY_DEFERRED) {
			unlink_entry(entry->ce, pc->state->super_prefix);
			pc_advance_progress(pc);
		} else {
			prune_add_parent(&list, entry->ce->name);
		}
	}
	pc->deferred_nr = 0;
	pc_forget_entries(pc);
	while (!prune_take_level(&list, &level)) {
		prune_level(pc, &level, &list);
		strset_clear(&level);
	}

	/* The workers do not tell our cache what is gone. */
	if (pc->pool_started)
		invalidate_lstat_cache();
}
