/* SPDX-License-Identifier: GPL-2.0-only */

/*
 * The conditions that a block must meet to be part of a known attack on SHA-1.
 * No header of its own: it is included where SAME() and DIFFER() are defined.
 *
 * An attack follows one of 32 disturbance vectors: I(K, b) or II(K, b), which
 * are the same pattern of differences, moved by K words and rotated by b bits.
 * For each of them there are pairs of bits of the expanded message W that must
 * be the same, or must differ, in every such attack, whatever the rest is
 * ("Speeding up detection of SHA-1 collision attacks using unavoidable attack
 * conditions", Stevens and Shumow, USENIX Security 2017). sha1dc/ubc_check.c
 * has them one by one. Here they are by pattern, which makes them fewer:
 *
 *	SAME(class, first, last, offset, bit, distance, other)
 *
 * says of the vectors from K = first to K = last of the class that bit "bit" of
 * W[K + offset] is bit "other" of W[K + offset + distance]; DIFFER says that it
 * is not. Where a pattern is not there for all K of a class, some of its words
 * may have other differences, or are not among W[35] to W[64].
 *
 * This needs no trust: u-sha1-screen.c compares what comes of it with
 * ubc_check(), and tries each condition of each vector by itself.
 */

/* I(K, 0), K = 43, 44, 45, 46, 47, 48, 49, 50, 51, 52 */
SAME(I_0, 48, 52, -8, 29, 1, 29)
SAME(I_0, 47, 52, -7, 29, 1, 29)
SAME(I_0, 44, 52, -4, 29, 1, 29)
SAME(I_0, 43, 52, 3, 29, 1, 29)
SAME(I_0, 47, 52, -10, 4, 3, 29)
SAME(I_0, 43, 52, -6, 4, 3, 29)
SAME(I_0, 43, 52, -4, 4, 3, 29)
SAME(I_0, 43, 52, -2, 4, 3, 29)
SAME(I_0, 43, 52, 0, 4, 3, 29)
SAME(I_0, 51, 51, -16, 3, 4, 28)
SAME(I_0, 48, 52, -13, 4, 4, 29)
SAME(I_0, 45, 46, -10, 4, 4, 29)
SAME(I_0, 43, 44, 16, 5, 4, 30)
DIFFER(I_0, 45, 48, 15, 0, 1, 5)
DIFFER(I_0, 43, 45, 18, 1, 1, 6)
DIFFER(I_0, 50, 52, -14, 4, 1, 4)
DIFFER(I_0, 43, 46, -6, 4, 2, 4)
DIFFER(I_0, 43, 44, -4, 4, 2, 4)
DIFFER(I_0, 47, 52, -3, 29, 2, 29)
DIFFER(I_0, 45, 51, -1, 29, 2, 29)
DIFFER(I_0, 43, 49, 1, 29, 2, 29)
DIFFER(I_0, 50, 50, 1, 29, 3, 29)
DIFFER(I_0, 52, 52, 1, 29, 3, 29)
DIFFER(I_0, 43, 44, 15, 0, 5, 30)
DIFFER(I_0, 52, 52, -4, 29, 7, 29)
DIFFER(I_0, 51, 51, -3, 29, 7, 29)

/* I(K, 2), K = 46, 47, 48, 49, 50, 51 */
SAME(I_2, 51, 51, -14, 1, 0, 6)
SAME(I_2, 49, 51, -10, 6, 1, 1)
SAME(I_2, 46, 51, 0, 6, 1, 1)
SAME(I_2, 46, 51, -6, 6, 2, 6)
SAME(I_2, 46, 51, -4, 6, 2, 6)
SAME(I_2, 46, 51, -2, 6, 2, 6)
SAME(I_2, 51, 51, -16, 5, 4, 30)
DIFFER(I_2, 49, 51, -14, 1, 1, 6)
DIFFER(I_2, 46, 48, -11, 1, 1, 6)
DIFFER(I_2, 50, 51, -11, 1, 1, 6)
DIFFER(I_2, 46, 48, -7, 1, 1, 6)
DIFFER(I_2, 51, 51, -7, 1, 1, 6)
DIFFER(I_2, 46, 48, 15, 2, 1, 7)
DIFFER(I_2, 49, 49, -11, 1, 2, 1)
DIFFER(I_2, 49, 50, -7, 1, 8, 1)

