/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of parallel checkout: what is encoded comes back, and what is
 * damaged is refused without a look beyond the frame.
 */
#include "test-lib.h"
#include "hash.h"
#include "parallel-checkout/wire.h"
#include "strbuf.h"

#define HEAD 8		/* length and type */
#define MAX_ITEMS 8

static const struct git_hash_algo *sha1 = &hash_algos[GIT_HASH_SHA1];
static const struct git_hash_algo *sha256 = &hash_algos[GIT_HASH_SHA256];

static void fill_oid(struct object_id *oid, const struct git_hash_algo *algo,
		     unsigned int seed)
{
	unsigned char hash[GIT_MAX_RAWSZ];

	for (size_t i = 0; i < sizeof(hash); i++)
		hash[i] = seed + 7 * i;
	oidread(oid, hash, algo);
}

/* Every member gets a value of its own, with different bytes. */
static void fill_sd(struct stat_data *sd, uint32_t seed)
{
	sd->sd_ctime.sec = seed + 0x01020304;
	sd->sd_ctime.nsec = seed + 0x11121314;
	sd->sd_mtime.sec = seed + 0x21222324;
	sd->sd_mtime.nsec = seed + 0x31323334;
	sd->sd_dev = seed + 0x41424344;
	sd->sd_ino = seed + 0x51525354;
	sd->sd_uid = seed + 0x61626364;
	sd->sd_gid = seed + 0x71727374;
	sd->sd_size = seed + 0x81828384;
}

static void init_item(struct checkout_item *item,
		      const struct git_hash_algo *algo, uint32_t id,
		      const char *path)
{
	memset(item, 0, sizeof(*item));
	item->id = id;
	item->mode = S_IFREG | 0644;
	fill_oid(&item->oid, algo, id);
	item->path = path;
	item->path_len = strlen(path);
}

/* Items that use each optional part alone, none of them, and all of them. */
static size_t sample_items(struct checkout_item *items,
			   const struct git_hash_algo *algo)
{
	init_item(&items[0], algo, 0, "a");

	init_item(&items[1], algo, 1, "dir/with space/ident");
	items[1].mode = S_IFREG | 0755;
	items[1].conv.ident = 1;

	init_item(&items[2], algo, 0x01020304, "dir/\377\200\n/encoding");
	items[2].conv.encoding = "UTF-16LE-BOM";

	init_item(&items[3], algo, UINT32_MAX, "dir/old");
	items[3].old_mode = S_IFREG | 0755;
	fill_sd(&items[3].old_sd, 1);

	init_item(&items[4], algo, 1U << 31, "dir/all");
	items[4].conv.ident = 1;
	items[4].conv.eol = CHECKOUT_EOL_AUTO_CRLF;
	items[4].conv.encoding = "X";
	items[4].old_mode = S_IFLNK;
	fill_sd(&items[4].old_sd, 0xf0f0f0f0);

	return 5;
}

static void put_items(struct strbuf *out, const struct checkout_item *items,
		      size_t nr, const struct git_hash_algo *algo)
{
	size_t start = wire_begin_frame(out, WIRE_ITEMS);

	for (size_t i = 0; i < nr; i++)
		wire_put_item(out, &items[i], algo);
	wire_end_frame(out, start);
}

static size_t sample_results(struct checkout_result *results)
{
	memset(results, 0, 4 * sizeof(*results));
	results[0].id = 0;
	results[0].status = CHECKOUT_WRITTEN;
	results[1].id = 0x01020304;
	results[1].status = CHECKOUT_CONFLICT;
	results[2].id = UINT32_MAX;
	results[2].status = CHECKOUT_DECLINED;
	results[3].id = 1U << 31;
	results[3].status = CHECKOUT_WRITTEN;
	results[3].has_sd = 1;
	fill_sd(&results[3].sd, 3);
	return 4;
}

static void put_results(struct strbuf *out, const struct wire_summary *summary,
			const struct checkout_result *results, size_t nr)
{
	size_t start = wire_begin_frame(out, WIRE_RESULTS);

	wire_put_summary(out, summary);
	for (size_t i = 0; i < nr; i++)
		wire_put_result(out, &results[i]);
	wire_end_frame(out, start);
}

