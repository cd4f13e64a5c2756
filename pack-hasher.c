/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hashing the objects of a pack in other threads; see pack-hasher.h.
 */
#include "git-compat-util.h"
#include "hash.h"
#include "object-file.h"
#include "pack-hasher.h"
#include "parse.h"
#include "thread-utils.h"
#ifdef platform_SHA_IS_SHA1DC
#include "sha1-screen.h"
#endif

/* What may be in the queue, if it is more than one object. */
#define MAX_BYTES	(40 * 1024 * 1024)

/*
 * Objects are handed over in batches, since a lock and a wake-up cost as much
 * as hashing a small object. A batch is closed when it has this many bytes or
 * objects. The first is about a tenth of a millisecond of SHA-1, and lets a
 * few batches stay in the cache of a processor.
 */
#define BATCH_BYTES	(64 * 1024)
#define BATCH_JOBS	128

/*
 * How many batches may be in the queue, closed or not: enough to keep each
 * thread busy while some of them wait for the one before them.
 */
#define BATCHES_PER_THREAD	8

/* One thread parses the pack, and cannot keep more than this busy. */
#define MAX_THREADS	64

/* Of a batch that is closed. */
enum state {
	READY,		/* for whoever comes first */
	TAKEN,		/* somebody is at it */
	DONE,
};

struct batch {
	enum state state;
	unsigned nr;
	unsigned taken;		/* given back to the caller */
	size_t bytes;
	struct pack_hasher_job jobs[BATCH_JOBS];
	/* To be hashed again by the caller's thread, where it may die. */
	unsigned char again[BATCH_JOBS];
};

struct pack_hasher {
	const struct git_hash_algo *algo;
	unsigned batch_jobs;

	/*
	 * A ring. Batches from "head" up to "tail" are in the queue, where the
	 * one at "tail" is still open and nobody else's business; when the ring
	 * is full, there is none. The numbers only grow; batch_at() finds the
	 * place.
	 *
	 * What is in a batch belongs to the caller's thread while it is open or
	 * DONE, and to the one who took it while it is TAKEN. States, "next"
	 * and "tail" are guarded by the mutex; only the caller's thread changes
	 * "tail" and makes a batch READY.
	 */
	struct batch *ring;
	unsigned nr_ring;
	unsigned head;		/* the caller's thread alone */
	unsigned next;		/* the first one that is READY, or "tail" */
	unsigned tail;
	/* The caller's thread alone: */
	size_t bytes;		/* in the queue */
	int head_done;		/* seen to be */

	pthread_mutex_t mutex;
	pthread_cond_t ready;	/* there is a batch to hash, or to quit */
	pthread_cond_t done;	/* a batch became DONE */
	int nr_idle;		/* threads that wait for "ready" */
	int quit;

	/* The caller's thread alone: */
	pthread_t *threads;
	int nr_threads, max_threads;
};

static struct batch *batch_at(struct pack_hasher *h, unsigned number)
{
	return &h->ring[number % h->nr_ring];
}

/*
 * Hash an object. Where the hash algorithm would die because of a collision
 * attack, return -1, with an undefined name; or let it die, if it "may_die".
 */
static int hash_job(const struct git_hash_algo *algo,
		    const struct pack_hasher_job *job, int may_die)
{
	struct git_hash_ctx ctx;
	char hdr[64];
	int len = format_object_header(hdr, sizeof(hdr), job->type, job->size);

	algo->init_fn(&ctx);
	algo->update_fn(&ctx, hdr, len);
	algo->update_fn(&ctx, job->data, job->size);
#ifdef platform_SHA_IS_SHA1DC
	if (!may_die && algo->format_id == GIT_SHA1_FORMAT_ID) {
		unsigned char hash[GIT_MAX_RAWSZ];

		if (sha1_screen_final(hash, &ctx.state.sha1))
			return -1;
		oidread(job->oid, hash, algo);
		return 0;
	}
#endif
	algo->final_oid_fn(job->oid, &ctx);
	return 0;
}

static void hash_batch(struct pack_hasher *h, struct batch *b)
{
	for (unsigned i = 0; i < b->nr; i++)
		b->again[i] = hash_job(h->algo, &b->jobs[i], 0) < 0;
}

/* Hash the oldest batch, if there is one. Called with the mutex held. */
static int hash_next(struct pack_hasher *h)
{
	struct batch *b;

	if (h->next == h->tail)
		return 0;
	b = batch_at(h, h->next++);
	b->state = TAKEN;
	pthread_mutex_unlock(&h->mutex);
	hash_batch(h, b);
	pthread_mutex_lock(&h->mutex);
	b->state = DONE;
	pthread_cond_signal(&h->done);
	return 1;
}

static void *run_thread(void *data)
{
	struct pack_hasher *h = data;

	pthread_mutex_lock(&h->mutex);
	while (!h->quit) {
		if (hash_next(h))
			continue;
		h->nr_idle++;
		pthread_cond_wait(&h->ready, &h->mutex);
		h->nr_idle--;
	}
	pthread_mutex_unlock(&h->mutex);
	return NULL;
}

/* There is a new batch to hash. Called with the mutex held. */
static void call_thread(struct pack_hasher *h)
{
	if (h->nr_idle) {
		pthread_cond_signal(&h->ready);
	} else if (h->nr_threads < h->max_threads) {
		if (pthread_create(&h->threads[h->nr_threads], NULL,
				   run_thread, h))
			h->max_threads = h->nr_threads;
		else
			h->nr_threads++;
	}
}

