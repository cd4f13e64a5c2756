/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes and pipes of a parallel checkout; see pool.h. */
#include "git-compat-util.h"
#include "compat/nonblock.h"
#include "gettext.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/silence.h"
#include "sigchain.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int is_running(const struct pool_worker *worker)
{
	return worker->cp.out >= 0;
}

/* Let a worker end, and wait for that. Returns its exit code. */
static int end_worker(struct pool_worker *worker)
{
	close_fd(&worker->cp.in);
	close_fd(&worker->cp.out);
	return finish_command(&worker->cp);
}

/* Returns 0, or an error number. */
static int start_worker(struct pool_worker *worker, const struct strvec *args,
			int may_filter)
{
	struct child_process *cp = &worker->cp;
	int filter_stderr = -1, err = 0;

	strbuf_init(&worker->out, 0);
	strbuf_init(&worker->in, 0);
	child_process_init(cp);
	cp->git_cmd = 1;
	cp->in = -1;
	cp->out = -1;
	cp->no_stderr = !trace2_is_enabled() && !trace_want(&trace_default_key);
#ifdef GIT_WINDOWS_NATIVE
	/* Only the standard descriptors are inherited. */
	if (may_filter)
		cp->no_stderr = 0;
#endif
	cp->clean_on_exit = 1;
	cp->wait_after_clean = 1;
	cp->clean_timeout_ms = POOL_END_TIMEOUT_MS;
	strvec_pushv(&cp->args, args->v);
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	if (may_filter && cp->no_stderr)
		filter_stderr = dup(2);
	if (filter_stderr >= 0)
		strvec_pushf(&cp->args, "--filter-stderr=%d", filter_stderr);
	if (start_command(cp))
		err = errno ? errno : EIO;
	close_fd(&filter_stderr);
	/* We would wait for each other if both pipes were full. */
	if (!err && enable_pipe_nonblock(cp->in) < 0) {
		err = errno;
		end_worker(worker);
	}
	return err;
}

void pool_init(struct worker_pool *pool, int max)
{
	memset(pool, 0, sizeof(*pool));
	pool->alloc = max;

	/* run-command.c remembers where they are, so they must stay there. */
	CALLOC_ARRAY(pool->workers, max);
	CALLOC_ARRAY(pool->pollfds, 2 * (size_t)max);
}

int pool_start(struct worker_pool *pool, int nr, const struct strvec *args)
{
	int had = pool->nr, err = 0;

	if (nr > pool->alloc - had)
		BUG("too many checkout workers");
	pool->starting = 1;
	if (pool->quiet)
		be_silent();

	/* A sandbox that forbids it leaves everything else alone. */
	if (poll(NULL, 0, 0) < 0 && errno != EINTR) {
		err = errno;
		error_errno(_("cannot poll checkout workers"));
	}
	while (!err && pool->nr < had + nr) {
		err = start_worker(&pool->workers[pool->nr], args,
				   pool->may_filter);
		if (!err)
			pool->nr++;
	}

	/* Without descriptors, we could not open a pack or a file any more. */
	if (err == EMFILE || err == ENFILE)
		while (pool->nr > had)
			end_worker(&pool->workers[--pool->nr]);
	if (pool->quiet)
		end_silence();
	if (err)
		trace2_data_string("pcheckout", NULL, "workers/failed",
				   strerror(err));
	pool->starting = 0;
	pool->running += pool->nr - had;
	pool->in_use = pool->nr;
	return pool->nr - had;
}

int pool_in_use(const struct worker_pool *pool)
{
	return pool->in_use < pool->running ? pool->in_use : pool->running;
}

int pool_is_starting(const struct worker_pool *pool)
{
	for (int i = 0, used = 0; i < pool->nr && used < pool->in_use; i++) {
		if (is_running(&pool->workers[i]) && !pool->workers[i].answered)
			return 1;
		used += is_running(&pool->workers[i]);
	}
	return 0;
}

int pool_free_worker(const struct worker_pool *pool)
{
	int best = -1, fewest = POOL_BATCHES_PER_WORKER;

	for (int i = 0, used = 0; i < pool->nr && used < pool->in_use; i++) {
		const struct pool_worker *worker = &pool->workers[i];

		if (worker->cp.in >= 0 && worker->batches < fewest) {
			best = i;
			fewest = worker->batches;
		}
		used += is_running(worker);
	}
	return best;
}

