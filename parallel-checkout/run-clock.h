/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_RUN_CLOCK_H
#define PARALLEL_CHECKOUT_RUN_CLOCK_H

/*
 * A clock that stands still while the process waits for a disk, a server or
 * another process, but not while it waits for a processor. So a slow disk can
 * be told from a busy machine.
 *
 * That is what Linux has in /proc/self/schedstat (proc_pid_schedstat(5)).
 * Elsewhere, and where the kernel was built without it, waiting for a processor
 * does not count.
 */

/* For how long this process has been running, in ns; 0 if nobody knows. */
uint64_t run_clock_ns(void);

/* For how long it has been since then; 0 if nobody knows. */
uint64_t run_clock_since(uint64_t start_ns);

#endif /* PARALLEL_CHECKOUT_RUN_CLOCK_H */
