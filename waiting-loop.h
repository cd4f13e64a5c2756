/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WAITING_LOOP_H
#define WAITING_LOOP_H

/*
 * A loop that threads share out, and that gets more threads while these wait.
 *
 * An lstat() takes a microsecond or two on a local file system, and as long as
 * a round trip on a network file system, where more threads are better as long
 * as the server can serve them. So the thread that calls begins alone, and
 * judges how long it had to wait for its first looks. If that is a long round
 * trip, each thread that still has to wait so long starts another one, so that
 * they double in number each time. If it is not, there are as many threads as
 * the caller asks for, and each has a slice of its own: with more of them, a
 * look would soon wait for a processor, or in the line of the server. How long
 * a look takes beside others is not asked for that reason.
 *
 * Some file systems serve the look-ups of one directory one after another;
 * threads that look there stand in line. So where round trips are long, each
 * gets a directory of its own, the one with most to do first, since that is
 * what takes longest. Threads that find no such directory (or slice) any more
 * help the others, which is of use where look-ups go side by side.
 *
 * Where the system does not tell a thread whether it has waited (Linux and
 * FreeBSD do, with RUSAGE_THREAD), or does not give us another one, or limits
 * the address space, the number stays as it is. There may be fewer than the
 * caller asks for, or no other at all; then these do the work.
 */

#include "thread-utils.h"

#define WAITING_LOOP_MAX_THREADS 64

/* What has not been begun of neighbouring positions. */
struct waiting_loop_run {
	size_t next, end;
};

struct waiting_loop {
	/* To be set by the caller, and constant; the rest to zeroes. */
	size_t nr;		/* iterations */
	void (*fn)(struct waiting_loop *loop);	/* called in each thread */
	void *data;		/* for fn() */

	/* The path that an iteration looks at. */
	const char *(*path)(struct waiting_loop *loop, size_t iteration);

	/* Set by waiting_loop_run(): how long a look is that has to wait. */
	uint64_t slow_ns;

	/*
	 * The mutex is for what follows. fn() may use it for data of its own,
	 * but not while it calls waiting_loop_next().
	 */
	pthread_mutex_t mutex;
	size_t left;		/* that nobody has begun */
	size_t *order;		/* by directory, if round trips are long */
	struct waiting_loop_run *runs;	/* the longest first; or slices */
	size_t runs_nr, runs_begun;
	struct waiting_loop_run **begun;	/* see longest_run() */
	size_t begun_nr;
	int threads;		/* started, and the caller */
	int start;		/* have so many when the caller has judged */
	pthread_t ids[WAITING_LOOP_MAX_THREADS];
	int slow_shares;	/* of the caller while it was alone */
	unsigned is_alone : 1;	/* the caller, until it has judged */
	unsigned is_slow : 1;	/* so it has judged */
	unsigned trying : 1;	/* see waiting_loop_run() */
	unsigned is_full : 1;	/* there are no more threads */
};

/* What a thread has been given to do. To be initialized with zeroes. */
struct waiting_loop_share {
	size_t begin, end;	/* positions; see waiting_loop_at() */
	const size_t *order;	/* the iteration at each, or NULL: the same */
	struct waiting_loop_run *run;	/* that they are from */

	/*
	 * To be counted by the thread: what it did that may have had to wait.
	 */
	size_t looks;

	/* when it was last judged, and what there had been by then */
	uint64_t since_ns;
	size_t since_looks;
	long since_waits;
};

/*
 * Do all iterations, in `threads` threads, or in more if round trips are long,
 * and return when they are done. With `threads` 0, the loop is too short to be
 * worth a thread, unless it waits: do some iterations to see whether they do,
 * and the rest only if so. Returns how many threads there were in the end.
 */
int waiting_loop_run(struct waiting_loop *loop, int threads);

/*
 * May there be more threads than the caller asks for? Not if the address space
 * is limited ("ulimit -v"): the stacks of 64 threads take half a gigabyte of
 * it, and there may be no memory left for anything else.
 */
int waiting_loop_may_grow(void);

/*
 * For fn(), until it returns 0: the share is done, unless it is a new one; get
 * the next.
 */
int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share);

/*
 * How often has this thread given up its processor to wait, in a system call or
 * for a page? 0 where the system does not tell (getrusage(2), RUSAGE_THREAD).
 */
long waiting_loop_waits(void);

/*
 * The iteration at a position of the share, from its begin to before its end.
 */
static inline size_t waiting_loop_at(const struct waiting_loop_share *share,
				     size_t position)
{
	return share->order ? share->order[position] : position;
}

#endif /* WAITING_LOOP_H */
