/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The face of parallel checkout: entries are offered, accepted or not, and
 * finished. What becomes of them is told by parallel-checkout/state.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "advice.h"
#include "convert.h"
#include "dirs.h"
#include "entry.h"
#include "exec-cmd.h"
#include "gettext.h"
#include "parallel-checkout.h"
#include "parallel-checkout/classify.h"
#include "parallel-checkout/deferred.h"
#include "parallel-checkout/dispatch.h"
#include "parallel-checkout/sequential.h"
#include "parallel-checkout/state.h"
#include "progress.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "setup.h"
#include "string-list.h"
#include "symlinks.h"
#include "trace2.h"

static struct parallel_checkout parallel_checkout;

void parallel_checkout_assert_quiet(void)
{
	if (parallel_checkout.in_flight)
		BUG("the working tree is changed while workers are in flight");
}

size_t parallel_checkout_accepted(void)
{
	return parallel_checkout.accepted;
}

/* Whatever we have to start now is worth more than idle workers. */
static int give_way(void)
{
	return !parallel_checkout.in_flight &&
		pool_give_way(&parallel_checkout.pool);
}

/* In which phase entries are offered, or removals, from now on. */
static enum checkout_phase offering_phase(const struct parallel_checkout *pc)
{
	if (pc->sequential)
		return PHASE_SEQUENTIAL;
	if (pc->config.nr || pc->pool_started || pc->config.threshold >= 0)
		return PHASE_ACCEPTING;
	return PHASE_WATCHING;
}

void parallel_checkout_begin(const struct checkout *state,
			     const struct index_state *old_index,
			     struct progress *progress,
			     unsigned int *progress_cnt, unsigned int flags)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->phase != PHASE_IDLE)
		BUG("parallel checkout already initialized");
	memset(pc, 0, sizeof(*pc));
	pc->state = state;
	pc->old_index = old_index;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	pc->attrs_from_index = !!(flags & PARALLEL_CHECKOUT_ATTRS_FROM_INDEX);
	pc->one_by_one = !!(flags & PARALLEL_CHECKOUT_ONE_BY_ONE);
	get_checkout_workers(&pc->config);
	pc->may_filter = !!have_parallel_filters();
	strset_init(&pc->filters);
	strbuf_init(&pc->path, 0);
	queue_init(&pc->queue);
	donors_init(&pc->donors);

	/*
	 * Without this we cannot rely on waitpid() to tell what happened to our
	 * children, workers and others; cf. git_connect().
	 */
	signal(SIGCHLD, SIG_DFL);
	set_give_way_routine(give_way);

	trace2_region_enter("pcheckout", "main", the_repository);
	pc->sequential = why_sequential(pc);
	if (pc->sequential)
		trace2_data_string("pcheckout", the_repository, "sequential",
				   pc->sequential);
	pc_enter(pc, offering_phase(pc));
}

/* Is there anything that was accepted and is neither written nor delayed? */
static int is_behind(const struct parallel_checkout *pc)
{
	return pc->queue.queued || pc->in_flight || pc->deferred;
}

void parallel_checkout_catch_up(void)
{
	struct parallel_checkout *pc = &parallel_checkout;

	/* for parallel_checkout_write(): something is about to be run */
	pc->offered++;
	if (pc->phase != PHASE_ACCEPTING || !is_behind(pc))
		return;
	dispatch_drain(pc, 0);
	deferred_write(pc);
	pc_forget_entries(pc);
	pc_enter(pc, PHASE_ACCEPTING);
}