static void check_sd(const struct stat_data *a, const struct stat_data *b)
{
	check_uint(a->sd_ctime.sec, ==, b->sd_ctime.sec);
	check_uint(a->sd_ctime.nsec, ==, b->sd_ctime.nsec);
	check_uint(a->sd_mtime.sec, ==, b->sd_mtime.sec);
	check_uint(a->sd_mtime.nsec, ==, b->sd_mtime.nsec);
	check_uint(a->sd_dev, ==, b->sd_dev);
	check_uint(a->sd_ino, ==, b->sd_ino);
	check_uint(a->sd_uid, ==, b->sd_uid);
	check_uint(a->sd_gid, ==, b->sd_gid);
	check_uint(a->sd_size, ==, b->sd_size);
}

static void check_item(const struct checkout_item *a,
		       const struct checkout_item *b)
{
	check_uint(a->id, ==, b->id);
	check_uint(a->mode, ==, b->mode);
	check(oideq(&a->oid, &b->oid));
	check_int(a->oid.algo, ==, b->oid.algo);
	check_int(a->conv.ident, ==, b->conv.ident);
	check_int(a->conv.eol, ==, b->conv.eol);
	check_uint(a->path_len, ==, b->path_len);
	check_str(a->path, b->path);
	if (check_int(!a->conv.encoding, ==,
		      !b->conv.encoding) &&
	    a->conv.encoding)
		check_str(a->conv.encoding,
			  b->conv.encoding);
	check_uint(a->old_mode, ==, b->old_mode);
	check_sd(&a->old_sd, &b->old_sd);
}

static int inside(const struct wire_frame *frame, const char *s, size_t len)
{
	const char *start = (const char *)frame->payload;

	return s >= start && len < frame->len &&
		s + len < start + frame->len &&
		memchr(s, 0, len + 1) == s + len;
}

/*
 * Decode what is in buf[0..len), whatever that is. It is copied to the end of
 * an allocation of its own size, for memory checkers to see a read beyond it.
 * Returns 1 if it is a frame that is well-formed to its end, 0 if it is
 * incomplete, -1 otherwise. *nr is the number of items or results in it.
 */
static int decode(const char *buf, size_t len,
		  const struct git_hash_algo *algo, size_t *nr)
{
	char *copy = xmalloc(len);
	struct wire_frame frame;
	struct wire_cursor cursor;
	ssize_t n;
	int ret = -1;

	*nr = 0;
	memcpy(copy, buf, len);
	n = wire_next_frame(copy, len, &frame);
	if (n <= 0) {
		ret = n;
		goto out;
	}
	if (!check_uint(n, <=, len) ||
	    !check_uint(n, ==, frame.len + HEAD) ||
	    !check(frame.payload == (unsigned char *)copy + HEAD))
		goto out;

	wire_open_frame(&cursor, &frame);
	if (frame.type == WIRE_ITEMS) {
		struct checkout_item item;

		while ((ret = wire_get_item(&cursor, &item, algo)) > 0) {
			const char *enc = item.conv.encoding;

			(*nr)++;
			check(S_ISREG(item.mode) || S_ISLNK(item.mode) ||
			      item.mode == CHECKOUT_REMOVE_FILE ||
			      item.mode == CHECKOUT_REMOVE_DIR);
			check(inside(&frame, item.path, item.path_len));
			if (enc)
				check(inside(&frame, enc, strlen(enc)));
		}
	} else if (check_uint(frame.type, ==, WIRE_RESULTS)) {
		struct wire_summary summary;
		struct checkout_result result;

		ret = wire_get_summary(&cursor, &summary);
		while (ret > 0 &&
		       (ret = wire_get_result(&cursor, &result)) > 0) {
			(*nr)++;
			check(result.status == CHECKOUT_WRITTEN ||
			      result.status == CHECKOUT_CONFLICT ||
			      result.status == CHECKOUT_DECLINED);
			if (result.has_sd)
				check_int(result.status, ==, CHECKOUT_WRITTEN);
		}
	}
	if (!ret)
		ret = 1;
	check(cursor.p <= cursor.end);
out:
	free(copy);
	return ret;
}

