/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PACK_SPOOL_H
#define PACK_SPOOL_H

/*
 * Writing a pack to a file, and computing its checksum, while the caller goes
 * on reading the pack.
 *
 * The caller reads into a buffer. What it is done with goes to the spool, which
 * has it written in a thread of its own, and gives the caller another buffer
 * meanwhile. There are two of them, so that each waits for the other, if it is
 * faster.
 *
 * All functions are to be called by one thread. They die in that thread if the
 * file cannot be written.
 */

struct pack_spool;

/*
 * Write the next part of the pack. Returns 0, or errno. It is called in the
 * spool's thread, or in the caller's; what it uses is not to be used by others
 * between pack_spool_put() and pack_spool_wait().
 */
typedef int (*pack_spool_fn)(const void *buf, size_t len);

/*
 * Return a new spool, to be released by pack_spool_free(). "buffer" has "size"
 * bytes, is what the caller reads into at first, and the spool's to free().
 * Without "threaded", or if there is no thread to be had, everything is done by
 * the caller's thread.
 */
struct pack_spool *pack_spool_new(pack_spool_fn write_part,
				  unsigned char *buffer, size_t size,
				  int threaded);

/*
 * The first "done" bytes of the buffer that the caller has are the next part of
 * the pack. Return the buffer to go on with, which begins with the "rest" bytes
 * that come after them. The other one must not be touched any more.
 */
unsigned char *pack_spool_put(struct pack_spool *spool, size_t done,
			      size_t rest);

/*
 * The same, but all of it is written on return, by the caller's thread, as that
 * would have to wait for the other one; and the buffer stays.
 */
void pack_spool_flush(struct pack_spool *spool, size_t done, size_t rest);

/* Wait until all parts are written. */
void pack_spool_wait(struct pack_spool *spool);

/* Wait, end the thread, and release the spool and its buffers. */
void pack_spool_free(struct pack_spool *spool);

#endif /* PACK_SPOOL_H */
