/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries that were put off; see fallback.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "dirs.h"
#include "entry.h"
#include "oid-array.h"
#include "oidset.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/silence.h"
#include "promisor-remote.h"
#include "read-cache.h"
#include "repository.h"

/*
 * With that many entries put off, the workers write them, too, once entry.c has
 * removed what was in their way.
 */
#define MIN_SECOND_ROUND 100

int pc_offer_cleared(struct parallel_checkout *pc, struct cache_entry *ce,
		     const struct conv_attrs *ca, int *nr_checkouts)
{
	struct queued_entry *entry = pc->fallback.clearing;

	if (!entry)
		return -1;
	if (entry->ce != ce || entry->nr_checkouts != nr_checkouts)
		BUG("another entry is being cleared");
	if (S_ISREG(ce->ce_mode)) {
		entry->ca = *ca;
		entry->has_attrs = 1;
	}
	if (!pc_is_eligible(pc, entry))
		return -1;
	entry->filter_cost = pc_filter_cost(entry);

	/* It is queued once more, and nothing is at its path. */
	entry->old_mode = 0;
	entry->old_sd = NULL;
	entry->was_sent = 0;
	entry->again = 1;
	entry->status = CHECKOUT_PENDING;
	pc_enqueue_again(pc, entry - pc->entries);
	pc->fallback.clearing = NULL;
	return 0;
}

/* The number of entries that are known to collide; see entry.c. */
static size_t count_matched(const struct index_state *istate)
{
	size_t n = 0;

	for (unsigned int i = 0; i < istate->cache_nr; i++)
		n += !!(istate->cache[i]->ce_flags & CE_MATCHED);
	return n;
}

/*
 * Without force, entry.c leaves alone what it finds at the path of a lost
 * entry. The path was absent when the entry was taken, so a file that is there
 * now is most likely what the lost worker has written. Remove it if nothing is
 * lost if that is wrong: if it is empty, or what will be written anyway.
 */
static void remove_leftover(const struct parallel_checkout *pc,
			    const struct cache_entry *ce)
{
	struct index_state *istate = pc->state->istate ?
		pc->state->istate : the_repository->index;
	unsigned int options = CE_MATCH_IGNORE_VALID |
		CE_MATCH_IGNORE_SKIP_WORKTREE | CE_MATCH_IGNORE_FSMONITOR;
	int base_len = pc->state->base_dir_len;
	char *path = xstrfmt("%.*s%s", base_len, pc->state->base_dir, ce->name);
	struct stat st;

	/* With a prefix, ie_modified() would look at another file. */
	if (!check_path(path, strlen(path), &st, base_len) &&
	    ((S_ISREG(st.st_mode) && !st.st_size && st.st_nlink == 1) ||
	     (!base_len && !ie_modified(istate, ce, &st, options))))
		beneath_unlink_or_warn(path, base_len);
	free(path);
}

/*
 * Run entry.c for an entry that was put off. Nothing is in flight. With
 * `clear_only`, the entry may be queued once more when its path is clear.
 */
static void write_sequentially(struct parallel_checkout *pc,
			       struct queued_entry *entry, int clear_only)
{
	struct cache_entry *ce = entry->ce;
	int *nr_checkouts = entry->nr_checkouts;
	int was_lost = entry->status == CHECKOUT_PENDING && entry->was_sent;
	int may_be_written = was_lost || entry->status == CHECKOUT_UNFILTERED;
	int was_matched = ce->ce_flags & CE_MATCHED;
	size_t matched = may_be_written && pc->state->clone ?
		count_matched(pc->state->istate) : 0;

	entry->put_off = 0;
	pc->put_offs--;
	if (was_lost && !pc->state->force)
		remove_leftover(pc, ce);

	if (clear_only)
		pc->fallback.clearing = entry;

	/*
	 * Attributes are those of the moment when the entry was offered; the
	 * files that they come from may have been written since then.
	 */
	if (checkout_entry_ca(ce, entry->has_attrs ? &entry->ca : NULL,
			      pc->state, NULL, nr_checkouts) < 0)
		pc->errs = 1;
	if (clear_only && !pc->fallback.clearing)
		return;		/* queued */
	pc->fallback.clearing = NULL;
	pc->fallback.bytes += ce->ce_stat_data.sd_size;
	pc_advance_throughput(pc);

	/*
	 * What is in the way of such an entry is most likely what the worker has
	 * written, and not a collision for a clone to report. That would have
	 * found a partner.
	 */
	if (may_be_written && pc->state->clone && !was_matched &&
	    count_matched(pc->state->istate) == matched + 1)
		ce->ce_flags &= ~CE_MATCHED;

	pc_advance_progress(pc);
}

static int lacks_blob(const struct parallel_checkout *pc,
		      const struct queued_entry *entry)
{
	return entry->put_off && pc_has_eligible_type(pc, entry->ce) &&
		!(entry->ce->ce_flags & CE_WT_REMOVE) &&
		object_info_here(the_repository, &entry->ce->oid, NULL,
				 OBJECT_INFO_QUICK);
}

