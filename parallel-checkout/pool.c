/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and pipes of a parallel checkout; see pool.h.
 */
#include "git-compat-util.h"
#include "advice.h"
#include "compat/nonblock.h"
#include "exec-cmd.h"
#include "gettext.h"
#include "parse.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/silence.h"
#include "sigchain.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

#define READ_SIZE (64 * 1024)

/*
 * Batches are made to take some milliseconds, so this means that something is
 * wrong; unless a batch has files of gigabytes, or the file system is very
 * slow.
 */
#define PATIENCE_MS 30000

/* Not to be waited for longer at once, so that it is noticed if we are stopped. */
#define MAX_WAIT_MS 1000

/*
 * When we end, a worker is told to, and ends what filters it has before; if it is
 * not gone after that time, it hangs.
 */
#define END_TIMEOUT_MS 4000

/* Most filters end at once when there is nothing more to do. */
#define LINGER_NS 1000000000

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Let a worker end, and wait for that; errno stays as it is. Returns its exit
 * code.
 */
static int end_worker(struct pool_worker *worker)
{
	int saved_errno = errno, code;

	worker->running = 0;
	close_fd(&worker->cp.in);
	close_fd(&worker->cp.out);
	code = finish_command(&worker->cp);
	errno = saved_errno;
	return code;
}

static int hides_stderr(int may_filter MAYBE_UNUSED)
{
	if (trace2_is_enabled() || trace_want(&trace_default_key))
		return 0;
#ifdef GIT_WINDOWS_NATIVE
	/* Only the standard descriptors are inherited. */
	return !may_filter;
#else
	return 1;
#endif
}

/*
 * Have the worker inherit our standard error under another number; its own one
 * is hidden. Returns what is to be closed later, or -1.
 */
static int pass_stderr(struct child_process *cp)
{
	int fd = dup(2);

	if (fd >= 0)
		strvec_pushf(&cp->args, "--filter-stderr=%d", fd);
	return fd;
}

static int start_worker(struct pool_worker *worker, const struct strvec *args,
			int may_filter)
{
	struct child_process *cp = &worker->cp;
	int filter_stderr = -1, failed, saved_errno;

	strbuf_init(&worker->out, 0);
	strbuf_init(&worker->in, 0);
	child_process_init(cp);
	cp->git_cmd = 1;
	cp->in = -1;
	cp->out = -1;
	cp->wait_after_clean = 1;
	cp->clean_timeout_ms = END_TIMEOUT_MS;
	cp->clean_on_exit = 1;
	strvec_pushv(&cp->args, args->v);
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	if (hides_stderr(may_filter)) {
		/* not no_stderr, for which start_command() dies if it must */
		cp->err = open("/dev/null", O_WRONLY);
		if (cp->err < 0) {
			child_process_clear(cp);
			return -1;
		}
		if (may_filter)
			filter_stderr = pass_stderr(cp);
	}
	failed = start_command(cp);
	saved_errno = errno;
	if (filter_stderr >= 0)
		close(filter_stderr);
	if (failed) {
		/* If not even a pipe could be had, this is still open. */
		if (!cp->pid && cp->err > 0)
			close(cp->err);
		errno = saved_errno;
		return -1;
	}

	/*
	 * The worker may be waiting for room in its pipe of results while we
	 * would be waiting for room in its pipe of items.
	 */
	if (enable_pipe_nonblock(cp->in) < 0) {
		end_worker(worker);
		return -1;
	}
	worker->running = 1;
	return 0;
}

/*
 * With all descriptors in use, we could not open a pack or a file any more. So
 * end some of the workers again.
 */
#define WORKERS_TO_GIVE_BACK 8

static void give_workers_back(struct worker_pool *pool, int had)
{
	for (int i = 0; i < WORKERS_TO_GIVE_BACK && pool->nr > had; i++)
		end_worker(&pool->workers[--pool->nr]);
}

void pool_init(struct worker_pool *pool, int max,
	       const struct git_hash_algo *algo, int quiet)
{
	memset(pool, 0, sizeof(*pool));
	pool->algo = algo;
	pool->quiet = !!quiet;
	pool->alloc = max;
	pool->patience_ns = 1000000 *
		(uint64_t)git_env_ulong("GIT_TEST_CHECKOUT_PATIENCE",
					PATIENCE_MS);

	/* run-command.c remembers where they are, so they must stay there. */
	CALLOC_ARRAY(pool->workers, max);
	CALLOC_ARRAY(pool->pollfds, 2 * (size_t)max);
	CALLOC_ARRAY(pool->pollfd_worker, 2 * (size_t)max);
}

