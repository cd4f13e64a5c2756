/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_REFLINK_H
#define PARALLEL_CHECKOUT_REFLINK_H

/*
 * Files that share blocks with another file until one of them is written to;
 * and whether a file still is the one that stat data are of.
 *
 * That is FICLONE of Linux; see ioctl_ficlonerange(2). Elsewhere nothing can be
 * shared, with ENOSYS. GIT_TEST_CHECKOUT_REFLINK has it simulated, for file
 * systems that cannot do it:
 *
 *	copy	the file is copied
 *	torn	as if it was written to in that moment: other bytes, and times
 *	fail	the disk has an error when some of it is done
 */

struct stat_data;

/* Is it simulated? Then it is to be used wherever that is possible. */
int is_reflink_simulated(void);

/*
 * Can files in the directory `dir` share blocks, as far as can be told without
 * leaving anything there?
 */
int can_reflink(const char *dir);

/*
 * Give the empty file `to` the content of `from`. Returns 0, or -1 with errno
 * set; then something may have been written to it.
 */
int reflink_file(int to, int from);

/*
 * Is that an error of reflink_file() which each file will have there? Not
 * EINVAL, which a single file has on Btrfs that has no checksums, nor EXDEV.
 */
int is_reflink_unsupported(int err);

/*
 * Is the open file a regular one that has this stat data? The device does not
 * count, and neither does what an index has left out of ctime. Fills `st`.
 */
int is_file_of(int fd, const struct stat_data *sd, struct stat *st);

#endif /* PARALLEL_CHECKOUT_REFLINK_H */
