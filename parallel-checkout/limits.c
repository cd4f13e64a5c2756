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

static void add_quota(struct checkout_limits *limits, uintmax_t quota,
		      uintmax_t period)
{
	if (period)
		at_most(&limits->cpu_quota,
			quota / period + !!(quota % period));
}

/*
 * Memory that a cgroup uses, `used`, includes files that are cached for it. A
 * CI job that has just fetched or unpacked something has its limit full of
 * them; they give way.
 */
static uintmax_t without_cache(const char *dir, const char *const *keys,
			       uintmax_t used)
{
	struct strbuf stat = STRBUF_INIT;
	uintmax_t cached;

	read_text(dir, "memory.stat", &stat);
	for (; *keys; keys++)
		if (!find_number(stat.buf, *keys, &cached))
			used -= cached < used ? cached : used;
	strbuf_release(&stat);
	return used;
}

static void add_memory(struct checkout_limits *limits, const char *dir,
		       const char *max_name, const char *used_name,
		       const char *const *cache_keys)
{
	uintmax_t max, used;

	if (read_number(dir, max_name, &max) ||
	    max / LIMITS_WORKER_MEMORY >= INT_MAX ||	/* v1's "no limit" */
	    read_number(dir, used_name, &used))
		return;
	share(&limits->by_memory, max, without_cache(dir, cache_keys, used),
	      LIMITS_WORKER_MEMORY);
}

static void add_v2_memory(struct checkout_limits *limits, const char *dir)
{
	static const char *const cache_keys[] = {
		"inactive_file", "active_file", NULL
	};

	add_memory(limits, dir, "memory.max", "memory.current", cache_keys);
	add_memory(limits, dir, "memory.high", "memory.current", cache_keys);
}

static void add_v1_memory(struct checkout_limits *limits, const char *dir)
{
	static const char *const cache_keys[] = {
		"total_inactive_file", "total_active_file", NULL
	};

	add_memory(limits, dir, "memory.limit_in_bytes",
		   "memory.usage_in_bytes", cache_keys);
}

static void add_v2_cpu(struct checkout_limits *limits, const char *dir)
{
	struct strbuf buf = STRBUF_INIT;
	uintmax_t quota, period;
	const char *end;

	read_text(dir, "cpu.max", &buf);
	if (!parse_number(buf.buf, &quota, &end) &&
	    !parse_number(end, &period, &end))
		add_quota(limits, quota, period);
	strbuf_release(&buf);
}

static void add_v1_cpu(struct checkout_limits *limits, const char *dir)
{
	uintmax_t quota, period;

	if (!read_number(dir, "cpu.cfs_quota_us", &quota) &&
	    !read_number(dir, "cpu.cfs_period_us", &period))
		add_quota(limits, quota, period);
}

/* These files are the same in both versions. */
static void add_processes(struct checkout_limits *limits, const char *dir)
{
	uintmax_t max, used;

	if (!read_number(dir, "pids.max", &max) &&
	    !read_number(dir, "pids.current", &used))
		share(&limits->by_processes, max, used,
		      LIMITS_WORKER_PROCESSES);
}

static void add_v2(struct checkout_limits *limits, const char *dir)
{
	add_v2_cpu(limits, dir);
	add_v2_memory(limits, dir);
	add_processes(limits, dir);
}

/*
 * Call `add` for the cgroup at `path` and all those above it. A limit of any of
 * them is a limit for us.
 */
static void walk_up(struct checkout_limits *limits, const char *mount,
		    const char *path, size_t len,
		    void (*add)(struct checkout_limits *, const char *))
{
	struct strbuf dir = STRBUF_INIT;
	size_t mount_len = strlen(mount);

	strbuf_addstr(&dir, mount);

	/* Outside of what we see; so that can only be our own. */
	if (!starts_with(path, "/.."))
		strbuf_add(&dir, path, len);
	for (;;) {
		while (dir.len > mount_len && dir.buf[dir.len - 1] == '/')
			strbuf_setlen(&dir, dir.len - 1);
		add(limits, dir.buf);
		if (dir.len <= mount_len)
			break;
		while (dir.len > mount_len && dir.buf[dir.len - 1] != '/')
			strbuf_setlen(&dir, dir.len - 1);
	}
	strbuf_release(&dir);
}

static int has_word(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	while (len) {
		const char *comma = memchr(list, ',', len);
		size_t n = comma ? (size_t)(comma - list) : len;

		if (n == word_len && !memcmp(list, word, n))
			return 1;
		if (!comma)
			break;
		list = comma + 1;
		len -= n + 1;
	}
	return 0;
}

/* A line of /proc/self/cgroup is "<number>:<controllers>:<path>". */
static void read_cgroup_line(struct checkout_limits *limits, const char *root,
			     const char *line, size_t len)
{
	static const struct {
		const char *name;
		void (*add)(struct checkout_limits *, const char *);
	} controllers[] = {
		{ "cpu", add_v1_cpu },
		{ "memory", add_v1_memory },
		{ "pids", add_processes },
	};
	const char *list = memchr(line, ':', len), *path;
	struct strbuf mount = STRBUF_INIT;

	if (!list)
		return;
	list++;
	path = memchr(list, ':', line + len - list);
	if (!path || path[1] != '/')
		return;

	if (path == list) {
		strbuf_addf(&mount, "%s/sys/fs/cgroup", root);
		walk_up(limits, mount.buf, path + 1, line + len - path - 1,
			add_v2);
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		if (!has_word(list, path - list, controllers[i].name))
			continue;
		strbuf_reset(&mount);
		strbuf_addf(&mount, "%s/sys/fs/cgroup/%s", root,
			    controllers[i].name);
		walk_up(limits, mount.buf, path + 1, line + len - path - 1,
			controllers[i].add);
	}
	strbuf_release(&mount);
}

static void read_cgroups(struct checkout_limits *limits, const char *root)
{
	struct strbuf cgroups = STRBUF_INIT;
	const char *line;

	read_text(root, "proc/self/cgroup", &cgroups);
	line = cgroups.buf;
	while (*line) {
		const char *eol = strchrnul(line, '\n');

		read_cgroup_line(limits, root, line, eol - line);
		line = *eol ? eol + 1 : eol;
	}
	strbuf_release(&cgroups);
}

static void read_meminfo(struct checkout_limits *limits, const char *root)
{
	struct strbuf meminfo = STRBUF_INIT;
	uintmax_t kib;

	read_text(root, "proc/meminfo", &meminfo);
	if (!find_number(meminfo.buf, "MemAvailable:", &kib))
		share(&limits->by_memory, kib, 0, LIMITS_WORKER_MEMORY / 1024);
	strbuf_release(&meminfo);
}

#endif /* __linux__ */

/* Half of them are for others, like packs. */
static int workers_by_descriptors(void)
{
	int workers = INT_MAX;
#ifdef RLIMIT_NOFILE
	struct rlimit limit;

	/* RLIM_INFINITY is a large number. */
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		at_most(&workers, limit.rlim_cur / 2 / LIMITS_WORKER_FDS);
#endif
	return workers;
}

void limits_read(struct checkout_limits *limits, const char *root MAYBE_UNUSED)
{
	limits->cpus_online = online_cpus();
	limits->cpus_allowed = limits->cpu_quota = INT_MAX;
	limits->by_memory = limits->by_processes = INT_MAX;
	limits->by_descriptors = workers_by_descriptors();

#ifdef __linux__
	limits->cpus_allowed = cpus_allowed();
	read_cgroups(limits, root);
	read_meminfo(limits, root);
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
