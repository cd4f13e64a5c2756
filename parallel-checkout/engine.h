/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_ENGINE_H
#define PARALLEL_CHECKOUT_ENGINE_H

/*
 * What the parts of the main process's side share: the entries that were taken,
 * the phase that it is in, and what is done with a single entry. Only for
 * parallel-checkout.c and for eligible, dispatch, donors, fallback, filtered and
 * removal.
 */

#include "convert.h"
#include "parallel-checkout/dispatch.h"
#include "parallel-checkout/donors.h"
#include "parallel-checkout/eligible.h"
#include "parallel-checkout/fallback.h"
#include "parallel-checkout/filtered.h"
#include "parallel-checkout/item.h"
#include "parallel-checkout/queue.h"
#include "parallel-checkout/settings.h"
#include "parallel-checkout/writer.h"

struct cache_entry;
struct checkout;
struct progress;

/*
 * While entries are in flight, which is while workers have them, nothing here
 * or in entry.c removes, renames or replaces anything in the working tree.
 * Which phase may follow which, and what it may find, is in engine.c.
 */
enum checkout_phase {
	/* Between parallel_checkout_finish() and _begin(). */
	PHASE_IDLE = 0,

	/*
	 * Files are being removed, by the caller at first; and have been,
	 * before _begin().
	 */
	PHASE_REMOVING_ALONE,
	PHASE_REMOVING,
	PHASE_REMOVED,

	/* Entries are being offered, and none is taken. */
	PHASE_REFUSING,

	/* What is offered is written at once, by the main process. */
	PHASE_ALONE,

	/* It is queued; there are no workers, not yet or not any more. */
	PHASE_QUEUEING,

	/* It is given to workers. */
	PHASE_STREAMING,

	/* The queue does not grow any more; the workers do what is in there. */
	PHASE_DRAINING,

	/* They have done it, and entry.c does what was put off. */
	PHASE_DRAINED,

	/* entry.c clears paths, for entries that are queued once more. */
	PHASE_CLEARING,

	/*
	 * All is finished but what filters have delayed; workers hold that, and
	 * do nothing. The caller may do what it likes.
	 */
	PHASE_DELAYED,

	/* They write that as it becomes available. */
	PHASE_FILTERING,
};

/* An entry that has been taken, or a directory that is to be removed. */
struct queued_entry {
	struct cache_entry *ce;
	const char *dir;		/* instead of ce */
	int *nr_checkouts;

	/* What may be replaced; see struct checkout_item. */
	const struct stat_data *old_sd;
	uint32_t old_mode;

	struct conv_attrs ca;
	unsigned has_attrs : 1;	/* these were looked up */

	/* Ineligible, or not as believed: for entry.c. */
	unsigned put_off : 1;
	unsigned was_sent : 1;	/* to a worker */
	unsigned again : 1;	/* queued for the second time */
	unsigned remove : 1;

	/* What the filter costs that a worker is to run for it; see tune.h. */
	unsigned filter_cost : 3;
	unsigned has_twin : 1;	/* an earlier one with a filter has its blob */
	unsigned char status;
};

struct parallel_checkout {
	enum checkout_phase phase;
	const struct checkout *state;
	struct progress *progress;
	unsigned int *progress_cnt;
	struct checkout_workers config;
	unsigned at_once : 1;		/* stay in PHASE_ALONE */
	unsigned at_its_turn : 1;	/* what was offered last is entry.c's */
	unsigned finishing : 1;		/* nothing comes after what is queued */
	unsigned removed_alone : 1;	/* PHASE_REMOVING_ALONE was never left */

	/*
	 * All entries that have been taken. The queue has the numbers of those
	 * that are to be given to a worker; `in_flight` ones have been given
	 * to one and not been answered, and `put_offs` have put_off set.
	 */
	struct queued_entry *entries;
	size_t nr, alloc, in_flight, put_offs;
	struct checkout_queue queue;
	size_t taken;

	struct checkout_lookup lookup;
	struct checkout_dispatch dispatch;
	struct checkout_fallback fallback;
	struct checkout_filtered filtered;
	struct checkout_donors donors;

	/*
	 * state->base_dir up to its last slash, and what comes after that,
	 * which is the beginning of the names of the files.
	 */
	char *root;
	const char *name_prefix;
	struct strbuf path;	/* name_prefix and an entry's name */

	struct checkout_writer writer;
	unsigned writer_opened : 1, writer_failed : 1;
	unsigned int with_handles;	/* entries since it forgot its own */

	uintmax_t removals, conflicts, declined, delayed;
	uintmax_t written_here;		/* entries, by this process's writer */
	uintmax_t throughput_base;	/* bytes that were before the progress */
	int errs;
};

/* Change the phase; a BUG() if that is not possible now. */
void pc_enter(struct parallel_checkout *pc, enum checkout_phase phase);

/* Is there anything that has been taken and is not written yet? */
int pc_is_behind(const struct parallel_checkout *pc);

/* Append a copy of the entry, and return it; it is valid until the next one. */
struct queued_entry *pc_append(struct parallel_checkout *pc,
			       const struct queued_entry *entry);

/* Leave an entry to entry.c, after what comes before it. */
void pc_put_off(struct parallel_checkout *pc, struct queued_entry *entry);

/*
 * Forget all entries; nothing is queued or in flight. As long as workers hold
 * some, nothing is forgotten.
 */
void pc_reset_entries(struct parallel_checkout *pc);

/*
 * The leading directories that are part of a --prefix may be symbolic links,
 * and have to be made by us. Returns -1 if that is not possible; then entry.c
 * will report it.
 */
int pc_prepare_root(struct parallel_checkout *pc);

/* The path of an entry, relative to the root. Valid until the next call. */
const char *pc_entry_path(struct parallel_checkout *pc,
			  const struct queued_entry *entry, size_t *len);

/*
 * Make an item of an entry, known as `id`. Its path is only valid until the
 * next call.
 */
void pc_prepare_item(struct parallel_checkout *pc,
		     const struct queued_entry *entry, uint32_t id,
		     struct checkout_item *item);

/* Write an entry in this process. Returns 0 if it is written. */
int pc_write_here(struct parallel_checkout *pc,
		  const struct queued_entry *entry);

/* An entry has been written, with this result. */
void pc_entry_written(struct parallel_checkout *pc, struct cache_entry *ce,
		      int *nr_checkouts, const struct checkout_result *result);

/* What has been written so far, by whomever. */
uintmax_t pc_bytes(const struct parallel_checkout *pc);

/* Tell trace2 what was done, in numbers. */
void pc_trace_stats(const struct parallel_checkout *pc);

void pc_advance_progress(struct parallel_checkout *pc);
void pc_advance_throughput(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_ENGINE_H */
