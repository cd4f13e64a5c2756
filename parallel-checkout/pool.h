/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_POOL_H
#define PARALLEL_CHECKOUT_POOL_H

/*
 * The worker processes of a parallel checkout: start them, feed them, collect
 * what they answer, notice when one is lost, and end them.
 *
 * The pool is passive. It owns the processes, the pipes and the event
 * loop, pool_poll(); it knows nothing about where entries come from or what
 * becomes of a result. The caller decides which batch goes to which worker,
 * calls pool_poll(), and then takes results and lost entries out of the pool.
 *
 * If this process ends before its pool was finished, the workers are told to
 * end, and waited for, but not for ever: what they were given and have not
 * answered is not written.
 */

#include "parallel-checkout/item.h"
#include "parallel-checkout/wire.h"
#include "run-command.h"
#include "strbuf.h"

struct git_hash_algo;

/*
 * Batches that a worker may have at a time: the one that it works on, and the
 * next, so that it does not have to wait for us.
 */
#define POOL_BATCHES_PER_WORKER 2

struct pool_worker {
	struct child_process cp;	/* cp.in is -1 if it takes no more */
	unsigned running : 1;
	unsigned answered : 1;	/* a batch, at least */

	/* Frames for the worker; the first out_sent bytes are in the pipe. */
	struct strbuf out;
	size_t out_sent, batch_start;

	/* From the worker: less than a frame. */
	struct strbuf in;

	/*
	 * IDs of the entries that were given to the worker and not answered
	 * yet: ids[ids_first..ids_nr), in the order of the answers to come.
	 */
	uint32_t *ids;
	size_t ids_first, ids_nr, ids_alloc;

	/* Of how many entries the unanswered batches are, oldest first. */
	size_t batch_len[POOL_BATCHES_PER_WORKER];
	int batches;

	/*
	 * Since it last had nothing to do, it was given something to filter,
	 * which may take any time.
	 */
	unsigned filters : 1;
	unsigned may_delay : 1;	/* it was ever given something that may be */
};

struct worker_pool {
	const struct git_hash_algo *algo;
	struct pool_worker *workers;
	int nr, alloc;		/* have been started; can be */
	int running;		/* have not been lost */

	/* How many get batches, if there are more; the first ones do. */
	int in_use;

	struct checkout_result *results;
	size_t results_first, results_nr, results_alloc;

	uint32_t *lost;
	size_t lost_nr, lost_alloc;

	/*
	 * By ID, who holds an entry that is delayed and answers once more: the
	 * number of the worker plus one, or 0.
	 */
	int *holder;
	size_t holder_nr;

	struct pollfd *pollfds;
	int *pollfd_worker;

	/*
	 * Nobody asked for workers, so nobody is told that there are none; only
	 * that they seem to be those of another Git.
	 */
	unsigned quiet : 1;

	/* The processes may run filters, whose messages are to be seen. */
	unsigned may_filter : 1;

	/* How many lost workers the user is told of by pool_finish(). */
	int to_report;

	/* What has been answered, and what was done for it. */
	uintmax_t batches, answers;
	struct checkout_outcome total;

	uint64_t waited_ns;	/* by pool_poll() */
	int lost_workers;	/* that ended before their work did */
};

/*
 * Make a pool that has no worker, and will never have more than `max`. With
 * `quiet`, nothing is said about workers that cannot be started, or end before
 * they have answered anything; only trace2 knows. Those whose exit code is that
 * of another Git (129 or 1) are reported even so.
 */
void pool_init(struct worker_pool *pool, int max,
	       const struct git_hash_algo *algo, int quiet);

/*
 * Start `nr` more processes, which run "git <args> --protocol=<n>", and use all
 * that there are. Returns how many could be started; that can be fewer, down to
 * none, as where poll() is forbidden, and the caller has to cope. Unless the
 * pool is quiet, the reason has been reported then.
 *
 * What the processes say themselves is hidden, unless there is a trace:
 * it is about their own troubles, and what they could not do is done again.
 * With pool->may_filter, they get our standard error for their filters alone.
 */
int pool_start(struct worker_pool *pool, int nr, const struct strvec *args);

/*
 * Give batches to `nr` workers only, which is at least 1; those that were lost
 * do not count. The others finish what they have, and wait.
 */
void pool_use(struct worker_pool *pool, int nr);

/* How many running workers are in use? */
int pool_in_use(const struct worker_pool *pool);

/* Is there a worker in use that has not answered a batch yet? */
int pool_is_starting(const struct worker_pool *pool);

/*
 * Returns the worker in use that has the fewest unanswered batches, or -1 if
 * none in use takes any more: they have POOL_BATCHES_PER_WORKER of them, or are
 * lost.
 */
int pool_free_worker(const struct worker_pool *pool);

/*
 * Give a batch to a worker, which is one that pool_free_worker() returned.
 * pool_add_item() returns -1, and does nothing, if the batch has no room for
 * the item; an empty one has room for any item whose path is not longer than
 * POOL_MAX_PATH. Nothing is written before the next pool_poll(), and a batch
 * without an item is none.
 */
#define POOL_MAX_PATH (WIRE_MAX_PAYLOAD / 2)

void pool_begin_batch(struct worker_pool *pool, int worker);
int pool_add_item(struct worker_pool *pool, int worker,
		  const struct checkout_item *item);
void pool_end_batch(struct worker_pool *pool, int worker);

/*
 * Move frames to and results from the workers, for as much as the pipes take
 * and hold. Waits for at most timeout_ms milliseconds, -1 meaning any time,
 * until there is something to be moved. Returns 0 at once if no worker is
 * running.
 */
void pool_poll(struct worker_pool *pool, int timeout_ms);

/* Take a result out of the pool. Returns 0 if there is none. */
int pool_next_result(struct worker_pool *pool, struct checkout_result *result);

/*
 * Take the ID of an entry out of the pool that was given to a worker which
 * ended without an answer. Returns 0 if there is none.
 */
int pool_next_lost(struct worker_pool *pool, uint32_t *id);

/*
 * Ask the workers for what they hold that is delayed, once nobody gives them
 * anything any more; there must be no unanswered batch. Each of these entries
 * is answered once more, or lost.
 */
void pool_collect(struct worker_pool *pool);

/*
 * Nobody will give the workers anything any more: let them end. There must be
 * no unanswered batch, and what they hold that is delayed is forgotten.
 */
void pool_hang_up(struct worker_pool *pool);

/*
 * End the workers, wait for them, and free everything. What they have not
 * answered is forgotten. One whose filters do not end within a second is waited
 * for when this process exits.
 */
void pool_finish(struct worker_pool *pool);

/*
 * For pool_poll(): the worker has ended, or cannot be understood any more. Reap
 * it, so that it is certain that it does not write any more, and put what it
 * has not answered on the list of lost entries.
 */
void pool_lose_worker(struct worker_pool *pool, struct pool_worker *worker);

#endif /* PARALLEL_CHECKOUT_POOL_H */
