/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_REFLINK_H
#define PARALLEL_CHECKOUT_REFLINK_H

/*
 * Files that share blocks with another file until one of them is written to.
 * That is FICLONE of Linux; see ioctl_ficlonerange(2). Elsewhere nothing can be
 * shared, with ENOSYS.
 *
 * What a clone contains is proven by hashing the clone itself, once it is made:
 * nobody else writes to it. To hash the other file would prove less: who has
 * mapped it into memory may write to it before it is cloned without a change of
 * its times. What is not proven is that the file system keeps what it has
 * cloned (OpenZFS had bugs of that kind), hence can_reflink().
 */

struct git_hash_algo;
struct object_id;

/*
 * Is the directory `dir` on a file system whose clones are known to be sound?
 * With `force`, on Linux, that is not asked. It may still be unable to clone;
 * see is_reflink_unsupported().
 */
int can_reflink(const char *dir, int force);

/*
 * Give the empty file `to` the content of `from`. Returns 0, or -1 with errno
 * set; then, part of it may be there. So it may be even with 0; see
 * is_file_of_blob().
 */
int reflink_file(int to, int from);

/*
 * Is that an error of reflink_file() which each file will have there? Not
 * EINVAL, which a single file has on Btrfs that has no checksums, nor EXDEV.
 */
int is_reflink_unsupported(int err);

/*
 * Is the content of the file the blob `oid` of that size? Reads all of it, from
 * where `fd` is, which has to be its beginning. Dies if the content is part of
 * a SHA-1 collision attack, as all that hashes objects does.
 */
int is_file_of_blob(int fd, const struct object_id *oid, size_t size,
		    const struct git_hash_algo *algo);

#endif /* PARALLEL_CHECKOUT_REFLINK_H */
