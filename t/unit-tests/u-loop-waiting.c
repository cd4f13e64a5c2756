/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "strbuf.h"
#include "trace.h"
#include "waiting-loop.h"

struct rounds {
	unsigned char *done;
	int threads;		/* that have begun */
	int wait_us, spin_us;
	int without_looks, without_waits;	/* the first ones */
};

static void iterate(struct waiting_loop *loop)
{
	struct rounds *rounds = loop->data;
	struct waiting_loop_share share = { 0 };

	pthread_mutex_lock(&loop->mutex);
	rounds->threads++;
	pthread_mutex_unlock(&loop->mutex);

	while (waiting_loop_next(loop, &share))
		for (size_t i = share.begin; i < share.end; i++) {
			uint64_t until = getnanotime() + rounds->spin_us * 1000;

			rounds->done[i]++;
			if (i < (size_t)rounds->without_looks)
				continue;
			share.looks++;
			if (rounds->wait_us &&
			    i >= (size_t)rounds->without_waits)
				poll(NULL, 0, rounds->wait_us / 1000);
			while (rounds->spin_us && getnanotime() < until)
				; /* busy */
		}
}

void test_loop_waiting__initialize(void)
{
	if (!HAVE_THREADS)
		cl_skip();
}

/* Not every system says whether a thread has waited. */
static void skip_unless_waiting_is_known(void)
{
#ifndef RUSAGE_THREAD
	cl_skip();
#endif
}

/* Returns how many iterations were done, or -1 if one was done twice. */
static int run(struct rounds *rounds, size_t nr, int start, int *threads)
{
	struct waiting_loop loop = {
		.nr = nr,
		.fn = iterate,
		.data = rounds,
	};
	int n = 0;

	CALLOC_ARRAY(rounds->done, nr + 1);
	*threads = waiting_loop_run(&loop, start);
	for (size_t i = 0; i < nr && n >= 0; i++)
		n = rounds->done[i] > 1 ? -1 : n + rounds->done[i];
	cl_assert_equal_i(rounds->threads, *threads);
	free(rounds->done);
	return n;
}

void test_loop_waiting__all_once(void)
{
	const size_t numbers[] = { 0, 1, 7, 8, 9, 100, 1000, 54321 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (int start = 1; start <= 200; start = start * 3 + 1) {
			struct rounds rounds = { 0 };
			int max = start < WAITING_LOOP_MAX_THREADS ?
				start : WAITING_LOOP_MAX_THREADS;
			int threads, n = run(&rounds, numbers[i], start,
					     &threads);

			cl_assert_equal_i(n, numbers[i]);
			/* none if the first looks were all */
			cl_assert_equal_i(threads, numbers[i] > 9 ? max : 1);
		}
}

void test_loop_waiting__waiting(void)
{
	struct rounds waiting = { .wait_us = 3000 };
	struct rounds few = { .wait_us = 3000 };
	struct rounds busy = { .spin_us = 2000 };
	struct rounds beside = { .wait_us = 3000, .without_waits = 20 };
	struct rounds late = { .wait_us = 3000, .without_looks = 300 };
	struct rounds never = { .without_looks = 20000 };
	int threads;

	skip_unless_waiting_is_known();
	cl_assert_equal_i(run(&waiting, 3000, 2, &threads), 3000);
	cl_assert_equal_i(threads, WAITING_LOOP_MAX_THREADS);
	/* no more than there is work for */
	cl_assert_equal_i(run(&few, 20, 1, &threads), 20);
	cl_assert_equal_i(threads, 12);
	/* slow, but not waiting */
	cl_assert_equal_i(run(&busy, 100, 3, &threads), 100);
	cl_assert_equal_i(threads, 3);
	/* what waits beside others may do so because of them */
	cl_assert_equal_i(run(&beside, 300, 3, &threads), 300);
	cl_assert_equal_i(threads, 3);
	/* what does not even look does not tell */
	cl_assert_equal_i(run(&late, 1500, 2, &threads), 1500);
	cl_assert_equal_i(threads, WAITING_LOOP_MAX_THREADS);
	/* but threads do not wait for that forever */
	cl_assert_equal_i(run(&never, 20000, 3, &threads), 20000);
	cl_assert_equal_i(threads, 3);
}

/* One thread plays several, so that it is known who comes when. */
static void play_slices(struct waiting_loop *loop)
{
	struct strbuf *log = loop->data;
	struct waiting_loop_share shares[4] = { 0 };
	int is_first;

	pthread_mutex_lock(&loop->mutex);
	is_first = !loop->slices_nr;
	pthread_mutex_unlock(&loop->mutex);
	if (!is_first)
		return;

	for (int i = 0; i < 8; i++) {
		waiting_loop_next(loop, &shares[0]);
		shares[0].looks++;
	}
	strbuf_addf(log, "alone to %d", (int)shares[0].end);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
			waiting_loop_next(loop, &shares[i]);
			shares[i].looks += shares[i].end - shares[i].begin;
			strbuf_addf(log, "\n%d: %d-%d", (int)i,
				    (int)shares[i].begin, (int)shares[i].end);
		}
	/* the others are slow, so this one does all that they leave */
	while (waiting_loop_next(loop, &shares[0]))
		shares[0].looks += shares[0].end - shares[0].begin;
	strbuf_addf(log, "\n0: %d looks", (int)shares[0].looks);
}