/*
 * May we wait for workers? A sandbox that forbids poll() leaves everything else
 * alone where there are none. Returns 0, or an error number.
 */
static int check_poll(void)
{
	return poll(NULL, 0, 0) < 0 && errno != EINTR ? errno : 0;
}

int pool_start(struct worker_pool *pool, int nr, const struct strvec *args)
{
	int had = pool->nr, err = check_poll();
	struct silence silence;

	if (nr > pool->alloc - had)
		BUG("too many checkout workers");
	nr += had;
	if (err && !pool->quiet)
		error(_("cannot poll checkout workers: %s"), strerror(err));
	if (pool->quiet)
		be_silent(&silence);
	while (pool->nr < nr && !err) {
		if (start_worker(&pool->workers[pool->nr], args,
				 pool->may_filter))
			err = errno;
		else
			pool->nr++;
	}
	if (err == EMFILE || err == ENFILE)
		give_workers_back(pool, had);
	if (pool->quiet)
		end_silence(&silence);
	if (err)
		trace2_data_string("pcheckout", NULL, "workers/failed",
				   strerror(err));
	pool->running += pool->nr - had;
	pool->in_use = pool->nr;
	return pool->nr - had;
}

void pool_use(struct worker_pool *pool, int nr)
{
	int i;

	/* Those that were lost do not count. */
	for (i = 0; i < pool->nr && nr > 0; i++)
		nr -= pool->workers[i].running;
	pool->in_use = i;
}

int pool_in_use(const struct worker_pool *pool)
{
	int n = 0;

	for (int i = 0; i < pool->in_use; i++)
		n += pool->workers[i].running;
	return n;
}

int pool_is_starting(const struct worker_pool *pool)
{
	for (int i = 0; i < pool->in_use; i++)
		if (pool->workers[i].running && !pool->workers[i].answered)
			return 1;
	return 0;
}

int pool_free_worker(const struct worker_pool *pool)
{
	int best = -1, fewest = POOL_BATCHES_PER_WORKER;

	for (int i = 0; i < pool->in_use; i++) {
		const struct pool_worker *worker = &pool->workers[i];

		if (worker->running && worker->cp.in >= 0 &&
		    worker->batches < fewest) {
			best = i;
			fewest = worker->batches;
		}
	}
	return best;
}

void pool_begin_batch(struct worker_pool *pool, int nr)
{
	struct pool_worker *worker = &pool->workers[nr];

	if (!worker->batches)
		worker->filters = 0;
	worker->batch_len[worker->batches] = 0;
	worker->batch_start = wire_begin_frame(&worker->out, WIRE_ITEMS);
}

int pool_add_item(struct worker_pool *pool, int nr,
		  const struct checkout_item *item)
{
	struct pool_worker *worker = &pool->workers[nr];

	if (worker->out.len - worker->batch_start +
	    wire_item_size(item, pool->algo) > WIRE_MAX_PAYLOAD)
		return -1;

	/* Drop what has been answered, when that is most of it. */
	if (worker->ids_first > worker->ids_nr / 2) {
		worker->ids_nr -= worker->ids_first;
		MOVE_ARRAY(worker->ids, worker->ids + worker->ids_first,
			   worker->ids_nr);
		worker->ids_first = 0;
	}
	worker->filters |= !!item->conv.filter;
	worker->may_delay |= item->conv.can_delay;
	worker->batch_len[worker->batches]++;
	ALLOC_GROW(worker->ids, worker->ids_nr + 1, worker->ids_alloc);
	worker->ids[worker->ids_nr++] = item->id;
	wire_put_item(&worker->out, item, pool->algo);
	return 0;
}

void pool_end_batch(struct worker_pool *pool, int nr)
{
	struct pool_worker *worker = &pool->workers[nr];

	if (!worker->batch_len[worker->batches]) {
		strbuf_setlen(&worker->out, worker->batch_start);
		return;
	}
	wire_end_frame(&worker->out, worker->batch_start);
	if (!worker->batches++) {
		worker->silent_ns = 0;
		worker->reported = 0;
	}
}

static void add_lost(struct worker_pool *pool, uint32_t id)
{
	ALLOC_GROW(pool->lost, pool->lost_nr + 1, pool->lost_alloc);
	pool->lost[pool->lost_nr++] = id;
}

