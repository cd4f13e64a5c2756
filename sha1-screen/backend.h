/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHA1_SCREEN_BACKEND_H
#define SHA1_SCREEN_BACKEND_H

/*
 * What a processor has to offer to sha1-screen.c.
 */

/* The blocks that are checked at once, at most. */
#define SHA1_SCREEN_BLOCKS 8

struct sha1_screen_backend {
	/* What GIT_TEST_SHA1 calls it. */
	const char *name;

	/* Can this machine run it? */
	int (*usable)(void);

	/*
	 * Compress "n" blocks of 64 bytes, 1 to SHA1_SCREEN_BLOCKS of them, at
	 * any address. "ihv" becomes the chaining value behind the last one;
	 * before[i] becomes that in front of block i.
	 *
	 * Return which blocks are not proven to be harmless, 1 << i for each.
	 */
	unsigned int (*compress)(uint32_t ihv[5], const unsigned char *data,
				 unsigned int n, uint32_t before[][5]);

	/*
	 * For tests: store the disturbance vectors all of whose conditions are
	 * met by an expanded message, those of type I in survivors[0] and of
	 * type II in survivors[1]. Each has the bit sha1_screen_bit().
	 */
	void (*check)(const uint32_t w[80], uint32_t survivors[2]);
};

/*
 * The back ends of this platform, the best one first, and NULL behind the last.
 * It depends on the machine which of them are usable.
 */
extern const struct sha1_screen_backend *const sha1_screen_backends[];

/*
 * For tests: use this back end from now on. No other thread may hash by then.
 */
void sha1_screen_use(const struct sha1_screen_backend *backend);

/* The bit of the disturbance vector I(k, b) or II(k, b). */
static inline uint32_t sha1_screen_bit(int type, int k, int b)
{
	if (b)
		return (uint32_t)1 << (16 + k - 46);
	return (uint32_t)1 << (k - (type == 1 ? 43 : 45));
}

#endif /* SHA1_SCREEN_BACKEND_H */