static void t_items(const struct git_hash_algo *algo)
{
	struct checkout_item items[MAX_ITEMS], item;
	size_t nr = sample_items(items, algo);
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;
	struct wire_cursor cursor;

	strbuf_addstr(&buf, "before");
	put_items(&buf, items, nr, algo);
	strbuf_remove(&buf, 0, strlen("before"));
	strbuf_addstr(&buf, "after");

	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==,
		  buf.len - strlen("after"));
	check_uint(frame.type, ==, WIRE_ITEMS);
	wire_open_frame(&cursor, &frame);
	for (size_t i = 0; i < nr; i++) {
		/* nothing of what was there before may survive */
		memset(&item, 0xff, sizeof(item));
		if (!check_int(wire_get_item(&cursor, &item, algo), ==, 1))
			break;
		check_item(&items[i], &item);
	}
	check_int(wire_get_item(&cursor, &item, algo), ==, 0);
	check_int(wire_get_item(&cursor, &item, algo), ==, 0);
	strbuf_release(&buf);
}

static void t_eol(void)
{
	struct checkout_item item, got;

	for (int eol = 0; eol <= CHECKOUT_EOL_AUTO_CRLF; eol++) {
		struct strbuf buf = STRBUF_INIT;
		struct wire_frame frame;
		struct wire_cursor cursor;

		init_item(&item, sha1, 1, "path");
		item.conv.eol = eol;
		put_items(&buf, &item, 1, sha1);
		check_int(wire_next_frame(buf.buf, buf.len, &frame), >, 0);
		wire_open_frame(&cursor, &frame);
		if (check_int(wire_get_item(&cursor, &got, sha1), ==, 1))
			check_item(&item, &got);
		strbuf_release(&buf);
	}
}

static void t_item_size(const struct git_hash_algo *algo)
{
	struct checkout_item items[MAX_ITEMS];
	size_t nr = sample_items(items, algo);

	for (size_t i = 0; i < nr; i++) {
		struct strbuf buf = STRBUF_INIT;

		put_items(&buf, &items[i], 1, algo);
		check_uint(wire_item_size(&items[i], algo), ==, buf.len - HEAD);
		strbuf_release(&buf);
	}
}

/* Bytes beyond those of the hash algorithm are no business of the other end. */
static void t_unused_oid_bytes(void)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	struct checkout_item item;

	init_item(&item, sha1, 1, "path");
	put_items(&a, &item, 1, sha1);
	memset(item.oid.hash + sha1->rawsz, 0xff, GIT_MAX_RAWSZ - sha1->rawsz);
	put_items(&b, &item, 1, sha1);
	check_int(strbuf_cmp(&a, &b), ==, 0);
	strbuf_release(&a);
	strbuf_release(&b);
}

static void t_results(void)
{
	struct wire_summary summary = {
		.busy_ns = 0x0102030405060708,
		.run_ns = 0x0807060504030201,
		.bytes = UINT64_MAX,
	}, got_summary;
	struct checkout_result results[4], result;
	size_t nr = sample_results(results);
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;
	struct wire_cursor cursor;

	put_results(&buf, &summary, results, nr);
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==, buf.len);
	check_uint(frame.type, ==, WIRE_RESULTS);
	wire_open_frame(&cursor, &frame);
	if (check_int(wire_get_summary(&cursor, &got_summary), ==, 1)) {
		check_uint(got_summary.busy_ns, ==, summary.busy_ns);
		check_uint(got_summary.run_ns, ==, summary.run_ns);
		check_uint(got_summary.bytes, ==, summary.bytes);
	}
	for (size_t i = 0; i < nr; i++) {
		memset(&result, 0xff, sizeof(result));
		if (!check_int(wire_get_result(&cursor, &result), ==, 1))
			break;
		check_uint(result.id, ==, results[i].id);
		check_int(result.status, ==, results[i].status);
		check_int(result.has_sd, ==, results[i].has_sd);
		check_sd(&result.sd, &results[i].sd);
	}
	check_int(wire_get_result(&cursor, &result), ==, 0);
	strbuf_release(&buf);
}

static void t_empty_frames(void)
{
	const struct wire_summary none = { 0 };
	struct strbuf buf = STRBUF_INIT;
	struct wire_summary summary;
	struct wire_frame frame;
	struct wire_cursor cursor;
	size_t nr;

	put_items(&buf, NULL, 0, sha1);
	check_uint(buf.len, ==, HEAD);
	check_int(decode(buf.buf, buf.len, sha1, &nr), ==, 1);
	check_uint(nr, ==, 0);

	strbuf_reset(&buf);
	put_results(&buf, &none, NULL, 0);
	check_int(decode(buf.buf, buf.len, sha1, &nr), ==, 1);
	check_uint(nr, ==, 0);

	/* no summary either */
	strbuf_reset(&buf);
	wire_end_frame(&buf, wire_begin_frame(&buf, WIRE_RESULTS));
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==, HEAD);
	wire_open_frame(&cursor, &frame);
	check_int(wire_get_summary(&cursor, &summary), ==, 0);
	strbuf_release(&buf);
}

