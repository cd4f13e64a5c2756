/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding out about many refs of a reftable stack in one sweep. See the header
 * for why.
 *
 * The position of a sweep is a record, together with the name that it was
 * sought with. What we rely on is that no record lies in between:
 *
 *   ... | from ..... (no record) ..... rec | ...
 *
 * Every lookup of a name in this gap, both ends included, is answered by "rec".
 * Note that "rec" may be a tombstone, as otherwise it would take a walk over
 * all tombstones to find it.
 */
#include "../git-compat-util.h"
#include "../hash.h"
#include "../strbuf.h"
#include "../string-list.h"
#include "../reftable/reftable-error.h"
#include "../reftable/reftable-iterator.h"
#include "../reftable/reftable-record.h"
#include "../reftable/reftable-stack.h"
#include "reftable-sweep.h"

/*
 * How many records we read before we rather seek. Seeking decodes, for each
 * table, an index record per level and on average half of the 16 records
 * between two restart points, and has to find its block. Reading one record
 * costs about a tenth of that where there is a single table.
 */
#define MAX_STEPS 16

struct reftable_sweep {
	const struct git_hash_algo *algo;
	struct reftable_iterator it;

	/* See above. There is no position as long as it is not `positioned`. */
	struct strbuf from;
	struct reftable_ref_record rec;
	unsigned positioned : 1;
	/* There is no record behind `from`, so `rec` has no meaning. */
	unsigned at_end : 1;

	/*
	 * A ref of which we know that none of its leading directories is a
	 * ref, or empty.
	 */
	struct strbuf clear;
	struct strbuf scratch;
};

struct reftable_sweep *reftable_sweep_begin(struct reftable_stack *stack,
					    const struct git_hash_algo *algo)
{
	struct reftable_sweep *sweep = xcalloc(1, sizeof(*sweep));

	sweep->algo = algo;
	strbuf_init(&sweep->from, 0);
	strbuf_init(&sweep->clear, 0);
	strbuf_init(&sweep->scratch, 0);
	if (reftable_stack_init_raw_ref_iterator(stack, &sweep->it) < 0) {
		reftable_sweep_end(sweep);
		return NULL;
	}
	return sweep;
}

void reftable_sweep_end(struct reftable_sweep *sweep)
{
	if (!sweep)
		return;
	reftable_iterator_destroy(&sweep->it);
	reftable_ref_record_release(&sweep->rec);
	strbuf_release(&sweep->from);
	strbuf_release(&sweep->clear);
	strbuf_release(&sweep->scratch);
	free(sweep);
}

void reftable_findings_free(struct reftable_finding *findings, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(findings[i].referent);
	free(findings);
}

/* Read the next record into `rec`. The caller has to adapt `from`. */
static int step(struct reftable_sweep *sweep)
{
	int err = reftable_iterator_next_ref(&sweep->it, &sweep->rec);
	if (err > 0) {
		sweep->at_end = 1;
		err = 0;
	}
	return err;
}

/*
 * Position the sweep at the first record whose name is not less than `key`, or
 * at the end.
 */
static int move_to(struct reftable_sweep *sweep, const char *key)
{
	int err;

	if (sweep->positioned && strcmp(key, sweep->from.buf) >= 0) {
		if (sweep->at_end || strcmp(key, sweep->rec.refname) <= 0)
			return 0;

		/* Records that we pass are less than `key`. */
		for (int i = 0; i < MAX_STEPS; i++) {
			err = step(sweep);
			if (err < 0)
				goto error;
			if (sweep->at_end || strcmp(key, sweep->rec.refname) <= 0)
				goto done;
		}
	}

	err = reftable_iterator_seek_ref(&sweep->it, key);
	if (err < 0)
		goto error;
	sweep->at_end = 0;
	err = step(sweep);
	if (err < 0)
		goto error;
	sweep->positioned = 1;

done:
	strbuf_reset(&sweep->from);
	strbuf_addstr(&sweep->from, key);
	return 0;

error:
	sweep->positioned = 0;
	return err;
}