enum parallel_checkout_answer
parallel_checkout_offer(struct cache_entry *ce, const struct stat *st,
			const struct checkout *state, int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct accepted_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	enum entry_class class;

	if (state != pc->state)
		return PARALLEL_CHECKOUT_REFUSED;
	if (!st) {
		pc->offered++;
		dispatch_watch(pc);
	}
	if (pc->phase != PHASE_ACCEPTING &&
	    !(pc->phase == PHASE_WATCHING && pc->may_filter))
		return PARALLEL_CHECKOUT_REFUSED;

	class = classify_entry(pc, &entry, st);
	if (class == ENTRY_UNSEEN)
		return PARALLEL_CHECKOUT_UNSEEN;
	if (pc->phase == PHASE_WATCHING && class == ENTRY_ORDINARY &&
	    entry.item.filter)
		pc_enter(pc, PHASE_ACCEPTING);
	if (pc->phase != PHASE_ACCEPTING)
		return PARALLEL_CHECKOUT_REFUSED;

	/* Later, entry.c has the path of the entry in a static buffer. */
	if (class == ENTRY_AT_ITS_TURN && !st) {
		parallel_checkout_catch_up();
		return PARALLEL_CHECKOUT_REFUSED;
	}
	if (class == ENTRY_ORDINARY) {
		if (pc_prepare_root(pc))
			return PARALLEL_CHECKOUT_REFUSED;

		/* A filter may read what comes before, like .lfsconfig. */
		if (entry.item.filter &&
		    strset_add(&pc->filters, entry.item.filter))
			parallel_checkout_catch_up();
		dispatch_enqueue(pc, &entry);
	} else {
		/* The filter or submodule of the entry may look at others. */
		if (!is_behind(pc))
			return PARALLEL_CHECKOUT_REFUSED;
		pc_defer(pc, pc_append(pc, &entry), DEFERRED_UNFIT);
	}
	pc->accepted++;
	return PARALLEL_CHECKOUT_ACCEPTED;
}

int parallel_checkout_write(struct cache_entry *ce, const struct conv_attrs *ca,
			    const struct checkout *state, int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct accepted_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	int in_place;

	if (state != pc->state || pc_prepare_root(pc) ||
	    classify_cleared(pc, &entry, ca) != ENTRY_ORDINARY)
		return -1;

	/* Has no filter, merge driver or submodule been run since the last? */
	in_place = pc->offered == 1;
	pc->offered = 0;
	return pc_write(pc, &entry, in_place);
}

int parallel_checkout_remove(struct cache_entry *ce)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct accepted_entry entry = { .ce = ce };

	dispatch_watch(pc);
	if (pc->phase != PHASE_ACCEPTING)
		return -1;
	if (classify_removal(pc, &entry) != ENTRY_ORDINARY ||
	    pc_prepare_root(pc))
		pc_defer(pc, pc_append(pc, &entry), DEFERRED_UNFIT);
	else
		dispatch_enqueue(pc, &entry);
	return 0;
}

/* Something at the path is gone: its directory may be empty now. */
static void add_parent(struct strset *dirs, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *cwd = startup_info->original_cwd;
	char *dir;

	if (!slash)
		return;
	dir = xmemdupz(path, slash - path);
	/* Somebody is in there; see schedule_dir_for_removal(). */
	if (!cwd || strcmp(dir, cwd))
		strset_add(dirs, dir);
	free(dir);
}

/* Is the directory gone? Nobody else is removing anything now. */
static int is_removed(const struct accepted_entry *dir)
{
	if (dir->state == ENTRY_DONE)
		return 1;

	/* A worker that was lost may have removed it. */
	return dir->state != DEFERRED_ANSWERED &&
		(!beneath_rmdir(dir->item.path, 0) || errno == ENOENT);
}

/*
 * Remove those of the directories that are empty. Those that were removed may
 * have been the last thing in their parents.
 */
static void remove_dirs(struct parallel_checkout *pc, struct strset *dirs,
			struct strset *parents)
{
	struct hashmap_iter iter;
	struct strmap_entry *dir;