/* Frames can follow each other without a gap. */
static void t_several_frames(void)
{
	struct checkout_item items[MAX_ITEMS];
	size_t nr = sample_items(items, sha1), pos = 0, seen = 0;
	struct strbuf buf = STRBUF_INIT;

	put_items(&buf, items, 1, sha1);
	put_items(&buf, NULL, 0, sha1);
	put_items(&buf, items + 1, nr - 1, sha1);
	while (pos < buf.len) {
		struct wire_frame frame;
		struct wire_cursor cursor;
		struct checkout_item item;
		ssize_t n = wire_next_frame(buf.buf + pos, buf.len - pos,
					    &frame);

		if (!check_int(n, >, 0))
			break;
		wire_open_frame(&cursor, &frame);
		while (wire_get_item(&cursor, &item, sha1) > 0)
			check_item(&items[seen++], &item);
		pos += n;
	}
	check_uint(seen, ==, nr);
	strbuf_release(&buf);
}

static void sample_frames(struct strbuf *items, struct strbuf *results,
			  const struct git_hash_algo *algo)
{
	const struct wire_summary summary = { .busy_ns = 1234, .bytes = 56 };
	struct checkout_item sample[MAX_ITEMS];
	struct checkout_result sample_result[4];
	size_t nr;

	nr = sample_items(sample, algo);
	put_items(items, sample, nr, algo);
	nr = sample_results(sample_result);
	put_results(results, &summary, sample_result, nr);
}

/* A frame that does not end is asked to be completed. */
static void check_short_frame(const struct strbuf *buf,
			      const struct git_hash_algo *algo)
{
	size_t nr;

	for (size_t len = 0; len < buf->len; len++)
		if (!check_int(decode(buf->buf, len, algo, &nr), ==, 0))
			test_msg("cut after %d bytes", (int)len);
}

