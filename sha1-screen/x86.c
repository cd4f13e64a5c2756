/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Screening with the SHA instructions of x86-64, with AVX2 or without; see
 * backend.h. The instructions, and the order of words in registers, are those
 * of "Intel SHA Extensions" (Gulley et al., 2013): the first word of four is
 * the highest.
 */
#include "git-compat-util.h"
#include "sha1-screen.h"

#if defined(SHA1_SCREEN) && defined(__x86_64__)

#include "sha1-screen/planes.h"
#include <cpuid.h>
#include <immintrin.h>

#define TARGET_SSE __attribute__((target("sha,sse4.1,ssse3")))
#define TARGET_AVX2 __attribute__((target("sha,sse4.1,ssse3,avx2")))

/* What is compiled for SSE here is compiled for AVX2 where it is inlined. */
#define INLINE_SSE TARGET_SSE static SHA1_ALWAYS_INLINE

#define ROUND_GROUPS 20		/* of four rounds */
#define PLANE_GROUPS (SHA1_WORDS / 4)

/*
 * The low bytes of 16 words, or what is there after they have been shifted, in
 * the order of the words.
 */
INLINE_SSE __m128i low_bytes(const __m128i w[4], int shift)
{
	const __m128i mask = _mm_set1_epi32(0xff);
	const __m128i order = _mm_set_epi32(0x0c0d0e0f, 0x08090a0b,
					    0x04050607, 0x00010203);
	__m128i b[4];

	for (int i = 0; i < 4; i++)
		b[i] = _mm_and_si128(_mm_srli_epi32(w[i], shift), mask);
	return _mm_shuffle_epi8(_mm_packus_epi16(_mm_packus_epi32(b[0], b[1]),
						 _mm_packus_epi32(b[2], b[3])),
				order);
}

/*
 * The planes of a block, for "lane" of each vector. movemask takes the highest
 * bit of each byte; to add a byte to itself brings the next one there.
 */
