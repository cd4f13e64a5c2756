/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing a pack in another thread; see pack-spool.h.
 */
#include "git-compat-util.h"
#include "pack-spool.h"
#include "thread-utils.h"
#include "trace2.h"

struct pack_spool {
	pack_spool_fn write_part;
	size_t size;
	unsigned char *buffer;	/* the caller's */
	unsigned char *spare;	/* has been spooled, or is being so */
	unsigned threaded:1, started:1;
	pthread_t thread;

	pthread_mutex_t mutex;	/* for what follows */
	pthread_cond_t changed;
	size_t part;		/* so much of "spare" is to be spooled */
	int write_errno;
	int quit;
};

static void *run_thread(void *data)
{
	struct pack_spool *s = data;

	trace2_thread_start("pack-spool");
	pthread_mutex_lock(&s->mutex);
	while (!s->quit) {
		int err;

		if (!s->part) {
			pthread_cond_wait(&s->changed, &s->mutex);
			continue;
		}
		pthread_mutex_unlock(&s->mutex);
		err = s->write_part(s->spare, s->part);
		pthread_mutex_lock(&s->mutex);
		s->write_errno = err;
		s->part = 0;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->mutex);
	trace2_thread_exit();
	return NULL;
}

static void start_thread(struct pack_spool *s)
{
	if (!s->threaded || s->started)
		return;
	if (pthread_create(&s->thread, NULL, run_thread, s)) {
		s->threaded = 0;
		return;
	}
	s->started = 1;
	s->spare = xmalloc(s->size);
}

struct pack_spool *pack_spool_new(pack_spool_fn write_part,
				  unsigned char *buffer, size_t size,
				  int threaded)
{
	struct pack_spool *s = xcalloc(1, sizeof(*s));

	s->write_part = write_part;
	s->buffer = buffer;
	s->size = size;
	s->threaded = HAVE_THREADS && threaded;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->changed, NULL);
	return s;
}

void pack_spool_wait(struct pack_spool *s)
{
	int err;

	pthread_mutex_lock(&s->mutex);
	while (s->part)
		pthread_cond_wait(&s->changed, &s->mutex);
	err = s->write_errno;
	pthread_mutex_unlock(&s->mutex);
	if (err) {
		errno = err;
		die_errno("write error");
	}
}

void pack_spool_flush(struct pack_spool *s, size_t done, size_t rest)
{
	pack_spool_wait(s);
	if (!done)
		return;
	s->write_errno = s->write_part(s->buffer, done);
	pack_spool_wait(s);
	memmove(s->buffer, s->buffer + done, rest);
}

unsigned char *pack_spool_put(struct pack_spool *s, size_t done, size_t rest)
{
	unsigned char *full = s->buffer;

	pack_spool_wait(s);
	start_thread(s);
	if (!s->started) {
		pack_spool_flush(s, done, rest);
		return s->buffer;
	}
	memcpy(s->spare, full + done, rest);
	s->buffer = s->spare;
	s->spare = full;
	pthread_mutex_lock(&s->mutex);
	s->part = done;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	return s->buffer;
}

void pack_spool_free(struct pack_spool *s)
{
	if (!s)
		return;
	pack_spool_wait(s);
	if (s->started) {
		pthread_mutex_lock(&s->mutex);
		s->quit = 1;
		pthread_cond_signal(&s->changed);
		pthread_mutex_unlock(&s->mutex);
		pthread_join(s->thread, NULL);
	}
	pthread_mutex_destroy(&s->mutex);
	pthread_cond_destroy(&s->changed);
	free(s->buffer);
	free(s->spare);
	free(s);
}
