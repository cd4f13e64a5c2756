/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that share out a loop; see waiting-loop.h.
 */
#include "git-compat-util.h"
#include "gettext.h"
#include "strbuf.h"
#include "strmap.h"
#include "trace.h"
#include "waiting-loop.h"

/* Judge by this many looks, and give no more while threads are to be added. */
#define FIRST_SHARE 4

/*
 * There may be nothing to look at in a large part of the iterations. Do not
 * stay alone for more of them than this, as they take some time as well.
 */
#define MAX_ALONE 4000

/* Do not come back for each few microseconds of work. */
#define MAX_SHARE 500

/* The caller should not judge by what may have happened only once. */
#define SLOW_SHARES 2

/*
 * Less than SLOW_NS is no round trip; a new thread costs a fraction of it. As
 * long as it takes less than LONG_NS, the threads that the caller asks for are
 * enough to keep two processors busy.
 */
#define SLOW_NS (100 * 1000)
#define LONG_NS (500 * 1000)

long waiting_loop_waits(void)
{
#ifdef RUSAGE_THREAD
	struct rusage usage;

	if (!getrusage(RUSAGE_THREAD, &usage))
		return usage.ru_nvcsw;
#endif
	return 0;
}

int waiting_loop_may_grow(void)
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
static int has_waited(const struct waiting_loop *loop,
		      const struct waiting_loop_share *share)
{
	size_t looks = share->looks - share->since_looks;

	return waiting_loop_waits() - share->since_waits >= (long)looks / 2 &&
		getnanotime() - share->since_ns >= looks * loop->slow_ns;
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

/* With the mutex. */
static void start_threads(struct waiting_loop *loop)
{
	while (loop->threads < loop->start && !add_thread(loop))
		; /* nothing */
	loop->start = 0;
}

static size_t dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash - path : 0;
}

/* The longest first; as for the rest, the order is that of the paths. */
static int run_cmp(const void *a_, const void *b_)
{
	const struct waiting_loop_run *a = a_, *b = b_;
	size_t a_len = a->end - a->next, b_len = b->end - b->next;

	if (a_len != b_len)
		return a_len < b_len ? 1 : -1;
	return a->next < b->next ? -1 : a->next > b->next;
}

/* Number the directories of what is left, and count what each has. */
static size_t count_directories(struct waiting_loop *loop, const size_t *left,
				size_t *of, struct waiting_loop_run **runs)
{
	struct strintmap numbers;
	struct strbuf dir = STRBUF_INIT;
	size_t nr = 0, alloc = 0;

	strintmap_init(&numbers, -1);
	for (size_t i = 0; i < loop->left; i++) {
		const char *path = loop->path(loop, left[i]);
		size_t len = dir_len(path);

		if (i && len == dir.len && !memcmp(path, dir.buf, len)) {
			of[i] = of[i - 1];
		} else {
			strbuf_reset(&dir);
			strbuf_add(&dir, path, len);
			if (!strintmap_contains(&numbers, dir.buf)) {
				strintmap_set(&numbers, dir.buf, nr);
				ALLOC_GROW(*runs, nr + 1, alloc);
				(*runs)[nr++].end = 0;
			}
			of[i] = strintmap_get(&numbers, dir.buf);
		}
		(*runs)[of[i]].end++;
	}
	strintmap_clear(&numbers);
	strbuf_release(&dir);
	return nr;
}

/*
 * With the mutex. Make a run of what is left of each directory. Its files need
 * not be neighbours yet: those of its subdirectories lie between.
 */
static void order_by_directory(struct waiting_loop *loop)
{
	struct waiting_loop_run *runs = NULL;
	size_t *left, *of, nr, pos = 0;

	ALLOC_ARRAY(left, loop->left);
	ALLOC_ARRAY(of, loop->left);
	ALLOC_ARRAY(loop->order, loop->left);
	for (size_t i = 0; i < loop->runs_nr; i++)
		while (loop->runs[i].next < loop->runs[i].end)
			left[pos++] = loop->runs[i].next++;
	nr = count_directories(loop, left, of, &runs);
	pos = 0;
	for (size_t i = 0; i < nr; i++) {
		size_t count = runs[i].end;

		runs[i].next = runs[i].end = pos;
		pos += count;
	}
	for (size_t i = 0; i < loop->left; i++)
		loop->order[runs[of[i]].end++] = left[i];
	QSORT(runs, nr, run_cmp);
	free(loop->runs);
	loop->runs = runs;
	loop->runs_nr = nr;
	loop->runs_begun = 0;
	free(of);
	free(left);
}

