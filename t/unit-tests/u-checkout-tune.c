/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy of parallel checkout: when workers are started, how many, and how
 * much they are given at a time.
 */
#include "unit-test.h"
#include "parallel-checkout/tune.h"

static const int thresholds[] = { -1, 0, 1, 2, 100, 1000, INT_MAX };
static const int some_workers[] = { 2, 3, 4, 16, 100 };

static void check_workers(int workers, int threshold, size_t entries,
			  int complete, int expect)
{
	int got = tune_workers(workers, threshold, entries, complete);

	if (got != expect)
		cl_failf("%d for %d workers, threshold %d, %"PRIuMAX
			 " entries, complete %d; expected %d", got, workers,
			 threshold, (uintmax_t)entries, complete, expect);
}

/* With all entries known, the number of workers is that of the base. */
void test_checkout_tune__complete(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
		int threshold = thresholds[t];

		for (int workers = -1; workers <= 20; workers++) {
			for (int entries = 0; entries <= 1001; entries++) {
				int expect = entries < workers ?
					entries : workers;

				if (expect < 2 || entries < threshold)
					expect = 0;
				check_workers(workers, threshold, entries, 1,
					      expect);
			}
		}
	}
}

void test_checkout_tune__huge_queue(void)
{
	cl_assert_equal_i(tune_workers(4, 100, SIZE_MAX, 1), 4);
	cl_assert_equal_i(tune_workers(4, 100, SIZE_MAX, 0), 4);
	cl_assert_equal_i(tune_workers(INT_MAX, 0, 3, 1), 3);
	cl_assert_equal_i(tune_workers(4, INT_MAX, (size_t)INT_MAX - 1, 1), 0);
	cl_assert_equal_i(tune_workers(4, INT_MAX, INT_MAX, 1), 4);
}

/*
 * While entries are still coming, all workers are started or none. That must
 * not be done before the queue would justify it if it ended now: neither the
 * threshold nor "no more workers than entries" can be broken that way.
 */
void test_checkout_tune__incomplete(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
		int threshold = thresholds[t];

		for (int workers = -1; workers <= 20; workers++) {
			for (int entries = 0; entries <= 1200; entries++) {
				int got = tune_workers(workers, threshold,
						       entries, 0);

				if (!got)
					continue;
				check_workers(workers, threshold, entries, 0,
					      workers);
				check_workers(workers, threshold, entries, 1,
					      got);
			}
		}
	}
	for (int entries = 0; entries < 1000; entries++)
		cl_assert_equal_i(tune_workers(1, 0, entries, 0), 0);
}

/* A few entries for each, but not before the threshold. */
void test_checkout_tune__start_streaming(void)
{
	check_workers(4, 0, 127, 0, 0);
	check_workers(4, 0, 128, 0, 4);
	check_workers(8, 100, 255, 0, 0);
	check_workers(8, 100, 256, 0, 8);
	check_workers(2, 100, 99, 0, 0);
	check_workers(2, 100, 100, 0, 2);
	check_workers(2, INT_MAX, INT_MAX - 1, 0, 0);
	check_workers(2, INT_MAX, INT_MAX, 0, 2);
	check_workers(INT_MAX, 0, INT_MAX, 0, 0);
}

static const struct tune_sample busy = {
	.workers = 2,
	.cores = 2,
	.queued = 1000 * 1000,
};

static size_t batch_at(uint64_t entries, uint64_t busy_ns)
{
	struct tune_sample now = busy;

	now.entries = entries;
	now.busy_ns = busy_ns;
	return tune_batch_size(&now);
}

static void check_bounds(const struct tune_sample *now)
{
	size_t size = tune_batch_size(now);

	cl_assert_ge_u(size, 1);
	cl_assert_le_u(size, now->queued);
	cl_assert_le_u(size, TUNE_MAX_BATCH);
}

void test_checkout_tune__bounds(void)
{
	const size_t queued[] = { 1, 2, 3, 15, 16, 17, 255, 256, 257, 1000,
				  1000 * 1000, SIZE_MAX };
	const uint64_t some[] = { 0, 1, 2, 1000, 1000 * 1000,
				  (uint64_t)1 << 40, UINT64_MAX - 1,
				  UINT64_MAX };

	for (size_t q = 0; q < ARRAY_SIZE(queued); q++)
		for (size_t w = 0; w < ARRAY_SIZE(some_workers); w++)
			for (size_t e = 0; e < ARRAY_SIZE(some); e++)
				for (size_t b = 0; b < ARRAY_SIZE(some); b++) {
					struct tune_sample now = {
						.workers = some_workers[w],
						.cores = 2,
						.queued = queued[q],
						.entries = some[e],
						.busy_ns = some[b],
					};

					check_bounds(&now);
					now.complete = 1;
					check_bounds(&now);
				}
}

/* The slower the workers are, the less they get at a time. */
void test_checkout_tune__speed(void)
{
	const uint64_t us = 1000, ms = 1000 * us;
	size_t last = TUNE_MAX_BATCH;

	/* Nothing is known yet, so it is a small one. */
	cl_assert_gt_u(batch_at(0, 0), 1);
	cl_assert_lt_u(batch_at(0, 0), TUNE_MAX_BATCH);
	cl_assert_equal_u(batch_at(0, 100), batch_at(0, 0));

	/* Up to where they wait, from which on a batch may take longer. */
	for (uint64_t ns_per_entry = 1; ns_per_entry < 400 * us;
	     ns_per_entry = ns_per_entry * 3 / 2 + 1) {
		size_t size = batch_at(1000, 1000 * ns_per_entry);

		if (size > last)
			cl_failf("more at %"PRIuMAX" ns than before",
				 (uintmax_t)ns_per_entry);
		last = size;
	}

	cl_assert_equal_u(batch_at(1000, 1000 * us), TUNE_MAX_BATCH);
	cl_assert_equal_u(batch_at(1000, 1000 * 1000 * ms), 1);

	/*
	 * In between a batch takes some milliseconds: enough to be worth the
	 * message, and not so much that others wait for its end.
	 */
	for (uint64_t ns_per_entry = 20 * us; ns_per_entry < 400 * us;
	     ns_per_entry += 20 * us) {
		uint64_t batch_ns = ns_per_entry *
			batch_at(100, 100 * ns_per_entry);

		cl_assert_gt_u(batch_ns, 1 * ms);
		cl_assert_lt_u(batch_ns, 10 * ms);
	}
}