static void t_short_frames(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;

	sample_frames(&items, &results, algo);
	check_short_frame(&items, algo);
	check_short_frame(&results, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

/*
 * A frame whose length says that it is complete, but which was cut before it
 * was sent, is only well-formed if it was cut between two items or results.
 * The parts before are seen.
 */
static void check_cut_payload(const struct strbuf *buf, const size_t *ends,
			      size_t ends_nr, const struct git_hash_algo *algo)
{
	char *copy = xmemdupz(buf->buf, buf->len);

	for (size_t len = HEAD; len < buf->len; len++) {
		size_t nr, complete = 0;
		int at_end = len == HEAD;

		for (size_t i = 0; i < ends_nr; i++) {
			complete += ends[i] <= len;
			at_end |= ends[i] == len;
		}
		put_be32(copy, len - HEAD);
		if (!check_int(decode(copy, len, algo, &nr), ==,
			       at_end ? 1 : -1) ||
		    !check_uint(nr, ==, complete))
			test_msg("cut after %d bytes", (int)len);
	}
	free(copy);
}

static void t_cut_payloads(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;
	struct checkout_item sample[MAX_ITEMS];
	size_t ends[MAX_ITEMS], nr, pos;

	sample_frames(&items, &results, algo);

	nr = sample_items(sample, algo);
	pos = HEAD;
	for (size_t i = 0; i < nr; i++)
		ends[i] = pos += wire_item_size(&sample[i], algo);
	check_uint(pos, ==, items.len);
	check_cut_payload(&items, ends, nr, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

static void t_cut_results(void)
{
	struct strbuf buf = STRBUF_INIT;
	const struct wire_summary summary = { 0 };
	struct checkout_result results[4];
	size_t nr = sample_results(results), ends[5], pos, i;
	char *copy;

	/* the length of a frame that has one result more than the last */
	for (i = 0; i <= nr; i++) {
		strbuf_reset(&buf);
		put_results(&buf, &summary, results, i);
		ends[i] = buf.len;
	}

	copy = xmemdupz(buf.buf, buf.len);
	for (pos = HEAD + 1; pos < buf.len; pos++) {
		size_t got, complete = 0;
		int at_end = 0;

		for (i = 0; i <= nr; i++) {
			complete += i && ends[i] <= pos;
			at_end |= ends[i] == pos;
		}
		put_be32(copy, pos - HEAD);
		if (!check_int(decode(copy, pos, sha1, &got), ==,
			       at_end ? 1 : -1) ||
		    !check_uint(got, ==, complete))
			test_msg("cut after %d bytes", (int)pos);
	}
	free(copy);
	strbuf_release(&buf);
}

/*
 * decode() checks that nothing impossible comes out. A change of the frame's
 * length or type cannot go unnoticed.
 */
static void check_flips(struct strbuf *buf, const struct git_hash_algo *algo)
{
	for (size_t i = 0; i < buf->len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			size_t nr;
			int ret;

			buf->buf[i] ^= 1 << bit;
			ret = decode(buf->buf, buf->len, algo, &nr);
			if (i >= 4 && i < HEAD &&
			    !check_int(ret, ==, -1))
				test_msg("type with a flipped bit");
			if (i < 4 && !check_int(ret, <, 1) &&
			    !check_uint(get_be32(buf->buf), <, buf->len - HEAD))
				test_msg("length with a flipped bit");
			buf->buf[i] ^= 1 << bit;
		}
	}
}

static void t_flips(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;

	sample_frames(&items, &results, algo);
	check_flips(&items, algo);
	check_flips(&results, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

/* Any single byte in place of any other. */
static void t_bytes(void)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;
	struct strbuf *bufs[] = { &items, &results };

	sample_frames(&items, &results, sha1);
	for (size_t b = 0; b < ARRAY_SIZE(bufs); b++) {
		for (size_t i = 0; i < bufs[b]->len; i++) {
			char orig = bufs[b]->buf[i];

			for (int c = 0; c < 256; c++) {
				size_t nr;

				bufs[b]->buf[i] = c;
				decode(bufs[b]->buf, bufs[b]->len, sha1, &nr);
			}
			bufs[b]->buf[i] = orig;
		}
	}
	strbuf_release(&items);
	strbuf_release(&results);
}

static void t_frame_length(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;

	strbuf_grow(&buf, HEAD + WIRE_MAX_PAYLOAD);
	wire_begin_frame(&buf, WIRE_ITEMS);
	put_be32(buf.buf, WIRE_MAX_PAYLOAD);
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==, 0);
	strbuf_addchars(&buf, 'x', WIRE_MAX_PAYLOAD - 1);
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==, 0);
	strbuf_addch(&buf, 'x');
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==,
		  HEAD + WIRE_MAX_PAYLOAD);
	check_uint(frame.len, ==, WIRE_MAX_PAYLOAD);

	/* what can never be completed is refused as soon as the head is there */
	put_be32(buf.buf, WIRE_MAX_PAYLOAD + 1);
	check_int(wire_next_frame(buf.buf, HEAD - 1, &frame), ==, 0);
	check_int(wire_next_frame(buf.buf, HEAD, &frame), ==, -1);
	put_be32(buf.buf, UINT32_MAX);
	check_int(wire_next_frame(buf.buf, HEAD, &frame), ==, -1);
	check_int(wire_next_frame(buf.buf, buf.len, &frame), ==, -1);
	strbuf_release(&buf);
}

static void t_frame_type(void)
{
	const uint32_t bad[] = { 0, 1, UINT32_MAX, WIRE_ITEMS + 1,
				 WIRE_ITEMS & 0xffffff, WIRE_RESULTS - 1,
				 0x6974656d };
	char head[HEAD] = { 0 };
	struct wire_frame frame;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put_be32(head + 4, bad[i]);
		check_int(wire_next_frame(head, sizeof(head), &frame), ==, -1);
	}
	put_be32(head + 4, WIRE_ITEMS);
	check_int(wire_next_frame(head, sizeof(head), &frame), ==, HEAD);
	put_be32(head + 4, WIRE_RESULTS);
	check_int(wire_next_frame(head, sizeof(head), &frame), ==, HEAD);
}

/* The largest item that fits into a frame. */
static void t_long_path(void)
{
	struct strbuf path = STRBUF_INIT, buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha256, 1, "");
	strbuf_addchars(&path, 'x',
			WIRE_MAX_PAYLOAD - wire_item_size(&item, sha256));
	item.path = path.buf;
	item.path_len = path.len;
	check_uint(wire_item_size(&item, sha256), ==, WIRE_MAX_PAYLOAD);
	put_items(&buf, &item, 1, sha256);
	check_uint(buf.len, ==, HEAD + WIRE_MAX_PAYLOAD);
	check_int(decode(buf.buf, buf.len, sha256, &nr), ==, 1);
	check_uint(nr, ==, 1);
	strbuf_release(&path);
	strbuf_release(&buf);
}

