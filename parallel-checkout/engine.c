/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entries of a parallel checkout, its phases, and what is done with a
 * single entry; see engine.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "entry.h"
#include "parallel-checkout/engine.h"
#include "path.h"
#include "progress.h"
#include "read-cache.h"
#include "repository.h"
#include "trace2.h"

/*
 * Entries that the main process writes before it looks again whether a
 * directory is still where it was; somebody may have moved it. Who names
 * entries one by one has time to do so between any two.
 */
#define ENTRIES_WITH_HANDLES 64

#define FROM(phase) (1u << PHASE_##phase)

static const struct {
	const char *name;
	unsigned int from;		/* which phases it may follow */
	unsigned may_queue : 1;		/* entries may be queued in it, ... */
	unsigned may_fly : 1;		/* ... and in flight */
} phases[] = {
	[PHASE_IDLE] = { "idle", FROM(DRAINED) },
	[PHASE_REMOVING_ALONE] = { "removing alone", FROM(IDLE) },
	[PHASE_REMOVING] = {
		"removing", FROM(IDLE) | FROM(REMOVING_ALONE), 1, 1
	},
	[PHASE_REMOVED] = { "removed", FROM(DRAINED) },
	[PHASE_REFUSING] = {
		"refusing", FROM(IDLE) | FROM(REMOVED) | FROM(ALONE) |
			FROM(QUEUEING) | FROM(DRAINED)
	},
	[PHASE_ALONE] = {
		"alone", FROM(IDLE) | FROM(REMOVED) | FROM(QUEUEING) |
			FROM(STREAMING) | FROM(DRAINED)
	},
	[PHASE_QUEUEING] = {
		"queueing", FROM(IDLE) | FROM(REMOVED) | FROM(ALONE) |
			FROM(STREAMING) | FROM(DRAINED), 1
	},
	[PHASE_STREAMING] = {
		"streaming", FROM(REMOVED) | FROM(ALONE) | FROM(QUEUEING) |
			FROM(DRAINED), 1, 1
	},
	[PHASE_DRAINING] = {
		"draining", FROM(REMOVING_ALONE) | FROM(REMOVING) |
			FROM(REFUSING) | FROM(ALONE) | FROM(QUEUEING) |
			FROM(STREAMING) | FROM(DRAINED) | FROM(CLEARING), 1, 1
	},
	[PHASE_DRAINED] = { "drained", FROM(DRAINING) | FROM(FILTERING) },
	[PHASE_CLEARING] = { "clearing", FROM(DRAINED), 1 },
	[PHASE_DELAYED] = { "delayed", FROM(DRAINED) },
	[PHASE_FILTERING] = { "filtering", FROM(DELAYED), 0, 1 },
};

void pc_enter(struct parallel_checkout *pc, enum checkout_phase phase)
{
	if (!(phases[phase].from & (1u << pc->phase)))
		BUG("parallel checkout: '%s' after '%s'", phases[phase].name,
		    phases[pc->phase].name);
	if ((pc->queue.queued && !phases[phase].may_queue) ||
	    (pc->in_flight && !phases[phase].may_fly))
		BUG("parallel checkout: '%s' with %"PRIuMAX" entries queued and %"PRIuMAX" in flight",
		    phases[phase].name, (uintmax_t)pc->queue.queued,
		    (uintmax_t)pc->in_flight);
	pc->phase = phase;
}

int pc_is_behind(const struct parallel_checkout *pc)
{
	return pc->queue.queued || pc->in_flight || pc->put_offs;
}

struct queued_entry *pc_append(struct parallel_checkout *pc,
			       const struct queued_entry *entry)
{
	if (pc->nr >= UINT32_MAX)
		BUG("too many entries for parallel checkout");
	ALLOC_GROW(pc->entries, pc->nr + 1, pc->alloc);
	pc->entries[pc->nr] = *entry;
	return &pc->entries[pc->nr++];
}

void pc_put_off(struct parallel_checkout *pc, struct queued_entry *entry)
{
	if (!entry->put_off)
		pc->put_offs++;
	entry->put_off = 1;
}

void pc_reset_entries(struct parallel_checkout *pc)
{
	if (pc->filtered.delayed) {
		pc->fallback.first = pc->nr;
		pc->fallback.left = pc->put_offs;
		return;
	}
	queue_release(&pc->queue);
	pc->nr = pc->put_offs = pc->fallback.fetched = 0;
	pc->fallback.first = pc->fallback.left = 0;
}

void pc_advance_progress(struct parallel_checkout *pc)
{
	if (pc->progress)
		display_progress(pc->progress, ++*pc->progress_cnt);
}

uintmax_t pc_bytes(const struct parallel_checkout *pc)
{
	return pc->writer.bytes + pc->dispatch.pool.stats.bytes +
		pc->fallback.bytes;
}

void pc_advance_throughput(struct parallel_checkout *pc)
{
	uintmax_t bytes = pc_bytes(pc) - pc->throughput_base;

	/* A checkout that only removes files has no throughput. */
	if (pc->progress && bytes)
		display_throughput(pc->progress, bytes);
}

