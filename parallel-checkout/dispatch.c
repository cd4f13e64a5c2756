/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start, feed and drain workers, or do without; see dispatch.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "entry.h"
#include "environment.h"
#include "gettext.h"
#include "hex.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/limits.h"
#include "parallel-checkout/run-clock.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "strvec.h"
#include "thread-utils.h"
#include "trace.h"
#include "trace2.h"

/* Entries queued between two looks at the workers. */
#define ENTRIES_PER_LOOK 32

/* Entries queued between two decisions about whether to start workers. */
#define ENTRIES_PER_DECISION 32

static int is_complete(const struct parallel_checkout *pc)
{
	return pc->phase == PHASE_DRAINING;
}

/* What is known about the speed so far. */
static void take_sample(const struct parallel_checkout *pc,
			struct tune_sample *now)
{
	const struct checkout_dispatch *d = &pc->dispatch;

	memset(now, 0, sizeof(*now));
	now->now_ns = getnanotime();
	now->busy_ns = d->alone_ns;
	now->entries = d->alone_entries + d->pool.stats.entries - pc->delayed;
	now->bytes = d->alone_bytes + d->pool.stats.bytes;
	now->run_ns = d->alone_run_ns + d->pool.stats.run_ns;
	now->queued = pc->queue.queued;
	now->filter_cost = pc->filtered.queued_cost;
	now->complete = is_complete(pc);
	now->starting = pc->filtered.met && pool_is_starting(&d->pool);
}

/* Measure how the main process does from now on. */
static void observe(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	struct tune_sample now;

	d->observed_ns = d->alone_ns;
	d->observed_entries = d->alone_entries;
	d->observed_running_ns = run_clock_ns();
	take_sample(pc, &now);
	tune_auto_observe(&d->tune, &now);
}

int pc_init_dispatch(struct parallel_checkout *pc)
{
	struct tune_sample now;

	if (pc->config.nr)
		return pc->config.nr == 1;

	take_sample(pc, &now);
	tune_auto_init(&pc->dispatch.tune, pc->config.threshold, &now);
	pc->dispatch.from_first = have_parallel_filters();
	return !tune_auto_should_queue(&pc->dispatch.tune, 0);
}

void pc_release_dispatch(struct parallel_checkout *pc)
{
	if (pc->dispatch.pool_started)
		pool_finish(&pc->dispatch.pool);
}

int pc_reconsider_workers(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;

	if (tune_auto_should_observe(&d->tune, d->alone_ns)) {
		/* At least one more, to see how it does. */
		observe(pc);
		return 0;
	}
	if (pc->at_once || !tune_auto_should_queue(&d->tune, d->alone_ns))
		return 0;
	pc_note_alone(pc);
	return 1;
}

void pc_note_alone(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;

	d->alone_run_ns = run_clock_since(d->observed_running_ns);
}

int pc_write_alone(struct parallel_checkout *pc,
		   const struct queued_entry *entry)
{
	struct checkout_dispatch *d = &pc->dispatch;
	uint64_t start_ns;

	if (d->from_first && !d->tune.observed)
		observe(pc);
	start_ns = getnanotime();
	if (pc_write_here(pc, entry))
		return -1;
	d->alone_entries++;
	d->alone_bytes = pc->writer.bytes;
	pc_advance_throughput(pc);
	if (!pc->config.nr) {
		d->alone_ns += getnanotime() - start_ns;
		if (pc_reconsider_workers(pc))
			pc_enter(pc, pc_has_workers(pc) ? PHASE_STREAMING :
							  PHASE_QUEUEING);
	}
	return 0;
}

int pc_has_workers(const struct parallel_checkout *pc)
{
	return pc->dispatch.pool_started && pc->dispatch.pool.running;
}

static void unqueue(struct parallel_checkout *pc, uint32_t id)
{
	queue_take(&pc->queue, id);
	pc->filtered.queued_cost -= pc->entries[id].filter_cost;
}

/*
 * What is known about the speed is about entries without filters, until the first
 * ones that have any are sent.
 */
