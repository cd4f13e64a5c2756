/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the machine lets us have: made-up trees of /proc and /sys, with all that
 * limits.c reads, and with what it must not stumble over.
 */
#include "unit-test.h"
#include "dir.h"
#include "parallel-checkout/limits.h"
#include "strbuf.h"
#include "thread-utils.h"
#include "wrapper.h"

#define MIB "048576"	/* after a 1 */
#define CGROUP "sys/fs/cgroup"

static const char root[] = "root";

/* Elsewhere none of these files is looked at. */
static void skip_unless_linux(void)
{
#ifndef __linux__
	cl_skip();
#endif
}

static void put(const char *path, const char *text)
{
	char *full = xstrfmt("%s/%s", root, path);

	for (char *p = full; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(full, 0777) && errno != EEXIST)
			cl_failf("cannot make the folder '%s'", full);
	}
	write_file_buf(full, text, strlen(text));
	free(full);
}

static int remove_tree(void)
{
	struct strbuf path = STRBUF_INIT;
	int ret;

	strbuf_addstr(&path, root);
	ret = remove_dir_recursively(&path, 0);
	strbuf_release(&path);
	return ret;
}

void test_checkout_limits__cleanup(void)
{
	if (!access(root, F_OK))
		remove_tree();
}

/* What the tree says; then it is removed. */
static struct checkout_limits take(void)
{
	struct checkout_limits limits;

