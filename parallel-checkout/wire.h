/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_WIRE_H
#define PARALLEL_CHECKOUT_WIRE_H

/*
 * The messages on the pipes between the main process and its checkout
 * workers, and nothing else: no descriptor is read or written here.
 *
 * Both directions carry frames. A frame is
 *
 *	be32 length of the payload
 *	be32 type (enum wire_type)
 *	payload
 *
 * The payload of WIRE_ITEMS is a sequence of items, that of WIRE_RESULTS is a
 * struct checkout_outcome followed by a sequence of results, in the order of
 * the items. WIRE_COLLECT, which is empty, asks for those that were
 * CHECKOUT_DELAYED, and comes last; WIRE_LATE has the form of WIRE_RESULTS, and
 * their results, in any order. WIRE_DONORS is a sequence of paths; see
 * donor-list.h.
 *
 * All integers are big endian, object names have the length that the
 * repository's hash algorithm gives them, and strings are preceded by their
 * length and followed by a NUL. No struct is copied, so no padding is ever
 * sent, and every length is checked against the frame before it is used.
 *
 * Both ends are the same build of Git; WIRE_PROTOCOL only has to change for the
 * case that the binary is replaced on disk while a checkout is running.
 */

#include "parallel-checkout/item.h"

struct git_hash_algo;
struct strbuf;

#define WIRE_PROTOCOL 5

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
	WIRE_DONORS = 0x444f4e52,	/* "DONR" */
};

/* A frame that was found in a buffer; points into that buffer. */
struct wire_frame {
	enum wire_type type;
	const unsigned char *payload;
	size_t len;
};

/* A position in a frame's payload. */
struct wire_cursor {
	const unsigned char *p, *end;
};

/*
 * Append the head of a frame of the given type to `out`. Returns the offset
 * that wire_end_frame() needs. Only one frame of a buffer can be open.
 */
size_t wire_begin_frame(struct strbuf *out, enum wire_type type);

/* Fill in the length of the frame that starts at `start`. */
void wire_end_frame(struct strbuf *out, size_t start);

/*
 * The number of bytes that wire_put_item() would append. Can be more than
 * WIRE_MAX_PAYLOAD, in which case the item cannot be sent.
 */
size_t wire_item_size(const struct checkout_item *item,
		      const struct git_hash_algo *algo);

/* Append an item to the frame that is open in `out`. */
void wire_put_item(struct strbuf *out, const struct checkout_item *item,
		   const struct git_hash_algo *algo);

/* Append what was done, which comes before all results of a frame. */
void wire_put_outcome(struct strbuf *out,
		      const struct checkout_outcome *outcome);

/* Append a result to the frame that is open in `out`. */
void wire_put_result(struct strbuf *out, const struct checkout_result *result);

/* Append a path, which is not empty, to the frame that is open in `out`. */
void wire_put_path(struct strbuf *out, const char *path);

/*
 * Look for a frame at the start of buf[0..len). Returns the number of bytes
 * that it takes, with `frame` pointing into `buf`; 0 if more bytes are needed
 * first; and -1 if this is no frame, after which the stream is of no use.
 */
ssize_t wire_next_frame(const char *buf, size_t len, struct wire_frame *frame);

/* Start reading a frame's payload. */
void wire_open_frame(struct wire_cursor *cursor,
		     const struct wire_frame *frame);

/*
 * Read the next item, result or path, or the outcome. Return 1 if there was
 * one, 0 at the end of the payload, and -1 if what is there is malformed.
 *
 * The path and the strings of an item point into the frame.
 */
int wire_get_item(struct wire_cursor *cursor, struct checkout_item *item,
		  const struct git_hash_algo *algo);
int wire_get_outcome(struct wire_cursor *cursor,
		     struct checkout_outcome *outcome);
int wire_get_result(struct wire_cursor *cursor, struct checkout_result *result);
int wire_get_path(struct wire_cursor *cursor, const char **path);

#endif /* PARALLEL_CHECKOUT_WIRE_H */
