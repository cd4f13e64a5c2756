/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy of parallel checkout: when workers are started, how many, and how
 * much they are given at a time.
 */
#include "test-lib.h"
#include "parallel-checkout/tune.h"

static const int thresholds[] = { -1, 0, 1, 2, 100, 1000, INT_MAX };
static const int some_workers[] = { 2, 3, 4, 16, 100 };

/* With all entries known, the number of workers is that of the base. */
static void t_complete(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
		int threshold = thresholds[t];

		for (int workers = -1; workers <= 20; workers++) {
			for (int entries = 0; entries <= 1001; entries++) {
				int expect = entries < workers ?
					entries : workers;

				if (expect < 2 || entries < threshold)
					expect = 0;
				if (!check_int(tune_workers(workers, threshold,
							    entries, 1), ==,
					       expect)) {
					test_msg("workers %d, threshold %d, entries %d",
						 workers, threshold, entries);
					return;
				}
			}
		}
	}
}

static void t_huge_queue(void)
{
	check_int(tune_workers(4, 100, SIZE_MAX, 1), ==, 4);
	check_int(tune_workers(4, 100, SIZE_MAX, 0), ==, 4);
	check_int(tune_workers(INT_MAX, 0, 3, 1), ==, 3);
	check_int(tune_workers(4, INT_MAX, (size_t)INT_MAX - 1, 1), ==, 0);
	check_int(tune_workers(4, INT_MAX, INT_MAX, 1), ==, 4);
}

/*
 * While entries are still coming, all workers are started or none. That must
 * not be done before the queue would justify it if it ended now: neither the
 * threshold nor "no more workers than entries" can be broken that way.
 */
static void t_incomplete(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
		int threshold = thresholds[t];

		for (int workers = -1; workers <= 20; workers++) {
			for (int entries = 0; entries <= 1200; entries++) {
				int got = tune_workers(workers, threshold,
						       entries, 0);

				if (!check(!got || got == workers) ||
				    (got && !check_int(got, ==,
					tune_workers(workers, threshold,
						     entries, 1)))) {
					test_msg("workers %d, threshold %d, entries %d",
						 workers, threshold, entries);
					return;
				}
			}
		}
	}
	for (int entries = 0; entries < 1000; entries++)
		check_int(tune_workers(1, 0, entries, 0), ==, 0);
}

static void t_start_streaming(void)
{
	for (size_t t = 0; t < ARRAY_SIZE(thresholds); t++) {
		int threshold = thresholds[t];

		for (size_t w = 0; w < ARRAY_SIZE(some_workers); w++) {
			int workers = some_workers[w];
			size_t start = tune_start_streaming(workers, threshold);

			if (threshold > 0)
				check_uint(start, >=, threshold);
			check_uint(start, >, workers);
			check_int(tune_workers(workers, threshold, start, 0),
				  ==, workers);
			check_int(tune_workers(workers, threshold, start - 1, 0),
				  ==, 0);
		}
	}

	/* A few entries for each, but not before the threshold, which is big. */
	check_uint(tune_start_streaming(4, 0), ==, tune_start_streaming(4, 1));
	check_uint(tune_start_streaming(8, 0), ==,
		   2 * tune_start_streaming(4, 0));
	check_uint(tune_start_streaming(2, INT_MAX), ==, INT_MAX);
	/* Does not overflow. */
	check_uint(tune_start_streaming(INT_MAX, 0), >=, INT_MAX);
}

static const struct tune_batch busy = {
	.workers = 2,
	.queued = 1000 * 1000,
};

static size_t batch_at(uint64_t entries, uint64_t busy_ns)
{
	struct tune_batch now = busy;

	now.entries = entries;
	now.busy_ns = busy_ns;
	return tune_batch_size(&now);
}

static void t_bounds(void)
{
	const size_t queued[] = { 1, 2, 3, 15, 16, 17, 255, 256, 257, 1000,
				  1000 * 1000, SIZE_MAX };
	const uint64_t numbers[] = { 0, 1, 2, 1000, 1000 * 1000,
				     (uint64_t)1 << 40, UINT64_MAX - 1,
				     UINT64_MAX };

	for (size_t q = 0; q < ARRAY_SIZE(queued); q++)
		for (size_t w = 0; w < ARRAY_SIZE(some_workers); w++)
			for (size_t e = 0; e < ARRAY_SIZE(numbers); e++)
				for (size_t b = 0; b < ARRAY_SIZE(numbers); b++)
					for (int complete = 0; complete < 2; complete++) {
						struct tune_batch now = {
							.workers = some_workers[w],
							.queued = queued[q],
							.complete = complete,
							.entries = numbers[e],
							.busy_ns = numbers[b],
						};
						size_t size = tune_batch_size(&now);

						check_uint(size, >=, 1);
						check_uint(size, <=, queued[q]);
						check_uint(size, <=, TUNE_MAX_BATCH);
					}
}

