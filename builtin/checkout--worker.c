/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command that is a worker process of parallel checkout: read frames of
 * items from standard input, have them written, answer frames of results on
 * standard output, until the main process closes the pipe. Or it lists the
 * files of other working trees that a checkout may clone.
 *
 * See "Parallel Checkout Design Notes" in Documentation/technical/.
 */
#include "builtin.h"
#include "config.h"
#include "environment.h"
#include "gettext.h"
#include "hex.h"
#include "parallel-checkout/donor-list.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "parallel-checkout/wire.h"
#include "parallel-checkout/writer.h"
#include "parse-options.h"
#include "repository.h"
#include "run-command.h"
#include "sigchain.h"
#include "strbuf.h"
#include "string-list.h"
#include "trace.h"
#include "trace2.h"
#ifdef __linux__
#include <sys/prctl.h>
#endif

/*
 * Only the delta bases of neighbouring files are worth keeping. The default of
 * core.deltaBaseCacheLimit, 96 MiB, is meant for walks over history and would
 * be spent by each worker.
 */
#define DELTA_BASE_CACHE_LIMIT (16 * 1024 * 1024)

static const char * const checkout_worker_usage[] = {
	N_("git checkout--worker --protocol=<n> [<options>]"),
	NULL
};

#ifdef SIGXFSZ
static void do_nothing(int sig UNUSED)
{
}
#endif

/*
 * No filter outlives us. The main process waits for us when it ends; less long
 * than this would be one that hangs.
 */
#define FILTERS_TIMEOUT_MS 2000

/* A filter is ended by a handler of run-command.c. */
static void end_on_signal(int sig)
{
	if (writer_abandon(sig))
		return;
	sigchain_pop(sig);
	raise(sig);
}

/*
 * When the main process ends, it tells us to, with SIGTERM; where it is killed,
 * Linux does that for it. Elsewhere, or if whoever has started us is between
 * it and us, end_if_unwanted() finds out.
 */
static void end_with_main_process(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGTERM, SIGQUIT };
	int is_ignored[ARRAY_SIZE(signals)];

	signal(SIGTERM, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		is_ignored[i] = signal(signals[i], SIG_DFL) == SIG_IGN;
		if (is_ignored[i])
			signal(signals[i], SIG_IGN);
	}

	/* The file goes first: later, another one may have its name. */
	clean_all_children(FILTERS_TIMEOUT_MS);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (is_ignored[i])
			sigchain_pop(signals[i]);
		else
			sigchain_push(signals[i], end_on_signal);
	}
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
#endif
}

/*
 * If nobody is there to read our answers, nobody wants the files. It is enough
 * to look once in a while: what takes less is under way.
 */
#define LOOK_NS 1000000

static void end_if_unwanted(void)
{
	static uint64_t looked_ns;
	struct pollfd pollfd = { .fd = 1, .events = POLLOUT };
	uint64_t now_ns = getnanotime();

	if (now_ns - looked_ns < LOOK_NS)
		return;
	looked_ns = now_ns;
	if (poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLERR | POLLHUP)))
		raise(SIGTERM);
}

/*
 * Is this the Git that has started us? Ask before the options are parsed, since
 * these are what changes together with the protocol.
 */
static void check_protocol(int argc, const char **argv)
{
	const char *value = NULL;
	int protocol;

	for (int i = 1; i < argc; i++)
		skip_prefix(argv[i], "--protocol=", &value);
	if (!value || strtol_i(value, 10, &protocol) ||
	    protocol != WIRE_PROTOCOL) {
		die_message(_("checkout worker of protocol %d was asked for %s; "
			      "was Git replaced while it was running?"),
			    WIRE_PROTOCOL, value ? value : _("none"));
		exit(129);	/* as for options that it does not know */
	}
}

struct worker {
	struct checkout_writer writer;
	struct strbuf in;
	struct strbuf results, frame;	/* to be sent */
	uint64_t begin_ns;		/* when these began */

	/* all of it, for trace2 */
	uintmax_t batches, entries;
	uint64_t waited_ns;
	struct checkout_outcome total;
};

/*
 * Why an entry cannot be written is not for us to say: the main process does
 * again what this worker did not finish, and reports what it finds then.
 */
static NORETURN void die_silently(const char *fmt, va_list params)
{
	trace2_cmd_error_va(fmt, params);

	/* A filter may not end; nobody should wait for answers until then. */
	close(1);
	exit(128);
}

/* What is done from now on goes into the next frame of results. */
static void begin_outcome(struct worker *worker)
{
	memset(&worker->writer.outcome, 0, sizeof(worker->writer.outcome));
	worker->begin_ns = getnanotime();
}

