/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that share out a loop; see waiting-loop.h.
 */
#include "git-compat-util.h"
#include "gettext.h"
#include "trace.h"
#include "waiting-loop.h"

/* Judge by this many looks, and give no more while threads are to be added. */
#define FIRST_SHARE 4

/* Do not come back for each few microseconds of work. */
#define MAX_SHARE 500

/* Less than this is no round trip. A new thread costs a fraction of it. */
#define SLOW_NS (100 * 1000)

/* How often has this thread given up its processor to wait? */
static long times_waited(void)
{
#ifdef RUSAGE_THREAD
	struct rusage usage;

	if (!getrusage(RUSAGE_THREAD, &usage))
		return usage.ru_nvcsw;
#endif
	return 0;
}

/*
 * A thread that does not get a processor is slow as well, but that is not what
 * it wants to wait for, and more threads would not help.
 */
static int has_waited(const struct waiting_loop_share *share)
{
	size_t looks = share->looks - share->since_looks;

	return times_waited() - share->since_waits >= (long)looks / 2 &&
		getnanotime() - share->since_ns >= looks * SLOW_NS;
}

static void *run_thread(void *data)
{
	struct waiting_loop *loop = data;

	loop->fn(loop);
	return NULL;
}

/* With the mutex. Returns -1 if there is none to be had. */
static int add_thread(struct waiting_loop *loop)
{
	if (loop->threads == WAITING_LOOP_MAX_THREADS ||
	    pthread_create(&loop->ids[loop->threads], NULL, run_thread, loop))
		return -1;
	loop->threads++;
	return 0;
}

int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share)
{
	int is_new = !share->end, waited = 0;
	int is_judged = share->looks - share->since_looks >= FIRST_SHARE;
	size_t left, size;

	if (is_judged)
		waited = has_waited(share);

	pthread_mutex_lock(&loop->mutex);
	if (loop->trying && is_judged) {
		if (!waited)
			loop->end = loop->next;
		loop->trying = 0;
	}
	left = loop->end - loop->next;
	if (waited && left > FIRST_SHARE)
		add_thread(loop);

	/* All should be done at about the same time. */
	size = left / (4 * (size_t)loop->threads);
	if (size > MAX_SHARE)
		size = MAX_SHARE;
	if (size < FIRST_SHARE || is_new || loop->trying ||
	    (waited && loop->threads < WAITING_LOOP_MAX_THREADS))
		size = FIRST_SHARE;
	if (size > left)
		size = left;
	share->begin = loop->next;
	share->end = loop->next += size;
	pthread_mutex_unlock(&loop->mutex);

	if (is_new || is_judged) {
		share->since_looks = share->looks;
		share->since_waits = times_waited();
		share->since_ns = getnanotime();
	}
	return !!size;
}

static int run(struct waiting_loop *loop, int threads, int trying)
{
	int n;

	if (threads > WAITING_LOOP_MAX_THREADS)
		threads = WAITING_LOOP_MAX_THREADS;
	pthread_mutex_init(&loop->mutex, NULL);
	loop->next = 0;
	loop->end = loop->nr;
	loop->threads = 1;
	loop->trying = !!trying;

	pthread_mutex_lock(&loop->mutex);
	while (loop->threads < threads && !add_thread(loop))
		; /* nothing */
	pthread_mutex_unlock(&loop->mutex);
	loop->fn(loop);

	/* A thread that is still there may start more. */
	pthread_mutex_lock(&loop->mutex);
	for (n = 1; n < loop->threads; n++) {
		pthread_mutex_unlock(&loop->mutex);
		if (pthread_join(loop->ids[n], NULL))
			die(_("unable to join a thread"));
		pthread_mutex_lock(&loop->mutex);
	}
	pthread_mutex_unlock(&loop->mutex);
	pthread_mutex_destroy(&loop->mutex);
	return n;
}

int waiting_loop_run(struct waiting_loop *loop, int threads)
{
	return run(loop, threads, 0);
}

int waiting_loop_try(struct waiting_loop *loop)
{
	return run(loop, 1, 1);
}
