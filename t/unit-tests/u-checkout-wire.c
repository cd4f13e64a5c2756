/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of parallel checkout: what is encoded comes back, and what is
 * damaged is refused without a look beyond the frame.
 */
#include "unit-test.h"
#include "hash.h"
#include "parallel-checkout/wire.h"
#include "strbuf.h"
#include "trace.h"

#define HEAD 8		/* length and type */
#define MAX_ITEMS 8
#define MAX_RESULTS 7

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
	items[1].ca.ident = 1;

	init_item(&items[2], algo, 0x01020304, "dir/\377\200\n/encoding");
	items[2].ca.working_tree_encoding = "UTF-16LE-BOM";

	init_item(&items[3], algo, UINT32_MAX, "dir/old");
	items[3].old_mode = S_IFREG | 0755;
	fill_sd(&items[3].old_sd, 1);

	init_item(&items[4], algo, 1U << 31, "dir/all");
	items[4].ca.ident = 1;
	items[4].ca.crlf_action = CRLF_AUTO_CRLF;
	items[4].ca.working_tree_encoding = "X";
	items[4].filter = "all of it";
	items[4].is_process = 1;
	items[4].can_delay = 1;
	items[4].old_mode = S_IFLNK;
	fill_sd(&items[4].old_sd, 0xf0f0f0f0);

	init_item(&items[5], algo, 5, "filter");
	items[5].filter = "tr \n a-z";
	items[5].required = 1;

	init_item(&items[6], algo, 6, "process");
	items[6].filter = "p";
	items[6].is_process = 1;

	init_item(&items[7], algo, 7, "donor");
	items[7].old_mode = S_IFREG | 0644;
	fill_sd(&items[7].old_sd, 7);
	items[7].donor = CHECKOUT_MAX_DONORS;
	items[7].ca.crlf_action = CRLF_BINARY;	/* not converted */

	return MAX_ITEMS;
}

static void put_items(struct strbuf *out, const struct checkout_item *items,
		      size_t nr)
{
	size_t start = wire_begin_frame(out, WIRE_ITEMS);

	for (size_t i = 0; i < nr; i++)
		wire_put_item(out, &items[i]);
	wire_end_frame(out, start);
}

static size_t item_size(const struct checkout_item *item)
{
	struct strbuf buf = STRBUF_INIT;
	size_t len;

	wire_put_item(&buf, item);
	len = buf.len;
	strbuf_release(&buf);
	return len;
}

static size_t sample_results(struct checkout_result *results)
{
	memset(results, 0, MAX_RESULTS * sizeof(*results));
	results[0].id = 0;
	results[0].status = CHECKOUT_WRITTEN;
	results[1].id = 0x01020304;
	results[1].status = CHECKOUT_COLLIDED;
	results[2].id = UINT32_MAX;
	results[2].status = CHECKOUT_DECLINED;
	results[3].id = 1U << 31;
	results[3].status = CHECKOUT_WRITTEN;
	results[3].has_sd = 1;
	fill_sd(&results[3].sd, 3);
	results[4].id = 4;
	results[4].status = CHECKOUT_DELAYED;
	results[5].id = 5;
	results[5].status = CHECKOUT_UNFILTERED;
	results[6].id = 6;
	results[6].status = CHECKOUT_WRITTEN;
	results[6].has_sd = 1;
	fill_sd(&results[6].sd, 6);
	return MAX_RESULTS;
}

static void put_results(struct strbuf *out,
			const struct checkout_outcome *outcome,
			const struct checkout_result *results, size_t nr)
{
	size_t start = wire_begin_frame(out, WIRE_RESULTS);

	wire_put_outcome(out, outcome);
	for (size_t i = 0; i < nr; i++)
		wire_put_result(out, &results[i]);
	wire_end_frame(out, start);
}

