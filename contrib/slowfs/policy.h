/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLOWFS_POLICY_H
#define SLOWFS_POLICY_H

/*
 * What befalls a request of the file system: it is counted, it waits, and it
 * may be made to fail. This file knows nothing of FUSE and nothing of files;
 * the texts it reads and prints are those of the command line and of the
 * control file; "slowfs --help" describes both.
 *
 * Every function may be called by many threads at a time.
 */

#include <stddef.h>
#include <stdio.h>

/*
 * OP_RELEASE and OP_RELEASEDIR answer to a close() that has already returned
 * to its caller, so "all" in a latency means all operations but these two.
 */
#define SLOWFS_OPS(X) \
	X(LOOKUP, "lookup") X(GETATTR, "getattr") X(SETATTR, "setattr") \
	X(ACCESS, "access") X(READLINK, "readlink") X(SYMLINK, "symlink") \
	X(MKNOD, "mknod") X(MKDIR, "mkdir") X(UNLINK, "unlink") \
	X(RMDIR, "rmdir") X(RENAME, "rename") X(LINK, "link") \
	X(CREATE, "create") X(OPEN, "open") X(READ, "read") \
	X(WRITE, "write") X(FLUSH, "flush") X(RELEASE, "release") \
	X(FSYNC, "fsync") X(OPENDIR, "opendir") X(READDIR, "readdir") \
	X(RELEASEDIR, "releasedir") X(FSYNCDIR, "fsyncdir") \
	X(STATFS, "statfs")

enum slowfs_op {
#define X(id, name) OP_##id,
	SLOWFS_OPS(X)
#undef X
	OP_NR
};

/* What the caller has to do with a request after its wait. */
struct verdict {
	int err;	/* errno to answer instead of doing it, or 0 */
	size_t limit;	/* bytes that a write may write; SIZE_MAX: all */
};

/*
 * Set waiting times from a text: "USEC" for all operations, or
 * "OP[+OP...]=USEC"; several are parted by commas and later ones win.
 * Returns 0, or -1 with a message in `err`; nothing is changed then.
 */
int policy_latency(const char *spec, char *err, size_t errlen);

/*
 * Add a rule "OPS:ACTION:WHEN[:GLOB]".
 *   OPS     op[+op...] or "all"
 *   ACTION  name or number of an errno, "short=BYTES" (a write writes no more
 *           than that), or "delay=USEC" (waits that much longer)
 *   WHEN    N (the Nth matching request, once), N+ (it and all later ones),
 *           %N (every Nth)
 *   GLOB    fnmatch() pattern for the path below the mount point, or for its
 *           last component where the pattern has no slash
 * "none" removes all rules. Returns 0, or -1 with a message in `err`.
 */
int policy_fault(const char *spec, char *err, size_t errlen);

/*
 * One request at a time: with `on`, the waits of all requests follow each
 * other in the order of arrival, as on a disk with one arm.
 */
void policy_one_arm(int on);

/* Does any rule look at the path? If not, policy_enter() needs none. */
int policy_wants_path(void);

/*
 * Count a request, let it wait, decide on it. `path` may be NULL unless
 * policy_wants_path(). Returns when the wait is over.
 */
void policy_enter(enum slowfs_op op, const char *path, struct verdict *v);

/*
 * Obey one line as written to the control file: "reset", "latency SPEC",
 * "fault SPEC", "one-arm on|off". Returns 0, or -1 with a message in `err`.
 */
int policy_command(const char *line, char *err, size_t errlen);

/*
 * Print the counters since the start or the last reset, a line "NAME COUNT"
 * for each operation, and then "total" (their sum), "faults" (requests that a
 * rule was applied to) and "peak" (the most that waited side by side; with
 * one arm they wait one after the other, so that is 1).
 */
void policy_print(FILE *out);

#endif
