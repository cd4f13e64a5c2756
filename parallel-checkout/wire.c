/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encode and decode the messages between the main process of a parallel
 * checkout and its workers. The decoder trusts nothing: see wire.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/wire.h"
#include "strbuf.h"

#define FRAME_HEAD 8

/*
 * An item without its strings and its old stat data, which follow. All bytes
 * are members: there is no padding.
 */
struct fixed_item {
	uint32_t id, mode, old_mode;
	uint32_t crlf_action, donor;
	struct object_id oid;
	uint8_t ident, required, is_process, can_delay;
};

static void put_string(struct strbuf *out, const char *s)
{
	strbuf_add(out, s, strlen(s) + 1);
}

static int get_bytes(struct wire_frame *frame, void *dest, size_t len)
{
	if (len > (size_t)(frame->end - frame->p))
		return -1;
	memcpy(dest, frame->p, len);
	frame->p += len;
	return 0;
}

/* One that is empty is NULL. */
static int get_string(struct wire_frame *frame, const char **s)
{
	const char *nul = memchr(frame->p, 0, frame->end - frame->p);

	if (!nul)
		return -1;
	*s = *frame->p ? frame->p : NULL;
	frame->p = nul + 1;
	return 0;
}

size_t wire_begin_frame(struct strbuf *out, enum wire_type type)
{
	size_t start = out->len;
	char head[FRAME_HEAD] = { 0 };

	put_be32(head + 4, type);
	strbuf_add(out, head, sizeof(head));
	return start;
}

void wire_end_frame(struct strbuf *out, size_t start)
{
	size_t len = out->len - start - FRAME_HEAD;

	if (len > WIRE_MAX_PAYLOAD)
		BUG("checkout frame of %"PRIuMAX" bytes", (uintmax_t)len);
	put_be32(out->buf + start, len);
}

void wire_put_item(struct strbuf *out, const struct checkout_item *item)
{
	const char *encoding = item->ca.working_tree_encoding;
	const struct fixed_item fixed = {
		.id = item->id,
		.mode = item->mode,
		.old_mode = item->old_mode,
		.crlf_action = item->ca.crlf_action,
		.donor = item->donor,
		.oid = item->oid,
		.ident = !!item->ca.ident,
		.required = item->required,
		.is_process = item->is_process,
		.can_delay = item->can_delay,
	};

	strbuf_add(out, &fixed, sizeof(fixed));
	strbuf_add(out, item->path, item->path_len + 1);
	put_string(out, encoding ? encoding : "");
	put_string(out, item->filter ? item->filter : "");
	if (item->old_mode)
		strbuf_add(out, &item->old_sd, sizeof(item->old_sd));
}

void wire_put_outcome(struct strbuf *out,
		      const struct checkout_outcome *outcome)
{
	strbuf_add(out, outcome, sizeof(*outcome));
}

void wire_put_result(struct strbuf *out, const struct checkout_result *result)
{
	strbuf_add(out, result, sizeof(*result));
}

ssize_t wire_next_frame(const char *buf, size_t len, struct wire_frame *frame)
{
	uint32_t payload_len;

	if (len < FRAME_HEAD)
		return 0;
	payload_len = get_be32(buf);
	if (payload_len > WIRE_MAX_PAYLOAD)
		return -1;
	if (len - FRAME_HEAD < payload_len)
		return 0;
	frame->type = get_be32(buf + 4);
	frame->p = buf + FRAME_HEAD;
	frame->end = frame->p + payload_len;
	return FRAME_HEAD + payload_len;
}

static int is_item_mode(uint32_t mode)
{
	switch (mode) {
	case S_IFREG | 0644:
	case S_IFREG | 0755:
	case S_IFLNK:
	case CHECKOUT_REMOVE_FILE:
	case CHECKOUT_REMOVE_DIR:
		return 1;
	default:
		return 0;
	}
}

static int is_sound(const struct checkout_item *item,
		    const struct git_hash_algo *algo)
{
	if (!item->path || !is_item_mode(item->mode) ||
	    item->ca.crlf_action > CRLF_AUTO_CRLF ||
	    (item->oid.algo && item->oid.algo != hash_algo_by_ptr(algo)))
		return 0;
	if ((!item->filter && (item->required || item->is_process)) ||
	    (!item->is_process && item->can_delay))
		return 0;
	return !item->donor ||
		(item->donor <= CHECKOUT_MAX_DONORS && S_ISREG(item->mode) &&
		 !item->ca.ident && !item->ca.working_tree_encoding &&
		 !item->filter);
}

int wire_get_item(struct wire_frame *frame, struct checkout_item *item,
		  const struct git_hash_algo *algo)
{
	struct fixed_item fixed;

	if (frame->p == frame->end)
		return 0;

	memset(item, 0, sizeof(*item));
	if (get_bytes(frame, &fixed, sizeof(fixed)) ||
	    get_string(frame, &item->path) ||
	    get_string(frame, &item->ca.working_tree_encoding) ||
	    get_string(frame, &item->filter) ||
	    (fixed.old_mode &&
	     get_bytes(frame, &item->old_sd, sizeof(item->old_sd))))
		return -1;
	item->id = fixed.id;
	item->mode = fixed.mode;
	item->old_mode = fixed.old_mode;
	item->ca.crlf_action = fixed.crlf_action;
	item->donor = fixed.donor;
	item->oid = fixed.oid;
	item->ca.ident = !!fixed.ident;
	item->required = !!fixed.required;
	item->is_process = !!fixed.is_process;
	item->can_delay = !!fixed.can_delay;
	if (!is_sound(item, algo))
		return -1;

	item->path_len = strlen(item->path);
	if (item->donor)
		item->ca.crlf_action = CRLF_BINARY;	/* written as it is */
	return 1;
}

int wire_get_outcome(struct wire_frame *frame,
		     struct checkout_outcome *outcome)
{
	return get_bytes(frame, outcome, sizeof(*outcome));
}

int wire_get_result(struct wire_frame *frame, struct checkout_result *result)
{
	if (frame->p == frame->end)
		return 0;
	if (get_bytes(frame, result, sizeof(*result)))
		return -1;
	switch (result->status) {
	case CHECKOUT_WRITTEN:
		return 1;
	case CHECKOUT_COLLIDED:
	case CHECKOUT_DECLINED:
	case CHECKOUT_DELAYED:
	case CHECKOUT_UNFILTERED:
		return result->has_sd ? -1 : 1;
	default:
		return -1;
	}
}