/*
 * Overwrite the 32-bit number at offset `at` of the only item of a frame, and
 * see what becomes of it.
 */
static int decode_with(size_t at, uint32_t value)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;
	int ret;

	init_item(&item, sha1, 1, "path");
	item.conv.encoding = "UTF-16";
	item.old_mode = S_IFREG | 0644;
	put_items(&buf, &item, 1, sha1);
	put_be32(buf.buf + HEAD + at, value);
	ret = decode(buf.buf, buf.len, sha1, &nr);
	strbuf_release(&buf);
	return ret;
}

static void t_string_lengths(void)
{
	const size_t path_at = 4 + 4 + 1 + 1 + 20;
	const size_t encoding_at = path_at + 4 + strlen("path") + 1;
	const uint32_t bad[] = {
		0, 1, 3, 5, 100, WIRE_MAX_PAYLOAD - 1, WIRE_MAX_PAYLOAD,
		WIRE_MAX_PAYLOAD + 1, INT32_MAX, 0x80000000, UINT32_MAX - 4,
		UINT32_MAX - 1, UINT32_MAX
	};

	/* the offsets are right */
	check_int(decode_with(path_at, strlen("path")), ==, 1);
	check_int(decode_with(encoding_at, strlen("UTF-16")), ==, 1);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!check_int(decode_with(path_at, bad[i]), ==, -1) ||
		    !check_int(decode_with(encoding_at, bad[i]), ==, -1))
			test_msg("length: %u", (unsigned)bad[i]);
}

static void t_modes(void)
{
	const uint32_t bad[] = { 1, 0644, S_IFDIR | 0755, S_IFLNK | 0644,
				 S_IFREG, S_IFREG | 0664, 0160000, UINT32_MAX };

	check_int(decode_with(4, S_IFREG | 0644), ==, 1);
	check_int(decode_with(4, S_IFREG | 0755), ==, 1);
	check_int(decode_with(4, S_IFLNK), ==, 1);
	check_int(decode_with(4, CHECKOUT_REMOVE_FILE), ==, 1);
	check_int(decode_with(4, CHECKOUT_REMOVE_DIR), ==, 1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!check_int(decode_with(4, bad[i]), ==, -1))
			test_msg("mode: %o", (unsigned)bad[i]);
}

/* That there is an old file is said by a flag; its mode cannot be zero. */
static void t_old_mode(void)
{
	const size_t old_at = 4 + 4 + 1 + 1 + 20 + 4 + strlen("path") + 1 +
		4 + strlen("UTF-16") + 1;

	check_int(decode_with(old_at, S_IFREG | 0755), ==, 1);
	check_int(decode_with(old_at, 0), ==, -1);
}

/* A frame with one item that has nothing optional, and one byte changed. */
static int decode_plain_with(size_t at, unsigned char value)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;
	int ret;

	init_item(&item, sha1, 1, "path");
	put_items(&buf, &item, 1, sha1);
	buf.buf[HEAD + at] = value;
	ret = decode(buf.buf, buf.len, sha1, &nr);
	strbuf_release(&buf);
	return ret;
}

static void t_flags(void)
{
	const size_t flags_at = 4 + 4;

	for (int flags = 0; flags < 256; flags++) {
		/*
		 * "ident" takes no further bytes; for the others there are
		 * none, and the rest is unknown.
		 */
		if (!check_int(decode_plain_with(flags_at, flags), ==,
			       flags < 2 ? 1 : -1))
			test_msg("flags: %x", flags);
	}
}

static void t_eol_range(void)
{
	const size_t eol_at = 4 + 4 + 1;

	for (int eol = 0; eol < 256; eol++)
		if (!check_int(decode_plain_with(eol_at, eol), ==,
			       eol <= CHECKOUT_EOL_AUTO_CRLF ? 1 : -1))
			test_msg("eol: %d", eol);
}

static void t_nul_in_path(void)
{
	const size_t path_at = 4 + 4 + 1 + 1 + 20 + 4;

	for (size_t i = 0; i < strlen("path"); i++)
		check_int(decode_plain_with(path_at + i, 0), ==, -1);
	/* and none at its end */
	check_int(decode_plain_with(path_at + strlen("path"), 'x'), ==, -1);
}

