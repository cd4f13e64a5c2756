/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DISPATCH_H
#define PARALLEL_CHECKOUT_DISPATCH_H

/*
 * Start, feed and wait for workers. Processes are pool.c's job, and policy is
 * that of tune.c.
 */

struct accepted_entry;
struct parallel_checkout;

/*
 * To be called before each entry. If entry.c has taken so long in
 * PHASE_WATCHING that what comes next is better queued, enter PHASE_ACCEPTING.
 */
void dispatch_watch(struct parallel_checkout *pc);

/* Another kind of work begins. */
void dispatch_watch_anew(struct parallel_checkout *pc);

/* Queue a copy of the entry. In PHASE_ACCEPTING. */
void dispatch_enqueue(struct parallel_checkout *pc,
		      const struct accepted_entry *entry);

/*
 * Have all that is queued written or removed. What no worker can do is
 * deferred. `is_last` says that nothing will be queued after it. Leads to
 * PHASE_FINISHING.
 */
void dispatch_drain(struct parallel_checkout *pc, int is_last);

/* Have what workers hold that is delayed written. In PHASE_DELAYED. */
void dispatch_collect(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DISPATCH_H */
