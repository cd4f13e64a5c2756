/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The face of parallel checkout: entries are offered, taken or not, and
 * finished. What becomes of them is told by parallel-checkout/engine.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "entry.h"
#include "environment.h"
#include "parallel-checkout.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/removal.h"
#include "parse.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "trace2.h"

static struct parallel_checkout parallel_checkout;

int parallel_checkout_is_finishing(void)
{
	return parallel_checkout.phase >= PHASE_DRAINING;
}

void parallel_checkout_assert_quiet(void)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->in_flight)
		BUG("the working tree is changed while workers are in flight");
	if (pc->writer_opened)
		writer_begin_batch(&pc->writer);
}

size_t parallel_checkout_taken(void)
{
	return parallel_checkout.taken;
}

/* Returns 1 if this process is to be alone, for now at least. */
static int init_parallel_checkout(struct parallel_checkout *pc,
				  const struct checkout *state,
				  struct progress *progress,
				  unsigned int *progress_cnt)
{
	if (pc->phase != PHASE_IDLE)
		BUG("parallel checkout already initialized");
	memset(pc, 0, sizeof(*pc));
	pc->state = state;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	get_checkout_workers(&pc->config);
	mem_pool_init(&pc->lookup.seen, 0);
	strbuf_init(&pc->path, 0);
	queue_init(&pc->queue);
	collision_init(&pc->lookup.names, ignore_case);
	pc_init_filtered(pc);
	pc_init_donors(pc);

	/*
	 * Without this we cannot rely on waitpid() to tell what happened to our
	 * children, workers and others; cf. git_connect().
	 */
	signal(SIGCHLD, SIG_DFL);

	trace2_region_enter("pcheckout", "main", the_repository);
	return pc_init_dispatch(pc);
}

/* In which phase entries are offered from now on. */
static enum checkout_phase accepting_phase(const struct parallel_checkout *pc,
					   int alone)
{
	/*
	 * "Only what exists" has to be looked at anyway. And once the file has
	 * been removed, it is not "what exists" for entry.c, so the entry could
	 * not be put off.
	 */
	if (pc->state->not_new ||
	    !git_env_bool("GIT_TEST_PARALLEL_CHECKOUT", 1))
		return PHASE_REFUSING;
	if (alone)
		return PHASE_ALONE;
	return pc_has_workers(pc) ? PHASE_STREAMING : PHASE_QUEUEING;
}

void parallel_checkout_begin(const struct checkout *state,
			     const struct index_state *old_index,
			     struct progress *progress,
			     unsigned int *progress_cnt, unsigned int flags)
{
	struct parallel_checkout *pc = &parallel_checkout;
	int alone;

	if (old_index && old_index == state->istate)
		BUG("the old index is the one to be updated");
	if (pc->phase != PHASE_REMOVED) {
		alone = init_parallel_checkout(pc, state, progress,
					       progress_cnt);
	} else {
		if (state != pc->state)
			BUG("parallel checkout was begun with another state");
		alone = pc->removed_alone;
		tune_auto_restart(&pc->dispatch.tune);
	}

	pc->lookup.old_index = old_index;
	pc_forget_barriers(pc);
	pc->lookup.attrs_from_index =
		!!(flags & PARALLEL_CHECKOUT_ATTRS_FROM_INDEX);
	pc->lookup.may_repeat = !!(flags & PARALLEL_CHECKOUT_MAY_REPEAT);
	pc->at_once = (flags & PARALLEL_CHECKOUT_AT_ONCE) ||
		pc->lookup.config_removed;
	if (pc->lookup.config_removed || (pc->at_once && !pc->config.nr))
		alone = 1;
	pc_enter(pc, accepting_phase(pc, alone));
}

/* Take an entry for entry.c. Its attributes are those of now. */
static void take_put_off(struct parallel_checkout *pc,
			 struct queued_entry *entry)
{
	const struct cache_entry *ce = entry->ce;

	if (S_ISREG(ce->ce_mode) && !(ce->ce_flags & CE_WT_REMOVE) &&
	    !entry->has_attrs && pc_has_eligible_type(pc, ce))
		pc_look_up_attrs(pc, entry);
	pc_put_off(pc, pc_append(pc, entry));
	pc->taken++;
}

