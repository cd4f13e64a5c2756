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
	size_t queued;		/* how many of them are in the queue */
	size_t delayed;		/* how many the workers hold */
};

void pc_init_filtered(struct parallel_checkout *pc);
void pc_release_filtered(struct parallel_checkout *pc);

/*
 * Does the entry, whose attributes are known, have a filter that workers may
 * run? pc_is_eligible() asks that.
 */
int pc_has_parallel_filter(const struct parallel_checkout *pc,
			   const struct queued_entry *entry);

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

/* Note such an entry; to be called once. */
enum checkout_filter_turn pc_note_filtered(struct parallel_checkout *pc,
					   struct queued_entry *entry);

/* Is this an entry that was put off, and waits for what workers hold? */
int pc_waits_for_delayed(const struct parallel_checkout *pc,
			 const struct queued_entry *entry);

/*
 * What workers hold after parallel_checkout_finish(): have it written, and do
 * what was put off. From PHASE_DELAYED to PHASE_DRAINED; `progress` (may be
 * NULL) and `*count` are advanced.
 */
void pc_finish_delayed(struct parallel_checkout *pc, struct progress *progress,
		       unsigned int *count);

#endif /* PARALLEL_CHECKOUT_FILTERED_H */