/* The slower the workers are, the less they get at a time. */
static void t_speed(void)
{
	const uint64_t us = 1000, ms = 1000 * us;
	size_t last = TUNE_MAX_BATCH;

	/* Nothing is known yet, so it is a small one. */
	check_uint(batch_at(0, 0), >, 1);
	check_uint(batch_at(0, 0), <, TUNE_MAX_BATCH);
	check_uint(batch_at(0, 100), ==, batch_at(0, 0));

	for (uint64_t ns_per_entry = 1; ns_per_entry < 1000 * ms;
	     ns_per_entry = ns_per_entry * 3 / 2 + 1) {
		size_t size = batch_at(1000, 1000 * ns_per_entry);

		if (!check_uint(size, <=, last))
			test_msg("at %"PRIuMAX" ns", (uintmax_t)ns_per_entry);
		last = size;
	}

	check_uint(batch_at(1000, 1000 * us), ==, TUNE_MAX_BATCH);
	check_uint(batch_at(1000, 1000 * 1000 * ms), ==, 1);

	/*
	 * In between a batch takes some milliseconds: enough to be worth the
	 * message, and not so much that others wait for its end.
	 */
	for (uint64_t ns_per_entry = 20 * us; ns_per_entry < 500 * us;
	     ns_per_entry += 20 * us) {
		uint64_t batch_ns = ns_per_entry *
			batch_at(100, 100 * ns_per_entry);

		check_uint(batch_ns, >, 1 * ms);
		check_uint(batch_ns, <, 10 * ms);
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
		struct tune_batch now = {
			.workers = workers,
			.queued = queue,
			.complete = 1,
			.entries = 1000,
			.busy_ns = 1000 * 1000,
		};
		size_t size = tune_batch_size(&now);

		check_uint(size, <=, last);
		check_uint(size * workers, <=,
			   queue < (size_t)workers ? (size_t)workers : queue);
		last = size;
		queue -= size;
		total += size;
		batches++;
	}
	check_uint(total, ==, queued);
	check_uint(last, ==, 1);

	/* Everybody gets something if there is enough for everybody. */
	if (queued >= (size_t)workers)
		check_uint(batches, >=, workers);
	/* But it is not one by one either. */
	if (queued >= 1000 * (size_t)workers)
		check_uint(batches, <, queued / 10);
}

static void t_shrinks(void)
{
	for (size_t w = 0; w < ARRAY_SIZE(some_workers); w++) {
		check_shrinks(some_workers[w], 1);
		check_shrinks(some_workers[w], some_workers[w]);
		check_shrinks(some_workers[w], 100);
		check_shrinks(some_workers[w], 1000 * some_workers[w]);
	}
}

/* While the queue is growing there is no end to shrink to. */
static void t_no_shrink_before_the_end(void)
{
	struct tune_batch now = busy;

	now.entries = 1000;
	now.busy_ns = 1000 * 1000;
	now.queued = TUNE_MAX_BATCH;
	check_uint(tune_batch_size(&now), ==, TUNE_MAX_BATCH);
	now.complete = 1;
	check_uint(tune_batch_size(&now), <, TUNE_MAX_BATCH);
}

static int is_waiting(int workers, int cores, uint64_t busy_ns, uint64_t cpu_ns)
{
	const struct tune_batch now = {
		.workers = workers,
		.cores = cores,
		.queued = 1000,
		.entries = 1000,
		.busy_ns = busy_ns,
		.cpu_ns = cpu_ns,
	};

	return tune_is_waiting(&now);
}

static void t_waiting(void)
{
	const uint64_t s = 1000 * 1000 * 1000;

	/* as many workers as cores, which always run */
	check_int(is_waiting(2, 2, 2 * s, 2 * s), ==, 0);
	check_int(is_waiting(8, 16, 8 * s, 7 * s), ==, 0);
	/* more of them, which take turns */
	check_int(is_waiting(32, 2, 32 * s, 2 * s), ==, 0);
	/* a tenth of the time on a processor, with one each and with fewer */
	check_int(is_waiting(2, 2, 20 * s, 2 * s), ==, 1);
	check_int(is_waiting(2, 16, 20 * s, 2 * s), ==, 1);
	check_int(is_waiting(32, 2, 320 * s, 2 * s), ==, 1);
	/* the others use the time that one waits */
	check_int(is_waiting(20, 2, 20 * s, 2 * s), ==, 0);
	/* nothing is known */
	check_int(is_waiting(2, 2, 0, 0), ==, 0);
	check_int(is_waiting(2, 2, 2 * s, 0), ==, 0);
}

static void t_guess_of_waiting(void)
{
	struct tune_batch now = busy;

	check_int(tune_is_waiting(&now), ==, 0);
	now.cores = 2;
	check_int(tune_is_waiting(&now), ==, 0);
	now.workers = 32;
	check_int(tune_is_waiting(&now), ==, 1);
	now.cores = 32;
	check_int(tune_is_waiting(&now), ==, 0);
}

/* A batch of a worker that waits is longer, but not by the same factor. */
static void t_waiting_batch(void)
{
	struct tune_batch now = busy;

	now.cores = 2;
	now.entries = 1000;
	now.busy_ns = now.entries * 5 * 1000 * 1000;
	now.cpu_ns = now.busy_ns;
	check_uint(tune_batch_size(&now), ==, 1);
	now.cpu_ns = now.busy_ns / 100;
	check_uint(tune_batch_size(&now), >=, 2);
	check_uint(tune_batch_size(&now), <=, 10);
}

int cmd_main(int argc UNUSED, const char **argv UNUSED)
{
	TEST(t_complete(), "workers for a complete queue are those of the base");
	TEST(t_huge_queue(), "large numbers do not overflow");
	TEST(t_incomplete(), "workers are not started too early");
	TEST(t_start_streaming(), "when to start workers");
	TEST(t_bounds(), "bounds of a batch");
	TEST(t_speed(), "batches follow the speed");
	TEST(t_shrinks(), "batches shrink towards the end");
	TEST(t_no_shrink_before_the_end(), "batches do not shrink before that");
	TEST(t_waiting(), "when workers are said to wait");
	TEST(t_guess_of_waiting(), "when they are expected to wait");
	TEST(t_waiting_batch(), "batches of workers that wait");

	return test_done();
}