/*
 * For an entry that is not fit for a worker, or whose path needs entry.c. That
 * can do its work now if everything before it is written: the filters and
 * submodules that it runs may look at other files.
 */
static int leave_or_put_off(struct parallel_checkout *pc,
			    struct queued_entry *entry)
{
	if (pc->phase != PHASE_STREAMING && !pc_is_behind(pc))
		return -1;
	take_put_off(pc, entry);
	return 0;
}

static void catch_up(struct parallel_checkout *pc);

/*
 * An entry that has a filter which workers may run. Returns 1 if it is to be
 * queued, which the phase allows then; and 0 if it is not for them.
 */
static int prepare_filtered(struct parallel_checkout *pc,
			    struct queued_entry *entry)
{
	switch (pc_note_filtered(pc, entry)) {
	case FILTER_HAS_TWIN:
		return 0;
	case FILTER_IS_FIRST:
		catch_up(pc);
		/* fallthrough */
	case FILTER_IS_KNOWN:
		break;
	}
	if (pc->phase == PHASE_ALONE)
		pc_enter(pc, pc_has_workers(pc) ? PHASE_STREAMING :
						  PHASE_QUEUEING);
	return 1;
}

/*
 * Take an entry, which is eligible unless its attributes say otherwise. What is
 * believed of its path is set.
 */
static int take(struct parallel_checkout *pc, struct queued_entry *entry)
{
	if (S_ISREG(entry->ce->ce_mode)) {
		pc_look_up_attrs(pc, entry);
		if (!pc_is_eligible(pc, entry))
			return leave_or_put_off(pc, entry);
	}

	if (pc_prepare_root(pc)) {
		pc_enter(pc, PHASE_REFUSING);
		return -1;
	}
	if (pc_filter_cost(entry) && !prepare_filtered(pc, entry))
		return leave_or_put_off(pc, entry);
	if (pc->phase == PHASE_ALONE)
		return pc_write_alone(pc, entry);

	pc_enqueue(pc, entry);
	pc->taken++;
	pc_keep_workers_busy(pc);
	return 0;
}

/*
 * Write everything that has been taken, whoever has to do it, so that the next
 * entry comes at its turn.
 */
static void catch_up(struct parallel_checkout *pc)
{
	enum checkout_phase phase = pc->phase;

	if (!pc_is_behind(pc))
		return;
	pc_write_queued(pc);
	pc_do_put_off(pc, phase != PHASE_ALONE, 0);
	pc_reset_entries(pc);
	pc_enter(pc, accepting_phase(pc, phase == PHASE_ALONE));
}

static int is_accepting(const struct parallel_checkout *pc)
{
	return pc->phase == PHASE_ALONE || pc->phase == PHASE_QUEUEING ||
		pc->phase == PHASE_STREAMING;
}

void parallel_checkout_catch_up(void)
{
	if (is_accepting(&parallel_checkout))
		catch_up(&parallel_checkout);
}

/* The entry may be written by anybody, and nobody has looked at its path. */
static int offer_unseen(struct parallel_checkout *pc,
			struct queued_entry *entry)
{
	/*
	 * The file may be up to date; that can be seen without removing it.
	 * And without force, remove_leftover() relies on it that the path was
	 * seen to be absent.
	 */
	if (pc_has_stat_data(entry->ce) || !pc->state->force)
		return -1;

	/*
	 * If there is a file of which nothing is known, to write would fail. A
	 * worker finds out; this process has entry.c look, which offers the
	 * entry again.
	 */
	if (pc_expect_old(pc, entry) && pc->phase == PHASE_ALONE)
		return -1;
	return take(pc, entry);
}

int parallel_checkout_offer(struct cache_entry *ce,
			    const struct checkout *state, int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	enum checkout_barrier barrier;

	if (state != pc->state || !is_accepting(pc))
		return -1;

	barrier = pc_find_barrier(pc, ce);
	pc->at_its_turn = pc_collides(pc, ce) || barrier != BARRIER_NONE;
	if (pc->at_its_turn) {
		catch_up(pc);
		if (barrier == BARRIER_CONFIG) {
			pc->at_once = 1;
			if (pc->phase != PHASE_ALONE)
				pc_enter(pc, PHASE_ALONE);
		}
		return -1;
	}

	if (!pc_has_eligible_type(pc, ce) || (ce->ce_flags & CE_WT_REMOVE))
		return leave_or_put_off(pc, &entry);
	if (!pc_may_be_filtered(pc, &entry))
		return offer_unseen(pc, &entry);
	if (pc_filter_cost(&entry))
		pc_note_blob(pc, &entry);
	take_put_off(pc, &entry);
	return 0;
}

