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

/* Let a worker end, and wait for that. Returns its exit code. */
static int end_worker(struct pool_worker *worker)
{
	worker->running = 0;
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
	cp->clean_timeout_ms = END_TIMEOUT_MS;
	strvec_pushv(&cp->args, args->v);
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	if (may_filter && cp->no_stderr)
		filter_stderr = dup(2);
	if (filter_stderr >= 0)
		strvec_pushf(&cp->args, "--filter-stderr=%d", filter_stderr);
	if (start_command(cp))
		err = errno ? errno : EIO;
	if (filter_stderr >= 0)
		close(filter_stderr);
	if (err)
		return err;

	/*
	 * The worker may be waiting for room in its pipe of results while we
	 * would be waiting for room in its pipe of items.
	 */
	if (enable_pipe_nonblock(cp->in) < 0) {
		err = errno;
		end_worker(worker);
		return err;
	}
	worker->running = 1;
	return 0;
}

void pool_init(struct worker_pool *pool, int max)
{
	memset(pool, 0, sizeof(*pool));
	pool->alloc = max;

	/* run-command.c remembers where they are, so they must stay there. */
	CALLOC_ARRAY(pool->workers, max);
	CALLOC_ARRAY(pool->pollfds, 2 * (size_t)max);
}

/*
 * With all descriptors in use, we could not open a pack or a file any more. So
 * end some of the workers again.
 */
#define WORKERS_TO_GIVE_BACK 8

int pool_start(struct worker_pool *pool, int nr, const struct strvec *args)
{
	int had = pool->nr, err = 0;

	if (nr > pool->alloc - had)
		BUG("too many checkout workers");
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
	if (err == EMFILE || err == ENFILE)
		for (int i = 0; i < WORKERS_TO_GIVE_BACK && pool->nr > had; i++)
			end_worker(&pool->workers[--pool->nr]);
	if (pool->quiet)
		end_silence();
	if (err)
		trace2_data_string("pcheckout", NULL, "workers/failed",
				   strerror(err));
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
		if (!pool->workers[i].running)
			continue;
		if (!pool->workers[i].answered)
			return 1;
		used++;
	}
	return 0;
}

int pool_free_worker(const struct worker_pool *pool)
{
	int best = -1, fewest = POOL_BATCHES_PER_WORKER;

	for (int i = 0, used = 0; i < pool->nr && used < pool->in_use; i++) {
		const struct pool_worker *worker = &pool->workers[i];

		if (!worker->running)
			continue;
		if (worker->cp.in >= 0 && worker->batches < fewest) {
			best = i;
			fewest = worker->batches;
		}
		used++;
	}
	return best;
}

void pool_begin_batch(struct worker_pool *pool, int nr)
{
	struct pool_worker *worker = &pool->workers[nr];

	worker->batch_len[worker->batches] = 0;
	worker->batch_start = wire_begin_frame(&worker->out, WIRE_ITEMS);
}

int pool_add_item(struct worker_pool *pool, int nr,
		  const struct checkout_item *item)
{
	struct pool_worker *worker = &pool->workers[nr];
	size_t len = worker->out.len, alloc = pool->holder_alloc;

	wire_put_item(&worker->out, item);
	if (worker->out.len - worker->batch_start > WIRE_MAX_PAYLOAD) {
		strbuf_setlen(&worker->out, len);
		return -1;
	}

	ALLOC_GROW(pool->holder, (size_t)item->id + 1, pool->holder_alloc);
	memset(pool->holder + alloc, 0,
	       (pool->holder_alloc - alloc) * sizeof(*pool->holder));
	pool->holder[item->id] = nr + 1;
	worker->filters |= !!item->filter;
	worker->batch_len[worker->batches]++;
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
			pool_add_result(pool, &lost);
	}
	if (pool->results_nr == results_nr)
		return;
	pool->lost_workers++;

	/*
	 * It may have died of what a filter says, and waited for that to end
	 * until now. That will be reported. And where nobody asked for workers,
	 * only that they can never work.
	 */
	if ((worker->answered || !pool->quiet || is_foreign(code)) &&
	    !(worker->filters && (code == 128 || code == 128 + SIGTERM)))
		pool->to_report++;
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

		/*
		 * Its pipe ends with it. If one of its filters goes on, the
		 * command does, too; like a filter of our own, that is waited
		 * for when we exit.
		 */
		if (worker->running && pool->may_filter &&
		    pool_wait_for_pipe(worker->cp.out, end_ns)) {
			close_fd(&worker->cp.out);
			worker->cp.clean_on_exit_handler = wait_at_exit;
			still_running = 1;
		} else if (worker->running) {
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
