/* SPDX-License-Identifier: GPL-2.0-only */
/* A loop that more threads join where it waits; see waiting-loop.h. */
#include "git-compat-util.h"
#include "gettext.h"
#include "trace.h"
#include "waiting-loop.h"

/* Judge by so many looks. */
#define FIRST_LOOKS 8

/*
 * There may be nothing to look at in a large part of the iterations. Do not
 * stay alone for more of them than this, as they take some time as well.
 */
#define MAX_ALONE 4000

/* Larger shares would not make it faster to get them. */
#define MAX_SHARE 100

/*
 * Less than SLOW_NS is no round trip; a new thread costs a fraction of it. As
 * long as it takes less than LONG_NS, the threads that the caller asks for are
 * enough to keep two processors busy.
 */
#define SLOW_NS (100 * 1000)
#define LONG_NS (500 * 1000)

/*
 * How often has this thread given up its processor to wait? 0 where the system
 * does not tell.
 */
static long count_waits(void)
{
#ifdef RUSAGE_THREAD
	struct rusage usage;

	if (!getrusage(RUSAGE_THREAD, &usage))
		return usage.ru_nvcsw;
#endif
	return 0;
}

/*
 * The stacks of 64 threads take half a gigabyte of the address space. If that
 * is limited ("ulimit -v"), there may be no memory left for anything else.
 */
static int may_have_more_threads(void)
{
#ifdef RLIMIT_AS
	struct rlimit lim;

	return getrlimit(RLIMIT_AS, &lim) || lim.rlim_cur == RLIM_INFINITY;
#else
	return 1;
#endif
}

/*
 * A thread that does not get a processor is slow as well, but that is not what
 * it wants to wait for, and more threads would not help.
 */
static int has_waited(const struct waiting_loop *loop, size_t looks)
{
	uint64_t slow_ns = loop->wanted ? LONG_NS : SLOW_NS;

	return looks >= FIRST_LOOKS &&
		count_waits() - loop->start_waits >= (long)looks / 2 &&
		getnanotime() - loop->start_ns >= looks * slow_ns;
}

static void *run_thread(void *data)
{
	struct waiting_loop *loop = data;

	loop->fn(loop);
	return NULL;
}

/* With the mutex. The caller, which has been alone, has the only slice. */
static void judge(struct waiting_loop *loop, size_t looks)
{
	struct waiting_loop_slice *slice = &loop->slices[0];
	size_t max = loop->wanted;

	loop->is_judged = 1;
	if (has_waited(loop, looks) && may_have_more_threads())
		max = WAITING_LOOP_MAX_THREADS;
	else if (!max)
		slice->end = slice->next;
	if (max > slice->end - slice->next)
		max = slice->end - slice->next;
	while ((size_t)loop->threads < max &&
	       !pthread_create(&loop->ids[loop->threads], NULL, run_thread,
			       loop))
		loop->threads++;
}

/* With the mutex. The slice is done; get half of the largest one. */
static void refill(struct waiting_loop *loop, struct waiting_loop_slice *slice)
{
	struct waiting_loop_slice *largest = slice;

	for (int i = 0; i < loop->slices_nr; i++) {
		struct waiting_loop_slice *s = &loop->slices[i];

		if (s->end - s->next > largest->end - largest->next)
			largest = s;
	}
	slice->end = largest->end;
	slice->next = largest->next + (largest->end - largest->next) / 2;
	largest->end = slice->next;
}

int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share)
{
	struct waiting_loop_slice *slice;
	size_t size = 1;

	pthread_mutex_lock(&loop->mutex);
	if (!share->slice)
		share->slice = &loop->slices[loop->slices_nr++];
	slice = share->slice;
	if (!loop->is_judged &&
	    (share->looks >= FIRST_LOOKS || share->end >= MAX_ALONE))
		judge(loop, share->looks);
	if (slice->next == slice->end)
		refill(loop, slice);

	/* Leave enough for others, who may be done sooner. */
	if (loop->is_judged)
		size += (slice->end - slice->next) / 16;
	if (size > MAX_SHARE)
		size = MAX_SHARE;
	if (size > slice->end - slice->next)
		size = slice->end - slice->next;
	share->begin = slice->next;
	share->end = slice->next += size;
	pthread_mutex_unlock(&loop->mutex);
	return !!size;
}

int waiting_loop_run(struct waiting_loop *loop, int threads)
{
	pthread_mutex_init(&loop->mutex, NULL);
	loop->slices[0].end = loop->nr;
	loop->threads = 1;
	loop->wanted = threads < WAITING_LOOP_MAX_THREADS ?
		threads : WAITING_LOOP_MAX_THREADS;
	loop->start_waits = count_waits();
	loop->start_ns = getnanotime();

	loop->fn(loop);

	/* Only this thread, while it was alone, has started any. */
	for (int i = 1; i < loop->threads; i++)
		if (pthread_join(loop->ids[i], NULL))
			die(_("unable to join a thread"));
	pthread_mutex_destroy(&loop->mutex);
	return loop->threads;
}
