/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-lib.h"
#include "trace.h"
#include "waiting-loop.h"

struct rounds {
	unsigned char *done;
	int threads;		/* that have begun */
	int wait_us, spin_us;
	int without_looks;	/* the first ones */
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
			if (rounds->wait_us)
				poll(NULL, 0, rounds->wait_us / 1000);
			while (rounds->spin_us && getnanotime() < until)
				; /* busy */
		}
}

/* Returns how many iterations were done, or -1 if one was done twice. */
static int run(struct rounds *rounds, size_t nr, int start, int *threads)
{
	struct waiting_loop loop = { .nr = nr, .fn = iterate, .data = rounds };
	int n = 0;

	CALLOC_ARRAY(rounds->done, nr + 1);
	*threads = start ? waiting_loop_run(&loop, start) :
		waiting_loop_try(&loop);
	for (size_t i = 0; i < nr && n >= 0; i++)
		n = rounds->done[i] > 1 ? -1 : n + rounds->done[i];
	check_int(rounds->threads, ==, *threads);
	free(rounds->done);
	return n;
}

static void t_all_once(void)
{
	const size_t numbers[] = { 0, 1, 7, 8, 9, 100, 1000, 54321 };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (int start = 1; start <= 200; start = start * 3 + 1) {
			struct rounds rounds = { 0 };
			int threads, n = run(&rounds, numbers[i], start,
					     &threads);

			check_int(n, ==, numbers[i]);
			check_int(threads, ==,
				  start < WAITING_LOOP_MAX_THREADS ?
				  start : WAITING_LOOP_MAX_THREADS);
		}
}

static void t_waiting(void)
{
	struct rounds waiting = { .wait_us = 3000 };
	struct rounds few = { .wait_us = 3000 };
	struct rounds busy = { .spin_us = 200 };
	int threads;

#ifndef RUSAGE_THREAD
	test_skip("this system does not say whether a thread has waited");
	return;
#endif
	check_int(run(&waiting, 3000, 2, &threads), ==, 3000);
	check_int(threads, ==, WAITING_LOOP_MAX_THREADS);
	/* no more than there is work for */
	check_int(run(&few, 20, 1, &threads), ==, 20);
	check_int(threads, <=, 5);
	/* slow, but not waiting */
	check_int(run(&busy, 500, 3, &threads), ==, 500);
	check_int(threads, ==, 3);
}

static void t_try(void)
{
	struct rounds fast = { 0 };
	struct rounds waiting = { .wait_us = 3000 };
	struct rounds late = { .wait_us = 3000, .without_looks = 300 };
	int threads, n;

	n = run(&fast, 900, 0, &threads);
	check_int(threads, ==, 1);
	check_int(n, >, 0);
	check_int(n, <, 50);
	check_int(run(&(struct rounds){ 0 }, 0, 0, &threads), ==, 0);
	check_int(run(&(struct rounds){ 0 }, 3, 0, &threads), ==, 3);

#ifndef RUSAGE_THREAD
	return;
#endif
	check_int(run(&waiting, 900, 0, &threads), ==, 900);
	check_int(threads, >, 4);
	/* what does not even look does not tell */
	check_int(run(&late, 900, 0, &threads), ==, 900);
	check_int(threads, >, 4);
}

int cmd_main(int argc UNUSED, const char **argv UNUSED)
{
	if (!HAVE_THREADS)
		test_skip_all("no threads");
	TEST(t_all_once(), "each iteration is done once");
	TEST(t_waiting(), "more threads if they wait, and only then");
	TEST(t_try(), "a short loop is tried");

	return test_done();
}
