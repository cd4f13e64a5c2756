/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long a process has been running; see run-clock.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/run-clock.h"
#include "strbuf.h"

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
	struct strbuf buf = STRBUF_INIT;

	if (strbuf_read_file(&buf, "/proc/self/schedstat", 100) > 0)
		ns = strtoumax(buf.buf + strcspn(buf.buf, " "), NULL, 10);
	strbuf_release(&buf);
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
