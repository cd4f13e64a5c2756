/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * whole-inflate.h against zlib: what one accepts and yields, the other does.
 */
#include "unit-test.h"
#include "git-zlib.h"
#include "strbuf.h"
#include "whole-inflate.h"

static struct whole_inflater *inflater;

void test_whole_inflate__initialize(void)
{
	inflater = whole_inflater_new();
	if (!inflater)
		cl_skip(); /* built without USE_LIBDEFLATE */
}

void test_whole_inflate__cleanup(void)
{
	whole_inflater_free(inflater);
	inflater = NULL;
}

/* Lengths of texts; up to SHORT, each bit is damaged. */
static const size_t lens[] = { 0, 1, 100, 5000, 200000 };
#define SHORT 5000

/* Some text that compresses well and badly in turn, without a random seed. */
static void make_text(struct strbuf *text, size_t len)
{
	uint32_t state = 1;

	while (text->len < len) {
		state = state * 1103515245 + 12345;
		if (state & 0x30000)
			strbuf_addf(text, "line %"PRIuMAX"\n",
				    (uintmax_t)text->len);
		else
			strbuf_addch(text, state >> 24);
	}
	strbuf_setlen(text, len);
}

static void deflate_text(struct strbuf *out, const struct strbuf *text,
			 int level)
{
	git_zstream s = { 0 };

	git_deflate_init(&s, level);
	strbuf_grow(out, git_deflate_bound(&s, text->len));
	s.next_in = (unsigned char *)text->buf;
	s.avail_in = text->len;
	s.next_out = (unsigned char *)out->buf;
	s.avail_out = strbuf_avail(out);
	while (git_deflate(&s, Z_FINISH) == Z_OK)
		; /* go on */
	git_deflate_end(&s);
	strbuf_setlen(out, s.total_out);
}

/* zlib without git_inflate(), which would print what it dislikes */
static int zlib_accepts(const char *in, size_t in_len, char *out, size_t size)
{
	uLongf out_len = size;

	return uncompress((Bytef *)out, &out_len, (const Bytef *)in, in_len) ==
	       Z_OK && out_len == size;
}

/*
 * Inflate from and to buffers of exactly the given lengths, so that a checker
 * of memory accesses notices what goes beyond.
 */
static int inflate_exactly(const char *in, size_t in_len,
			   const struct strbuf *expect, size_t *in_used)
{
	char *in_copy = xmemdupz(in, in_len);
	char *out = xmalloc(expect->len);
	int ret;

	in_copy = xrealloc(in_copy, in_len);
	ret = whole_inflate(inflater, in_copy, in_len, out, expect->len,
			    NULL, in_used);
	if (!ret)
		cl_assert(!memcmp(out, expect->buf, expect->len));
	free(in_copy);
	free(out);
	return ret;
}

/* cl_assert() that says which text it is about */
#define CHECK(expr) do { \
	if (!(expr)) \
		cl_failf("%s: %"PRIuMAX" bytes, level %d", #expr, \
			 (uintmax_t)len, level); \
} while (0)

static void check_round_trip(size_t len, int level)
{
	struct strbuf text = STRBUF_INIT, z = STRBUF_INIT, out = STRBUF_INIT;
	size_t z_len, in_used = 0, out_used = 0;

	make_text(&text, len);
	deflate_text(&z, &text, level);
	z_len = z.len;

	CHECK(!inflate_exactly(z.buf, z.len, &text, &in_used));
	CHECK(in_used == z_len);

	/* What follows is left alone, but does no harm. */
	strbuf_addstr(&z, "something else");
	in_used = 0;
	CHECK(!inflate_exactly(z.buf, z.len, &text, &in_used));
	CHECK(in_used == z_len);

	/* more room than needed: fine only if the caller asks how much */
	strbuf_grow(&out, len + 1);
	in_used = 17;
	CHECK(whole_inflate(inflater, z.buf, z.len, out.buf, len + 1,
			    NULL, &in_used) == -1);
	CHECK(in_used == 17);
	CHECK(!whole_inflate(inflater, z.buf, z.len, out.buf, len + 1,
			     &out_used, NULL));
	CHECK(out_used == len);
	CHECK(!memcmp(out.buf, text.buf, len));

	/* less room than needed */
	if (len) {
		out_used = 17;
		CHECK(whole_inflate(inflater, z.buf, z.len, out.buf, len - 1,
				    &out_used, NULL) == -1);
		CHECK(out_used == 17);
		CHECK(whole_inflate(inflater, z.buf, z.len, out.buf, len - 1,
				    NULL, NULL) == -1);
	}

	strbuf_release(&text);
	strbuf_release(&z);
	strbuf_release(&out);
}

