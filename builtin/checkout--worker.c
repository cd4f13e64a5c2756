/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker process of parallel checkout: read frames of items, write the
 * files, answer frames of results, until the main process closes the pipe.
 * See "Parallel Checkout Design Notes" in Documentation/technical/.
 */
#include "builtin.h"
#include "config.h"
#include "environment.h"
#include "gettext.h"
#include "parallel-checkout/run-clock.h"
#include "parallel-checkout/wire.h"
#include "parallel-checkout/writer.h"
#include "parse-options.h"
#include "repository.h"
#include "strbuf.h"
#include "trace.h"
#include "trace2.h"

#define READ_SIZE (64 * 1024)

/*
 * Only the delta bases of neighbouring files are worth keeping. The default of
 * core.deltaBaseCacheLimit, 96 MiB, is meant for walks over history and would
 * be spent by each worker.
 */
#define DELTA_BASE_CACHE_LIMIT (16 * 1024 * 1024)

static const char * const checkout_worker_usage[] = {
	"git checkout--worker --protocol=<n> [--root=<dir>] [--stat]",
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
	exit(128);
}

/* Write all items of a frame, and append a frame with the results to `out`. */
static int do_batch(struct checkout_writer *writer,
		    const struct wire_frame *frame, struct strbuf *out,
		    pid_t parent, struct worker_stats *stats)
{
	uint64_t start_ns = getnanotime(), start_bytes = writer->bytes;
	uint64_t start_run_ns = run_clock_ns();
	struct strbuf results = STRBUF_INIT;
	struct wire_summary summary;
	struct wire_cursor cursor;
	struct checkout_item item;
	size_t start;
	int ret;

	if (frame->type != WIRE_ITEMS)
		return error(_("checkout worker received a frame of the wrong type"));

	writer_begin_batch(writer);
	wire_open_frame(&cursor, frame);
	while ((ret = wire_get_item(&cursor, &item,
				    writer->repo->hash_algo)) > 0) {
		struct checkout_result result;

		/* Without the main process, nobody wants to have the rest. */
		if (getppid() != parent)
			exit(128);

		writer_write(writer, &item, &result);
		wire_put_result(&results, &result);
		stats->entries++;
		if (result.status == CHECKOUT_CONFLICT)
			stats->conflicts++;
	}
	if (ret < 0 || results.len + sizeof(summary) > WIRE_MAX_PAYLOAD) {
		strbuf_release(&results);
		return error(_("checkout worker received a malformed batch"));
	}

	summary.run_ns = run_clock_since(start_run_ns);
	summary.busy_ns = getnanotime() - start_ns;
	summary.bytes = writer->bytes - start_bytes;
	stats->busy_ns += summary.busy_ns;
	stats->run_ns += summary.run_ns;
	stats->batches++;

	start = wire_begin_frame(out, WIRE_RESULTS);
	wire_put_summary(out, &summary);
	strbuf_addbuf(out, &results);
	wire_end_frame(out, start);
	strbuf_release(&results);
	return 0;
}

static int do_traced_batch(struct checkout_writer *writer,
			   const struct wire_frame *frame, struct strbuf *out,
			   pid_t parent, struct worker_stats *stats)
{
	uintmax_t entries = stats->entries;
	uint64_t bytes = writer->bytes;
	int ret;

	trace2_region_enter("pcheckout", "batch", writer->repo);
	ret = do_batch(writer, frame, out, parent, stats);
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
	pid_t parent = getppid();
	int ret = 0;

	while (!ret) {
		struct wire_frame frame;
		uint64_t start_ns;
		ssize_t n = wire_next_frame(in.buf, in.len, &frame);

		if (n < 0) {
			ret = error(_("checkout worker received a malformed frame"));
			break;
		}
		if (n) {
			ret = do_traced_batch(writer, &frame, &out, parent,
					      stats);
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
	    protocol != WIRE_PROTOCOL)
		die(_("checkout worker of protocol %d was asked for %s; "
		      "was Git replaced while it was running?"),
		    WIRE_PROTOCOL, value ? value : _("none"));
}

int cmd_checkout__worker(int argc,
			 const char **argv,
			 const char *prefix,
			 struct repository *repo)
{
	struct checkout_writer writer;
	struct worker_stats stats = { 0 };
	const char *root = "", *unused;
	int protocol = 0, want_stat = 0, ret;
	struct option options[] = {
		/* check_protocol() has looked at it */
		OPT_INTEGER(0, "protocol", &protocol,
			    N_("version of the messages")),
		OPT_STRING(0, "root", &root, N_("dir"),
			   N_("write files below <dir>")),
		OPT_BOOL(0, "stat", &want_stat,
			 N_("answer with stat data")),
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

	/*
	 * A limit on the size of files (RLIMIT_FSIZE) is to be an error of
	 * write(), so that the entry is declined.
	 */
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN);
#endif
	if (writer_open(&writer, repo, root, want_stat) < 0)
		die_errno(_("cannot open directory '%s'"), root);

	set_die_routine(die_silently);
	trace2_region_enter("pcheckout", "worker", repo);
	ret = worker_loop(&writer, &stats);
	trace_stats(repo, &writer, &stats);
	trace2_region_leave("pcheckout", "worker", repo);

	writer_close(&writer);
	return ret ? 128 : 0;
}
