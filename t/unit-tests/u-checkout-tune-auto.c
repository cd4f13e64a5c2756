/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy of checkout.workers=auto, on simulated machines.
 */
#include "unit-test.h"
#include "parallel-checkout/tune.h"

/*
 * A machine, simulated: what an entry needs of a processor, how long it has to
 * wait for something that many can wait for at the same time (a server), and
 * for how long it needs something that there is only one of (the arm of a
 * disk). Times are in microseconds.
 */
struct machine {
	int cores, max_workers;
	double cpu_us, wait_us, one_us;
};

struct outcome {
	double ms;
	int most, last;		/* workers */
};

#define START_US 1500		/* to start a worker */
#define STEP_US 5000

/* Entries per microsecond. */
static double speed(const struct machine *m, int workers)
{
	double rate = workers / (m->cpu_us + m->wait_us + m->one_us);

	if (m->cpu_us && rate > m->cores / m->cpu_us)
		rate = m->cores / m->cpu_us;
	if (m->one_us && rate > 1 / m->one_us)
		rate = 1 / m->one_us;
	return rate;
}

static double fixed_ms(const struct machine *m, int workers, size_t entries)
{
	return (entries / speed(m, workers) +
		(workers > 1 ? workers * START_US : 0)) / 1000;
}

static double best_ms(const struct machine *m, size_t entries)
{
	double best = fixed_ms(m, 1, entries);

	for (int workers = 2; workers <= m->max_workers; workers *= 2) {
		double ms = fixed_ms(m, workers, entries);

		if (ms < best)
			best = ms;
	}
	return best;
}

/* `workers` is that of those who did what is done, at least 1. */
static void take_sample(const struct machine *m, struct tune_sample *now,
			double now_us, double done, int workers, size_t entries)
{
	now->busy_ns += (done - now->entries) * workers /
		speed(m, workers) * 1000;
	now->now_ns = now_us * 1000;
	now->entries = done;
	now->queued = entries - (size_t)done;
	now->complete = 1;
	now->cores = m->cores;
	now->max_workers = m->max_workers;
}

/* Do `entries` entries as parallel-checkout.c would. */
static struct outcome run_auto(const struct machine *m, int threshold,
			       size_t entries)
{
	struct tune_sample now = { 0 };
	struct outcome outcome = { 0 };
	struct tune_auto tune = { 0 };
	double now_us = 0, done = 0;
	int workers = 0;

	while (done < entries && threshold < 0 && now.busy_ns < TUNE_ALONE_NS) {
		now_us += 1 / speed(m, 1);
		take_sample(m, &now, now_us, ++done, 1, entries);
	}
	if (now.queued) {
		workers = tune_auto_start(&tune, threshold, &now);
		outcome.most = workers;
		now_us += workers * START_US;
	}
	while (done < entries) {
		int want;

		now_us += STEP_US;
		done += STEP_US * speed(m, workers ? workers : 1);
		if (!workers || done >= entries)
			continue;
		now.workers = workers;
		take_sample(m, &now, now_us, done, workers, entries);
		want = tune_auto_next(&tune, &now);
		if (want > outcome.most) {
			/* Those that there are go on in the meantime. */
			double us = (want - outcome.most) * START_US;

			now_us += us;
			done += us * speed(m, workers);
			outcome.most = want;
		}
		workers = want;
	}
	outcome.ms = now_us / 1000;
	outcome.last = workers;
	return outcome;
}

static const struct machine ssd = { 2, 64, 40, 0, 2 };
static const struct machine large = { 32, 64, 40, 0, 0.5 };
static const struct machine nfs = { 2, 64, 60, 5000, 0 };
static const struct machine remote = { 2, 64, 60, 30000, 0 };
static const struct machine locked = { 2, 64, 60, 1000, 400 };
static const struct machine arm = { 2, 64, 60, 0, 12000 };
static const struct machine one_core = { 1, 64, 60, 0, 0 };

void test_checkout_tune_auto__near_best(void)
{
	const struct machine *all[] = {
		&ssd, &large, &nfs, &remote, &locked, &arm, &one_core
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		double seconds[] = { 2, 5, 20 };

		for (size_t j = 0; j < ARRAY_SIZE(seconds); j++) {
			size_t entries = seconds[j] * 1e6 *
				speed(all[i], all[i]->max_workers);
			struct outcome got = run_auto(all[i], -1, entries);
			double best = best_ms(all[i], entries);

			/* Of two seconds, trials take their part. */
			double limit = seconds[j] > 2 ? 1.10 : 1.15;

			if (got.ms > limit * best)
				cl_failf("machine %d, %d entries: %d ms, "
					 "best %d ms", (int)i, (int)entries,
					 (int)got.ms, (int)best);
		}
	}
}

