/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library for LD_PRELOAD, for tests of what becomes of a command that is not
 * given the threads that it wants. From the environment:
 *
 *   THREADS_AT_ONCE=<n>	there are no more than <n>, beside the first one
 *   THREADS_REFUSE=<n>	the <n>th to be created is refused
 *   THREADS_LOG=<file>	append a line when the process exits: how many
 *			threads there were at once, and how many were refused
 *
 * A thread counts until it is joined. Tests build it themselves; see
 * lib-preload-threads.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int asked, refused, now, most;

static int number(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value && *value ? atoi(value) : otherwise;
}

static int may_create(void)
{
	int max = number("THREADS_AT_ONCE", -1);

	if (++asked == number("THREADS_REFUSE", 0) || now == max) {
		refused++;
		return 0;
	}
	if (++now > most)
		most = now;
	return 1;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*fn)(void *), void *data)
{
	__typeof__(&pthread_create) real =
		(__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
	int ok;

	pthread_mutex_lock(&mutex);
	ok = may_create();
	pthread_mutex_unlock(&mutex);
	return ok ? real(thread, attr, fn, data) : EAGAIN;
}

int pthread_join(pthread_t thread, void **result)
{
	__typeof__(&pthread_join) real =
		(__typeof__(&pthread_join))dlsym(RTLD_NEXT, "pthread_join");
	int ret = real(thread, result);

	pthread_mutex_lock(&mutex);
	now--;
	pthread_mutex_unlock(&mutex);
	return ret;
}

__attribute__((destructor)) static void write_log(void)
{
	const char *name = getenv("THREADS_LOG");
	FILE *log = name ? fopen(name, "a") : NULL;

	if (!log)
		return;
	fprintf(log, "%d %d\n", most, refused);
	fclose(log);
}
