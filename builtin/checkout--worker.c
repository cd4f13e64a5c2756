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
#include "odb.h"
#include "parallel-checkout/donors.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/wire.h"
#include "parallel-checkout/writer.h"
#include "parse-options.h"
#include "replace-object.h"
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

#if defined(SIGXFSZ) || defined(SIGIO)
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
 * it and us, the writer finds out.
 */
static void end_with_main_process(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGTERM, SIGQUIT };
	int is_ignored[ARRAY_SIZE(signals)];

	/* That one ends us, whatever we have inherited. */
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
			sigchain_pop(signals[i]);	/* what that has set */
		else
			sigchain_push(signals[i], end_on_signal);
	}
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
#endif
}

/* The options, but for --protocol and --list-donors. */
struct worker_options {
	const char *root;
	int crlf, want_stat;
	struct string_list donors;
	int filters, filter_stderr;
	const char *git_prefix, *ref, *treeish;
};

struct worker {
	struct checkout_writer writer;
	struct strbuf in;
	struct strbuf results, frame;	/* to be sent */
	uint64_t begin_ns;		/* when these began */

	/* all of it, for trace2 */
	uintmax_t entries;
	uint64_t busy_ns, waited_ns;
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

static void send_results(struct worker *worker, enum wire_type type)
{
	struct checkout_outcome *outcome = &worker->writer.outcome;
	uint64_t now_ns = getnanotime();
	size_t start;

	outcome->busy_ns = now_ns - worker->begin_ns;
	worker->busy_ns += outcome->busy_ns;
	worker->begin_ns = now_ns;

	start = wire_begin_frame(&worker->frame, type);
	wire_put_outcome(&worker->frame, outcome);
	strbuf_addbuf(&worker->frame, &worker->results);
	wire_end_frame(&worker->frame, start);
	if (write_in_full(1, worker->frame.buf, worker->frame.len) < 0)
		die_errno(_("unable to send checkout results"));
	strbuf_reset(&worker->frame);
	strbuf_reset(&worker->results);
	memset(outcome, 0, sizeof(*outcome));
}

/* Write all items of a frame, and send the results. */
static int do_batch(struct worker *worker, struct wire_frame *frame)
{
	struct repository *r = worker->writer.repo;
	struct checkout_item item;
	struct checkout_result result;
	int ret;

	trace2_region_enter("pcheckout", "batch", r);
	writer_begin_batch(&worker->writer);
	while ((ret = wire_get_item(frame, &item, r->hash_algo)) > 0) {
		writer_write(&worker->writer, &item, &result);

		/* start_async() has one of its own, which is not silent */
		set_die_routine(die_silently);
		wire_put_result(&worker->results, &result);
		worker->entries++;
	}
	if (!ret)
		send_results(worker, WIRE_RESULTS);
	trace2_region_leave("pcheckout", "batch", r);
	return ret ? error(_("checkout worker received a malformed batch")) : 0;
}

/* Send the result of an entry that was delayed, if it is one. */
static void send_late(struct worker *worker,
		      const struct checkout_result *result)
{
	if (result->status == CHECKOUT_PENDING)
		return;
	wire_put_result(&worker->results, result);
	send_results(worker, WIRE_LATE);
}

/*
 * Write what a filter has delayed, as it becomes available, until it has
 * nothing more; and answer each entry when the next one has been asked for. If
 * the filter goes wrong, there may be nothing left for which to say so. So the
 * main process does the last one again, with a filter that goes wrong in the
 * same way, and reports it.
 */
static void collect_from(struct worker *worker, const char *filter)
{
	struct smudge *smudge = &worker->writer.smudge;
	struct string_list available = STRING_LIST_INIT_DUP;
	struct checkout_result last = { 0 };
	int failed;

	do {
		string_list_clear(&available, 0);
		failed = !async_query_available_blobs(filter, &available);
		for (size_t i = 0;
		     !failed && smudge->may_run && i < available.nr; i++) {
			struct checkout_item *item =
				smudge_take(smudge, available.items[i].string);

			failed = !item;
			if (failed)
				break;
			send_late(worker, &last);
			writer_begin_batch(&worker->writer);
			writer_write(&worker->writer, item, &last);
			free(item);
		}
	} while (!failed && smudge->may_run && available.nr);
	if (failed && last.status != CHECKOUT_PENDING) {
		last.status = CHECKOUT_UNFILTERED;
		last.has_sd = 0;
	}
	send_late(worker, &last);
	string_list_clear(&available, 0);
}

/*
 * Ask each filter for what it has delayed, and wait for that, when there is
 * nothing else to do: some take it for the end of what they may delay. What
 * none has answered is unfiltered.
 */
static void collect(struct worker *worker)
{
	struct smudge *smudge = &worker->writer.smudge;
	struct checkout_result result;
	struct string_list_item *filter;
	struct strmap_entry *unanswered;
	struct hashmap_iter iter;

	for_each_string_list_item(filter, &smudge->delayed.filters)
		if (smudge->may_run)
			collect_from(worker, filter->string);

	memset(&result, 0, sizeof(result));
	result.status = CHECKOUT_UNFILTERED;
	strmap_for_each_entry(&smudge->items, &iter, unanswered) {
		const struct checkout_item *item = unanswered->value;

		result.id = item->id;
		send_late(worker, &result);
	}
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
			if (frame.type == WIRE_COLLECT)
				collect(worker);
			else if (frame.type != WIRE_ITEMS)
				return error(_("checkout worker received a frame of the wrong type"));
			else if (do_batch(worker, &frame))
				return -1;
			strbuf_remove(&worker->in, 0, n);
			continue;
		}

