/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encode and decode the messages between the main process of a parallel
 * checkout and its workers, and wait for them. The decoder trusts nothing: see
 * wire.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/wire.h"
#include "strbuf.h"
#include "trace.h"

#define FRAME_HEAD 8

/* NULL is sent as an empty string. */
static void put_string(struct strbuf *out, const char *s)
{
	strbuf_add(out, s ? s : "", s ? strlen(s) + 1 : 1);
}

static int get_bytes(struct wire_frame *frame, void *dest, size_t len)
{
	if (len > (size_t)(frame->end - frame->p))
		return -1;
	memcpy(dest, frame->p, len);
	frame->p += len;
	return 0;
}

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
	struct checkout_item sent;

	/* Neither padding nor pointers are for the other end. */
	memset(&sent, 0, sizeof(sent));
	sent.id = item->id;
	sent.mode = item->mode;
	oidcpy(&sent.oid, &item->oid);
	sent.ca.crlf_action = item->ca.crlf_action;
	sent.ca.ident = item->ca.ident;
	sent.required = item->required;
	sent.is_process = item->is_process;
	sent.can_delay = item->can_delay;
	sent.old_mode = item->old_mode;
	sent.old_sd = item->old_sd;
	sent.donor = item->donor;
	strbuf_add(out, &sent, sizeof(sent));
	strbuf_add(out, item->path, item->path_len + 1);
	put_string(out, item->ca.working_tree_encoding);
	put_string(out, item->filter);
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

int wire_wait(int fd, uint64_t end_ns)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = getnanotime();
	int ready;

	/* The timer of the progress interrupts it once in a second. */
	do {
		ready = poll(&pollfd, 1, now_ns < end_ns ?
			     (end_ns - now_ns) / 1000000 + 1 : 0);
		now_ns = getnanotime();
	} while (ready < 0 && errno == EINTR && now_ns < end_ns);
	return ready > 0 ? 0 : -1;
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
	return mode == (S_IFREG | 0644) || mode == (S_IFREG | 0755) ||
		mode == S_IFLNK || mode == CHECKOUT_REMOVE_FILE ||
		mode == CHECKOUT_REMOVE_DIR;
}

static int is_sound(const struct checkout_item *item,
		    const struct git_hash_algo *algo)
{
	if (!item->path || !is_item_mode(item->mode) ||
	    (unsigned int)item->ca.crlf_action > CRLF_AUTO_CRLF ||
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
	if (frame->p == frame->end)
		return 0;
	if (get_bytes(frame, item, sizeof(*item)) ||
	    get_string(frame, &item->path) ||
	    get_string(frame, &item->ca.working_tree_encoding) ||
	    get_string(frame, &item->filter) ||
	    !is_sound(item, algo))
		return -1;

	item->path_len = strlen(item->path);
	item->ca.drv = NULL;
	item->was_delayed = 0;
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
	if (get_bytes(frame, result, sizeof(*result)) ||
	    result->status < CHECKOUT_WRITTEN ||
	    result->status > CHECKOUT_UNFILTERED ||
	    (result->has_sd && result->status != CHECKOUT_WRITTEN))
		return -1;
	return 1;
}
