/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Encode and decode the messages between the main process of a parallel
 * checkout and its workers. The decoder trusts nothing: see wire.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/wire.h"
#include "strbuf.h"

#define FRAME_HEAD 8

/* Bits of an item's flag byte. */
#define ITEM_IDENT	(1u << 0)
#define ITEM_ENCODING	(1u << 1)
#define ITEM_OLD	(1u << 2)
#define ITEM_FILTER	(1u << 3)
#define ITEM_PROCESS	(1u << 4)
#define ITEM_CAN_DELAY	(1u << 5)
#define ITEM_REQUIRED	(1u << 6)
#define ITEM_DONOR	(1u << 7)

/* Bit of a result's status byte besides the status. */
#define RESULT_STAT	(1u << 7)

#define STAT_SIZE (9 * 4)

/* id, mode, flags, line ends or donor, path length, NUL */
#define ITEM_FIXED (4 + 4 + 1 + 1 + 4 + 1)

static void put_u8(struct strbuf *out, unsigned int value)
{
	strbuf_addch(out, value);
}

static void put_u32(struct strbuf *out, uint32_t value)
{
	unsigned char buf[4];

	put_be32(buf, value);
	strbuf_add(out, buf, sizeof(buf));
}

static void put_u64(struct strbuf *out, uint64_t value)
{
	unsigned char buf[8];

	put_be64(buf, value);
	strbuf_add(out, buf, sizeof(buf));
}

static void put_string(struct strbuf *out, const char *s, size_t len)
{
	put_u32(out, len);
	strbuf_add(out, s, len);
	put_u8(out, 0);
}

static void put_stat(struct strbuf *out, const struct stat_data *sd)
{
	put_u32(out, sd->sd_ctime.sec);
	put_u32(out, sd->sd_ctime.nsec);
	put_u32(out, sd->sd_mtime.sec);
	put_u32(out, sd->sd_mtime.nsec);
	put_u32(out, sd->sd_dev);
	put_u32(out, sd->sd_ino);
	put_u32(out, sd->sd_uid);
	put_u32(out, sd->sd_gid);
	put_u32(out, sd->sd_size);
}

static int has_bytes(const struct wire_cursor *cursor, size_t n)
{
	return n <= (size_t)(cursor->end - cursor->p);
}

static int get_u8(struct wire_cursor *cursor, unsigned int *value)
{
	if (!has_bytes(cursor, 1))
		return -1;
	*value = *cursor->p++;
	return 0;
}

static int get_u32(struct wire_cursor *cursor, uint32_t *value)
{
	if (!has_bytes(cursor, 4))
		return -1;
	*value = get_be32(cursor->p);
	cursor->p += 4;
	return 0;
}

static int get_u64(struct wire_cursor *cursor, uint64_t *value)
{
	if (!has_bytes(cursor, 8))
		return -1;
	*value = get_be64(cursor->p);
	cursor->p += 8;
	return 0;
}

/* A string without NUL bytes in it, and not empty, as all of them are. */
static int get_string(struct wire_cursor *cursor, const char **s, size_t *len)
{
	uint32_t n;

	if (get_u32(cursor, &n) || !n || n >= WIRE_MAX_PAYLOAD ||
	    !has_bytes(cursor, (size_t)n + 1) ||
	    memchr(cursor->p, 0, (size_t)n + 1) != cursor->p + n)
		return -1;
	*s = (const char *)cursor->p;
	*len = n;
	cursor->p += (size_t)n + 1;
	return 0;
}

static int get_stat(struct wire_cursor *cursor, struct stat_data *sd)
{
	const unsigned char *p = cursor->p;

	if (!has_bytes(cursor, STAT_SIZE))
		return -1;
	sd->sd_ctime.sec = get_be32(p);
	sd->sd_ctime.nsec = get_be32(p + 4);
	sd->sd_mtime.sec = get_be32(p + 8);
	sd->sd_mtime.nsec = get_be32(p + 12);
	sd->sd_dev = get_be32(p + 16);
	sd->sd_ino = get_be32(p + 20);
	sd->sd_uid = get_be32(p + 24);
	sd->sd_gid = get_be32(p + 28);
	sd->sd_size = get_be32(p + 32);
	cursor->p += STAT_SIZE;
	return 0;
}

