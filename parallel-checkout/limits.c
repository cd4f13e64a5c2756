/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many processors and workers this machine lets us have: the scheduler's
 * mask, the limits of cgroups, memory and descriptors. Whatever cannot be read
 * or understood is no limit.
 */
#include "git-compat-util.h"
#include "parallel-checkout/limits.h"
#include "strbuf.h"
#include "thread-utils.h"

#ifdef __linux__
#include <sched.h>
#endif

static void at_most(int *limit, uintmax_t value)
{
	if (value < (uintmax_t)*limit)
		*limit = value;
}

#ifdef __linux__

static int cpus_allowed(void)
{
#ifdef CPU_COUNT_S
	cpu_set_t set[8];	/* NR_CPUS of the kernel is 8192 at most */

	if (!sched_getaffinity(0, sizeof(set), set)) {
		int nr = CPU_COUNT_S(sizeof(set), set);

		if (nr > 0)
			return nr;
	}
#endif
	return INT_MAX;
}

/* A number and what comes after it; "max" is none. Returns -1 if it is none. */
static int parse_number(const char *text, uintmax_t *value, const char **end)
{
	char *stop;

	if (!isdigit(*text))
		return -1;
	errno = 0;
	*value = strtoumax(text, &stop, 10);
	if (errno || (*stop && !isspace(*stop)))
		return -1;
	while (isspace(*stop))
		stop++;
	*end = stop;
	return 0;
}

/* Read a file; `buf` is empty if there is none. */
static void read_text(const char *dir, const char *name, struct strbuf *buf)
{
	struct strbuf path = STRBUF_INIT;

	strbuf_addf(&path, "%s/%s", dir, name);
	strbuf_reset(buf);
	if (strbuf_read_file(buf, path.buf, 4096) < 0)
		strbuf_reset(buf);
	strbuf_release(&path);
}

static void add_cgroup(struct checkout_limits *limits, const char *dir)
{
	struct strbuf buf = STRBUF_INIT;
	uintmax_t value, period;
	const char *end;

	read_text(dir, "cpu.max", &buf);
	if (!parse_number(buf.buf, &value, &end) &&
	    !parse_number(end, &period, &end) && period)
		at_most(&limits->cpu_quota,
			value / period + !!(value % period));
	read_text(dir, "memory.max", &buf);
	if (!parse_number(buf.buf, &value, &end) && !*end)
		at_most(&limits->by_memory, value / 2 / LIMITS_WORKER_MEMORY);
	strbuf_release(&buf);
}

/*
 * A limit of our cgroup, or of any above it, is a limit for us. The line that
 * names ours is "0::<path>"; the others are of cgroups of version 1.
 */
static void read_cgroups(struct checkout_limits *limits, const char *root)
{
	struct strbuf cgroups = STRBUF_INIT, dir = STRBUF_INIT;
	const char *line, *path = NULL;
	size_t mount_len;

	read_text(root, "proc/self/cgroup", &cgroups);
	for (line = cgroups.buf; *line && !path; line += !!*line) {
		skip_prefix(line, "0::", &path);
		line = strchrnul(line, '\n');
	}
	if (!path || *path != '/')
		goto out;

	strbuf_addf(&dir, "%s/sys/fs/cgroup", root);
	mount_len = dir.len;

	/* Outside of what we see; so that can only be our own. */
	if (!starts_with(path, "/.."))
		strbuf_add(&dir, path, strcspn(path, "\n"));
	for (;;) {
		while (dir.len > mount_len && dir.buf[dir.len - 1] == '/')
			strbuf_setlen(&dir, dir.len - 1);
		add_cgroup(limits, dir.buf);
		if (dir.len <= mount_len)
			break;
		while (dir.len > mount_len && dir.buf[dir.len - 1] != '/')
			strbuf_setlen(&dir, dir.len - 1);
	}
out:
	strbuf_release(&cgroups);
	strbuf_release(&dir);
}

#endif /* __linux__ */

static uintmax_t max_descriptors(void)
{
	uintmax_t max = UINTMAX_MAX;
#ifdef RLIMIT_NOFILE
	struct rlimit limit;

	/* RLIM_INFINITY is a large number. */
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		max = limit.rlim_cur;
#endif
	return max;
}

int limits_by_descriptors(void)
{
	uintmax_t max = max_descriptors();
	int workers = INT_MAX;

	at_most(&workers, max > LIMITS_OWN_FDS ?
		(max - LIMITS_OWN_FDS) / LIMITS_WORKER_FDS : 0);
#ifdef GIT_WINDOWS_NATIVE
	at_most(&workers, LIMITS_POLLED_ON_WINDOWS / LIMITS_WORKER_FDS);
#endif
	return workers;
}

void limits_read(struct checkout_limits *limits,
		 const char *root MAYBE_UNUSED)
{
	limits->cpus_online = online_cpus();
	limits->cpus_allowed = limits->cpu_quota = limits->by_memory = INT_MAX;
	limits->by_descriptors = limits_by_descriptors();

	/* Half of many is for others, like packs. */
	at_most(&limits->by_descriptors,
		max_descriptors() / 2 / LIMITS_WORKER_FDS);

#ifdef __linux__
	limits->cpus_allowed = cpus_allowed();
	read_cgroups(limits, root);
#endif

	limits->cores = limits->cpus_online;
	at_most(&limits->cores, limits->cpus_allowed);
	at_most(&limits->cores, limits->cpu_quota);
	if (limits->cores < 1)
		limits->cores = 1;

	limits->max_workers = LIMITS_MAX_WORKERS;
	at_most(&limits->max_workers, limits->by_memory);
	at_most(&limits->max_workers, limits->by_descriptors);
	if (limits->max_workers < 1)
		limits->max_workers = 1;
}
