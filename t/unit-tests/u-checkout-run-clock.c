/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long a child has been running, of which the policy of parallel
 * checkout makes its numbers of workers.
 */
#include "unit-test.h"
#include "parallel-checkout/run-clock.h"
#include "trace.h"

#ifdef __linux__
#include <sched.h>

#define PASSED_NS (300 * 1000 * 1000)

/* Linux can be built without it, and told not to count. */
static int tells_waiting(void)
{
	struct strbuf buf = STRBUF_INIT;
	int ret = strbuf_read_file(&buf, "/proc/self/schedstat", 100) > 0 &&
		!starts_with(buf.buf, "0 ");

	strbuf_release(&buf);
	return ret;
}

/* A child that has the first of our processors alone, or shares it. */
static pid_t start_child(void (*work)(void))
{
	cpu_set_t set, one;
	pid_t pid = fork();

	cl_assert(pid >= 0);
	if (pid)
		return pid;
	CPU_ZERO(&one);
	if (!sched_getaffinity(0, sizeof(set), &set))
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set)) {
				CPU_SET(cpu, &one);
				break;
			}
	sched_setaffinity(0, sizeof(one), &one);
	alarm(30);
	for (;;)
		work();
}

static void run(void)
{
}

static void wait_for_nothing(void)
{
	pause();
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The part of the time for which a child runs, in percent. */
static int running_percent(pid_t pid)
{
	uint64_t start_ns, ran_ns, passed_ns;

	sleep_millisec(20);	/* it may not be what it will be yet */
	start_ns = getnanotime();
	ran_ns = run_clock_of_child(pid);
	sleep_millisec(PASSED_NS / 1000000);
	ran_ns = run_clock_of_child(pid) - ran_ns;
	passed_ns = getnanotime() - start_ns;
	return ran_ns * 100 / passed_ns;
}
#endif

/* Three that take turns run all the time, each of them. */
void test_checkout_run_clock__in_line(void)
{
#ifdef __linux__
	pid_t pids[3];
	int percent;

	if (!tells_waiting())
		cl_skip();
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = start_child(run);
	percent = running_percent(pids[0]);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		end_child(pids[i]);
	cl_assert_ge_i(percent, 70);
#else
	cl_skip();
#endif
}

/* One that waits for something else does not. */
void test_checkout_run_clock__waiting(void)
{
#ifdef __linux__
	pid_t pid = start_child(wait_for_nothing);
	int percent = running_percent(pid);
	uint64_t ns = run_clock_of_child(pid);

	end_child(pid);
	cl_assert_le_i(percent, 30);
	cl_assert(ns > 0);	/* to begin with, it has run */
#else
	cl_skip();
#endif
}

void test_checkout_run_clock__no_child(void)
{
#ifdef __linux__
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	cl_assert_equal_i(run_clock_of_child(pid), 0);
#else
	cl_skip();
#endif
}