	pc_enter(pc, PHASE_ACCEPTING);
	strset_for_each_entry(dirs, &iter, dir) {
		struct accepted_entry entry = {
			.item = {
				.mode = CHECKOUT_REMOVE_DIR,
				.path = dir->key,
				.path_len = strlen(dir->key),
			},
		};

		dispatch_enqueue(pc, &entry);
	}
	dispatch_drain(pc, 0);
	for (size_t i = 0; i < pc->nr; i++)
		if (is_removed(&pc->entries[i]))
			add_parent(parents, pc->entries[i].item.path);
	pc->deferred = 0;
	pc_forget_entries(pc);
}

void parallel_checkout_finish_removals(void)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct strset dirs = STRSET_INIT;

	dispatch_drain(pc, 0);
	for (size_t i = 0; i < pc->nr; i++) {
		struct accepted_entry *entry = &pc->entries[i];

		if (entry->state == ENTRY_DONE) {
			add_parent(&dirs, entry->ce->name);
		} else {
			unlink_entry(entry->ce, pc->state->super_prefix);
			pc_advance_progress(pc);
		}
	}
	pc->deferred = 0;
	pc_forget_entries(pc);
	while (!strset_empty(&dirs)) {
		struct strset parents = STRSET_INIT;

		remove_dirs(pc, &dirs, &parents);
		strset_clear(&dirs);
		dirs = parents;
	}

	/* The workers do not tell our cache what is gone. */
	if (pc->pool_started)
		invalidate_lstat_cache();
	dispatch_watch_anew(pc);
	pc_enter(pc, offering_phase(pc));
}

static void report_lost_workers(const struct worker_pool *pool)
{
	int n = pool->to_report;

	if (n)
		warning(Q_("a checkout worker has ended early; its files are written again",
			   "%d checkout workers have ended early; their files are written again",
			   n), n);
	if (n && !pool->batches)
		advise(_("no worker has done anything; "
			 "is 'git' in '%s' of this version?"), git_exec_path());
}

/* Forget everything. Returns what parallel_checkout_finish() does. */
static int release_parallel_checkout(struct parallel_checkout *pc)
{
	int errs = pc->errs;

	pc_trace_stats(pc);
	report_lost_workers(&pc->pool);
	set_give_way_routine(NULL);
	pool_finish(&pc->pool);
	strbuf_release(&pc->path);
	free(pc->root);
	queue_release(&pc->queue);
	strset_clear(&pc->filters);
	donors_release(&pc->donors);
	free(pc->entries);
	if (pc->is_writing)
		writer_close(&pc->writer);
	pc_enter(pc, PHASE_IDLE);
	memset(pc, 0, sizeof(*pc));

	trace2_region_leave("pcheckout", "main", the_repository);
	return errs ? -1 : 0;
}

int parallel_checkout_finish(void)
{
	struct parallel_checkout *pc = &parallel_checkout;

	dispatch_drain(pc, 1);
	if (!pc->delayed)
		pool_hang_up(&pc->pool);
	deferred_write(pc);
	if (!pc->delayed)
		return release_parallel_checkout(pc);
	pc->progress = NULL;
	pc_enter(pc, PHASE_DELAYED);
	return 0;
}

size_t parallel_checkout_delayed(void)
{
	return parallel_checkout.delayed;
}

int parallel_checkout_finish_delayed(struct progress *progress,
				     unsigned int *progress_cnt, off_t *bytes)
{
	struct parallel_checkout *pc = &parallel_checkout;
	size_t delayed_before, delayed_again, left;

	if (pc->phase != PHASE_DELAYED)
		return 0;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	pc->throughput_base = pc_bytes(pc) - *bytes;
	dispatch_collect(pc);

	/* Filters of the main process may delay what is left to them. */
	delayed_before = pc->state->delayed_checkout->paths.nr;
	left = pc->deferred;
	pc->progress = NULL;
	deferred_write(pc);
	delayed_again = pc->state->delayed_checkout->paths.nr - delayed_before;
	*progress_cnt += left - delayed_again;
	*bytes = pc_bytes(pc) - pc->throughput_base;
	display_progress(progress, *progress_cnt);
	return release_parallel_checkout(pc);
}
