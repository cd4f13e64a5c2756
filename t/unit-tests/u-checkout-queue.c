/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "parallel-checkout/queue.h"

static const char *const paths[] = {
	"a",
	"big/1", "big/2", "big/3",
	"big/sub/1",
	"big/4", "big/5", "big/6", "big/7", "big/8",
	"small/1",
	"z",
};

static void fill(struct checkout_queue *queue)
{
	queue_init(queue);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		queue_add(queue, i, paths[i]);
	cl_assert_equal_u(queue->queued, ARRAY_SIZE(paths));
}

/* Take the next entry of the run; returns its path. */
static const char *take(struct checkout_queue *queue, struct queue_run *run)
{
	uint32_t id;

	if (!run)
		return "none";
	id = run->next;
	queue_take(queue, run);
	return paths[id];
}

static const char *first(struct checkout_queue *queue)
{
	return take(queue, queue_first(queue));
}

static const char *next(struct checkout_queue *queue, int worker)
{
	return take(queue, queue_next(queue, worker));
}

void test_checkout_queue__order(void)
{
	struct checkout_queue queue;

	fill(&queue);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		cl_assert_equal_s(first(&queue), paths[i]);
	cl_assert_equal_s(first(&queue), "none");
	cl_assert_equal_u(queue.queued, 0);
	queue_release(&queue);
}

void test_checkout_queue__directories(void)
{
	struct checkout_queue queue;

	fill(&queue);
	/* the longest for the first, and it stays there */
	cl_assert_equal_s(next(&queue, 0), "big/4");
	cl_assert_equal_s(next(&queue, 0), "big/5");
	/* a second one there is of a quarter of the use */
	cl_assert_equal_s(next(&queue, 1), "big/1");
	cl_assert_equal_s(next(&queue, 2), "a");
	cl_assert_equal_s(next(&queue, 2), "big/sub/1");
	cl_assert_equal_s(next(&queue, 1), "big/2");
	/* the order of the queue goes on with what is left */
	cl_assert_equal_s(first(&queue), "big/3");
	/* nothing left in its run */
	cl_assert_equal_s(next(&queue, 1), "small/1");
	cl_assert_equal_s(next(&queue, 1), "z");
	cl_assert_equal_s(next(&queue, 1), "big/6");
	cl_assert_equal_s(next(&queue, 0), "big/7");
	cl_assert_equal_s(next(&queue, 2), "big/8");
	for (int worker = 0; worker < 4; worker++)
		cl_assert_equal_s(next(&queue, worker), "none");
	cl_assert_equal_s(first(&queue), "none");
	cl_assert_equal_u(queue.queued, 0);
	queue_release(&queue);
}

/* No more than a few in the same directory while there are others. */
void test_checkout_queue__crowd(void)
{
	struct checkout_queue queue;
	struct strbuf path = STRBUF_INIT;
	uint32_t id;
	int in_big = 0;

	queue_init(&queue);
	for (id = 0; id < 400; id++)
		queue_add(&queue, id, "big/file");
	for (; id < 800; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id / 20);
		queue_add(&queue, id, path.buf);
	}
	for (int worker = 0; worker < 20; worker++) {
		struct queue_run *run = queue_next(&queue, worker);

		cl_assert(run != NULL);
		in_big += run->next < 400;
		queue_take(&queue, run);
	}
	cl_assert_gt_i(in_big, 1);
	cl_assert_le_i(in_big, 4);
	strbuf_release(&path);
	queue_release(&queue);
}

/* Where there is an entry, there is one for each of any number of workers. */
void test_checkout_queue__more_than_1023(void)
{
	struct checkout_queue queue;

	queue_init(&queue);
	for (uint32_t id = 0; id < 3000; id++)
		queue_add(&queue, id, "dir/file");
	for (int worker = 0; worker < 3000; worker++) {
		struct queue_run *run = queue_next(&queue, worker);

		if (!run)
			cl_failf("nothing for worker %d", worker);
		queue_take(&queue, run);
	}
	cl_assert_equal_u(queue.queued, 0);
	queue_release(&queue);
}

