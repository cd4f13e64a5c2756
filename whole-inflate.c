/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that knows libdeflate; see whole-inflate.h. Numbers in comments
 * are sections of RFC 1951.
 */
#include "git-compat-util.h"
#include "parse.h"
#include "whole-inflate.h"

#ifdef USE_LIBDEFLATE

#include <libdeflate.h>

struct whole_inflater {
	struct libdeflate_decompressor *libdeflate;
	unsigned lenient : 1;
};

/* Bits of a stream, the least significant one of each byte first (3.1.1). */
struct bits {
	const unsigned char *next, *end;
	uint32_t hold;
	unsigned int count;
};

/*
 * Have n bits in "hold", at most 24. Behind the end there are zeros: a stream
 * that needs them is cut off, which libdeflate sees.
 */
static void need_bits(struct bits *b, unsigned int n)
{
	while (b->count < n) {
		if (b->next < b->end)
			b->hold |= (uint32_t)*b->next++ << b->count;
		b->count += 8;
	}
}

static unsigned int take_bits(struct bits *b, unsigned int n)
{
	unsigned int ret;

	need_bits(b, n);
	ret = b->hold & ((1u << n) - 1);
	b->hold >>= n;
	b->count -= n;
	return ret;
}

/* Limits of zlib; deflate can express 288 and 32 (3.2.5, 3.2.7). */
#define MAX_LITLEN_CODES	286
#define MAX_DIST_CODES		30

#define NR_PRECODES	19
#define MAX_PRECODE_LEN	7
#define PRECODE_SPACE	(1 << MAX_PRECODE_LEN)
#define PRECODE_ENTRY(symbol, len)	((symbol) << 3 | (len))

/*
 * Do codes of these lengths (0 is none) use all that there is to be used, and
 * not more? If so, each sequence of bits means something.
 */
static int is_complete(const unsigned char *lens, unsigned int nr)
{
	uint32_t used = 0;

	for (unsigned int i = 0; i < nr; i++)
		used += (0x8000 >> lens[i]) & 0x7fff;
	return used == 0x8000;
}

/*
 * Make the table of the code that the lengths of codes are written in: for each
 * sequence of MAX_PRECODE_LEN bits, what it begins with. Returns 0, or -1 if
 * the code is not complete. Codes are assigned in the order of their lengths
 * (3.2.2), and are read from their most significant bit on.
 */
static int make_precode(struct bits *b, unsigned char *table)
{
	static const unsigned char order[NR_PRECODES] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
	};
	unsigned char lens[NR_PRECODES] = { 0 };
	unsigned int nr = take_bits(b, 4) + 4, code = 0;

	for (unsigned int i = 0; i < nr; i++)
		lens[order[i]] = take_bits(b, 3);
	if (!is_complete(lens, NR_PRECODES))
		return -1;

	for (unsigned int len = 1; len <= MAX_PRECODE_LEN; len++) {
		for (unsigned int i = 0; i < NR_PRECODES; i++) {
			unsigned int reversed = 0;

			if (lens[i] != len)
				continue;
			for (unsigned int bit = 0; bit < MAX_PRECODE_LEN; bit++)
				if (code & (1 << bit))
					reversed |= PRECODE_SPACE >> 1 >> bit;
			for (; reversed < PRECODE_SPACE; reversed += 1 << len)
				table[reversed] = PRECODE_ENTRY(i, len);
			code += PRECODE_SPACE >> len;
		}
	}
	return 0;
}

/*
 * Is the header of a block with codes of its own (3.2.7) one that zlib accepts,
 * and are its codes complete? These are the rules of zlib's inflate() and
 * inflate_table(). zlib also accepts a single code of one bit; we do not, since
 * the other bit is an error then.
 */