int pool_add_item(struct worker_pool *pool, int nr,
		  const struct checkout_item *item)
{
	struct pool_worker *worker = &pool->workers[nr];
	size_t len = worker->out.len, alloc = pool->holder_alloc;
	size_t *batch_len = &worker->batch_len[worker->batches];

	if (!*batch_len)
		worker->batch_start = wire_begin_frame(&worker->out,
						       WIRE_ITEMS);
	wire_put_item(&worker->out, item);
	if (worker->out.len - worker->batch_start > WIRE_MAX_PAYLOAD) {
		strbuf_setlen(&worker->out, len);
		return -1;
	}
	++*batch_len;

	ALLOC_GROW(pool->holder, (size_t)item->id + 1, pool->holder_alloc);
	memset(pool->holder + alloc, 0,
	       (pool->holder_alloc - alloc) * sizeof(*pool->holder));
	pool->holder[item->id] = nr + 1;
	worker->filters |= !!item->filter;
	return 0;
}

void pool_end_batch(struct worker_pool *pool, int nr)
{
	struct pool_worker *worker = &pool->workers[nr];

	if (worker->batch_len[worker->batches]) {
		wire_end_frame(&worker->out, worker->batch_start);
		worker->batches++;
	}
}

static void add_result(struct worker_pool *pool,
		       const struct checkout_result *result)
{
	ALLOC_GROW(pool->results, pool->results_nr + 1, pool->results_alloc);
	pool->results[pool->results_nr++] = *result;
	pool->holder[result->id] = 0;
}

/*
 * The worker has ended, or cannot be understood any more. Reap it, so that it
 * is certain that it does not write any more, and answer for it.
 */
static void lose_worker(struct worker_pool *pool, struct pool_worker *worker)
{
	int number = worker - pool->workers + 1, code;
	int quiet = pool->quiet || worker->filters;
	size_t results_nr = pool->results_nr;

	pool->running--;
	kill(worker->cp.pid, SIGTERM);
	if (quiet)
		be_silent();
	code = end_worker(worker);
	if (quiet)
		end_silence();

	for (size_t id = 0; id < pool->holder_alloc; id++) {
		struct checkout_result lost = { .id = id };

		if (abs(pool->holder[id]) == number)
			add_result(pool, &lost);
	}
	if (pool->results_nr == results_nr)
		return;
	pool->lost_workers++;

	/* If it has died of what a filter says, that will be reported. */
	if (worker->filters && (code == 128 || code == 128 + SIGTERM))
		return;

	/*
	 * Where nobody asked for workers, only that they never work: some other
	 * Git knows no such command (1) or, as ours, no such options (129).
	 */
	if (worker->answered || !pool->quiet || code == 129 || code == 1)
		pool->to_report++;
}

#ifdef GIT_WINDOWS_NATIVE
#define FULL_PIPE ENOSPC	/* as write() says there */
#else
#define FULL_PIPE EAGAIN
#endif

static void send_frames(struct pool_worker *worker)
{
	ssize_t n;

	/* Not xwrite(), which would wait for the pipe to have room. */
	sigchain_push(SIGPIPE, SIG_IGN);
	n = write(worker->cp.in, worker->out.buf, worker->out.len);
	if (n < 0 && errno != FULL_PIPE && errno != EINTR) {
		/* There may be answers still; after these it is lost. */
		close_fd(&worker->cp.in);
		n = worker->out.len;
	}
	sigchain_pop(SIGPIPE);
	if (n > 0)
		strbuf_remove(&worker->out, 0, n);
}

/* Returns -1 if the frame makes no sense. */
static int take_frame(struct worker_pool *pool, struct pool_worker *worker,
		      struct wire_frame *frame)
{
	int number = worker - pool->workers + 1;
	int late = frame->type == WIRE_LATE, ret;
	struct checkout_outcome outcome;
	struct checkout_result result;
	size_t n = 0;

