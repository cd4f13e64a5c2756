/* SPDX-License-Identifier: GPL-2.0-only */
/* Policy of parallel checkout, as pure functions; see tune.h. */
#include "git-compat-util.h"
#include "parallel-checkout/tune.h"

/* So many are queued in a fraction of the time that a worker takes to start. */
#define STREAMING_MIN_PER_WORKER 32

/*
 * Batches are to keep a worker busy for so long. One costs the main process a
 * wake-up, a read and a write, together some 20 us; and where workers wait, to
 * wake up delays the one that is about to get a directory's lock.
 */
#define TARGET_BATCH_NS (4 * 1000 * 1000)
#define WAITING_BATCH_NS (40 * 1000 * 1000)

/* As long as nothing is known about the speed. */
#define FIRST_BATCH 8

/*
 * A unit of work is an entry, or that many bytes. It needs a processor for well
 * under UNIT_NS, which takes longer where workers share processors. But where
 * they wait, it takes more than WAITING_FACTOR times as long even so.
 */
#define BYTES_PER_ENTRY (16 * 1024)
#define UNIT_NS (100 * 1000)
#define WAITING_FACTOR 4

/* Workers are started for so many entries; or fewer, if nothing is known. */
#define WORTH_MAX_ENTRIES 256
#define WORTH_UNKNOWN_ENTRIES 32

/*
 * More are not started before it is seen that they help: on a disk with a
 * single arm, each worker only adds the look-up of its directories.
 */
#define FIRST_WORKERS 4
#define FIRST_WAITING_WORKERS 8

/* A number of workers is judged by so long, and so many entries of each. */
#define MEASURE_NS (40 * 1000 * 1000)
#define ENTRIES_PER_WORKER 2

/* Twice as many must do so much more to be kept; chance makes for 10 %. */
#define GAIN 1.20

static int at_most(int a, int b)
{
	return a < b ? a : b;
}

int tune_workers(int workers, int threshold, size_t entries, int complete)
{
	uint64_t least = complete ? 2 :
		(uint64_t)workers * STREAMING_MIN_PER_WORKER;

	if (workers < 2 || entries < least ||
	    (threshold > 0 && entries < (size_t)threshold))
		return 0;
	return entries < (size_t)workers ? (int)entries : workers;
}

static uint64_t units(const struct tune_sample *now)
{
	return now->entries + now->bytes / BYTES_PER_ENTRY;
}

/* Do those who were busy for so long with that many units wait? */
static int is_waiting(const struct tune_sample *now, uint64_t busy_ns,
		      uint64_t nr)
{
	int factor = now->workers / now->cores;

	if (factor < WAITING_FACTOR)
		factor = WAITING_FACTOR;
	return busy_ns > nr * UNIT_NS * factor;
}

int tune_is_waiting(const struct tune_sample *now)
{
	/* Who asks for that many workers expects them to wait. */
	if (now->busy_ns < TUNE_ALONE_NS)
		return now->workers / now->cores > WAITING_FACTOR;
	return is_waiting(now, now->busy_ns, units(now));
}

size_t tune_batch_size(const struct tune_sample *now)
{
	uint64_t target_ns = tune_is_waiting(now) ? WAITING_BATCH_NS :
		TARGET_BATCH_NS;
	size_t size = FIRST_BATCH, most = now->queued;

	if (now->entries && now->busy_ns) {
		uint64_t fit = target_ns * now->entries / now->busy_ns;

		size = fit < TUNE_MAX_BATCH ? fit : TUNE_MAX_BATCH;
	}

	/* So that the workers finish at about the same time. */
	if (now->complete)
		most /= 2 * (size_t)now->workers;
	if (size > most)
		size = most;
	return size ? size : 1;
}

static int is_worth(int threshold, const struct tune_sample *now)
{
	if (now->queued < 2)
		return 0;
	if (threshold >= 0)
		return now->queued >= (size_t)threshold &&
			(now->complete || now->queued >= WORTH_MAX_ENTRIES);
	if (now->filter_cost >= TUNE_WORTH_FILTERS)
		return 1;
	if (now->busy_ns < TUNE_ALONE_NS)
		return now->queued >= WORTH_UNKNOWN_ENTRIES;

	/* Would the main process take as long again? */
	return now->queued >= WORTH_MAX_ENTRIES ||
		now->busy_ns / now->entries * now->queued >= TUNE_ALONE_NS;
}

static void begin_phase(struct tune_auto *tune, enum tune_phase phase,
			const struct tune_sample *now)
{
	tune->phase = phase;
	tune->since = *now;
}

int tune_auto_start(struct tune_auto *tune, int threshold,
		    const struct tune_sample *now)
{
	int waiting = tune_is_waiting(now);
	int workers = at_most(now->max_workers, waiting ?
			      FIRST_WAITING_WORKERS :
			      at_most(FIRST_WORKERS, now->cores));

	if (workers < 2 || !is_worth(threshold, now))
		return 0;
	if (now->complete && now->queued < (size_t)workers)
		workers = now->queued;
	tune->workers = workers;
	tune->why = waiting ? "the main process has waited" :
		now->busy_ns >= TUNE_ALONE_NS ?
		"the main process has been busy" : "there is enough to do";
	begin_phase(tune, TUNE_SETTLING, now);
	return workers;
}

/*
 * Twice as many are tried if there are processors for them, or if they wait,
 * and if there is enough left to see what they do.
 */
static void judge(struct tune_auto *tune, const struct tune_sample *now)
{
	const struct tune_sample *since = &tune->since;
	uint64_t nr = units(now) - units(since);
	double rate = (double)nr / (now->now_ns - since->now_ns);
	int waiting = is_waiting(now, now->busy_ns - since->busy_ns, nr);
	int more = at_most(2 * tune->workers, waiting ? now->max_workers :
			   at_most(now->cores, now->max_workers));

	if (tune->last_workers && rate < GAIN * tune->last_rate) {
		tune->workers = tune->last_workers;
		tune->why = "more were not faster";
		tune->phase = TUNE_DONE;
		return;
	}
	tune->last_workers = 0;
	if (more <= tune->workers ||
	    (now->complete &&
	     now->queued < 2 * (now->entries - since->entries))) {
		begin_phase(tune, TUNE_MEASURING, now);
		return;
	}
	tune->last_workers = tune->workers;
	tune->last_rate = rate;
	tune->workers = more;
	tune->why = "more might be faster";
	begin_phase(tune, TUNE_SETTLING, now);
}

int tune_auto_next(struct tune_auto *tune, const struct tune_sample *now)
{
	uint64_t entries = now->entries - tune->since.entries;
	uint64_t enough = (uint64_t)tune->workers * ENTRIES_PER_WORKER;

	if (tune->phase == TUNE_SETTLING && !now->starting)
		begin_phase(tune, TUNE_MEASURING, now);
	else if (tune->phase == TUNE_MEASURING && entries >= enough &&
		 now->now_ns - tune->since.now_ns >= MEASURE_NS)
		judge(tune, now);
	return tune->workers;
}

void tune_auto_restart(struct tune_auto *tune)
{
	tune->last_workers = 0;
	tune->phase = TUNE_SETTLING;
}