static void forget_speed(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;

	pc->filtered.sent = 1;
	d->observed_entries = d->pool.stats.entries + d->alone_entries;
	d->observed_ns = d->pool.stats.busy_ns + d->alone_ns;
	d->observed_run_ns = d->pool.stats.run_ns + d->alone_run_ns;
}

/* Give the next entries of the queue to a worker. */
static void send_batch(struct parallel_checkout *pc, int worker)
{
	struct checkout_dispatch *d = &pc->dispatch;
	const struct tune_batch now = {
		.workers = pool_in_use(&d->pool),
		.cores = d->cores,
		.queued = pc->queue.queued,
		.complete = is_complete(pc),
		.is_judged = !pc->config.nr,
		.first_filters = pc->filtered.queued_cost &&
			!pc->filtered.answered,
		.entries = d->pool.stats.entries + d->alone_entries -
			d->observed_entries,
		.busy_ns = d->pool.stats.busy_ns + d->alone_ns -
			d->observed_ns,
		.run_ns = d->pool.stats.run_ns + d->alone_run_ns -
			d->observed_run_ns,
	};
	int by_directory = tune_is_waiting(&now);
	size_t size = tune_batch_size(&now), n = 0;
	uint32_t id;

	pool_begin_batch(&d->pool, worker);
	while (n < size &&
	       !(by_directory ? queue_next(&pc->queue, worker, &id) :
				queue_first(&pc->queue, &id))) {
		struct checkout_item item;

		if (pc->filtered.stopped && pc->entries[id].filter_cost) {
			unqueue(pc, id);
			pc_put_off(pc, &pc->entries[id]);
			continue;
		}
		pc_prepare_item(pc, &pc->entries[id], id, &item);
		if (pool_add_item(&d->pool, worker, &item))
			break;
		unqueue(pc, id);
		pc->entries[id].was_sent = 1;
		pc->in_flight++;
		n++;
	}
	pool_end_batch(&d->pool, worker);
}

/* A worker does not have the entry any more. */
static void land(struct parallel_checkout *pc, const struct queued_entry *entry)
{
	if (entry->status != CHECKOUT_DELAYED || pc->phase == PHASE_FILTERING) {
		pc->in_flight--;
		return;
	}
	pc->filtered.delayed--;
	if (pc->progress)
		--*pc->progress_cnt;	/* it was counted, and will be again */
}

static void take_result(struct parallel_checkout *pc,
			const struct checkout_result *result)
{
	struct queued_entry *entry = &pc->entries[result->id];

	land(pc, entry);
	entry->status = result->status;
	if (result->status == CHECKOUT_DELAYED) {
		pc->filtered.delayed++;
		pc->delayed++;
		pc_advance_progress(pc);
		return;
	}
	pc->removals += entry->remove;
	if (entry->dir)
		return;
	if (result->status != CHECKOUT_WRITTEN) {
		if (result->status == CHECKOUT_CONFLICT)
			pc->conflicts++;
		else
			pc->declined++;
		if (result->status == CHECKOUT_UNFILTERED)
			pc_note_unfiltered(pc, entry);
		pc_put_off(pc, entry);
		return;
	}
	pc->filtered.answered |= !!entry->filter_cost;
	if (!entry->remove)
		pc_entry_written(pc, entry->ce, entry->nr_checkouts, result);
	pc_advance_progress(pc);
}

static void trace_workers(const struct parallel_checkout *pc, const char *why)
{
	struct strbuf msg = STRBUF_INIT;

	if (trace2_is_enabled()) {
		strbuf_addf(&msg, "%d: %s", pool_in_use(&pc->dispatch.pool), why);
		trace2_data_string("pcheckout", the_repository,
				   "workers/used", msg.buf);
	}
	strbuf_release(&msg);
}

/* What a filter finds and is told where the main process starts it. */
static void add_filter_args(const struct parallel_checkout *pc,
			    struct strvec *args)
{
	const struct checkout_metadata *meta = &pc->state->meta;
	const char *git_prefix = getenv(GIT_PREFIX_ENVIRONMENT);

