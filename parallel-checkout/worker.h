/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_WORKER_H
#define PARALLEL_CHECKOUT_WORKER_H

/*
 * The other end of the pool's pipes: read frames of items from standard input,
 * have them written, answer frames of results on standard output.
 */

struct checkout_writer;

/*
 * Serve until the main process closes the pipe. Returns 0, or -1 with the error
 * reported, if what is read makes no sense or nobody reads the answers. From
 * then on, die() says nothing and closes standard output at once: what was not
 * answered is done again by the main process, which reports what it finds.
 */
int worker_serve(struct checkout_writer *writer);

#endif /* PARALLEL_CHECKOUT_WORKER_H */