/* Return 1 if there is a ref of that name, 0 if there is none, or an error. */
static int exists(struct reftable_sweep *sweep, const char *refname)
{
	int err = move_to(sweep, refname);
	if (err < 0)
		return err;
	return !sweep->at_end &&
		!reftable_ref_record_is_deletion(&sweep->rec) &&
		!strcmp(sweep->rec.refname, refname);
}

/*
 * Return 1 if there is a ref whose name starts with `prefix`, 0 if there is
 * none, or an error.
 *
 * This has to walk over the tombstones beneath the prefix. In one transaction
 * that happens only once for each of them, because names that have tombstones
 * in common would be in conflict with each other.
 */
static int exists_beneath(struct reftable_sweep *sweep, const char *prefix)
{
	int err = move_to(sweep, prefix);
	if (err < 0)
		return err;

	while (!sweep->at_end && starts_with(sweep->rec.refname, prefix)) {
		if (!reftable_ref_record_is_deletion(&sweep->rec))
			return 1;

		strbuf_reset(&sweep->from);
		strbuf_addstr(&sweep->from, sweep->rec.refname);
		/* The gap must not contain the record that we leave behind. */
		strbuf_addch(&sweep->from, '\001');
		err = step(sweep);
		if (err < 0) {
			sweep->positioned = 0;
			return err;
		}
	}

	return 0;
}

/*
 * Return 1 if a leading directory of the name is a ref, 0 if none is, or an
 * error. Directories that the name shares with `clear` are known not to be.
 */
static int is_beneath_ref(struct reftable_sweep *sweep, const char *refname)
{
	const char *slash, *known = sweep->clear.buf;
	size_t shared = 0;

	while (known[shared] && known[shared] == refname[shared])
		shared++;

	for (slash = strchr(refname, '/'); slash; slash = strchr(slash + 1, '/')) {
		int ret;

		if ((size_t)(slash - refname) < shared)
			continue;

		strbuf_reset(&sweep->scratch);
		strbuf_add(&sweep->scratch, refname, slash - refname);
		ret = exists(sweep, sweep->scratch.buf);
		if (ret)
			return ret;
	}

	strbuf_reset(&sweep->clear);
	strbuf_addstr(&sweep->clear, refname);
	return 0;
}

static void set_existing(struct reftable_sweep *sweep,
			 struct reftable_finding *finding)
{
	finding->state = REFTABLE_FINDING_EXISTS;
	if (sweep->rec.value_type == REFTABLE_REF_SYMREF)
		finding->referent = xstrdup(sweep->rec.value.symref);
	else
		oidread(&finding->oid, reftable_ref_record_val1(&sweep->rec),
			sweep->algo);
}

int reftable_sweep_find(struct reftable_sweep *sweep, const char *refname,
			struct reftable_finding *finding)
{
	int ret;

	ret = exists(sweep, refname);
	if (ret < 0)
		return ret;
	if (ret) {
		set_existing(sweep, finding);
		return 0;
	}

	ret = is_beneath_ref(sweep, refname);
	if (!ret) {
		strbuf_reset(&sweep->scratch);
		strbuf_addf(&sweep->scratch, "%s/", refname);
		ret = exists_beneath(sweep, sweep->scratch.buf);
	}
	if (ret < 0)
		return ret;

	finding->state = ret ? REFTABLE_FINDING_BLOCKED : REFTABLE_FINDING_FREE;
	return 0;
}

int refnames_are_nested(const struct string_list *refnames)
{
	struct strbuf dir = STRBUF_INIT;
	const char *prev = "";
	int ret = 0;

	for (size_t i = 0; i < refnames->nr && !ret; i++) {
		const char *name = refnames->items[i].string;
		const char *slash;
		size_t shared = 0;

		/*
		 * As the names are sorted, those which have a directory in
		 * common follow each other. What the name shares with the
		 * previous one has been looked up already.
		 */
		while (prev[shared] && prev[shared] == name[shared])
			shared++;

		for (slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
			if ((size_t)(slash - name) < shared)
				continue;
			strbuf_reset(&dir);
			strbuf_add(&dir, name, slash - name);
			if (string_list_has_string(refnames, dir.buf)) {
				ret = 1;
				break;
			}
		}
		prev = name;
	}

	strbuf_release(&dir);
	return ret;
}
