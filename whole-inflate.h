/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WHOLE_INFLATE_H
#define WHOLE_INFLATE_H

/*
 * Inflating a whole zlib stream (RFC 1950) in one call, with libdeflate, when
 * its input lies in one piece of memory and its output has a place to go to.
 * That takes less than half of the time that zlib's stepwise inflate() needs.
 *
 * This is a fast path only. It either does the whole job or refuses it, for
 * whatever reason: the stream does not end within the input, it is corrupt, it
 * has another size than expected, there is no memory, Git was built without
 * USE_LIBDEFLATE. The caller then does the job with git_inflate() as if it had
 * never asked, and it is zlib's verdict, with zlib's messages, that counts.
 *
 * libdeflate takes some streams that zlib calls invalid: they use codes that
 * have no meaning in RFC 1951, and that no encoder writes. Who reads what has
 * come into the object store already may do so, too. Who decides what comes in,
 * or is there to find out if all is well, must be strict, since what zlib
 * refuses cannot be read by others: inflate only what can mean nothing else to
 * libdeflate than to zlib, which is a stream of one block that is stored or has
 * complete codes of its own. Short ones with the fixed codes and long ones of
 * several blocks are refused then.
 */

/*
 * The working memory of one inflation (some 10 kB), to be used for any number
 * of them, but by one thread at a time.
 */
struct libdeflate_decompressor;

/*
 * Return a new inflater, to be released by whole_inflater_free(). Return NULL,
 * which all functions take, if there is nothing to be had: built without
 * USE_LIBDEFLATE, out of memory, or the environment variable
 * GIT_TEST_WHOLE_INFLATE is set to a false value.
 */
struct libdeflate_decompressor *whole_inflater_new(void);
void whole_inflater_free(struct libdeflate_decompressor *inflater);

/*
 * Strictly inflate the zlib stream that begins at "in" and ends somewhere
 * within "in_len" bytes there to exactly "out_len" bytes at "out". If "in_used"
 * is not NULL, the length of the stream, with its checksum, is stored there;
 * what follows is not looked at.
 *
 * Return 0 on success. Return -1 if it is refused, without any message; what is
 * at "out" is undefined then.
 */
int whole_inflate(struct libdeflate_decompressor *inflater,
		  const void *in, size_t in_len,
		  void *out, size_t out_len, size_t *in_used);

/*
 * The same for those who read the object store, with an inflater of our own,
 * and not strictly, unless whole_inflate_strictly() was called.
 *
 * The lock of obj_read_lock() is held by the caller if it is in use, and is
 * released meanwhile. So the input must be secured as for git_inflate(): by a
 * pack window that is in use, or by a mapping of the caller's own.
 *
 * With GIT_TRACE_WHOLE_INFLATE, each call leaves a line in the trace: the size
 * of the output, and whether that was "done" or "refused".
 */
int whole_inflate_object(const void *in, size_t in_len,
			 void *out, size_t out_len, size_t *in_used);

/* To be called before threads read objects. */
void whole_inflate_strictly(void);

/*
 * crc32() of zlib, which takes several times as long; but that is what it is
 * without USE_LIBDEFLATE.
 */
uint32_t whole_crc32(uint32_t crc, const void *in, unsigned int len);

#endif /* WHOLE_INFLATE_H */