static int has_complete_codes(struct bits *b)
{
	unsigned char lens[MAX_LITLEN_CODES + MAX_DIST_CODES];
	unsigned char precode[PRECODE_SPACE];
	unsigned int litlens = take_bits(b, 5) + 257;
	unsigned int dists = take_bits(b, 5) + 1;
	unsigned int nr = 0;

	/* "too many length or distance symbols" */
	if (litlens > MAX_LITLEN_CODES || dists > MAX_DIST_CODES)
		return 0;
	/* "invalid code lengths set" */
	if (make_precode(b, precode))
		return 0;

	while (nr < litlens + dists) {
		unsigned int symbol, times = 1, len = 0;

		need_bits(b, MAX_PRECODE_LEN);
		symbol = precode[b->hold & (PRECODE_SPACE - 1)];
		take_bits(b, symbol & 7);
		symbol >>= 3;
		if (symbol < 16) {
			len = symbol;
		} else if (symbol == 16) {
			if (!nr)
				return 0; /* "invalid bit length repeat" */
			len = lens[nr - 1];
			times = take_bits(b, 2) + 3;
		} else if (symbol == 17) {
			times = take_bits(b, 3) + 3;
		} else {
			times = take_bits(b, 7) + 11;
		}
		if (times > litlens + dists - nr)
			return 0; /* "invalid bit length repeat" */
		memset(lens + nr, len, times);
		nr += times;
	}

	/* "missing end-of-block", "invalid literal/lengths or distances set" */
	return lens[256] && is_complete(lens, litlens) &&
		is_complete(lens + litlens, dists);
}

/*
 * Can nobody take the stream for anything else than zlib does? That is so if it
 * is one block that is stored (3.2.4) or has complete codes. Where a second
 * block begins can only be known by inflating the first; and with the fixed
 * codes (3.2.6), some sequences of bits have no meaning.
 */
static int is_unambiguous(const unsigned char *in, size_t len)
{
	struct bits b = { 0 };
	unsigned int type;

	/*
	 * RFC 1950: deflated with the largest window, without a dictionary. To
	 * zlib, a smaller window matters where it does not inflate at once.
	 */
	if (len < 2 || in[0] != 0x78 || (in[0] << 8 | in[1]) % 31 ||
	    in[1] & 0x20)
		return 0;
	b.next = in + 2;
	b.end = in + len;
	if (!take_bits(&b, 1))
		return 0;
	type = take_bits(&b, 2);
	return !type || (type == 2 && has_complete_codes(&b));
}

static struct whole_inflater *new_inflater(unsigned int lenient)
{
	struct whole_inflater *inflater;

	if (!git_env_bool("GIT_TEST_WHOLE_INFLATE", 1))
		return NULL;
	CALLOC_ARRAY(inflater, 1);
	inflater->lenient = lenient;
	inflater->libdeflate = libdeflate_alloc_decompressor();
	if (!inflater->libdeflate)
		FREE_AND_NULL(inflater);
	return inflater;
}

struct whole_inflater *whole_inflater_new(void)
{
	return new_inflater(0);
}

struct whole_inflater *whole_inflater_new_lenient(void)
{
	return new_inflater(1);
}

void whole_inflater_free(struct whole_inflater *inflater)
{
	if (!inflater)
		return;
	libdeflate_free_decompressor(inflater->libdeflate);
	free(inflater);
}

int whole_inflate(struct whole_inflater *inflater,
		  const void *in, size_t in_len,
		  void *out, size_t out_len,
		  size_t *out_used, size_t *in_used)
{
	size_t in_actual, out_actual;

	if (!inflater ||
	    (!inflater->lenient && !is_unambiguous(in, in_len)) ||
	    libdeflate_zlib_decompress_ex(inflater->libdeflate, in, in_len,
					  out, out_len,
					  &in_actual, &out_actual))
		return -1;
	if (out_used)
		*out_used = out_actual;
	else if (out_actual != out_len)
		return -1;
	if (in_used)
		*in_used = in_actual;
	return 0;
}

uint32_t whole_crc32(uint32_t crc, const void *in, size_t len)
{
	/* NULL would have it return the initial value. */
	return in ? libdeflate_crc32(crc, in, len) : crc;
}

#else

#include "git-zlib.h"

struct whole_inflater *whole_inflater_new(void)
{
	return NULL;
}

struct whole_inflater *whole_inflater_new_lenient(void)
{
	return NULL;
}

void whole_inflater_free(struct whole_inflater *inflater UNUSED)
{
}

int whole_inflate(struct whole_inflater *inflater UNUSED,
		  const void *in UNUSED, size_t in_len UNUSED,
		  void *out UNUSED, size_t out_len UNUSED,
		  size_t *out_used UNUSED, size_t *in_used UNUSED)
{
	return -1;
}

uint32_t whole_crc32(uint32_t crc, const void *in, size_t len)
{
	const unsigned char *p = in;

	/* zlib counts in unsigned int. */
	while (len) {
		uInt n = len < INT_MAX ? len : INT_MAX;

		crc = crc32(crc, p, n);
		p += n;
		len -= n;
	}
	return crc;
}

#endif
