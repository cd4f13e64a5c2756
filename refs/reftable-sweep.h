/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef REFS_REFTABLE_SWEEP_H
#define REFS_REFTABLE_SWEEP_H

/*
 * Finding out about many refs of a reftable stack in one sweep.
 *
 * A transaction wants to know three things about each ref that it is to
 * create: whether the ref exists, whether one of its leading directories is a
 * ref, and whether there are refs beneath it. Asked one by one, each of these
 * questions takes a lookup in every table of the stack. But the tables are
 * sorted. Once we know two neighbouring records, we know that there is no ref
 * whatsoever between them, and when names are looked up in order then the
 * record that answers one question is usually the one that answers the next, or
 * not far from it. So a sweep keeps the position of its last lookup and only
 * seeks when the answer is far away.
 */

#include "../hash.h"

struct git_hash_algo;
struct reftable_stack;
struct reftable_sweep;
struct string_list;

enum reftable_finding_state {
	/* The ref exists. Zero is for what the sweep was not asked about. */
	REFTABLE_FINDING_EXISTS = 1,
	/* The ref does not exist, and no ref of the stack is in its way. */
	REFTABLE_FINDING_FREE,
	/*
	 * The ref does not exist, but cannot be created either: one of its
	 * leading directories is a ref, or there is a ref beneath it.
	 */
	REFTABLE_FINDING_BLOCKED,
};

/* What a sweep has found out about a ref. Zero-initialize. */
struct reftable_finding {
	enum reftable_finding_state state;
	/* The value, if the ref exists and is not a symbolic ref. */
	struct object_id oid;
	/* The target, if the ref exists and is a symbolic ref, or NULL. */
	char *referent;
};

/*
 * Start a sweep over the refs of `stack` as they are in the tables that are
 * loaded. The stack must not be reloaded as long as the findings shall hold;
 * this means that the caller wants to have locked it. Object IDs are taken for
 * those of `algo`. Returns NULL if there is no memory.
 */
struct reftable_sweep *reftable_sweep_begin(struct reftable_stack *stack,
					    const struct git_hash_algo *algo);

/*
 * Find out about the ref `refname` and store the result in `finding`, which
 * must be zero-initialized. Names may come in any order, but ascending order is
 * what makes a sweep fast. Returns 0, or a reftable error code (which is less
 * than 0).
 */
int reftable_sweep_find(struct reftable_sweep *sweep, const char *refname,
			struct reftable_finding *finding);

/* End the sweep and free it. Findings stay valid. NULL is fine. */
void reftable_sweep_end(struct reftable_sweep *sweep);

/* Release what the `nr` findings own, and the array itself. */
void reftable_findings_free(struct reftable_finding *findings, size_t nr);

/*
 * Return 1 if a name of the sorted list is a leading directory of another one,
 * as "refs/a" is of "refs/a/b", or 0 otherwise.
 */
int refnames_are_nested(const struct string_list *refnames);

#endif
