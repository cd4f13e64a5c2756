/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy of checkout.workers=auto, as pure functions; see tune-auto.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/tune.h"
#include "parallel-checkout/tune-auto.h"

/*
 * A checkout that takes no longer than this is not noticed, and starting two
 * workers and waiting for their first results costs more than half of it. Twice
 * as long, and half as long, were measured to be worse for 500 files.
 */
#define ALONE_NS (10 * 1000 * 1000)

/* Workers are started if the main process would need this long for the rest. */
#define WORTH_NS (8 * 1000 * 1000)
#define WORTH_MAX_ENTRIES 256

/* The same, if nothing is known of the time that they take. */
#define WORTH_UNKNOWN_ENTRIES 32

/*
 * Nobody starts more than this without having seen that it helps. If the main
 * process has waited, it is likely to; but on a disk with a single arm, each
 * worker only adds the look-up of its directories.
 */
#define FIRST_WORKERS 4
#define FIRST_WAITING_WORKERS 8

/*
 * More workers are started only if the others would take so many times as long
 * as it took to start these. Where each starts a filter on a slow file system,
 * that is half a second.
 */
#define WORTH_STARTS 2

/*
 * A number of workers is judged by an interval of at least this length, in
 * which each worker has done some entries. The first results of new workers
 * are late, and do not count.
 */
#define SETTLE_NS (30 * 1000 * 1000)
#define MEASURE_NS (40 * 1000 * 1000)
#define ENTRIES_PER_WORKER 2

/*
 * Twice as many workers must do this much more to be kept. What one interval
 * has and the other has not, like large files, makes for some 10 percent.
 */
#define GAIN 1.15

/*
 * Workers that wait for a server do nearly twice as much when they are twice as
 * many, as long as they do not wait for each other: for a directory, of which a
 * file system lets them create one file at a time. Then more of them only get
 * in each other's way, and what an interval has done depends on the directories
 * in it, by more than 10 percent.
 */
#define WAITING_GAIN 1.30

/* When to try again, at first; a file system may have a bad moment. */
#define HOLD_NS (250 * 1000 * 1000)

/* An entry costs as much as that many bytes. */
#define BYTES_PER_ENTRY (16 * 1024)

static uint64_t work(const struct tune_sample *now)
{
	return now->entries + now->bytes / BYTES_PER_ENTRY;
}

static void begin_phase(struct tune_auto *tune, const struct tune_sample *now,
			enum tune_phase phase)
{
	tune->phase = phase;
	tune->since_ns = now->now_ns;
	tune->since_work = work(now);
	tune->since_entries = now->entries;
	tune->since_busy_ns = now->busy_ns;
	tune->since_run_ns = now->run_ns;
}

static void change_workers(struct tune_auto *tune,
			   const struct tune_sample *now, int workers,
			   const char *why)
{
	tune->workers = workers;
	tune->why = why;
	begin_phase(tune, now, TUNE_SETTLING);
}

static int has_filters(const struct tune_sample *now)
{
	return now->filter_cost >= TUNE_WORTH_FILTERS;
}

/*
 * The part of the time since the phase began for which those who write have
 * been running, each of them. The main process does more than writing, and may
 * wait for a filter or for objects; of its time, only what it has spent with
 * writing counts.
 */
static double running(const struct tune_auto *tune,
		      const struct tune_sample *now)
{
	double passed = tune->phase == TUNE_ALONE ?
		now->busy_ns - tune->since_busy_ns :
		now->now_ns - tune->since_ns;
	int writers = tune->workers ? tune->workers : 1;

	return now->run_ns && passed > 0 ?
		(now->run_ns - tune->since_run_ns) / passed / writers : 1;
}

static int at_most(int a, int b)
{
	return a < b ? a : b;
}

void tune_auto_init(struct tune_auto *tune, int threshold)
{
	memset(tune, 0, sizeof(*tune));
	tune->threshold = threshold;
	tune->cores = tune->max_workers = 1;
	tune->hold_ns = HOLD_NS;
}

int tune_auto_should_queue(const struct tune_auto *tune, uint64_t busy_ns)
{
	return tune->threshold >= 0 || busy_ns >= ALONE_NS;
}

int tune_auto_is_worth(const struct tune_auto *tune,
		       const struct tune_sample *now)
{
	if (now->queued < 2)
		return 0;
	if (tune->threshold < 0 && has_filters(now))
		return 1;
	if (tune->threshold >= 0)
		return now->queued >= (size_t)tune->threshold &&
			(now->complete || now->queued >= WORTH_MAX_ENTRIES);
	if (!now->entries)
		return now->queued >= WORTH_UNKNOWN_ENTRIES;
	return now->queued >= WORTH_MAX_ENTRIES ||
		now->busy_ns / now->entries * now->queued >= WORTH_NS;
}

