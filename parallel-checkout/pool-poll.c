/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What goes to the workers of a pool, and what comes back; see pool.h.
 */
#include "git-compat-util.h"
#include "gettext.h"
#include "parallel-checkout/pool.h"
#include "sigchain.h"
#include "trace.h"

/* How long to wait where the kernel lacks memory. */
#define POLL_AGAIN_MS 10

#define READ_SIZE (64 * 1024)

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
	n = write(worker->cp.in, worker->out.buf, worker->out.len);
	if (n < 0 && (is_full_pipe(errno) || errno == EINTR)) {
		n = 0;
	} else if (n < 0) {
		/*
		 * It has closed its end. There may be answers in the other
		 * pipe still; when these are read, the worker is lost.
		 */
		close(worker->cp.in);
		worker->cp.in = -1;
		n = worker->out.len;
	}
	sigchain_pop(SIGPIPE);
	strbuf_remove(&worker->out, 0, n);
}

void pool_add_result(struct worker_pool *pool,
		       const struct checkout_result *result)
{
	ALLOC_GROW(pool->results, pool->results_nr + 1, pool->results_alloc);
	pool->results[pool->results_nr++] = *result;
	pool->holder[result->id] = 0;
}

/* Returns -1 if the worker has not been asked for that. */
static int take_result(struct worker_pool *pool,
		       const struct pool_worker *worker,
		       const struct checkout_result *result, int late)
{
	int number = worker - pool->workers + 1;
	int delayed = result->status == CHECKOUT_DELAYED;

	if (result->id >= pool->holder_alloc ||
	    pool->holder[result->id] != (late ? -number : number) ||
	    (delayed && (late || !worker->filters)))
		return -1;
	pool_add_result(pool, result);
	if (delayed)
		pool->holder[result->id] = -number;
	return 0;
}

/* Returns -1 if the frame makes no sense. */
static int take_frame(struct worker_pool *pool, struct pool_worker *worker,
		      struct wire_frame *frame)
{
	int late = frame->type == WIRE_LATE, ret;
	struct checkout_outcome outcome;
	struct checkout_result result;
	size_t n = 0;

	if ((!late && (frame->type != WIRE_RESULTS || !worker->batches)) ||
	    wire_get_outcome(frame, &outcome))
		return -1;
	while ((ret = wire_get_result(frame, &result)) > 0) {
		if (take_result(pool, worker, &result, late))
			return -1;
		n++;
	}
	if (ret < 0)
		return -1;
	if (!late) {
		if (n != worker->batch_len[0])
			return -1;
		worker->answered = 1;
		worker->batches--;
		MOVE_ARRAY(worker->batch_len, worker->batch_len + 1,
			   worker->batches);
		pool->batches++;
		pool->answers += n;
	}
	outcome_add(&pool->total, &outcome);
	return 0;
}

/* Returns -1 if the worker has ended, or cannot be understood any more. */
static int receive_frames(struct worker_pool *pool, struct pool_worker *worker)
{
	struct strbuf *in = &worker->in;
	struct wire_frame frame;
	size_t used = 0;
	ssize_t n;

	strbuf_grow(in, READ_SIZE);
	n = xread(worker->cp.out, in->buf + in->len, READ_SIZE);
	if (n <= 0)
		return -1;
	strbuf_setlen(in, in->len + n);

	while ((n = wire_next_frame(in->buf + used, in->len - used,
				    &frame)) > 0) {
		if (take_frame(pool, worker, &frame))
			return -1;
		used += n;
	}
	strbuf_remove(in, 0, used);
	return n;
}

void pool_poll(struct worker_pool *pool, int timeout_ms)
{
	uint64_t start_ns;
	int ready;

	pool->results_nr = 0;
	if (!pool->running)
		return;
	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];
		struct pollfd *pollfd = &pool->pollfds[2 * i];

		/* Most often the pipe has room; then poll() need not say so. */
		if (worker->running && worker->out.len)
			send_frames(worker);
		pollfd[0].fd = worker->running ? worker->cp.out : -1;
		pollfd[0].events = POLLIN;
		pollfd[1].fd = worker->running && worker->out.len ?
			worker->cp.in : -1;
		pollfd[1].events = POLLOUT;
	}

	start_ns = getnanotime();
	ready = poll(pool->pollfds, 2 * pool->nr, timeout_ms);
	if (ready < 0 && (errno == EAGAIN || errno == ENOMEM))
		sleep_millisec(POLL_AGAIN_MS);	/* see poll(2); that passes */
	else if (ready < 0 && errno != EINTR)
		die_errno(_("failed to poll checkout workers"));
	pool->waited_ns += getnanotime() - start_ns;

	for (int i = 0; ready > 0 && i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];
		const struct pollfd *pollfd = &pool->pollfds[2 * i];

		if (pollfd[1].fd >= 0 && pollfd[1].revents)
			send_frames(worker);
		if (pollfd[0].fd >= 0 && pollfd[0].revents &&
		    receive_frames(pool, worker))
			pool_lose_worker(pool, worker);
	}
}

int pool_wait_for_pipe(int fd, uint64_t end_ns)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = getnanotime();
	int ready;

	/* The timer of the progress interrupts it once in a second. */
	do {
		ready = poll(&pollfd, 1, now_ns < end_ns ?
			     (end_ns - now_ns) / 1000000 + 1 : 0);
		now_ns = getnanotime();
	} while (ready < 0 && errno == EINTR && now_ns < end_ns);
	return ready > 0 ? 0 : -1;
}
