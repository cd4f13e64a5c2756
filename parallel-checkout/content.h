/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_CONTENT_H
#define PARALLEL_CHECKOUT_CONTENT_H

/*
 * What is to be in a file: the blob of an item, converted but for its filter,
 * as a buffer, a stream, or the file of a donor.
 */

#include "odb.h"

struct checkout_item;
struct checkout_writer;
struct stream_filter;

struct content {
	struct object_info oi;	/* where the blob was found */
	int file;		/* of a donor; -1 if there is none */
	char *buf;
	size_t size;
	struct stream_filter *stream;	/* the blob is to be streamed */
};

/*
 * Get the content of the item ready. Returns 0, or -1 if it cannot be had
 * without a fetch; error() or warning() may have been called. May die() where
 * the object store does, on a corrupt pack index.
 */
int content_load(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item);

/*
 * Write the content to an empty file, which has to be open for reading, too, if
 * there is a file of a donor. Returns 0, or -1 with part of it written.
 */
int content_fill(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item, int fd);

#endif /* PARALLEL_CHECKOUT_CONTENT_H */
