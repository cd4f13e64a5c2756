/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_QUEUE_H
#define PARALLEL_CHECKOUT_QUEUE_H

/*
 * The order in which queued entries are given to workers. The queue knows
 * entries by number, and the directory that each is in.
 *
 * There are two orders. The order of the queue is the best one where processors
 * are the limit, since neighbours often share a pack's page or a delta base.
 * But where each operation waits for a server or a disk, a worker should have
 * a directory of its own: a file system lets only one process at a time create
 * or remove a file of a directory, so that workers in the same directory wait
 * for each other. Then a worker stays in its directory until that is done, and
 * goes on with the one that has most left.
 */

#include "list.h"
#include "strbuf.h"
#include "strmap.h"

struct queue_dir {
	struct list_head list;	/* in queue->dirs, as long as any is left */
	uint32_t first, last;	/* of its entries that are queued */
	size_t left;		/* how many these are */
	int workers;		/* that have it as their directory */
};

struct checkout_queue {
	/* By the number of the entry. */
	struct queue_slot {
		struct queue_dir *dir;	/* NULL if it is not queued */
		uint32_t next;	/* queued entry of the same directory */
	} *slots;
	size_t nr, alloc;

	size_t head;		/* no entry before this one is queued */
	size_t queued;

	struct list_head dirs;
	struct strmap dir_of_path;
	struct strbuf last_path;	/* the directory added to last */
	struct queue_dir *last_dir;

	struct queue_dir **worker_dir;	/* where each worker is, or NULL */
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
 * Which entry is next? Returns 0 and sets `*id`, or -1 if none is queued. The
 * entry stays queued until queue_take().
 *
 * queue_first() follows the order of the queue. queue_next() is for the worker
 * with this number, 0 being the first one, and follows the order of
 * directories.
 */
int queue_first(struct checkout_queue *queue, uint32_t *id);
int queue_next(struct checkout_queue *queue, int worker, uint32_t *id);

/* The entry, which is one that the functions above have returned, is taken. */
void queue_take(struct checkout_queue *queue, uint32_t id);

#endif /* PARALLEL_CHECKOUT_QUEUE_H */
