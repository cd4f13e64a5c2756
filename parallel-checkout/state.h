/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_STATE_H
#define PARALLEL_CHECKOUT_STATE_H

/*
 * What the parts of the main process's side share: the entries that were
 * accepted, the phase that it is in, and what is known of the workers. Only for
 * parallel-checkout.c, sequential, classify, deferred and dispatch.
 */

#include "parallel-checkout/donors.h"
#include "parallel-checkout/item.h"
#include "parallel-checkout/limits.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/queue.h"
#include "parallel-checkout/settings.h"
#include "parallel-checkout/tune.h"
#include "parallel-checkout/writer.h"
#include "strmap.h"

struct cache_entry;
struct checkout;
struct index_state;
struct progress;

/*
 * While entries are in flight, which is while workers have them, nothing here
 * or in entry.c removes, renames or replaces anything in the working tree.
 */
enum checkout_phase {
	/* Between parallel_checkout_finish() and _begin(). */
	PHASE_IDLE = 0,

	/* No entry is accepted; entry.c does them all. */
	PHASE_SEQUENTIAL,

	/* The same, for as long as it does not take long. */
	PHASE_WATCHING,

	/* Entries are accepted, queued, and given to the workers there are. */
	PHASE_ACCEPTING,

	/*
	 * The queue does not grow any more; the workers do what is in there,
	 * and then this process what was deferred.
	 */
	PHASE_FINISHING,

	/*
	 * All is finished but what filters have delayed, which workers hold
	 * until they are asked for it. The caller may do what it likes.
	 */
	PHASE_DELAYED,
};

/* The life of an entry that was accepted. */
enum entry_state {
	ENTRY_QUEUED,
	ENTRY_SENT,		/* to a worker, which has not answered */
	ENTRY_DELAYED,		/* by its filter; a worker holds it */
	ENTRY_DONE,

	/* left for after the workers; no more states but these follow: */
	DEFERRED_UNFIT,		/* no worker may have it */
	DEFERRED_UNSENT,	/* there was none to have it */
	DEFERRED_ANSWERED,	/* a worker has said that it cannot write it */
	DEFERRED_UNFILTERED,	/* the same, because of its filter */
	DEFERRED_LOST,		/* with its worker; part of it may be there */
};

/* An entry that was accepted, or a directory that is to be removed. */
struct accepted_entry {
	struct cache_entry *ce;		/* NULL for a directory */
	int *nr_checkouts;

	/* Its path is set when it is sent, but for that of a directory. */
	struct checkout_item item;

	enum entry_state state;
};

struct parallel_checkout {
	enum checkout_phase phase;
	const struct checkout *state;
	struct progress *progress;
	unsigned int *progress_cnt;
	struct checkout_workers config;
	const char *sequential;		/* why no entry is accepted, or NULL */

	unsigned attrs_from_index : 1;
	unsigned one_by_one : 1;	/* somebody may wait for each file */
	unsigned may_filter : 1;	/* there are filters for workers */
	unsigned filters_stopped : 1;	/* one that is required has failed */
	struct strset filters;		/* commands that were met */

	/* What is replaced (or NULL), and how far it was looked through. */
	const struct index_state *old_index;
	unsigned int old_pos;

	/* By ID; those that are done stay until all are. */
	struct accepted_entry *entries;
	size_t nr, alloc;
	size_t accepted;		/* ever */
	size_t in_flight, delayed;	/* ENTRY_SENT, ENTRY_DELAYED */
	size_t deferred;		/* DEFERRED_* */
	uintmax_t answered[CHECKOUT_UNFILTERED + 1];	/* but for removals */

	struct checkout_queue queue;
	size_t queued_cost;		/* of filters in there; see tune.h */

	struct worker_pool pool;
	unsigned pool_started : 1;
	unsigned int since_look;	/* entries queued since a look at it */
	struct checkout_limits limits;	/* no cores: they were not read */
	struct tune_auto tune;

	/* PHASE_WATCHING: since when, and what entry.c has done. */
	uint64_t watch_since_ns, watched_ns;
	size_t watched;

	struct checkout_donors donors;

	/* Makes files for entry.c. */
	struct checkout_writer writer;
	unsigned is_writing : 1;	/* it is open */
	size_t offered;			/* entries, since it wrote the last */

	/*
	 * state->base_dir up to its last slash, and what comes after that,
	 * which is the beginning of the names of the files.
	 */
	char *root;
	const char *name_prefix;
	struct strbuf path;		/* name_prefix and an entry's name */

	uintmax_t deferred_bytes;	/* of what was deferred */
	uintmax_t throughput_base;	/* bytes before the progress */
	int errs;
};

/*
 * Change the phase. A BUG() if entries are queued or in flight, with which only
 * PHASE_FINISHING copes.
 */
void pc_enter(struct parallel_checkout *pc, enum checkout_phase phase);

/* Append a copy of the entry; the result is valid until the next call. */
struct accepted_entry *pc_append(struct parallel_checkout *pc,
				 const struct accepted_entry *entry);

/* Leave an entry, which is neither queued nor in flight, to entry.c. */
void pc_defer(struct parallel_checkout *pc, struct accepted_entry *entry,
	      enum entry_state why);

/*
 * Forget all entries, which are done. As long as workers hold delayed ones,
 * nothing is forgotten.
 */
void pc_forget_entries(struct parallel_checkout *pc);

/*
 * The leading directories that are part of a --prefix may be symbolic links,
 * and have to be made by us. Returns -1 if that is not possible; then entry.c
 * will report it.
 */
int pc_prepare_root(struct parallel_checkout *pc);

/* Set the path of the entry's item. Valid until the next call. */
void pc_set_path(struct parallel_checkout *pc, struct accepted_entry *entry);

/* The file of the entry is written: update its stat data, and count it. */
void pc_note_written(const struct parallel_checkout *pc,
		     const struct accepted_entry *entry,
		     const struct checkout_result *result);

/*
 * Write an ordinary entry in this process, and return what
 * parallel_checkout_write() does. With "in_place", directories are where they
 * were when the last was written.
 */
int pc_write(struct parallel_checkout *pc, struct accepted_entry *entry,
	     int in_place);

/* What was written so far, by workers and after them. */
uintmax_t pc_bytes(const struct parallel_checkout *pc);

void pc_advance_progress(struct parallel_checkout *pc);
void pc_advance_throughput(struct parallel_checkout *pc);

/* Tell trace2 what was done, in numbers. */
void pc_trace_stats(const struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_STATE_H */