/* II(K, 0), K = 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56 */
SAME(II_0, 56, 56, -16, 29, 1, 29)
SAME(II_0, 47, 56, -7, 29, 1, 29)
SAME(II_0, 46, 56, -6, 29, 1, 29)
SAME(II_0, 45, 56, -2, 29, 1, 29)
SAME(II_0, 45, 56, -1, 29, 1, 29)
SAME(II_0, 45, 54, 4, 29, 1, 29)
SAME(II_0, 45, 52, 7, 29, 1, 29)
SAME(II_0, 55, 55, 2, 4, 2, 29)
SAME(II_0, 55, 56, -18, 4, 3, 29)
SAME(II_0, 53, 56, -16, 4, 3, 29)
SAME(II_0, 46, 56, -9, 4, 3, 29)
SAME(II_0, 45, 56, -4, 4, 3, 29)
SAME(II_0, 45, 54, 2, 4, 3, 29)
SAME(II_0, 45, 52, 4, 4, 3, 29)
SAME(II_0, 47, 56, -12, 3, 4, 28)
SAME(II_0, 47, 56, -12, 4, 4, 29)
SAME(II_0, 45, 45, -9, 4, 4, 29)
SAME(II_0, 53, 56, 4, 4, 4, 29)
DIFFER(II_0, 45, 48, 15, 0, 1, 5)
DIFFER(II_0, 45, 45, 18, 1, 1, 6)
DIFFER(II_0, 54, 56, -18, 4, 2, 4)
DIFFER(II_0, 52, 56, -16, 4, 2, 4)
DIFFER(II_0, 45, 45, 5, 29, 2, 29)
DIFFER(II_0, 47, 47, 4, 29, 3, 29)
DIFFER(II_0, 49, 49, 4, 29, 3, 29)
DIFFER(II_0, 52, 52, 4, 29, 3, 29)
DIFFER(II_0, 46, 46, 5, 29, 3, 29)
DIFFER(II_0, 48, 48, 5, 29, 3, 29)
DIFFER(II_0, 50, 51, 5, 29, 3, 29)
DIFFER(II_0, 53, 53, 5, 29, 3, 29)
DIFFER(II_0, 48, 52, -13, 30, 5, 28)

/* II(K, 2), K = 46, 49, 50, 51 */
SAME(II_2, 49, 51, -9, 6, 1, 1)
SAME(II_2, 46, 46, -4, 6, 1, 1)
SAME(II_2, 49, 51, -4, 6, 1, 1)
SAME(II_2, 46, 46, 4, 6, 1, 1)
SAME(II_2, 49, 51, 4, 6, 1, 1)
SAME(II_2, 46, 46, 2, 6, 2, 6)
SAME(II_2, 49, 51, 2, 6, 2, 6)
SAME(II_2, 49, 51, -12, 5, 4, 30)
DIFFER(II_2, 46, 46, -10, 1, 1, 6)
DIFFER(II_2, 49, 51, -10, 1, 1, 6)
DIFFER(II_2, 46, 46, -5, 1, 1, 6)
DIFFER(II_2, 49, 49, -5, 1, 1, 6)
DIFFER(II_2, 46, 46, 15, 2, 1, 7)
DIFFER(II_2, 50, 51, -5, 1, 2, 1)
DIFFER(II_2, 46, 46, 1, 1, 4, 1)
DIFFER(II_2, 49, 51, 1, 1, 4, 1)
DIFFER(II_2, 49, 51, -13, 0, 5, 30)
