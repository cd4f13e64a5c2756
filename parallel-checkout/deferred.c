/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries that are written after the workers; see deferred.h. */
#include "git-compat-util.h"
#include "dirs.h"
#include "entry.h"
#include "parallel-checkout/deferred.h"
#include "parallel-checkout/state.h"
#include "read-cache.h"

/*
 * Without force, entry.c leaves alone what it finds at the path of a lost
 * entry. The path was absent when the entry was accepted, so a file that is
 * there now is most likely what the lost worker has written. Remove it if
 * nothing is lost if that is wrong: if it is empty, or what will be written
 * anyway.
 */
static void remove_leftover(const struct parallel_checkout *pc,
			    const struct cache_entry *ce)
{
	unsigned int options = CE_MATCH_IGNORE_VALID |
		CE_MATCH_IGNORE_SKIP_WORKTREE | CE_MATCH_IGNORE_FSMONITOR;
	int base_len = pc->state->base_dir_len;
	char *path = xstrfmt("%.*s%s", base_len, pc->state->base_dir, ce->name);
	struct stat st;

	/* With a prefix, ie_modified() would look at another file. */
	if (!check_path(path, strlen(path), &st, base_len) &&
	    ((S_ISREG(st.st_mode) && !st.st_size && st.st_nlink == 1) ||
	     (!base_len && !ie_modified(pc->state->istate, ce, &st, options))))
		beneath_unlink_or_warn(path, base_len);
	free(path);
}

/*
 * Write an entry. If no worker has had it, be one, which does without a look at
 * the path; if that fails, entry.c looks, as it does behind a worker. Returns
 * whether entry.c was not needed, for "in_place" of the next.
 */
static int write_entry(struct parallel_checkout *pc,
		       struct accepted_entry *entry, int in_place)
{
	struct cache_entry *ce = entry->ce;
	int was_collided = ce->ce_flags & CE_MATCHED;
	int is_written = entry->state == DEFERRED_UNSENT &&
		!entry->item.filter && !(ce->ce_flags & CE_WT_REMOVE) &&
		!pc_write(pc, entry, in_place);

	if (entry->state == DEFERRED_LOST && !pc->state->force)
		remove_leftover(pc, ce);

	/*
	 * Attributes, if they were looked up, are those of the moment when the
	 * entry was offered; the files that they come from may have been
	 * written since then.
	 */
	if (!is_written &&
	    checkout_entry_ca(ce, S_ISREG(entry->item.mode) ?
			      &entry->item.ca : NULL,
			      pc->state, NULL, entry->nr_checkouts) < 0)
		pc->errs = 1;
	else
		pc->deferred_bytes += ce->ce_stat_data.sd_size;
	pc_advance_throughput(pc);

	/*
	 * What is in the way of such an entry is most likely what the worker
	 * has written, and not a collision for a clone to report.
	 */
	if (entry->state >= DEFERRED_UNFILTERED && !was_collided)
		ce->ce_flags &= ~CE_MATCHED;
	pc_advance_progress(pc);
	return is_written;
}

void deferred_write(struct parallel_checkout *pc)
{
	int in_place = 0;

	for (size_t i = 0; pc->deferred; i++) {
		struct accepted_entry *entry = &pc->entries[i];

		if (entry->state < DEFERRED_UNFIT)
			continue;
		in_place = write_entry(pc, entry, in_place);
		entry->state = ENTRY_DONE;
		pc->deferred--;
	}
}
