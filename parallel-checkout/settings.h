/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SETTINGS_H
#define PARALLEL_CHECKOUT_SETTINGS_H

/* What is configured about workers; both functions die if it makes no sense. */

struct checkout_workers {
	int nr;		/* 1 for none, 0 for "auto" */

	/* Entries that are worth workers. Only with "auto", -1: time decides */
	int threshold;
};

/*
 * Ask GIT_TEST_CHECKOUT_WORKERS (which stands for a threshold of 0, too), then
 * checkout.workers and checkout.thresholdForParallelism.
 */
void get_checkout_workers(struct checkout_workers *config);

/* Are blocks to be shared with files of other working trees? */
enum checkout_reflink {
	CHECKOUT_REFLINK_NO = 0,
	CHECKOUT_REFLINK_SOUND,	/* on file systems that are known to be sound */
	CHECKOUT_REFLINK_FORCE,
};

/* Ask checkout.reflink. */
enum checkout_reflink get_checkout_reflink(void);

#endif /* PARALLEL_CHECKOUT_SETTINGS_H */