static void check_sd(const struct stat_data *a, const struct stat_data *b)
{
	cl_assert_equal_u(a->sd_ctime.sec, b->sd_ctime.sec);
	cl_assert_equal_u(a->sd_ctime.nsec, b->sd_ctime.nsec);
	cl_assert_equal_u(a->sd_mtime.sec, b->sd_mtime.sec);
	cl_assert_equal_u(a->sd_mtime.nsec, b->sd_mtime.nsec);
	cl_assert_equal_u(a->sd_dev, b->sd_dev);
	cl_assert_equal_u(a->sd_ino, b->sd_ino);
	cl_assert_equal_u(a->sd_uid, b->sd_uid);
	cl_assert_equal_u(a->sd_gid, b->sd_gid);
	cl_assert_equal_u(a->sd_size, b->sd_size);
}

static void check_item(const struct checkout_item *a,
		       const struct checkout_item *b)
{
	cl_assert_equal_u(a->id, b->id);
	cl_assert_equal_u(a->mode, b->mode);
	cl_assert(oideq(&a->oid, &b->oid));
	cl_assert_equal_i(a->oid.algo, b->oid.algo);
	cl_assert_equal_i(a->ca.ident, b->ca.ident);
	cl_assert_equal_i(a->ca.crlf_action, b->ca.crlf_action);
	cl_assert_equal_u(a->path_len, b->path_len);
	cl_assert_equal_s(a->path, b->path);
	cl_assert_equal_i(!a->ca.working_tree_encoding,
			  !b->ca.working_tree_encoding);
	if (a->ca.working_tree_encoding)
		cl_assert_equal_s(a->ca.working_tree_encoding,
				  b->ca.working_tree_encoding);
	cl_assert_equal_i(!a->filter, !b->filter);
	if (a->filter)
		cl_assert_equal_s(a->filter, b->filter);
	cl_assert_equal_i(a->required, b->required);
	cl_assert_equal_i(a->is_process, b->is_process);
	cl_assert_equal_i(a->can_delay, b->can_delay);
	cl_assert_equal_u(a->old_mode, b->old_mode);
	check_sd(&a->old_sd, &b->old_sd);
	cl_assert_equal_u(a->donor, b->donor);
}

static int inside(const char *start, const char *end, const char *s, size_t len)
{
	return s >= start && s < end && len < (size_t)(end - s) &&
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
	ssize_t n;
	int ret = -1;

	*nr = 0;
	memcpy(copy, buf, len);
	n = wire_next_frame(copy, len, &frame);
	if (n <= 0) {
		ret = n;
		goto out;
	}
	cl_assert_le_u(n, len);
	cl_assert_equal_u(n, frame.end - frame.p + HEAD);
	cl_assert(frame.p == copy + HEAD);

	if (frame.type == WIRE_ITEMS) {
		struct checkout_item item;

		while ((ret = wire_get_item(&frame, &item, algo)) > 0) {
			const char *enc = item.ca.working_tree_encoding;

			(*nr)++;
			cl_assert(S_ISREG(item.mode) || S_ISLNK(item.mode) ||
				  item.mode == CHECKOUT_REMOVE_FILE ||
				  item.mode == CHECKOUT_REMOVE_DIR);
			cl_assert(inside(copy + HEAD, copy + n, item.path,
					 item.path_len));
			if (enc)
				cl_assert(inside(copy + HEAD, copy + n, enc,
						 strlen(enc)));
			if (item.donor)
				cl_assert_equal_i(item.ca.crlf_action,
						  CRLF_BINARY);
		}
	} else if (frame.type == WIRE_RESULTS || frame.type == WIRE_LATE) {
		struct checkout_outcome outcome;
		struct checkout_result result;

		if (wire_get_outcome(&frame, &outcome))
			goto out;
		while ((ret = wire_get_result(&frame, &result)) > 0) {
			(*nr)++;
			cl_assert(result.status == CHECKOUT_WRITTEN ||
				  result.status == CHECKOUT_COLLIDED ||
				  result.status == CHECKOUT_DECLINED ||
				  result.status == CHECKOUT_DELAYED ||
				  result.status == CHECKOUT_UNFILTERED);
			if (result.has_sd)
				cl_assert_equal_i(result.status,
						  CHECKOUT_WRITTEN);
		}
	}
	if (!ret)
		ret = 1;
	cl_assert(frame.p <= frame.end);
out:
	free(copy);
	return ret;
}

