/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes to the workers of a pool, and what comes back; see pool.h.
 */
#include "git-compat-util.h"
#include "gettext.h"
#include "parallel-checkout/pool.h"
#include "sigchain.h"
#include "trace.h"

#define READ_SIZE (64 * 1024)

/* How long to wait where the kernel lacks memory. */
#define POLL_AGAIN_MS 10

/* Windows says ENOSPC for a pipe that is full; cf. pump_io_round(). */
static int is_full_pipe(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == ENOSPC;
}

static void send_frames(struct pool_worker *worker)
{
	ssize_t n;

	/* Not xwrite(), which would wait for the pipe to have room. */
	sigchain_push(SIGPIPE, SIG_IGN);
	n = write(worker->cp.in, worker->out.buf + worker->out_sent,
		  worker->out.len - worker->out_sent);
	if (n < 0 && (is_full_pipe(errno) || errno == EINTR)) {
		n = 0;
	} else if (n < 0) {
		/*
		 * It has closed its end. There may be answers in the other
		 * pipe still; when these are read, the worker is lost.
		 */
		close(worker->cp.in);
		worker->cp.in = -1;
		n = worker->out.len - worker->out_sent;
	}
	sigchain_pop(SIGPIPE);

	worker->out_sent += n;
	if (worker->out_sent == worker->out.len) {
		strbuf_reset(&worker->out);
		worker->out_sent = 0;
	}
}

static void hold(struct worker_pool *pool, uint32_t id, int worker)
{
	if (id >= pool->holder_nr) {
		size_t nr = alloc_nr((size_t)id);

		REALLOC_ARRAY(pool->holder, nr);
		memset(pool->holder + pool->holder_nr, 0,
		       (nr - pool->holder_nr) * sizeof(*pool->holder));
		pool->holder_nr = nr;
	}
	pool->holder[id] = worker + 1;
}

/* Is it the next answer of the oldest batch? */
static int is_expected_result(struct worker_pool *pool,
			      struct pool_worker *worker,
			      const struct checkout_result *result, size_t nth)
{
	if (nth == worker->batch_len[0] ||
	    worker->ids[worker->ids_first] != result->id ||
	    (result->status == CHECKOUT_DELAYED && !worker->may_delay))
		return 0;
	worker->ids_first++;
	if (result->status == CHECKOUT_DELAYED)
		hold(pool, result->id, worker - pool->workers);
	return 1;
}

/* Is it the last answer for an entry that was delayed? */
static int is_expected_late(struct worker_pool *pool,
			    struct pool_worker *worker,
			    const struct checkout_result *result)
{
	if (result->status == CHECKOUT_DELAYED ||
	    result->id >= pool->holder_nr ||
	    pool->holder[result->id] != worker - pool->workers + 1)
		return 0;
	pool->holder[result->id] = 0;
	return 1;
}

/* Returns how many results there are, or -1 if they are not to be expected. */
static ssize_t take_results(struct worker_pool *pool,
			    struct pool_worker *worker,
			    struct wire_cursor *cursor, int late)
{
	ssize_t n = 0;
	int ret;

	for (;;) {
		struct checkout_result *result;

		ALLOC_GROW(pool->results, pool->results_nr + 1,
			   pool->results_alloc);
		result = &pool->results[pool->results_nr];
		ret = wire_get_result(cursor, result);
		if (ret <= 0)
			return ret < 0 ? -1 : n;
		if (late ? !is_expected_late(pool, worker, result) :
			   !is_expected_result(pool, worker, result, n))
			return -1;
		n++;
		pool->results_nr++;
		pool->answers += !late;
	}
}

static int take_frame(struct worker_pool *pool, struct pool_worker *worker,
		      const struct wire_frame *frame)
{
	int late = frame->type == WIRE_LATE;
	struct checkout_outcome outcome;
	struct wire_cursor cursor;
	ssize_t n;

	wire_open_frame(&cursor, frame);
	if (!(late || (frame->type == WIRE_RESULTS && worker->batches)) ||
	    wire_get_outcome(&cursor, &outcome) != 1)
		return -1;
	n = take_results(pool, worker, &cursor, late);
	if (n < 0)
		return -1;
	if (!late) {
		if ((size_t)n != worker->batch_len[0])
			return -1;
		worker->answered = 1;
		worker->batches--;
		MOVE_ARRAY(worker->batch_len, worker->batch_len + 1,
			   worker->batches);
		pool->batches++;
	}
	outcome_add(&pool->total, &outcome);
	return 0;
}

static int receive_frames(struct worker_pool *pool, struct pool_worker *worker)
{
	struct strbuf *in = &worker->in;
	size_t used = 0;
	ssize_t n;

	strbuf_grow(in, READ_SIZE);
	n = xread(worker->cp.out, in->buf + in->len, READ_SIZE);
	if (n <= 0)
		return -1;
	strbuf_setlen(in, in->len + n);

	for (;;) {
		struct wire_frame frame;

		n = wire_next_frame(in->buf + used, in->len - used, &frame);
		if (n < 0)
			return -1;
		if (!n)
			break;
		if (take_frame(pool, worker, &frame) < 0)
			return -1;
		used += n;
	}
	strbuf_remove(in, 0, used);
	return 0;
}

static void add_pollfd(struct worker_pool *pool, int *nr, int worker, int fd,
		       short events)
{
	pool->pollfds[*nr].fd = fd;
	pool->pollfds[*nr].events = events;
	pool->pollfds[*nr].revents = 0;
	pool->pollfd_worker[*nr] = worker;
	(*nr)++;
}

void pool_poll(struct worker_pool *pool, int timeout_ms)
{
	uint64_t start;
	int nr = 0, ready, err;

	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (!worker->running)
			continue;

		/* Most often the pipe has room; then poll() need not say so. */
		if (worker->out.len)
			send_frames(worker);
		add_pollfd(pool, &nr, i, worker->cp.out, POLLIN);
		if (worker->out.len)
			add_pollfd(pool, &nr, i, worker->cp.in, POLLOUT);
	}
	if (!nr)
		return;

	start = timeout_ms ? getnanotime() : 0;
	ready = poll(pool->pollfds, nr, timeout_ms);
	err = errno;
	if (timeout_ms)
		pool->waited_ns += getnanotime() - start;
	errno = err;
	if (ready < 0 && (errno == EAGAIN || errno == ENOMEM)) {
		/* see poll(2); that passes */
		sleep_millisec(POLL_AGAIN_MS);
		return;
	}
	if (ready < 0 && errno != EINTR)
		die_errno(_("failed to poll checkout workers"));
	if (ready <= 0)
		return;

	for (int i = 0; i < nr; i++) {
		struct pool_worker *worker =
			&pool->workers[pool->pollfd_worker[i]];

		if (!pool->pollfds[i].revents || !worker->running)
			continue;
		if (pool->pollfds[i].events & POLLOUT)
			send_frames(worker);
		else if (receive_frames(pool, worker) < 0)
			pool_lose_worker(pool, worker);
	}
}

int pool_next_result(struct worker_pool *pool, struct checkout_result *result)
{
	if (pool->results_first == pool->results_nr) {
		pool->results_first = pool->results_nr = 0;
		return 0;
	}
	*result = pool->results[pool->results_first++];
	return 1;
}

int pool_next_lost(struct worker_pool *pool, uint32_t *id)
{
	if (!pool->lost_nr)
		return 0;
	*id = pool->lost[--pool->lost_nr];
	return 1;
}