int parallel_checkout_offer_seen(struct cache_entry *ce, const struct stat *st,
				 const struct checkout *state,
				 int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};

	if (state != pc->state || !is_accepting(pc) || pc->at_its_turn)
		return -1;

	/*
	 * A clone reports the paths that collide; that is entry.c's business.
	 * So are directories. And an entry that workers could not be given by
	 * parallel_checkout_offer() is none for them now.
	 */
	if (!pc_has_eligible_type(pc, ce) ||
	    (st && (state->clone ||
		    !(S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)))) ||
	    (!pc_has_stat_data(ce) && state->force && pc->phase != PHASE_ALONE))
		return leave_or_put_off(pc, &entry);

	if (st)
		pc_expect_seen(pc, &entry, st);
	return take(pc, &entry);
}

int parallel_checkout_offer_cleared(struct cache_entry *ce,
				    const struct conv_attrs *ca,
				    const struct checkout *state,
				    int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->phase != PHASE_CLEARING || state != pc->state)
		return -1;
	return pc_offer_cleared(pc, ce, ca, nr_checkouts);
}

void parallel_checkout_begin_removals(const struct checkout *state,
				      struct progress *progress,
				      unsigned int *progress_cnt)
{
	struct parallel_checkout *pc = &parallel_checkout;
	int alone = init_parallel_checkout(pc, state, progress, progress_cnt);

	if (!git_env_bool("GIT_TEST_PARALLEL_CHECKOUT", 1))
		pc->config.nr = alone = 1;
	pc_enter(pc, alone ? PHASE_REMOVING_ALONE : PHASE_REMOVING);
}

int parallel_checkout_remove(struct cache_entry *ce)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->phase != PHASE_REMOVING && pc->phase != PHASE_REMOVING_ALONE)
		BUG("parallel checkout does not take removals now");
	return pc_remove(pc, ce);
}

void parallel_checkout_finish_removals(void)
{
	pc_finish_removals(&parallel_checkout);
}

/* Forget everything. Returns what parallel_checkout_finish() does. */
static int release_parallel_checkout(struct parallel_checkout *pc)
{
	int errs;

	pc_trace_stats(pc);

	pc_release_dispatch(pc);
	if (pc->writer_opened)
		writer_close(&pc->writer);
	mem_pool_discard(&pc->lookup.seen, 0);
	strbuf_release(&pc->path);
	free(pc->root);
	queue_release(&pc->queue);
	collision_release(&pc->lookup.names);
	pc_release_filtered(pc);
	pc_release_donors(pc);
	pc_forget_barriers(pc);
	free(pc->entries);
	errs = pc->errs;
	pc_enter(pc, PHASE_IDLE);
	memset(pc, 0, sizeof(*pc));

	trace2_region_leave("pcheckout", "main", the_repository);
	return errs ? -1 : 0;
}

int parallel_checkout_finish(void)
{
	struct parallel_checkout *pc = &parallel_checkout;
	int workers_help = pc->phase != PHASE_ALONE;

	pc->finishing = 1;
	pc_write_queued(pc);
	pc_do_put_off(pc, workers_help, 1);
	if (!pc->filtered.delayed)
		return release_parallel_checkout(pc);

	/* What has been put off still counts as delayed from now on. */
	for (size_t i = 0; i < pc->put_offs; i++)
		pc_advance_progress(pc);
	pc->progress = NULL;
	pc_enter(pc, PHASE_DELAYED);
	return 0;
}

size_t parallel_checkout_delayed(void)
{
	const struct parallel_checkout *pc = &parallel_checkout;

	return pc->phase == PHASE_DELAYED ?
		pc->filtered.delayed + pc->put_offs : 0;
}

int parallel_checkout_finish_delayed(struct progress *progress,
				     unsigned int *progress_cnt, off_t *bytes)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->phase != PHASE_DELAYED)
		return 0;
	pc_finish_delayed(pc, progress, progress_cnt, bytes);
	return release_parallel_checkout(pc);
}