static void check_items(const struct git_hash_algo *algo)
{
	struct checkout_item items[MAX_ITEMS], item;
	size_t nr = sample_items(items, algo);
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;

	strbuf_addstr(&buf, "before");
	put_items(&buf, items, nr);
	strbuf_remove(&buf, 0, strlen("before"));
	strbuf_addstr(&buf, "after");

	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame),
			  buf.len - strlen("after"));
	cl_assert_equal_u(frame.type, WIRE_ITEMS);
	for (size_t i = 0; i < nr; i++) {
		/* nothing of what was there before may survive */
		memset(&item, 0xff, sizeof(item));
		cl_assert_equal_i(wire_get_item(&frame, &item, algo), 1);
		check_item(&items[i], &item);
	}
	cl_assert_equal_i(wire_get_item(&frame, &item, algo), 0);
	cl_assert_equal_i(wire_get_item(&frame, &item, algo), 0);
	strbuf_release(&buf);
}

void test_checkout_wire__items_sha1(void)
{
	check_items(sha1);
}

void test_checkout_wire__items_sha256(void)
{
	check_items(sha256);
}

void test_checkout_wire__eol(void)
{
	struct checkout_item item, got;

	for (int eol = 0; eol <= CRLF_AUTO_CRLF; eol++) {
		struct strbuf buf = STRBUF_INIT;
		struct wire_frame frame;

		init_item(&item, sha1, 1, "path");
		item.ca.crlf_action = eol;
		put_items(&buf, &item, 1);
		cl_assert_gt_i(wire_next_frame(buf.buf, buf.len, &frame), 0);
			cl_assert_equal_i(wire_get_item(&frame, &got, sha1), 1);
		check_item(&item, &got);
		strbuf_release(&buf);
	}
}

static int is_refused(const struct checkout_item *item)
{
	struct strbuf buf = STRBUF_INIT;
	size_t nr;
	int ret;

	put_items(&buf, item, 1);
	ret = decode(buf.buf, buf.len, sha1, &nr) < 0;
	strbuf_release(&buf);
	return ret;
}

/* A donor is for what is written as it is, and one that the writer may have. */
void test_checkout_wire__donor(void)
{
	struct checkout_item item;

	init_item(&item, sha1, 1, "path");
	item.ca.crlf_action = CRLF_AUTO;
	item.donor = 1;
	cl_assert(!is_refused(&item));
	item.donor = CHECKOUT_MAX_DONORS + 1;
	cl_assert(is_refused(&item));
	item.donor = 1;
	item.ca.ident = 1;
	cl_assert(is_refused(&item));
	item.ca.ident = 0;
	item.ca.working_tree_encoding = "UTF-16";
	cl_assert(is_refused(&item));
	item.ca.working_tree_encoding = NULL;
	item.filter = "cat";
	cl_assert(is_refused(&item));
	item.filter = NULL;
	item.mode = S_IFLNK;
	cl_assert(is_refused(&item));
	item.mode = CHECKOUT_REMOVE_FILE;
	cl_assert(is_refused(&item));
}

void test_checkout_wire__results(void)
{
	struct checkout_outcome outcome = {
		.bytes = UINT64_MAX,
		.cloned_files = 0x2122232425262728,
		.cloned_bytes = 0x3132333435363738,
		.removed = 0x4142434445464748,
		.busy_ns = 0x0102030405060708,
	}, got;
	struct checkout_result results[MAX_RESULTS], result;
	size_t nr = sample_results(results);
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;

	put_results(&buf, &outcome, results, nr);
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame), buf.len);
	cl_assert_equal_u(frame.type, WIRE_RESULTS);
	cl_assert_equal_i(wire_get_outcome(&frame, &got), 0);
	cl_assert_equal_u(got.bytes, outcome.bytes);
	cl_assert_equal_u(got.cloned_files, outcome.cloned_files);
	cl_assert_equal_u(got.cloned_bytes, outcome.cloned_bytes);
	cl_assert_equal_u(got.removed, outcome.removed);
	cl_assert_equal_u(got.busy_ns, outcome.busy_ns);
	for (size_t i = 0; i < nr; i++) {
		memset(&result, 0xff, sizeof(result));
		cl_assert_equal_i(wire_get_result(&frame, &result), 1);
		cl_assert_equal_u(result.id, results[i].id);
		cl_assert_equal_i(result.status, results[i].status);
		cl_assert_equal_i(result.has_sd, results[i].has_sd);
		check_sd(&result.sd, &results[i].sd);
	}
	cl_assert_equal_i(wire_get_result(&frame, &result), 0);
	strbuf_release(&buf);
}

