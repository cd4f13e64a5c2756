/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_DONOR_LIST_H
#define PARALLEL_CHECKOUT_DONOR_LIST_H

/*
 * Donors are other working trees that may have files with the bytes of blobs.
 * Which files these are is what the index of the donor says, and only a hint:
 * whoever uses a file has to see whether it is the blob.
 *
 * To find that out, files are read that a checkout does not read otherwise.
 * They may be corrupt, lie on a server that is gone, or be pipes. So it is done
 * in a process of its own, which may die, or is killed by its reader if that
 * has to wait; then there are no donors.
 */

struct repository;

/*
 * Write the list to `fd`: a frame of WIRE_DONORS (see wire.h) with the paths of
 * at most CHECKOUT_MAX_DONORS donors, then frames of WIRE_ITEMS with their
 * files, sorted by path. `id` of an item is the number of its donor, from 1 on,
 * and only path, mode and object name are filled in besides. If several donors
 * say the same of a path, only the first is listed.
 *
 * Donors are working trees other than the one at `root` (the current directory
 * if it is ""), on the same file system: that of checkout.reflinkFrom, those of
 * this repository, and the one that "origin" names by its path. They, their
 * repositories and indexes have to belong to the current user.
 *
 * Returns 0, or -1 with errno set if the list cannot be written. May die(), as
 * all that reads an index may.
 */
int list_donors(struct repository *repo, const char *root, int fd);

#endif /* PARALLEL_CHECKOUT_DONOR_LIST_H */
