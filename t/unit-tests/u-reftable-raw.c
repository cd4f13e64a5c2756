/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Iterators over a merged table that show deletions, or that are sought several
 * times.
 */
#include "unit-test.h"
#include "dir.h"
#include "reftable/merged.h"
#include "reftable/reftable-iterator.h"
#include "reftable/reftable-merged.h"
#include "reftable/reftable-record.h"
#include "reftable/reftable-stack.h"
#include "reftable/reftable-writer.h"

/* types of blocks, as they are in the files */
#define REFS 'r'
#define LOGS 'g'

static const char dir[] = "stack";
static struct reftable_stack *stack;
static struct reftable_merged_table *merged;

/* What is written to a table. */
struct records {
	uint64_t idx;
	struct reftable_ref_record *refs;
	size_t nr_refs;
	struct reftable_log_record *logs;
	size_t nr_logs;
};

#define LIVE(name, idx) { \
	.refname = (char *) (name), \
	.update_index = (idx), \
	.value_type = REFTABLE_REF_VAL1, \
	.value.val1 = { (idx) }, \
}
#define DELETED(name, idx) { \
	.refname = (char *) (name), \
	.update_index = (idx), \
	.value_type = REFTABLE_REF_DELETION, \
}
#define LIVE_LOG(log_name, idx) { \
	.refname = (char *) (log_name), \
	.update_index = (idx), \
	.value_type = REFTABLE_LOG_UPDATE, \
	.value.update = { \
		.new_hash = { (idx) }, \
		.name = (char *) "jane doe", \
		.email = (char *) "jane@invalid", \
		.message = (char *) "message", \
	}, \
}
#define DELETED_LOG(log_name, idx) { \
	.refname = (char *) (log_name), \
	.update_index = (idx), \
	.value_type = REFTABLE_LOG_DELETION, \
}

static int write_records(struct reftable_writer *writer, void *data)
{
	struct records *r = data;
	int err;

	reftable_writer_set_limits(writer, r->idx, r->idx);
	err = reftable_writer_add_refs(writer, r->refs, r->nr_refs);
	return err ? err :
		reftable_writer_add_logs(writer, r->logs, r->nr_logs);
}

static void add_table(uint64_t idx,
		      struct reftable_ref_record *refs, size_t nr_refs,
		      struct reftable_log_record *logs, size_t nr_logs)
{
	struct records records = { idx, refs, nr_refs, logs, nr_logs };
	struct reftable_addition *add;

	cl_assert_equal_i(reftable_stack_new_addition(&add, stack, 0), 0);
	cl_assert_equal_i(reftable_addition_add(add, write_records, &records),
			  0);
	cl_assert_equal_i(reftable_addition_commit(add), 0);
	reftable_addition_destroy(add);
}

void test_reftable_raw__initialize(void)
{
	struct reftable_ref_record refs1[] = {
		LIVE("a", 1),
		LIVE("b", 1),
		LIVE("b/1", 1),
		LIVE("b/2", 1),
		LIVE("c", 1),
		LIVE("d", 1),
	};
	struct reftable_ref_record refs2[] = {
		DELETED("b", 2),
		DELETED("b/1", 2),
		DELETED("c", 2),
		LIVE("c/1", 2),
	};
	struct reftable_ref_record refs3[] = {
		LIVE("b/3", 3),
		DELETED("c/1", 3),
	};
	struct reftable_log_record logs1[] = {
		LIVE_LOG("a", 1),
		LIVE_LOG("b", 1),
		LIVE_LOG("bb", 1),
	};
	struct reftable_log_record logs2[] = {
		LIVE_LOG("a", 2),
		DELETED_LOG("b", 1),
	};
	struct reftable_log_record logs3[] = {
		DELETED_LOG("a", 1),
		LIVE_LOG("c", 3),
	};
	struct reftable_write_options opts = {
		.block_size = 256,
		.disable_auto_compact = 1,
	};

	cl_must_pass(mkdir(dir, 0777));
	cl_assert_equal_i(reftable_new_stack(&stack, dir, &opts), 0);
	add_table(1, refs1, ARRAY_SIZE(refs1), logs1, ARRAY_SIZE(logs1));
	add_table(2, refs2, ARRAY_SIZE(refs2), logs2, ARRAY_SIZE(logs2));
	add_table(3, refs3, ARRAY_SIZE(refs3), logs3, ARRAY_SIZE(logs3));
	merged = reftable_stack_merged_table(stack);
	cl_assert(merged->suppress_deletions);
}

