/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_POOL_H
#define PARALLEL_CHECKOUT_POOL_H

/*
 * The worker processes of a parallel checkout, the pipes to and from them, and
 * the event loop, pool_poll(). The pool knows nothing about where entries come
 * from or what becomes of a result: the caller decides which batch goes to
 * which worker, calls pool_poll(), and looks at the results.
 *
 * If this process ends before its pool was finished, the workers are told to
 * end, and waited for, but not for ever: what they were given and have not
 * answered is not written.
 */

#include "parallel-checkout/item.h"
#include "parallel-checkout/wire.h"
#include "run-command.h"
#include "strbuf.h"

/*
 * Batches that a worker may have at a time: the one that it works on, and the
 * next, so that it does not have to wait for us.
 */
#define POOL_BATCHES_PER_WORKER 2

/* A worker that is told to end and has not by then hangs. */
#define POOL_END_TIMEOUT_MS 4000

/* So long, it may take when it ends by itself, before it is told to. */
#define POOL_LINGER_MS 1000

struct pool_worker {
	/* cp.in is -1 if it takes no more, cp.out if it was lost. */
	struct child_process cp;
	struct strbuf out;		/* what is not in its pipe yet */
	size_t batch_start;		/* of the batch in there that is open */
	struct strbuf in;		/* from the worker: less than a frame */

	/* Of how many entries the unanswered batches are, oldest first. */
	size_t batch_len[POOL_BATCHES_PER_WORKER];
	int batches;

	unsigned answered : 1;		/* a batch, at least */
	unsigned filters : 1;		/* was given something to filter */
};

struct worker_pool {
	/*
	 * For the caller to set. Nobody asked for workers, so nobody is told
	 * that there are none; only that they seem to be those of another Git.
	 */
	unsigned quiet : 1;

	/* Likewise: workers may run filters, whose messages are to be seen. */
	unsigned may_filter : 1;

	/* Likewise: so many workers get batches, if that many are running. */
	int in_use;

	struct pool_worker *workers;
	int nr, alloc;		/* have been started; can be */
	int running;		/* have not been lost */
	unsigned starting : 1;	/* more, for which none is to end */

	/*
	 * What the last pool_poll() has brought. CHECKOUT_PENDING: the worker
	 * that had the entry has ended without an answer.
	 */
	struct checkout_result *results;
	size_t results_nr, results_alloc;

	/*
	 * By ID, the number, from 1 on, of the worker that has the entry;
	 * negative if it is delayed there; 0 if none has.
	 */
	int *holder;
	size_t holder_alloc;

	struct pollfd *pollfds;	/* two for each worker */

	/* What has been answered, and what was done for it. */
	uintmax_t batches, answers;
	struct checkout_outcome total;

	uint64_t waited_ns;	/* by pool_poll() */
	int lost_workers;	/* that ended before their work did */
	int to_report;		/* of these, by the caller */
};

/* Make a pool that has no worker, and will never have more than `max`. */
void pool_init(struct worker_pool *pool, int max);

/*
 * Start `nr` more processes, which run "git <args> --protocol=<n>", and use all
 * that there are. Returns how many could be started; that can be fewer, down to
 * none, as where poll() is forbidden. Unless the pool is quiet, the reason has
 * been reported then.
 *
 * What the processes say themselves is hidden, unless there is a trace: what
 * they could not do is done again. If they may filter, they get our standard
 * error for their filters alone.
 */
int pool_start(struct worker_pool *pool, int nr, const struct strvec *args);

/* How many running workers are in use? */
int pool_in_use(const struct worker_pool *pool);

/* Is there a worker in use that has not answered a batch yet? */
int pool_is_starting(const struct worker_pool *pool);

/*
 * Returns the worker in use that has the fewest unanswered batches, or -1 if
 * none takes any more.
 */
int pool_free_worker(const struct worker_pool *pool);

/*
 * Give items to a worker, which is one that pool_free_worker() returned; those
 * until pool_end_batch() are a batch, unless there is none. pool_add_item()
 * returns -1, and does nothing, if the batch has no room for the item; an empty
 * one has room for any whose path is not longer than POOL_MAX_PATH. Nothing is
 * written before the next pool_poll().
 */
#define POOL_MAX_PATH (WIRE_MAX_PAYLOAD / 2)

int pool_add_item(struct worker_pool *pool, int worker,
		  const struct checkout_item *item);
void pool_end_batch(struct worker_pool *pool, int worker);

/*
 * Move frames to and results from the workers, for as much as the pipes take
 * and hold. Waits for at most timeout_ms milliseconds, -1 meaning any time,
 * until there is something to be moved. Returns at once if no worker is
 * running. The results are in the pool until the next call. If the system does
 * not let us wait, all workers are ended.
 */
void pool_poll(struct worker_pool *pool, int timeout_ms);

/*
 * End the workers that hold nothing, reap them, and return 1, or 0 if there is
 * none. They have a second to end by themselves.
 */
int pool_give_way(struct worker_pool *pool);

/*
 * Once there is no unanswered batch, and nobody gives the workers anything any
 * more, ask them for what they hold that is delayed. Each of these entries is
 * answered once more, or lost.
 */
void pool_collect(struct worker_pool *pool);

/* Likewise, but let them end, and forget what is delayed. */
void pool_hang_up(struct worker_pool *pool);

/*
 * End the workers, wait for them, and free everything. One whose filters do not
 * end within a second is waited for when this process exits.
 */
void pool_finish(struct worker_pool *pool);

#endif /* PARALLEL_CHECKOUT_POOL_H */