/*
 * Is this most likely the exit code of another Git? 129 is for options that it does
 * not know, and of ours for another protocol, 1 for a command that is not there; what
 * lacks something dies with 128. That a SIGHUP is 129, too, and a child that cannot
 * even report why it cannot be executed is 1, does not matter: the user is asked.
 */
static int is_foreign(int code)
{
	return code == 129 || code == 1;
}

/*
 * The worker has ended, or cannot be understood any more. Reap it, so that it
 * is certain that it does not write any more, and put what it has not answered
 * on the list of lost entries.
 */
static void lose_worker(struct worker_pool *pool, struct pool_worker *worker)
{
	int number = worker - pool->workers;
	int may_filter = worker->filters || worker->may_delay;
	int quiet = pool->quiet || may_filter;
	size_t lost_nr = pool->lost_nr;
	struct silence silence;
	int code;

	pool->running--;
	kill(worker->cp.pid, SIGTERM);
	if (quiet)
		be_silent(&silence);
	code = end_worker(worker);
	if (quiet)
		end_silence(&silence);
	for (size_t i = worker->ids_first; i < worker->ids_nr; i++)
		add_lost(pool, worker->ids[i]);
	for (size_t id = 0; id < pool->holder_nr; id++)
		if (pool->holder[id] == number + 1) {
			add_lost(pool, id);
			pool->holder[id] = 0;
		}
	pool->stats.lost += pool->lost_nr > lost_nr;

	/*
	 * It may have died of what a filter says, and waited for that to end until
	 * now. That will be reported. And where nobody asked for workers, only that
	 * they can never work.
	 */
	if (pool->lost_nr > lost_nr &&
	    (worker->answered || !pool->quiet || is_foreign(code)) &&
	    !(may_filter && (code == 128 || code == 128 + SIGTERM)))
		pool->to_report++;

	worker->ids_first = worker->ids_nr = 0;
	worker->batches = 0;
	strbuf_reset(&worker->out);
	worker->out_sent = 0;

	if (!pool_in_use(pool))
		pool->in_use = pool->nr;
}

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
		close_fd(&worker->cp.in);
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
static ssize_t take_results(struct worker_pool *pool, struct pool_worker *worker,
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
		pool->stats.entries += !late;
	}
}

static int take_frame(struct worker_pool *pool, struct pool_worker *worker,
		      const struct wire_frame *frame)
{
	int late = frame->type == WIRE_LATE;
	struct wire_summary summary;
	struct wire_cursor cursor;
	ssize_t n;

	wire_open_frame(&cursor, frame);
	if (!(late || (frame->type == WIRE_RESULTS && worker->batches)) ||
	    wire_get_summary(&cursor, &summary) != 1)
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
		pool->stats.batches++;
	}
	pool->stats.bytes += summary.bytes;
	pool->stats.busy_ns += summary.busy_ns;
	pool->stats.run_ns += summary.run_ns;
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
	worker->silent_ns = 0;
	worker->reported = 0;

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

static void report_silence(struct pool_worker *worker, uint64_t ns)
{
	int seconds = (ns + 999999999) / 1000000000;

	worker->reported = 1;
	warning(Q_("checkout worker %"PRIuMAX" has not answered for %d second; "
		   "still waiting for it",
		   "checkout worker %"PRIuMAX" has not answered for %d seconds; "
		   "still waiting for it", seconds),
		(uintmax_t)worker->cp.pid, seconds);
}

/*
 * Like poll() with no timeout, but returns 0 after patience_ns at the latest,
 * or a second. For how long it has waited is added to *waited_ns. That is never
 * more than it wanted to wait: after Ctrl-Z and "fg" it comes back late, but
 * the workers have been stopped, too.
 */
static int poll_patiently(struct pollfd *fds, int nr, uint64_t patience_ns,
			  uint64_t *waited_ns)
{
	uint64_t start_ns = getnanotime(), ns;
	int timeout_ms = patience_ns < MAX_WAIT_MS * (uint64_t)1000000 ?
		patience_ns / 1000000 + 1 : MAX_WAIT_MS;
	int ready = poll(fds, nr, timeout_ms), saved_errno = errno;

	ns = getnanotime() - start_ns;
	if (ns > timeout_ms * (uint64_t)1000000)
		ns = timeout_ms * (uint64_t)1000000;
	*waited_ns += ns;
	errno = saved_errno;
	return ready;
}

