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

/* More than what is left in a directory can make. */
#define NOT_CROWDED ((uint64_t)1 << 50)

/* In the ranking. */
struct ranked_dir {
	uint64_t rank;
	uint32_t number;
};

/* What one more worker could expect. */
static uint64_t rank_of(const struct queue_dir *dir)
{
	uint64_t share = (uint64_t)dir->left * 1024 / (dir->workers + 1);

	/* Where something is left, somebody has to go. */
	if (dir->left && !share)
		share = 1;
	return share && dir->workers < WORKERS_PER_DIR ?
		share + NOT_CROWDED : share;
}

/* The first is the one with the highest rank, or that came first. */
static int compare_ranks(const void *a, const void *b, void *data UNUSED)
{
	const struct ranked_dir *one = a, *two = b;

	if (one->rank != two->rank)
		return one->rank > two->rank ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

/*
 * More is left in a directory than there was. Expect that to go on, so that
 * this does not happen for each entry.
 */
static void raise_rank(struct checkout_queue *queue, uint32_t number)
{
	struct queue_dir *dir = &queue->dirs[number];
	struct ranked_dir *ranked = mem_pool_alloc(&queue->pool,
						   sizeof(*ranked));

	dir->rank = rank_of(dir) + (uint64_t)dir->left * 1024;
	ranked->rank = dir->rank;
	ranked->number = number;
	prio_queue_put(&queue->ranking, ranked);
}

void queue_init(struct checkout_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	mem_pool_init(&queue->pool, 0);
	queue->ranking.compare = compare_ranks;
	strmap_init(&queue->dir_of_path);
	strbuf_init(&queue->last_path, 0);
	queue->last_dir = QUEUE_NO_DIR;
}

void queue_release(struct checkout_queue *queue)
{
	free(queue->slots);
	free(queue->dirs);
	free(queue->worker_dir);
	clear_prio_queue(&queue->ranking);
	mem_pool_discard(&queue->pool, 0);
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
	if (rank_of(dir) > dir->rank)
		raise_rank(queue, number);
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
 * Of the directories that have room for a worker, which are all those that are
 * not crowded, or else of all, the one that has most left for it.
 */
static uint32_t choose_dir(struct checkout_queue *queue)
{
	struct ranked_dir *top;

	while ((top = prio_queue_peek(&queue->ranking))) {
		struct queue_dir *dir = &queue->dirs[top->number];
		uint64_t rank = rank_of(dir);

		if (top->rank == dir->rank && dir->rank == rank)
			return top->number;
		prio_queue_get(&queue->ranking);
		if (top->rank != dir->rank)
			continue;	/* it was put there again */
		dir->rank = rank;
		if (rank) {
			top->rank = rank;
			prio_queue_put(&queue->ranking, top);
		}
	}
	return QUEUE_NO_DIR;
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

int queue_same_dir(const struct checkout_queue *queue, uint32_t a, uint32_t b)
{
	return queue->slots[a].dir == queue->slots[b].dir;
}
