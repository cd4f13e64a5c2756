/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DEFERRED_H
#define PARALLEL_CHECKOUT_DEFERRED_H

struct parallel_checkout;

/*
 * Write what was deferred, in the order in which it came, as a worker would if
 * none had it and by entry.c otherwise, and say what is to be said. Nothing is
 * in flight.
 */
void deferred_write(struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_DEFERRED_H */
