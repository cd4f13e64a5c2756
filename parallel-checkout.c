/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The main process's side of parallel checkout: which entries are fit for it,
 * what is believed of their paths, the queue, and what becomes of the results.
 * Processes are pool.c's job, policy is tune.c's, and writing is writer.c's.
 *
 * While workers are in flight, nothing here or in entry.c removes, renames or
 * replaces anything in the working tree: an entry for which that is necessary
 * is put off until all workers are idle. And what decides how an entry is
 * written is what the sequential code would have seen at its turn.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "attr.h"
#include "beneath.h"
#include "convert.h"
#include "entry.h"
#include "environment.h"
#include "gettext.h"
#include "hashmap.h"
#include "mem-pool.h"
#include "object-file.h"
#include "odb.h"
#include "oid-array.h"
#include "parallel-checkout.h"
#include "parallel-checkout/barrier.h"
#include "parallel-checkout/collision.h"
#include "parallel-checkout/limits.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/prune.h"
#include "parallel-checkout/queue.h"
#include "parallel-checkout/run-clock.h"
#include "parallel-checkout/settings.h"
#include "parallel-checkout/tune.h"
#include "parallel-checkout/writer.h"
#include "parse.h"
#include "path.h"
#include "progress.h"
#include "promisor-remote.h"
#include "read-cache-ll.h"
#include "read-cache.h"
#include "setup.h"
#include "strvec.h"
#include "symlinks.h"
#include "thread-utils.h"
#include "trace.h"
#include "trace2.h"

/*
 * Entries that the main process writes before it looks again whether a directory
 * is still where it was; somebody may have moved it.
 */
#define ENTRIES_WITH_HANDLES 64

/*
 * A path that is longer is not for us. The classic code says so, as no system
 * call takes it, while a worker could well reach it by handles.
 */
#define MAX_PATH_LEN (PATH_MAX < POOL_MAX_PATH ? PATH_MAX : POOL_MAX_PATH)

/* Entries queued between two looks at the workers. */
#define ENTRIES_PER_LOOK 32

/*
 * Put-off entries that make it worth to use the workers for them as well, after
 * what was in their way has been removed.
 */
#define MIN_SECOND_ROUND 100

/* Entries queued between two thoughts about whether to start workers. */
#define ENTRIES_PER_THOUGHT 32

/* An entry that has been taken, or a directory that is to be removed. */
struct queued_entry {
	struct cache_entry *ce;
	const char *dir;		/* instead of ce */
	int *nr_checkouts;

	/* What may be replaced; see struct checkout_item. */
	const struct stat_data *old_sd;
	uint32_t old_mode;

	/* From struct conv_attrs. The string is interned. */
	struct convert_driver *drv;
	const char *encoding;
	unsigned char attr_action, crlf_action;
	unsigned ident : 1;
	unsigned has_attrs : 1;	/* these were looked up */

	/* Ineligible, or not as believed: for the classic code. */
	unsigned put_off : 1;
	unsigned was_sent : 1;	/* to a worker */
	unsigned collides : 1;	/* see find_collisions() */
	unsigned remove : 1;
	unsigned char status;
};

struct parallel_checkout {
	enum pc_status status;
	const struct checkout *state;
	const struct index_state *old_index;
	unsigned int old_pos;		/* in old_index */
	struct progress *progress;
	unsigned int *progress_cnt;
	struct checkout_workers config;

	/*
	 * If their number is found out: what is known, and what the main
	 * process has done in alone_ns, before there were any.
	 */
	struct tune_auto tune;
	uint64_t alone_ns, alone_entries, alone_bytes;
	uint64_t removing_since_ns;

	/*
	 * What it had done, and for how long it had been running, when it was
	 * observed; and for how long it ran from then on while it was alone.
	 */
	uint64_t observed_ns, observed_entries, observed_running_ns;
	uint64_t alone_run_ns;

	/*
	 * All entries that have been taken. The queue has the numbers of those
	 * that are to be given to a worker; `in_flight` ones have been given
	 * to one and not been answered.
	 */
	struct queued_entry *entries;
	size_t nr, alloc, in_flight;
	struct checkout_queue queue;
	size_t taken, since_look;

	/* How many have put_off set. */
	size_t put_offs;

	/*
	 * Put off, and given to the classic code only to have its path cleared;
	 * see parallel_checkout_offer_cleared().
	 */
	struct queued_entry *clearing;

	struct checkout_barriers barriers;
	const struct cache_entry *last_barrier;

	/*
	 * With core.ignoreCase: the names of the entries that have been
	 * offered, what was found for the last one, and how many of those that
	 * were taken collide with an earlier one.
	 */
	struct collision_set names;
	struct spelling_set spelling;
	const struct cache_entry *offered;
	unsigned offered_collides : 1;
	size_t collisions;
	int cores;

	/* Stat data that somebody else saw; owned. */
	struct mem_pool seen;

	/* Without state->force; see remember_inode(). */
	unsigned int *inodes;
	size_t inodes_nr, inodes_alloc;

	unsigned attrs_from_index : 1;
	unsigned barriers_known : 1;
	unsigned config_removed : 1;
	unsigned want_stat : 1;

	/* The queue will not grow any more. */
	unsigned complete : 1;

	/* Neither workers nor the writer can be used. */
	unsigned disabled : 1;

	/* What is taken is written at once, by the main process. */
	unsigned alone : 1;
	unsigned at_once : 1;	/* and that is not to change */

	/* Entries since the writer's handles were forgotten. */
	unsigned int with_handles;

	unsigned pool_started : 1, writer_opened : 1, root_ready : 1;
	struct worker_pool pool;
	struct checkout_writer writer;
	int workers_started;

	/*
	 * state->base_dir up to its last slash, and what comes after that,
	 * which is the beginning of the names of the files.
	 */
	char *root;
	const char *name_prefix;
	struct strbuf path;	/* name_prefix and an entry's name */

	uintmax_t removals, conflicts, declined;
	uintmax_t written_here;		/* entries, by this process's writer */
	uintmax_t classic_bytes;	/* written by the classic code */
	int errs;
};

static struct parallel_checkout parallel_checkout;

enum pc_status parallel_checkout_status(void)
{
	return parallel_checkout.status;
}

/* For how long this process has been running. */
static uint64_t time_running(void)
{
	struct run_clock clock;
	uint64_t ns;

	run_clock_init(&clock);
	ns = run_clock_ns(&clock);
	run_clock_release(&clock);
	return ns;
}

