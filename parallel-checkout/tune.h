/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_TUNE_H
#define PARALLEL_CHECKOUT_TUNE_H

/*
 * Policy of parallel checkout: when to start a given number of workers, and how
 * much to give them at a time. All functions are pure; they see numbers, and
 * neither a clock nor a process.
 */

/*
 * Number of entries that must be queued before workers are started while the
 * queue is still being filled. `threshold` is
 * checkout.thresholdForParallelism; `workers` is their number, at least 2.
 *
 * With fewer entries, the decision is left to the moment when the queue is
 * complete, as it costs nothing then to know how many there are.
 */
size_t tune_start_streaming(int workers, int threshold);

/*
 * Number of workers to start for `entries` queued entries, at most `workers`;
 * 0 to write them in the main process. With `complete` set, the queue will
 * not grow any more.
 */
int tune_workers(int workers, int threshold, size_t entries, int complete);

/*
 * What entries with filters cost: a command that is started for each takes two
 * milliseconds or more, and a long-running one some tenths, but it may take
 * fifty to start. From TUNE_WORTH_FILTERS on they are worth workers, whatever
 * is known about the speed.
 */
#define TUNE_COST_COMMAND 6
#define TUNE_COST_PROCESS 1
#define TUNE_WORTH_FILTERS 100

/* What is known when a batch is to be cut. */
struct tune_batch {
	int workers, cores;
	size_t queued;		/* entries not given to a worker yet */
	unsigned complete : 1;	/* the queue will not grow any more */
	unsigned is_judged : 1;	/* in short intervals */

	/* Of the batches that came back so far. */
	uint64_t entries, busy_ns, run_ns;
};

/* How much of their time those who wait for something run, at most. */
#define TUNE_WAITING 0.33

/*
 * Do the workers mostly wait, for a disk or a server? As long as nothing has
 * come back, this is a guess.
 */
int tune_is_waiting(const struct tune_batch *now);

/* Number of entries to give to a worker next: at least 1, at most queued. */
size_t tune_batch_size(const struct tune_batch *now);

/* Upper bound of tune_batch_size(). */
#define TUNE_MAX_BATCH 256

#endif /* PARALLEL_CHECKOUT_TUNE_H */
