/* SPDX-License-Identifier: GPL-2.0-only */
/* How many processors and workers we may have; see limits.h. */
#include "git-compat-util.h"
#include "parallel-checkout/limits.h"
#include "parse.h"
#include "strbuf.h"
#include "thread-utils.h"

#ifdef __linux__
#include <sched.h>
#endif

/* Descriptors that a worker takes in the main process: its two pipes. */
#define WORKER_FDS 2

/*
 * What the main process needs besides: each long-running filter takes two, and
 * one that is started seven.
 */
#define OWN_FDS 32

/*
 * poll() of compat/ waits for no more on Windows, and does not check that:
 * MsgWaitForMultipleObjects() takes 63 handles, of which one is its own.
 */
#define POLLED_ON_WINDOWS 62

static void at_most(int *limit, uintmax_t value)
{
	if (value < (uintmax_t)*limit)
		*limit = value;
}

#ifdef __linux__

static void read_affinity(struct checkout_limits *limits)
{
	cpu_set_t set[8];	/* NR_CPUS of the kernel is 8192 at most */

	if (!sched_getaffinity(0, sizeof(set), set))
		at_most(&limits->cores, CPU_COUNT_S(sizeof(set), set));
}

/* Leaves `buf` empty if there is no such file. */
static void read_text(const char *dir, const char *name, struct strbuf *buf)
{
	char *path = xstrfmt("%s/%s", dir, name);

	strbuf_reset(buf);
	strbuf_read_file(buf, path, 4096);
	strbuf_trim(buf);
	free(path);
}

static void read_cgroup(struct checkout_limits *limits, const char *dir)
{
	struct strbuf buf = STRBUF_INIT;
	unsigned long value, period;
	char *space;

	/* "<quota> <period>", or "max <period>" */
	read_text(dir, "cpu.max", &buf);
	space = strchr(buf.buf, ' ');
	if (space) {
		*space = '\0';
		if (git_parse_ulong(buf.buf, &value) &&
		    git_parse_ulong(space + 1, &period) && value && period)
			at_most(&limits->cores, DIV_ROUND_UP(value, period));
	}
	read_text(dir, "memory.max", &buf);
	if (git_parse_ulong(buf.buf, &value))
		at_most(&limits->max_workers, value / 2 / LIMITS_WORKER_MEMORY);
	strbuf_release(&buf);
}

static void read_cgroups(struct checkout_limits *limits, const char *root)
{
	struct strbuf buf = STRBUF_INIT, dir = STRBUF_INIT;
	const char *path;
	size_t top_len;

	/* The line that names ours is "0::<path>"; others are of version 1. */
	read_text(root, "proc/self/cgroup", &buf);
	path = strstr(buf.buf, "0::/");

	/* A limit of our cgroup, or of any above it, is a limit for us. */
	strbuf_addf(&dir, "%s/sys/fs/cgroup", root);
	top_len = dir.len;
	if (path) {
		path += strlen("0::");
		strbuf_add(&dir, path, strcspn(path, "\n"));
		do {
			read_cgroup(limits, dir.buf);
			strbuf_setlen(&dir, strrchr(dir.buf, '/') - dir.buf);
		} while (dir.len >= top_len);
	}
	strbuf_release(&buf);
	strbuf_release(&dir);
}

#endif /* __linux__ */

int limits_by_descriptors(void)
{
	int workers = INT_MAX;
#ifdef RLIMIT_NOFILE
	struct rlimit limit;

	/* RLIM_INFINITY is a large number. */
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		at_most(&workers, limit.rlim_cur > OWN_FDS ?
			(limit.rlim_cur - OWN_FDS) / WORKER_FDS : 0);
#endif
#ifdef GIT_WINDOWS_NATIVE
	at_most(&workers, POLLED_ON_WINDOWS / WORKER_FDS);
#endif
	return workers;
}

void limits_read(struct checkout_limits *limits,
		 const char *root MAYBE_UNUSED)
{
	limits->cores = online_cpus();
	limits->max_workers = LIMITS_MAX_WORKERS;
	at_most(&limits->max_workers, limits_by_descriptors());
#ifdef __linux__
	read_affinity(limits);
	read_cgroups(limits, root);
#endif
}