/* What is known about the speed so far. */
static void take_sample(struct parallel_checkout *pc, struct tune_sample *now)
{
	memset(now, 0, sizeof(*now));
	now->now_ns = getnanotime();
	now->busy_ns = pc->alone_ns;
	now->entries = pc->alone_entries + pc->pool.stats.entries;
	now->bytes = pc->alone_bytes + pc->pool.stats.bytes;
	now->run_ns = pc->alone_run_ns + pc->pool.stats.run_ns;
	now->queued = pc->queue.queued;
	now->complete = pc->complete;
}

static void advance_progress(struct parallel_checkout *pc)
{
	if (pc->progress)
		display_progress(pc->progress, ++*pc->progress_cnt);
}

static void advance_throughput(struct parallel_checkout *pc)
{
	uintmax_t bytes = pc->writer.bytes + pc->pool.stats.bytes +
		pc->classic_bytes;

	/* A checkout that only removes files has no throughput. */
	if (pc->progress && bytes)
		display_throughput(pc->progress, bytes);
}

static void init_parallel_checkout(struct parallel_checkout *pc,
				   const struct checkout *state,
				   struct progress *progress,
				   unsigned int *progress_cnt)
{
	memset(pc, 0, sizeof(*pc));
	pc->state = state;
	pc->progress = progress;
	pc->progress_cnt = progress_cnt;
	pc->want_stat = state->refresh_cache || !state->force;
	get_checkout_workers(&pc->config);
	if (!pc->config.nr) {
		struct tune_sample now;

		take_sample(pc, &now);
		tune_auto_init(&pc->tune, pc->config.threshold, &now);
		pc->alone = !tune_auto_is_late(&pc->tune, 0);
	} else {
		pc->alone = pc->config.nr == 1;
	}
	mem_pool_init(&pc->seen, 0);
	strbuf_init(&pc->path, 0);
	queue_init(&pc->queue);
	collision_init(&pc->names);
	spelling_init(&pc->spelling);

	/*
	 * Without this we cannot rely on waitpid() to tell what happened to our
	 * children, workers and others; cf. git_connect().
	 */
	signal(SIGCHLD, SIG_DFL);

	trace2_region_enter("pcheckout", "main", the_repository);
}

static void forget_barriers(struct parallel_checkout *pc)
{
	if (pc->barriers_known)
		barriers_release(&pc->barriers);
	pc->barriers_known = 0;
	pc->last_barrier = NULL;
}

void parallel_checkout_begin(const struct checkout *state,
			     const struct index_state *old_index,
			     struct progress *progress,
			     unsigned int *progress_cnt, unsigned int flags)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (old_index == state->istate)
		BUG("the old index is the one to be updated");
	if (pc->status == PC_UNINITIALIZED)
		init_parallel_checkout(pc, state, progress, progress_cnt);
	else if (pc->status != PC_REMOVED || state != pc->state)
		BUG("parallel checkout already initialized");
	else
		tune_auto_restart(&pc->tune);

	pc->status = PC_ACCEPTING_ENTRIES;
	pc->old_index = old_index;
	forget_barriers(pc);
	pc->attrs_from_index = !!(flags & PARALLEL_CHECKOUT_ATTRS_FROM_INDEX);
	pc->at_once = !!(flags & PARALLEL_CHECKOUT_AT_ONCE);
	if (pc->config_removed)
		pc->at_once = 1;
	if (pc->config_removed || (pc->at_once && !pc->config.nr))
		pc->alone = 1;

	/*
	 * "Only what exists" has to be looked at anyway. And once the file has
	 * been removed, it is not "what exists" for the classic code, so the
	 * entry could not be put off.
	 */
	pc->disabled = state->not_new ||
		git_env_bool("GIT_TEST_CHECKOUT_CLASSIC", 0);
}

size_t parallel_checkout_taken(void)
{
	return parallel_checkout.taken;
}

/*
 * Without force, what is written must be known, to be told from what a lost
 * worker has left behind; see remove_leftover().
 */
static void remember_inode(struct parallel_checkout *pc, unsigned int ino)
{
	ALLOC_GROW(pc->inodes, pc->inodes_nr + 1, pc->inodes_alloc);
	pc->inodes[pc->inodes_nr++] = ino;
}

static int is_inode_known(const struct parallel_checkout *pc, unsigned int ino)
{
	for (size_t i = 0; i < pc->inodes_nr; i++)
		if (pc->inodes[i] == ino)
			return 1;
	return 0;
}

static void entry_written(struct parallel_checkout *pc, struct cache_entry *ce,
			  int *nr_checkouts,
			  const struct checkout_result *result)
{
	if (result->has_sd) {
		struct stat st;

		memset(&st, 0, sizeof(st));
		st.st_mode = ce->ce_mode;
		fake_lstat_data(&result->sd, &st);
		update_ce_after_write(pc->state, ce, &st);
		if (!pc->state->force)
			remember_inode(pc, result->sd.sd_ino);
	}
	if (nr_checkouts)
		(*nr_checkouts)++;
}

/*
 * The leading directories that are part of a --prefix may be symbolic links,
 * and have to be made by us. Returns -1 if that is not possible; then the
 * classic code will report it.
 */
static int prepare_root(struct parallel_checkout *pc)
{
	const char *base_dir = pc->state->base_dir;
	const char *slash = find_last_dir_sep(base_dir);

	if (pc->root_ready)
		return 0;
	if (slash) {
		char *some_file = xstrfmt("%.*sx", (int)(slash + 1 - base_dir),
					  base_dir);
		int ret = safe_create_leading_directories_no_share(some_file);

		free(some_file);
		if (ret)
			return -1;
		pc->root = xmemdupz(base_dir, slash + 1 - base_dir);
		pc->name_prefix = slash + 1;
	} else {
		pc->root = xstrdup("");
		pc->name_prefix = base_dir;
	}
	pc->root_ready = 1;
	return 0;
}

static int prepare_writer(struct parallel_checkout *pc)
{
	if (pc->writer_opened)
		return 0;
	if (writer_open(&pc->writer, the_repository, pc->root,
			pc->want_stat) < 0)
		return -1;
	pc->writer_opened = 1;
	return 0;
}

/* The path of an entry, relative to the root. Valid until the next call. */
static const char *path_of(struct parallel_checkout *pc,
			   const struct queued_entry *entry, size_t *len)
{
	if (!entry->ce) {
		*len = strlen(entry->dir);
		return entry->dir;
	}
	if (!*pc->name_prefix) {
		*len = ce_namelen(entry->ce);
		return entry->ce->name;
	}
	strbuf_reset(&pc->path);
	strbuf_addstr(&pc->path, pc->name_prefix);
	strbuf_add(&pc->path, entry->ce->name, ce_namelen(entry->ce));
	*len = pc->path.len;
	return pc->path.buf;
}