	strvec_push(args, "--filters");
	if (git_prefix)
		strvec_pushf(args, "--git-prefix=%s", git_prefix);
	if (meta->refname)
		strvec_pushf(args, "--ref=%s", meta->refname);
	if (!is_null_oid(&meta->treeish))
		strvec_pushf(args, "--treeish=%s", oid_to_hex(&meta->treeish));
}

/* Start `nr` more workers. */
static void start_more(struct parallel_checkout *pc, int nr)
{
	struct checkout_dispatch *d = &pc->dispatch;
	struct strvec args = STRVEC_INIT;
	int room, started;

	strvec_push(&args, "checkout--worker");
	if (*pc->root)
		strvec_pushf(&args, "--root=%s", pc->root);
	if (pc->state->refresh_cache)
		strvec_push(&args, "--stat");
	if (have_parallel_filters())
		add_filter_args(pc, &args);
	pc_add_donor_args(pc, &args);

	room = limits_by_descriptors() - d->pool.nr;
	started = room > 0 ?
		pool_start(&d->pool, nr < room ? nr : room, &args) : 0;
	d->workers_started += started;
	if (started < nr) {
		if (pc->config.nr)
			warning(_("could start only %d of %d checkout workers; this takes longer"),
				started, nr);
		tune_auto_limit(&d->tune, d->cores, d->pool.nr);
	}
	strvec_clear(&args);
}

/* See whether another number of workers might be better. */
static void adjust_workers(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	struct tune_sample now;
	int had = d->tune.workers, want;

	take_sample(pc, &now);
	want = tune_auto_next(&d->tune, &now);
	if (want == had)
		return;
	if (want > d->pool.nr)
		start_more(pc, want - d->pool.nr);
	else
		pool_use(&d->pool, want);
	trace_workers(pc, d->tune.why);
}

static void look_at_workers(struct parallel_checkout *pc, int timeout_ms)
{
	struct checkout_dispatch *d = &pc->dispatch;
	struct checkout_result result;
	uint32_t id;
	int worker;

	d->since_look = 0;
	if (!pc->config.nr && pc->queue.queued)
		adjust_workers(pc);
	if (pc->filtered.queued_cost && !pc->filtered.sent)
		forget_speed(pc);
	while (pc->queue.queued &&
	       (worker = pool_free_worker(&d->pool)) >= 0)
		send_batch(pc, worker);

	/* What was queued may have been put off, all of it. */
	pool_poll(&d->pool, pc->in_flight ? timeout_ms : 0);

	while (pool_next_result(&d->pool, &result))
		take_result(pc, &result);
	pc_advance_throughput(pc);
	while (pool_next_lost(&d->pool, &id)) {
		land(pc, &pc->entries[id]);
		pc->entries[id].status = CHECKOUT_PENDING;
		pc_put_off(pc, &pc->entries[id]);
	}
	if (pc->phase == PHASE_STREAMING && !pc_has_workers(pc))
		pc_enter(pc, PHASE_QUEUEING);
}

void pc_drain(struct parallel_checkout *pc)
{
	while (pc_has_workers(pc) && (pc->queue.queued || pc->in_flight))
		look_at_workers(pc, -1);
}

void pc_enqueue_again(struct parallel_checkout *pc, uint32_t id)
{
	const struct queued_entry *entry = &pc->entries[id];
	size_t len;

	queue_add(&pc->queue, id, pc_entry_path(pc, entry, &len));
	pc->filtered.queued_cost += entry->filter_cost;
}

void pc_enqueue(struct parallel_checkout *pc, const struct queued_entry *entry)
{
	pc_append(pc, entry);
	pc_enqueue_again(pc, pc->nr - 1);
}

/* How many entries there may be, in all. */
static size_t max_entries(const struct parallel_checkout *pc)
{
	const struct index_state *istate = pc->state->istate ?
		pc->state->istate : the_repository->index;
	size_t queued = pc->queue.queued;

	return queued > istate->cache_nr ? queued : istate->cache_nr;
}

static int is_worth_workers(const struct parallel_checkout *pc)
{
	struct tune_sample now;

	take_sample(pc, &now);
	return tune_auto_is_worth(&pc->dispatch.tune, &now);
}

