/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Screening with the SHA-1 instructions of ARMv8 (AArch64), and NEON; see
 * backend.h.
 */
#include "git-compat-util.h"
#include "sha1-screen.h"

#if defined(SHA1_SCREEN) && defined(__aarch64__)

#include "sha1-screen/planes.h"
#include <arm_neon.h>
#ifdef __linux__
#include <sys/auxv.h>
#include <asm/hwcap.h>
#endif

#ifdef __clang__
#define TARGET				/* see sha1-screen.h */
#else
#define TARGET __attribute__((target("+crypto")))
#endif

#define ROUND_GROUPS 20		/* of four rounds */
#define PLANE_GROUPS (SHA1_WORDS / 4)

/* Every fourth byte of 16 words, the lowest or (which = 1) the highest ones. */
TARGET static SHA1_ALWAYS_INLINE uint8x16_t outer_bytes(const uint32x4_t w[4],
							int high)
{
	uint8x16_t b[4];

	for (int i = 0; i < 4; i++)
		b[i] = vreinterpretq_u8_u32(w[i]);
	if (high)
		return vuzp2q_u8(vuzp2q_u8(b[0], b[1]), vuzp2q_u8(b[2], b[3]));
	return vuzp1q_u8(vuzp1q_u8(b[0], b[1]), vuzp1q_u8(b[2], b[3]));
}

/* One bit of each of 32 bytes, as a bit set. */
TARGET static SHA1_ALWAYS_INLINE uint32_t bit_plane(uint8x16_t low,
						    uint8x16_t high,
						    unsigned int bit)
{
	static const uint8_t weights[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
	};
	uint8x16_t weight = vld1q_u8(weights);
	uint8x16_t mask = vdupq_n_u8(1u << bit), sum;

	/* Add up neighbours until each half of a vector is a byte. */
	sum = vpaddq_u8(vandq_u8(vtstq_u8(low, mask), weight),
			vandq_u8(vtstq_u8(high, mask), weight));
	sum = vpaddq_u8(sum, sum);
	sum = vpaddq_u8(sum, sum);
	return vgetq_lane_u32(vreinterpretq_u32_u8(sum), 0);
}

/* The planes of a block, for "lane" of each vector. */
TARGET static SHA1_ALWAYS_INLINE void store_planes(const uint32x4_t *w,
						   struct sha1_planes *p,
						   unsigned int lane)
{
	uint8x16_t low0 = outer_bytes(w, 0), low1 = outer_bytes(w + 4, 0);
	uint8x16_t high0 = outer_bytes(w, 1), high1 = outer_bytes(w + 4, 1);

	for (unsigned int bit = 0; bit < 8; bit++)
		p->plane[SHA1_PLANE_OF(bit)].of[lane] =
			bit_plane(low0, low1, bit);
	for (unsigned int bit = 28; bit < 31; bit++)
		p->plane[SHA1_PLANE_OF(bit)].of[lane] =
			bit_plane(high0, high1, bit - 24);
}

/* Compress a block, and leave W[35] to W[66] in "planes". */
TARGET static SHA1_ALWAYS_INLINE void compress_block(uint32x4_t *abcd,
						     uint32_t *e,
						     const unsigned char *data,
						     uint32x4_t *planes)
{
	static const uint32_t constants[4] = {
		0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6
	};
	uint32x4_t w[ROUND_GROUPS], state = *abcd;
	uint32_t last = *e, next;

	for (int i = 0; i < 4; i++)
		w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data +
								16 * i)));

#define FOUR(i, rounds) do { \
	if ((i) >= 4) \
		w[i] = vsha1su1q_u32( \
			vsha1su0q_u32(w[(i) < 4 ? 0 : (i) - 4], \
				      w[(i) < 4 ? 0 : (i) - 3], \
				      w[(i) < 4 ? 0 : (i) - 2]), \
			w[(i) < 4 ? 0 : (i) - 1]); \
	next = vsha1h_u32(vgetq_lane_u32(state, 0)); \
	state = rounds(state, last, \
		       vaddq_u32(w[i], vdupq_n_u32(constants[(i) / 5]))); \
	last = next; \
} while (0)
#define TWENTY(i, rounds) \
	FOUR(i, rounds); FOUR(i + 1, rounds); FOUR(i + 2, rounds); \
	FOUR(i + 3, rounds); FOUR(i + 4, rounds)
	TWENTY(0, vsha1cq_u32);
	TWENTY(5, vsha1pq_u32);
	TWENTY(10, vsha1mq_u32);
	TWENTY(15, vsha1pq_u32);
#undef TWENTY
#undef FOUR

	*abcd = vaddq_u32(state, *abcd);
	*e += last;

	/* Each from the last word of a group to the third one of the next. */
	for (int i = 0; i < PLANE_GROUPS; i++)
		planes[i] = vextq_u32(w[i + 8], w[i + 9], 3);
}

TARGET static unsigned int compress_blocks(uint32_t ihv[5],
					   const unsigned char *data,
					   unsigned int n, uint32_t before[][5])
{
	uint32x4_t abcd = vld1q_u32(ihv), w[PLANE_GROUPS];
	uint32_t e = ihv[4];
	struct sha1_planes planes;
	struct sha1_survivors survivors;

	if (n < SHA1_SCREEN_BLOCKS)
		memset(&planes, 0, sizeof(planes));
	for (unsigned int i = 0; i < n; i++) {
		vst1q_u32(before[i], abcd);
		before[i][4] = e;
		compress_block(&abcd, &e, data + 64 * i, w);
		store_planes(w, &planes, i);
	}
	vst1q_u32(ihv, abcd);
	ihv[4] = e;
	sha1_check_planes(&planes, &survivors);
	return sha1_suspects(&survivors, n);
}

TARGET static void check(const uint32_t w[80], uint32_t result[2])
{
	uint32x4_t groups[PLANE_GROUPS];
	struct sha1_planes planes;
	struct sha1_survivors survivors;

	memset(&planes, 0, sizeof(planes));
	for (int i = 0; i < PLANE_GROUPS; i++)
		groups[i] = vld1q_u32(w + SHA1_FIRST_WORD + 4 * i);
	store_planes(groups, &planes, 0);
	sha1_check_planes(&planes, &survivors);
	result[0] = survivors.type[0].of[0];
	result[1] = survivors.type[1].of[0];
}

static int has_sha1(void)
{
#if defined(__linux__)
	return !!(getauxval(AT_HWCAP) & HWCAP_SHA1);
#elif defined(__APPLE__)
	return 1;	/* all processors that Apple has built with AArch64 */
#else
	return 0;
#endif
}

static const struct sha1_screen_backend neon = {
	"neon", has_sha1, compress_blocks, check
};

const struct sha1_screen_backend *const sha1_screen_backends[] = {
	&neon, NULL
};

#endif
