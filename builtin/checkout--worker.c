/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker process of parallel checkout: read frames of items, write the
 * files, answer frames of results, until the main process closes the pipe. Or
 * list the files of other working trees that a checkout may clone.
 * See "Parallel Checkout Design Notes" in Documentation/technical/.
 */
#include "builtin.h"
#include "config.h"
#include "environment.h"
#include "gettext.h"
#include "hex.h"
#include "parallel-checkout/donor-list.h"
#include "parallel-checkout/run-clock.h"
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

#define READ_SIZE (64 * 1024)

/*
 * Only the delta bases of neighbouring files are worth keeping. The default of
 * core.deltaBaseCacheLimit, 96 MiB, is meant for walks over history and would
 * be spent by each worker.
 */
#define DELTA_BASE_CACHE_LIMIT (16 * 1024 * 1024)

static const char * const checkout_worker_usage[] = {
	"git checkout--worker --protocol=<n> [--root=<dir>] [--stat] [--donor=<dir>]...\n"
	"                     [--filters] [--filter-stderr=<fd>] [--git-prefix=<prefix>]\n"
	"                     [--ref=<ref>] [--treeish=<oid>]",
	"git checkout--worker --protocol=<n> [--root=<dir>] --list-donors",
	NULL
};

struct worker_stats {
	uintmax_t batches, entries, conflicts;
	uint64_t busy_ns, run_ns, waited_ns;
};

/*
 * Why an entry cannot be written is not for us to say: the main process does
 * again what this worker did not finish, and reports what it finds then.
 */
static NORETURN void die_silently(const char *fmt, va_list params)
{
	trace2_cmd_error_va(fmt, params);

	/* A filter may not end, and nobody should wait for an answer until then. */
	close(1);
	exit(128);
}

#ifdef SIGXFSZ
static void do_nothing(int sig UNUSED)
{
}
#endif

/*
 * A limit on the size of files (RLIMIT_FSIZE) is to be an error of write(), so
 * that the entry is declined. But a filter, that would inherit SIG_IGN, is to end
 * as ever.
 */
static void outlive_size_limit(void)
{
#ifdef SIGXFSZ
	signal(SIGXFSZ, do_nothing);
#endif
}

/* What was done by a point in time. */
struct mark {
	uint64_t ns, run_ns, filter_ns, bytes;
};

static void set_mark(struct mark *mark, const struct checkout_writer *writer)
{
	mark->ns = getnanotime();
	mark->run_ns = run_clock_ns();
	mark->bytes = writer->bytes;
}

/* To wait for a filter that runs, as far as anybody knows, is no waiting. */
static void add_filter_time(struct wire_summary *summary,
			    const struct mark *mark,
			    const struct checkout_smudge *smudge)
{
	uint64_t filter_ns = smudge_run_ns(smudge);

	if (smudge->met && !filter_ns)
		summary->run_ns = summary->busy_ns;

	/* Some of it is lost when a process ends before it is reaped. */
	if (filter_ns > mark->filter_ns)
		summary->run_ns += filter_ns - mark->filter_ns;
	if (summary->run_ns > summary->busy_ns)
		summary->run_ns = summary->busy_ns;
}

/* Append a frame with results, which took from the mark until now, to `out`. */
static void add_results(struct strbuf *out, enum wire_type type,
			const struct strbuf *results, const struct mark *mark,
			const struct checkout_writer *writer,
			struct worker_stats *stats)
{
	struct wire_summary summary = {
		.run_ns = run_clock_since(mark->run_ns),
		.busy_ns = getnanotime() - mark->ns,
		.bytes = writer->bytes - mark->bytes,
	};
	size_t start;

	if (summary.run_ns && writer->smudge && type != WIRE_LATE)
		add_filter_time(&summary, mark, writer->smudge);
	stats->busy_ns += summary.busy_ns;
	stats->run_ns += summary.run_ns;

	start = wire_begin_frame(out, type);
	wire_put_summary(out, &summary);
	strbuf_addbuf(out, results);
	wire_end_frame(out, start);
}

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
 * If nobody is there to read our answers, nobody wants the files. It is enough to
 * look once in a while: what takes less is under way.
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

/* Write all items of a frame, and append a frame with the results to `out`. */
static int do_batch(struct checkout_writer *writer,
		    const struct wire_frame *frame, struct strbuf *out,
		    struct worker_stats *stats)
{
	struct strbuf results = STRBUF_INIT;
	struct wire_cursor cursor;
	struct checkout_item item;
	struct mark mark;
	int ret;