	memset(&limits, 0xff, sizeof(limits));
	limits_read(&limits, root);
	cl_must_pass(remove_tree());
	return limits;
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* Are these the limits of the tree, where this machine has no lower ones? */
static void check_limits(int cores, int max_workers)
{
	struct checkout_limits machine, limits;

	limits_read(&machine, "no-such-root");
	limits = take();
	cl_assert_equal_i(limits.cores, smaller(cores, machine.cores));
	cl_assert_equal_i(limits.max_workers,
			  smaller(max_workers, machine.max_workers));
}

static void check_no_limits(void)
{
	check_limits(INT_MAX, INT_MAX);
}

void test_checkout_limits__nothing(void)
{
	skip_unless_linux();
	check_no_limits();
}

void test_checkout_limits__v2(void)
{
	skip_unless_linux();
	put("proc/self/cgroup", "0::/ci/job\n");
	put(CGROUP "/ci/job/cpu.max", "150000 100000\n");
	put(CGROUP "/ci/job/memory.max", "268435456\n");	/* 256 MiB */
	check_limits(2, 4);

	/* Whole processors are not rounded up. */
	put("proc/self/cgroup", "0::/ci\n");
	put(CGROUP "/ci/cpu.max", "300000 100000\n");
	check_limits(3, INT_MAX);

	put("proc/self/cgroup", "0::/ci\n");
	put(CGROUP "/ci/cpu.max", "1000 100000\n");
	check_limits(1, INT_MAX);

	/* No time at all makes no sense; little memory does. */
	put("proc/self/cgroup", "0::/ci\n");
	put(CGROUP "/ci/cpu.max", "0 100000\n");
	put(CGROUP "/ci/memory.max", "1" MIB "\n");
	check_limits(INT_MAX, 0);
}

void test_checkout_limits__v2_max(void)
{
	skip_unless_linux();
	put("proc/self/cgroup", "0::/ci\n");
	put(CGROUP "/ci/cpu.max", "max 100000\n");
	put(CGROUP "/ci/memory.max", "max\n");
	check_no_limits();
}

void test_checkout_limits__v2_above(void)
{
	skip_unless_linux();
	/* A limit of any cgroup above is a limit, and so is that of the top. */
	put("proc/self/cgroup", "0::/a/b/c\n");
	put(CGROUP "/a/b/c/cpu.max", "800000 100000\n");
	put(CGROUP "/a/b/cpu.max", "max 100000\n");
	put(CGROUP "/a/cpu.max", "400000 100000\n");
	put(CGROUP "/a/b/memory.max", "1" MIB "00\n");	/* 100 MiB and more */
	put(CGROUP "/memory.max", "1" MIB "000\n");
	check_limits(4, 1);

	/* That of a neighbour is none. */
	put("proc/self/cgroup", "0::/a/b\n");
	put(CGROUP "/a/b/c/cpu.max", "100000 100000\n");
	put(CGROUP "/a/bb/cpu.max", "100000 100000\n");
	put(CGROUP "/c/cpu.max", "100000 100000\n");
	check_no_limits();

	/*
	 * A container of which the name is known, but which sees only itself;
	 * and one that is outside of what we see.
	 */
	put("proc/self/cgroup", "0::/docker/0123abcd\n");
	put(CGROUP "/cpu.max", "200000 100000\n");
	check_limits(2, INT_MAX);
	put("proc/self/cgroup", "0::/../job\n");
	put(CGROUP "/cpu.max", "100000 100000\n");
	check_limits(1, INT_MAX);
}

/* Our cgroup is named by one line; those of version 1 do not count. */
void test_checkout_limits__v1(void)
{
	skip_unless_linux();
	put("proc/self/cgroup",
	    "12:pids:/user/p\n"
	    "1:name=systemd:/user/s\n"
	    "0::/user/s\n");
	put(CGROUP "/user/p/cpu.max", "100000 100000\n");
	check_no_limits();

	put("proc/self/cgroup", "12:pids:/p\n0::/user/s\n4:cpu,cpuacct:/c\n");
	put(CGROUP "/user/s/cpu.max", "200000 100000\n");
	put(CGROUP "/c/cpu.max", "100000 100000\n");
	check_limits(2, INT_MAX);
}

void test_checkout_limits__garbage(void)
{
	static const char *const garbage[] = {
		"", "\n", " ", "-5\n", "- 5\n", "5x 5x\n",
		"many 100000\n", "1.5 1.5\n",
		"99999999999999999999999999 99999999999999999999999999\n",
		"100000 0\n", "max100000\n",
		"\xff\xfe\n",
	};
	static const char *const lines[] = {
		"", "\n\n", ":", "::", "::\n", ":::\n", "0:\n", "0::\n",
		"0::relative\n", "nothing", "4:cpu:/\n",
	};

	skip_unless_linux();
	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		put("proc/self/cgroup", "0::/\n");
		put(CGROUP "/cpu.max", garbage[i]);
		put(CGROUP "/memory.max", garbage[i]);
		check_no_limits();
	}

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		put("proc/self/cgroup", lines[i]);
		put(CGROUP "/cpu.max", "100000 100000\n");
		check_no_limits();
	}

	/* What comes after garbage still counts; the last line may be open. */
	put("proc/self/cgroup", "garbage\n::\n0::/job");
	put(CGROUP "/job/cpu.max", "100000 100000");
	check_limits(1, INT_MAX);

	/* A folder is no file. */
	put("proc/self/cgroup", "0::/\n");
	put(CGROUP "/cpu.max/file", "100000 100000\n");
	put(CGROUP "/memory.max/file", "0\n");
	check_no_limits();
}

void test_checkout_limits__descriptors(void)
{
#if !defined(RLIMIT_NOFILE) || defined(GIT_WINDOWS_NATIVE)
	cl_skip();
#else
	struct rlimit before, few;
	struct checkout_limits limits;

	if (getrlimit(RLIMIT_NOFILE, &before) || before.rlim_cur < 40)
		cl_skip(); /* few descriptors anyway */
	few = before;
	few.rlim_cur = 40;
	if (setrlimit(RLIMIT_NOFILE, &few))
		cl_skip(); /* the limit cannot be lowered */
	limits = take();
	setrlimit(RLIMIT_NOFILE, &before);
	cl_assert_equal_i(limits.max_workers, 4);
#endif
}

void test_checkout_limits__this_machine(void)
{
	struct checkout_limits limits;

	limits_read(&limits, "");
	cl_assert_ge_i(limits.cores, 1);
	cl_assert_le_i(limits.cores, online_cpus());
	cl_assert_le_i(limits.max_workers, LIMITS_MAX_WORKERS);
}
