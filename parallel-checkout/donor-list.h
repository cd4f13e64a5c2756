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
 * Print at most CHECKOUT_MAX_DONORS donors: for each, "donor <path>", then
 * "<object name> <path>" for each of its files, where a NUL ends each line.
 *
 * Donors are working trees other than the one at `root` (the current directory
 * if it is ""), on the same file system: that of checkout.reflinkFrom, those of
 * this repository, and the one that "origin" names by its path. They, their
 * repositories and indexes have to belong to the current user.
 *
 * May die(), as all that reads an index may.
 */
void list_donors(struct repository *repo, const char *root);

#endif /* PARALLEL_CHECKOUT_DONOR_LIST_H */