static void check_truncated(size_t len, int level)
{
	struct strbuf text = STRBUF_INIT, z = STRBUF_INIT;

	make_text(&text, len);
	deflate_text(&z, &text, level);
	for (size_t i = 0; i < z.len; i++)
		if (inflate_exactly(z.buf, i, &text, NULL) != -1)
			cl_failf("%"PRIuMAX" bytes, level %d, cut after byte %"
				 PRIuMAX, (uintmax_t)len, level, (uintmax_t)i);
	strbuf_release(&text);
	strbuf_release(&z);
}

static void check_flipped_bit(size_t len, int level)
{
	struct strbuf text = STRBUF_INIT, z = STRBUF_INIT;
	size_t accepted = 0;

	make_text(&text, len);
	deflate_text(&z, &text, level);
	for (size_t i = 0; i < z.len * 8; i++) {
		char *out = xmalloc(len);
		int zlib, ours;

		z.buf[i / 8] ^= 1 << i % 8;
		zlib = zlib_accepts(z.buf, z.len, out, len);
		/* this compares with the right content as well */
		ours = !inflate_exactly(z.buf, z.len, &text, NULL);
		z.buf[i / 8] ^= 1 << i % 8;
		/* the other way round it can happen, see whole-inflate.h */
		if (zlib && !ours)
			cl_failf("%"PRIuMAX" bytes, level %d, flipped bit %"
				 PRIuMAX": %d, zlib %d", (uintmax_t)len, level,
				 (uintmax_t)i, ours, zlib);
		accepted += ours;
		free(out);
	}
	/* There are such bits (padding), but most make a difference. */
	CHECK(accepted < z.len);
	strbuf_release(&text);
	strbuf_release(&z);
}

void test_whole_inflate__round_trip(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		for (int level = 0; level <= 9; level += 3)
			check_round_trip(lens[i], level);
}

void test_whole_inflate__truncated(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		if (lens[i] > SHORT)
			continue;
		check_truncated(lens[i], 6);
		check_truncated(lens[i], 0);
	}
}

void test_whole_inflate__flipped_bit(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		if (lens[i] <= SHORT)
			check_flipped_bit(lens[i], 6);
}

void test_whole_inflate__no_inflater(void)
{
	struct strbuf text = STRBUF_INIT, z = STRBUF_INIT;
	char out[100];

	make_text(&text, sizeof(out));
	deflate_text(&z, &text, 6);
	cl_assert_equal_i(whole_inflate(NULL, z.buf, z.len, out, sizeof(out),
					NULL, NULL), -1);
	whole_inflater_free(NULL);
	strbuf_release(&text);
	strbuf_release(&z);
}

void test_whole_inflate__crc32(void)
{
	struct strbuf text = STRBUF_INIT;

	make_text(&text, 5000);
	for (size_t i = 0; i <= text.len; i = i * 2 + 1) {
		const unsigned char *p = (unsigned char *)text.buf;
		uint32_t expect = crc32(0, p, text.len);

		cl_assert_equal_u(whole_crc32(0, p, i), crc32(0, p, i));
		cl_assert_equal_u(whole_crc32(whole_crc32(0, p, i), p + i,
					      text.len - i), expect);
	}
	cl_assert_equal_u(whole_crc32(17, NULL, 0), 17);
	strbuf_release(&text);
}
