/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHA1_SCREEN_PLANES_H
#define SHA1_SCREEN_PLANES_H

/*
 * The conditions of conditions.inc, checked for several blocks at once. For the
 * back ends only, which are built for processors with different vectors.
 *
 * The conditions are about few bits of W[35] to W[64]. A back end turns these
 * by a right angle: bit i of a plane is a certain bit of W[35 + i]. One shift
 * then checks a condition for all K of a class, as its words move with K. And
 * the planes of eight blocks lie side by side in the lanes of a vector, which
 * the compiler makes of shorter ones if it has to.
 */

#include "sha1-screen/backend.h"

#define SHA1_ALWAYS_INLINE inline __attribute__((always_inline))

/* The planes: of bits 0 to 7, and 28 to 30. */
#define SHA1_PLANES 11
#define SHA1_PLANE_OF(bit) ((bit) < 8 ? (bit) : (bit) - 20)

/* The words that a plane has, of which the last two are of no interest. */
#define SHA1_FIRST_WORD 35
#define SHA1_WORDS 32

typedef uint32_t sha1_lanes
	__attribute__((vector_size(4 * SHA1_SCREEN_BLOCKS)));

struct sha1_planes {
	union {
		sha1_lanes all;
		uint32_t of[SHA1_SCREEN_BLOCKS];
	} plane[SHA1_PLANES];
};

/*
 * Set a plane of the block in this lane. If it is the only block, it can have
 * all lanes: then nothing is written in parts and read as a whole, which
 * processors do slowly.
 */
static SHA1_ALWAYS_INLINE void sha1_set_plane(struct sha1_planes *p, int plane,
					      unsigned int lane, int is_only,
					      uint32_t bits)
{
	if (is_only)
		p->plane[plane].all = (sha1_lanes){ 0 } + bits;
	else
		p->plane[plane].of[lane] = bits;
}

/* The vectors for which a block meets all conditions; see backend.h. */
struct sha1_survivors {
	union {
		sha1_lanes all;
		uint32_t of[SHA1_SCREEN_BLOCKS];
	} type[2];
};

/* For each class: its first K, and the bits of its vectors. */
#define I_0_K 43
#define I_0_BITS 0x3ff
#define I_0_SHIFT 0
#define I_2_K 46
#define I_2_BITS 0x3f
#define I_2_SHIFT 16
#define II_0_K 45
#define II_0_BITS 0xfff
#define II_0_SHIFT 0
#define II_2_K 46
#define II_2_BITS 0x39
#define II_2_SHIFT 16

/* "x" moved down by "n" bits, or up if that is negative. */
#define SHA1_MOVE(x, n) ((n) < 0 ? (x) << ((n) < 0 ? -(n) : 0) : \
				   (x) >> ((n) < 0 ? 0 : (n)))

static SHA1_ALWAYS_INLINE void sha1_check_planes(const struct sha1_planes *p,
						 struct sha1_survivors *s)
{
	sha1_lanes dead_I_0 = { 0 }, dead_I_2 = { 0 };
	sha1_lanes dead_II_0 = { 0 }, dead_II_2 = { 0 };

#define UNEQUAL(bit, distance, other) \
	(p->plane[SHA1_PLANE_OF(bit)].all ^ \
	 (p->plane[SHA1_PLANE_OF(other)].all >> (distance)))
#define DEAD(class, first, last, offset, unmet) \
	(dead_##class |= \
	 SHA1_MOVE(unmet, class##_K + (offset) - SHA1_FIRST_WORD) & \
	 (((2u << ((last) - (first))) - 1) << ((first) - class##_K)));
#define SAME(class, first, last, offset, bit, distance, other) \
	DEAD(class, first, last, offset, UNEQUAL(bit, distance, other))
#define DIFFER(class, first, last, offset, bit, distance, other) \
	DEAD(class, first, last, offset, ~UNEQUAL(bit, distance, other))
#include "sha1-screen/conditions.inc"
#undef DIFFER
#undef SAME
#undef DEAD
#undef UNEQUAL

	s->type[0].all = (~dead_I_0 & I_0_BITS) |
		((~dead_I_2 & I_2_BITS) << I_2_SHIFT);
	s->type[1].all = (~dead_II_0 & II_0_BITS) |
		((~dead_II_2 & II_2_BITS) << II_2_SHIFT);
}

/*
 * Of the first "n" blocks, those for which a vector has survived, as a bit set.
 */
static SHA1_ALWAYS_INLINE unsigned int
sha1_suspects(const struct sha1_survivors *s, unsigned int n)
{
	union {
		sha1_lanes all;
		uint64_t pair[SHA1_SCREEN_BLOCKS / 2];
		uint32_t of[SHA1_SCREEN_BLOCKS];
	} any;
	unsigned int suspects = 0;

	any.all = s->type[0].all | s->type[1].all;
	if (!(any.pair[0] | any.pair[1] | any.pair[2] | any.pair[3]))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		suspects |= (unsigned int)!!any.of[i] << i;
	return suspects;
}

#endif /* SHA1_SCREEN_PLANES_H */
