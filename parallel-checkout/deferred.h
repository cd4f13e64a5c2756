/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DEFERRED_H
#define PARALLEL_CHECKOUT_DEFERRED_H

/*
 * What becomes of entries that were deferred: entry.c writes them, in the order
 * in which they came, and says what is to be said. It is the only one that
 * removes or replaces what is in the way, and it never does so while workers
 * are in flight.
 */

struct parallel_checkout;

/*
 * Write all entries that were deferred, in PHASE_DRAINED. In a partial clone,
 * the blobs that they lack are fetched before.
 */
void deferred_write(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DEFERRED_H */
