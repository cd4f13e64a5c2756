/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SHA1_SCREEN_H
#define SHA1_SCREEN_H

#include "sha1dc_git.h"

/*
 * A fast way through collision-detecting SHA-1 (sha1dc), for the blocks that
 * cannot be part of an attack.
 *
 * sha1dc compresses each block, and then asks ubc_check() whether its expanded
 * message meets the conditions that all known kinds of attack have in common.
 * Nineteen blocks of twenty do not; only for the others it goes on, and looks
 * for the other half of a collision.
 *
 * Here, blocks are compressed with the SHA instructions of the processor, and
 * the same conditions are checked for several of them at once. That proves most
 * blocks harmless, and then their chaining value is final. Any other block
 * goes, with the chaining value from before it, to sha1dc, which does with it
 * what it always did. Nothing else decides about collisions.
 *
 * Where the processor has no such instructions, or Git was built without this
 * (NO_SHA1_SCREEN), all blocks go to sha1dc.
 *
 * The environment variable GIT_TEST_SHA1 chooses for tests: "sha1dc" for no
 * screening, or the name of a back end, "avx2", "sse4.1" or "neon". To name one
 * that this machine or this Git does not have is an error.
 *
 * The data may change meanwhile, as that of a mapped file does when somebody
 * writes to it. Then the digest is that of neither content, as with sha1dc.
 *
 * All functions may be called by several threads, for contexts of their own.
 */

#if defined(SHA1_DC) && !defined(DC_SHA1_EXTERNAL) && \
	!defined(NO_SHA1_SCREEN) && (defined(__clang__) || \
	 (defined(__GNUC__) && __GNUC__ >= 7))
#if defined(__x86_64__)
#define SHA1_SCREEN
#elif defined(__aarch64__) && defined(__AARCH64EL__) && \
	(!defined(__clang__) || defined(__ARM_FEATURE_CRYPTO) || \
	 defined(__ARM_FEATURE_SHA2))	/* clang needs -march=...+sha2 */
#define SHA1_SCREEN
#endif
#endif

/*
 * As SHA1DCUpdate(), for a context from SHA1DCInit() whose settings are those
 * that Git has: collisions are detected, and do not change the digest.
 */
void sha1_screen_update(SHA1_CTX *ctx, const void *data, size_t len);

/*
 * As SHA1DCFinal(): store the digest, return 0 if no collision attack was
 * found.
 */
int sha1_screen_final(unsigned char hash[20], SHA1_CTX *ctx);

/* The back end in use, or "sha1dc". The string is static. */
const char *sha1_screen_name(void);

#endif /* SHA1_SCREEN_H */
