/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_WIRE_H
#define PARALLEL_CHECKOUT_WIRE_H

/*
 * The messages on the pipes between the main process and its checkout workers.
 *
 * Both directions carry frames. A frame is
 *
 *	be32 length of the payload
 *	be32 type (enum wire_type)
 *	payload
 *
 * The payload of WIRE_ITEMS is a sequence of items: for each, the struct as it
 * is, and the path, encoding and filter, each with a NUL at its end. That of
 * WIRE_RESULTS is a struct checkout_outcome and a struct checkout_result for
 * each of the items. WIRE_COLLECT, which is empty, asks for those that were
 * CHECKOUT_DELAYED, and comes last; WIRE_LATE has the form of WIRE_RESULTS, and
 * their results, in any order.
 *
 * Both ends are the same build of Git, unless the binary is replaced while a
 * checkout is running: that is what WIRE_PROTOCOL has to change for. Still,
 * whatever is received is checked before it is used.
 */

#include "parallel-checkout/item.h"

struct git_hash_algo;
struct strbuf;

/* One more with each release that changes the messages. */
#define WIRE_PROTOCOL 6

/*
 * No frame is larger than this. The bound keeps a corrupt length from making
 * the receiver wait for, and allocate, gigabytes.
 */
#define WIRE_MAX_PAYLOAD (1024 * 1024)

enum wire_type {
	WIRE_ITEMS = 0x4954454d,	/* "ITEM" */
	WIRE_COLLECT = 0x434f4c4c,	/* "COLL" */
	WIRE_RESULTS = 0x5245534c,	/* "RESL" */
	WIRE_LATE = 0x4c415445,		/* "LATE" */
};

/* A frame that was found in a buffer, and what was not read of its payload. */
struct wire_frame {
	enum wire_type type;	/* or any other number */
	const char *p, *end;
};

/*
 * Append the head of a frame of the given type to `out`. Returns the offset
 * that wire_end_frame() needs. Only one frame of a buffer can be open.
 */
size_t wire_begin_frame(struct strbuf *out, enum wire_type type);

/* Fill in the length of the frame that starts at `start`. */
void wire_end_frame(struct strbuf *out, size_t start);

/*
 * Append to the frame that is open in `out`. The outcome comes before the
 * results; clear both structs with memset() before they are filled in.
 */
void wire_put_item(struct strbuf *out, const struct checkout_item *item);
void wire_put_outcome(struct strbuf *out,
		      const struct checkout_outcome *outcome);
void wire_put_result(struct strbuf *out, const struct checkout_result *result);

/*
 * Wait until a pipe has something to read or its end, or it is end_ns by
 * getnanotime(). Returns -1 in the latter case, or if that cannot be known.
 */
int wire_wait(int fd, uint64_t end_ns);

/*
 * Look for a frame at the start of buf[0..len). Returns the number of bytes
 * that it takes, with `frame` pointing into `buf`; 0 if more bytes are needed
 * first; and -1 if this is no frame, after which the stream is of no use.
 */
ssize_t wire_next_frame(const char *buf, size_t len, struct wire_frame *frame);

/*
 * Read the next item or result. Return 1 if there was one, 0 at the end of the
 * payload, and -1 if what is there is malformed. The strings of an item point
 * into the buffer of the frame.
 */
int wire_get_item(struct wire_frame *frame, struct checkout_item *item,
		  const struct git_hash_algo *algo);
int wire_get_result(struct wire_frame *frame, struct checkout_result *result);

/* Read the outcome. Returns -1 if there is none. */
int wire_get_outcome(struct wire_frame *frame,
		     struct checkout_outcome *outcome);

#endif /* PARALLEL_CHECKOUT_WIRE_H */
