/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_LIMITS_H
#define PARALLEL_CHECKOUT_LIMITS_H

/*
 * What this machine lets us have. A container with two processors on a large
 * host is a machine with two processors. What is good is for tune.c to say.
 */

/* Never more workers than that, whatever the machine has. */
#define LIMITS_MAX_WORKERS 64

/*
 * What a worker is counted with, in bytes. On the Linux tree 16 workers have 24
 * MiB of their own each on average; pages of the pack are shared.
 */
#define LIMITS_WORKER_MEMORY (32 * 1024 * 1024)

struct checkout_limits {
	int cores;		/* that we may use; at least 1 */
	int max_workers;	/* for half of the memory, at most */
};

/*
 * Find them out, in some tenths of a millisecond at most. On Linux, these are
 * the processors that we may be scheduled on, and cpu.max and memory.max of our
 * cgroup and of those above it; see cgroups(7). Elsewhere, only online
 * processors and the limit on descriptors are known.
 *
 * `root` is put before the path of each file that is read: "", or a folder for
 * tests. What is missing, or not understood, limits nothing.
 */
void limits_read(struct checkout_limits *limits, const char *root);

/* For how many workers there are descriptors; a system call. */
int limits_by_descriptors(void);

#endif /* PARALLEL_CHECKOUT_LIMITS_H */
