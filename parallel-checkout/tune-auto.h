/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_TUNE_AUTO_H
#define PARALLEL_CHECKOUT_TUNE_AUTO_H

/*
 * With checkout.workers=auto, nobody said how many workers are good, or that
 * there should be any. So the main process begins to write by itself, and as
 * time goes by, numbers are tried. `struct tune_auto` has what is known. As in
 * tune.h, all functions are pure.
 */

enum tune_phase {
	TUNE_ALONE,	/* the main process writes; there are no workers */
	TUNE_SETTLING,	/* their number has just changed */
	TUNE_MEASURING,	/* how fast it goes with that number */
	TUNE_HOLDING,	/* another number would be no better, for now */
};

struct tune_auto {
	/* checkout.thresholdForParallelism; negative if it is not set */
	int threshold;

	/* The limits: processors that we may use, and processes. */
	int cores, max_workers;

	enum tune_phase phase;
	int workers;		/* how many there should be */
	int last_workers;	/* before they became more; 0 if unknown */
	double last_rate;	/* with these, in units of work per second */

	/* When the phase began, and what had been done and used by then. */
	uint64_t since_ns, since_work, since_entries;
	uint64_t since_busy_ns, since_run_ns;

	uint64_t start_ns;	/* it took for the last workers to begin */

	/* How long to hold a number; doubled when a trial was in vain. */
	uint64_t hold_ns;

	const char *why;	/* of the last change; a constant */
};

/* What has been done so far. Times are in nanoseconds. */
struct tune_sample {
	uint64_t now_ns;	/* on any clock */
	uint64_t entries, bytes;
	uint64_t busy_ns;	/* by the main process, with writing */

	/*
	 * For how long those who did it have been running, or would have been
	 * if they had been given a processor; 0 if unknown.
	 */
	uint64_t run_ns;

	size_t queued;		/* entries not given to a worker yet */
	size_t filter_cost;	/* of their filters; see TUNE_WORTH_FILTERS */
	unsigned complete : 1;	/* the queue will not grow any more */
	unsigned starting : 1;	/* some workers have not done any yet */
};

/* Start with no worker. */
void tune_auto_init(struct tune_auto *tune, int threshold);

/*
 * The main process has been writing for busy_ns: should what comes next be
 * queued for workers, rather than written at once?
 */
int tune_auto_should_queue(const struct tune_auto *tune, uint64_t busy_ns);

/*
 * Is enough queued that workers may pay off? If so, tune_auto_limit() and then
 * tune_auto_start() are to be called.
 */
int tune_auto_is_worth(const struct tune_auto *tune,
		       const struct tune_sample *now);

/*
 * How many workers to start for what has been queued, judged by how the main
 * process has done alone; 0 if they would not help.
 */
int tune_auto_start(struct tune_auto *tune, const struct tune_sample *now);

/*
 * How many workers there should be now. To be called when results have come
 * in. More than there are: start some. Fewer: give no work to the surplus.
 */
int tune_auto_next(struct tune_auto *tune, const struct tune_sample *now);

/* Another kind of work begins: forget how fast the last one was. */
void tune_auto_restart(struct tune_auto *tune);

/* So many processors, and workers, can there be; at least 1. */
void tune_auto_limit(struct tune_auto *tune, int cores, int max_workers);

#endif /* PARALLEL_CHECKOUT_TUNE_AUTO_H */