void test_checkout_wire__empty_frames(void)
{
	const struct checkout_outcome none = { 0 };
	struct strbuf buf = STRBUF_INIT;
	struct checkout_outcome outcome;
	struct wire_frame frame;
	size_t nr;

	put_items(&buf, NULL, 0);
	cl_assert_equal_u(buf.len, HEAD);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), 1);
	cl_assert_equal_u(nr, 0);

	strbuf_reset(&buf);
	put_results(&buf, &none, NULL, 0);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), 1);
	cl_assert_equal_u(nr, 0);

	/* no outcome either */
	strbuf_reset(&buf);
	wire_end_frame(&buf, wire_begin_frame(&buf, WIRE_RESULTS));
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame), HEAD);
	cl_assert_equal_i(wire_get_outcome(&frame, &outcome), -1);
	strbuf_release(&buf);
}

/* Frames can follow each other without a gap. */
void test_checkout_wire__several_frames(void)
{
	struct checkout_item items[MAX_ITEMS];
	size_t nr = sample_items(items, sha1), pos = 0, seen = 0;
	struct strbuf buf = STRBUF_INIT;

	put_items(&buf, items, 1);
	put_items(&buf, NULL, 0);
	put_items(&buf, items + 1, nr - 1);
	while (pos < buf.len) {
		struct wire_frame frame;
			struct checkout_item item;
		ssize_t n = wire_next_frame(buf.buf + pos, buf.len - pos,
					    &frame);

		cl_assert_gt_i(n, 0);
			while (wire_get_item(&frame, &item, sha1) > 0)
			check_item(&items[seen++], &item);
		pos += n;
	}
	cl_assert_equal_u(seen, nr);
	strbuf_release(&buf);
}

static void sample_frames(struct strbuf *items, struct strbuf *results,
			  const struct git_hash_algo *algo)
{
	const struct checkout_outcome outcome = {
		.busy_ns = 1234,
		.bytes = 56,
	};
	struct checkout_item sample[MAX_ITEMS];
	struct checkout_result sample_result[MAX_RESULTS];
	size_t nr;

	nr = sample_items(sample, algo);
	put_items(items, sample, nr);
	nr = sample_results(sample_result);
	put_results(results, &outcome, sample_result, nr);
}

/* A frame that does not end is asked to be completed. */
static void check_short_frame(const struct strbuf *buf,
			      const struct git_hash_algo *algo)
{
	size_t nr;

	for (size_t len = 0; len < buf->len; len++)
		if (decode(buf->buf, len, algo, &nr))
			cl_failf("complete after %d bytes", (int)len);
}