/* How many workers to start for what is queued; 0 for none. */
static int choose_workers(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	struct checkout_limits limits;
	struct tune_sample now;

	if (pc->config.nr) {
		size_t cost = pc->filtered.queued_cost;
		int threshold = cost && cost >= (size_t)pc->config.threshold ?
			0 : pc->config.threshold;
		int nr = tune_workers(pc->config.nr, threshold,
				      pc->queue.queued, is_complete(pc));

		/* Before a barrier, it is not for what is queued alone. */
		if (nr && !pc->finishing)
			nr = tune_workers(pc->config.nr, 0, max_entries(pc), 1);
		return nr;
	}

	if (!pc->queue.queued ||
	    (!is_complete(pc) && pc->queue.queued % ENTRIES_PER_DECISION) ||
	    !is_worth_workers(pc))
		return 0;

	/* Reading the limits costs more than all that comes before. */
	if (!d->cores) {
		limits_read(&limits, "", have_parallel_filters());
		d->cores = limits.cores;
		tune_auto_limit(&d->tune, limits.cores, limits.max_workers);
	}
	take_sample(pc, &now);
	return tune_auto_start(&d->tune, &now);
}

void pc_start_workers(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	int nr;

	if (d->pool_started || !pc->root)
		return;
	nr = choose_workers(pc);
	if (!nr)
		return;
	if (pc->config.nr)
		d->cores = online_cpus();
	pool_init(&d->pool, pc->config.nr ? nr : d->tune.max_workers,
		  the_hash_algo, !pc->config.nr);
	d->pool.may_filter = have_parallel_filters();
	d->pool_started = 1;
	start_more(pc, nr);
	trace_workers(pc, pc->config.nr ? "configured" : d->tune.why);
	if (pc->phase == PHASE_QUEUEING && pc_has_workers(pc))
		pc_enter(pc, PHASE_STREAMING);
}

void pc_keep_workers_busy(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;

	if (!d->pool_started)
		pc_start_workers(pc);
	if (pc_has_workers(pc) && ++d->since_look >= ENTRIES_PER_LOOK)
		look_at_workers(pc, 0);
}

static void write_one_here(struct parallel_checkout *pc, uint32_t id)
{
	struct queued_entry *entry = &pc->entries[id];

	if (entry->filter_cost) {
		int has_earlier = pc->put_offs;

		/* in the order of the entries, if that can be had */
		pc_put_off(pc, entry);
		if (!has_earlier)
			pc_write_one_put_off(pc, id);
	} else if (pc_write_here(pc, entry)) {
		pc->declined++;
		pc_put_off(pc, entry);
	} else {
		entry->status = CHECKOUT_WRITTEN;
		pc_advance_throughput(pc);
		pc_advance_progress(pc);
	}
}

/*
 * Write what is queued in this process: there are too few entries, or no
 * workers.
 */
static void write_queued_here(struct parallel_checkout *pc)
{
	struct checkout_dispatch *d = &pc->dispatch;
	uint32_t id;

	while (!queue_first(&pc->queue, &id)) {
		uint64_t start_ns;

		if (d->from_first && !d->tune.observed)
			observe(pc);
		start_ns = getnanotime();
		unqueue(pc, id);
		write_one_here(pc, id);
		if (!d->from_first || d->pool_started ||
		    pc->entries[id].filter_cost)
			continue;

		/* If it was only queued for a filter, nothing was known. */
		d->alone_entries++;
		d->alone_ns += getnanotime() - start_ns;
		if (tune_auto_should_queue(&d->tune, d->alone_ns) &&
		    is_worth_workers(pc)) {
			pc_note_alone(pc);
			pc_start_workers(pc);
			pc_drain(pc);
		}
	}
}

void pc_write_queued(struct parallel_checkout *pc)
{
	pc_enter(pc, PHASE_DRAINING);
	pc_start_workers(pc);
	pc_drain(pc);
	write_queued_here(pc);
	pc_enter(pc, PHASE_DRAINED);
}
