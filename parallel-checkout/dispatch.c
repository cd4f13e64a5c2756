/* SPDX-License-Identifier: GPL-2.0-only */
/* Start, feed and drain workers; see dispatch.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "convert.h"
#include "entry.h"
#include "environment.h"
#include "gettext.h"
#include "hex.h"
#include "parallel-checkout/classify.h"
#include "parallel-checkout/dispatch.h"
#include "parallel-checkout/state.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

/* So many entries are queued between two looks at the workers. */
#define ENTRIES_PER_LOOK 32

/* To run a filter takes much longer than anything else. */
#define MAX_FILTERED_PER_BATCH 8

/* -- how many workers -- */

/* What is known about the speed so far. */
static void take_sample(struct parallel_checkout *pc, struct tune_sample *now)
{
	if (!pc->limits.cores)
		limits_read(&pc->limits, "");
	memset(now, 0, sizeof(*now));
	now->now_ns = getnanotime();
	now->entries = pc->watched + pc->pool.answers;
	now->bytes = pc->writer.outcome.bytes + pc->pool.total.bytes;
	now->busy_ns = pc->watched_ns + pc->pool.total.busy_ns;
	now->queued = pc->queue.queued;
	now->filter_cost = pc->queued_cost;
	now->workers = pool_in_use(&pc->pool);
	now->cores = pc->limits.cores;
	now->max_workers = pc->limits.max_workers;
	now->complete = pc->phase == PHASE_FINISHING;
	now->starting = pool_is_starting(&pc->pool);
}

void dispatch_watch_anew(struct parallel_checkout *pc)
{
	pc->watch_since_ns = pc->watched_ns = pc->watched = 0;
	tune_auto_restart(&pc->tune);
}

void dispatch_watch(struct parallel_checkout *pc)
{
	uint64_t now_ns;

	if (pc->phase != PHASE_WATCHING)
		return;
	now_ns = getnanotime();
	if (!pc->watch_since_ns)
		pc->watch_since_ns = now_ns;
	else
		pc->watched++;
	pc->watched_ns = now_ns - pc->watch_since_ns;
	if (pc->watched_ns >= TUNE_ALONE_NS)
		pc_enter(pc, PHASE_ACCEPTING);
}

/* How many workers to start for what is queued; 0 for none. */
static int choose_workers(struct parallel_checkout *pc, int is_last)
{
	int threshold = pc->config.threshold, nr = pc->config.nr;
	unsigned int most = pc->state->istate->cache_nr;
	struct tune_sample now;

	if (!nr) {
		take_sample(pc, &now);
		return tune_auto_start(&pc->tune, threshold, &now);
	}
	if (pc->queued_cost && pc->queued_cost >= (size_t)threshold)
		threshold = 0;
	nr = tune_workers(nr, threshold, pc->queue.queued,
			  pc->phase == PHASE_FINISHING);

	/* Most often, they are not for what is queued alone. */
	if (nr && !is_last && most > (unsigned int)nr)
		nr = most < (unsigned int)pc->config.nr ? (int)most :
			pc->config.nr;
	return nr;
}

static void trace_workers(const struct parallel_checkout *pc, const char *why)
{
	char *msg = xstrfmt("%d: %s", pool_in_use(&pc->pool), why);

	trace2_data_string("pcheckout", the_repository, "workers/used", msg);
	free(msg);
}

/* Start `nr` more workers. */
static void start_more(struct parallel_checkout *pc, int nr)
{
	const struct checkout_metadata *meta = &pc->state->meta;
	const char *git_prefix = getenv(GIT_PREFIX_ENVIRONMENT);
	int room = limits_by_descriptors() - pc->pool.nr, started;
	struct strvec args = STRVEC_INIT;

	strvec_push(&args, "checkout--worker");
	if (*pc->root)
		strvec_pushf(&args, "--root=%s", pc->root);
	if (output_eol(CRLF_AUTO) == EOL_CRLF)
		strvec_push(&args, "--crlf");
	if (pc->state->refresh_cache)
		strvec_push(&args, "--stat");
	if (pc->may_filter) {
		/* What a filter of the main process finds and is told. */
		strvec_push(&args, "--filters");
		if (git_prefix)
			strvec_pushf(&args, "--git-prefix=%s", git_prefix);
		if (meta->refname)
			strvec_pushf(&args, "--ref=%s", meta->refname);
		if (!is_null_oid(&meta->treeish))
			strvec_pushf(&args, "--treeish=%s",
				     oid_to_hex(&meta->treeish));
	}
	donors_add_args(&pc->donors, pc->root, pc->name_prefix, &args);

	started = room > 0 ?
		pool_start(&pc->pool, nr < room ? nr : room, &args) : 0;
	if (started < nr) {
		if (pc->config.nr)
			warning(_("could start only %d of %d checkout workers; this takes longer"),
				started, nr);
		pc->limits.max_workers = pc->pool.nr;
	}
	strvec_clear(&args);
}

static void start_workers(struct parallel_checkout *pc, int is_last)
{
	int nr;

	if (pc->pool_started || !pc->root || !pc->queue.queued)
		return;
	nr = choose_workers(pc, is_last);
	if (!nr)
		return;
	pool_init(&pc->pool, pc->config.nr ? nr : pc->limits.max_workers);
	pc->pool.quiet = !pc->config.nr;
	pc->pool.may_filter = pc->may_filter;
	pc->pool_started = 1;
	start_more(pc, nr);
	trace_workers(pc, pc->config.nr ? "configured" : pc->tune.why);
}