static void t_empty_strings(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha1, 1, "");
	put_items(&buf, &item, 1, sha1);
	check_int(decode(buf.buf, buf.len, sha1, &nr), ==, -1);

	strbuf_reset(&buf);
	init_item(&item, sha1, 1, "path");
	item.conv.encoding = "";
	put_items(&buf, &item, 1, sha1);
	check_int(decode(buf.buf, buf.len, sha1, &nr), ==, -1);
	strbuf_release(&buf);
}

static void t_status(void)
{
	const size_t status_at = HEAD + 8 + 8 + 8 + 4;
	const struct wire_summary summary = { 0 };
	struct checkout_result result = { .id = 1, .status = CHECKOUT_WRITTEN };
	struct strbuf without = STRBUF_INIT, with = STRBUF_INIT;
	size_t nr;

	put_results(&without, &summary, &result, 1);
	result.has_sd = 1;
	put_results(&with, &summary, &result, 1);

	check_int(without.buf[status_at], ==, CHECKOUT_WRITTEN);
	for (int status = 0; status < 256; status++) {
		without.buf[status_at] = status;
		with.buf[status_at] = status;
		if (!check_int(decode(without.buf, without.len, sha1, &nr), ==,
			       status == CHECKOUT_WRITTEN ||
			       status == CHECKOUT_CONFLICT ||
			       status == CHECKOUT_DECLINED ? 1 : -1) ||
		    !check_int(decode(with.buf, with.len, sha1, &nr), ==,
			       status == (0x80 | CHECKOUT_WRITTEN) ? 1 : -1))
			test_msg("status: %x", status);
	}
	strbuf_release(&without);
	strbuf_release(&with);
}

/* An item for the other algorithm does not fit. */
static void t_other_algorithm(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha1, 1, "p");
	put_items(&buf, &item, 1, sha1);
	check_int(decode(buf.buf, buf.len, sha256, &nr), ==, -1);
	check_uint(nr, ==, 0);
	strbuf_reset(&buf);
	init_item(&item, sha256, 1, "p");
	put_items(&buf, &item, 1, sha256);
	check_int(decode(buf.buf, buf.len, sha1, &nr), ==, -1);
	strbuf_release(&buf);
}

int cmd_main(int argc UNUSED, const char **argv UNUSED)
{
	TEST(t_items(sha1), "items come back (SHA-1)");
	TEST(t_items(sha256), "items come back (SHA-256)");
	TEST(t_eol(), "every kind of line ends comes back");
	TEST(t_item_size(sha1), "size of an item is known (SHA-1)");
	TEST(t_item_size(sha256), "size of an item is known (SHA-256)");
	TEST(t_unused_oid_bytes(), "unused bytes of an object name stay here");
	TEST(t_results(), "results come back");
	TEST(t_empty_frames(), "frames without anything in them");
	TEST(t_several_frames(), "frames that follow each other");
	TEST(t_short_frames(sha1), "short frames want more (SHA-1)");
	TEST(t_short_frames(sha256), "short frames want more (SHA-256)");
	TEST(t_cut_payloads(sha1), "cut items are refused (SHA-1)");
	TEST(t_cut_payloads(sha256), "cut items are refused (SHA-256)");
	TEST(t_cut_results(), "cut results are refused");
	TEST(t_flips(sha1), "every flipped bit is survived (SHA-1)");
	TEST(t_flips(sha256), "every flipped bit is survived (SHA-256)");
	TEST(t_bytes(), "every changed byte is survived");
	TEST(t_frame_length(), "length of a frame is bounded");
	TEST(t_frame_type(), "unknown types of frames are refused");
	TEST(t_long_path(), "longest path that fits");
	TEST(t_string_lengths(), "wrong lengths of strings are refused");
	TEST(t_modes(), "other modes than those of files are refused");
	TEST(t_old_mode(), "old file has a mode");
	TEST(t_flags(), "unknown flags are refused");
	TEST(t_eol_range(), "unknown kinds of line ends are refused");
	TEST(t_nul_in_path(), "paths have a NUL at the end and nowhere else");
	TEST(t_empty_strings(), "empty strings are refused");
	TEST(t_status(), "unknown statuses are refused");
	TEST(t_other_algorithm(), "items of another hash algorithm are refused");

	return test_done();
}