void test_checkout_tune_auto__number(void)
{
	struct outcome got;

	got = run_auto(&ssd, -1, 80000);
	cl_assert_equal_i(got.most, 2);
	cl_assert_equal_i(got.last, 2);
	got = run_auto(&large, -1, 1000000);
	cl_assert_ge_i(got.last, 16);
	cl_assert_le_i(got.most, 32);
	got = run_auto(&nfs, -1, 20000);
	cl_assert_equal_i(got.last, 64);
	got = run_auto(&locked, -1, 20000);
	cl_assert_le_i(got.last, 32);
	got = run_auto(&one_core, -1, 100000);
	cl_assert_equal_i(got.most, 0);
}

/* What does not help does no harm either, and does not become more and more. */
void test_checkout_tune_auto__one_arm(void)
{
	struct outcome got = run_auto(&arm, -1, 1000);

	cl_assert_le_i(got.most, 16);
	cl_assert(got.ms <= 1.05 * fixed_ms(&arm, 1, 1000));
}

void test_checkout_tune_auto__limit(void)
{
	struct machine small = nfs;

	small.max_workers = 5;
	cl_assert_equal_i(run_auto(&small, -1, 5000).most, 5);
	small.max_workers = 1;
	cl_assert_equal_i(run_auto(&small, -1, 500).most, 0);
}

/* What takes no time is not worth a worker. */
void test_checkout_tune_auto__small(void)
{
	cl_assert_equal_i(run_auto(&ssd, -1, 1).most, 0);
	cl_assert_equal_i(run_auto(&ssd, -1, 400).most, 0);
	cl_assert_equal_i(run_auto(&ssd, -1, 2000).most, 2);
	cl_assert_equal_i(run_auto(&nfs, -1, 3).most, 0);
}

/* What a single entry takes tells that there is waiting, even with one core. */
void test_checkout_tune_auto__slow_first(void)
{
	const struct machine far_core = { 1, 64, 60, 30000, 0 };

	cl_assert_ge_i(run_auto(&far_core, -1, 1000).most, 32);
}

/* What there was in an interval. */
struct interval {
	double rate;		/* entries per second */
	double ms;		/* that each took its worker */
	int want;		/* how many workers there should be then */
};

/* Start as if the main process had waited, or not, and go through intervals. */
static void check_series(int cores, int waited, const struct interval *series,
			 size_t nr)
{
	const uint64_t ms = 1000 * 1000;
	struct tune_sample now = {
		.now_ns = 40 * ms,
		.busy_ns = 40 * ms,
		.entries = waited ? 10 : 1000,
		.queued = 1000000,
		.cores = cores,
		.max_workers = 64,
	};
	struct tune_auto tune = { 0 };
	double entries = now.entries, busy_ns = now.busy_ns;
	int workers = tune_auto_start(&tune, -1, &now);

	for (size_t i = 0; i < nr; i++) {
		/* the first results do not count, the others are judged */
		for (int phase = 0; phase < 2; phase++) {
			double done = series[i].rate / 10;

			now.workers = workers;
			now.now_ns += 100 * ms;
			now.entries = entries += done;
			now.busy_ns = busy_ns += done * series[i].ms * ms;
			cl_assert_equal_i(tune.workers, workers);
			tune_auto_next(&tune, &now);
		}
		workers = tune.workers;
		if (workers != series[i].want)
			cl_failf("%d workers after interval %d, expected %d",
				 workers, (int)i, series[i].want);
	}
}

/* As seen with two processors, and 1 and 5 ms for each operation. */
void test_checkout_tune_auto__recorded(void)
{
	const struct interval one_ms[] = {
		{ 1882, 4.2, 16 },
		{ 3166, 5.0, 32 },
		{ 4706, 6.8, 64 },
		/* 64 of them want more than the processors have */
		{ 4900, 13, 32 },
	};
	const struct interval five_ms[] = {
		{ 413, 19, 16 },
		{ 674, 23, 32 },
		{ 1191, 26, 64 },
		{ 2618, 24, 64 },
	};

	check_series(2, 1, one_ms, ARRAY_SIZE(one_ms));
	check_series(2, 1, five_ms, ARRAY_SIZE(five_ms));
}

