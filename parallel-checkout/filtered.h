/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_FILTERED_H
#define PARALLEL_CHECKOUT_FILTERED_H

/*
 * Entries with external filters that workers may run: which these are, when
 * they are given to a worker, and what becomes of those that a filter delays.
 *
 * Whatever goes wrong with them is declined by the worker and done again by
 * entry.c, with a filter of the main process, so the messages are in one place.
 */

#include "oidset.h"
#include "strmap.h"

struct cache_entry;
struct checkout_conversion;
struct parallel_checkout;
struct progress;
struct queued_entry;

struct checkout_filtered {
	struct strset commands;	/* that an entry has been queued for */
	struct oidset blobs;	/* of these entries */
	size_t queued_cost;	/* of those in the queue; see tune.h */
	size_t delayed;		/* how many the workers hold */
	unsigned met : 1;	/* there has been one */
	unsigned sent : 1;	/* to a worker */
	unsigned answered : 1;	/* and written */
	unsigned stopped : 1;	/* a filter that is required has failed */
};

void pc_init_filtered(struct parallel_checkout *pc);
void pc_release_filtered(struct parallel_checkout *pc);

/*
 * Does the entry, whose attributes are known, have a filter that workers may
 * run? pc_is_eligible() asks that.
 */
int pc_has_parallel_filter(const struct parallel_checkout *pc,
			   const struct queued_entry *entry);

/*
 * What it costs to run the filter of an entry, whose attributes are known: 0 if
 * it has none that workers may run. See tune.h.
 */
unsigned int pc_filter_cost(const struct queued_entry *entry);

/* What a worker is told of it. */
void pc_get_filter(const struct parallel_checkout *pc,
		   const struct queued_entry *entry,
		   struct checkout_conversion *conv);

/* What is known of the filters that came before, when an entry is offered. */
enum checkout_filter_turn {
	/*
	 * None has had its command. When it is started, it may read files that
	 * come before this one, like .lfsconfig: they have to be there.
	 */
	FILTER_IS_FIRST,

	FILTER_IS_KNOWN,

	/*
	 * One has had the same blob. It may be about to download what it needs
	 * for both.
	 */
	FILTER_HAS_TWIN,
};

/* Note that such an entry is about to be queued, or put off. */
enum checkout_filter_turn pc_note_filtered(struct parallel_checkout *pc,
					   struct queued_entry *entry);

/* Note that its filter gets its blob: the next one with that has a twin. */
void pc_note_blob(struct parallel_checkout *pc, struct queued_entry *entry);

/*
 * A filter has failed in a worker. If it is required, the sequential code would
 * have ended, unless it does better when it is tried again: no worker gets an
 * entry with a filter any more.
 */
void pc_note_unfiltered(struct parallel_checkout *pc,
			const struct queued_entry *entry);

/* Is this an entry that was put off, and waits for what workers hold? */
int pc_waits_for_delayed(const struct parallel_checkout *pc,
			 const struct queued_entry *entry);

/*
 * What workers hold after parallel_checkout_finish(): have it written, and do
 * what was put off. From PHASE_DELAYED to PHASE_DRAINED; `progress` (may be
 * NULL), `*count` and `*bytes` are advanced.
 */
void pc_finish_delayed(struct parallel_checkout *pc, struct progress *progress,
		       unsigned int *count, off_t *bytes);

#endif /* PARALLEL_CHECKOUT_FILTERED_H */
