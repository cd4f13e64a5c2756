/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The face of parallel checkout: entries are offered, accepted or not, and
 * finished. What becomes of them is told by parallel-checkout/state.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "convert.h"
#include "entry.h"
#include "parallel-checkout.h"
#include "parallel-checkout/classify.h"
#include "parallel-checkout/deferred.h"
#include "parallel-checkout/dispatch.h"
#include "parallel-checkout/removal.h"
#include "parallel-checkout/sequential.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/state.h"
#include "progress.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "string-list.h"
#include "trace2.h"

static struct parallel_checkout parallel_checkout;

int parallel_checkout_is_finishing(void)
{
	return parallel_checkout.phase >= PHASE_DRAINING;
}

void parallel_checkout_assert_quiet(void)
{
	if (parallel_checkout.in_flight)
		BUG("the working tree is changed while workers are in flight");
}

size_t parallel_checkout_accepted(void)
{
	return parallel_checkout.accepted;
}

static void init_parallel_checkout(struct parallel_checkout *pc,
				   const struct checkout *state,
				   struct progress *progress,
				   unsigned int *progress_cnt,
				   unsigned int flags)
{
	if (pc->phase != PHASE_IDLE)
		BUG("parallel checkout already initialized");
	memset(pc, 0, sizeof(*pc));
	pc->state = state;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	get_checkout_workers(&pc->config);
	pc->may_filter = !!have_parallel_filters();
	strset_init(&pc->filters);
	strbuf_init(&pc->path, 0);
	queue_init(&pc->queue);
	tune_auto_init(&pc->tune, pc->config.threshold);
	donors_init(&pc->donors);

	/*
	 * Without this we cannot rely on waitpid() to tell what happened to our
	 * children, workers and others; cf. git_connect().
	 */
	signal(SIGCHLD, SIG_DFL);

	trace2_region_enter("pcheckout", "main", the_repository);
	pc->sequential = why_sequential(pc,
					flags & PARALLEL_CHECKOUT_ONE_BY_ONE);
	if (pc->sequential)
		trace2_data_string("pcheckout", the_repository, "sequential",
				   pc->sequential);
}

/* In which phase entries are offered, or removals, from now on. */
static enum checkout_phase offering_phase(const struct parallel_checkout *pc)
{
	if (pc->sequential)
		return PHASE_SEQUENTIAL;
	if (pc->config.nr || pc->pool_started || pc->config.threshold >= 0)
		return PHASE_ACCEPTING;
	return PHASE_WATCHING;
}

void parallel_checkout_begin(const struct checkout *state,
			     const struct index_state *old_index,
			     struct progress *progress,
			     unsigned int *progress_cnt, unsigned int flags)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (old_index && old_index == state->istate)
		BUG("the old index is the one to be updated");
	if (pc->phase != PHASE_DRAINED)
		init_parallel_checkout(pc, state, progress, progress_cnt,
				       flags);
	else if (state != pc->state)
		BUG("parallel checkout was begun with another state");

	pc->old_index = old_index;
	pc->attrs_from_index = !!(flags & PARALLEL_CHECKOUT_ATTRS_FROM_INDEX);
	pc->replaces_unknown = !!(flags & PARALLEL_CHECKOUT_REPLACES_UNKNOWN);
	dispatch_watch_anew(pc);
	pc_enter(pc, offering_phase(pc));
}

/*
 * Write everything that was accepted, whoever has to do it, so that the next
 * entry comes at its turn.
 */
static void catch_up(struct parallel_checkout *pc)
{
	if (!pc_is_behind(pc))
		return;
	dispatch_drain(pc, 0);
	deferred_write(pc);
	pc_forget_entries(pc);
	pc_enter(pc, PHASE_ACCEPTING);
}

void parallel_checkout_catch_up(void)
{
	if (parallel_checkout.phase == PHASE_ACCEPTING)
		catch_up(&parallel_checkout);
}

/* An entry that a worker may write. Returns 0 if it is accepted. */
static int accept_ordinary(struct parallel_checkout *pc,
			   const struct accepted_entry *entry)
{
	if (pc_prepare_root(pc))
		return -1;	/* entry.c says why, of each entry */

	/*
	 * When a filter is started, it may read files that come before its
	 * first entry, like .lfsconfig: they have to be there.
	 */
	if (entry->item.filter && strset_add(&pc->filters, entry->item.filter))
		catch_up(pc);
	dispatch_enqueue(pc, entry);
	pc->accepted++;
	return 0;
}

/*
 * An entry for entry.c, which can write it now if nothing is behind: the
 * filters and submodules that it runs may look at other files. Returns 0 if it
 * is accepted.
 */
static int accept_unfit(struct parallel_checkout *pc,
			const struct accepted_entry *entry)
{
	if (!pc_is_behind(pc))
		return -1;
	pc_defer(pc, pc_append(pc, entry), DEFERRED_UNFIT);
	pc->accepted++;
	return 0;
}

