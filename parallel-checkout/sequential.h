/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SEQUENTIAL_H
#define PARALLEL_CHECKOUT_SEQUENTIAL_H

struct parallel_checkout;

/*
 * Why is this command for entry.c as a whole? Returns NULL if it is not, or
 * words for trace2. To be asked before anything is removed or written.
 *
 * A command is sequential if the user says so; if the result depends on the
 * order in which files are written; and if it only replaces what exists, which
 * has to be looked at anyway.
 */
const char *why_sequential(const struct parallel_checkout *pc);

#endif /* PARALLEL_CHECKOUT_SEQUENTIAL_H */