void test_reftable_raw__cleanup(void)
{
	struct strbuf path = STRBUF_INIT;

	reftable_stack_destroy(stack);
	stack = NULL;
	merged = NULL;
	strbuf_addstr(&path, dir);
	remove_dir_recursively(&path, 0);
	strbuf_release(&path);
}

/*
 * Expect that the iterator yields the refs that are listed in `want`, each
 * followed by a space, deletions with a "!" before them.
 */
static void check_refs(struct reftable_iterator *it, const char *want)
{
	struct reftable_ref_record ref = { 0 };
	struct strbuf got = STRBUF_INIT;
	int err;

	while (!(err = reftable_iterator_next_ref(it, &ref)))
		strbuf_addf(&got, "%s%s ",
			    reftable_ref_record_is_deletion(&ref) ? "!" : "",
			    ref.refname);
	cl_assert_equal_i(err, 1);
	cl_assert_equal_s(got.buf, want);

	/* The end is the end, however often one asks. */
	cl_assert_equal_i(reftable_iterator_next_ref(it, &ref), 1);

	strbuf_release(&got);
	reftable_ref_record_release(&ref);
}

static void check_logs(struct reftable_iterator *it, const char *want)
{
	struct reftable_log_record log = { 0 };
	struct strbuf got = STRBUF_INIT;
	int err;

	while (!(err = reftable_iterator_next_log(it, &log)))
		strbuf_addf(&got, "%s%s@%"PRIuMAX" ",
			    log.value_type == REFTABLE_LOG_DELETION ? "!" : "",
			    log.refname, (uintmax_t)log.update_index);
	cl_assert_equal_i(err, 1);
	cl_assert_equal_s(got.buf, want);
	cl_assert_equal_i(reftable_iterator_next_log(it, &log), 1);

	strbuf_release(&got);
	reftable_log_record_release(&log);
}

void test_reftable_raw__raw_refs(void)
{
	struct reftable_iterator it = { 0 };

	cl_assert(!merged_table_init_raw_iter(merged, &it, REFS));
	cl_assert(!reftable_iterator_seek_ref(&it, ""));
	check_refs(&it, "a !b !b/1 b/2 b/3 !c !c/1 d ");
	reftable_iterator_destroy(&it);
}

void test_reftable_raw__raw_logs(void)
{
	struct reftable_iterator it = { 0 };

	cl_assert(!merged_table_init_raw_iter(merged, &it, LOGS));
	cl_assert(!reftable_iterator_seek_log(&it, ""));
	check_logs(&it, "a@2 !a@1 !b@1 bb@1 c@3 ");
	reftable_iterator_destroy(&it);
}

/* An entry that has been deleted does not hide those before it. */
void test_reftable_raw__read_log(void)
{
	static const struct {
		const char *name;
		uint64_t idx;
	} cases[] = { { "a", 2 }, { "b", 0 }, { "bb", 1 }, { "c", 3 }, { "d", 0 } };
	struct reftable_log_record deleted[] = { DELETED_LOG("bb", 4),
						 DELETED_LOG("d", 1) };

	add_table(4, NULL, 0, deleted, ARRAY_SIZE(deleted));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reftable_log_record log = { 0 };
		int err = reftable_stack_read_log(stack, cases[i].name, &log);

		cl_assert_equal_i(err, !cases[i].idx);
		if (!err)
			cl_assert_equal_i(log.update_index, cases[i].idx);
		reftable_log_record_release(&log);
	}
}

/* Whatever has been read before, seeking starts afresh. */
void test_reftable_raw__seek_again(void)
{
	for (int nr = 0; nr < 6; nr++) {
		struct reftable_iterator it = { 0 };
		struct reftable_ref_record ref = { 0 };

		cl_assert(!merged_table_init_raw_iter(merged, &it, REFS));
		cl_assert(!reftable_iterator_seek_ref(&it, ""));
		for (int i = 0; i < nr; i++)
			cl_assert(!reftable_iterator_next_ref(&it, &ref));
		cl_assert(!reftable_iterator_seek_ref(&it, "b/1"));
		check_refs(&it, "!b/1 b/2 b/3 !c !c/1 d ");
		cl_assert(!reftable_iterator_seek_ref(&it, ""));
		check_refs(&it, "a !b !b/1 b/2 b/3 !c !c/1 d ");
		reftable_ref_record_release(&ref);
		reftable_iterator_destroy(&it);
	}
}