size_t wire_begin_frame(struct strbuf *out, enum wire_type type)
{
	size_t start = out->len;

	put_u32(out, 0);
	put_u32(out, type);
	return start;
}

void wire_end_frame(struct strbuf *out, size_t start)
{
	size_t len = out->len - start - FRAME_HEAD;

	if (len > WIRE_MAX_PAYLOAD)
		BUG("checkout frame of %"PRIuMAX" bytes", (uintmax_t)len);
	put_be32(out->buf + start, len);
}

size_t wire_item_size(const struct checkout_item *item,
		      const struct git_hash_algo *algo)
{
	const char *encoding = item->ca.working_tree_encoding;
	size_t size = st_add3(ITEM_FIXED, algo->rawsz, item->path_len);

	if (encoding)
		size = st_add3(size, 4 + 1, strlen(encoding));
	if (item->filter)
		size = st_add3(size, 4 + 1, strlen(item->filter));
	if (item->old_mode)
		size = st_add(size, 4 + STAT_SIZE);
	return size;
}

void wire_put_item(struct strbuf *out, const struct checkout_item *item,
		   const struct git_hash_algo *algo)
{
	const char *encoding = item->ca.working_tree_encoding;
	unsigned int flags = 0;

	if (item->ca.ident)
		flags |= ITEM_IDENT;
	if (encoding)
		flags |= ITEM_ENCODING;
	if (item->old_mode)
		flags |= ITEM_OLD;
	if (item->filter)
		flags |= ITEM_FILTER;
	if (item->is_process)
		flags |= ITEM_PROCESS;
	if (item->can_delay)
		flags |= ITEM_CAN_DELAY;
	if (item->required)
		flags |= ITEM_REQUIRED;
	if (item->donor)
		flags |= ITEM_DONOR;

	put_u32(out, item->id);
	put_u32(out, item->mode);
	put_u8(out, flags);
	/* What may come from a donor is not converted. */
	put_u8(out, item->donor ? item->donor : item->ca.crlf_action);
	strbuf_add(out, item->oid.hash, algo->rawsz);
	put_string(out, item->path, item->path_len);
	if (encoding)
		put_string(out, encoding, strlen(encoding));
	if (item->filter)
		put_string(out, item->filter, strlen(item->filter));
	if (item->old_mode) {
		put_u32(out, item->old_mode);
		put_stat(out, &item->old_sd);
	}
}

void wire_put_outcome(struct strbuf *out,
		      const struct checkout_outcome *outcome)
{
	put_u64(out, outcome->files);
	put_u64(out, outcome->bytes);
	put_u64(out, outcome->cloned_files);
	put_u64(out, outcome->cloned_bytes);
	put_u64(out, outcome->removed);
	put_u64(out, outcome->collided);
	put_u64(out, outcome->declined);
	put_u64(out, outcome->delayed);
	put_u64(out, outcome->busy_ns);
	put_u64(out, outcome->run_ns);
}

void wire_put_result(struct strbuf *out, const struct checkout_result *result)
{
	put_u32(out, result->id);
	put_u8(out, result->status | (result->has_sd ? RESULT_STAT : 0));
	if (result->has_sd)
		put_stat(out, &result->sd);
}

void wire_put_path(struct strbuf *out, const char *path)
{
	put_string(out, path, strlen(path));
}

ssize_t wire_next_frame(const char *buf, size_t len, struct wire_frame *frame)
{
	uint32_t payload_len, type;

	if (len < FRAME_HEAD)
		return 0;
	payload_len = get_be32(buf);
	type = get_be32(buf + 4);
	if (payload_len > WIRE_MAX_PAYLOAD ||
	    (type != WIRE_ITEMS && type != WIRE_COLLECT &&
	     type != WIRE_RESULTS && type != WIRE_LATE &&
	     type != WIRE_DONORS))
		return -1;
	if (len - FRAME_HEAD < payload_len)
		return 0;
	frame->type = type;
	frame->payload = (const unsigned char *)buf + FRAME_HEAD;
	frame->len = payload_len;
	return FRAME_HEAD + payload_len;
}

