/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A deflater with nothing to deflate; see lib-random-deflate.h. Numbers in
 * comments are sections of RFC 1951.
 */
#include "git-compat-util.h"
#include "lib-random-deflate.h"

#define MAX_LITLENS	288
#define MAX_DISTS	32
#define NR_PRECODES	19

struct deflater {
	struct strbuf *out;
	uint64_t *state;
	uint32_t hold, count;	/* bits that are no byte yet */
	uint32_t written;	/* bytes that this inflates to */
};

struct code {
	unsigned char lens[MAX_LITLENS];
	uint16_t codes[MAX_LITLENS];
	unsigned int nr;
};

uint32_t random_below(uint64_t *state, uint32_t n)
{
	/* splitmix64 */
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return ((z ^ (z >> 31)) >> 32) % n;
}

static uint32_t below(struct deflater *d, uint32_t n)
{
	return random_below(d->state, n);
}

static int one_in(struct deflater *d, uint32_t n)
{
	return !below(d, n);
}

static void put_bits(struct deflater *d, uint32_t bits, unsigned int n)
{
	d->hold |= bits << d->count;
	d->count += n;
	for (; d->count >= 8; d->count -= 8, d->hold >>= 8)
		strbuf_addch(d->out, d->hold & 0xff);
}

static void put_symbol(struct deflater *d, const struct code *c,
		       unsigned int symbol)
{
	unsigned int len = c->lens[symbol];

	/* If it is the only code, the other bit means nothing (3.2.7). */
	if (len == 1 && one_in(d, 20)) {
		put_bits(d, 1, 1);
		return;
	}
	while (len--)
		put_bits(d, c->codes[symbol] >> len & 1, 1);
}

/* 3.2.2 */
static void assign_codes(struct code *c)
{
	unsigned int code = 0;

	for (unsigned int len = 1; len <= 15; len++, code <<= 1)
		for (unsigned int i = 0; i < c->nr; i++)
			if (c->lens[i] == len)
				c->codes[i] = code++;
}

/* Lengths of codes for at most "used" of the c->nr symbols. */
static void random_lens(struct deflater *d, struct code *c, unsigned int used,
			unsigned int max_len)
{
	unsigned char depths[MAX_LITLENS] = { 1, 1 };
	unsigned int nr = 2;

	/* A complete code is a tree whose leaves were split some times. */
	while (nr < used) {
		unsigned int i = below(d, nr);

		if (depths[i] == max_len)
			used--;
		else
			depths[nr++] = ++depths[i];
	}
	if (one_in(d, 15))	/* incomplete */
		nr = used <= 1 ? used : nr - 1;
	if (one_in(d, 40))	/* incomplete, or more than complete */
		depths[below(d, nr + 1)] = 1 + below(d, max_len);
	while (nr--) {
		unsigned int symbol = below(d, c->nr);

		while (c->lens[symbol])
			symbol = (symbol + 1) % c->nr;
		c->lens[symbol] = depths[nr];
	}
}

/* A symbol that has a code. */
static unsigned int random_symbol(struct deflater *d, const struct code *c)
{
	unsigned int symbol = below(d, c->nr);

	for (unsigned int i = 0; i < c->nr && !c->lens[symbol]; i++)
		symbol = (symbol + 1) % c->nr;
	return symbol;
}

/* 3.2.5; symbols that have no meaning have that of the last. */
static unsigned int extra_bits_of_length(unsigned int symbol)
{
	return symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4;
}

static unsigned int extra_bits_of_dist(unsigned int symbol)
{
	return symbol < 4 ? 0 : symbol >= 30 ? 13 : symbol / 2 - 1;
}

static void put_match(struct deflater *d, const struct code *dist,
		      unsigned int length_symbol)
{
	unsigned int n = extra_bits_of_length(length_symbol);
	unsigned int symbol = random_symbol(d, dist);

	put_bits(d, below(d, 1u << n), n);
	d->written += 3;	/* at least */

	/* Mostly one that is there. */
	for (int i = 0; i < 9 && (4u << symbol / 2) > d->written; i++)
		symbol = random_symbol(d, dist);
	n = extra_bits_of_dist(symbol);
	put_symbol(d, dist, symbol);
	put_bits(d, one_in(d, 4) ? below(d, 1u << n) : 0, n);
}

static void put_body(struct deflater *d, const struct code *litlen,
		     const struct code *dist)
{
	unsigned int n = below(d, one_in(d, 8) ? 300 : 30);

	while (n--) {
		unsigned int symbol = random_symbol(d, litlen);

		if (symbol == 256 ||
		    (symbol > 256 && d->written < 4 && !one_in(d, 20)))
			continue;
		put_symbol(d, litlen, symbol);
		if (symbol < 256)
			d->written++;
		else
			put_match(d, dist, symbol);
	}
	put_symbol(d, litlen, 256);
}

/* 3.2.4; sometimes long enough for all distances. */
static void put_stored(struct deflater *d)
{
	unsigned int n = one_in(d, 10) ? 33000 : below(d, 40);

	put_bits(d, below(d, 256), (8 - d->count) % 8);
	put_bits(d, n, 16);
	put_bits(d, one_in(d, 20) ? below(d, 0x10000) : n ^ 0xffff, 16);
	d->written += n;
	while (n--)
		strbuf_addch(d->out, below(d, 256));
}

