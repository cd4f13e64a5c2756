/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WHOLE_INFLATE_H
#define WHOLE_INFLATE_H

/*
 * Inflating a whole zlib stream (RFC 1950) in one call, with libdeflate, when
 * its input lies in one piece of memory and its output has a place to go to.
 * That takes less than half of the time that zlib's stepwise inflate() needs.
 *
 * This is a fast path only. It either does the whole job or says "not me", for
 * whatever reason: the stream does not end within the input, it is corrupt, it
 * has another size than expected, there is no memory, Git was built without
 * USE_LIBDEFLATE. The caller then does the job with git_inflate() as if it had
 * never asked, and it is zlib's verdict, with zlib's messages, that counts.
 *
 * A stream that is accepted here has a valid header, a valid checksum and the
 * size asked for, and zlib accepts it, too, and inflates it to the same. That
 * is not left to libdeflate, which takes some streams that zlib calls invalid:
 * they use codes that have no meaning in RFC 1951, and that no encoder writes.
 * It only inflates what can mean nothing else to it than to zlib: a stream of
 * one block that is stored or has complete codes of its own. Short ones with
 * the fixed codes and long ones of several blocks are refused.
 *
 * Who reads what has come into the object store already may do without that,
 * and use a lenient inflater. Who decides what comes in, or is there to find
 * out if all is well, must not: what zlib refuses cannot be read by others.
 */

/*
 * The working memory of one inflation (some 10 kB), to be used for any number
 * of them, but by one thread at a time.
 */
struct whole_inflater;

/*
 * Return a new inflater, to be released by whole_inflater_free(). Return NULL
 * if there is nothing to be had: built without USE_LIBDEFLATE, out of memory,
 * or the environment variable GIT_TEST_WHOLE_INFLATE is set to a false value
 * (tests use that to get at the behaviour without this fast path). NULL can be
 * passed to all functions below; whole_inflate() then just refuses.
 */
struct whole_inflater *whole_inflater_new(void);

/* The same, but it accepts whatever libdeflate does. */
struct whole_inflater *whole_inflater_new_lenient(void);

/* Release an inflater; NULL is ignored. */
void whole_inflater_free(struct whole_inflater *inflater);

/*
 * Inflate the zlib stream that begins at "in" and that ends somewhere within
 * "in_len" bytes into "out", which has room for "out_len" bytes. Nothing
 * outside of these two ranges is touched.
 *
 * If "out_used" is NULL, the stream must inflate to exactly "out_len" bytes.
 * Otherwise it may inflate to fewer, and their number is stored there.
 *
 * If "in_used" is not NULL, the length of the stream, up to and including its
 * checksum, is stored there. What follows in the input is not looked at; a
 * caller that expects nothing to follow has to compare this with "in_len".
 *
 * Return 0 on success. Return -1 for "not me", without any message, with
 * undefined content of "out", and with "out_used" and "in_used" untouched.
 */
int whole_inflate(struct whole_inflater *inflater,
		  const void *in, size_t in_len,
		  void *out, size_t out_len,
		  size_t *out_used, size_t *in_used);

/*
 * The CRC-32 of "len" more bytes at "in", where that of what comes before is
 * "crc" (0 if nothing does). The same as crc32() of zlib, which takes several
 * times as long; but that is what it is without USE_LIBDEFLATE.
 */
uint32_t whole_crc32(uint32_t crc, const void *in, size_t len);

#endif /* WHOLE_INFLATE_H */