static int send_results(struct worker *worker, enum wire_type type)
{
	struct checkout_outcome *outcome = &worker->writer.outcome;
	size_t start;
	int ret = 0;

	outcome->busy_ns = getnanotime() - worker->begin_ns;
	outcome_add(&worker->total, outcome);

	start = wire_begin_frame(&worker->frame, type);
	wire_put_outcome(&worker->frame, outcome);
	strbuf_addbuf(&worker->frame, &worker->results);
	wire_end_frame(&worker->frame, start);
	if (write_in_full(1, worker->frame.buf, worker->frame.len) < 0)
		ret = error_errno(_("unable to send checkout results"));
	strbuf_reset(&worker->frame);
	strbuf_reset(&worker->results);
	return ret;
}

/* Write all items of a frame, and send the results. */
static int do_batch(struct worker *worker, struct wire_frame *frame)
{
	struct checkout_item item;
	struct checkout_result result;
	int ret;

	begin_outcome(worker);
	writer_begin_batch(&worker->writer);
	while ((ret = wire_get_item(frame, &item,
				    worker->writer.repo->hash_algo)) > 0) {
		writer_write(&worker->writer, &item, &result);

		/* start_async() has one of its own, which is not silent */
		set_die_routine(die_silently);
		wire_put_result(&worker->results, &result);
		worker->entries++;
	}
	if (ret < 0)
		return error(_("checkout worker received a malformed batch"));
	worker->batches++;
	return send_results(worker, WIRE_RESULTS);
}

/*
 * Write what filters have delayed, as it becomes available, and answer each
 * when the next one has been asked for. If that goes wrong, there may be
 * nothing left for which to say so. So the main process does the last one
 * again, with a filter that goes wrong in the same way, and reports it.
 */
static int collect(struct worker *worker)
{
	struct checkout_result last = { 0 };
	struct checkout_item *item;
	int ret = 0, got;

	begin_outcome(worker);
	do {
		got = smudge_next(&item);
		if (last.status != CHECKOUT_PENDING) {
			if (got < 0 && !item) {
				last.status = CHECKOUT_UNFILTERED;
				last.has_sd = 0;
			}
			wire_put_result(&worker->results, &last);
			ret = send_results(worker, WIRE_LATE);
			begin_outcome(worker);
			memset(&last, 0, sizeof(last));
		}
		if (!got || !item)
			continue;
		if (got > 0) {
			writer_begin_batch(&worker->writer);
			writer_write(&worker->writer, item, &last);
		} else {
			last.id = item->id;
			last.status = CHECKOUT_UNFILTERED;
		}
		free(item);
	} while (got && !ret);
	return ret;
}

static int take_frame(struct worker *worker, struct wire_frame *frame)
{
	int ret;

	if (frame->type == WIRE_COLLECT)
		return collect(worker);
	if (frame->type != WIRE_ITEMS)
		return error(_("checkout worker received a frame of the wrong type"));

	trace2_region_enter("pcheckout", "batch", worker->writer.repo);
	ret = do_batch(worker, frame);
	trace2_region_leave("pcheckout", "batch", worker->writer.repo);
	return ret;
}

static int take_frames(struct worker *worker)
{
	struct wire_frame frame;
	uint64_t start_ns;
	ssize_t n;

	for (;;) {
		n = wire_next_frame(worker->in.buf, worker->in.len, &frame);
		if (n < 0)
			return error(_("checkout worker received a malformed frame"));
		if (n) {
			if (take_frame(worker, &frame))
				return -1;
			strbuf_remove(&worker->in, 0, n);
			continue;
		}

		start_ns = getnanotime();
		n = strbuf_read_once(&worker->in, 0, 64 * 1024);
		worker->waited_ns += getnanotime() - start_ns;
		if (n < 0)
			return error_errno(_("unable to receive checkout items"));
		if (!n)
			return !worker->in.len ? 0 :
				error(_("checkout worker received a truncated frame"));
	}
}

static void trace_stats(const struct worker *worker)
{
	const struct checkout_outcome *total = &worker->total;
	struct repository *r = worker->writer.repo;

	trace2_data_intmax("pcheckout", r, "worker/batches", worker->batches);
	trace2_data_intmax("pcheckout", r, "worker/entries", worker->entries);
	trace2_data_intmax("pcheckout", r, "worker/bytes", total->bytes);
	trace2_data_intmax("pcheckout", r, "worker/collided", total->collided);
	trace2_data_intmax("pcheckout", r, "worker/busy_us",
			   total->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "worker/waited_us",
			   worker->waited_ns / 1000);
}

/* What the main process says about filters. */
struct worker_filters {
	int run, stderr_fd;
	const char *git_prefix, *ref, *treeish;
};

