/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SMUDGE_H
#define PARALLEL_CHECKOUT_SMUDGE_H

/*
 * The filters of a worker: run the command that an item comes with, and keep
 * the items whose answer a long-running filter has delayed. See "Long Running
 * Filter Process" in gitattributes(5). As the processes of convert.c, which end
 * with this one, all of it is there once in a process.
 */

#include "parallel-checkout/item.h"

/* Allow filters. `refname` is not copied; it and `treeish` may be NULL. */
void smudge_init(const char *refname, const struct object_id *treeish);

/* May filters be run: are they allowed, and has none failed that must not? */
int smudge_may_run(void);

/*
 * Within be_silent(), run the filter of an item on its content, which it
 * replaces. Returns
 *
 * - CHECKOUT_PENDING if the item is to be written,
 * - CHECKOUT_DELAYED if the filter answers later; the item was copied,
 * - CHECKOUT_UNFILTERED if it failed, or anything would have been said.
 */
enum checkout_status smudge_run(const struct checkout_item *item, char **buf,
				size_t *size);

/*
 * Ask the filters for what they have delayed, and wait for that, when there is
 * nothing else to do: some take it for the end of what they may delay. Each is
 * asked until it has nothing more, as in finish_delayed_checkout(). Returns
 *
 * - 1, and the next item that is available in `*item`, to be written, or NULL
 *   if that filter has no more; the items of a filter come one after another,
 * - -1, and NULL in `*item`, if the filter has ended, fails, or says that
 *   something is available which it has never delayed,
 * - -1, and in the end each item that no filter has answered,
 * - 0 if there is nothing left.
 *
 * The caller frees the item.
 */
int smudge_next(struct checkout_item **item);

#endif /* PARALLEL_CHECKOUT_SMUDGE_H */
