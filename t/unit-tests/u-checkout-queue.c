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
	/* a second one there is of half the use, and has half of it */
	cl_assert_equal_s(next(&queue, 1), "a");
	cl_assert_equal_s(next(&queue, 1), "z");
	/* nothing left in the top */
	cl_assert_equal_s(next(&queue, 1), "big/3");
	/* for a third one, there is more elsewhere */
	cl_assert_equal_s(next(&queue, 2), "big/sub/1");
	cl_assert_equal_s(next(&queue, 2), "small/1");
	cl_assert_equal_s(next(&queue, 0), "big/4");
	/* the order of the queue goes on with what is left */
	cl_assert_equal_i(queue_first(&queue, &id), 0);
	cl_assert_equal_s(paths[id], "big/5");
	queue_take(&queue, id);
	cl_assert_equal_s(next(&queue, 0), "big/6");
	cl_assert_equal_s(next(&queue, 2), "big/7");
	cl_assert_equal_s(next(&queue, 1), "big/8");
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
	for (id = 0; id < 400; id++)
		queue_add(&queue, id, "big/file");
	for (; id < 800; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id / 20);
		queue_add(&queue, id, path.buf);
	}
	for (int worker = 0; worker < 20; worker++) {
		cl_assert_equal_i(queue_next(&queue, worker, &id), 0);
		in_big += id < 400;
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

/* What one more worker finds in a directory, where those there count twice. */
static double share(const struct queue_dir *dir)
{
	double workers = dir->workers + 1;

	return dir->left / (workers * workers);
}

/* The directory that a worker should go to, or NULL. */
static struct queue_dir *best_dir(struct checkout_queue *queue)
{
	struct queue_dir *best = NULL;
	struct strmap_entry *entry;
	struct hashmap_iter iter;

	strmap_for_each_entry(&queue->dir_of_path, &iter, entry) {
		struct queue_dir *dir = entry->value;

		if (dir->left && (!best || share(dir) > share(best)))
			best = dir;
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
		struct queue_dir *dir;
		double want = 0;
		int worker;

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
		dir = (size_t)worker < queue.workers ?
			queue.worker_dir[worker] : NULL;
		if (!dir || !dir->left) {
			if (dir)
				dir->workers--;
			if ((size_t)worker < queue.workers)
				queue.worker_dir[worker] = NULL;
			dir = NULL;
			if (best_dir(&queue))
				want = share(best_dir(&queue));
			chosen++;
		}
		if (queue_next(&queue, worker, &id)) {
			cl_assert(!want && !dir);
			continue;
		}
		if (dir) {
			cl_assert(queue.slots[id].dir == dir);
		} else {
			dir = queue.slots[id].dir;
			dir->workers--;
			cl_assert(share(dir) == want);
			dir->workers++;
		}
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
	for (id = 0; id < 6000; id++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "d%u/file", (unsigned)id);
		queue_add(&queue, id, path.buf);
	}
	for (id = 0; id < 5999; id++)
		queue_take(&queue, id);
	cl_assert_equal_i(queue_next(&queue, 3, &id), 0);
	cl_assert_equal_u(id, 5999);
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
