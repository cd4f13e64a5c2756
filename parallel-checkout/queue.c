/* SPDX-License-Identifier: GPL-2.0-only */
/* Which entry goes to which worker next; see queue.h. */
#include "git-compat-util.h"
#include "parallel-checkout/queue.h"

/* To look at them takes some microseconds, and one operation much longer. */
#define RUNS_TO_CHOOSE_FROM 4096

void queue_init(struct checkout_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	strbuf_init(&queue->last_dir, 0);
}

void queue_release(struct checkout_queue *queue)
{
	free(queue->runs);
	free(queue->run_of_worker);
	strbuf_release(&queue->last_dir);
	queue_init(queue);
}

void queue_add(struct checkout_queue *queue, uint32_t id, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? slash - path : 0;

	queue->queued++;
	if (queue->head < queue->nr &&
	    queue->runs[queue->nr - 1].end == id &&
	    queue->last_dir.len == len &&
	    !memcmp(queue->last_dir.buf, path, len)) {
		queue->runs[queue->nr - 1].end++;
		return;
	}
	ALLOC_GROW(queue->runs, queue->nr + 1, queue->alloc);
	queue->runs[queue->nr++] = (struct queue_run){
		.next = id,
		.end = id + 1,
	};
	strbuf_reset(&queue->last_dir);
	strbuf_add(&queue->last_dir, path, len);
}

struct queue_run *queue_first(struct checkout_queue *queue)
{
	for (; queue->head < queue->nr; queue->head++) {
		struct queue_run *run = &queue->runs[queue->head];

		if (run->next < run->end)
			return run;
	}
	return NULL;
}

/*
 * How much a run has for one more worker: of the five or so operations that a
 * file takes, two or three hold the lock of the directory.
 */
static double share(const struct queue_run *run)
{
	double workers = run->workers + 1;

	return (run->end - run->next) / (workers * workers);
}

struct queue_run *queue_next(struct checkout_queue *queue, int worker)
{
	struct queue_run *best = queue_first(queue), *run;
	size_t *own, end = queue->nr;

	if (!best)
		return NULL;
	if (queue->workers <= (size_t)worker)
		ALLOC_GROW_BY(queue->run_of_worker, queue->workers,
			      (size_t)worker + 1 - queue->workers,
			      queue->workers_alloc);
	own = &queue->run_of_worker[worker];
	if (*own) {
		run = &queue->runs[*own - 1];
		if (run->next < run->end)
			return run;
		run->workers--;
	}

	if (end > queue->head + RUNS_TO_CHOOSE_FROM)
		end = queue->head + RUNS_TO_CHOOSE_FROM;
	for (run = best + 1; run < queue->runs + end; run++)
		if (share(run) > share(best))
			best = run;
	*own = best - queue->runs + 1;
	best->workers++;
	return best;
}

void queue_take(struct checkout_queue *queue, struct queue_run *run)
{
	run->next++;
	queue->queued--;
}