void test_loop_waiting__slices(void)
{
	struct strbuf log = STRBUF_INIT;
	struct waiting_loop loop = {
		.nr = 264,
		.fn = play_slices,
		.data = &log,
	};

	waiting_loop_run(&loop, 4);
	cl_assert_equal_s(log.buf, "alone to 8\n"
			  "0: 8-25\n1: 144-152\n2: 84-88\n3: 208-212\n"
			  "0: 25-29\n1: 152-156\n2: 88-92\n3: 212-216\n"
			  "0: 236 looks");
	strbuf_release(&log);
}

/* There may then be as many as the caller asks for, and no more. */
void test_loop_waiting__limited(void)
{
#ifdef RLIMIT_AS
	struct rounds waiting = { .wait_us = 3000 };
	struct rounds small = { .wait_us = 3000 };
	struct rlimit old, limit;
	int threads, small_threads, n, small_n;

	cl_must_pass(getrlimit(RLIMIT_AS, &old));
	limit = old;
	/* too much to fail for, but a limit */
	limit.rlim_cur = RLIM_INFINITY / 4;
	if (setrlimit(RLIMIT_AS, &limit))
		cl_skip();
	n = run(&waiting, 300, 2, &threads);
	small_n = run(&small, 300, 0, &small_threads);
	cl_must_pass(setrlimit(RLIMIT_AS, &old));
	cl_assert_equal_i(n, 300);
	cl_assert_equal_i(threads, 2);
	cl_assert_lt_i(small_n, 50);
	cl_assert_equal_i(small_threads, 1);
#else
	cl_skip();
#endif
}

void test_loop_waiting__try(void)
{
	struct rounds fast = { 0 };
	struct rounds waiting = { .wait_us = 3000 };
	struct rounds late = { .wait_us = 3000, .without_looks = 300 };
	int threads, n;

	n = run(&fast, 900, 0, &threads);
	cl_assert_equal_i(threads, 1);
	cl_assert_gt_i(n, 0);
	cl_assert_lt_i(n, 50);
	cl_assert_equal_i(run(&(struct rounds){ 0 }, 0, 0, &threads), 0);
	cl_assert_equal_i(run(&(struct rounds){ 0 }, 3, 0, &threads), 3);

#ifndef RUSAGE_THREAD
	return;
#endif
	cl_assert_equal_i(run(&waiting, 900, 0, &threads), 900);
	cl_assert_gt_i(threads, 4);
	/* what does not even look does not tell */
	cl_assert_equal_i(run(&late, 900, 0, &threads), 900);
	cl_assert_gt_i(threads, 4);
}
