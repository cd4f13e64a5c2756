/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LIB_RANDOM_DEFLATE_H
#define LIB_RANDOM_DEFLATE_H

#include "strbuf.h"

/* The next random number below "n" (not 0). The state is any number. */
uint32_t random_below(uint64_t *state, uint32_t n);

/*
 * Append a random deflate stream (RFC 1951): one to three short blocks of each
 * type, with random codes. One in about two breaks some rule of the RFC or of
 * zlib: symbols, codes, repeats or distances that there must not be.
 */
void random_deflate(struct strbuf *out, uint64_t *state);

#endif /* LIB_RANDOM_DEFLATE_H */
