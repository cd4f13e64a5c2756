/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The filters of a worker; see smudge.h.
 */
#include "git-compat-util.h"
#include "hashmap.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "strbuf.h"
#include "string-list.h"
#include "strmap.h"

/* What filters are told besides the path. */
static struct checkout_metadata metadata;

/* What convert.c has to know, and the commands that have delayed something. */
static struct delayed_checkout delayed = {
	.state = CE_CAN_DELAY,
	.filters = STRING_LIST_INIT_DUP,
	.paths = STRING_LIST_INIT_DUP,
};

/* Copies of the items that were delayed, by path. */
static struct strmap items = STRMAP_INIT;

/* Of these, what the first of the filters says is available. */
static struct string_list available = STRING_LIST_INIT_DUP;
static size_t next_available;

static int may_run;

void smudge_init(const char *refname, const struct object_id *treeish)
{
	init_checkout_metadata(&metadata, refname, treeish, NULL);
	may_run = 1;
}

int smudge_may_run(void)
{
	return may_run;
}

static void keep_item(const struct checkout_item *item)
{
	struct checkout_item *copy;
	const char *path;

	FLEXPTR_ALLOC_MEM(copy, path, item->path, item->path_len);
	path = copy->path;
	*copy = *item;
	copy->path = path;
	copy->filter = strintern(item->filter);
	if (item->ca.working_tree_encoding)
		copy->ca.working_tree_encoding =
			strintern(item->ca.working_tree_encoding);
	copy->old_mode = 0;	/* what was there is gone */
	copy->was_delayed = 1;
	strmap_put(&items, path, copy);
}

/* Returns NULL if there is none at the path. */
static struct checkout_item *take_item(const char *path)
{
	struct checkout_item *item = strmap_get(&items, path);

	strmap_remove(&items, path, 0);
	return item;
}

enum checkout_status smudge_run(const struct checkout_item *item, char **buf,
				size_t *size)
{
	const struct smudge_command command = {
		/* the process that is started is known by this pointer */
		.cmd = strintern(item->filter),
		.is_process = item->is_process,
	};
	struct checkout_metadata blob_metadata;
	struct strbuf out = STRBUF_INIT;

	/*
	 * A new process would know nothing of what another has delayed, and
	 * take the nothing that it is given for the content.
	 */
	clone_checkout_metadata(&blob_metadata, &metadata, &item->oid);
	if ((item->was_delayed && !have_filter_process(command.cmd)) ||
	    !run_smudge_command(&command, item->path, *buf, *size, &out,
				&blob_metadata,
				item->can_delay ? &delayed : NULL)) {
		if (item->required)
			may_run = 0;
		return CHECKOUT_UNFILTERED;
	}
	if (string_list_has_string(&delayed.paths, item->path)) {
		string_list_remove(&delayed.paths, item->path, 0);
		keep_item(item);
		return CHECKOUT_DELAYED;
	}
	free(*buf);
	*buf = strbuf_detach(&out, size);
	return silence_is_broken() ? CHECKOUT_UNFILTERED : CHECKOUT_PENDING;
}

int smudge_next(struct checkout_item **item)
{
	struct string_list *filters = &delayed.filters;
	struct hashmap_iter iter;
	struct strmap_entry *unanswered;
	int ret = 1;

	delayed.state = CE_RETRY;
	if (!filters->nr || !may_run) {
		strmap_for_each_entry(&items, &iter, unanswered) {
			*item = take_item(unanswered->key);
			return -1;
		}
		return 0;
	}

	if (next_available == available.nr) {
		string_list_clear(&available, 0);
		next_available = 0;
		if (!async_query_available_blobs(filters->items[0].string,
						 &available))
			ret = -1;
	}
	*item = NULL;
	if (ret > 0 && available.nr) {
		*item = take_item(available.items[next_available++].string);
		if (*item)
			return 1;
		ret = -1;
	}

	/* That was all, or it cannot be trusted any more. */
	string_list_remove(filters, filters->items[0].string, 0);
	string_list_clear(&available, 0);
	next_available = 0;
	return ret;
}
