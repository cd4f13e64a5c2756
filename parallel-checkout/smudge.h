/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SMUDGE_H
#define PARALLEL_CHECKOUT_SMUDGE_H

/*
 * The filters of a worker: run the command that an item comes with, and keep
 * the items whose answer a long-running filter has delayed. A process that was
 * started is kept to the end of the worker. See "Long Running Filter Process"
 * in gitattributes(5).
 */

#include "convert.h"
#include "parallel-checkout/item.h"
#include "string-list.h"

struct checkout_smudge {
	/* What filters are told besides the path. */
	struct checkout_metadata meta;

	/*
	 * CE_CAN_DELAY, and CE_RETRY once smudge_next() was called; and the
	 * commands that have delayed something.
	 */
	struct delayed_checkout delayed;

	struct string_list items;	/* that were delayed; util is a copy */

	unsigned stopped : 1;		/* one that is required has failed */

	/* Of these, what a filter says is available, from next_available on. */
	struct string_list available;
	size_t next_available;
};

/* `refname` is not copied; it and `treeish` may be NULL. */
void smudge_init(struct checkout_smudge *smudge, const char *refname,
		 const struct object_id *treeish);

/*
 * Free everything. The processes end when this one does, which waits for that;
 * see sub-process.h.
 */
void smudge_release(struct checkout_smudge *smudge);

/*
 * Run the filter of an item on the content buf[0..size), which is of no
 * interest if the item is one that was delayed. Returns
 *
 * - CHECKOUT_PENDING if `out` has the result: the item is to be written,
 * - CHECKOUT_DELAYED if the filter answers later,
 * - CHECKOUT_UNFILTERED if it failed, in which case there may have been an
 *   error; if it is required, smudge->stopped is set.
 */
enum checkout_status smudge_run(struct checkout_smudge *smudge,
				const struct checkout_item *item,
				const char *buf, size_t size,
				struct strbuf *out);

/*
 * Ask the filters for what they have delayed, and wait for that. To be called
 * when there is nothing else to do: some filters take it for the end of what
 * they may delay. Each is asked until it has nothing more, even if nothing is
 * left, as finish_delayed_checkout() does. Returns
 *
 * - 1, and the next item that is available in `*item`, which is the caller's
 *   (see smudge_free_item()) and goes to smudge_run() once more,
 * - 0 if no filter has any,
 * - -1 if the filter that was asked has ended, fails, or says that something is
 *   available which it has never delayed. It is not asked any more: a new
 *   process would know nothing of what it has delayed, and take the nothing
 *   that it is given for the content.
 *
 * The items of a filter come one after another.
 */
int smudge_next(struct checkout_smudge *smudge, struct checkout_item **item);

/* Take one of those that are left then. Returns 0 if there is none. */
int smudge_next_failed(struct checkout_smudge *smudge,
		       struct checkout_item **item);

void smudge_free_item(struct checkout_item *item);

#endif /* PARALLEL_CHECKOUT_SMUDGE_H */