/* 3.2.6 */
static void put_static(struct deflater *d)
{
	struct code litlen = { .nr = 288 }, dist = { .nr = 32 };

	memset(litlen.lens, 8, 144);
	memset(litlen.lens + 144, 9, 112);
	memset(litlen.lens + 256, 7, 24);
	memset(litlen.lens + 280, 8, 8);
	memset(dist.lens, 5, 32);
	assign_codes(&litlen);
	assign_codes(&dist);
	if (!one_in(d, 4)) {	/* else these mean nothing */
		litlen.nr = 286;
		dist.nr = 30;
	}
	put_body(d, &litlen, &dist);
}

/* Lengths as symbols of the precode, with what repeats in the upper bits. */
static unsigned int random_runs(struct deflater *d, const unsigned char *lens,
				unsigned int nr, uint16_t *runs)
{
	unsigned int n = 0, i = 0;

	if (one_in(d, 100))
		runs[n++] = 16;
	while (i < nr) {
		unsigned int same = 1, most = lens[i] ? 6 : 138;

		while (i + same < nr && lens[i + same] == lens[i] &&
		       same < most)
			same++;
		if (one_in(d, 300))
			same += below(d, 4);	/* may go beyond the end */
		if (one_in(d, 10) || same < 3 || same > most)
			runs[n++] = lens[i++];
		else if (lens[i] && (!i || lens[i - 1] != lens[i]))
			runs[n++] = lens[i++];
		else {
			runs[n++] = lens[i] ? 16 | (same - 3) << 5 :
				same > 10 ? 18 | (same - 11) << 5 :
				17 | (same - 3) << 5;
			i += same;
		}
	}
	return n;
}

static void put_code_lens(struct deflater *d, const unsigned char *lens,
			  unsigned int nr)
{
	static const unsigned char order[NR_PRECODES] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
	};
	uint16_t runs[MAX_LITLENS + MAX_DISTS + 1];
	struct code pre = { .nr = NR_PRECODES };
	unsigned int nr_runs = random_runs(d, lens, nr, runs);
	unsigned int last = NR_PRECODES;

	random_lens(d, &pre, NR_PRECODES, 7);
	assign_codes(&pre);
	while (last > 4 && !pre.lens[order[last - 1]])
		last--;
	put_bits(d, last - 4, 4);
	for (unsigned int i = 0; i < last; i++)
		put_bits(d, pre.lens[order[i]], 3);
	for (unsigned int i = 0; i < nr_runs; i++) {
		unsigned int symbol = runs[i] & 31;

		put_symbol(d, &pre, symbol);
		if (symbol >= 16)
			put_bits(d, runs[i] >> 5,
				 symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
	}
}

/* 3.2.7 */
static void put_dynamic(struct deflater *d)
{
	struct code litlen = { .nr = 257 + below(d, 30) };
	struct code dist = { .nr = 1 + below(d, 30) };
	unsigned char lens[MAX_LITLENS + MAX_DISTS];

	if (one_in(d, 20))	/* zlib: 286 at most */
		litlen.nr = 287 + below(d, 2);
	if (one_in(d, 20))	/* zlib: 30 at most */
		dist.nr = 31 + below(d, 2);
	random_lens(d, &litlen, 2 + below(d, one_in(d, 2) ? 10 : litlen.nr - 2),
		    15);
	if (one_in(d, 20))
		memset(litlen.lens, 0, sizeof(litlen.lens));
	if (!litlen.lens[256] && !one_in(d, 50)) {
		unsigned int symbol = random_symbol(d, &litlen);

		litlen.lens[256] =
			litlen.lens[symbol] ? litlen.lens[symbol] : 1;
		litlen.lens[symbol == 256 ? 0 : symbol] = 0;
	}
	if (one_in(d, 10))
		dist.lens[below(d, dist.nr)] = below(d, 2);
	else if (dist.nr > 1)
		random_lens(d, &dist, 2 + below(d, dist.nr - 1), 15);
	else
		dist.lens[0] = 1;
	assign_codes(&litlen);
	assign_codes(&dist);

	put_bits(d, litlen.nr - 257, 5);
	put_bits(d, dist.nr - 1, 5);
	memcpy(lens, litlen.lens, litlen.nr);
	memcpy(lens + litlen.nr, dist.lens, dist.nr);
	put_code_lens(d, lens, litlen.nr + dist.nr);
	put_body(d, &litlen, &dist);
}

void random_deflate(struct strbuf *out, uint64_t *state)
{
	struct deflater d = { .out = out, .state = state };
	unsigned int more = one_in(&d, 3) ? below(&d, 3) : 0;

	do {
		unsigned int type = below(&d, 64);

		type = !type ? 3 : type < 8 ? 0 : type < 24 ? 1 : 2;
		put_bits(&d, !more, 1);
		put_bits(&d, type, 2);
		if (!type)
			put_stored(&d);
		else if (type == 1)
			put_static(&d);
		else
			put_dynamic(&d);
	} while (more--);
	if (d.count)
		put_bits(&d, below(&d, 256), 8 - d.count);
}