/* See whether another number of workers might be better. */
static void adjust_workers(struct parallel_checkout *pc)
{
	struct tune_sample now;
	int had = pc->tune.workers, want;

	take_sample(pc, &now);
	want = tune_auto_next(&pc->tune, &now);
	if (want == had)
		return;
	if (want > pc->pool.nr)
		start_more(pc, want - pc->pool.nr);
	else
		pc->pool.in_use = want;
	trace_workers(pc, pc->tune.why);
}

/* -- what they do -- */

static void unqueue(struct parallel_checkout *pc, struct queue_run *run)
{
	pc->queued_cost -= classify_cost(&pc->entries[run->next]);
	queue_take(&pc->queue, run);
}

/* Give the next entries of the queue to a worker. */
static void send_batch(struct parallel_checkout *pc, int worker)
{
	struct tune_sample now;
	int by_directory, filtered = 0;
	struct queue_run *run;
	size_t size, n = 0;

	take_sample(pc, &now);
	by_directory = tune_is_waiting(&now);
	size = tune_batch_size(&now);
	while (n < size && filtered < MAX_FILTERED_PER_BATCH &&
	       (run = by_directory ? queue_next(&pc->queue, worker) :
				     queue_first(&pc->queue))) {
		struct accepted_entry *entry = &pc->entries[run->next];
		struct checkout_item *item = &entry->item;

		if (pc->filters_stopped && item->filter) {
			unqueue(pc, run);
			pc_defer(pc, entry, DEFERRED_UNFIT);
			continue;
		}
		pc_set_path(pc, entry);
		donors_find(&pc->donors, item);
		if (pool_add_item(&pc->pool, worker, item))
			break;
		unqueue(pc, run);
		entry->state = ENTRY_SENT;
		pc->in_flight++;
		filtered += !!item->filter;
		n++;
	}
	pool_end_batch(&pc->pool, worker);
}

static void take_result(struct parallel_checkout *pc,
			const struct checkout_result *result)
{
	struct accepted_entry *entry = &pc->entries[result->id];

	if (entry->item.mode != CHECKOUT_REMOVE_FILE &&
	    entry->item.mode != CHECKOUT_REMOVE_DIR)
		pc->answered[result->status]++;
	if (entry->state == ENTRY_SENT) {
		pc->in_flight--;
	} else {
		pc->delayed--;
		if (pc->phase != PHASE_DELAYED && pc->progress)
			--*pc->progress_cnt;	/* it will be counted again */
	}
	switch (result->status) {
	case CHECKOUT_WRITTEN:
		entry->state = ENTRY_DONE;
		if (entry->item.mode == CHECKOUT_REMOVE_DIR)
			break;
		if (entry->item.mode != CHECKOUT_REMOVE_FILE)
			pc_note_written(pc, entry, result);
		pc_advance_progress(pc);
		break;
	case CHECKOUT_DELAYED:
		entry->state = ENTRY_DELAYED;
		pc->delayed++;
		pc_advance_progress(pc);
		break;
	case CHECKOUT_UNFILTERED:
		/*
		 * If it is required, the sequential code would have ended,
		 * unless it does better when it is tried again.
		 */
		if (entry->item.required)
			pc->filters_stopped = 1;
		pc_defer(pc, entry, DEFERRED_UNFILTERED);
		break;
	case CHECKOUT_PENDING:
		pc_defer(pc, entry, DEFERRED_LOST);
		break;
	default:
		pc_defer(pc, entry, DEFERRED_ANSWERED);
	}
}

static void look_at_workers(struct parallel_checkout *pc, int timeout_ms)
{
	int worker;

	if (!pc->config.nr && pc->queue.queued)
		adjust_workers(pc);
	while (pc->queue.queued &&
	       (worker = pool_free_worker(&pc->pool)) >= 0)
		send_batch(pc, worker);

	/* What was queued may have been deferred, all of it. */
	if (!pc->in_flight && pc->phase != PHASE_DELAYED)
		timeout_ms = 0;
	pool_poll(&pc->pool, timeout_ms);

	for (size_t i = 0; i < pc->pool.results_nr; i++)
		take_result(pc, &pc->pool.results[i]);
	pc_advance_throughput(pc);
}

void dispatch_enqueue(struct parallel_checkout *pc,
		      const struct accepted_entry *entry)
{
	struct accepted_entry *queued = pc_append(pc, entry);

	queued->state = ENTRY_QUEUED;
	pc_set_path(pc, queued);
	queue_add(&pc->queue, queued->item.id, queued->item.path);
	pc->queued_cost += classify_cost(queued);

	if (++pc->since_look < ENTRIES_PER_LOOK)
		return;
	pc->since_look = 0;
	start_workers(pc, 0);
	if (pc->pool.running)
		look_at_workers(pc, 0);
}

void dispatch_drain(struct parallel_checkout *pc, int is_last)
{
	struct queue_run *run;

	pc_enter(pc, PHASE_FINISHING);
	start_workers(pc, is_last);
	while (pc->pool.running && (pc->queue.queued || pc->in_flight))
		look_at_workers(pc, -1);
	while ((run = queue_first(&pc->queue))) {
		struct accepted_entry *entry = &pc->entries[run->next];

		unqueue(pc, run);
		pc_defer(pc, entry, DEFERRED_UNSENT);
	}
}

void dispatch_collect(struct parallel_checkout *pc)
{
	pool_collect(&pc->pool);
	while (pc->pool.running && pc->delayed)
		look_at_workers(pc, -1);
}
