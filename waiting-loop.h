/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WAITING_LOOP_H
#define WAITING_LOOP_H

/*
 * A loop that threads share out, and that gets more threads while these wait.
 *
 * An lstat() takes a microsecond or two on a local file system, and as long as
 * a round trip on a network file system, where more threads are better as long
 * as the server can serve them. So each thread judges from time to time whether
 * its looks had to wait, and for how long. If that is as long as a round trip,
 * it starts another one, so that they double in number each time.
 *
 * Some file systems serve the look-ups of one directory one after another;
 * threads that look there stand in line. So as soon as one had to wait, each
 * gets a directory of its own, the one with most to do first, since that is
 * what takes longest. Threads that find no such directory any more help the
 * others, which is of use where look-ups of a directory go side by side.
 *
 * The thread that calls takes part. Where the system does not tell a thread
 * whether it has waited (Linux and FreeBSD do, with RUSAGE_THREAD), or does not
 * give us another one, the number stays as it is.
 */

#include "thread-utils.h"

#define WAITING_LOOP_MAX_THREADS 64

/* What has not been begun of neighbouring positions. */
struct waiting_loop_run {
	size_t next, end;
};

struct waiting_loop {
	/* To be set by the caller, and constant. */
	size_t nr;		/* iterations */
	void (*fn)(struct waiting_loop *loop);	/* called in each thread */
	void *data;		/* for fn() */

	/*
	 * The path that an iteration looks at; NULL if it does not matter which
	 * thread does which iterations.
	 */
	const char *(*path)(struct waiting_loop *loop, size_t iteration);

	/*
	 * The mutex is for what follows. fn() may use it for data of its own,
	 * but not while it calls waiting_loop_next().
	 */
	pthread_mutex_t mutex;
	size_t left;		/* that nobody has begun */
	struct waiting_loop_run all;	/* of all iterations in their order */
	size_t *order;		/* by directory, once a thread has waited */
	struct waiting_loop_run *runs;	/* of these, the longest first */
	size_t runs_nr, runs_begun;
	struct waiting_loop_run **begun;	/* maybe not done; see longest_run() */
	size_t begun_nr;
	int threads;		/* started, and the caller */
	int start;		/* have so many after the first share */
	pthread_t ids[WAITING_LOOP_MAX_THREADS];
	unsigned trying : 1;	/* see waiting_loop_try() */
	unsigned is_full : 1;	/* there are no more threads */
};

/* What a thread has been given to do. To be initialized with zeroes. */
struct waiting_loop_share {
	size_t begin, end;	/* positions; see waiting_loop_at() */
	const size_t *order;	/* the iteration at each, or NULL: the same */
	struct waiting_loop_run *run;	/* that they are from */

	/* To be counted by the thread: what it did that may have had to wait. */
	size_t looks;

	/* when it was last judged, and what there had been by then */
	uint64_t since_ns;
	size_t since_looks;
	long since_waits;
};

/*
 * Do all iterations, in `threads` threads at first, which is at least 1, and
 * return when they are done. Returns how many threads there were in the end.
 */
int waiting_loop_run(struct waiting_loop *loop, int threads);

/*
 * The same for a loop that is too short to be worth a thread, unless it waits:
 * do some iterations to see whether they do, and the rest only if so. Returns
 * how many threads there were in the end: 1 if they did not wait, if there was
 * too little left, or if there are no more.
 */
int waiting_loop_try(struct waiting_loop *loop);

/*
 * For fn(), until it returns 0: the share is done, unless it is a new one; get
 * the next.
 */
int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share);

/* The iteration at a position of the share, from its begin to before its end. */
static inline size_t waiting_loop_at(const struct waiting_loop_share *share,
				     size_t position)
{
	return share->order ? share->order[position] : position;
}

#endif /* WAITING_LOOP_H */