static void set_attrs(struct queued_entry *entry, const struct conv_attrs *ca)
{
	entry->has_attrs = 1;
	entry->drv = ca->drv;
	entry->attr_action = ca->attr_action;
	entry->crlf_action = ca->crlf_action;
	entry->ident = !!ca->ident;

	/*
	 * The string belongs to the attribute stack, which drops it when it
	 * comes to another directory.
	 */
	entry->encoding = ca->working_tree_encoding ?
		strintern(ca->working_tree_encoding) : NULL;
}

/*
 * Look up the attributes of an entry before its path is made ready. A symbolic
 * link in that will have been replaced by a directory when the entry is written,
 * so nothing is behind it.
 */
static void look_up_attrs(const struct parallel_checkout *pc,
			  struct queued_entry *entry)
{
	struct conv_attrs ca;

	git_attr_set_real_dirs(pc->barriers.in_place);
	convert_attrs(pc->state->istate, &ca, entry->ce->name);
	git_attr_set_real_dirs(0);
	set_attrs(entry, &ca);
}

static void get_attrs(const struct queued_entry *entry, struct conv_attrs *ca)
{
	ca->drv = entry->drv;
	ca->attr_action = entry->attr_action;
	ca->crlf_action = entry->crlf_action;
	ca->ident = entry->ident;
	ca->working_tree_encoding = entry->encoding;
}

/* What a worker is told of the attributes. */
static void get_conversion(const struct queued_entry *entry,
			   struct checkout_conversion *conv)
{
	if (output_eol(entry->crlf_action) != EOL_CRLF)
		conv->eol = CHECKOUT_EOL_AS_IS;
	else if (entry->crlf_action == CRLF_TEXT_CRLF)
		conv->eol = CHECKOUT_EOL_CRLF;
	else
		conv->eol = CHECKOUT_EOL_AUTO_CRLF;
	conv->ident = entry->ident;
	conv->encoding = entry->encoding;
}

/*
 * Make an item of a queued entry. Its path is only valid until the next call.
 */
static void prepare_item(struct parallel_checkout *pc,
			 const struct queued_entry *entry, uint32_t id,
			 struct checkout_item *item)
{
	const struct cache_entry *ce = entry->ce;

	memset(item, 0, sizeof(*item));
	item->id = id;
	item->path = path_of(pc, entry, &item->path_len);
	if (entry->remove) {
		item->mode = ce ? CHECKOUT_REMOVE_FILE : CHECKOUT_REMOVE_DIR;
		return;
	}
	item->mode = create_ce_mode(ce->ce_mode);
	oidcpy(&item->oid, &ce->oid);
	if (S_ISREG(ce->ce_mode))
		get_conversion(entry, &item->conv);
	if (entry->old_sd) {
		item->old_mode = entry->old_mode;
		item->old_sd = *entry->old_sd;
	}
}

/* Write an entry in this process. Returns 0 if it is written. */
static int write_here(struct parallel_checkout *pc,
		      const struct queued_entry *entry)
{
	struct checkout_item item;
	struct checkout_result result;

	if (pc->disabled || prepare_root(pc) || prepare_writer(pc)) {
		pc->disabled = 1;
		return -1;
	}
	if (++pc->with_handles > ENTRIES_WITH_HANDLES) {
		writer_begin_batch(&pc->writer);
		pc->with_handles = 1;
	}
	prepare_item(pc, entry, 0, &item);
	writer_write(&pc->writer, &item, &result);
	if (result.status != CHECKOUT_WRITTEN)
		return -1;
	entry_written(pc, entry->ce, entry->nr_checkouts, &result);
	pc->written_here++;
	return 0;
}

/* The main process is alone, and has been writing or removing for alone_ns. */
static void think_about_time(struct parallel_checkout *pc)
{
	if (tune_auto_is_notable(&pc->tune, pc->alone_ns)) {
		struct tune_sample now;

		/* At least one more, to see how it does. */
		pc->observed_ns = pc->alone_ns;
		pc->observed_entries = pc->alone_entries;
		pc->observed_running_ns = time_running();
		take_sample(pc, &now);
		tune_auto_observe(&pc->tune, &now);
	} else if (!pc->at_once &&
		   tune_auto_is_late(&pc->tune, pc->alone_ns)) {
		pc->alone = 0;
		pc->alone_run_ns = time_running() - pc->observed_running_ns;
	}
}

/*
 * Write an entry as the sequential code would, now. If that has taken a while,
 * and nobody said that it should be so, workers are to do the rest.
 */
static int write_alone(struct parallel_checkout *pc,
		       const struct queued_entry *entry)
{
	uint64_t start_ns = getnanotime();

	if (write_here(pc, entry))
		return -1;
	pc->alone_entries++;
	pc->alone_bytes = pc->writer.bytes;
	advance_throughput(pc);
	if (!pc->config.nr) {
		pc->alone_ns += getnanotime() - start_ns;
		think_about_time(pc);
	}
	return 0;
}

/* Give the next entries of the queue to a worker. */
static void send_batch(struct parallel_checkout *pc, int worker)
{
	const struct tune_batch now = {
		.workers = pool_in_use(&pc->pool),
		.cores = pc->cores,
		.queued = pc->queue.queued,
		.complete = pc->complete,
		.is_judged = !pc->config.nr,
		.entries = pc->pool.stats.entries + pc->alone_entries -
			pc->observed_entries,
		.busy_ns = pc->pool.stats.busy_ns + pc->alone_ns -
			pc->observed_ns,
		.run_ns = pc->pool.stats.run_ns + pc->alone_run_ns,
	};
	int by_directory = tune_is_waiting(&now);
	size_t size = tune_batch_size(&now), n = 0;
	uint32_t id, last = 0;

	pool_begin_batch(&pc->pool, worker);
	while (n < size &&
	       !(by_directory ? queue_next(&pc->queue, worker, &id) :
				queue_first(&pc->queue, &id))) {
		struct checkout_item item;

		/*
		 * A worker that begins a directory should rather finish it
		 * than have another one work in it at the same time.
		 */
		if (n && n >= size / 2 && !queue_same_dir(&pc->queue, id, last))
			break;

		prepare_item(pc, &pc->entries[id], id, &item);
		if (pool_add_item(&pc->pool, worker, &item))
			break;
		queue_take(&pc->queue, id);
		pc->entries[id].was_sent = 1;
		pc->in_flight++;
		last = id;
		n++;
	}
	pool_end_batch(&pc->pool, worker);
}

/* Leave an entry to the classic code, after what comes before it. */
static void put_off(struct parallel_checkout *pc, struct queued_entry *entry)
{
	if (!entry->put_off)
		pc->put_offs++;
	entry->put_off = 1;
}

