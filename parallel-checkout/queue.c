/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which entry goes to which worker next; see queue.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/queue.h"

/*
 * More workers than this in one directory only wait for each other: of the
 * five or so operations that a file takes, two or three hold the lock.
 */
#define WORKERS_PER_DIR 4

/* Is more left in a directory for one more worker than in another one? */
static int has_more(const struct queue_dir *dir, const struct queue_dir *other)
{
	int crowded = dir->workers >= WORKERS_PER_DIR;
	int other_crowded = other->workers >= WORKERS_PER_DIR;

	if (crowded != other_crowded)
		return !crowded;
	return (uint64_t)dir->left * (other->workers + 1) >
		(uint64_t)other->left * (dir->workers + 1);
}

void queue_init(struct checkout_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	strmap_init(&queue->dir_of_path);
	strbuf_init(&queue->last_path, 0);
	queue->last_dir = QUEUE_NO_DIR;
}

void queue_release(struct checkout_queue *queue)
{
	free(queue->slots);
	free(queue->dirs);
	free(queue->worker_dir);
	strmap_clear(&queue->dir_of_path, 0);
	strbuf_release(&queue->last_path);
	queue_init(queue);
}

static uint32_t find_dir(struct checkout_queue *queue, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? slash - path : 0;
	void *known;

	if (queue->last_dir != QUEUE_NO_DIR && queue->last_path.len == len &&
	    !memcmp(queue->last_path.buf, path, len))
		return queue->last_dir;

	strbuf_reset(&queue->last_path);
	strbuf_add(&queue->last_path, path, len);
	known = strmap_get(&queue->dir_of_path, queue->last_path.buf);
	if (known) {
		queue->last_dir = (uintptr_t)known - 1;
	} else {
		ALLOC_GROW(queue->dirs, queue->dirs_nr + 1, queue->dirs_alloc);
		memset(&queue->dirs[queue->dirs_nr], 0, sizeof(*queue->dirs));
		queue->last_dir = queue->dirs_nr++;
		strmap_put(&queue->dir_of_path, queue->last_path.buf,
			   (void *)(uintptr_t)queue->dirs_nr);
	}
	return queue->last_dir;
}

void queue_add(struct checkout_queue *queue, uint32_t id, const char *path)
{
	uint32_t number = find_dir(queue, path);
	struct queue_dir *dir = &queue->dirs[number];
	struct queue_slot *slot;

	if (id < queue->nr)
		BUG("checkout entries are not queued in order");
	ALLOC_GROW(queue->slots, (size_t)id + 1, queue->alloc);
	memset(queue->slots + queue->nr, 0,
	       (id + 1 - queue->nr) * sizeof(*queue->slots));
	queue->nr = (size_t)id + 1;
	queue->queued++;

	slot = &queue->slots[id];
	slot->dir = number;
	slot->queued = 1;
	if (dir->left)
		queue->slots[dir->last].next = id;
	else
		dir->first = id;
	dir->last = id;
	dir->left++;
	if (queue->dirs_head > number)
		queue->dirs_head = number;
}

int queue_first(struct checkout_queue *queue, uint32_t *id)
{
	while (queue->head < queue->nr && !queue->slots[queue->head].queued)
		queue->head++;
	if (queue->head == queue->nr)
		return -1;
	*id = queue->head;
	return 0;
}

/*
 * So many directories are looked at, which takes some microseconds, and only
 * where an operation takes much longer than that.
 */
#define DIRS_TO_CHOOSE_FROM 4096

/*
 * Of the first directories, the one where one more worker can do most. Look
 * further only if there is none that is not crowded.
 */
static uint32_t choose_dir(struct checkout_queue *queue)
{
	uint32_t best = QUEUE_NO_DIR;

	while (queue->dirs_head < queue->dirs_nr &&
	       !queue->dirs[queue->dirs_head].left)
		queue->dirs_head++;
	for (size_t i = queue->dirs_head; i < queue->dirs_nr; i++) {
		if (i - queue->dirs_head >= DIRS_TO_CHOOSE_FROM &&
		    best != QUEUE_NO_DIR &&
		    queue->dirs[best].workers < WORKERS_PER_DIR)
			break;
		if (queue->dirs[i].left &&
		    (best == QUEUE_NO_DIR ||
		     has_more(&queue->dirs[i], &queue->dirs[best])))
			best = i;
	}
	return best;
}

static uint32_t *dir_of_worker(struct checkout_queue *queue, int worker)
{
	while (queue->workers <= worker) {
		REALLOC_ARRAY(queue->worker_dir, queue->workers + 1);
		queue->worker_dir[queue->workers++] = QUEUE_NO_DIR;
	}
	return &queue->worker_dir[worker];
}

int queue_next(struct checkout_queue *queue, int worker, uint32_t *id)
{
	uint32_t *dir = dir_of_worker(queue, worker);

	if (*dir == QUEUE_NO_DIR || !queue->dirs[*dir].left) {
		if (*dir != QUEUE_NO_DIR)
			queue->dirs[*dir].workers--;
		*dir = choose_dir(queue);
		if (*dir == QUEUE_NO_DIR)
			return -1;
		queue->dirs[*dir].workers++;
	}
	*id = queue->dirs[*dir].first;
	return 0;
}

void queue_take(struct checkout_queue *queue, uint32_t id)
{
	struct queue_slot *slot = &queue->slots[id];
	struct queue_dir *dir = &queue->dirs[slot->dir];

	if (!slot->queued || dir->first != id)
		BUG("checkout entry is not the first of its directory");
	slot->queued = 0;
	dir->first = slot->next;
	dir->left--;
	queue->queued--;
}
