/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#ifdef SHA1_DC
#include "sha1-screen.h"
#endif

#ifdef SHA1_SCREEN

#include "parse.h"
#include "sha1-screen/backend.h"

/* sha1dc's check, and its table of disturbance vectors */
#ifdef DC_SHA1_SUBMODULE
#include "sha1collisiondetection/lib/ubc_check.h"
#else
#include "sha1dc/ubc_check.h"
#endif

#define EACH_BACKEND(b) \
	for (const struct sha1_screen_backend *const *p = \
	     sha1_screen_backends, *b; (b = *p); p++) \
		if (b->usable())

/* One condition of one disturbance vector: two bits of the expanded message. */
struct condition {
	int type, k, b;
	int word, bit, other_word, other_bit;
	unsigned int differ;
};

static struct condition conditions[512];
static size_t nr_conditions;

static void add_conditions(int type, int b, int first, int last, int offset,
			   int bit, int distance, int other,
			   unsigned int differ)
{
	for (int k = first; k <= last; k++) {
		/* II(46, 2) has neighbours that are none of sha1dc's */
		if (type == 2 && b == 2 && (k == 47 || k == 48))
			continue;
		cl_assert(nr_conditions < ARRAY_SIZE(conditions));
		conditions[nr_conditions++] = (struct condition) {
			.type = type, .k = k, .b = b,
			.word = k + offset, .bit = bit,
			.other_word = k + offset + distance, .other_bit = other,
			.differ = differ,
		};
	}
}

void test_sha1_screen__initialize(void)
{
	nr_conditions = 0;
#define ADD_I_0 1, 0
#define ADD_I_2 1, 2
#define ADD_II_0 2, 0
#define ADD_II_2 2, 2
#define ADD(class_type_b, ...) add_conditions(class_type_b, __VA_ARGS__)
#define SAME(class, ...) ADD(ADD_##class, __VA_ARGS__, 0);
#define DIFFER(class, ...) ADD(ADD_##class, __VA_ARGS__, 1);
#include "sha1-screen/conditions.inc"
}

static uint64_t random_state;

static uint32_t random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	/* Without that, all would be linear, as the conditions are. */
	return (random_state * 0x2545f4914f6cdd1dULL) >> 32;
}

static uint32_t rotate(uint32_t x)
{
	return x << 1 | x >> 31;
}

static void expand(uint32_t w[80])
{
	for (int i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16]);
}

/* What check() says, in the order of the bits of ubc_check(). */
static uint32_t check(const struct sha1_screen_backend *b, const uint32_t w[80])
{
	uint32_t survivors[2], known[2] = { 0 }, mask = 0;

	b->check(w, survivors);
	for (const dv_info_t *dv = sha1_dvs; dv->dvType; dv++) {
		uint32_t bit = sha1_screen_bit(dv->dvType, dv->dvK, dv->dvB);

		known[dv->dvType - 1] |= bit;
		if (survivors[dv->dvType - 1] & bit)
			mask |= (uint32_t)1 << dv->maskb;
	}
	cl_assert_equal_i(survivors[0] & ~known[0], 0);
	cl_assert_equal_i(survivors[1] & ~known[1], 0);
	return mask;
}

static uint32_t check_sha1dc(const uint32_t w[80])
{
	uint32_t mask[DVMASKSIZE];

	ubc_check(w, mask);
	return mask[0];
}

void test_sha1_screen__random_blocks(void)
{
	int n = git_env_bool("GIT_TEST_LONG", 0) ? 100000000 : 300000;

	EACH_BACKEND(b) {
		random_state = 88172645463325252ULL;
		for (int i = 0; i < n; i++) {
			uint32_t w[80];

			for (int j = 0; j < 16; j++)
				w[j] = random32();
			expand(w);
			if (check(b, w) != check_sha1dc(w))
				cl_fail("a random block");
		}
	}
}

/*
 * Each bit of the expanded message is a sum, modulo 2, of bits of the message:
 * a set of 512 bits. An equation has such a set and the value of the sum.
 */
struct bits {
	uint64_t set[8];
	unsigned int value;
};

static struct bits schedule[80][32];

static void add_bits(struct bits *to, const struct bits *from)
{
	for (int i = 0; i < 8; i++)
		to->set[i] ^= from->set[i];
	to->value ^= from->value;
}

static void init_schedule(void)
{
	static const int before[] = { 3, 8, 14, 16 };

	memset(schedule, 0, sizeof(schedule));
	for (int i = 0; i < 16; i++)
		for (int bit = 0; bit < 32; bit++)
			schedule[i][bit].set[i / 2] |=
				(uint64_t)1 << (i % 2 * 32 + bit);
	for (int i = 16; i < 80; i++)
		for (int bit = 0; bit < 32; bit++)
			for (int j = 0; j < 4; j++)
				add_bits(&schedule[i][(bit + 1) % 32],
					 &schedule[i - before[j]][bit]);
}

static int message_bit(const uint32_t *w, int i)
{
	return w[i / 32] >> (i % 32) & 1;
}

static unsigned int sum(const struct bits *eq, const uint32_t *w)
{
	unsigned int s = 0;

	for (int i = 0; i < 512; i++)
		if (eq->set[i / 64] >> (i % 64) & 1)
			s ^= message_bit(w, i);
	return s;
}

/*
 * A random message that meets all conditions of a vector, or all but the one
 * numbered `except`. Returns 0 if there is none.
 */
