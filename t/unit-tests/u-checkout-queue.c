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

/* Take the worker's next entry; returns its path. */
static const char *next(struct checkout_queue *queue, int worker)
{
	uint32_t id;

	if (queue_next(queue, worker, &id))
		return "none";
	queue_take(queue, id);
	return paths[id];
}

void test_checkout_queue__order(void)
{
	struct checkout_queue queue;
	uint32_t id;

	fill(&queue);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		cl_assert_equal_i(queue_first(&queue, &id), 0);
		cl_assert_equal_u(id, i);
		queue_take(&queue, id);
	}
	cl_assert_equal_i(queue_first(&queue, &id), -1);
	cl_assert_equal_u(queue.queued, 0);
	queue_release(&queue);
}

void test_checkout_queue__directories(void)
{
	struct checkout_queue queue;
	uint32_t id;

	fill(&queue);
	/* the fullest for the first, and it stays there */
	cl_assert_equal_s(next(&queue, 0), "big/1");
	cl_assert_equal_s(next(&queue, 0), "big/2");
	/* half of what is left there is still the most */
	cl_assert_equal_s(next(&queue, 1), "big/3");
	cl_assert_equal_s(next(&queue, 2), "a");
	cl_assert_equal_s(next(&queue, 2), "z");
	/* nothing left in the top; two are in "big" already */
	cl_assert_equal_s(next(&queue, 2), "big/4");
	/* with as much for a fourth one as elsewhere, the first one wins */
	cl_assert_equal_s(next(&queue, 3), "big/5");
	cl_assert_equal_s(next(&queue, 3), "big/6");
	/* the order of the queue goes on with what is left */
	cl_assert_equal_i(queue_first(&queue, &id), 0);
	cl_assert_equal_s(paths[id], "big/sub/1");
	queue_take(&queue, id);
	cl_assert_equal_s(next(&queue, 0), "big/7");
	cl_assert_equal_s(next(&queue, 3), "big/8");
	cl_assert_equal_s(next(&queue, 1), "small/1");
	cl_assert_equal_s(next(&queue, 1), "none");
	cl_assert_equal_s(next(&queue, 0), "none");
	cl_assert_equal_i(queue_first(&queue, &id), -1);
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
	for (id = 0; id < 1000; id++)
		queue_add(&queue, id, "big/file");
	for (; id < 1010; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id);
		queue_add(&queue, id, path.buf);
	}
	for (int worker = 0; worker < 10; worker++) {
		cl_assert_equal_i(queue_next(&queue, worker, &id), 0);
		in_big += id < 1000;
		queue_take(&queue, id);
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
	uint32_t id;

	queue_init(&queue);
	for (id = 0; id < 3000; id++)
		queue_add(&queue, id, "dir/file");
	for (int worker = 0; worker < 3000; worker++) {
		if (queue_next(&queue, worker, &id))
			cl_failf("nothing for worker %d", worker);
		queue_take(&queue, id);
	}
	cl_assert_equal_u(queue.queued, 0);
	queue_release(&queue);
}

/* The directory that a worker should go to. */
static uint32_t best_dir(const struct checkout_queue *queue)
{
	uint32_t best = QUEUE_NO_DIR;
	double most = 0;
	int crowded = 1;

	for (uint32_t i = 0; i < queue->dirs_nr; i++) {
		const struct queue_dir *dir = &queue->dirs[i];
		double share = (double)dir->left / (dir->workers + 1);
		int is_crowded = dir->workers >= 4;

		if (!dir->left || is_crowded > crowded ||
		    (is_crowded == crowded && share <= most))
			continue;
		best = i;
		most = share;
		crowded = is_crowded;
	}
	return best;
}

void test_checkout_queue__random(void)
{
	struct checkout_queue queue;
	struct strbuf path = STRBUF_INIT;
	uint32_t state = 1, added = 0, id;
	int chosen = 0;

	queue_init(&queue);
	for (int step = 0; step < 60000; step++) {
		int worker, has_dir;
		uint32_t want;

		state = state * 1664525 + 1013904223;

		/* more is added than taken at first */
		if (step < 20000 ? state >> 30 : state >> 29 == 7) {
			strbuf_reset(&path);
			strbuf_addf(&path, "%u/file",
				    (unsigned)((state >> 8) % 300 *
					       ((state >> 17) % 3)));
			queue_add(&queue, added++, path.buf);
			continue;
		}
		worker = (state >> 8) % 20;
		if ((state >> 16) % 8 == 0) {
			if (!queue_first(&queue, &id))
				queue_take(&queue, id);
			continue;
		}
		want = worker < queue.workers ?
			queue.worker_dir[worker] : QUEUE_NO_DIR;
		has_dir = want != QUEUE_NO_DIR && queue.dirs[want].left;
		if (!has_dir) {
			want = best_dir(&queue);
			chosen++;
		}
		if (queue_next(&queue, worker, &id)) {
			cl_assert_equal_u(want, QUEUE_NO_DIR);
			continue;
		}
		cl_assert_equal_u(queue.slots[id].dir, want);
		queue_take(&queue, id);
	}
	cl_assert_gt_i(chosen, 1000);
	strbuf_release(&path);
	queue_release(&queue);
}

/* Where nothing is left in thousands of directories, look behind them. */
void test_checkout_queue__far_away(void)
{
	struct checkout_queue queue;
	struct strbuf path = STRBUF_INIT;
	uint32_t id;

	queue_init(&queue);
	for (id = 0; id < 6; id++)
		queue_add(&queue, id, "crowded/file");
	for (; id < 6006; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id);
		queue_add(&queue, id, path.buf);
	}
	for (id = 6; id < 6005; id++)
		queue_take(&queue, id);
	for (int worker = 0; worker < 5; worker++) {
		cl_assert_equal_i(queue_next(&queue, worker, &id), 0);
		cl_assert_equal_u(id, worker < 4 ? (uint32_t)worker : 6005);
		queue_take(&queue, id);
	}
	strbuf_release(&path);
	queue_release(&queue);
}

/* Entries that are deferred have a number and are not queued. */
void test_checkout_queue__gaps(void)
{
	struct checkout_queue queue;
	uint32_t id;

	queue_init(&queue);
	cl_assert_equal_i(queue_first(&queue, &id), -1);
	cl_assert_equal_i(queue_next(&queue, 5, &id), -1);
	queue_add(&queue, 3, "d/a");
	queue_add(&queue, 1000, "d/b");
	cl_assert_equal_i(queue_first(&queue, &id), 0);
	cl_assert_equal_u(id, 3);
	queue_take(&queue, id);
	/* after the queue was empty for a while */
	cl_assert_equal_i(queue_first(&queue, &id), 0);
	cl_assert_equal_u(id, 1000);
	queue_take(&queue, id);
	cl_assert_equal_i(queue_first(&queue, &id), -1);
	queue_add(&queue, 1001, "d/c");
	cl_assert_equal_i(queue_next(&queue, 0, &id), 0);
	cl_assert_equal_u(id, 1001);
	queue_release(&queue);
}
