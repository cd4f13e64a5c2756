/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The filters of a worker; see smudge.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "strbuf.h"

void smudge_release(struct smudge *smudge)
{
	string_list_clear(&smudge->delayed.filters, 0);
	string_list_clear(&smudge->delayed.paths, 0);
	strmap_clear(&smudge->items, 1);
}

static void keep_item(struct smudge *smudge, const struct checkout_item *item)
{
	struct checkout_item *copy = xmalloc(sizeof(*copy));

	*copy = *item;
	copy->path = strintern(item->path);
	copy->filter = strintern(item->filter);
	if (item->ca.working_tree_encoding)
		copy->ca.working_tree_encoding =
			strintern(item->ca.working_tree_encoding);
	copy->old_mode = 0;	/* what was there is gone */
	copy->can_delay = 0;
	copy->was_delayed = 1;
	free(strmap_put(&smudge->items, copy->path, copy));
}

struct checkout_item *smudge_take(struct smudge *smudge, const char *path)
{
	struct checkout_item *item = strmap_get(&smudge->items, path);

	strmap_remove(&smudge->items, path, 0);
	return item;
}

enum checkout_status smudge_run(struct smudge *smudge,
				const struct checkout_item *item, char **buf,
				size_t *size)
{
	const struct smudge_command command = {
		/* the process that is started is known by this pointer */
		.cmd = strintern(item->filter),
		.is_process = item->is_process,
	};
	struct delayed_checkout *delayed = &smudge->delayed;
	struct checkout_metadata metadata;
	struct strbuf out = STRBUF_INIT;

	/*
	 * A new process would know nothing of what another has delayed, and
	 * take the nothing that it is given for the content.
	 */
	clone_checkout_metadata(&metadata, &smudge->metadata, &item->oid);
	if ((item->was_delayed && !have_filter_process(command.cmd)) ||
	    !run_smudge_command(&command, item->path, *buf, *size, &out,
				&metadata, item->can_delay ? delayed : NULL)) {
		if (item->required)
			smudge->may_run = 0;
		return CHECKOUT_UNFILTERED;
	}
	if (delayed->paths.nr) {
		string_list_clear(&delayed->paths, 0);
		keep_item(smudge, item);
		return CHECKOUT_DELAYED;
	}
	free(*buf);
	*buf = strbuf_detach(&out, size);
	return silence_is_broken() ? CHECKOUT_UNFILTERED : CHECKOUT_PENDING;
}