/*
 * Hand out a queue as parallel-checkout.c does, and see that the batches never
 * grow again towards the end, and that the last ones are small, so that no
 * worker has much left when the others are done.
 */
static void check_shrinks(int workers, size_t queued)
{
	size_t last = TUNE_MAX_BATCH, total = 0, batches = 0, queue = queued;

	while (queue) {
		struct tune_sample now = {
			.workers = workers,
			.cores = workers,
			.queued = queue,
			.complete = 1,
			.entries = 1000,
			.busy_ns = 1000 * 1000,
		};
		size_t size = tune_batch_size(&now);

		cl_assert_le_u(size, last);
		cl_assert_le_u(size * workers, queue < (size_t)workers ?
			       (size_t)workers : queue);
		last = size;
		queue -= size;
		total += size;
		batches++;
	}
	cl_assert_equal_u(total, queued);
	cl_assert_equal_u(last, 1);

	/* Everybody gets something if there is enough for everybody. */
	if (queued >= (size_t)workers)
		cl_assert_ge_u(batches, workers);
	/* But it is not one by one either. */
	if (queued >= 1000 * (size_t)workers)
		cl_assert_lt_u(batches, queued / 10);
}

void test_checkout_tune__shrinks(void)
{
	for (size_t w = 0; w < ARRAY_SIZE(some_workers); w++) {
		check_shrinks(some_workers[w], 1);
		check_shrinks(some_workers[w], some_workers[w]);
		check_shrinks(some_workers[w], 100);
		check_shrinks(some_workers[w], 1000 * some_workers[w]);
	}
}

/* While the queue is growing there is no end to shrink to. */
void test_checkout_tune__no_shrink_before_the_end(void)
{
	struct tune_sample now = busy;

	now.entries = 1000;
	now.busy_ns = 1000 * 1000;
	now.queued = TUNE_MAX_BATCH;
	cl_assert_equal_u(tune_batch_size(&now), TUNE_MAX_BATCH);
	now.complete = 1;
	cl_assert_lt_u(tune_batch_size(&now), TUNE_MAX_BATCH);
}

static int is_waiting(int workers, int cores, uint64_t ns_per_entry)
{
	const struct tune_sample now = {
		.workers = workers,
		.cores = cores,
		.queued = 1000,
		.entries = 1000,
		.busy_ns = 1000 * ns_per_entry,
	};

	return tune_is_waiting(&now);
}

void test_checkout_tune__waiting(void)
{
	const uint64_t us = 1000, ms = 1000 * us;

	/* as many workers as cores, on a fast file system and on slow ones */
	cl_assert_equal_i(is_waiting(2, 2, 50 * us), 0);
	cl_assert_equal_i(is_waiting(32, 32, 100 * us), 0);
	cl_assert_equal_i(is_waiting(2, 2, 1 * ms), 1);
	cl_assert_equal_i(is_waiting(2, 16, 5 * ms), 1);
	/* many workers that take turns */
	cl_assert_equal_i(is_waiting(32, 2, 16 * 50 * us), 0);
	cl_assert_equal_i(is_waiting(64, 1, 64 * 50 * us), 0);
	/* or that wait, with 1 ms for each operation */
	cl_assert_equal_i(is_waiting(32, 2, 5 * ms), 1);
	cl_assert_equal_i(is_waiting(64, 2, 10 * ms), 1);
	/* the main process alone */
	cl_assert_equal_i(is_waiting(0, 2, 50 * us), 0);
	cl_assert_equal_i(is_waiting(0, 2, 5 * ms), 1);
}

/* A large file takes long, but does not wait. */
void test_checkout_tune__waiting_bytes(void)
{
	struct tune_sample now = busy;

	now.entries = 1;
	now.bytes = 10 * 1024 * 1024;
	now.busy_ns = 30 * 1000 * 1000;
	cl_assert_equal_i(tune_is_waiting(&now), 0);
	now.bytes = 1024;
	cl_assert_equal_i(tune_is_waiting(&now), 1);
}

void test_checkout_tune__guess_of_waiting(void)
{
	struct tune_sample now = busy;

	cl_assert_equal_i(tune_is_waiting(&now), 0);
	now.workers = 32;
	cl_assert_equal_i(tune_is_waiting(&now), 1);
	now.cores = 32;
	cl_assert_equal_i(tune_is_waiting(&now), 0);

	/* A few milliseconds tell nothing. */
	now.entries = 1;
	now.busy_ns = TUNE_ALONE_NS - 1;
	cl_assert_equal_i(tune_is_waiting(&now), 0);
	now.busy_ns++;
	cl_assert_equal_i(tune_is_waiting(&now), 1);
}

/* A batch of a worker that waits is longer, but not by the same factor. */
void test_checkout_tune__waiting_batch(void)
{
	struct tune_sample now = busy;

	now.entries = 1000;
	now.busy_ns = now.entries * 5 * 1000 * 1000;
	cl_assert_ge_u(tune_batch_size(&now), 2);
	cl_assert_le_u(tune_batch_size(&now), 16);
}
