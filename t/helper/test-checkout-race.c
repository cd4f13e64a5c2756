/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Be the process that means harm: while something else writes below a
 * directory, put a symbolic link in its place and take it away again, as often
 * as possible.
 */
#include "test-tool.h"
#include "dirs.h"
#include "parse-options.h"
#include "strbuf.h"
#include "trace.h"

#ifdef __linux__
#include <sys/syscall.h>
/* renameat2(2); musl has no wrapper for it before 1.2.5 */
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif
#endif

static const char * const race_usage[] = {
	"test-tool checkout-race --stop=<file> [--pause=<usec>] <dir> <target> <spare>",
	"test-tool checkout-race --has-openat",
	NULL
};

static volatile sig_atomic_t stopped;

static void stop(int sig UNUSED)
{
	stopped = 1;
}

static int is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/*
 * Let two paths change places; with one system call where there is one that can
 * do it, so that no moment is lost in which `a` is missing.
 */
static int swap(const char *a, const char *b)
{
	struct strbuf hold = STRBUF_INIT;
	int ret;

#ifdef SYS_renameat2
	if (!syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))
		return 0;
	if (errno != ENOSYS && errno != EINVAL)
		return -1;
#endif
	strbuf_addf(&hold, "%s.hold", b);
	ret = rename(a, hold.buf);
	if (!ret) {
		ret = rename(b, a);
		if (rename(hold.buf, ret ? a : b))
			ret = -1;
	}
	strbuf_release(&hold);
	return ret;
}

static void spin(uint64_t ns)
{
	uint64_t end = getnanotime() + ns;

	while (getnanotime() < end)
		; /* sleeping takes far longer than what we want to hit */
}

/* Git may have replaced the link by a directory of its own. */
static int restore_link(const char *target, const char *spare, int *replaced)
{
	struct strbuf away = STRBUF_INIT;

	if (is_link(spare))
		return 0;
	strbuf_addf(&away, "%s.%d", spare, *replaced);
	if (!rename(spare, away.buf))
		(*replaced)++;
	strbuf_release(&away);
	return symlink(target, spare) && errno != EEXIST ? -1 : 0;
}

int cmd__checkout_race(int argc, const char **argv)
{
	const char *stop_file = NULL, *dir, *target, *spare;
	int pause_us = 200, swaps = 0, replaced = 0, has_openat = 0;
	struct option options[] = {
		OPT_STRING(0, "stop", &stop_file, "file",
			   "end when this file is there"),
		OPT_INTEGER(0, "pause", &pause_us,
			    "longest time between two swaps"),
		OPT_BOOL(0, "has-openat", &has_openat,
			 "tell whether Git was built with openat()"),
		OPT_END()
	};

	argc = parse_options(argc, argv, NULL, options, race_usage, 0);
	if (has_openat) {
#ifdef NO_OPENAT
		return 1;
#else
		return 0;
#endif
	}
	if (argc != 3 || !stop_file)
		usage_with_options(race_usage, options);
	dir = argv[0];
	target = argv[1];
	spare = argv[2];
	signal(SIGTERM, stop);

	while (!stopped && access(stop_file, F_OK)) {
		if (restore_link(target, spare, &replaced))
			die_errno("cannot make link '%s'", spare);

		/* The directory is not there yet, or is gone again. */
		if (swap(dir, spare))
			continue;
		swaps++;

		/* Times of all lengths, so that no moment is left out. */
		spin((uint64_t)swaps * 7919 % (pause_us + 1) * 1000);
		if (swap(dir, spare))
			continue;
		swaps++;
		spin((uint64_t)swaps * 104729 % (pause_us + 1) * 1000);
	}

	/* Leave a directory behind, if that is up to us. */
	if (is_link(dir) && !is_link(spare))
		swap(dir, spare);
	printf("swaps %d\nreplaced %d\n", swaps, replaced);
	return 0;
}