void pc_entry_written(struct parallel_checkout *pc, struct cache_entry *ce,
		      int *nr_checkouts, const struct checkout_result *result)
{
	pc->donors.cloned_files += !!result->cloned;
	pc->donors.cloned_bytes += result->cloned;
	if (result->has_sd) {
		struct stat st;

		memset(&st, 0, sizeof(st));
		st.st_mode = ce->ce_mode;
		fake_lstat_data(&result->sd, &st);
		update_ce_after_write(pc->state, ce, &st);
	}
	if (nr_checkouts)
		(*nr_checkouts)++;
}

int pc_prepare_root(struct parallel_checkout *pc)
{
	const char *base_dir = pc->state->base_dir;
	const char *slash = find_last_dir_sep(base_dir);
	int root_len = slash ? slash + 1 - base_dir : 0;

	if (pc->root)
		return 0;
	if (slash) {
		char *some_file = xstrfmt("%.*sx", root_len, base_dir);
		int ret = safe_create_leading_directories_no_share(some_file);

		free(some_file);
		if (ret)
			return -1;
	}
	pc->root = xmemdupz(base_dir, root_len);
	pc->name_prefix = base_dir + root_len;
	return 0;
}

static int prepare_writer(struct parallel_checkout *pc)
{
	if (pc->writer_opened)
		return 0;
	if (pc->writer_failed || pc_prepare_root(pc) ||
	    writer_open(&pc->writer, the_repository, pc->root,
			pc->state->refresh_cache) < 0) {
		pc->writer_failed = 1;
		return -1;
	}
	pc->writer_opened = 1;
	return 0;
}

const char *pc_entry_path(struct parallel_checkout *pc,
			  const struct queued_entry *entry, size_t *len)
{
	if (!entry->ce) {
		*len = strlen(entry->dir);
		return entry->dir;
	}
	if (!*pc->name_prefix) {
		*len = ce_namelen(entry->ce);
		return entry->ce->name;
	}
	strbuf_reset(&pc->path);
	strbuf_addstr(&pc->path, pc->name_prefix);
	strbuf_add(&pc->path, entry->ce->name, ce_namelen(entry->ce));
	*len = pc->path.len;
	return pc->path.buf;
}

void pc_prepare_item(struct parallel_checkout *pc,
		     const struct queued_entry *entry, uint32_t id,
		     struct checkout_item *item)
{
	const struct cache_entry *ce = entry->ce;

	memset(item, 0, sizeof(*item));
	item->id = id;
	item->path = pc_entry_path(pc, entry, &item->path_len);
	if (entry->remove) {
		item->mode = ce ? CHECKOUT_REMOVE_FILE : CHECKOUT_REMOVE_DIR;
		return;
	}
	item->again = entry->again;
	item->mode = create_ce_mode(ce->ce_mode);
	oidcpy(&item->oid, &ce->oid);
	if (S_ISREG(ce->ce_mode))
		pc_get_conversion(pc, entry, &item->conv);
	if (entry->old_sd) {
		item->old_mode = entry->old_mode;
		item->old_sd = *entry->old_sd;
	}
	pc_find_donor(pc, item);
}

int pc_write_here(struct parallel_checkout *pc,
		  const struct queued_entry *entry)
{
	struct checkout_item item;
	struct checkout_result result;

	if (prepare_writer(pc))
		return -1;
	if (pc->at_once || ++pc->with_handles > ENTRIES_WITH_HANDLES) {
		writer_begin_batch(&pc->writer);
		pc->with_handles = 1;
	}
	pc_prepare_item(pc, entry, 0, &item);
	pc_lend_donors(pc);
	writer_write(&pc->writer, &item, &result);
	if (result.status != CHECKOUT_WRITTEN)
		return -1;
	pc_entry_written(pc, entry->ce, entry->nr_checkouts, &result);
	pc->written_here++;
	return 0;
}

void pc_trace_stats(const struct parallel_checkout *pc)
{
	const struct pool_stats *stats = &pc->dispatch.pool.stats;
	struct repository *r = the_repository;

	trace2_data_intmax("pcheckout", r, "workers", pc->dispatch.workers_started);
	trace2_data_intmax("pcheckout", r, "batches", stats->batches);
	trace2_data_intmax("pcheckout", r, "entries",
			   stats->entries - pc->removals + pc->written_here);
	trace2_data_intmax("pcheckout", r, "removals", pc->removals);
	trace2_data_intmax("pcheckout", r, "bytes",
			   stats->bytes + pc->writer.bytes);
	trace2_data_intmax("pcheckout", r, "cloned_files", pc->donors.cloned_files);
	trace2_data_intmax("pcheckout", r, "cloned_bytes", pc->donors.cloned_bytes);
	trace2_data_intmax("pcheckout", r, "conflicts", pc->conflicts);
	trace2_data_intmax("pcheckout", r, "declined", pc->declined);
	trace2_data_intmax("pcheckout", r, "delayed", pc->delayed);
	trace2_data_intmax("pcheckout", r, "lost_workers", stats->lost);
	trace2_data_intmax("pcheckout", r, "busy_us", stats->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "running_us", stats->run_ns / 1000);
	trace2_data_intmax("pcheckout", r, "waited_us",
			   stats->waited_ns / 1000);
}