int tune_auto_start(struct tune_auto *tune, const struct tune_sample *now)
{
	int waiting = running(tune, now) < TUNE_WAITING;
	int first = waiting ? FIRST_WAITING_WORKERS :
		at_most(FIRST_WORKERS, tune->cores);
	int workers = at_most(first, tune->max_workers);

	if (workers < 2)
		return 0;
	if (now->complete && now->queued < (size_t)workers)
		workers = now->queued;

	change_workers(tune, now, workers, tune->threshold >= 0 ?
		       "there are enough entries" :
		       has_filters(now) ?
		       "there are filters to be run" : waiting ?
		       "the main process has waited" :
		       "the main process has been busy");
	return workers;
}

/* How long the workers that there are will take for what is queued. */
static uint64_t rest_ns(const struct tune_auto *tune,
			const struct tune_sample *now)
{
	uint64_t entries = now->entries - tune->since_entries;

	return entries ?
		(now->now_ns - tune->since_ns) / entries * now->queued :
		UINT64_MAX;
}

/*
 * Try twice as many if there are processors for them, or if none is needed.
 * Workers that wait most of the time can still be so many that they wait for a
 * processor as well, once what they wait for has come. Then more of them only
 * delay each other, and those who hold a directory's lock delay all.
 */
static void try_more(struct tune_auto *tune, const struct tune_sample *now,
		     double rate)
{
	double part = running(tune, now);
	int need_none = part < TUNE_WAITING &&
		part * tune->workers < tune->cores;
	int most = need_none ? tune->max_workers :
		at_most(tune->cores, tune->max_workers);
	int more = at_most(2 * tune->workers, most);
	int has_time = !now->complete ||
		(now->queued >= 2 * (size_t)more * ENTRIES_PER_WORKER &&
		 rest_ns(tune, now) >= WORTH_STARTS * tune->start_ns);

	tune->last_workers = tune->workers;
	tune->last_rate = rate;
	if (more > tune->workers && has_time)
		change_workers(tune, now, more, "more might be faster");
	else
		begin_phase(tune, now, TUNE_HOLDING);
}

static void judge(struct tune_auto *tune, const struct tune_sample *now)
{
	double rate = (work(now) - tune->since_work) * 1e9 /
		(now->now_ns - tune->since_ns);
	int last_workers = tune->last_workers;
	int is_trial = last_workers && last_workers != tune->workers;
	double gain = running(tune, now) < TUNE_WAITING ? WAITING_GAIN : GAIN;

	tune->last_workers = 0;
	if (is_trial && rate < gain * tune->last_rate) {
		tune->hold_ns *= 2;
		change_workers(tune, now, last_workers, "more were not faster");
		begin_phase(tune, now, TUNE_HOLDING);
		return;
	}
	if (is_trial)
		tune->hold_ns = HOLD_NS;
	try_more(tune, now, rate);
}

int tune_auto_next(struct tune_auto *tune, const struct tune_sample *now)
{
	uint64_t passed = now->now_ns - tune->since_ns;
	uint64_t enough = (uint64_t)tune->workers * ENTRIES_PER_WORKER;
	int has_enough = now->entries - tune->since_entries >= enough;

	switch (tune->phase) {
	case TUNE_ALONE:
		break;
	case TUNE_SETTLING:
		if (passed < SETTLE_NS || !has_enough || now->starting)
			break;
		tune->start_ns = passed;
		begin_phase(tune, now, TUNE_MEASURING);
		break;
	case TUNE_MEASURING:
		if (passed >= MEASURE_NS && has_enough)
			judge(tune, now);
		break;
	case TUNE_HOLDING:
		/* What comes next may be of another kind than what was. */
		if (passed >= tune->hold_ns)
			begin_phase(tune, now, TUNE_MEASURING);
		break;
	}
	return tune->workers;
}

void tune_auto_restart(struct tune_auto *tune)
{
	tune->last_workers = 0;
	tune->hold_ns = HOLD_NS;
	if (tune->phase != TUNE_ALONE)
		tune->phase = TUNE_HOLDING;
}

void tune_auto_limit(struct tune_auto *tune, int cores, int max_workers)
{
	tune->cores = cores;
	tune->max_workers = max_workers;
	if (tune->workers > max_workers)
		tune->workers = max_workers;
}
