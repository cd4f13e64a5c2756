/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_QUEUE_H
#define PARALLEL_CHECKOUT_QUEUE_H

/*
 * The order in which queued entries are given to workers. The queue knows
 * entries by number, in runs of entries that follow each other and are in the
 * same directory.
 *
 * There are two orders. The order of the queue is the best one where processors
 * are the limit, since neighbours often share a pack's page or a delta base.
 * But where each operation waits for a server or a disk, a worker should have
 * a directory of its own: a file system lets only one process at a time create
 * or remove a file of a directory, so that workers in the same directory wait
 * for each other. Then a worker stays in its run until that is done, and goes
 * on with the one that has most left.
 */

#include "strbuf.h"

struct queue_run {
	uint32_t next, end;	/* of the entries that are queued still */
	int workers;		/* that have it as theirs */
};

struct checkout_queue {
	struct queue_run *runs;
	size_t nr, alloc;
	size_t head;		/* no run before this one has anything left */
	size_t queued;		/* entries */
	struct strbuf last_dir;	/* of the last run */

	size_t *run_of_worker;	/* in `runs`, plus one; or 0 */
	size_t workers, workers_alloc;
};

void queue_init(struct checkout_queue *queue);
void queue_release(struct checkout_queue *queue);

/*
 * Queue the entry `id`, which is larger than that of each earlier call, and
 * has this path. Numbers that are left out are not queued.
 */
void queue_add(struct checkout_queue *queue, uint32_t id, const char *path);

/*
 * Returns the run of which `next` is the next entry, or NULL if none is queued.
 * queue_first() follows the order of the queue; queue_next() is for the worker
 * with this number, from 0 on, and lets it stay in its run. The entry is queued
 * until queue_take() takes it from the run, which is valid until queue_add().
 */
struct queue_run *queue_first(struct checkout_queue *queue);
struct queue_run *queue_next(struct checkout_queue *queue, int worker);
void queue_take(struct checkout_queue *queue, struct queue_run *run);

#endif /* PARALLEL_CHECKOUT_QUEUE_H */