INLINE_SSE void store_planes_sse(const __m128i w[PLANE_GROUPS],
				 struct sha1_planes *p, unsigned int lane,
				 int is_only)
{
	__m128i low0 = low_bytes(w, 0), low1 = low_bytes(w + 4, 0);
	__m128i high0 = low_bytes(w, 24), high1 = low_bytes(w + 4, 24);

#define PLANE(bit, which) \
	sha1_set_plane(p, SHA1_PLANE_OF(bit), lane, is_only, \
		       _mm_movemask_epi8(which##0) | \
		       (uint32_t)_mm_movemask_epi8(which##1) << 16)
#define NEXT(which) (which##0 = _mm_add_epi8(which##0, which##0), \
		     which##1 = _mm_add_epi8(which##1, which##1))
	NEXT(high), PLANE(30, high), NEXT(high), PLANE(29, high);
	NEXT(high), PLANE(28, high);
	PLANE(7, low), NEXT(low), PLANE(6, low), NEXT(low), PLANE(5, low);
	NEXT(low), PLANE(4, low), NEXT(low), PLANE(3, low), NEXT(low);
	PLANE(2, low), NEXT(low), PLANE(1, low), NEXT(low), PLANE(0, low);
#undef NEXT
#undef PLANE
}

TARGET_AVX2 static SHA1_ALWAYS_INLINE
void store_planes_avx2(const __m128i w[PLANE_GROUPS],
		       struct sha1_planes *p, unsigned int lane, int is_only)
{
	__m256i low = _mm256_castsi128_si256(low_bytes(w, 0));
	__m256i high = _mm256_castsi128_si256(low_bytes(w, 24));

	low = _mm256_inserti128_si256(low, low_bytes(w + 4, 0), 1);
	high = _mm256_inserti128_si256(high, low_bytes(w + 4, 24), 1);

#define PLANE(bit, which) \
	sha1_set_plane(p, SHA1_PLANE_OF(bit), lane, is_only, \
		       _mm256_movemask_epi8(which))
#define NEXT(which) (which = _mm256_add_epi8(which, which))
	NEXT(high), PLANE(30, high), NEXT(high), PLANE(29, high);
	NEXT(high), PLANE(28, high);
	PLANE(7, low), NEXT(low), PLANE(6, low), NEXT(low), PLANE(5, low);
	NEXT(low), PLANE(4, low), NEXT(low), PLANE(3, low), NEXT(low);
	PLANE(2, low), NEXT(low), PLANE(1, low), NEXT(low), PLANE(0, low);
#undef NEXT
#undef PLANE

	/*
	 * The SHA instructions of the next block have no VEX encoding. While
	 * the upper half of any register is in use, each of them has to keep
	 * that, and waits for it.
	 */
	if (!is_only)
		_mm256_zeroupper();
}

/*
 * Compress a block, and leave W[35] to W[66] in "planes". The state is a to d,
 * and e in the highest word of "e".
 */
INLINE_SSE void compress_block(__m128i *abcd, __m128i *e,
			       const unsigned char *data,
			       __m128i planes[PLANE_GROUPS])
{
	const __m128i swap = _mm_set_epi64x(0x0001020304050607ULL,
					    0x08090a0b0c0d0e0fULL);
	__m128i w[ROUND_GROUPS], state = *abcd, last = state, next = *e;

	for (int i = 0; i < 4; i++) {
		w[i] = _mm_loadu_si128((const __m128i *)(data + 16 * i));
		w[i] = _mm_shuffle_epi8(w[i], swap);
	}
	next = _mm_add_epi32(next, w[0]);

#define FOUR(i, f) do { \
	if ((i) >= 4) \
		w[i] = _mm_sha1msg2_epu32(_mm_xor_si128( \
			_mm_sha1msg1_epu32(w[(i) < 4 ? 0 : (i) - 4], \
					   w[(i) < 4 ? 0 : (i) - 3]), \
			w[(i) < 4 ? 0 : (i) - 2]), w[(i) < 4 ? 0 : (i) - 1]); \
	if (i) \
		next = _mm_sha1nexte_epu32(last, w[i]); \
	last = state; \
	state = _mm_sha1rnds4_epu32(state, next, f); \
} while (0)
	FOUR(0, 0); FOUR(1, 0); FOUR(2, 0); FOUR(3, 0); FOUR(4, 0);
	FOUR(5, 1); FOUR(6, 1); FOUR(7, 1); FOUR(8, 1); FOUR(9, 1);
	FOUR(10, 2); FOUR(11, 2); FOUR(12, 2); FOUR(13, 2); FOUR(14, 2);
	FOUR(15, 3); FOUR(16, 3); FOUR(17, 3); FOUR(18, 3); FOUR(19, 3);
#undef FOUR

	*e = _mm_sha1nexte_epu32(last, *e);
	*abcd = _mm_add_epi32(state, *abcd);

	/* Each from the last word of a group to the third one of the next. */
	for (int i = 0; i < PLANE_GROUPS; i++)
		planes[i] = _mm_alignr_epi8(w[i + 8], w[i + 9], 4);
}

INLINE_SSE void store_ihv(uint32_t ihv[5], __m128i abcd, __m128i e)
{
	_mm_storeu_si128((__m128i *)ihv, _mm_shuffle_epi32(abcd, 0x1b));
	ihv[4] = _mm_extract_epi32(e, 3);
}

typedef void (*store_planes_fn)(const __m128i *, struct sha1_planes *,
				unsigned int, int);

INLINE_SSE unsigned int compress_blocks(uint32_t ihv[5],
					const unsigned char *data,
					unsigned int n, uint32_t before[][5],
					store_planes_fn store_planes)
{
	__m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((__m128i *)ihv), 0x1b);
	__m128i e = _mm_set_epi32(ihv[4], 0, 0, 0), w[PLANE_GROUPS];
	struct sha1_planes planes;
	struct sha1_survivors survivors;

	if (n < SHA1_SCREEN_BLOCKS)
		memset(&planes, 0, sizeof(planes));
	for (unsigned int i = 0; i < n; i++) {
		store_ihv(before[i], abcd, e);
		compress_block(&abcd, &e, data + 64 * i, w);
		store_planes(w, &planes, i, 0);
	}
	store_ihv(ihv, abcd, e);
	sha1_check_planes(&planes, &survivors);
	return sha1_suspects(&survivors, n);
}

/* A single one: the end of a message, mostly. Its planes stay in registers. */
INLINE_SSE unsigned int compress_one(uint32_t ihv[5],
				     const unsigned char *data,
				     uint32_t before[5],
				     store_planes_fn store_planes)
{
	__m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128((__m128i *)ihv), 0x1b);
	__m128i e = _mm_set_epi32(ihv[4], 0, 0, 0), w[PLANE_GROUPS];
	struct sha1_planes planes;
	struct sha1_survivors survivors;

	store_ihv(before, abcd, e);
	compress_block(&abcd, &e, data, w);
	store_planes(w, &planes, 0, 1);
	store_ihv(ihv, abcd, e);
	sha1_check_planes(&planes, &survivors);
	return sha1_suspects(&survivors, 1);
}