/* What one more worker finds in a run, where those there count twice. */
static double share(const struct queue_run *run)
{
	double workers = run->workers + 1;

	return (run->end - run->next) / (workers * workers);
}

static double best_share(const struct checkout_queue *queue)
{
	double best = 0;

	for (size_t i = 0; i < queue->nr; i++)
		if (share(&queue->runs[i]) > best)
			best = share(&queue->runs[i]);
	return best;
}

/* A worker's run is its own until it is done; then it gets the best. */
static void check_next(struct checkout_queue *queue, int worker)
{
	size_t own = (size_t)worker < queue->workers ?
		queue->run_of_worker[worker] : 0;
	struct queue_run *had = own ? &queue->runs[own - 1] : NULL, *run;

	if (had && had->next < had->end) {
		run = queue_next(queue, worker);
		cl_assert(run == had);
	} else {
		double want;

		if (had)
			had->workers--;
		want = best_share(queue);
		if (had)
			had->workers++;
		run = queue_next(queue, worker);
		cl_assert_equal_i(!run, !want);
		if (!run)
			return;
		run->workers--;
		cl_assert(share(run) == want);
		run->workers++;
	}
	queue_take(queue, run);
}

void test_checkout_queue__random(void)
{
	struct checkout_queue queue;
	struct strbuf path = STRBUF_INIT;
	uint32_t state = 1, id = 0;
	size_t taken = 0;

	queue_init(&queue);
	for (int step = 0; step < 10000; step++) {
		state = state * 1664525 + 1013904223;

		/* more is added than taken at first */
		if (step < 4000 ? state >> 30 : state >> 29 == 7) {
			strbuf_reset(&path);
			strbuf_addf(&path, "%u/file",
				    (unsigned)(id / (id % 100 < 50 ? 50 : 3)));
			queue_add(&queue, id++, path.buf);
			/* a number that is left out */
			if ((state >> 8) % 64 == 0)
				id++;
			continue;
		}
		taken++;
		if ((state >> 16) % 8) {
			check_next(&queue, (state >> 8) % 20);
		} else {
			struct queue_run *run = queue_first(&queue);

			if (run)
				queue_take(&queue, run);
		}
	}
	cl_assert_gt_i(taken, 1000);
	strbuf_release(&path);
	queue_release(&queue);
}

/* Where nothing is left in thousands of directories, look behind them. */
void test_checkout_queue__far_away(void)
{
	struct checkout_queue queue;
	struct strbuf path = STRBUF_INIT;
	struct queue_run *run;

	queue_init(&queue);
	for (uint32_t id = 0; id < 6000; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id);
		queue_add(&queue, id, path.buf);
	}
	for (int i = 0; i < 5999; i++)
		queue_take(&queue, queue_first(&queue));
	run = queue_next(&queue, 3);
	cl_assert(run != NULL);
	cl_assert_equal_u(run->next, 5999);
	strbuf_release(&path);
	queue_release(&queue);
}

/* Entries that are deferred have a number and are not queued. */
void test_checkout_queue__gaps(void)
{
	static const uint32_t ids[] = { 3, 1000, 1001, 1003 };
	struct checkout_queue queue;
	struct queue_run *run;

	queue_init(&queue);
	cl_assert(!queue_first(&queue));
	cl_assert(!queue_next(&queue, 5));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		queue_add(&queue, ids[i], "d/file");
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		run = queue_first(&queue);
		cl_assert(run != NULL);
		cl_assert_equal_u(run->next, ids[i]);
		queue_take(&queue, run);
	}
	cl_assert(!queue_first(&queue));
	/* after the queue was empty for a while */
	queue_add(&queue, 1004, "d/file");
	run = queue_next(&queue, 0);
	cl_assert(run != NULL);
	cl_assert_equal_u(run->next, 1004);
	queue_release(&queue);
}