static void take_result(struct parallel_checkout *pc,
			const struct checkout_result *result)
{
	struct queued_entry *entry = &pc->entries[result->id];

	pc->in_flight--;
	entry->status = result->status;
	pc->removals += entry->remove;
	if (entry->dir)
		return;
	if (result->status != CHECKOUT_WRITTEN) {
		if (result->status == CHECKOUT_CONFLICT)
			pc->conflicts++;
		else
			pc->declined++;
		put_off(pc, entry);
		return;
	}
	if (!entry->remove)
		entry_written(pc, entry->ce, entry->nr_checkouts, result);
	advance_progress(pc);
}

static void trace_workers(const struct parallel_checkout *pc, const char *why)
{
	struct strbuf msg = STRBUF_INIT;

	if (trace2_is_enabled()) {
		strbuf_addf(&msg, "%d: %s", pool_in_use(&pc->pool), why);
		trace2_data_string("pcheckout", the_repository,
				   "workers/used", msg.buf);
	}
	strbuf_release(&msg);
}

/* Start `nr` more workers. */
static void start_workers(struct parallel_checkout *pc, int nr)
{
	struct strvec args = STRVEC_INIT;
	int started;

	strvec_push(&args, "checkout--worker");
	if (*pc->root)
		strvec_pushf(&args, "--root=%s", pc->root);
	if (pc->want_stat)
		strvec_push(&args, "--stat");

	started = pool_start(&pc->pool, nr, &args);
	pc->workers_started += started;
	if (started < nr) {
		if (pc->config.nr)
			warning(_("could start %d of %d checkout workers"),
				started, nr);
		tune_auto_limit(&pc->tune, pc->cores, pc->pool.nr);
	}
	strvec_clear(&args);
}

/* See whether another number of workers might be better. */
static void adjust_workers(struct parallel_checkout *pc)
{
	struct tune_sample now;
	int had = pc->tune.workers, want;

	take_sample(pc, &now);
	want = tune_auto_next(&pc->tune, &now);
	if (want == had)
		return;
	if (want > pc->pool.nr)
		start_workers(pc, want - pc->pool.nr);
	else
		pool_use(&pc->pool, want);
	trace_workers(pc, pc->tune.why);
}

static void look_at_workers(struct parallel_checkout *pc, int timeout_ms)
{
	struct checkout_result result;
	uint32_t id;
	int worker;

	pc->since_look = 0;
	if (!pc->config.nr && pc->queue.queued)
		adjust_workers(pc);
	while (pc->queue.queued &&
	       (worker = pool_free_worker(&pc->pool)) >= 0)
		send_batch(pc, worker);

	pool_poll(&pc->pool, timeout_ms);

	while (pool_next_result(&pc->pool, &result))
		take_result(pc, &result);
	advance_throughput(pc);
	while (pool_next_lost(&pc->pool, &id)) {
		pc->in_flight--;
		put_off(pc, &pc->entries[id]);
	}
}

/* Wait until the workers have done all that is queued. */
static void drain(struct parallel_checkout *pc)
{
	while (pc->pool_started && pc->pool.running &&
	       (pc->queue.queued || pc->in_flight))
		look_at_workers(pc, -1);
}

/* Are there workers, and are they to write what comes next? */
static int is_streaming(const struct parallel_checkout *pc)
{
	return pc->pool_started && pc->pool.running && !pc->alone;
}

/* Is there anything that has been taken and is not written yet? */
static int is_behind(const struct parallel_checkout *pc)
{
	return pc->queue.queued || pc->in_flight || pc->put_offs;
}

static struct queued_entry *append_entry(struct parallel_checkout *pc,
					 const struct queued_entry *entry)
{
	if (pc->nr >= UINT32_MAX)
		BUG("too many entries for parallel checkout");
	ALLOC_GROW(pc->entries, pc->nr + 1, pc->alloc);
	pc->entries[pc->nr] = *entry;
	if (entry->ce && entry->ce == pc->offered && pc->offered_collides) {
		pc->entries[pc->nr].collides = 1;
		pc->collisions++;
	}
	return &pc->entries[pc->nr++];
}

/*
 * A submodule is checked out by a child process that has its own workers. And
 * what stands for a symbolic link where there are none is not a worker's
 * business.
 */
static int has_eligible_type(const struct parallel_checkout *pc,
			     const struct cache_entry *ce)
{
	return (S_ISREG(ce->ce_mode) ||
		(S_ISLNK(ce->ce_mode) && has_symlinks)) &&
		pc->state->base_dir_len + ce_namelen(ce) < MAX_PATH_LEN;
}

/* May a worker write this entry, whose attributes are known? */
static int is_eligible(const struct parallel_checkout *pc,
		       const struct queued_entry *entry)
{
	struct conv_attrs ca;

	if (!has_eligible_type(pc, entry->ce))
		return 0;
	if (!S_ISREG(entry->ce->ce_mode))
		return 1;

	get_attrs(entry, &ca);
	switch (classify_conv_attrs(&ca)) {
	case CA_CLASS_INCORE:
	case CA_CLASS_STREAMABLE:
		return 1;
	case CA_CLASS_INCORE_FILTER:
		/*
		 * Nobody promised that two instances of a filter command can
		 * run at the same time.
		 */
		return 0;
	case CA_CLASS_INCORE_PROCESS:
		/*
		 * There is one filter process, it speaks with one client, and
		 * it may delay its answers, which only the main process
		 * can handle.
		 */
		return 0;
	}
	BUG("unsupported conv_attrs classification");
}

/* Forget all entries; nothing is queued or in flight. */
static void reset_entries(struct parallel_checkout *pc)
{
	pc->nr = pc->put_offs = pc->collisions = 0;
	queue_release(&pc->queue);
	pc->complete = 0;
}

/* Take an entry for the classic code. Its attributes are those of now. */
static void take_put_off(struct parallel_checkout *pc,
			 struct queued_entry *entry)
{
	const struct cache_entry *ce = entry->ce;

	if (S_ISREG(ce->ce_mode) && !(ce->ce_flags & CE_WT_REMOVE) &&
	    !entry->has_attrs && has_eligible_type(pc, ce))
		look_up_attrs(pc, entry);
	put_off(pc, append_entry(pc, entry));
	pc->taken++;
}

/*
 * For an entry that is not fit for a worker, or whose path needs the classic
 * code. That can do its work now if everything before it is written: the
 * filters and submodules that it runs may look at other files.
 */
static int leave_or_put_off(struct parallel_checkout *pc,
			    struct queued_entry *entry)
{
	if (!is_streaming(pc) && !is_behind(pc))
		return -1;
	take_put_off(pc, entry);
	return 0;
}