/*
 * Wait until a batch is DONE, but hash as long as there is something to hash.
 */
static void wait_until_done(struct pack_hasher *h, const struct batch *b)
{
	pthread_mutex_lock(&h->mutex);
	while (b->state != DONE)
		if (!hash_next(h))
			pthread_cond_wait(&h->done, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}

static int is_full(struct pack_hasher *h)
{
	return h->tail - h->head == h->nr_ring;
}

static int is_empty(struct pack_hasher *h)
{
	return h->head == h->tail && !batch_at(h, h->tail)->nr;
}

/* Called with the mutex held. */
static void close_batch(struct pack_hasher *h)
{
	batch_at(h, h->tail)->state = READY;
	h->tail++;
}

int pack_hasher_is_limited(void)
{
#ifdef RLIMIT_AS
	struct rlimit lim;

	return !getrlimit(RLIMIT_AS, &lim) && lim.rlim_cur != RLIM_INFINITY;
#else
	return 0;
#endif
}

struct pack_hasher *pack_hasher_new(const struct git_hash_algo *algo,
				    int nr_threads)
{
	struct pack_hasher *h = xcalloc(1, sizeof(*h));

	if (!HAVE_THREADS || nr_threads < 0 || pack_hasher_is_limited())
		nr_threads = 0;
	if (nr_threads > MAX_THREADS)
		nr_threads = MAX_THREADS;
	h->algo = algo;
	h->batch_jobs = git_env_ulong("GIT_TEST_PACK_HASHER_BATCH", BATCH_JOBS);
	if (!nr_threads || !h->batch_jobs)
		h->batch_jobs = 1;
	if (h->batch_jobs > BATCH_JOBS)
		h->batch_jobs = BATCH_JOBS;
	h->nr_ring = nr_threads * BATCHES_PER_THREAD + 1;
	CALLOC_ARRAY(h->ring, h->nr_ring);
	h->max_threads = nr_threads;
	CALLOC_ARRAY(h->threads, nr_threads);
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->ready, NULL);
	pthread_cond_init(&h->done, NULL);
	return h;
}

void pack_hasher_end_threads(struct pack_hasher *h)
{
	if (!is_empty(h))
		BUG("threads of a pack hasher ended while in use");

	pthread_mutex_lock(&h->mutex);
	h->quit = 1;
	pthread_cond_broadcast(&h->ready);
	pthread_mutex_unlock(&h->mutex);
	for (int i = 0; i < h->nr_threads; i++)
		pthread_join(h->threads[i], NULL);
	h->nr_threads = h->max_threads = 0;
}

void pack_hasher_free(struct pack_hasher *h)
{
	pack_hasher_end_threads(h);
	pthread_mutex_destroy(&h->mutex);
	pthread_cond_destroy(&h->ready);
	pthread_cond_destroy(&h->done);
	free(h->threads);
	free(h->ring);
	free(h);
}

int pack_hasher_has_room(struct pack_hasher *h, size_t size)
{
	if (is_empty(h))
		return 1;
	return !is_full(h) &&
	       size <= MAX_BYTES && h->bytes <= MAX_BYTES - size;
}

void pack_hasher_add(struct pack_hasher *h, const struct pack_hasher_job *job)
{
	struct batch *b;

	if (is_full(h))
		BUG("no room in pack hasher");
	b = batch_at(h, h->tail);
	b->jobs[b->nr++] = *job;
	b->bytes += job->size;
	h->bytes += job->size;
	if (b->bytes < BATCH_BYTES && b->nr < h->batch_jobs)
		return;

	pthread_mutex_lock(&h->mutex);
	close_batch(h);
	call_thread(h);
	if (!h->max_threads)
		while (hash_next(h))
			; /* there is nobody else */
	pthread_mutex_unlock(&h->mutex);
}

static int head_is_done(struct pack_hasher *h)
{
	int done;

	pthread_mutex_lock(&h->mutex);
	done = batch_at(h, h->head)->state == DONE;
	pthread_mutex_unlock(&h->mutex);
	return done;
}

int pack_hasher_take(struct pack_hasher *h, struct pack_hasher_job *job,
		     int wait)
{
	struct batch *b;
	int again;

	if (h->head == h->tail) {
		if (!wait || is_empty(h))
			return 0;
		/* Only what is open is left; it is not worth a wake-up. */
		pthread_mutex_lock(&h->mutex);
		close_batch(h);
		pthread_mutex_unlock(&h->mutex);
	}
	b = batch_at(h, h->head);
	if (!h->head_done) {
		if (wait)
			wait_until_done(h, b);
		else if (!head_is_done(h))
			return 0;
		h->head_done = 1;
	}

	*job = b->jobs[b->taken];
	again = b->again[b->taken];
	h->bytes -= job->size;
	if (++b->taken == b->nr) {
		b->nr = b->taken = 0;
		b->bytes = 0;
		h->head++;
		h->head_done = 0;
	}

	/*
	 * Hash it in the very same way, and never let it pass: there is no name
	 * that could be given to it.
	 */
	if (again) {
		hash_job(h->algo, job, 1);
		BUG("a collision attack was seen in an object only once");
	}
	return 1;
}