static void check_short_frames(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;

	sample_frames(&items, &results, algo);
	check_short_frame(&items, algo);
	check_short_frame(&results, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

void test_checkout_wire__short_frames_sha1(void)
{
	check_short_frames(sha1);
}

void test_checkout_wire__short_frames_sha256(void)
{
	check_short_frames(sha256);
}

static void check_cut(const char *buf, size_t len,
		      const struct git_hash_algo *algo, int at_end,
		      size_t complete)
{
	size_t nr;
	int ret = decode(buf, len, algo, &nr);

	if (ret != (at_end ? 1 : -1) || nr != complete)
		cl_failf("cut after %d bytes: %d, %d parts; expected %d, %d",
			 (int)len, ret, (int)nr, at_end ? 1 : -1,
			 (int)complete);
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
		size_t complete = 0;
		int at_end = len == HEAD;

		for (size_t i = 0; i < ends_nr; i++) {
			complete += ends[i] <= len;
			at_end |= ends[i] == len;
		}
		put_be32(copy, len - HEAD);
		check_cut(copy, len, algo, at_end, complete);
	}
	free(copy);
}

static void check_cut_payloads(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;
	struct checkout_item sample[MAX_ITEMS];
	size_t ends[MAX_ITEMS], nr, pos;

	sample_frames(&items, &results, algo);

	nr = sample_items(sample, algo);
	pos = HEAD;
	for (size_t i = 0; i < nr; i++)
		ends[i] = pos += item_size(&sample[i]);
	cl_assert_equal_u(pos, items.len);
	check_cut_payload(&items, ends, nr, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

void test_checkout_wire__cut_payloads_sha1(void)
{
	check_cut_payloads(sha1);
}

void test_checkout_wire__cut_payloads_sha256(void)
{
	check_cut_payloads(sha256);
}

void test_checkout_wire__cut_results(void)
{
	struct strbuf buf = STRBUF_INIT;
	const struct checkout_outcome outcome = { 0 };
	struct checkout_result results[MAX_RESULTS];
	size_t nr = sample_results(results), ends[MAX_RESULTS + 1], pos, i;
	char *copy;

	/* the length of a frame that has one result more than the last */
	for (i = 0; i <= nr; i++) {
		strbuf_reset(&buf);
		put_results(&buf, &outcome, results, i);
		ends[i] = buf.len;
	}

	copy = xmemdupz(buf.buf, buf.len);
	for (pos = HEAD + 1; pos < buf.len; pos++) {
		size_t complete = 0;
		int at_end = 0;

		for (i = 0; i <= nr; i++) {
			complete += i && ends[i] <= pos;
			at_end |= ends[i] == pos;
		}
		put_be32(copy, pos - HEAD);
		check_cut(copy, pos, sha1, at_end, complete);
	}
	free(copy);
	strbuf_release(&buf);
}

/*
 * decode() checks that nothing impossible comes out. A change of the frame's
 * type cannot go unnoticed, nor one of its length, unless that ends between two
 * items, of which there are fewer then.
 */
static void check_flips_in(struct strbuf *buf, const struct git_hash_algo *algo)
{
	size_t all;

	cl_assert_equal_i(decode(buf->buf, buf->len, algo, &all), 1);
	for (size_t i = 0; i < buf->len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			size_t nr = 0;
			int ret;

			buf->buf[i] ^= 1 << bit;
			ret = decode(buf->buf, buf->len, algo, &nr);
			if (i >= 4 && i < HEAD && ret != -1)
				cl_failf("type: flipped bit %d of byte %d",
					 bit, (int)i);
			if (i < 4 && ret >= 1 && nr >= all)
				cl_failf("length: flipped bit %d of byte %d",
					 bit, (int)i);
			buf->buf[i] ^= 1 << bit;
		}
	}
}

static void check_flips(const struct git_hash_algo *algo)
{
	struct strbuf items = STRBUF_INIT, results = STRBUF_INIT;

	sample_frames(&items, &results, algo);
	check_flips_in(&items, algo);
	check_flips_in(&results, algo);
	strbuf_release(&items);
	strbuf_release(&results);
}

void test_checkout_wire__flips_sha1(void)
{
	check_flips(sha1);
}

void test_checkout_wire__flips_sha256(void)
{
	check_flips(sha256);
}

/* Any single byte in place of any other. */
void test_checkout_wire__bytes(void)
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

void test_checkout_wire__frame_length(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct wire_frame frame;

	strbuf_grow(&buf, HEAD + WIRE_MAX_PAYLOAD);
	wire_begin_frame(&buf, WIRE_ITEMS);
	put_be32(buf.buf, WIRE_MAX_PAYLOAD);
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame), 0);
	strbuf_addchars(&buf, 'x', WIRE_MAX_PAYLOAD - 1);
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame), 0);
	strbuf_addch(&buf, 'x');
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame),
			  HEAD + WIRE_MAX_PAYLOAD);
	cl_assert_equal_u(frame.end - frame.p, WIRE_MAX_PAYLOAD);

	/*
	 * what can never be completed is refused as soon as the head is there
	 */
	put_be32(buf.buf, WIRE_MAX_PAYLOAD + 1);
	cl_assert_equal_i(wire_next_frame(buf.buf, HEAD - 1, &frame), 0);
	cl_assert_equal_i(wire_next_frame(buf.buf, HEAD, &frame), -1);
	put_be32(buf.buf, UINT32_MAX);
	cl_assert_equal_i(wire_next_frame(buf.buf, HEAD, &frame), -1);
	cl_assert_equal_i(wire_next_frame(buf.buf, buf.len, &frame), -1);
	strbuf_release(&buf);
}