/* After a trial in vain there is no other. */
void test_checkout_tune_auto__gain(void)
{
	const struct interval waiting[] = {
		{ 2000, 4, 16 },
		{ 2300, 7, 8 },
		{ 2000, 4, 8 },
		{ 4000, 2, 8 },
	};
	const struct interval waiting_less[] = {
		{ 2000, 4, 16 },
		{ 2700, 6, 32 },
	};
	const struct interval running[] = {
		{ 60000, 0.06, 8 },
		{ 75000, 0.1, 16 },
		{ 80000, 0.2, 8 },
	};

	check_series(16, 1, waiting, ARRAY_SIZE(waiting));
	check_series(16, 1, waiting_less, ARRAY_SIZE(waiting_less));
	check_series(16, 0, running, ARRAY_SIZE(running));
}

/* Another kind of work is judged again, and not by the last kind. */
void test_checkout_tune_auto__restart(void)
{
	struct tune_auto tune = {
		.phase = TUNE_DONE,
		.workers = 8,
		.last_workers = 4,
	};
	struct tune_sample now = { .cores = 16, .max_workers = 64 };

	tune_auto_restart(&tune);
	cl_assert_equal_i(tune_auto_next(&tune, &now), 8);
	now.now_ns = now.busy_ns = 100 * 1000 * 1000;
	now.entries = 16;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 16);
}

static int is_worth(int threshold, size_t queued, int complete)
{
	struct tune_auto tune = { 0 };
	struct tune_sample now = {
		.queued = queued,
		.complete = complete,
		.cores = 2,
		.max_workers = 64,
	};

	return !!tune_auto_start(&tune, threshold, &now);
}

void test_checkout_tune_auto__threshold(void)
{
	cl_assert(!is_worth(-1, 31, 1));
	cl_assert(is_worth(-1, 32, 1));
	cl_assert(!is_worth(0, 1, 1));
	cl_assert(is_worth(0, 2, 1));
	cl_assert(!is_worth(100, 99, 1));
	cl_assert(is_worth(100, 100, 1));
	cl_assert(!is_worth(100, 100, 0));
	cl_assert(!is_worth(100000, 99999, 0));
	cl_assert(is_worth(100000, 100000, 0));
}

/* Filters are worth it where nobody says anything of a threshold. */
void test_checkout_tune_auto__filters(void)
{
	struct tune_sample now = {
		.queued = 20, .cores = 2, .max_workers = 64
	};
	struct tune_auto tune = { 0 };

	for (int threshold = -1; threshold < 200; threshold += 101) {
		now.filter_cost = TUNE_WORTH_FILTERS - 1;
		cl_assert_equal_i(tune_auto_start(&tune, threshold, &now), 0);
		now.filter_cost = TUNE_WORTH_FILTERS;
		cl_assert_equal_i(tune_auto_start(&tune, threshold, &now),
				  threshold < 0 ? 2 : 0);
	}
}

/* Workers that have not done anything are not judged. */
void test_checkout_tune_auto__starting(void)
{
	const uint64_t ms = 1000 * 1000;
	struct tune_sample now = {
		.queued = 1000,
		.cores = 4,
		.max_workers = 64,
		.starting = 1,
	};
	struct tune_auto tune = { 0 };

	cl_assert_equal_i(tune_auto_start(&tune, -1, &now), 4);
	for (int i = 0; i < 10; i++) {
		now.now_ns += 50 * ms;
		now.busy_ns += 200 * ms;
		now.entries += 20;
		cl_assert_equal_i(tune_auto_next(&tune, &now), 4);
		cl_assert_equal_i(tune.phase, TUNE_SETTLING);
	}
	now.starting = 0;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 4);
	cl_assert_equal_i(tune.phase, TUNE_MEASURING);
	now.now_ns += 50 * ms;
	now.busy_ns += 200 * ms;
	now.entries += 20;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 8);
}

/* Towards the end, there is no trial any more. */
void test_checkout_tune_auto__end(void)
{
	const uint64_t ms = 1000 * 1000;

	for (int left = 39; left <= 40; left++) {
		struct tune_sample now = {
			.queued = 1000,
			.cores = 4,
			.max_workers = 64,
		};
		struct tune_auto tune = { 0 };

		cl_assert_equal_i(tune_auto_start(&tune, -1, &now), 4);
		cl_assert_equal_i(tune_auto_next(&tune, &now), 4);
		now.now_ns += 50 * ms;
		now.busy_ns += 200 * ms;
		now.entries += 20;
		now.queued = left;
		now.complete = 1;
		cl_assert_equal_i(tune_auto_next(&tune, &now),
				  left < 40 ? 4 : 8);
	}
}

/*
 * One process has done `entries` entries in `busy_us`; more are queued, and
 * none will be added.
 */