	if ((!late && (frame->type != WIRE_RESULTS || !worker->batches)) ||
	    wire_get_outcome(frame, &outcome))
		return -1;
	while ((ret = wire_get_result(frame, &result)) > 0) {
		int delayed = result.status == CHECKOUT_DELAYED;

		/* Was the worker asked for that? */
		if (result.id >= pool->holder_alloc ||
		    pool->holder[result.id] != (late ? -number : number) ||
		    (delayed && (late || !worker->filters)))
			return -1;
		add_result(pool, &result);
		if (delayed)
			pool->holder[result.id] = -number;
		n++;
	}
	if (ret < 0 || (!late && n != worker->batch_len[0]))
		return -1;
	if (!late) {
		worker->answered = 1;
		worker->batches--;
		MOVE_ARRAY(worker->batch_len, worker->batch_len + 1,
			   worker->batches);
		worker->batch_len[worker->batches] = 0;
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

	strbuf_grow(in, 64 * 1024);
	n = xread(worker->cp.out, in->buf + in->len, strbuf_avail(in));
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

static int has_work(const struct worker_pool *pool, int number)
{
	for (size_t id = 0; id < pool->holder_alloc; id++)
		if (abs(pool->holder[id]) == number)
			return 1;
	return 0;
}

/* End all workers, or those that have nothing to do; what they had is lost. */
static void end_workers(struct worker_pool *pool, int only_idle)
{
	uint64_t end_ns = getnanotime() + POOL_LINGER_MS * (uint64_t)1000000;

	for (int i = 0; i < pool->nr; i++)
		if (!only_idle || !has_work(pool, i + 1))
			close_fd(&pool->workers[i].cp.in);
	be_silent();
	pool->results_nr = 0;
	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (!is_running(worker) || (only_idle && has_work(pool, i + 1)))
			continue;
		if (only_idle)
			wire_wait(worker->cp.out, end_ns);
		lose_worker(pool, worker);
	}
	end_silence();
}

int pool_give_way(struct worker_pool *pool)
{
	int had = pool->running;

	if (!pool->starting)
		end_workers(pool, 1);
	return pool->running < had;
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
		if (worker->cp.in >= 0 && worker->out.len)
			send_frames(worker);
		pollfd[0].fd = worker->cp.out;
		pollfd[0].events = POLLIN;
		pollfd[1].fd = worker->out.len ? worker->cp.in : -1;
		pollfd[1].events = POLLOUT;
	}
	start_ns = getnanotime();
	ready = poll(pool->pollfds, 2 * pool->nr, timeout_ms);
	if (ready < 0 && errno != EINTR)
		end_workers(pool, 0);
	pool->waited_ns += getnanotime() - start_ns;

	for (int i = 0; ready > 0 && i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];
		const struct pollfd *pollfd = &pool->pollfds[2 * i];

		if (pollfd[1].revents)
			send_frames(worker);
		if (pollfd[0].revents && receive_frames(pool, worker))
			lose_worker(pool, worker);
	}
}

void pool_collect(struct worker_pool *pool)
{
	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (worker->cp.in >= 0)
			wire_end_frame(&worker->out,
				       wire_begin_frame(&worker->out,
							WIRE_COLLECT));
	}
}

void pool_hang_up(struct worker_pool *pool)
{
	for (int i = 0; i < pool->nr; i++)
		close_fd(&pool->workers[i].cp.in);
}

static void wait_at_exit(struct child_process *cp)
{
	finish_command(cp);
}

void pool_finish(struct worker_pool *pool)
{
	int still_running = 0;
	uint64_t end_ns = getnanotime() + POOL_LINGER_MS * (uint64_t)1000000;

	pool_hang_up(pool);	/* so that they end at the same time */
	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		/*
		 * Its pipe ends with it, and it with its filters. Like one of
		 * our own, a filter that goes on is waited for when we exit.
		 */
		if (is_running(worker) && pool->may_filter &&
		    wire_wait(worker->cp.out, end_ns)) {
			close_fd(&worker->cp.out);
			worker->cp.clean_on_exit_handler = wait_at_exit;
			still_running = 1;
		} else if (is_running(worker)) {
			end_worker(worker);
		}
		strbuf_release(&worker->out);
		strbuf_release(&worker->in);
	}

	if (!still_running)
		free(pool->workers);
	free(pool->results);
	free(pool->holder);
	free(pool->pollfds);
	memset(pool, 0, sizeof(*pool));
}
