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

struct run_clock {
	int fd;		/* -1 if there is no such file */
};

void run_clock_init(struct run_clock *clock);
void run_clock_release(struct run_clock *clock);

/*
 * For how long this process has been running, in nanoseconds; 0 if nobody
 * knows. Costs two system calls.
 */
uint64_t run_clock_ns(const struct run_clock *clock);

#endif /* PARALLEL_CHECKOUT_RUN_CLOCK_H */
