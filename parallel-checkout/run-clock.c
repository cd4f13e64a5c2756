/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long a process has been running; see run-clock.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/run-clock.h"

void run_clock_init(struct run_clock *clock)
{
#ifdef __linux__
	clock->fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
#else
	clock->fd = -1;
#endif
}

void run_clock_release(struct run_clock *clock)
{
	if (clock->fd >= 0)
		close(clock->fd);
	clock->fd = -1;
}

static uint64_t time_on_processor(void)
{
#if defined(HAVE_CLOCK_GETTIME) && defined(CLOCK_PROCESS_CPUTIME_ID)
	struct timespec ts;

	if (!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts))
		return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
#endif
	return 0;
}

/*
 * The second number is the time for which the process could have run. The first
 * one is the time for which it has; but that is only known as of the last tick.
 */
static uint64_t time_in_line(const struct run_clock *clock)
{
	char buf[100], *end;
	ssize_t n;

	if (clock->fd < 0)
		return 0;
	n = pread(clock->fd, buf, sizeof(buf) - 1, 0);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	strtoumax(buf, &end, 10);
	return strtoumax(end, NULL, 10);
}

uint64_t run_clock_ns(const struct run_clock *clock)
{
	uint64_t ns = time_on_processor();

	return ns ? ns + time_in_line(clock) : 0;
}
