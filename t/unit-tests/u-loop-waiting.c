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
	int dirs;
};

static const char *const dirs[] = {
	"file", "a/file", "a/b/file", "a/bc/file", "d/file"
};

static const char *rounds_path(struct waiting_loop *loop, size_t i)
{
	struct rounds *rounds = loop->data;

	return dirs[rounds->dirs ? i % rounds->dirs : 0];
}

static void iterate(struct waiting_loop *loop)
{
	struct rounds *rounds = loop->data;
	struct waiting_loop_share share = { 0 };

	pthread_mutex_lock(&loop->mutex);
	rounds->threads++;
	pthread_mutex_unlock(&loop->mutex);

	while (waiting_loop_next(loop, &share))
		for (size_t pos = share.begin; pos < share.end; pos++) {
			uint64_t until = getnanotime() + rounds->spin_us * 1000;
			size_t i = waiting_loop_at(&share, pos);

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
		.path = rounds_path,
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
			/* none if the first share was all */
			cl_assert_equal_i(threads, numbers[i] > 4 ? max : 1);
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
	cl_assert_le_i(threads, 5);
	/* slow, but not waiting */
	cl_assert_equal_i(run(&busy, 100, 3, &threads), 100);
	cl_assert_equal_i(threads, 3);
	/* what waits beside others may do so because of them */
	cl_assert_equal_i(run(&beside, 300, 3, &threads), 300);
	cl_assert_equal_i(threads, 3);
	/* what does not even look does not tell */
	cl_assert_equal_i(run(&late, 1500, 2, &threads), 1500);
	cl_assert_gt_i(threads, 4);
	/* but threads do not wait for that forever */
	cl_assert_equal_i(run(&never, 20000, 3, &threads), 20000);
	cl_assert_equal_i(threads, 3);
}

void test_loop_waiting__waiting_in_directories(void)
{
	int threads;

	skip_unless_waiting_is_known();
	for (size_t nr = 1; nr <= ARRAY_SIZE(dirs); nr++) {
		struct rounds waiting = { .wait_us = 3000, .dirs = nr };
		struct rounds late = { .wait_us = 3000, .dirs = nr,
				       .without_looks = 300 };
		struct rounds busy = { .spin_us = 2000, .dirs = nr };

		/* more than there are directories: they help */
		cl_assert_equal_i(run(&waiting, 2000, 2, &threads), 2000);
		cl_assert_equal_i(threads, WAITING_LOOP_MAX_THREADS);
		cl_assert_equal_i(run(&late, 1000, 0, &threads), 1000);
		cl_assert_gt_i(threads, 4);
		cl_assert_equal_i(run(&busy, 60, 3, &threads), 60);
		cl_assert_equal_i(threads, 3);
	}
}

/* Files of directories that lie one between the other. */
struct files {
	unsigned char dir[1000], done[1000];
	size_t left[ARRAY_SIZE(dirs)];	/* of each directory */
	int has_begun, has_ended;
	struct strbuf wrong;
};

/*
 * A thread cannot leave the test as cl_assert() does; it notes what is wrong
 * first, and goes on if that makes sense.
 */
static int expect(struct files *files, const char *what, int got, int want)
{
	if (got == want)
		return 1;
	if (!files->wrong.len)
		strbuf_addf(&files->wrong, "%s: %d, expected %d", what, got,
			    want);
	return 0;
}

static const char *file_path(struct waiting_loop *loop, size_t i)
{
	struct files *files = loop->data;

	return dirs[files->dir[i]];
}

static size_t most_of(const size_t *left)
{
	size_t dir = 0;

	for (size_t i = 1; i < ARRAY_SIZE(dirs); i++)
		if (left[i] > left[dir])
			dir = i;
	return dir;
}

/* Returns the directory that the share is of, or -1 if it is of several. */
static int do_share(struct waiting_loop *loop,
		    struct waiting_loop_share *share, int wait_ms)
{
	struct files *files = loop->data;
	int dir = -1;

	if (!expect(files, "there is a share",
		    !!waiting_loop_next(loop, share), 1))
		return -1;
	for (size_t pos = share->begin; pos < share->end; pos++) {
		size_t i = waiting_loop_at(share, pos);

		dir = pos == share->begin || dir == files->dir[i] ?
			files->dir[i] : -1;
		files->left[files->dir[i]]--;
		files->done[i]++;
		share->looks++;
		if (wait_ms)
			poll(NULL, 0, wait_ms);
	}
	return dir;
}

/* One thread plays several, so that it is known who comes when. */
static void play(struct waiting_loop *loop)
{
	static const int largest_first[] = { 2, 0, 4, 3, 1 };
	struct files *files = loop->data;
	struct waiting_loop_share shares[ARRAY_SIZE(dirs)] = { 0 };
	struct waiting_loop_share late = { 0 };
	int has_begun, of[ARRAY_SIZE(dirs)];

	pthread_mutex_lock(&loop->mutex);
	has_begun = files->has_begun;
	files->has_begun = 1;
	pthread_mutex_unlock(&loop->mutex);
	if (has_begun)
		return;

	/* it has not been judged yet, so it gets what comes next */
	expect(files, "first share", do_share(loop, &shares[0], 3), -1);
	expect(files, "second share", do_share(loop, &shares[0], 3), -1);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		of[i] = do_share(loop, &shares[i], 0);
		expect(files, "directory of a thread", of[i], largest_first[i]);
	}
	expect(files, "directory of one that comes late",
	       do_share(loop, &late, 0), largest_first[0]);

	/* there is no other directory left, so a new one helps */
	while (files->left[most_of(files->left)]) {
		struct waiting_loop_share helper = { 0 };
		size_t before[ARRAY_SIZE(dirs)];
		int dir;

		COPY_ARRAY(before, files->left, ARRAY_SIZE(dirs));
		dir = do_share(loop, &helper, 0);
		if (!expect(files, "helps in one directory", dir >= 0, 1) ||
		    !expect(files, "files left where one helps", before[dir],
			    before[most_of(before)]))
			return;
		for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
			if (files->left[of[i]] &&
			    !expect(files, "directory that a thread stays in",
				    do_share(loop, &shares[i], 0), of[i]))
				return;
	}
	expect(files, "share behind the end",
	       !!waiting_loop_next(loop, &late), 0);
	files->has_ended = 1;
}