		start_ns = getnanotime();
		n = strbuf_read_once(&worker->in, 0, 64 * 1024);
		worker->begin_ns = getnanotime();
		worker->waited_ns += worker->begin_ns - start_ns;
		if (n < 0)
			return error_errno(_("unable to receive checkout items"));
		if (!n)
			return !worker->in.len ? 0 :
				error(_("checkout worker received a truncated frame"));
	}
}

/*
 * A filter is to find what it would find if the main process had started it.
 * What it says goes to the user, and what we say does not, now that they share
 * a standard error.
 */
static void prepare_filters(struct smudge *smudge, struct repository *repo,
			    const struct worker_options *options)
{
	if (options->treeish &&
	    get_oid_hex_algop(options->treeish, &smudge->metadata.treeish,
			      repo->hash_algo))
		die(_("malformed object name '%s'"), options->treeish);
	smudge->metadata.refname = options->ref;
	smudge->may_run = 1;

	if (options->git_prefix)
		setenv(GIT_PREFIX_ENVIRONMENT, options->git_prefix, 1);
	else
		unsetenv(GIT_PREFIX_ENVIRONMENT);
	be_silent();	/* to the end */
	if (options->filter_stderr >= 0 && dup2(options->filter_stderr, 2) >= 0)
		close(options->filter_stderr);
}

static int serve(struct repository *repo, const struct worker_options *options)
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
#ifdef SIGIO
	/* Somebody waits for us to return a lease, which we will do soon. */
	signal(SIGIO, do_nothing);
#endif
	if (writer_open(&worker.writer, repo, options->root,
			options->want_stat) < 0)
		die_errno(_("cannot open directory '%s'"), options->root);
	for (size_t i = 0; i < options->donors.nr; i++)
		writer_add_donor(&worker.writer,
				 options->donors.items[i].string);
	worker.writer.has_listener = 1;
	if (options->filters)
		prepare_filters(&worker.writer.smudge, repo, options);

	set_die_routine(die_silently);
	trace2_region_enter("pcheckout", "worker", repo);
	ret = take_frames(&worker);
	trace2_data_intmax("pcheckout", repo, "worker/entries", worker.entries);
	trace2_data_intmax("pcheckout", repo, "worker/busy_us",
			   worker.busy_ns / 1000);
	trace2_data_intmax("pcheckout", repo, "worker/waited_us",
			   worker.waited_ns / 1000);
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
	struct worker_options opts = {
		.root = "",
		.donors = STRING_LIST_INIT_NODUP,
		.filter_stderr = -1,
	};
	const char *unused;
	int protocol = 0, want_donors = 0, ret = 0;
	struct option options[] = {
		OPT_INTEGER(0, "protocol", &protocol,
			    N_("version of the messages")),
		OPT_STRING(0, "root", &opts.root, N_("dir"),
			   N_("write files below <dir>")),
		OPT_BOOL(0, "crlf", &opts.crlf,
			 N_("line ends of text=auto are CRLF")),
		OPT_BOOL(0, "stat", &opts.want_stat,
			 N_("answer with stat data")),
		OPT_STRING_LIST(0, "donor", &opts.donors, N_("dir"),
				N_("entries may say that <dir> has their file")),
		OPT_BOOL(0, "filters", &opts.filters,
			 N_("run the filters that entries come with")),
		OPT_INTEGER(0, "filter-stderr", &opts.filter_stderr,
			    N_("descriptor of their standard error")),
		OPT_STRING(0, "git-prefix", &opts.git_prefix, N_("prefix"),
			   N_("GIT_PREFIX of filters")),
		OPT_STRING(0, "ref", &opts.ref, N_("ref"),
			   N_("the ref that filters are told")),
		OPT_STRING(0, "treeish", &opts.treeish, N_("oid"),
			   N_("the tree-ish that filters are told")),
		OPT_BOOL(0, "list-donors", &want_donors,
			 N_("only list files of other working trees")),
		OPT_END()
	};

	argc = parse_options(argc, argv, prefix, options,
			     checkout_worker_usage, 0);
	if (argc)
		usage_with_options(checkout_worker_usage, options);
	if (protocol != WIRE_PROTOCOL) {
		die_message(_("checkout worker of protocol %d was asked for %d; "
			      "was Git replaced while it was running?"),
			    WIRE_PROTOCOL, protocol);
		exit(129);	/* as for options that it does not know */
	}
	repo_config(repo, git_default_config, NULL);
	prepare_repo_settings(repo);
	if (repo_config_get_value(repo, "core.deltabasecachelimit", &unused))
		repo->settings.delta_base_cache_limit = DELTA_BASE_CACHE_LIMIT;

	/* includeIf may have included another configuration than here. */
	auto_crlf = AUTO_CRLF_FALSE;
	core_eol = opts.crlf ? EOL_CRLF : EOL_LF;

	/* What concerns these is for the main process. */
	fetch_if_missing = 0;
	disable_replace_refs();

	end_with_main_process();
	if (want_donors)
		donors_list(repo, opts.root);
	else
		ret = serve(repo, &opts);
	string_list_clear(&opts.donors, 0);
	return ret;
}
