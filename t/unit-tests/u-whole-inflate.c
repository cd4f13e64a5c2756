/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * whole-inflate.h against zlib: what one accepts and yields, the other does.
 */
#include "unit-test.h"
#include "git-zlib.h"
#include "lib-random-deflate.h"
#include "parse.h"
#include "strbuf.h"
#include "whole-inflate.h"

#ifdef USE_LIBDEFLATE
#include <libdeflate.h>
#endif

static struct libdeflate_decompressor *inflater;

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
static int inflate_exactly(int strict, const char *in, size_t in_len,
			   const struct strbuf *expect, size_t *in_used)
{
	char *in_copy = xmemdupz(in, in_len);
	char *out = xmalloc(expect->len);
	int ret;

	in_copy = xrealloc(in_copy, in_len);
	ret = strict ?
		whole_inflate(inflater, in_copy, in_len, out, expect->len,
			      in_used) :
		whole_inflate_object(in_copy, in_len, out, expect->len,
				     in_used);
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
	size_t z_len, in_used = 0;

	make_text(&text, len);
	deflate_text(&z, &text, level);
	z_len = z.len;

	CHECK(!inflate_exactly(0, z.buf, z.len, &text, &in_used));
	CHECK(in_used == z_len);

	/* What follows is left alone, but does no harm. */
	strbuf_addstr(&z, "something else");
	in_used = 0;
	CHECK(!inflate_exactly(0, z.buf, z.len, &text, &in_used));
	CHECK(in_used == z_len);

	/* more room than needed, and less */
	strbuf_grow(&out, len + 1);
	CHECK(whole_inflate_object(z.buf, z.len, out.buf, len + 1, NULL) == -1);
	if (len)
		CHECK(whole_inflate_object(z.buf, z.len, out.buf, len - 1,
					   NULL) == -1);

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
		if (inflate_exactly(0, z.buf, i, &text, NULL) != -1)
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
		int zlib, ours, ours_strict;

		z.buf[i / 8] ^= 1 << i % 8;
		zlib = zlib_accepts(z.buf, z.len, out, len);
		/* this compares with the right content as well */
		ours = !inflate_exactly(0, z.buf, z.len, &text, NULL);
		ours_strict = !inflate_exactly(1, z.buf, z.len, &text, NULL);
		z.buf[i / 8] ^= 1 << i % 8;
		/* the other way round it can happen, see whole-inflate.h */
		if ((zlib && !ours) || (!zlib && ours_strict))
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
					NULL), -1);
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
	strbuf_release(&text);
}

#ifdef USE_LIBDEFLATE

#define MAX_INFLATED 200000

/*
 * Make a zlib stream of what was deflated, with the checksum of what libdeflate
 * inflates it to, as one who wants it to be accepted would do. Return how much
 * that is; if it is nothing, the rest does not matter.
 */
static size_t seal(struct libdeflate_decompressor *d, struct strbuf *z,
		   const struct strbuf *raw, unsigned char *out,
		   uint64_t *state)
{
	/* now and then, a small window, a dictionary, a wrong check */
	static const unsigned char headers[][2] = {
		{ 0x18, 0x19 }, { 0x78, 0xbb }, { 0x78, 0x02 }, { 0x88, 0x1c }
	};
	uint32_t which = random_below(state, 200);
	const unsigned char *hdr = (const unsigned char *)"\x78\x9c";
	size_t used = raw->len, size = 0;
	uint32_t check;

	if (which < ARRAY_SIZE(headers))
		hdr = headers[which];
	if (libdeflate_deflate_decompress_ex(d, raw->buf, raw->len, out,
					     MAX_INFLATED, &used, &size))
		size = 0;
	check = htonl(libdeflate_adler32(1, out, size));
	strbuf_add(z, hdr, 2);
	strbuf_add(z, raw->buf, used);
	strbuf_add(z, &check, sizeof(check));
	return size;
}

static void mutate(struct strbuf *raw, uint64_t *state)
{
	for (int i = random_below(state, 4); i >= 0 && raw->len; i--) {
		/* Headers of blocks are what matters most. */
		size_t max = random_below(state, 2) || raw->len < 90 ?
			raw->len : 90;
		size_t pos = random_below(state, max);

		if (random_below(state, 8))
			raw->buf[pos] ^= 1 << random_below(state, 8);
		else if (random_below(state, 4))
			raw->buf[pos] = random_below(state, 256);
		else
			strbuf_setlen(raw, pos);
	}
}

/* How often something happened. */
struct seen {
	unsigned long zlib, strict, lenient;
	unsigned long litlens, dists, numbers;
};

static void compare(uint64_t seed, struct libdeflate_decompressor *d,
		    struct seen *seen)
{
	static unsigned char expect[MAX_INFLATED], out[MAX_INFLATED];
	struct strbuf raw = STRBUF_INIT, z = STRBUF_INIT;
	uint64_t state = seed;
	z_stream s = { 0 };
	size_t size, used;
	int zlib;

	random_deflate(&raw, &state);
	if (!random_below(&state, 3))
		mutate(&raw, &state);
	size = seal(d, &z, &raw, expect, &state);

	cl_must_pass(inflateInit(&s));
	s.next_in = (Bytef *)z.buf;
	s.avail_in = z.len;
	s.next_out = out;
	s.avail_out = size;
	zlib = inflate(&s, Z_FINISH) == Z_STREAM_END && s.total_out == size;
	if (zlib && memcmp(out, expect, size))
		cl_failf("stream %"PRIuMAX": zlib makes something else of it",
			 (uintmax_t)seed);
	seen->zlib += zlib;

	memset(out, 0, size);
	if (!whole_inflate(inflater, z.buf, z.len, out, size, &used)) {
		seen->strict++;
		if (!zlib)
			cl_failf("stream %"PRIuMAX": zlib says: %s",
				 (uintmax_t)seed, s.msg ? s.msg : "too short");
		if (used != s.total_in || memcmp(out, expect, size))
			cl_failf("stream %"PRIuMAX": something else",
				 (uintmax_t)seed);
	}
	if (!whole_inflate_object(z.buf, z.len, out, size, NULL) && !zlib) {
		const char *msg = s.msg ? s.msg : "";

		seen->lenient++;
		seen->litlens += !strcmp(msg, "invalid literal/length code");
		seen->dists += !strcmp(msg, "invalid distance code");
		seen->numbers += starts_with(msg, "too many length or dist");
	}
	inflateEnd(&s);
	strbuf_release(&raw);
	strbuf_release(&z);
}

static void compare_random_streams(void)
{
	unsigned long n = git_env_ulong("GIT_TEST_DEFLATE_STREAMS", 20000);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	struct seen seen = { 0 };

	for (unsigned long i = 0; i < n; i++)
		compare(i, d, &seen);
	libdeflate_free_decompressor(d);

	/* Is there anything that could have been found? */
	if (n >= 20000) {
		cl_assert(seen.zlib > n / 5);
		cl_assert(seen.strict > n / 10);
		cl_assert(seen.lenient > n / 100);
		cl_assert(seen.litlens && seen.dists && seen.numbers);
	}
}

#endif

/* With GIT_TEST_DEFLATE_STREAMS=<n>, that many; see t/README. */
void test_whole_inflate__random_streams(void)
{
#ifdef USE_LIBDEFLATE
	compare_random_streams();
#endif
}