/*
 * A filter is to find what it would find if the main process had started it.
 * What it says goes to the user, and what we say does not, now that they share
 * a standard error.
 */
static void prepare_filters(const struct worker_filters *filters,
			    struct repository *repo)
{
	struct object_id treeish;

	if (filters->treeish &&
	    get_oid_hex_algop(filters->treeish, &treeish, repo->hash_algo))
		die(_("malformed object name '%s'"), filters->treeish);
	smudge_init(filters->ref, filters->treeish ? &treeish : NULL);

	if (filters->git_prefix)
		setenv(GIT_PREFIX_ENVIRONMENT, filters->git_prefix, 1);
	else
		unsetenv(GIT_PREFIX_ENVIRONMENT);
	be_silent();	/* to the end */
	if (filters->stderr_fd >= 0 && dup2(filters->stderr_fd, 2) >= 0)
		close(filters->stderr_fd);
}

static int serve(struct repository *repo, const char *root, int want_stat,
		 const struct string_list *donors,
		 const struct worker_filters *filters)
{
	struct worker worker = {
		.in = STRBUF_INIT,
		.results = STRBUF_INIT,
		.frame = STRBUF_INIT,
	};
	int ret;

#ifdef SIGXFSZ
	/*
	 * A limit on the size of files (RLIMIT_FSIZE) is to be an error of
	 * write(), so that the entry is declined. But a filter, that would
	 * inherit SIG_IGN, is to end as ever.
	 */
	signal(SIGXFSZ, do_nothing);
#endif
	if (writer_open(&worker.writer, repo, root, want_stat) < 0)
		die_errno(_("cannot open directory '%s'"), root);
	for (size_t i = 0; i < donors->nr; i++)
		writer_add_donor(&worker.writer, donors->items[i].string);
	worker.writer.end_if_unwanted = end_if_unwanted;
	if (filters->run)
		prepare_filters(filters, repo);

	set_die_routine(die_silently);
	trace2_region_enter("pcheckout", "worker", repo);
	ret = take_frames(&worker);
	trace_stats(&worker);
	trace2_region_leave("pcheckout", "worker", repo);

	writer_close(&worker.writer);
	strbuf_release(&worker.in);
	strbuf_release(&worker.results);
	strbuf_release(&worker.frame);
	return ret ? 128 : 0;
}

int cmd_checkout__worker(int argc,
			 const char **argv,
			 const char *prefix,
			 struct repository *repo)
{
	struct worker_filters filters = { .stderr_fd = -1 };
	struct string_list donors = STRING_LIST_INIT_NODUP;
	const char *root = "", *unused;
	int protocol, want_stat = 0, want_donors = 0, ret = 0;
	struct option options[] = {
		/* check_protocol() has looked at it */
		OPT_INTEGER(0, "protocol", &protocol,
			    N_("version of the messages")),
		OPT_STRING(0, "root", &root, N_("dir"),
			   N_("write files below <dir>")),
		OPT_BOOL(0, "stat", &want_stat,
			 N_("answer with stat data")),
		OPT_STRING_LIST(0, "donor", &donors, N_("dir"),
				N_("entries may say that <dir> has their file")),
		OPT_BOOL(0, "filters", &filters.run,
			 N_("run the filters that entries come with")),
		OPT_INTEGER(0, "filter-stderr", &filters.stderr_fd,
			    N_("descriptor of their standard error")),
		OPT_STRING(0, "git-prefix", &filters.git_prefix, N_("prefix"),
			   N_("GIT_PREFIX of filters")),
		OPT_STRING(0, "ref", &filters.ref, N_("ref"),
			   N_("the ref that filters are told")),
		OPT_STRING(0, "treeish", &filters.treeish, N_("oid"),
			   N_("the tree-ish that filters are told")),
		OPT_BOOL(0, "list-donors", &want_donors,
			 N_("only list files of other working trees")),
		OPT_END()
	};

	show_usage_with_options_if_asked(argc, argv,
					 checkout_worker_usage, options);
	check_protocol(argc, argv);
	repo_config(repo, git_default_config, NULL);
	prepare_repo_settings(repo);
	if (repo_config_get_value(repo, "core.deltabasecachelimit", &unused))
		repo->settings.delta_base_cache_limit = DELTA_BASE_CACHE_LIMIT;
	argc = parse_options(argc, argv, prefix, options,
			     checkout_worker_usage, 0);
	if (argc)
		usage_with_options(checkout_worker_usage, options);

	end_with_main_process();
	if (want_donors)
		list_donors(repo, root);
	else
		ret = serve(repo, root, want_stat, &donors, &filters);
	string_list_clear(&donors, 0);
	return ret;
}