/* The largest item that fits into a frame. */
void test_checkout_wire__long_path(void)
{
	struct strbuf path = STRBUF_INIT, buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha256, 1, "");
	strbuf_addchars(&path, 'x',
			WIRE_MAX_PAYLOAD - item_size(&item));
	item.path = path.buf;
	item.path_len = path.len;
	cl_assert_equal_u(item_size(&item), WIRE_MAX_PAYLOAD);
	put_items(&buf, &item, 1);
	cl_assert_equal_u(buf.len, HEAD + WIRE_MAX_PAYLOAD);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha256, &nr), 1);
	cl_assert_equal_u(nr, 1);
	strbuf_release(&path);
	strbuf_release(&buf);
}

void test_checkout_wire__modes(void)
{
	const uint32_t good[] = { S_IFREG | 0644, S_IFREG | 0755, S_IFLNK,
				  CHECKOUT_REMOVE_FILE, CHECKOUT_REMOVE_DIR };
	const uint32_t bad[] = { 1, 0644, S_IFDIR | 0755, S_IFLNK | 0644,
				 S_IFREG, S_IFREG | 0664, 0160000, UINT32_MAX };
	struct checkout_item item;

	init_item(&item, sha1, 1, "path");
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		item.mode = good[i];
		if (is_refused(&item))
			cl_failf("mode: %o", (unsigned)good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		item.mode = bad[i];
		if (!is_refused(&item))
			cl_failf("mode: %o", (unsigned)bad[i]);
	}
}

void test_checkout_wire__eol_range(void)
{
	struct checkout_item item;

	init_item(&item, sha1, 1, "path");
	item.ca.crlf_action = CRLF_AUTO_CRLF;
	cl_assert(!is_refused(&item));
	item.ca.crlf_action = CRLF_AUTO_CRLF + 1;
	cl_assert(is_refused(&item));
	item.ca.crlf_action = -1;
	cl_assert(is_refused(&item));
}

/* A NUL ends a string, so it shifts what comes after it. */
void test_checkout_wire__strings(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha1, 1, "path");
	put_items(&buf, &item, 1);
	for (size_t i = 1; i <= strlen("path") + 2; i++) {
		char *p = buf.buf + buf.len - i;
		char c = *p;

		*p = c ? 0 : 'x';
		cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), -1);
		*p = c;
	}
	cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), 1);
	strbuf_release(&buf);

	init_item(&item, sha1, 1, "");
	cl_assert(is_refused(&item));
}

/* Only what has a filter can have a process, and only that can delay. */
void test_checkout_wire__filter_flags(void)
{
	struct checkout_item item;

	init_item(&item, sha1, 1, "p");
	for (int i = 0; i < 16; i++) {
		item.filter = i & 1 ? "cat" : NULL;
		item.required = !!(i & 2);
		item.is_process = !!(i & 4);
		item.can_delay = !!(i & 8);
		if (is_refused(&item) !=
		    ((!item.filter && (item.required || item.is_process)) ||
		     (!item.is_process && item.can_delay)))
			cl_failf("flags: %x", (unsigned)i);
	}
}

