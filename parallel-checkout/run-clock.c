/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For how long a process has been running; see run-clock.h.
 */
#include "git-compat-util.h"
#include "dir.h"
#include "parallel-checkout/run-clock.h"
#include "strbuf.h"

#if defined(HAVE_CLOCK_GETTIME) && defined(CLOCK_PROCESS_CPUTIME_ID)
static uint64_t time_of_clock(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}
#endif

static uint64_t time_on_processor(void)
{
#if defined(HAVE_CLOCK_GETTIME) && defined(CLOCK_PROCESS_CPUTIME_ID)
	return time_of_clock(CLOCK_PROCESS_CPUTIME_ID);
#else
	return 0;
#endif
}

/*
 * The second number is the time for which a thread could have run. The first
 * one is the time for which it has; but that is only known as of the last tick.
 */
static uint64_t time_in_line(const char *path MAYBE_UNUSED)
{
	uint64_t ns = 0;
#ifdef __linux__
	struct strbuf buf = STRBUF_INIT;

	if (strbuf_read_file(&buf, path, 100) > 0)
		ns = strtoumax(buf.buf + strcspn(buf.buf, " "), NULL, 10);
	strbuf_release(&buf);
#endif
	return ns;
}

uint64_t run_clock_ns(void)
{
	uint64_t ns = time_on_processor();

	return ns ? ns + time_in_line("/proc/self/schedstat") : 0;
}

uint64_t run_clock_since(uint64_t start_ns)
{
	uint64_t ns = run_clock_ns();

	/* It goes back if there is no descriptor left for the second part. */
	return start_ns && ns > start_ns ? ns - start_ns : 0;
}

#ifdef __linux__
/* All threads of a process, of which git-lfs has a dozen. */
static uint64_t time_of_threads_in_line(pid_t pid)
{
	struct strbuf path = STRBUF_INIT;
	struct dirent *e;
	uint64_t ns = 0;
	size_t len;
	DIR *dir;

	strbuf_addf(&path, "/proc/%"PRIuMAX"/task/", (uintmax_t)pid);
	len = path.len;
	dir = opendir(path.buf);
	while (dir && (e = readdir_skip_dot_and_dotdot(dir))) {
		strbuf_setlen(&path, len);
		strbuf_addf(&path, "%s/schedstat", e->d_name);
		ns += time_in_line(path.buf);
	}
	if (dir)
		closedir(dir);
	strbuf_release(&path);
	return ns;
}
#endif

uint64_t run_clock_of_child(pid_t pid MAYBE_UNUSED)
{
#if defined(__linux__) && defined(HAVE_CLOCK_GETTIME)
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock))
		return time_of_clock(clock) + time_of_threads_in_line(pid);
#endif
	return 0;
}

uint64_t run_clock_of_past_children(void)
{
#ifdef __linux__
	struct rusage usage;

	if (!getrusage(RUSAGE_CHILDREN, &usage))
		return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
			(uint64_t)1000000000 +
			(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
			(uint64_t)1000;
#endif
	return 0;
}
