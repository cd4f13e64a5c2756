/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DEFERRED_H
#define PARALLEL_CHECKOUT_DEFERRED_H

struct parallel_checkout;

/*
 * Have entry.c write all entries that were deferred, in the order in which they
 * came, and say what is to be said. In a partial clone, the blobs that they
 * lack are fetched before. Nothing is in flight meanwhile.
 */
void deferred_write(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DEFERRED_H */