void test_checkout_wire__status(void)
{
	const struct checkout_outcome outcome = { 0 };
	struct checkout_result result;
	size_t nr;

	for (int i = 0; i < 512; i++) {
		struct strbuf buf = STRBUF_INIT;
		int status = i / 2, good = status >= CHECKOUT_WRITTEN &&
			status <= CHECKOUT_UNFILTERED;

		memset(&result, 0, sizeof(result));
		result.status = status;
		result.has_sd = i & 1;
		if (result.has_sd)
			good = status == CHECKOUT_WRITTEN;
		put_results(&buf, &outcome, &result, 1);
		if (decode(buf.buf, buf.len, sha1, &nr) != (good ? 1 : -1))
			cl_failf("status: %d", i);
		strbuf_release(&buf);
	}
}

/* An item for the other algorithm does not fit, one for none always does. */
void test_checkout_wire__other_algorithm(void)
{
	struct strbuf buf = STRBUF_INIT;
	struct checkout_item item;
	size_t nr;

	init_item(&item, sha1, 1, "p");
	put_items(&buf, &item, 1);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha256, &nr), -1);
	cl_assert_equal_u(nr, 0);
	strbuf_reset(&buf);
	init_item(&item, sha256, 1, "p");
	put_items(&buf, &item, 1);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), -1);
	strbuf_reset(&buf);
	item.oid.algo = GIT_HASH_UNKNOWN;
	put_items(&buf, &item, 1);
	cl_assert_equal_i(decode(buf.buf, buf.len, sha1, &nr), 1);
	cl_assert_equal_u(nr, 1);
	strbuf_release(&buf);
}

#ifndef GIT_WINDOWS_NATIVE
static void on_alarm(int sig MAYBE_UNUSED)
{
}

/* Wait for so many milliseconds; it has to last as long if nothing comes. */
static int waits(int fd, int ms)
{
	uint64_t end_ns = getnanotime() + ms * (uint64_t)1000000;
	int ret = wire_wait(fd, end_ns);

	if (ret)
		cl_assert(getnanotime() >= end_ns);
	return ret;
}

void test_checkout_wire__wait(void)
{
	const struct itimerval soon = { { 0 }, { 0, 5000 } };
	struct sigaction sa = { .sa_handler = on_alarm }, old_sa;
	struct rlimit limit, few;
	struct pollfd pollfd = { .events = POLLIN };
	uint64_t end_ns;
	int fd[2];

	cl_must_pass(pipe(fd));
	pollfd.fd = fd[0];
	cl_assert_equal_i(wire_wait(fd[0], 0), -1);
	cl_assert_equal_i(waits(fd[0], 20), -1);

	/* interrupted, as by the timer of the progress */
	cl_must_pass(sigaction(SIGALRM, &sa, &old_sa));
	cl_must_pass(setitimer(ITIMER_REAL, &soon, NULL));
	cl_assert_equal_i(waits(fd[0], 50), -1);
	cl_must_pass(sigaction(SIGALRM, &old_sa, NULL));

	/* a poll() that fails does not get better; valgrind's does not fail */
	cl_must_pass(getrlimit(RLIMIT_NOFILE, &limit));
	few = limit;
	few.rlim_cur = 0;
	cl_must_pass(setrlimit(RLIMIT_NOFILE, &few));
	if (poll(&pollfd, 1, 0) < 0) {
		end_ns = getnanotime() + 5 * (uint64_t)1000000000;
		cl_assert_equal_i(wire_wait(fd[0], end_ns), -1);
		cl_assert(getnanotime() < end_ns);
	}
	cl_must_pass(setrlimit(RLIMIT_NOFILE, &limit));

	/* what comes, and the end */
	cl_assert_equal_i(write(fd[1], "x", 1), 1);
	cl_assert_equal_i(wire_wait(fd[0], 0), 0);
	cl_assert_equal_i(waits(fd[0], 5000), 0);
	close(fd[1]);
	cl_assert_equal_i(xread(fd[0], &(char){ 0 }, 1), 1);
	cl_assert_equal_i(wire_wait(fd[0], 0), 0);
	close(fd[0]);
}
#endif
