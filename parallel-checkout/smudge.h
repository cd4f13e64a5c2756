/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SMUDGE_H
#define PARALLEL_CHECKOUT_SMUDGE_H

/*
 * The filters of a worker: run the command that an item comes with, and keep
 * the items whose answer a long-running filter has delayed. See "Long Running
 * Filter Process" in gitattributes(5).
 */

#include "parallel-checkout/item.h"
#include "string-list.h"
#include "strmap.h"

struct smudge {
	/* Filters are allowed, and none that is required has failed. */
	unsigned may_run : 1;

	/* What they are told besides the path. */
	struct checkout_metadata metadata;

	/* What convert.c has to know, and the commands that have delayed. */
	struct delayed_checkout delayed;

	/* Copies of the items that were delayed, by path. */
	struct strmap items;
};

#define SMUDGE_INIT { \
	.delayed = { \
		.state = CE_CAN_DELAY, \
		.filters = STRING_LIST_INIT_DUP, \
		.paths = STRING_LIST_INIT_DUP, \
	}, \
	.items = STRMAP_INIT, \
}

void smudge_release(struct smudge *smudge);

/*
 * Within be_silent(), run the filter of an item on its content, which it
 * replaces. Returns
 *
 * - CHECKOUT_PENDING if the item is to be written,
 * - CHECKOUT_DELAYED if the filter answers later; the item was copied,
 * - CHECKOUT_UNFILTERED if it failed, or anything would have been said.
 */
enum checkout_status smudge_run(struct smudge *smudge,
				const struct checkout_item *item, char **buf,
				size_t *size);

/*
 * Take the item that was delayed at that path, to be written now; the caller
 * frees it. Returns NULL if there is none.
 */
struct checkout_item *smudge_take(struct smudge *smudge, const char *path);

#endif /* PARALLEL_CHECKOUT_SMUDGE_H */
