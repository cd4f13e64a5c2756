/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_LIMITS_H
#define PARALLEL_CHECKOUT_LIMITS_H

/*
 * What this machine lets us have: how many processors we may use, and how many
 * workers there may be at most. A container with two processors on a large
 * host is a machine with two processors.
 *
 * This only says what is allowed. What is good is for tune-auto.c to say.
 */

/* Never more workers than that, whatever the machine has. */
#define LIMITS_MAX_WORKERS 64

/*
 * Memory that a worker is counted with, in bytes. On the Linux tree 16 workers
 * have 24 MiB of their own each on average (64 MiB where there was the largest
 * file); pages of the pack are shared.
 */
#define LIMITS_WORKER_MEMORY (32 * 1024 * 1024)

/* Descriptors that a worker takes in the main process: its two pipes. */
#define LIMITS_WORKER_FDS 2

/*
 * What the main process needs besides, also if it was told how many workers
 * there are to be: it runs filters while they wait, of which each long-running
 * one takes two, and one that is started seven.
 */
#define LIMITS_OWN_FDS 32

/*
 * poll() of compat/ waits for no more on Windows, and does not look how much
 * room it has: MsgWaitForMultipleObjects() takes 63 handles, of which one is
 * its own. The main process may have to wait for both pipes of a worker.
 */
#define LIMITS_POLLED_ON_WINDOWS 62

struct checkout_limits {
	/* The least of the three that begin with cpu; at least 1. */
	int cores;

	/*
	 * LIMITS_MAX_WORKERS, or as many as there is memory and descriptors
	 * for, if that is less; at least 1.
	 */
	int max_workers;

	/*
	 * What they come from, for the unit tests. INT_MAX: there is no
	 * such limit, or nobody knows it.
	 */
	int cpus_online;	/* of the machine */
	int cpus_allowed;	/* that we may be scheduled on */
	int cpu_quota;		/* in time of one processor, rounded up */
	int by_memory, by_descriptors;	/* workers */
};

/*
 * Find them out. `root` is put before the absolute path of each file that is
 * read: "" for those of this machine, or a folder with others in it, for tests.
 * A file that is missing, or that is not understood, limits nothing.
 *
 * On Linux it reads /proc/self/cgroup, and cpu.max and memory.max of the cgroup
 * named there and of all those above it; see cgroups(7) and the kernel's
 * Documentation/admin-guide/cgroup-v2.rst. They are looked for where cgroups
 * are mounted as a rule, in /sys/fs/cgroup. In a container that does not see
 * the cgroups above it, what is mounted there is its own. Half of the memory is
 * for others. Cgroups of version 1, which distributions have left, limit
 * nothing.
 *
 * Elsewhere, only the processors that are online and the limit on descriptors
 * are known. It takes some tenths of a millisecond at most; call it when
 * workers are about to be started.
 */
void limits_read(struct checkout_limits *limits, const char *root);

/*
 * For how many workers there are descriptors that can be polled; a system call.
 */
int limits_by_descriptors(void);

#endif /* PARALLEL_CHECKOUT_LIMITS_H */