	if (frame->type != WIRE_ITEMS)
		return error(_("checkout worker received a frame of the wrong type"));

	set_mark(&mark, writer);
	mark.filter_ns = writer->smudge ? smudge_run_ns(writer->smudge) : 0;
	writer_begin_batch(writer);
	wire_open_frame(&cursor, frame);
	while ((ret = wire_get_item(&cursor, &item,
				    writer->repo->hash_algo)) > 0) {
		struct checkout_result result;

		writer_write(writer, &item, &result);

		/* start_async() has one of its own, which is not silent */
		set_die_routine(die_silently);
		wire_put_result(&results, &result);
		stats->entries++;
		if (result.status == CHECKOUT_CONFLICT)
			stats->conflicts++;
	}
	if (ret < 0 ||
	    results.len + sizeof(struct wire_summary) > WIRE_MAX_PAYLOAD) {
		strbuf_release(&results);
		return error(_("checkout worker received a malformed batch"));
	}

	add_results(out, WIRE_RESULTS, &results, &mark, writer, stats);
	stats->batches++;
	strbuf_release(&results);
	return 0;
}

/* What was delayed, and has been dealt with. */
struct late {
	struct checkout_item *item;	/* NULL if there is none */
	struct checkout_result result;
};

/* Answer it, and forget it. */
static int send_late(struct late *late, struct mark *mark,
		     const struct checkout_writer *writer,
		     struct worker_stats *stats)
{
	struct strbuf results = STRBUF_INIT, out = STRBUF_INIT;
	int ret = 0;

	if (!late->item)
		return 0;
	wire_put_result(&results, &late->result);
	add_results(&out, WIRE_LATE, &results, mark, writer, stats);
	if (write_in_full(1, out.buf, out.len) < 0)
		ret = error_errno(_("unable to send checkout results"));
	strbuf_release(&results);
	strbuf_release(&out);
	set_mark(mark, writer);
	smudge_free_item(late->item);
	late->item = NULL;
	return ret;
}

/* Have the main process do it, once more if it was written. */
static void decline_late(struct late *late)
{
	memset(&late->result, 0, sizeof(late->result));
	late->result.id = late->item->id;
	late->result.status = CHECKOUT_UNFILTERED;
}

/*
 * Write what filters have delayed, as it becomes available, and answer each when
 * the next one has been asked for. If that goes wrong, there may be nothing left
 * for which to say so. So the main process does the last one again, with a
 * filter that goes wrong in the same way, and reports it.
 */
static int collect(struct checkout_writer *writer, struct worker_stats *stats)
{
	struct checkout_item *item;
	struct late late = { 0 };
	struct mark mark;
	int ret = 0, got;

	set_mark(&mark, writer);
	while (!ret && (got = smudge_next(writer->smudge, &item))) {
		if (got < 0) {
			if (late.item)
				decline_late(&late);
			continue;
		}
		ret = send_late(&late, &mark, writer, stats);
		writer_begin_batch(writer);
		writer_write_late(writer, item, &late.result);
		late.item = item;
	}
	while (!ret && !(ret = send_late(&late, &mark, writer, stats)) &&
	       smudge_next_failed(writer->smudge, &late.item))
		decline_late(&late);
	return ret;
}

static int do_traced_batch(struct checkout_writer *writer,
			   const struct wire_frame *frame, struct strbuf *out,
			   struct worker_stats *stats)
{
	uintmax_t entries = stats->entries;
	uint64_t bytes = writer->bytes;
	int ret;

	trace2_region_enter("pcheckout", "batch", writer->repo);
	ret = do_batch(writer, frame, out, stats);
	trace2_region_leave("pcheckout", "batch", writer->repo);

	/* Not in the region: to write the trace takes time, too. */
	trace2_data_intmax("pcheckout", writer->repo, "batch/entries",
			   stats->entries - entries);
	trace2_data_intmax("pcheckout", writer->repo, "batch/bytes",
			   writer->bytes - bytes);
	return ret;
}

static int worker_loop(struct checkout_writer *writer,
			struct worker_stats *stats)
{
	struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;
	int ret = 0;