static int solve(const dv_info_t *dv, int except, uint32_t w[80])
{
	struct bits eqs[32];
	int pivot[32], nr = 0, number = 0;

	for (size_t i = 0; i < nr_conditions; i++) {
		const struct condition *c = &conditions[i];
		struct bits eq = { .value = c->differ };

		if (c->type != dv->dvType || c->k != dv->dvK || c->b != dv->dvB)
			continue;
		eq.value ^= number++ == except;
		add_bits(&eq, &schedule[c->word][c->bit]);
		add_bits(&eq, &schedule[c->other_word][c->other_bit]);
		for (int j = 0; j < nr; j++)
			if (eq.set[pivot[j] / 64] >> (pivot[j] % 64) & 1)
				add_bits(&eq, &eqs[j]);
		cl_assert(nr < (int)ARRAY_SIZE(eqs));
		for (pivot[nr] = 0; pivot[nr] < 512; pivot[nr]++)
			if (eq.set[pivot[nr] / 64] >> (pivot[nr] % 64) & 1)
				break;
		if (pivot[nr] < 512)
			eqs[nr++] = eq;
		else if (eq.value)
			return 0;
	}
	cl_assert(number > 0);

	for (int i = 0; i < 16; i++)
		w[i] = random32();
	/* None has a pivot of an earlier one, so begin with the last. */
	while (nr--)
		if (sum(&eqs[nr], w) != eqs[nr].value)
			w[pivot[nr] / 32] ^= (uint32_t)1 << (pivot[nr] % 32);
	expand(w);
	return 1;
}

/* Does compress() give the block away, alone and at any place in a group? */
static int is_suspect(const struct sha1_screen_backend *b, const uint32_t w[80])
{
	unsigned char data[SHA1_SCREEN_BLOCKS * 64 + 1] = { 0 };
	uint32_t ihv[5] = { 1, 2, 3, 4, 5 }, before[SHA1_SCREEN_BLOCKS][5];
	unsigned int place = random32() % SHA1_SCREEN_BLOCKS;
	unsigned int alone, beside;

	for (int i = 0; i < 16; i++)
		put_be32(data + 1 + 64 * place + 4 * i, w[i]);
	alone = b->compress(ihv, data + 1 + 64 * place, 1, before);
	beside = b->compress(ihv, data + 1, SHA1_SCREEN_BLOCKS, before);
	cl_assert_equal_i(alone, beside >> place);
	return alone;
}

void test_sha1_screen__each_vector(void)
{
	init_schedule();
	random_state = 1;
	EACH_BACKEND(b)
		for (const dv_info_t *dv = sha1_dvs; dv->dvType; dv++) {
			uint32_t mask = (uint32_t)1 << dv->maskb, w[80];
			int alone = 0;

			for (int i = 0; i < 100 || !alone; i++) {
				cl_assert(solve(dv, -1, w));
				cl_assert(check_sha1dc(w) & mask);
				cl_assert_equal_i(check(b, w), check_sha1dc(w));
				cl_assert(is_suspect(b, w));
				alone |= check(b, w) == mask;
			}
		}
}

void test_sha1_screen__each_condition(void)
{
	init_schedule();
	random_state = 2;
	EACH_BACKEND(b)
		for (const dv_info_t *dv = sha1_dvs; dv->dvType; dv++) {
			int number = 0, tried = 0;

			for (size_t i = 0; i < nr_conditions; i++)
				number += conditions[i].type == dv->dvType &&
					conditions[i].k == dv->dvK &&
					conditions[i].b == dv->dvB;
			for (int n = 0; n < number; n++)
				for (int i = 0; i < 20; i++) {
					uint32_t w[80], mask;

					if (!solve(dv, n, w))
						break;
					tried += !i;
					mask = check(b, w);
					cl_assert(!(mask >> dv->maskb & 1));
					cl_assert_equal_i(mask,
							  check_sha1dc(w));
				}
			cl_assert_equal_i(tried, number);
		}
}

void test_sha1_screen__compress(void)
{
	unsigned char data[SHA1_SCREEN_BLOCKS * 64 + 16];

	random_state = 3;
	EACH_BACKEND(b)
		for (int i = 0; i < 20000; i++) {
			unsigned int n = 1 + i % SHA1_SCREEN_BLOCKS;
			unsigned char *start = data + random32() % 16;
			uint32_t before[SHA1_SCREEN_BLOCKS][5], ihv[5], w[80];
			unsigned int suspects = 0;
			SHA1_CTX ctx;

			for (size_t j = 0; j < sizeof(data); j++)
				data[j] = random32();
			SHA1DCInit(&ctx);
			for (int j = 0; j < 5; j++)
				ctx.ihv[j] = random32();
			memcpy(ihv, ctx.ihv, sizeof(ihv));
			for (unsigned int j = 0; j < n; j++) {
				for (int k = 0; k < 16; k++)
					w[k] = get_be32(start + 64 * j + 4 * k);
				expand(w);
				if (check_sha1dc(w))
					suspects |= 1u << j;
			}
			cl_assert_equal_i(b->compress(ihv, start, n, before),
					  suspects);
			for (unsigned int j = 0; j < n; j++) {
				cl_assert(!memcmp(before[j], ctx.ihv,
						  sizeof(ihv)));
				SHA1DCUpdate(&ctx, (char *)start + 64 * j, 64);
			}
			cl_assert(!memcmp(ihv, ctx.ihv, sizeof(ihv)));
		}
}

#else

void test_sha1_screen__initialize(void)
{
}

void test_sha1_screen__random_blocks(void)
{
	cl_skip();
}

void test_sha1_screen__each_vector(void)
{
	cl_skip();
}

void test_sha1_screen__each_condition(void)
{
	cl_skip();
}

void test_sha1_screen__compress(void)
{
	cl_skip();
}

#endif