static void enqueue(struct parallel_checkout *pc,
		    const struct queued_entry *entry)
{
	uint32_t id = pc->nr;
	size_t len;

	entry = append_entry(pc, entry);
	queue_add(&pc->queue, id, path_of(pc, entry, &len));
}

/* How many workers to start for what is queued; 0 for none. */
static int choose_workers(struct parallel_checkout *pc)
{
	struct checkout_limits limits;
	struct tune_sample now;

	if (pc->config.nr)
		return tune_workers(pc->config.nr, pc->config.threshold,
				    pc->queue.queued, pc->complete);

	if (!pc->queue.queued ||
	    (!pc->complete && pc->queue.queued % ENTRIES_PER_THOUGHT))
		return 0;
	take_sample(pc, &now);
	if (!tune_auto_is_worth(&pc->tune, &now))
		return 0;

	/* That is not worth to be looked at before. */
	if (!pc->cores) {
		limits_read(&limits, "");
		pc->cores = limits.cores;
		tune_auto_limit(&pc->tune, limits.cores, limits.max_workers);
	}
	return tune_auto_start(&pc->tune, &now);
}

static void start_workers_if_worth(struct parallel_checkout *pc)
{
	int nr;

	if (pc->pool_started || pc->disabled)
		return;
	nr = choose_workers(pc);
	if (!nr)
		return;
	if (prepare_root(pc)) {
		pc->disabled = 1;
		return;
	}
	if (pc->config.nr)
		pc->cores = online_cpus();
	pool_init(&pc->pool, pc->config.nr ? nr : pc->tune.max_workers,
		  the_hash_algo, !pc->config.nr);
	pc->pool_started = 1;
	start_workers(pc, nr);
	trace_workers(pc, pc->config.nr ? "configured" : pc->tune.why);
}

/* Once in a while, see what the workers have done, and give them more. */
static void keep_workers_busy(struct parallel_checkout *pc)
{
	if (!pc->pool_started)
		start_workers_if_worth(pc);
	if (is_streaming(pc) && ++pc->since_look >= ENTRIES_PER_LOOK)
		look_at_workers(pc, 0);
}

/*
 * Take an entry, which is eligible unless its attributes say otherwise. Its
 * old_sd and old_mode are set.
 */
static int take(struct parallel_checkout *pc, struct queued_entry *entry)
{
	if (S_ISREG(entry->ce->ce_mode)) {
		look_up_attrs(pc, entry);
		if (!is_eligible(pc, entry))
			return leave_or_put_off(pc, entry);
	}

	if (pc->alone)
		return write_alone(pc, entry);

	if (!pc->root_ready && prepare_root(pc)) {
		pc->disabled = 1;
		return -1;
	}
	enqueue(pc, entry);
	pc->taken++;
	keep_workers_busy(pc);
	return 0;
}

/*
 * Is the entry's file one that decides how others are handled? Then it is the
 * classic code's, which knows when it reads the file: after the old one is gone,
 * and before the new one is there.
 */
static enum checkout_barrier find_barrier(struct parallel_checkout *pc,
					  const struct cache_entry *ce)
{
	enum checkout_barrier barrier;

	/* What was written then may lead to other files. */
	if (pc->last_barrier && ce != pc->last_barrier)
		forget_barriers(pc);
	if (!pc->barriers_known) {
		barriers_init(&pc->barriers, the_repository,
			      pc->state->base_dir, !pc->attrs_from_index);
		pc->barriers_known = 1;
	}
	barrier = barrier_at(&pc->barriers, ce);
	if (barrier != BARRIER_NONE)
		pc->last_barrier = ce;
	return barrier;
}

static int has_stat_data(const struct cache_entry *ce)
{
	static const struct stat_data none;

	return memcmp(&ce->ce_stat_data, &none, sizeof(none));
}

/*
 * Find what the old index has at the path. Entries mostly come in the order of
 * the index, so we need not search. To miss one is no harm: the writer will
 * find the file, and report a conflict.
 */
static const struct cache_entry *find_old(struct parallel_checkout *pc,
					  const struct cache_entry *ce)
{
	const struct index_state *old_index = pc->old_index;

	while (old_index && pc->old_pos < old_index->cache_nr) {
		const struct cache_entry *old = old_index->cache[pc->old_pos];
		int cmp = cmp_cache_name_compare(&old, &ce);

		if (!cmp)
			return old;
		if (cmp > 0)
			break;
		pc->old_pos++;
	}
	return NULL;
}

/*
 * Does the stat data of the old entry prove that a file which still has it is
 * the one that the index knows?
 */
static int proves_content(const struct index_state *istate,
			  const struct cache_entry *old)
{
	return (S_ISREG(old->ce_mode) || S_ISLNK(old->ce_mode)) &&
		!(old->ce_flags & (CE_VALID | CE_SKIP_WORKTREE)) &&
		has_stat_data(old) && !is_racy_timestamp(istate, old);
}

/*
 * With core.ignoreCase, an entry whose path is that of an earlier one must not
 * be looked at before that is written, and the first spelling of a directory is
 * to become its name. Returns 1 if the entry has been put off.
 */
static int put_off_if_it_collides(struct parallel_checkout *pc,
				  const struct checkout *state,
				  struct queued_entry *entry)
{
	struct cache_entry *ce = entry->ce;
	int other_dir;

	if (!ignore_case || pc->config.nr == 1)
		return 0;

	pc->offered = ce;
	pc->offered_collides = collision_found(&pc->names, ce->name);
	collision_add(&pc->names, ce->name);
	other_dir = spelling_differs(&pc->spelling, ce->name);

	/* Entries that nobody has taken have been written. */
	if (!pc->nr)
		return 0;
	if (!other_dir && !(pc->offered_collides &&
			    (has_stat_data(ce) || !state->force)))
		return 0;
	take_put_off(pc, entry);
	return 1;
}

int parallel_checkout_offer_cleared(struct cache_entry *ce,
				    const struct conv_attrs *ca,
				    const struct checkout *state,
				    int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry *entry = pc->clearing;
	size_t len;

	if (pc->status != PC_RUNNING || state != pc->state || !entry)
		return -1;
	if (entry->ce != ce || entry->nr_checkouts != nr_checkouts)
		BUG("another entry is being cleared");
	if (S_ISREG(ce->ce_mode))
		set_attrs(entry, ca);
	if (!is_eligible(pc, entry))
		return -1;

	/* It is queued once more, and nothing is at its path. */
	entry->old_mode = 0;
	entry->old_sd = NULL;
	entry->was_sent = 0;
	entry->status = CHECKOUT_PENDING;
	queue_add(&pc->queue, entry - pc->entries, path_of(pc, entry, &len));
	pc->clearing = NULL;
	return 0;
}