/* With the mutex. All have been begun, and one at least is not done. */
static struct waiting_loop_run *longest_run(struct waiting_loop *loop)
{
	struct waiting_loop_run *longest = NULL;

	if (!loop->begun) {
		ALLOC_ARRAY(loop->begun, loop->runs_nr);
		for (size_t i = 0; i < loop->runs_nr; i++)
			loop->begun[i] = &loop->runs[i];
		loop->begun_nr = loop->runs_nr;
	}
	for (size_t i = 0; i < loop->begun_nr;) {
		struct waiting_loop_run *run = loop->begun[i];

		if (run->next == run->end) {
			loop->begun[i] = loop->begun[--loop->begun_nr];
			continue;
		}
		if (!longest ||
		    run->end - run->next > longest->end - longest->next)
			longest = run;
		i++;
	}
	return longest;
}

/* With the mutex. Where is the thread to go on? It stays while it can. */
static struct waiting_loop_run *find_run(struct waiting_loop *loop,
					 const struct waiting_loop_share *share)
{
	if (share->run && share->order == loop->order &&
	    share->run->next < share->run->end)
		return share->run;
	if (loop->runs_begun < loop->runs_nr)
		return &loop->runs[loop->runs_begun++];
	return longest_run(loop);
}

/* With the mutex. All should be done at about the same time. */
static size_t share_size(const struct waiting_loop *loop,
			 const struct waiting_loop_run *run, int is_small)
{
	size_t size = loop->left / (4 * (size_t)loop->threads);

	if (size > MAX_SHARE)
		size = MAX_SHARE;
	if (size < FIRST_SHARE || is_small)
		size = FIRST_SHARE;
	return size < run->end - run->next ? size : run->end - run->next;
}

/* With the mutex. */
static void take_share(struct waiting_loop *loop,
		       struct waiting_loop_share *share, int is_small)
{
	struct waiting_loop_run *run = find_run(loop, share);

	share->run = run;
	share->order = loop->order;
	share->begin = run->next;
	share->end = run->next += share_size(loop, run, is_small);
	loop->left -= share->end - share->begin;
}

/* With the mutex. What do the first looks tell, if there have been any? */
static void judge_alone(struct waiting_loop *loop, int is_judged, int waited)
{
	if (!is_judged && (loop->trying || loop->nr - loop->left < MAX_ALONE))
		return;
	if (waited && ++loop->slow_shares < SLOW_SHARES)
		return;
	loop->is_alone = 0;
	loop->is_slow = !!waited;
	if (loop->is_slow)
		order_by_directory(loop);
	else if (loop->trying)
		loop->left = 0;
}

int waiting_loop_next(struct waiting_loop *loop,
		      struct waiting_loop_share *share)
{
	int is_new = !share->end, waited = 0, is_more;
	int is_judged = share->looks - share->since_looks >= FIRST_SHARE;

	if (is_judged)
		waited = has_waited(loop, share);

	pthread_mutex_lock(&loop->mutex);
	if (loop->is_alone && !is_new)
		judge_alone(loop, is_judged, waited);
	if (loop->left && !loop->is_alone)
		start_threads(loop);
	waited = waited && loop->is_slow && !loop->is_full;
	if (waited && loop->left > FIRST_SHARE && add_thread(loop))
		loop->is_full = 1;

	is_more = !!loop->left;
	if (is_more)
		take_share(loop, share, is_new || loop->is_alone || waited);
	pthread_mutex_unlock(&loop->mutex);

	if (is_new || is_judged) {
		share->since_looks = share->looks;
		share->since_waits = waiting_loop_waits();
		share->since_ns = getnanotime();
	}
	return is_more;
}

/* One for each thread that the caller asks for. */
static void slice(struct waiting_loop *loop, size_t nr)
{
	ALLOC_ARRAY(loop->runs, nr);
	for (size_t i = 0; i < nr; i++) {
		loop->runs[i].next = i ? loop->runs[i - 1].end : 0;
		loop->runs[i].end = st_mult(loop->nr, i + 1) / nr;
	}
	loop->runs_nr = nr;
}

int waiting_loop_run(struct waiting_loop *loop, int threads)
{
	size_t slices = threads ? threads : 1;
	int n;

	pthread_mutex_init(&loop->mutex, NULL);
	loop->left = loop->nr;
	slice(loop, slices < loop->nr ? slices : loop->nr);
	loop->threads = 1;
	loop->start = threads;
	loop->trying = !threads;
	loop->slow_ns = loop->trying ? SLOW_NS : LONG_NS;
	loop->is_alone = 1;
	loop->is_full = !waiting_loop_may_grow();

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
	free(loop->runs);
	free(loop->order);
	free(loop->begun);
	return n;
}
