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

/* So many workers have enough if each needs `each` of what is left. */
static void share(int *limit, uintmax_t max, uintmax_t used, uintmax_t each)
{
	at_most(limit, max > used ? (max - used) / each : 0);
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

/* A number and what comes after it. Signs and other words are none. */
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

/* The number that is all of a file. "max", like -1, is no number: no limit. */
static int read_number(const char *dir, const char *name, uintmax_t *value)
{
	struct strbuf buf = STRBUF_INIT;
	const char *end;
	int ret;

	read_text(dir, name, &buf);
	ret = parse_number(buf.buf, value, &end);
	if (!ret && *end)
		ret = -1;
	strbuf_release(&buf);
	return ret;
}

/* The number after `key` and white space at the beginning of a line. */
static int find_number(const char *text, const char *key, uintmax_t *value)
{
	while (*text) {
		const char *rest, *end;

		if (skip_prefix(text, key, &rest) && isspace(*rest)) {
			while (isspace(*rest))
				rest++;
			return parse_number(rest, value, &end);
		}
		text = strchrnul(text, '\n');
		if (*text)
			text++;
	}
	return -1;
}

static void add_cpu(struct checkout_limits *limits, const char *dir)
{
	struct strbuf buf = STRBUF_INIT;
	uintmax_t quota, period;
	const char *end;

	read_text(dir, "cpu.max", &buf);
	if (!parse_number(buf.buf, &quota, &end) &&
	    !parse_number(end, &period, &end) && period)
		at_most(&limits->cpu_quota,
			quota / period + !!(quota % period));
	strbuf_release(&buf);
}

/*
 * Memory that a cgroup uses includes files that are cached for it. A CI job
 * that has just fetched or unpacked something has its limit full of them; they
 * give way.
 */
static int read_used_memory(const char *dir, uintmax_t *used)
{
	static const char *const cached[] = { "inactive_file", "active_file" };
	struct strbuf stat = STRBUF_INIT;

	if (read_number(dir, "memory.current", used))
		return -1;
	read_text(dir, "memory.stat", &stat);
	for (size_t i = 0; i < ARRAY_SIZE(cached); i++) {
		uintmax_t n;

		if (!find_number(stat.buf, cached[i], &n))
			*used -= n < *used ? n : *used;
	}
	strbuf_release(&stat);
	return 0;
}

static uintmax_t memory_of_worker(int filters)
{
	return LIMITS_WORKER_MEMORY + (filters ? LIMITS_FILTER_MEMORY : 0);
}

static void add_memory(struct checkout_limits *limits, const char *dir,
		       int filters)
{
	static const char *const names[] = { "memory.max", "memory.high" };
	uintmax_t max, used;

	if (read_used_memory(dir, &used))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!read_number(dir, names[i], &max))
			share(&limits->by_memory, max, used,
			      memory_of_worker(filters));
}

static void add_processes(struct checkout_limits *limits, const char *dir,
			  int filters)
{
	uintmax_t max, used;

	if (!read_number(dir, "pids.max", &max) &&
	    !read_number(dir, "pids.current", &used))
		share(&limits->by_processes, max, used,
		      LIMITS_WORKER_PROCESSES +
		      (filters ? LIMITS_FILTER_PROCESSES : 0));
}

/*
 * A limit of our cgroup, or of any above it, is a limit for us. The line that
 * names ours is "0::<path>"; the others are of cgroups of version 1.
 */
static void read_cgroups(struct checkout_limits *limits, const char *root,
			 int filters)
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
		add_cpu(limits, dir.buf);
		add_memory(limits, dir.buf, filters);
		add_processes(limits, dir.buf, filters);
		if (dir.len <= mount_len)
			break;
		while (dir.len > mount_len && dir.buf[dir.len - 1] != '/')
			strbuf_setlen(&dir, dir.len - 1);
	}
out:
	strbuf_release(&cgroups);
	strbuf_release(&dir);
}

static void read_meminfo(struct checkout_limits *limits, const char *root,
			 int filters)
{
	struct strbuf meminfo = STRBUF_INIT;
	uintmax_t kib;

	read_text(root, "proc/meminfo", &meminfo);
	if (!find_number(meminfo.buf, "MemAvailable:", &kib))
		share(&limits->by_memory, kib, 0,
		      memory_of_worker(filters) / 1024);
	strbuf_release(&meminfo);
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
	int workers = INT_MAX;

	share(&workers, max_descriptors(), LIMITS_OWN_FDS, LIMITS_WORKER_FDS);
#ifdef GIT_WINDOWS_NATIVE
	share(&workers, LIMITS_POLLED_ON_WINDOWS, 0, LIMITS_WORKER_FDS);
#endif
	return workers;
}

void limits_read(struct checkout_limits *limits,
		 const char *root MAYBE_UNUSED, int filters MAYBE_UNUSED)
{
	limits->cpus_online = online_cpus();
	limits->cpus_allowed = limits->cpu_quota = INT_MAX;
	limits->by_memory = limits->by_processes = INT_MAX;
	limits->by_descriptors = limits_by_descriptors();

	/* Half of many is for others, like packs. */
	at_most(&limits->by_descriptors,
		max_descriptors() / 2 / LIMITS_WORKER_FDS);

#ifdef __linux__
	limits->cpus_allowed = cpus_allowed();
	read_cgroups(limits, root, filters);
	read_meminfo(limits, root, filters);
#endif

	limits->cores = limits->cpus_online;
	at_most(&limits->cores, limits->cpus_allowed);
	at_most(&limits->cores, limits->cpu_quota);
	if (limits->cores < 1)
		limits->cores = 1;

	limits->max_workers = LIMITS_MAX_WORKERS;
	at_most(&limits->max_workers, limits->by_memory);
	at_most(&limits->max_workers, limits->by_processes);
	at_most(&limits->max_workers, limits->by_descriptors);
	if (limits->max_workers < 1)
		limits->max_workers = 1;
}
