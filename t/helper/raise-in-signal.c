/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library to be preloaded, for t0005: a signal that arrives at the worst
 * moment. With GIT_TEST_RAISE=<n>,before (or after), SIGTERM is raised right
 * before (or after) the n-th change of its handler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef void (*handler)(int);

handler signal(int sig, handler f)
{
	static int calls;
	handler (*real_signal)(int, handler);
	const char *when = getenv("GIT_TEST_RAISE");
	handler old;
	int raise_now;

	*(void **)&real_signal = dlsym(RTLD_NEXT, "signal");
	raise_now = sig == SIGTERM && when && ++calls == atoi(when);
	if (raise_now && strstr(when, ",before"))
		raise(sig);
	old = real_signal(sig, f);
	if (raise_now && strstr(when, ",after"))
		raise(sig);
	return old;
}
