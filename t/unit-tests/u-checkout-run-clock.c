/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long this process has been running, of which the policy of parallel
 * checkout makes its numbers of workers.
 */
#include "unit-test.h"
#include "parallel-checkout/run-clock.h"
#include "strbuf.h"
#include "trace.h"

#define PASSED_NS (300 * 1000 * 1000)

#ifdef __linux__
#include <sched.h>

/* Linux can be built without it, and told not to count. */
static int tells_waiting(void)
{
	struct strbuf buf = STRBUF_INIT;
	int ret = strbuf_read_file(&buf, "/proc/self/schedstat", 100) > 0 &&
		!starts_with(buf.buf, "0 ");

	strbuf_release(&buf);
	return ret;
}

/* From now on there is one processor for us, which may be shared. */
static void use_one_processor(void)
{
	cpu_set_t set, one;

	CPU_ZERO(&one);
	if (!sched_getaffinity(0, sizeof(set), &set))
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set)) {
				CPU_SET(cpu, &one);
				break;
			}
	sched_setaffinity(0, sizeof(one), &one);
}

static pid_t start_rival(void)
{
	pid_t pid = fork();

	cl_assert(pid >= 0);
	if (pid)
		return pid;
	alarm(30);
	for (;;)
		; /* run */
}

static void end_rival(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
#endif

static void run(void)
{
	uint64_t start_ns = getnanotime();

	while (getnanotime() - start_ns < PASSED_NS)
		; /* run */
}

static void wait_for_nothing(void)
{
	sleep_millisec(PASSED_NS / 1000000);
}

/* The part of the time for which we run, in percent. */
static int running_percent(void (*work)(void))
{
	uint64_t start_ns = getnanotime(), start_run_ns = run_clock_ns();

	work();
	return run_clock_since(start_run_ns) * 100 /
		(getnanotime() - start_ns);
}

/* Three that take turns run all the time, each of them. */
void test_checkout_run_clock__in_line(void)
{
#ifdef __linux__
	cpu_set_t before;
	pid_t rivals[2];
	int percent;

	if (!tells_waiting() ||
	    sched_getaffinity(0, sizeof(before), &before))
		cl_skip();
	use_one_processor();
	for (size_t i = 0; i < ARRAY_SIZE(rivals); i++)
		rivals[i] = start_rival();
	percent = running_percent(run);
	for (size_t i = 0; i < ARRAY_SIZE(rivals); i++)
		end_rival(rivals[i]);
	sched_setaffinity(0, sizeof(before), &before);
	cl_assert_ge_i(percent, 70);
#else
	cl_skip();
#endif
}

/* One that waits for something else does not. */
void test_checkout_run_clock__waiting(void)
{
	cl_assert_le_i(running_percent(wait_for_nothing), 30);
}

/* What is not known does not become a number. */
void test_checkout_run_clock__unknown(void)
{
	cl_assert_equal_i(run_clock_since(0), 0);
	cl_assert_equal_i(run_clock_since(UINT64_MAX), 0);
}