static struct tune_sample after(uint64_t entries, uint64_t busy_us,
				size_t queued)
{
	struct tune_sample now = {
		.now_ns = busy_us * 1000,
		.entries = entries,
		.busy_ns = busy_us * 1000,
		.queued = queued,
		.workers = 1,
		.cores = 4,
		.max_workers = 16,
		.complete = 1,
	};

	return now;
}

static int start(const struct tune_sample *now, int threshold)
{
	struct tune_auto tune = { 0 };

	return tune_auto_start(&tune, threshold, now);
}

static const char *why(struct tune_sample now)
{
	struct tune_auto tune = { 0 };

	cl_assert(tune_auto_start(&tune, -1, &now) > 0);
	return tune.why;
}

/* Each limit, on both of its sides. */
void test_checkout_tune_auto__waiting_limit(void)
{
	struct tune_sample now = after(100, 40000, 0);

	cl_assert(!tune_is_waiting(&now));
	now.busy_ns++;
	cl_assert(tune_is_waiting(&now));
	now = after(50, 40000, 0);
	now.bytes = 50 * 16 * 1024;
	cl_assert(!tune_is_waiting(&now));
	now.bytes--;
	cl_assert(tune_is_waiting(&now));

	/* eight share a processor */
	now = after(100, 80000, 0);
	now.workers = 32;
	cl_assert(!tune_is_waiting(&now));
	now.busy_ns++;
	cl_assert(tune_is_waiting(&now));

	/* as long as it is a guess */
	now = after(100, 10000, 0);
	now.workers = 20;
	cl_assert(!tune_is_waiting(&now));
	now.busy_ns--;
	cl_assert(tune_is_waiting(&now));
	now.workers = 16;
	cl_assert(!tune_is_waiting(&now));
}

void test_checkout_tune_auto__start_limit(void)
{
	struct tune_sample now;

	/* nothing is known */
	now = after(900, 9999, 32);
	cl_assert_equal_i(start(&now, -1), 4);
	now.queued--;
	cl_assert_equal_i(start(&now, -1), 0);

	/* the rest takes as long as what is done; or there are many */
	now = after(10, 10000, 10);
	cl_assert_equal_i(start(&now, -1), 8);
	now.queued--;
	cl_assert_equal_i(start(&now, -1), 0);
	now = after(1000, 10000, 256);
	cl_assert_equal_i(start(&now, -1), 4);
	now.queued--;
	cl_assert_equal_i(start(&now, -1), 0);

	/* with a threshold, while more are coming */
	now = after(0, 0, 256);
	now.complete = 0;
	cl_assert_equal_i(start(&now, 0), 4);
	now.queued--;
	cl_assert_equal_i(start(&now, 0), 0);

	/* no more workers than entries, if that is all */
	now = after(1, 10000, 3);
	cl_assert_equal_i(start(&now, -1), 3);
	now.complete = 0;
	cl_assert_equal_i(start(&now, -1), 8);
}

void test_checkout_tune_auto__reasons(void)
{
	cl_assert_equal_s(why(after(0, 0, 1000)), "there is enough to do");
	cl_assert_equal_s(why(after(1000, 9999, 1000)),
			  "there is enough to do");
	cl_assert_equal_s(why(after(1000, 10000, 1000)),
			  "the main process has been busy");
	cl_assert_equal_s(why(after(10, 10000, 1000)),
			  "the main process has waited");
}

/* The time that a batch is to take. */
void test_checkout_tune_auto__batch_time(void)
{
	struct tune_sample now = after(0, 0, 10000);

	cl_assert_equal_i(tune_batch_size(&now), 8);
	now = after(100, 10000, 10000);
	cl_assert_equal_i(tune_batch_size(&now), 40);
	now = after(10, 10000, 10000);
	cl_assert_equal_i(tune_batch_size(&now), 40);
}

void test_checkout_tune_auto__measure_limit(void)
{
	const struct tune_sample since = after(1000, 100000, 10000);
	const struct tune_auto measuring = {
		.phase = TUNE_MEASURING,
		.since = since,
		.workers = 2,
		.last_rate = 1e9,	/* of a trial that has ended */
	};
	struct tune_auto tune = measuring;
	struct tune_sample now = since;

	now.now_ns += 40 * 1000 * 1000;
	now.busy_ns += 400 * 1000;
	now.entries += 3;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 2);
	now.entries++;
	now.now_ns--;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 2);
	now.now_ns++;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 4);
	cl_assert_equal_s(tune.why, "more might be faster");

	/* there are no more to try */
	tune = measuring;
	tune.workers = 4;
	now.entries += 4;
	cl_assert_equal_i(tune_auto_next(&tune, &now), 4);
	cl_assert_equal_i(tune.phase, TUNE_MEASURING);
	cl_assert(!tune.why);
}
