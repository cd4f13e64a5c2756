/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removals, and directories that are empty; see removal.h.
 */
#include "git-compat-util.h"
#include "dirs.h"
#include "entry.h"
#include "hashmap.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/prune.h"
#include "parallel-checkout/removal.h"
#include "read-cache-ll.h"
#include "symlinks.h"
#include "trace.h"

/* Is the caller to remove a file, for now? */
static int removes_alone(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	uint64_t now_ns;

	if (pc->phase != PHASE_REMOVING_ALONE)
		return 0;
	if (pc->config.nr)
		return 1;
	now_ns = getnanotime();
	if (!d->alone_entries++)
		d->removing_since_ns = now_ns;
	d->alone_ns = now_ns - d->removing_since_ns;
	if (!pc_reconsider_workers(pc))
		return 1;
	pc_enter(pc, PHASE_REMOVING);
	return 0;
}

int pc_remove(struct parallel_checkout *pc, struct cache_entry *ce)
{
	struct queued_entry entry = { .ce = ce, .remove = 1 };

	if (pc_find_barrier(pc, ce) == BARRIER_CONFIG)
		pc->lookup.config_removed = 1;
	if (removes_alone(pc))
		return -1;
	if (!pc_has_eligible_type(pc, ce) || pc_prepare_root(pc)) {
		pc_put_off(pc, pc_append(pc, &entry));
		return 0;
	}
	pc_enqueue(pc, &entry);
	pc_keep_workers_busy(pc);
	return 0;
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

	strset_for_each_entry(level, &iter, dir) {
		struct queued_entry entry = { .dir = dir->key, .remove = 1 };

		pc_enqueue(pc, &entry);
	}
	pc_enter(pc, PHASE_DRAINING);
	pc_drain(pc);
	for (size_t i = 0; i < pc->nr; i++) {
		const struct queued_entry *entry = &pc->entries[i];

		/* A worker that was lost may have removed it. */
		if (entry->status == CHECKOUT_WRITTEN ||
		    (entry->status == CHECKOUT_PENDING &&
		     (!beneath_rmdir(entry->dir, 0) ||
		      (entry->was_sent && errno == ENOENT))))
			prune_add_parent(list, entry->dir);
	}
	pc_reset_entries(pc);
	pc_enter(pc, PHASE_DRAINED);
}

void pc_finish_removals(struct parallel_checkout *pc)
{
	struct prune_list list = PRUNE_LIST_INIT;
	struct strset level;
	uint32_t id;

	pc->removed_alone = pc->phase == PHASE_REMOVING_ALONE;
	pc_enter(pc, PHASE_DRAINING);
	pc_start_workers(pc);
	pc_drain(pc);
	while (!queue_first(&pc->queue, &id)) {
		queue_take(&pc->queue, id);
		pc_put_off(pc, &pc->entries[id]);
	}

	pc_enter(pc, PHASE_DRAINED);
	for (size_t i = 0; i < pc->nr; i++) {
		struct queued_entry *entry = &pc->entries[i];

		if (entry->put_off) {
			unlink_entry(entry->ce, pc->state->super_prefix);
			pc_advance_progress(pc);
		} else {
			prune_add_parent(&list, entry->ce->name);
		}
	}
	pc_reset_entries(pc);
	while (!prune_take_level(&list, &level)) {
		prune_level(pc, &level, &list);
		strset_clear(&level);
	}

	/* The workers do not tell our cache what is gone. */
	if (pc->dispatch.pool_started)
		invalidate_lstat_cache();
	pc_enter(pc, PHASE_REMOVED);
}