	while (!ret) {
		struct wire_frame frame;
		uint64_t start_ns;
		ssize_t n = wire_next_frame(in.buf, in.len, &frame);

		if (n < 0) {
			ret = error(_("checkout worker received a malformed frame"));
			break;
		}
		if (n && frame.type == WIRE_COLLECT && writer->smudge) {
			ret = collect(writer, stats);
			strbuf_remove(&in, 0, n);
			continue;
		}
		if (n) {
			ret = do_traced_batch(writer, &frame, &out, stats);
			if (!ret && write_in_full(1, out.buf, out.len) < 0)
				ret = error_errno(_("unable to send checkout results"));
			strbuf_remove(&in, 0, n);
			strbuf_reset(&out);
			continue;
		}

		strbuf_grow(&in, READ_SIZE);
		start_ns = getnanotime();
		n = xread(0, in.buf + in.len, READ_SIZE);
		stats->waited_ns += getnanotime() - start_ns;
		if (n < 0)
			ret = error_errno(_("unable to receive checkout items"));
		else if (n)
			strbuf_setlen(&in, in.len + n);
		else
			break;
	}
	if (!ret && in.len)
		ret = error(_("checkout worker received a truncated frame"));

	strbuf_release(&in);
	strbuf_release(&out);
	return ret;
}

static void trace_stats(struct repository *r,
			const struct checkout_writer *writer,
			const struct worker_stats *stats)
{
	trace2_data_intmax("pcheckout", r, "worker/batches", stats->batches);
	trace2_data_intmax("pcheckout", r, "worker/entries", stats->entries);
	trace2_data_intmax("pcheckout", r, "worker/bytes", writer->bytes);
	trace2_data_intmax("pcheckout", r, "worker/conflicts",
			   stats->conflicts);
	trace2_data_intmax("pcheckout", r, "worker/busy_us",
			   stats->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "worker/waited_us",
			   stats->waited_ns / 1000);
	if (!stats->run_ns)
		return;		/* nobody knows */

	/* A busy worker that is not running waits, mostly for a disk. */
	trace2_data_intmax("pcheckout", r, "worker/running_us",
			   stats->run_ns / 1000);
	trace2_data_intmax("pcheckout", r, "worker/disk_us",
			   stats->busy_ns > stats->run_ns ?
			   (stats->busy_ns - stats->run_ns) / 1000 : 0);
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
			    struct checkout_smudge *smudge,
			    struct repository *repo)
{
	struct object_id treeish;
	struct silence silence;

	if (filters->treeish &&
	    get_oid_hex_algop(filters->treeish, &treeish, repo->hash_algo))
		die(_("malformed object name '%s'"), filters->treeish);
	smudge_init(smudge, filters->ref, filters->treeish ? &treeish : NULL);

	if (filters->git_prefix)
		setenv(GIT_PREFIX_ENVIRONMENT, filters->git_prefix, 1);
	else
		unsetenv(GIT_PREFIX_ENVIRONMENT);
	be_silent(&silence);	/* to the end */
	if (filters->stderr_fd >= 0 && dup2(filters->stderr_fd, 2) >= 0)
		close(filters->stderr_fd);
}

static int write_all(struct checkout_writer *writer)
{
	struct worker_stats stats = { 0 };
	int ret;

	set_die_routine(die_silently);
	trace2_region_enter("pcheckout", "worker", writer->repo);
	ret = worker_loop(writer, &stats);
	trace_stats(writer->repo, writer, &stats);
	trace2_region_leave("pcheckout", "worker", writer->repo);
	return ret;
}

int cmd_checkout__worker(int argc,
			 const char **argv,
			 const char *prefix,
			 struct repository *repo)
{
	struct checkout_writer writer;
	struct checkout_smudge smudge;
	struct worker_filters filters = { .stderr_fd = -1 };
	struct string_list donors = STRING_LIST_INIT_DUP;
	const char *root = "", *unused;
	int protocol = 0, want_stat = 0, want_donors = 0, ret;
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
	if (want_donors) {
		if (list_donors(repo, root, 1))
			die_errno(_("unable to send the list of files"));
		return 0;
	}

	outlive_size_limit();
	if (writer_open(&writer, repo, root, want_stat) < 0)
		die_errno(_("cannot open directory '%s'"), root);
	for (size_t i = 0; i < donors.nr; i++)
		writer_add_donor(&writer, donors.items[i].string);

	writer.end_if_unwanted = end_if_unwanted;
	if (filters.run) {
		prepare_filters(&filters, &smudge, repo);
		writer.smudge = &smudge;
	}
	ret = write_all(&writer);

	writer_close(&writer);
	string_list_clear(&donors, 0);
	if (filters.run)
		smudge_release(&smudge);
	return ret ? 128 : 0;
}
