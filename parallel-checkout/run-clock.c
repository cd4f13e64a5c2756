/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long a process has been running; see run-clock.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/run-clock.h"

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
static uint64_t time_in_line(void)
{
	uint64_t ns = 0;
#ifdef __linux__
	int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	char buf[100], *end;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = xread(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n > 0) {
		buf[n] = '\0';
		strtoumax(buf, &end, 10);
		ns = strtoumax(end, NULL, 10);
	}
#endif
	return ns;
}

uint64_t run_clock_ns(void)
{
	uint64_t ns = time_on_processor();

	return ns ? ns + time_in_line() : 0;
}

uint64_t run_clock_since(uint64_t start_ns)
{
	uint64_t ns = run_clock_ns();

	/* It goes back if there is no descriptor left for the second part. */
	return start_ns && ns > start_ns ? ns - start_ns : 0;
}
