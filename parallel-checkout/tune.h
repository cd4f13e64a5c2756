/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_TUNE_H
#define PARALLEL_CHECKOUT_TUNE_H

/*
 * Policy of parallel checkout: how many workers to start, when, and how much to
 * give them at a time. All functions see numbers only, and no clock.
 */

/* What is known. Times are in nanoseconds. */
struct tune_sample {
	uint64_t now_ns;	/* on any clock */

	/* What has been done, and how long those who did it took, in sum. */
	uint64_t entries, bytes, busy_ns;

	size_t queued;		/* entries not given to a worker yet */
	size_t filter_cost;	/* of their filters; see below */
	int workers;		/* that are in use */
	int cores;		/* at least 1 */
	int max_workers;
	unsigned complete : 1;	/* the queue will not grow any more */
	unsigned starting : 1;	/* some workers have not done any yet */
};

/*
 * A checkout that takes no longer is not noticed, and it takes more than half
 * of that to have first results of two workers. Less time tells nothing.
 */
#define TUNE_ALONE_NS (10 * 1000 * 1000)

/*
 * What entries with filters cost: a command for each takes two milliseconds or
 * more, a long-running one some tenths, but it may take fifty to start. From
 * TUNE_WORTH_FILTERS on they are worth workers, whatever the speed is.
 */
#define TUNE_COST_COMMAND 6
#define TUNE_COST_PROCESS 1
#define TUNE_WORTH_FILTERS 100

/*
 * With a number in checkout.workers: how many of these to start for `entries`
 * queued entries; 0 to write them in the main process. `threshold` is
 * checkout.thresholdForParallelism. As long as the queue is not complete, all
 * are started, or none.
 */
int tune_workers(int workers, int threshold, size_t entries, int complete);

/*
 * Do workers mostly wait, for a disk or a server? As long as little has been
 * done, this is a guess.
 */
int tune_is_waiting(const struct tune_sample *now);

/* How many of the queued entries to give to a worker next; at least 1. */
#define TUNE_MAX_BATCH 256
size_t tune_batch_size(const struct tune_sample *now);

/* How many workers "auto" has tried. All zero is the state to begin with. */
struct tune_auto {
	enum tune_phase {
		TUNE_SETTLING,	/* some of the workers are new */
		TUNE_MEASURING,	/* how fast it goes with all of them */
		TUNE_DONE,	/* more have been tried in vain */
	} phase;
	struct tune_sample since;	/* when the phase began */

	int workers;		/* how many there should be */
	int last_workers;	/* before there were more, or 0 */
	double last_rate;	/* units that these did in a nanosecond */
	const char *why;	/* of the last change; a constant */
};

/*
 * How many workers to start for what is queued, judged by how the main process
 * has done alone; 0 if they would not help, yet.
 */
int tune_auto_start(struct tune_auto *tune, int threshold,
		    const struct tune_sample *now);

/*
 * How many workers there should be now. To be called when results have come
 * in. More than there are: start some. Fewer: give no work to the surplus.
 */
int tune_auto_next(struct tune_auto *tune, const struct tune_sample *now);

/* Another kind of work begins: forget how fast the last one was. */
void tune_auto_restart(struct tune_auto *tune);

#endif /* PARALLEL_CHECKOUT_TUNE_H */