/* The number of entries that are known to collide; see entry.c. */
static size_t count_matched(const struct index_state *istate)
{
	size_t n = 0;

	for (unsigned int i = 0; i < istate->cache_nr; i++)
		n += !!(istate->cache[i]->ce_flags & CE_MATCHED);
	return n;
}

/*
 * Look at what is at the path of an entry, not through symbolic links. The path
 * is the caller's, to be freed.
 */
static int lstat_entry(const struct parallel_checkout *pc,
		       const struct cache_entry *ce, char **path,
		       struct stat *st)
{
	int base_len = pc->state->base_dir_len;

	*path = xstrfmt("%.*s%s", base_len, pc->state->base_dir, ce->name);
	return check_path(*path, strlen(*path), st, base_len);
}

/*
 * Returns the inode of an entry's file, or symbolic link, as the index would
 * have it, or 0 if there is none, or if inodes say nothing here.
 */
static unsigned int inode_of(const struct parallel_checkout *pc,
			     const struct cache_entry *ce, char **path)
{
	struct stat_data sd;
	struct stat st;

	if (lstat_entry(pc, ce, path, &st) ||
	    !(S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		return 0;
	fill_stat_data(&sd, &st);
	return sd.sd_ino;
}

/*
 * Without force, the classic code leaves alone what it finds at the path of a
 * lost entry. The path was absent when the entry was taken, so a file that is
 * there now is what the lost worker has written, whole or in part; unless
 * another entry, whose path collides with this one, has been written to it.
 */
static void remove_leftover(const struct parallel_checkout *pc,
			    const struct cache_entry *ce)
{
	char *path;
	unsigned int ino = inode_of(pc, ce, &path);

	if (ino && !is_inode_known(pc, ino))
		beneath_unlink_or_warn(path, pc->state->base_dir_len);
	free(path);
}

/*
 * Run the classic code for an entry that was put off. Nothing is in flight. With
 * `clear_only`, the entry may be queued once more when its path is clear.
 */
static void write_classic(struct parallel_checkout *pc,
			  struct queued_entry *entry, int clear_only)
{
	struct cache_entry *ce = entry->ce;
	int *nr_checkouts = entry->nr_checkouts;
	struct conv_attrs ca;
	int was_lost = entry->status == CHECKOUT_PENDING && entry->was_sent;
	int was_written = entry->status == CHECKOUT_WRITTEN;
	int was_matched = ce->ce_flags & CE_MATCHED;
	size_t matched = was_lost ? count_matched(pc->state->istate) : 0;

	entry->put_off = 0;
	pc->put_offs--;
	if (was_lost && !pc->state->force)
		remove_leftover(pc, ce);

	/*
	 * Attributes are those of the moment when the entry was offered; the
	 * files that they come from may have been written since then.
	 */
	if (entry->has_attrs)
		get_attrs(entry, &ca);
	if (clear_only)
		pc->clearing = entry;
	if (checkout_entry_ca(ce, entry->has_attrs ? &ca : NULL, pc->state,
			      NULL, nr_checkouts) < 0) {
		pc->errs = 1;
	} else if (!pc->state->force) {
		char *path;

		remember_inode(pc, inode_of(pc, ce, &path));
		free(path);
	}
	if (clear_only && !pc->clearing)
		return;		/* queued */
	pc->clearing = NULL;
	pc->classic_bytes += ce->ce_stat_data.sd_size;
	advance_throughput(pc);

	/*
	 * What is in the way of a lost entry is most likely what the lost
	 * worker has written, and not a collision for a clone to report. That
	 * would have found a partner.
	 */
	if (was_lost && pc->state->clone && !was_matched &&
	    count_matched(pc->state->istate) == matched + 1)
		ce->ce_flags &= ~CE_MATCHED;

	/* If it was written before, it has been counted. */
	if (!was_written)
		advance_progress(pc);
}

/*
 * Write what is queued in this process: there are too few entries, or no
 * workers.
 */
static void write_queued_here(struct parallel_checkout *pc)
{
	uint32_t id;

	while (!queue_first(&pc->queue, &id)) {
		queue_take(&pc->queue, id);
		if (write_here(pc, &pc->entries[id])) {
			pc->declined++;
			put_off(pc, &pc->entries[id]);
		} else {
			pc->entries[id].status = CHECKOUT_WRITTEN;
			advance_throughput(pc);
			advance_progress(pc);
		}
	}
}

static void write_queued(struct parallel_checkout *pc)
{
	pc->complete = 1;
	start_workers_if_worth(pc);
	drain(pc);
	write_queued_here(pc);
}

/* Somebody is in there; see schedule_dir_for_removal(). */
static int is_original_cwd(const char *dir)
{
	return startup_info->original_cwd &&
		!strcmp(dir, startup_info->original_cwd);
}

/*
 * Is what is at the path of an entry something that we have written there? The
 * path is the caller's.
 */
static int is_ours(const struct parallel_checkout *pc,
		   const struct cache_entry *ce, char **path)
{
	struct stat_data sd;
	struct stat st;

	if (lstat_entry(pc, ce, path, &st))
		return 0;
	if (pc->state->refresh_cache)
		return !match_stat_data(&ce->ce_stat_data, &st);
	fill_stat_data(&sd, &st);
	return sd.sd_ino && is_inode_known(pc, sd.sd_ino);
}

static void remove_dirs_here(struct prune_list *list, int base_len)
{
	struct strset level;

	while (!prune_take_level(list, &level)) {
		struct hashmap_iter iter;
		struct strmap_entry *dir;

		strset_for_each_entry(&level, &iter, dir)
			if (strlen(dir->key) > (size_t)base_len &&
			    !is_original_cwd(dir->key) &&
			    !beneath_rmdir(dir->key, base_len))
				prune_add_parent(list, dir->key);
		strset_clear(&level);
	}
	invalidate_lstat_cache();
}

/* Make it as if colliding entries that were written had been put off. */
static void undo_collisions(struct parallel_checkout *pc)
{
	struct prune_list list = PRUNE_LIST_INIT;

	for (size_t i = 0; i < pc->nr; i++) {
		struct queued_entry *entry = &pc->entries[i];
		struct cache_entry *ce = entry->ce;
		char *path;
		int ours;

		if (!entry->collides || entry->put_off ||
		    entry->status != CHECKOUT_WRITTEN)
			continue;
		/*
		 * A directory is in nobody's way if it may be replaced; but a
		 * clone would report it.
		 */
		ours = is_ours(pc, ce, &path);
		if (ours && !beneath_unlink(path, pc->state->base_dir_len) &&
		    (pc->state->clone || !pc->state->force))
			prune_add_parent(&list, path);
		free(path);

		/* Without force, what is there stays, whoever wrote it. */
		if (!ours && !pc->state->force)
			continue;
		put_off(pc, entry);
		if (entry->nr_checkouts)
			(*entry->nr_checkouts)--;

		/* What comes next may get the same inode. */
		if (pc->state->refresh_cache) {
			memset(&ce->ce_stat_data, 0, sizeof(ce->ce_stat_data));
			ce->ce_flags &= ~CE_UPTODATE;
		}
	}
	remove_dirs_here(&list, pc->state->base_dir_len);
}

/*
 * Where two entries collide, the sequential code writes the second one over the
 * first, while the worker that comes second, whichever entry it has, leaves
 * alone what is there, or replaces the old file of both. So do all of them once
 * more, in their order. Those that collide with an earlier entry were marked
 * when they were taken; find the earlier ones.
 */
static void find_collisions(struct parallel_checkout *pc)
{
	struct collision_set set;
	int added;

	if (!pc->collisions)
		return;

	collision_init(&set);
	for (size_t i = 0; i < pc->nr; i++)
		if (pc->entries[i].collides)
			collision_add(&set, pc->entries[i].ce->name);
	do {
		added = 0;
		for (size_t i = 0; i < pc->nr; i++) {
			struct queued_entry *entry = &pc->entries[i];

			if (entry->collides ||
			    !collision_found(&set, entry->ce->name))
				continue;
			collision_add(&set, entry->ce->name);
			entry->collides = added = 1;
		}
	} while (added);
	collision_release(&set);
	undo_collisions(pc);
}

/* Fetch what the entries that were put off lack in a partial clone, in one go. */
static void fetch_missing(const struct parallel_checkout *pc)
{
	struct oid_array missing = OID_ARRAY_INIT;

	if (!repo_has_promisor_remote(the_repository))
		return;
	for (size_t i = 0; i < pc->nr; i++) {
		const struct queued_entry *entry = &pc->entries[i];

		if (entry->put_off && has_eligible_type(pc, entry->ce) &&
		    !(entry->ce->ce_flags & CE_WT_REMOVE) &&
		    odb_read_object_info_extended(the_repository->objects,
						  &entry->ce->oid, NULL,
						  OBJECT_INFO_FOR_PREFETCH))
			oid_array_append(&missing, &entry->ce->oid);
	}
	promisor_remote_get_direct(the_repository, missing.oid, missing.nr);
	oid_array_clear(&missing);
}

/*
 * Can the workers write an entry that was put off, when its path is clear? Those
 * that collide depend on the order.
 */
static int is_for_second_round(const struct parallel_checkout *pc,
			       const struct queued_entry *entry)
{
	return entry->put_off && !entry->collides && is_eligible(pc, entry);
}

/* Is there a file to be removed, which may be in the way of a later one? */
static int has_removals(const struct parallel_checkout *pc)
{
	for (size_t i = 0; i < pc->nr; i++)
		if (pc->entries[i].put_off &&
		    (pc->entries[i].ce->ce_flags & CE_WT_REMOVE))
			return 1;
	return 0;
}

/*
 * Do the entries that were put off, in the order in which they came. If they
 * are many, only look at and clear the paths of those that workers can write, and
 * let them do it before the others.
 */
static void do_put_off(struct parallel_checkout *pc, int is_last)
{
	find_collisions(pc);
	fetch_missing(pc);
	if (is_streaming(pc) && pc->put_offs >= MIN_SECOND_ROUND &&
	    !has_removals(pc)) {
		queue_release(&pc->queue);	/* IDs begin anew */
		for (size_t i = 0; i < pc->nr; i++)
			if (is_for_second_round(pc, &pc->entries[i]))
				write_classic(pc, &pc->entries[i], 1);
		write_queued(pc);
	} else if (is_streaming(pc) && is_last) {
		pool_hang_up(&pc->pool);
	}

	for (size_t i = 0; i < pc->nr; i++)
		if (pc->entries[i].put_off)
			write_classic(pc, &pc->entries[i], 0);
}

/*
 * Write everything that has been taken, whoever has to do it, so that the next
 * entry comes at its turn.
 */
static void catch_up(struct parallel_checkout *pc)
{
	if (!is_behind(pc))
		return;
	pc->status = PC_RUNNING;
	write_queued(pc);
	do_put_off(pc, 0);
	reset_entries(pc);
	pc->status = PC_ACCEPTING_ENTRIES;
}

/*
 * Would a look at the entry's file run a filter, to know whether it is up to
 * date, while entries before it are not written yet?
 */
static int may_be_filtered_now(const struct parallel_checkout *pc,
			       struct queued_entry *entry)
{
	const struct cache_entry *ce = entry->ce;

	if (!is_behind(pc) || !S_ISREG(ce->ce_mode) || !pc->state->istate ||
	    !has_stat_data(ce) || !is_racy_timestamp(pc->state->istate, ce))
		return 0;
	look_up_attrs(pc, entry);
	return !is_eligible(pc, entry);
}

int parallel_checkout_offer(struct cache_entry *ce,
			    const struct checkout *state, int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};
	const struct cache_entry *old;

	if (pc->status != PC_ACCEPTING_ENTRIES || state != pc->state ||
	    pc->disabled)
		return -1;

	switch (find_barrier(pc, ce)) {
	case BARRIER_NONE:
		break;
	case BARRIER_FILE:
		catch_up(pc);
		return -1;
	case BARRIER_CONFIG:
		catch_up(pc);
		pc->alone = pc->at_once = 1;
		return -1;
	}

	if (put_off_if_it_collides(pc, state, &entry))
		return 0;

	if (!has_eligible_type(pc, ce) || (ce->ce_flags & CE_WT_REMOVE))
		return leave_or_put_off(pc, &entry);

	if (may_be_filtered_now(pc, &entry)) {
		take_put_off(pc, &entry);
		return 0;
	}

	/*
	 * The file may be up to date; that can be seen without removing it.
	 * And without force, remove_leftover() relies on it that the path was
	 * seen to be absent.
	 */
	if (has_stat_data(ce) || !state->force)
		return -1;

	old = find_old(pc, ce);
	if (old && proves_content(pc->old_index, old)) {
		entry.old_mode = old->ce_mode;
		entry.old_sd = &old->ce_stat_data;
	} else if (old && pc->alone && !ce_skip_worktree(old)) {
		/*
		 * There is a file, most likely, so writing would fail. The
		 * caller looks at it, and then we are asked again.
		 */
		return -1;
	}
	return take(pc, &entry);
}

int parallel_checkout_offer_seen(struct cache_entry *ce, const struct stat *st,
				 const struct checkout *state,
				 int *nr_checkouts)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry entry = {
		.ce = ce,
		.nr_checkouts = nr_checkouts,
	};

	if (pc->status != PC_ACCEPTING_ENTRIES || state != pc->state ||
	    pc->disabled || find_barrier(pc, ce) != BARRIER_NONE)
		return -1;

	/*
	 * A clone reports the paths that collide; that is the classic code's
	 * business. So are directories. And an entry that workers could not
	 * be given by parallel_checkout_offer() is none for them now.
	 */
	if (!has_eligible_type(pc, ce) ||
	    (st && (state->clone ||
		    !(S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)))) ||
	    (!has_stat_data(ce) && state->force && !pc->alone))
		return leave_or_put_off(pc, &entry);

	if (st) {
		struct stat copy = *st;
		struct stat_data *sd = mem_pool_alloc(&pc->seen, sizeof(*sd));

		fill_stat_data(sd, &copy);
		entry.old_mode = st->st_mode;
		entry.old_sd = sd;
	}
	return take(pc, &entry);
}

