/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SETTINGS_H
#define PARALLEL_CHECKOUT_SETTINGS_H

/*
 * What the user has to say about the workers of parallel checkout; see
 * git-config(1).
 */

struct checkout_workers {
	/* How many; 1 for none, 0 if that is to be found out. */
	int nr;

	/*
	 * The number of entries from which on workers are worth it. Negative
	 * if the time they take shall decide, which is only so if `nr` is 0.
	 */
	int threshold;
};

/*
 * Ask GIT_TEST_CHECKOUT_WORKERS (which stands for a threshold of 0, too), then
 * checkout.workers and checkout.thresholdForParallelism. Dies if one of them
 * makes no sense.
 */
void get_checkout_workers(struct checkout_workers *config);

/* Are blocks to be shared with files of other working trees? */
enum checkout_reflink {
	CHECKOUT_REFLINK_NO = 0,
	CHECKOUT_REFLINK_SOUND,	/* on file systems that are known to be sound */
	CHECKOUT_REFLINK_FORCE,
};

/* Ask checkout.reflink. Dies if it makes no sense. */
enum checkout_reflink get_checkout_reflink(void);

#endif /* PARALLEL_CHECKOUT_SETTINGS_H */