void wire_open_frame(struct wire_cursor *cursor, const struct wire_frame *frame)
{
	cursor->p = frame->payload;
	cursor->end = frame->payload + frame->len;
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

/* Only a filter is required or a process, and only a process can delay. */
static int are_item_flags(unsigned int flags)
{
	if (((flags & (ITEM_PROCESS | ITEM_REQUIRED)) &&
	     !(flags & ITEM_FILTER)) ||
	    ((flags & ITEM_CAN_DELAY) && !(flags & ITEM_PROCESS)))
		return 0;
	return 1;
}

int wire_get_item(struct wire_cursor *cursor, struct checkout_item *item,
		  const struct git_hash_algo *algo)
{
	unsigned int flags, eol;
	size_t unused;

	if (cursor->p == cursor->end)
		return 0;

	memset(item, 0, sizeof(*item));
	if (get_u32(cursor, &item->id) ||
	    get_u32(cursor, &item->mode) ||
	    get_u8(cursor, &flags) ||
	    get_u8(cursor, &eol))
		return -1;
	if (!is_item_mode(item->mode) || !are_item_flags(flags))
		return -1;
	item->ca.ident = !!(flags & ITEM_IDENT);
	item->is_process = !!(flags & ITEM_PROCESS);
	item->can_delay = !!(flags & ITEM_CAN_DELAY);
	item->required = !!(flags & ITEM_REQUIRED);
	if (flags & ITEM_DONOR) {
		item->donor = eol;
		item->ca.crlf_action = CRLF_BINARY;	/* written as it is */
		if (!eol || eol > CHECKOUT_MAX_DONORS ||
		    !S_ISREG(item->mode) ||
		    (flags & (ITEM_IDENT | ITEM_ENCODING | ITEM_FILTER)))
			return -1;
	} else {
		item->ca.crlf_action = eol;
		if (eol > CRLF_AUTO_CRLF)
			return -1;
	}

	if (!has_bytes(cursor, algo->rawsz))
		return -1;
	oidread(&item->oid, cursor->p, algo);
	cursor->p += algo->rawsz;

	if (get_string(cursor, &item->path, &item->path_len))
		return -1;
	if ((flags & ITEM_ENCODING) &&
	    get_string(cursor, &item->ca.working_tree_encoding, &unused))
		return -1;
	if ((flags & ITEM_FILTER) &&
	    get_string(cursor, &item->filter, &unused))
		return -1;
	if ((flags & ITEM_OLD) &&
	    (get_u32(cursor, &item->old_mode) || !item->old_mode ||
	     get_stat(cursor, &item->old_sd)))
		return -1;
	return 1;
}

int wire_get_outcome(struct wire_cursor *cursor,
		     struct checkout_outcome *outcome)
{
	if (cursor->p == cursor->end)
		return 0;
	if (get_u64(cursor, &outcome->files) ||
	    get_u64(cursor, &outcome->bytes) ||
	    get_u64(cursor, &outcome->cloned_files) ||
	    get_u64(cursor, &outcome->cloned_bytes) ||
	    get_u64(cursor, &outcome->removed) ||
	    get_u64(cursor, &outcome->collided) ||
	    get_u64(cursor, &outcome->declined) ||
	    get_u64(cursor, &outcome->delayed) ||
	    get_u64(cursor, &outcome->busy_ns) ||
	    get_u64(cursor, &outcome->run_ns))
		return -1;
	return 1;
}

int wire_get_result(struct wire_cursor *cursor, struct checkout_result *result)
{
	unsigned int status;

	if (cursor->p == cursor->end)
		return 0;

	memset(result, 0, sizeof(*result));
	if (get_u32(cursor, &result->id) || get_u8(cursor, &status))
		return -1;
	switch (status & ~RESULT_STAT) {
	case CHECKOUT_WRITTEN:
	case CHECKOUT_COLLIDED:
	case CHECKOUT_DECLINED:
	case CHECKOUT_DELAYED:
	case CHECKOUT_UNFILTERED:
		result->status = status & ~RESULT_STAT;
		break;
	default:
		return -1;
	}
	if (!(status & RESULT_STAT))
		return 1;
	if (result->status != CHECKOUT_WRITTEN ||
	    get_stat(cursor, &result->sd))
		return -1;
	result->has_sd = 1;
	return 1;
}

int wire_get_path(struct wire_cursor *cursor, const char **path)
{
	size_t unused;

	if (cursor->p == cursor->end)
		return 0;
	return get_string(cursor, path, &unused) ? -1 : 1;
}
