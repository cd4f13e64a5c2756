/* SPDX-License-Identifier: GPL-2.0-only */
/* The entries of a parallel checkout, and its phases; see state.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "entry.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/state.h"
#include "path.h"
#include "progress.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "trace2.h"

void pc_enter(struct parallel_checkout *pc, enum checkout_phase phase)
{
	if (phase != PHASE_FINISHING && (pc->queue.queued || pc->in_flight))
		BUG("phase %d with entries queued or in flight", phase);
	pc->phase = phase;
}

struct accepted_entry *pc_append(struct parallel_checkout *pc,
				 const struct accepted_entry *entry)
{
	if (pc->nr >= UINT32_MAX)
		BUG("too many entries for parallel checkout");
	ALLOC_GROW(pc->entries, pc->nr + 1, pc->alloc);
	pc->entries[pc->nr] = *entry;
	pc->entries[pc->nr].item.id = pc->nr;
	return &pc->entries[pc->nr++];
}

void pc_defer(struct parallel_checkout *pc, struct accepted_entry *entry,
	      enum entry_state why)
{
	entry->state = why;
	pc->deferred++;
}

void pc_forget_entries(struct parallel_checkout *pc)
{
	if (pc->delayed)
		return;
	queue_release(&pc->queue);	/* IDs begin anew */
	pc->nr = 0;
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

void pc_set_path(struct parallel_checkout *pc, struct accepted_entry *entry)
{
	const struct cache_entry *ce = entry->ce;
	struct checkout_item *item = &entry->item;

	if (!ce)
		return;
	item->path = ce->name;
	item->path_len = ce_namelen(ce);
	if (!*pc->name_prefix)
		return;
	strbuf_reset(&pc->path);
	strbuf_addstr(&pc->path, pc->name_prefix);
	strbuf_add(&pc->path, item->path, item->path_len);
	item->path = pc->path.buf;
	item->path_len = pc->path.len;
}

void pc_note_written(const struct parallel_checkout *pc,
		     const struct accepted_entry *entry,
		     const struct checkout_result *result)
{
	struct cache_entry *ce = entry->ce;

	if (result->has_sd) {
		struct stat st;

		memset(&st, 0, sizeof(st));
		st.st_mode = ce->ce_mode;
		fake_lstat_data(&result->sd, &st);
		update_ce_after_write(pc->state, ce, &st);
	}
	if (entry->nr_checkouts)
		(*entry->nr_checkouts)++;
}

int pc_write(struct parallel_checkout *pc, struct accepted_entry *entry,
	     int in_place)
{
	struct checkout_result result;
	struct checkout_item item;

	if (!pc->is_writing) {
		if (writer_open(&pc->writer, the_repository, pc->root,
				pc->state->refresh_cache))
			return -1;
		pc->writer.dirs.may_move = 1;
		prepare_objects(the_repository);
		pc->is_writing = 1;
	}
	pc->writer.dirs.in_place = in_place && !pc->one_by_one;
	pc_set_path(pc, entry);
	item = entry->item;
	item.ca.drv = NULL;	/* as workers have it */
	writer_write(&pc->writer, &item, &result);
	if (result.status != CHECKOUT_WRITTEN) {
		/* entry.c may need the descriptors */
		writer_begin_batch(&pc->writer);
		errno = pc->writer.no_room;
		return errno ? 1 : -1;
	}
	pc_note_written(pc, entry, &result);
	return 0;
}

uintmax_t pc_bytes(const struct parallel_checkout *pc)
{
	return pc->pool.total.bytes + pc->deferred_bytes;
}

void pc_advance_progress(struct parallel_checkout *pc)
{
	if (pc->progress)
		display_progress(pc->progress, ++*pc->progress_cnt);
}

void pc_advance_throughput(struct parallel_checkout *pc)
{
	uintmax_t bytes = pc_bytes(pc) - pc->throughput_base;

	/* A checkout that only removes files has no throughput. */
	if (pc->progress && bytes)
		display_throughput(pc->progress, bytes);
}

void pc_trace_stats(const struct parallel_checkout *pc)
{
	const struct checkout_outcome *total = &pc->pool.total;
	const uintmax_t *answered = pc->answered;
	struct repository *r = the_repository;

	trace2_data_intmax("pcheckout", r, "workers", pc->pool.nr);
	trace2_data_intmax("pcheckout", r, "batches", pc->pool.batches);
	trace2_data_intmax("pcheckout", r, "entries",
			   pc->pool.answers - total->removed);
	trace2_data_intmax("pcheckout", r, "removals", total->removed);
	trace2_data_intmax("pcheckout", r, "bytes", total->bytes);
	trace2_data_intmax("pcheckout", r, "cloned_files", total->cloned_files);
	trace2_data_intmax("pcheckout", r, "cloned_bytes", total->cloned_bytes);
	trace2_data_intmax("pcheckout", r, "collided",
			   answered[CHECKOUT_COLLIDED]);
	trace2_data_intmax("pcheckout", r, "declined",
			   answered[CHECKOUT_DECLINED] +
			   answered[CHECKOUT_UNFILTERED]);
	trace2_data_intmax("pcheckout", r, "delayed",
			   answered[CHECKOUT_DELAYED]);
	trace2_data_intmax("pcheckout", r, "lost_workers",
			   pc->pool.lost_workers);
	trace2_data_intmax("pcheckout", r, "busy_us", total->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "waited_us",
			   pc->pool.waited_ns / 1000);
}