void parallel_checkout_begin_removals(const struct checkout *state,
				      struct progress *progress,
				      unsigned int *progress_cnt)
{
	struct parallel_checkout *pc = &parallel_checkout;

	if (pc->status != PC_UNINITIALIZED)
		BUG("parallel checkout already initialized");
	init_parallel_checkout(pc, state, progress, progress_cnt);
	pc->status = PC_REMOVING;
}

/* Is the caller to remove a file, for now? */
static int removes_alone(struct parallel_checkout *pc)
{
	if (pc->alone && !pc->config.nr) {
		uint64_t now_ns = getnanotime();

		if (!pc->alone_entries++)
			pc->removing_since_ns = now_ns;
		pc->alone_ns = now_ns - pc->removing_since_ns;
		think_about_time(pc);
	}
	return pc->alone;
}

int parallel_checkout_remove(struct cache_entry *ce)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct queued_entry entry = { .ce = ce, .remove = 1 };

	if (pc->status != PC_REMOVING)
		BUG("parallel checkout does not take removals now");
	if (find_barrier(pc, ce) == BARRIER_CONFIG)
		pc->config_removed = 1;
	if (removes_alone(pc))
		return -1;
	if (!has_eligible_type(pc, ce) || prepare_root(pc)) {
		put_off(pc, append_entry(pc, &entry));
		return 0;
	}
	enqueue(pc, &entry);
	keep_workers_busy(pc);
	return 0;
}