/* Is it to be reported if it does not answer? */
static int is_expected(const struct pool_worker *worker)
{
	return worker->running && worker->batches && !worker->reported &&
		!worker->filters;
}

/* Like poll(), with the descriptors of the pool. Reports who is silent. */
static int wait_for_workers(struct worker_pool *pool, int nr, int timeout_ms)
{
	int ready = 0;

	if (timeout_ms >= 0)
		return poll(pool->pollfds, nr, timeout_ms);

	while (!ready) {
		uint64_t soonest = UINT64_MAX, waited_ns = 0;

		for (int i = 0; i < pool->nr; i++) {
			struct pool_worker *worker = &pool->workers[i];

			if (!is_expected(worker))
				continue;
			if (worker->silent_ns >= pool->patience_ns)
				report_silence(worker, worker->silent_ns);
			else if (pool->patience_ns - worker->silent_ns < soonest)
				soonest = pool->patience_ns - worker->silent_ns;
		}
		if (soonest == UINT64_MAX)
			return poll(pool->pollfds, nr, -1);

		ready = poll_patiently(pool->pollfds, nr, soonest, &waited_ns);
		for (int i = 0; i < pool->nr; i++)
			if (is_expected(&pool->workers[i]))
				pool->workers[i].silent_ns += waited_ns;
	}
	return ready;
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
	ready = wait_for_workers(pool, nr, timeout_ms);
	err = errno;
	if (timeout_ms)
		pool->stats.waited_ns += getnanotime() - start;
	errno = err;
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
			lose_worker(pool, worker);
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

void pool_collect(struct worker_pool *pool)
{
	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (worker->running && worker->cp.in >= 0)
			wire_end_frame(&worker->out,
				       wire_begin_frame(&worker->out,
							WIRE_COLLECT));
	}
}

void pool_hang_up(struct worker_pool *pool)
{
	for (int i = 0; i < pool->nr; i++)
		if (pool->workers[i].running)
			close_fd(&pool->workers[i].cp.in);
}

static void wait_at_exit(struct child_process *cp)
{
	finish_command(cp);
}

/*
 * Wait for a worker that was told to end, and whose pipe ends with it. If one
 * of its filters goes on, the command does, too; like a filter of our own, that
 * is waited for when we exit. Returns -1 if the worker still runs.
 */
static int wait_for_end(struct worker_pool *pool, struct pool_worker *worker)
{
	struct pollfd pollfd = { .fd = worker->cp.out, .events = POLLIN };
	uint64_t patience_ns = pool->may_filter ? LINGER_NS : pool->patience_ns;
	uint64_t waited_ns = 0;
	int ready;

	/* The timer of the progress interrupts it once in a second. */
	do {
		ready = poll_patiently(&pollfd, 1, patience_ns - waited_ns,
				       &waited_ns);
	} while ((!ready || (ready < 0 && errno == EINTR)) &&
		 waited_ns < patience_ns);
	if (ready <= 0 && pool->may_filter) {
		close_fd(&worker->cp.out);
		worker->cp.clean_on_exit_handler = wait_at_exit;
		return -1;
	}
	if (ready <= 0 && waited_ns >= patience_ns)
		report_silence(worker, patience_ns);
	end_worker(worker);
	return 0;
}

/* Say how many workers were lost, and if none was of any use, why that may be. */
static void report_lost(const struct worker_pool *pool)
{
	int n = pool->to_report;

	if (!n)
		return;
	warning(Q_("a checkout worker has ended early; its files are written again",
		   "%d checkout workers have ended early; their files are written again",
		   n), n);
	if (!pool->stats.batches)
		advise(_("no worker has done anything; "
			 "is 'git' in '%s' of this version?"), git_exec_path());
}

void pool_finish(struct worker_pool *pool)
{
	int still_running = 0;

	report_lost(pool);

	/* Before waiting for anyone, so that they end at the same time. */
	pool_hang_up(pool);

	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (worker->running && wait_for_end(pool, worker))
			still_running = 1;
		strbuf_release(&worker->out);
		strbuf_release(&worker->in);
		free(worker->ids);
	}

	if (!still_running)
		free(pool->workers);
	free(pool->results);
	free(pool->lost);
	free(pool->holder);
	free(pool->pollfds);
	free(pool->pollfd_worker);
	memset(pool, 0, sizeof(*pool));
}
