/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WAITING_LOOP_H
#define WAITING_LOOP_H

/*
 * A loop that threads share, many of them if each iteration has to wait.
 *
 * An lstat() takes a microsecond or two on a local file system, and as long as
 * a round trip on a network file system, where more threads are better. So the
 * thread that calls begins alone, and judges how long it had to wait for its
 * first looks. If that is a long round trip, there will be as many threads as
 * there may be; if not, as many as the caller asks for. More would then wait
 * for a processor, or in the line of the server. How long a look takes beside
 * others is not asked for that reason.
 *
 * Each thread works on a slice of its own, and takes half of the largest one
 * when that is done. So threads are far from each other: some file systems
 * serve the look-ups of one directory one after another.
 *
 * Where the system does not tell a thread whether it has waited (Linux and
 * FreeBSD do, with RUSAGE_THREAD), or limits the address space, there are no
 * more threads than the caller asks for. There may be fewer, or no other at
 * all, if the system does not give us any; then these do the work.
 */

#include "thread-utils.h"

#define WAITING_LOOP_MAX_THREADS 64

/* Iterations of one thread that have not been begun. */
struct waiting_loop_slice {
	size_t next, end;
};

struct waiting_loop {
	/* To be set by the caller; the rest to zeroes. */
	size_t nr;		/* iterations */
	void (*fn)(struct waiting_loop *loop);	/* called in each thread */
	void *data;		/* for fn() */

	/*
	 * The mutex is for what follows. fn() may use it for data of its own,
	 * but not while it calls waiting_loop_next().
	 */
	pthread_mutex_t mutex;
	struct waiting_loop_slice slices[WAITING_LOOP_MAX_THREADS];
	int slices_nr;
	pthread_t ids[WAITING_LOOP_MAX_THREADS];
	int threads;		/* started, and the caller */
	int wanted;		/* by the caller */
	unsigned is_judged : 1;
	uint64_t start_ns;
	long start_waits;
};

/* What a thread has been given to do. To be initialized with zeroes. */
struct waiting_loop_share {
	size_t begin, end;	/* iterations from begin to before end */
	struct waiting_loop_slice *slice;

	/* For the thread to count: what it did that may have had to wait. */
	size_t looks;
};

/*
 * Do all iterations, in `threads` threads, or in more if round trips are long,
 * and return when they are done. With `threads` 0, the loop is not worth a
 * thread, unless it waits: do some iterations to see whether they do, and the
 * rest only if so. Returns how many threads there were.
 */
int waiting_loop_run(struct waiting_loop *loop, int threads);

/* For fn(), to be called until it returns 0: a share is done, get the next. */
int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share);

#endif /* WAITING_LOOP_H */