void test_loop_waiting__directories(void)
{
	static const size_t size[] = { 80, 20, 100, 40, 60 };
	struct files files = { .wrong = STRBUF_INIT };
	struct waiting_loop loop = {
		.fn = play,
		.path = file_path,
		.data = &files,
	};

	skip_unless_waiting_is_known();
	COPY_ARRAY(files.left, size, ARRAY_SIZE(size));
	for (size_t round = 0; round < 100; round++)
		for (size_t i = 0; i < ARRAY_SIZE(size); i++)
			if (round < size[i])
				files.dir[loop.nr++] = i;
	waiting_loop_run(&loop, 1);
	cl_assert_equal_s(files.wrong.buf, "");
	cl_assert_equal_i(files.has_ended, 1);
	for (size_t i = 0; i < loop.nr; i++)
		cl_assert_equal_i(files.done[i], 1);
	strbuf_release(&files.wrong);
}

/* One thread plays several again. */
static void play_slices(struct waiting_loop *loop)
{
	struct files *files = loop->data;
	struct waiting_loop_share shares[4] = { 0 };

	pthread_mutex_lock(&loop->mutex);
	if (files->has_begun++) {
		pthread_mutex_unlock(&loop->mutex);
		return;
	}
	pthread_mutex_unlock(&loop->mutex);

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		do_share(loop, &shares[i], 0);
		expect(files, "begin of a slice", shares[i].begin, 25 * i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		size_t end = shares[i].end;

		do_share(loop, &shares[i], 0);
		expect(files, "place in a slice", shares[i].begin, end);
	}
	while (waiting_loop_next(loop, &shares[0]))
		; /* nothing */
}

void test_loop_waiting__slices(void)
{
	struct files files = { .wrong = STRBUF_INIT };
	struct waiting_loop loop = {
		.nr = 100,
		.fn = play_slices,
		.path = file_path,
		.data = &files,
	};

	waiting_loop_run(&loop, 4);
	cl_assert_equal_s(files.wrong.buf, "");
	strbuf_release(&files.wrong);
}

/* There may then be as many as the caller asks for, and no more. */
void test_loop_waiting__limited(void)
{
#ifdef RLIMIT_AS
	struct rounds waiting = { .wait_us = 3000 };
	struct rlimit old, limit;
	int threads, n;

	cl_must_pass(getrlimit(RLIMIT_AS, &old));
	limit = old;
	/* too much to fail for, but a limit */
	limit.rlim_cur = RLIM_INFINITY / 4;
	if (setrlimit(RLIMIT_AS, &limit))
		cl_skip();
	n = run(&waiting, 300, 2, &threads);
	cl_must_pass(setrlimit(RLIMIT_AS, &old));
	cl_assert_equal_i(n, 300);
	cl_assert_equal_i(threads, 2);
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
