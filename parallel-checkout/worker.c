/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The work of a worker process; see worker.h.
 */
#include "git-compat-util.h"
#include "gettext.h"
#include "parallel-checkout/run-clock.h"
#include "parallel-checkout/smudge.h"
#include "parallel-checkout/wire.h"
#include "parallel-checkout/worker.h"
#include "parallel-checkout/writer.h"
#include "repository.h"
#include "strbuf.h"
#include "trace.h"
#include "trace2.h"

#define READ_SIZE (64 * 1024)

struct worker_stats {
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

	/*
	 * A filter may not end, and nobody should wait for an answer until
	 * then.
	 */
	close(1);
	exit(128);
}

/* When something began: on the clock, and on that of run-clock.h. */
struct mark {
	uint64_t ns, run_ns;
};

static void begin_outcome(struct checkout_writer *writer, struct mark *mark)
{
	memset(&writer->outcome, 0, sizeof(writer->outcome));
	mark->ns = getnanotime();
	mark->run_ns = run_clock_ns();
}

/* Append a frame with what was done since the mark, and results, to `out`. */
static void add_results(struct strbuf *out, enum wire_type type,
			const struct strbuf *results, const struct mark *mark,
			struct checkout_writer *writer,
			struct worker_stats *stats)
{
	struct checkout_outcome *outcome = &writer->outcome;
	size_t start;

	outcome->run_ns = run_clock_since(mark->run_ns);
	outcome->busy_ns = getnanotime() - mark->ns;
	outcome_add(&stats->total, outcome);

	start = wire_begin_frame(out, type);
	wire_put_outcome(out, outcome);
	strbuf_addbuf(out, results);
	wire_end_frame(out, start);
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

	begin_outcome(writer, &mark);
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
	}
	if (ret < 0 ||
	    results.len + sizeof(struct checkout_outcome) > WIRE_MAX_PAYLOAD) {
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
		     struct checkout_writer *writer,
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
	begin_outcome(writer, mark);
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
 * Write what filters have delayed, as it becomes available, and answer each
 * when the next one has been asked for. If that goes wrong, there may be
 * nothing left for which to say so. So the main process does the last one
 * again, with a filter that goes wrong in the same way, and reports it.
 */
static int collect(struct checkout_writer *writer, struct worker_stats *stats)
{
	struct checkout_item *item;
	struct late late = { 0 };
	struct mark mark;
	int ret = 0, got;

	begin_outcome(writer, &mark);
	while (!ret && (got = smudge_next(writer->smudge, &item))) {
		if (got < 0) {
			if (late.item)
				decline_late(&late);
			continue;
		}
		ret = send_late(&late, &mark, writer, stats);
		if (!item)
			continue;
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
	int ret;

	trace2_region_enter("pcheckout", "batch", writer->repo);
	ret = do_batch(writer, frame, out, stats);
	trace2_region_leave("pcheckout", "batch", writer->repo);

	/* Not in the region: to write the trace takes time, too. */
	trace2_data_intmax("pcheckout", writer->repo, "batch/entries",
			   stats->entries - entries);
	trace2_data_intmax("pcheckout", writer->repo, "batch/bytes",
			   writer->outcome.bytes);
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

static void trace_stats(struct repository *r, const struct worker_stats *stats)
{
	const struct checkout_outcome *total = &stats->total;

	trace2_data_intmax("pcheckout", r, "worker/batches", stats->batches);
	trace2_data_intmax("pcheckout", r, "worker/entries", stats->entries);
	trace2_data_intmax("pcheckout", r, "worker/bytes", total->bytes);
	trace2_data_intmax("pcheckout", r, "worker/collided", total->collided);
	trace2_data_intmax("pcheckout", r, "worker/busy_us",
			   total->busy_ns / 1000);
	trace2_data_intmax("pcheckout", r, "worker/waited_us",
			   stats->waited_ns / 1000);
	if (!total->run_ns)
		return;		/* nobody knows */

	/* A busy worker that is not running waits, mostly for a disk. */
	trace2_data_intmax("pcheckout", r, "worker/running_us",
			   total->run_ns / 1000);
	trace2_data_intmax("pcheckout", r, "worker/disk_us",
			   total->busy_ns > total->run_ns ?
			   (total->busy_ns - total->run_ns) / 1000 : 0);
}

int worker_serve(struct checkout_writer *writer)
{
	struct worker_stats stats = { 0 };
	int ret;

	set_die_routine(die_silently);
	trace2_region_enter("pcheckout", "worker", writer->repo);
	ret = worker_loop(writer, &stats);
	trace_stats(writer->repo, &stats);
	trace2_region_leave("pcheckout", "worker", writer->repo);
	return ret;
}
