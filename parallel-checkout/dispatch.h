/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DISPATCH_H
#define PARALLEL_CHECKOUT_DISPATCH_H

/*
 * Who writes what was taken: this process, at once, or workers, which are
 * started, fed and waited for. Processes are pool.c's job, and policy is
 * that of tune.c and tune-auto.c.
 */

#include "parallel-checkout/pool.h"
#include "parallel-checkout/tune.h"
#include "parallel-checkout/tune-auto.h"

struct parallel_checkout;
struct queued_entry;

struct checkout_dispatch {
	struct worker_pool pool;
	unsigned pool_started : 1;
	int workers_started;
	size_t since_look;	/* entries queued since a look at the workers */
	int cores;

	/*
	 * If their number is found out: what is known, and what the main
	 * process has done in alone_ns, before there were any.
	 */
	struct tune_auto tune;
	uint64_t alone_ns, alone_entries, alone_bytes;
	uint64_t removing_since_ns;

	/*
	 * What it had done, and for how long it had been running, when it was
	 * observed; and for how long it ran from then on while it was alone.
	 */
	uint64_t observed_ns, observed_entries, observed_running_ns;
	uint64_t alone_run_ns;

	/* When the first entries with filters are sent, it begins anew: */
	uint64_t observed_run_ns;	/* what all have run by then */

	/* Observe it from its first entry on, which may be .gitattributes alone. */
	unsigned from_first : 1;
};

/*
 * Begin. Returns 1 if this process is to be alone, for now at least, and
 * 0 if what is taken is to be queued.
 */
int pc_init_dispatch(struct parallel_checkout *pc);

/* End the workers, and free everything. */
void pc_release_dispatch(struct parallel_checkout *pc);

/*
 * The main process is alone, and has been writing or removing for alone_ns:
 * find out how it does. Returns 1 if what comes next is better queued.
 */
int pc_reconsider_workers(struct parallel_checkout *pc);

/* It stops writing alone: note for how long it has been running. */
void pc_note_alone(struct parallel_checkout *pc);

/*
 * Write an entry as the sequential code would, now. If that has taken a while,
 * and nobody said that it should be so, workers are to do the rest: then the
 * phase is another one afterwards. Returns 0 if the entry is written.
 */
int pc_write_alone(struct parallel_checkout *pc,
		   const struct queued_entry *entry);

/*
 * Queue a copy of the entry, whose path must have been prepared; or one that was
 * taken before, when the queue was emptied and IDs begin anew.
 */
void pc_enqueue(struct parallel_checkout *pc, const struct queued_entry *entry);
void pc_enqueue_again(struct parallel_checkout *pc, uint32_t id);

/* Once in a while, see what the workers have done, and give them more. */
void pc_keep_workers_busy(struct parallel_checkout *pc);

/* Are there workers? */
int pc_has_workers(const struct parallel_checkout *pc);

/* Start workers if there are none and what is queued is worth it. */
void pc_start_workers(struct parallel_checkout *pc);

/* Wait until the workers, if there are any, have done all that is queued. */
void pc_drain(struct parallel_checkout *pc);

/*
 * Write all that is queued, by workers or here. What cannot be written is put
 * off. Leads to PHASE_DRAINED.
 */
void pc_write_queued(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DISPATCH_H */
