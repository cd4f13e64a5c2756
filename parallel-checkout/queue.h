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

#include "strbuf.h"
#include "strmap.h"

struct queue_dir {
	uint32_t first, last;	/* of its entries that are queued */
	size_t left;		/* how many these are */
	int workers;		/* that have it as their directory */
};

struct checkout_queue {
	/* By the number of the entry. */
	struct queue_slot {
		uint32_t dir;
		uint32_t next;	/* queued entry of the same directory */
		unsigned queued : 1;
	} *slots;
	size_t nr, alloc;

	size_t head;		/* no entry before this one is queued */
	size_t queued;

	struct queue_dir *dirs;
	size_t dirs_nr, dirs_alloc;
	size_t dirs_head;	/* nothing is left in those before this one */
	struct strmap dir_of_path;
	struct strbuf last_path;	/* the directory added to last */
	uint32_t last_dir;

	/* The directory of each worker, or QUEUE_NO_DIR. */
	uint32_t *worker_dir;
	int workers;
};

#define QUEUE_NO_DIR UINT32_MAX

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
