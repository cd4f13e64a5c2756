/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_REMOVAL_H
#define PARALLEL_CHECKOUT_REMOVAL_H

/*
 * Removals, which come before anything is written, and the directories that are
 * empty after them.
 */

struct cache_entry;
struct parallel_checkout;

/* Accept a removal. Returns -1 if the caller is to do it, now. */
int removal_accept(struct parallel_checkout *pc, struct cache_entry *ce);

/* Do all that were accepted. Leads to PHASE_DRAINED. */
void removal_finish(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_REMOVAL_H */