/*
 * Remove the directories of one level. Those that were removed may have been
 * the last thing in their parents.
 */
static void prune_level(struct parallel_checkout *pc, struct strset *level,
			struct prune_list *list)
{
	struct hashmap_iter iter;
	struct strmap_entry *dir;

	strset_for_each_entry(level, &iter, dir) {
		struct queued_entry entry = { .dir = dir->key, .remove = 1 };

		if (!is_original_cwd(dir->key))
			enqueue(pc, &entry);
	}
	pc->complete = 1;
	drain(pc);
	for (size_t i = 0; i < pc->nr; i++) {
		const struct queued_entry *entry = &pc->entries[i];

		/* A worker that was lost may have removed it. */
		if (entry->status == CHECKOUT_WRITTEN ||
		    (entry->status == CHECKOUT_PENDING &&
		     (!beneath_rmdir(entry->dir, 0) ||
		      (entry->was_sent && errno == ENOENT))))
			prune_add_parent(list, entry->dir);
	}
	reset_entries(pc);
}

void parallel_checkout_finish_removals(void)
{
	struct parallel_checkout *pc = &parallel_checkout;
	struct prune_list list = PRUNE_LIST_INIT;
	struct strset level;
	uint32_t id;

	if (pc->status != PC_REMOVING)
		BUG("parallel checkout has no removals to finish");
	pc->complete = 1;
	start_workers_if_worth(pc);
	drain(pc);
	while (!queue_first(&pc->queue, &id)) {
		queue_take(&pc->queue, id);
		put_off(pc, &pc->entries[id]);
	}

	for (size_t i = 0; i < pc->nr; i++) {
		struct queued_entry *entry = &pc->entries[i];

		if (entry->put_off) {
			unlink_entry(entry->ce, pc->state->super_prefix);
			advance_progress(pc);
		} else {
			prune_add_parent(&list, entry->ce->name);
		}
	}
	reset_entries(pc);
	while (!prune_take_level(&list, &level)) {
		prune_level(pc, &level, &list);
		strset_clear(&level);
	}

	/* The workers do not tell our cache what is gone. */
	if (pc->pool_started)
		invalidate_lstat_cache();
	pc->status = PC_REMOVED;
}

static void trace_stats(const struct parallel_checkout *pc)
{
	const struct pool_stats *stats = &pc->pool.stats;
	struct repository *r = the_repository;

	trace2_data_intmax("pcheckout", r, "workers", pc->workers_started);
	trace2_data_intmax("pcheckout", r, "batches", stats->batches);
	trace2_data_intmax("pcheckout", r, "entries",
			   stats->entries - pc->removals + pc->written_here);
	trace2_data_intmax("pcheckout", r, "removals", pc->removals);
	trace2_data_intmax("pcheckout", r, "bytes",
			   stats->bytes + pc->writer.bytes);
	trace2_data_intmax("pcheckout", r, "conflicts", pc->conflicts);
	trace2_data_intmax("pcheckout", r, "declined", pc->declined);
	trace2_data_intmax("pcheckout", r, "lost_workers", stats->lost);
	trace2_data_intmax("pcheckout", r, "busy_us", stats->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "running_us", stats->run_ns / 1000);
	trace2_data_intmax("pcheckout", r, "waited_us",
			   stats->waited_ns / 1000);
}

int parallel_checkout_finish(void)
{
	struct parallel_checkout *pc = &parallel_checkout;
	int errs;

	if (pc->status != PC_ACCEPTING_ENTRIES)
		BUG("cannot finish parallel checkout: not initialized yet, or already running");

	pc->status = PC_RUNNING;
	pc->offered = NULL;
	write_queued(pc);
	do_put_off(pc, 1);
	trace_stats(pc);

	if (pc->pool_started)
		pool_finish(&pc->pool);
	if (pc->writer_opened)
		writer_close(&pc->writer);
	mem_pool_discard(&pc->seen, 0);
	strbuf_release(&pc->path);
	free(pc->root);
	queue_release(&pc->queue);
	collision_release(&pc->names);
	spelling_release(&pc->spelling);
	forget_barriers(pc);
	free(pc->entries);
	free(pc->inodes);
	errs = pc->errs;
	memset(pc, 0, sizeof(*pc));

	trace2_region_leave("pcheckout", "main", the_repository);
	return errs ? -1 : 0;
}
