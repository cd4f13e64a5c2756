/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which entry goes to which worker next; see queue.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/queue.h"

/*
 * So many directories are looked at, which takes some microseconds, and only
 * where an operation takes much longer than that.
 */
#define DIRS_TO_CHOOSE_FROM 4096

void queue_init(struct checkout_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	INIT_LIST_HEAD(&queue->dirs);
	strmap_init(&queue->dir_of_path);
	strbuf_init(&queue->last_path, 0);
}

void queue_release(struct checkout_queue *queue)
{
	free(queue->slots);
	free(queue->worker_dir);
	strmap_clear(&queue->dir_of_path, 1);
	strbuf_release(&queue->last_path);
	queue_init(queue);
}

static struct queue_dir *find_dir(struct checkout_queue *queue,
				  const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? slash - path : 0;
	struct queue_dir *dir = queue->last_dir;

	if (dir && queue->last_path.len == len &&
	    !memcmp(queue->last_path.buf, path, len))
		return dir;

	strbuf_reset(&queue->last_path);
	strbuf_add(&queue->last_path, path, len);
	dir = strmap_get(&queue->dir_of_path, queue->last_path.buf);
	if (!dir) {
		CALLOC_ARRAY(dir, 1);
		strmap_put(&queue->dir_of_path, queue->last_path.buf, dir);
	}
	queue->last_dir = dir;
	return dir;
}

void queue_add(struct checkout_queue *queue, uint32_t id, const char *path)
{
	struct queue_dir *dir = find_dir(queue, path);

	if (id < queue->nr)
		BUG("checkout entries are not queued in order");
	ALLOC_GROW_BY(queue->slots, queue->nr, (size_t)id + 1 - queue->nr,
		      queue->alloc);
	queue->slots[id].dir = dir;
	queue->queued++;

	if (dir->left++) {
		queue->slots[dir->last].next = id;
	} else {
		dir->first = id;
		list_add_tail(&dir->list, &queue->dirs);
	}
	dir->last = id;
}

int queue_first(struct checkout_queue *queue, uint32_t *id)
{
	while (queue->head < queue->nr && !queue->slots[queue->head].dir)
		queue->head++;
	if (queue->head == queue->nr)
		return -1;
	*id = queue->head;
	return 0;
}

/*
 * How much a directory has for one more worker. Those who are there wait for
 * each other: of the five or so operations that a file takes, two or three hold
 * the lock. So each of them is of less use than the one before.
 */
static double share(const struct queue_dir *dir)
{
	double workers = dir->workers + 1;

	return dir->left / (workers * workers);
}

/* The directory where one more worker can do most, or NULL. */
static struct queue_dir *choose_dir(struct checkout_queue *queue)
{
	struct queue_dir *best = NULL;
	struct list_head *pos;
	int seen = 0;

	list_for_each(pos, &queue->dirs) {
		struct queue_dir *dir = list_entry(pos, struct queue_dir, list);

		if (seen++ == DIRS_TO_CHOOSE_FROM)
			break;
		if (!best || share(dir) > share(best))
			best = dir;
	}
	return best;
}

int queue_next(struct checkout_queue *queue, int worker, uint32_t *id)
{
	struct queue_dir **dir;

	if (queue->workers <= (size_t)worker)
		ALLOC_GROW_BY(queue->worker_dir, queue->workers,
			      (size_t)worker + 1 - queue->workers,
			      queue->workers_alloc);
	dir = &queue->worker_dir[worker];
	if (!*dir || !(*dir)->left) {
		if (*dir)
			(*dir)->workers--;
		*dir = choose_dir(queue);
		if (!*dir)
			return -1;
		(*dir)->workers++;
	}
	*id = (*dir)->first;
	return 0;
}

void queue_take(struct checkout_queue *queue, uint32_t id)
{
	struct queue_slot *slot = &queue->slots[id];
	struct queue_dir *dir = slot->dir;

	if (!dir || dir->first != id)
		BUG("checkout entry is not the first of its directory");
	slot->dir = NULL;
	dir->first = slot->next;
	if (!--dir->left)
		list_del(&dir->list);
	queue->queued--;
}