INLINE_SSE void check(const uint32_t w[80], uint32_t result[2],
		      store_planes_fn store_planes)
{
	__m128i groups[PLANE_GROUPS];
	struct sha1_planes planes;
	struct sha1_survivors survivors;

	memset(&planes, 0, sizeof(planes));
	for (int i = 0; i < PLANE_GROUPS; i++)
		groups[i] = _mm_shuffle_epi32(_mm_loadu_si128(
			(const __m128i *)(w + SHA1_FIRST_WORD + 4 * i)), 0x1b);
	store_planes(groups, &planes, 0, 0);
	sha1_check_planes(&planes, &survivors);
	result[0] = survivors.type[0].of[0];
	result[1] = survivors.type[1].of[0];
}

/* GCC's __builtin_cpu_supports() does not know "sha" before version 14. */
static int has_sha(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 29)) &&
		__builtin_cpu_supports("sse4.1") &&
		__builtin_cpu_supports("ssse3");
}

static int has_sha_and_avx2(void)
{
	return has_sha() && __builtin_cpu_supports("avx2");
}

TARGET_SSE static unsigned int compress_sse(uint32_t ihv[5],
					    const unsigned char *data,
					    unsigned int n,
					    uint32_t before[][5])
{
	return n == 1 ? compress_one(ihv, data, before[0], store_planes_sse) :
		compress_blocks(ihv, data, n, before, store_planes_sse);
}

TARGET_SSE static void check_sse(const uint32_t w[80], uint32_t result[2])
{
	check(w, result, store_planes_sse);
}

TARGET_AVX2 static unsigned int compress_avx2(uint32_t ihv[5],
					      const unsigned char *data,
					      unsigned int n,
					      uint32_t before[][5])
{
	return n == 1 ? compress_one(ihv, data, before[0], store_planes_avx2) :
		compress_blocks(ihv, data, n, before, store_planes_avx2);
}

TARGET_AVX2 static void check_avx2(const uint32_t w[80], uint32_t result[2])
{
	check(w, result, store_planes_avx2);
}

static const struct sha1_screen_backend sse = {
	"sse4.1", has_sha, compress_sse, check_sse
};
static const struct sha1_screen_backend avx2 MAYBE_UNUSED = {
	"avx2", has_sha_and_avx2, compress_avx2, check_avx2
};

const struct sha1_screen_backend *const sha1_screen_backends[] = {
/* GCC does not align the stack to 32 bytes there (its bug 54412). */
#if !defined(_WIN32) || defined(__clang__)
	&avx2,
#endif
	&sse, NULL
};

#endif