/*
 * In a partial clone, fetch what this entry and those that were put off after
 * it lack, in one go, if this one lacks its blob. If one of them cannot be had,
 * leave it to entry.c to fetch each at its turn: that writes what comes before
 * the first one that is missing, and dies of that one.
 */
static void fetch_missing(struct parallel_checkout *pc, size_t i)
{
	struct oid_array missing = OID_ARRAY_INIT;
	struct object_id first;

	if (i < pc->fallback.fetched ||
	    !repo_has_promisor_remote(the_repository) ||
	    pc->fallback.one_by_one || !lacks_blob(pc, &pc->entries[i]))
		return;
	for (; i < pc->nr; i++)
		if (lacks_blob(pc, &pc->entries[i]))
			oid_array_append(&missing, &pc->entries[i].ce->oid);

	/* If it fails, "git fetch" says so, and once more when entry.c fetches. */
	if (promisor_remote_try_direct(the_repository, missing.oid, missing.nr,
				       &first))
		pc->fallback.one_by_one = 1;
	oid_array_clear(&missing);
	pc->fallback.fetched = pc->nr;
}

/* Is there a file to be removed, which may be in the way of a later one? */
static int has_removals(const struct parallel_checkout *pc)
{
	for (size_t i = pc->fallback.first; i < pc->nr; i++)
		if (pc->entries[i].put_off &&
		    (pc->entries[i].ce->ce_flags & CE_WT_REMOVE))
			return 1;
	return 0;
}

/*
 * A worker has tried it, and would fail again, as on a disk that is full; unless what it
 * lacked was the blob, which may have been fetched since.
 */
static int was_declined_for_good(const struct queued_entry *entry)
{
	return entry->status == CHECKOUT_DECLINED &&
		!repo_has_promisor_remote(the_repository);
}

/*
 * May workers write an entry that was put off, or write it again? What a filter
 * has failed is for entry.c, which says so. And a filter gets a blob once at a
 * time: `firsts` has those of which no filter has seen the first entry yet.
 */
static int is_for_second_round(const struct parallel_checkout *pc,
			       const struct queued_entry *entry, int filtered,
			       struct oidset *firsts)
{
	if (!entry->put_off || !pc_is_eligible(pc, entry) ||
	    !!pc_filter_cost(entry) != filtered)
		return 0;
	if (!filtered)
		return !was_declined_for_good(entry);
	if (pc_waits_for_delayed(pc, entry) ||
	    oidset_contains(firsts, &entry->ce->oid))
		return 0;
	if (!entry->has_twin)
		oidset_insert(firsts, &entry->ce->oid);
	return entry->status != CHECKOUT_UNFILTERED &&
		!(entry->was_sent && entry->status == CHECKOUT_PENDING);
}

/*
 * Have the paths cleared of those that workers can write, and written by them;
 * with `filtered`, of those that have filters.
 */
static void do_second_round(struct parallel_checkout *pc, int filtered)
{
	struct oidset firsts = OIDSET_INIT;

	queue_release(&pc->queue);	/* IDs begin anew */
	pc_enter(pc, PHASE_CLEARING);
	for (size_t i = pc->fallback.first; i < pc->nr; i++)
		if (is_for_second_round(pc, &pc->entries[i], filtered,
					&firsts)) {
			fetch_missing(pc, i);
			if (pc->fallback.one_by_one)
				break;
			write_sequentially(pc, &pc->entries[i], 1);
		}
	oidset_clear(&firsts);
	pc_write_queued(pc);
}

void pc_write_one_put_off(struct parallel_checkout *pc, size_t i)
{
	if (pc_waits_for_delayed(pc, &pc->entries[i]))
		return;
	fetch_missing(pc, i);
	write_sequentially(pc, &pc->entries[i], 0);
}

void pc_write_put_off(struct parallel_checkout *pc)
{
	for (size_t i = pc->fallback.first; i < pc->nr; i++)
		if (pc->entries[i].put_off)
			pc_write_one_put_off(pc, i);
}

void pc_do_put_off(struct parallel_checkout *pc, int workers_help, int is_last)
{
	if (is_last)
		pc->fallback.first = pc->fallback.left = 0;
	workers_help = workers_help && pc_has_workers(pc);
	if (workers_help && !pc->fallback.one_by_one &&
	    pc->put_offs - pc->fallback.left >= MIN_SECOND_ROUND &&
	    !has_removals(pc)) {
		do_second_round(pc, 0);

		/* A filter may look for what comes before, when it starts. */
		if (have_parallel_filters() && !pc->fallback.one_by_one)
			do_second_round(pc, 1);
	}
	if (workers_help && is_last && !pc->filtered.delayed)
		pool_hang_up(&pc->dispatch.pool);
	pc_write_put_off(pc);
}
