/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The filters of a worker; see smudge.h.
 */
#include "git-compat-util.h"
#include "hashmap.h"
#include "parallel-checkout/smudge.h"
#include "strbuf.h"

void smudge_init(struct checkout_smudge *smudge, const char *refname,
		 const struct object_id *treeish)
{
	memset(smudge, 0, sizeof(*smudge));
	init_checkout_metadata(&smudge->meta, refname, treeish, NULL);
	smudge->delayed.state = CE_CAN_DELAY;
	string_list_init_dup(&smudge->delayed.filters);
	string_list_init_dup(&smudge->delayed.paths);
	string_list_init_dup(&smudge->items);
	string_list_init_dup(&smudge->available);
}

void smudge_free_item(struct checkout_item *item)
{
	free((char *)item->path);
	free((char *)item->ca.working_tree_encoding);
	free((char *)item->filter);
	free(item);
}

void smudge_release(struct checkout_smudge *smudge)
{
	struct checkout_item *item;

	while (smudge_next_failed(smudge, &item))
		smudge_free_item(item);
	string_list_clear(&smudge->delayed.filters, 0);
	string_list_clear(&smudge->delayed.paths, 0);
	string_list_clear(&smudge->items, 0);
	string_list_clear(&smudge->available, 0);
}

static void keep_item(struct checkout_smudge *smudge,
		      const struct checkout_item *item)
{
	struct checkout_item *copy = xmalloc(sizeof(*copy));

	*copy = *item;
	copy->path = xmemdupz(item->path, item->path_len);
	copy->ca.working_tree_encoding =
		xstrdup_or_null(item->ca.working_tree_encoding);
	copy->filter = xstrdup(item->filter);
	copy->old_mode = 0;	/* what was there is gone */
	string_list_insert(&smudge->items, item->path)->util = copy;
}

/* Returns NULL if there is none at the path. */
static struct checkout_item *take_item(struct checkout_smudge *smudge,
				       const char *path)
{
	struct string_list_item *kept =
		string_list_lookup(&smudge->items, path);
	struct checkout_item *item = kept ? kept->util : NULL;

	if (item)
		string_list_remove(&smudge->items, path, 0);
	return item;
}

enum checkout_status smudge_run(struct checkout_smudge *smudge,
				const struct checkout_item *item,
				const char *buf, size_t size,
				struct strbuf *out)
{
	const struct smudge_command command = {
		/* the process that is started is known by this pointer */
		.cmd = strintern(item->filter),
		.is_process = item->is_process,
	};
	struct checkout_metadata meta;

	clone_checkout_metadata(&meta, &smudge->meta, &item->oid);
	if (!run_smudge_command(&command, item->path, buf, size, out, &meta,
				item->can_delay ? &smudge->delayed : NULL)) {
		smudge->stopped |= item->required;
		return CHECKOUT_UNFILTERED;
	}
	if (!string_list_has_string(&smudge->delayed.paths, item->path))
		return CHECKOUT_PENDING;
	string_list_remove(&smudge->delayed.paths, item->path, 0);
	keep_item(smudge, item);
	return CHECKOUT_DELAYED;
}

static int has_process(const char *cmd)
{
	const struct smudge_command command = { .cmd = cmd, .is_process = 1 };

	return !!smudge_process(&command);
}

/* The first of the filters is not asked any more. */
static void forget_filter(struct checkout_smudge *smudge)
{
	struct string_list *filters = &smudge->delayed.filters;

	string_list_remove(filters, filters->items[0].string, 0);
	string_list_clear(&smudge->available, 0);
	smudge->next_available = 0;
}

/*
 * Wait for what the first of the filters has. Returns 0, with nothing available
 * if it is done; and -1 if it fails, or has never delayed what it says.
 */
static int ask_filter(struct checkout_smudge *smudge)
{
	const char *cmd = smudge->delayed.filters.items[0].string;
	const struct string_list_item *path;

	string_list_clear(&smudge->available, 0);
	smudge->next_available = 0;
	if (!has_process(cmd) ||
	    !async_query_available_blobs(cmd, &smudge->available))
		return -1;
	for_each_string_list_item(path, &smudge->available)
		if (!string_list_has_string(&smudge->items, path->string))
			return -1;
	return 0;
}

int smudge_next(struct checkout_smudge *smudge, struct checkout_item **item)
{
	const struct string_list *filters = &smudge->delayed.filters;

	smudge->delayed.state = CE_RETRY;
	while (filters->nr && !smudge->stopped) {
		if (smudge->next_available < smudge->available.nr &&
		    has_process(filters->items[0].string)) {
			size_t i = smudge->next_available++;

			*item = take_item(smudge,
					  smudge->available.items[i].string);
			return 1;
		}
		if (ask_filter(smudge)) {
			forget_filter(smudge);
			return -1;
		}
		if (!smudge->available.nr) {
			forget_filter(smudge);
			*item = NULL;
			return 1;
		}
	}
	return 0;
}

int smudge_next_failed(struct checkout_smudge *smudge,
		       struct checkout_item **item)
{
	if (!smudge->items.nr)
		return 0;
	*item = take_item(smudge, smudge->items.items[0].string);
	return 1;
}
