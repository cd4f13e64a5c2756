/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONOR_LIST_H
#define PARALLEL_CHECKOUT_DONOR_LIST_H

/*
 * Which files of this working tree have the very bytes of their blobs, as far
 * as its index and attributes tell. A checkout elsewhere that has such a blob
 * to write may share the blocks of the file, once it has seen that the file
 * still has the stat data of the index.
 */

struct repository;

/*
 * Write the list to `fd`, in the order of the index, as frames of WIRE_ITEMS
 * (see wire.h) in which old_sd is the stat data of a file. The current directory
 * is the top of the working tree. Returns 0, or -1 with errno set if the list
 * cannot be written.
 *
 * May die(), as all that reads an index may.
 */
int list_donor_files(struct repository *repo, int fd);

#endif /* PARALLEL_CHECKOUT_DONOR_LIST_H */
