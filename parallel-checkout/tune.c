/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy of parallel checkout, as pure functions; see tune.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/tune.h"

/*
 * A worker needs a few milliseconds to start. This many entries for each make
 * it likely that there is enough to do to be worth that, and they are queued
 * in a fraction of it.
 */
#define STREAMING_MIN_PER_WORKER 32

/*
 * Aim for batches that keep a worker busy for this long. A batch costs the
 * main process a wake-up, a read and a write, together some 20 us.
 */
#define TARGET_BATCH_NS (4 * 1000 * 1000)

/*
 * Where workers wait for something else than a processor, also for each other,
 * an entry can take 20 ms. One at a time, each would wake up the main process
 * and a worker, which delays the one that is about to get a directory's lock.
 */
#define WAITING_BATCH_NS (80 * 1000 * 1000)

/* Where a number of workers is on trial, batches are shorter than intervals. */
#define JUDGED_BATCH_NS (20 * 1000 * 1000)

/* Until the first batch is back, nothing is known about the speed. */
#define FIRST_BATCH 16
#define FIRST_WAITING_BATCH 4

size_t tune_start_streaming(int workers, int threshold)
{
	size_t entries = workers < INT_MAX / STREAMING_MIN_PER_WORKER ?
		workers * STREAMING_MIN_PER_WORKER : INT_MAX;

	return threshold > 0 && (size_t)threshold > entries ?
		(size_t)threshold : entries;
}

int tune_workers(int workers, int threshold, size_t entries, int complete)
{
	if (workers < 2)
		return 0;
	if (!complete)
		return entries < tune_start_streaming(workers, threshold) ?
			0 : workers;
	if (entries < 2 || (threshold > 0 && entries < (size_t)threshold))
		return 0;
	return entries < (size_t)workers ? (int)entries : workers;
}

int tune_is_waiting(const struct tune_batch *now)
{
	/*
	 * Who asks for many more workers than there are processors expects
	 * them to wait.
	 */
	if (!now->entries)
		return now->cores && now->workers > 4 * now->cores;

	/* To wait for a processor is to run; see run-clock.h. */
	return now->run_ns && now->run_ns < now->busy_ns * TUNE_WAITING;
}

size_t tune_batch_size(const struct tune_batch *now)
{
	size_t size = tune_is_waiting(now) ? FIRST_WAITING_BATCH : FIRST_BATCH;

	if (now->entries && now->busy_ns) {
		uint64_t ns_per_entry = now->busy_ns / now->entries;
		uint64_t target_ns = !tune_is_waiting(now) ? TARGET_BATCH_NS :
			now->is_judged ? JUDGED_BATCH_NS : WAITING_BATCH_NS;

		size = ns_per_entry ? target_ns / ns_per_entry : TUNE_MAX_BATCH;
		if (size > TUNE_MAX_BATCH)
			size = TUNE_MAX_BATCH;
	}

	/*
	 * Let the batches shrink towards the end, so that the workers finish
	 * at about the same time.
	 */
	if (now->complete) {
		size_t share = now->queued / (2 * (size_t)now->workers);

		if (size > share)
			size = share;
	}
	if (size > now->queued)
		size = now->queued;
	return size ? size : 1;
}
