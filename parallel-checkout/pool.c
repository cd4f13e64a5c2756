/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and pipes of a parallel checkout; see pool.h.
 */
#include "git-compat-util.h"
#include "advice.h"
#include "compat/nonblock.h"
#include "exec-cmd.h"
#include "gettext.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/silence.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

/*
 * When we end, a worker is told to, and ends what filters it has before; if it
 * is not gone after that time, it hangs.
 */
#define END_TIMEOUT_MS 4000

/* Most filters end at once when there is nothing more to do. */
#define LINGER_MS 1000

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
	worker->filters |= !!item->filter;
	worker->may_delay |= item->can_delay;
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
	worker->batches++;
}

static void add_lost(struct worker_pool *pool, uint32_t id)
{
	ALLOC_GROW(pool->lost, pool->lost_nr + 1, pool->lost_alloc);
	pool->lost[pool->lost_nr++] = id;
}

/*
 * Is this most likely the exit code of another Git? 129 is for options that it
 * does not know, and of ours for another protocol, 1 for a command that is not
 * there; what lacks something dies with 128. That a SIGHUP is 129, too, and a
 * child that cannot even report why it cannot be executed is 1, does not
 * matter: the user is asked.
 */
static int is_foreign(int code)
{
	return code == 129 || code == 1;
}

void pool_lose_worker(struct worker_pool *pool, struct pool_worker *worker)
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
	pool->lost_workers += pool->lost_nr > lost_nr;

	/*
	 * It may have died of what a filter says, and waited for that to end
	 * until now. That will be reported. And where nobody asked for workers,
	 * only that they can never work.
	 */
	if (pool->lost_nr > lost_nr &&
	    (worker->answered || !pool->quiet || is_foreign(code)) &&
	    !(may_filter && (code == 128 || code == 128 + SIGTERM)))
		pool->to_report++;

	worker->ids_first = worker->ids_nr = 0;
	worker->batches = 0;
	strbuf_reset(&worker->out);
	worker->out_sent = 0;

	/* Another one takes its place, if there is any that was not in use. */
	while (pool->in_use < pool->nr &&
	       !pool->workers[pool->in_use++].running)
		; /* go on */
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
 * Does the worker, which was told to end, and whose pipe ends with it, linger
 * beyond that time? If one of its filters goes on, the command does, too; like
 * a filter of our own, that is waited for when we exit.
 */
static int lingers(struct pool_worker *worker, uint64_t end_ns)
{
	struct pollfd pollfd = { .fd = worker->cp.out, .events = POLLIN };
	uint64_t now_ns = getnanotime();
	int ready;

	/* The timer of the progress interrupts it once in a second. */
	do {
		ready = poll(&pollfd, 1, now_ns < end_ns ?
			     (end_ns - now_ns) / 1000000 + 1 : 0);
		now_ns = getnanotime();
	} while (ready < 0 && errno == EINTR && now_ns < end_ns);
	return ready <= 0;
}

/*
 * Say how many workers were lost, and if none was of any use, why that may be.
 */
static void report_lost(const struct worker_pool *pool)
{
	int n = pool->to_report;

	if (!n)
		return;
	warning(Q_("a checkout worker has ended early; its files are written again",
		   "%d checkout workers have ended early; their files are written again",
		   n), n);
	if (!pool->batches)
		advise(_("no worker has done anything; "
			 "is 'git' in '%s' of this version?"), git_exec_path());
}

void pool_finish(struct worker_pool *pool)
{
	int still_running = 0;
	uint64_t end_ns = getnanotime() + LINGER_MS * (uint64_t)1000000;

	report_lost(pool);

	/* Before waiting for anyone, so that they end at the same time. */
	pool_hang_up(pool);

	for (int i = 0; i < pool->nr; i++) {
		struct pool_worker *worker = &pool->workers[i];

		if (worker->running && pool->may_filter &&
		    lingers(worker, end_ns)) {
			close_fd(&worker->cp.out);
			worker->cp.clean_on_exit_handler = wait_at_exit;
			still_running = 1;
		} else if (worker->running) {
			end_worker(worker);
		}
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
