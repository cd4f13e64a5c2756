/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SEQUENTIAL_H
#define PARALLEL_CHECKOUT_SEQUENTIAL_H

/*
 * Which commands are for entry.c as a whole. There are few of them, and nothing
 * in parallel checkout has to know what makes them so.
 */

struct parallel_checkout;

/*
 * Why is no entry of this command for workers? Returns NULL if some may be, or
 * a word for trace2. To be asked before anything is removed or written;
 * `one_by_one` if the entries are named by somebody who may wait for each file.
 *
 * A command is sequential if the user says so (checkout.workers=1); if the
 * result depends on the order in which files are written, as it does where
 * files that Git reads configuration or attributes from are tracked in this
 * repository, or "checkout-index --prefix" leads to the working tree, or where
 * names that differ in case are the same and nobody has asked for workers; and
 * if only what exists is to be replaced, which has to be looked at anyway.
 */
const char *why_sequential(const struct parallel_checkout *pc, int one_by_one);

#endif /* PARALLEL_CHECKOUT_SEQUENTIAL_H */