static enum parallel_checkout_answer offer(struct cache_entry *ce, int seen,
					   const struct stat *st,
					   const struct checkout *state,
					   int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct accepted_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	enum entry_class class;
	int ret = -1;

	if (state != pc->state)
		return PARALLEL_CHECKOUT_REFUSED;
	if (!seen)
		dispatch_watch(pc);
	if (pc->phase != PHASE_ACCEPTING &&
	    !(pc->phase == PHASE_WATCHING && pc->may_filter))
		return PARALLEL_CHECKOUT_REFUSED;

	class = classify_entry(pc, &entry, seen, st);
	if (pc->phase == PHASE_WATCHING && class == ENTRY_ORDINARY &&
	    entry.item.filter)
		dispatch_end_watch(pc);
	if (pc->phase != PHASE_ACCEPTING)
		return class == ENTRY_UNSEEN ? PARALLEL_CHECKOUT_UNSEEN :
			PARALLEL_CHECKOUT_REFUSED;

	switch (class) {
	case ENTRY_ORDINARY:
		ret = accept_ordinary(pc, &entry);
		break;
	case ENTRY_AT_ITS_TURN:
		/* entry.c has the path of this entry in a static buffer */
		if (seen)
			BUG("parallel checkout catches up too late");
		catch_up(pc);
		break;
	case ENTRY_UNSEEN:
		return PARALLEL_CHECKOUT_UNSEEN;
	case ENTRY_UNFIT:
		ret = accept_unfit(pc, &entry);
		break;
	}
	return ret ? PARALLEL_CHECKOUT_REFUSED : PARALLEL_CHECKOUT_ACCEPTED;
}

enum parallel_checkout_answer
parallel_checkout_offer(struct cache_entry *ce, const struct checkout *state,
			int *nr_checkouts)
{
	return offer(ce, 0, NULL, state, nr_checkouts);
}

int parallel_checkout_offer_seen(struct cache_entry *ce, const struct stat *st,
				 const struct checkout *state,
				 int *nr_checkouts)
{
	return offer(ce, 1, st, state, nr_checkouts) ==
		PARALLEL_CHECKOUT_ACCEPTED ? 0 : -1;
}

int parallel_checkout_write(struct cache_entry *ce, const struct conv_attrs *ca,
			    const struct checkout *state, int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct accepted_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	struct checkout_result result;

	if (state != pc->state || pc_prepare_root(pc) ||
	    classify_cleared(pc, &entry, ca) != ENTRY_ORDINARY)
		return -1;
	if (!pc->is_writing) {
		if (writer_open(&pc->writer, the_repository, pc->root,
				state->refresh_cache))
			return -1;
		prepare_objects(the_repository);
		pc->is_writing = 1;
	}

	/*
	 * Filters, merge drivers, and the checkout of a submodule may have
	 * moved the directory.
	 */
	dirs_look_again(&pc->writer.dirs);
	pc_set_path(pc, &entry);
	writer_write(&pc->writer, &entry.item, &result);
	dirs_keep_current(&pc->writer.dirs);
	if (result.status != CHECKOUT_WRITTEN) {
		/* entry.c may need the descriptors */
		writer_begin_batch(&pc->writer);
		errno = pc->writer.no_room;
		return errno ? 1 : -1;
	}
	pc_note_written(pc, &entry, &result);
	return 0;
}

void parallel_checkout_begin_removals(const struct checkout *state,
				      struct progress *progress,
				      unsigned int *progress_cnt)
{
	struct parallel_checkout *pc = &parallel_checkout;

	init_parallel_checkout(pc, state, progress, progress_cnt, 0);
	pc_enter(pc, offering_phase(pc));
}

int parallel_checkout_remove(struct cache_entry *ce)
{
	return removal_accept(&parallel_checkout, ce);
}

void parallel_checkout_finish_removals(void)
{
	removal_finish(&parallel_checkout);
}

/* Forget everything. Returns what parallel_checkout_finish() does. */
static int release_parallel_checkout(struct parallel_checkout *pc)
{
	int errs = pc->errs;

	dispatch_release(pc);
	strbuf_release(&pc->path);
	free(pc->root);
	queue_release(&pc->queue);
	strset_clear(&pc->filters);
	donors_release(&pc->donors);
	free(pc->entries);
	free(pc->deferred);
	if (pc->is_writing)
		writer_close(&pc->writer);
	pc_enter(pc, PHASE_IDLE);
	memset(pc, 0, sizeof(*pc));

	trace2_region_leave("pcheckout", "main", the_repository);
	return errs ? -1 : 0;
}

int parallel_checkout_finish(void)
{
	struct parallel_checkout *pc = &parallel_checkout;

	dispatch_drain(pc, 1);
	dispatch_hang_up(pc);
	deferred_write(pc);
	if (!pc->delayed)
		return release_parallel_checkout(pc);
	pc->progress = NULL;
	pc_enter(pc, PHASE_DELAYED);
	return 0;
}

size_t parallel_checkout_delayed(void)
{
	const struct parallel_checkout *pc = &parallel_checkout;

	return pc->phase == PHASE_DELAYED ? pc->delayed : 0;
}

int parallel_checkout_finish_delayed(struct progress *progress,
				     unsigned int *progress_cnt, off_t *bytes)
{
	struct parallel_checkout *pc = &parallel_checkout;
	const struct string_list *paths;
	size_t delayed_again, left;

	if (pc->phase != PHASE_DELAYED)
		return 0;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	pc->throughput_base = pc_bytes(pc) - *bytes;
	dispatch_collect(pc);

	/*
	 * A filter of the main process may delay what those of workers have
	 * not.
	 */
	paths = &pc->state->delayed_checkout->paths;
	delayed_again = paths->nr;
	left = pc->deferred_nr;
	pc->progress = NULL;
	deferred_write(pc);
	*progress_cnt += left - (paths->nr - delayed_again);
	*bytes = pc_bytes(pc) - pc->throughput_base;
	display_progress(progress, *progress_cnt);
	return release_parallel_checkout(pc);
}
