/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that knows libdeflate; see whole-inflate.h. Numbers in comments
 * are sections of RFC 1951.
 */
#include "git-compat-util.h"
#include "git-zlib.h"
#include "odb.h"
#include "parse.h"
#include "trace.h"
#include "whole-inflate.h"

#ifdef USE_LIBDEFLATE

#include <libdeflate.h>

/* A stream, and how many bits of it have been read. */
struct bits {
	const unsigned char *in;
	size_t len, pos;
};

/*
 * The next n bits, at most 8, where the least significant one of each byte
 * comes first (3.1.1). Behind the end there are zeros: a stream that needs them
 * is cut off, which libdeflate sees.
 */
static unsigned int peek_bits(const struct bits *b, unsigned int n)
{
	size_t i = b->pos / 8;
	unsigned int hold = i < b->len ? b->in[i] : 0;

	if (i + 1 < b->len)
		hold |= b->in[i + 1] << 8;
	return hold >> b->pos % 8 & ((1u << n) - 1);
}

static unsigned int take_bits(struct bits *b, unsigned int n)
{
	unsigned int ret = peek_bits(b, n);

	b->pos += n;
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
			unsigned int bit = 1 << (len - 1);

			if (lens[i] != len)
				continue;
			for (unsigned int at = code; at < PRECODE_SPACE;
			     at += 1 << len)
				table[at] = PRECODE_ENTRY(i, len);
			/* add 1 to what is read from that bit down */
			for (; code & bit; bit >>= 1)
				code ^= bit;
			code |= bit;
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

		symbol = precode[peek_bits(b, MAX_PRECODE_LEN)];
		b->pos += symbol & 7;
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
	struct bits b = { .in = in, .len = len, .pos = 16 };
	unsigned int type;

	/*
	 * RFC 1950: deflated with the largest window, without a dictionary. To
	 * zlib, a smaller window matters where it does not inflate at once.
	 */
	if (len < 2 || in[0] != 0x78 || (in[0] << 8 | in[1]) % 31 ||
	    in[1] & 0x20)
		return 0;
	if (!take_bits(&b, 1))
		return 0;
	type = take_bits(&b, 2);
	return !type || (type == 2 && has_complete_codes(&b));
}

struct libdeflate_decompressor *whole_inflater_new(void)
{
	return git_env_bool("GIT_TEST_WHOLE_INFLATE", 1) ?
		libdeflate_alloc_decompressor() : NULL;
}

void whole_inflater_free(struct libdeflate_decompressor *inflater)
{
	libdeflate_free_decompressor(inflater);
}

static int inflate_whole(struct libdeflate_decompressor *inflater, int strict,
			 const void *in, size_t in_len,
			 void *out, size_t out_len, size_t *in_used)
{
	if (!inflater || (strict && !is_unambiguous(in, in_len)) ||
	    libdeflate_zlib_decompress_ex(inflater, in, in_len, out, out_len,
					  in_used, NULL))
		return -1;
	return 0;
}

uint32_t whole_crc32(uint32_t crc, const void *in, unsigned int len)
{
	return libdeflate_crc32(crc, in, len);
}

#else

struct libdeflate_decompressor *whole_inflater_new(void)
{
	return NULL;
}

void whole_inflater_free(struct libdeflate_decompressor *inflater UNUSED)
{
}

static int inflate_whole(struct libdeflate_decompressor *inflater UNUSED,
			 int strict UNUSED,
			 const void *in UNUSED, size_t in_len UNUSED,
			 void *out UNUSED, size_t out_len UNUSED,
			 size_t *in_used UNUSED)
{
	return -1;
}

uint32_t whole_crc32(uint32_t crc, const void *in, unsigned int len)
{
	return crc32(crc, in, len);
}

#endif

int whole_inflate(struct libdeflate_decompressor *inflater,
		  const void *in, size_t in_len,
		  void *out, size_t out_len, size_t *in_used)
{
	return inflate_whole(inflater, 1, in, in_len, out, out_len, in_used);
}

/*
 * There are as many of these as there ever were threads that inflated at the
 * same moment. They are taken and put back while the lock of obj_read_lock() is
 * held, so no other lock is needed, and no storage per thread that had to be
 * released.
 */
static struct libdeflate_decompressor **spare;
static size_t spare_nr, spare_alloc;
static int has_none;		/* and need not be asked again */
static int strict;		/* set before there are threads */

void whole_inflate_strictly(void)
{
	strict = 1;
}

int whole_inflate_object(const void *in, size_t in_len,
			 void *out, size_t out_len, size_t *in_used)
{
	static struct trace_key key = TRACE_KEY_INIT(WHOLE_INFLATE);
	struct libdeflate_decompressor *inflater;
	int ret;

	if (has_none)
		return -1;
	inflater = spare_nr ? spare[--spare_nr] : whole_inflater_new();
	if (!inflater) {
		has_none = 1;
		return -1;
	}

	obj_read_unlock();
	ret = inflate_whole(inflater, strict, in, in_len, out, out_len,
			    in_used);
	obj_read_lock();

	ALLOC_GROW(spare, spare_nr + 1, spare_alloc);
	spare[spare_nr++] = inflater;
	trace_printf_key(&key, "%"PRIuMAX" %s\n", (uintmax_t)out_len,
			 ret ? "refused" : "done");
	return ret;
}
