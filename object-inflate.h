/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef OBJECT_INFLATE_H
#define OBJECT_INFLATE_H

/*
 * What the readers of packed and loose objects use of whole-inflate.h: they
 * ask here first, and go their usual way with zlib when the answer is no.
 *
 * All functions are called with the lock of obj_read_lock() held or, if that is
 * not in use, by one thread at a time, like the rest of what reads objects.
 * They release the lock while they inflate. So the input must be secured as for
 * git_inflate(): by a pack window that is in use, or by a mapping of the
 * caller's own.
 *
 * With GIT_TRACE_WHOLE_INFLATE, each call leaves a line in the trace, that
 * says what was asked for, the size of the output in bytes, and whether that
 * was "done" or "refused".
 */

/*
 * From now on, accept only what zlib accepts, instead of what libdeflate does
 * (see whole-inflate.h). For commands that are there to find what is wrong with
 * objects; to be called before threads read any.
 */
void inflate_strictly(void);

/*
 * Inflate the content of a pack entry (an object or a delta), whose zlib
 * stream starts at "in" and must end within the "in_len" bytes there, to
 * exactly "size" bytes in "out". Return 0 on success. Return -1 if the caller
 * has to do it; "out" is then undefined.
 */
int inflate_packed_whole(const void *in, size_t in_len,
			 void *out, size_t size);

/*
 * Inflate a loose object from its whole file, "in_len" bytes at "in". Its
 * header, known to take "hdr_len" bytes with its NUL, is dropped. The content,
 * exactly "size" bytes and a NUL, goes to "*content", an allocated buffer of
 * any size, which may be replaced by a larger one and stays the caller's.
 *
 * Return 0 on success. Return -1 if the caller has to do it, which includes
 * that the stream does not end with the file; the first "size" bytes of
 * "*content" are then undefined, but can be written to, and a NUL follows them.
 */
int inflate_loose_whole(const void *in, size_t in_len, size_t hdr_len,
			unsigned char **content, size_t size);

#endif /* OBJECT_INFLATE_H */
