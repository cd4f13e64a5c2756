/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_CONTENT_H
#define PARALLEL_CHECKOUT_CONTENT_H

/*
 * What is to be in a file: the blob of an item, converted but for its filter,
 * as a buffer, a stream, or the file of a donor. Nothing in here knows where
 * the file is that it goes to, and nothing is reported but as an error.
 */

#include "git-compat-util.h"

struct checkout_item;
struct checkout_writer;
struct stream_filter;

struct content {
	int file;		/* of a donor; -1 if there is none */
	unsigned cloned : 1;	/* that is what was written */
	char *buf;
	size_t size;
	struct stream_filter *filter;	/* the blob is to be streamed */
};

#define CONTENT_INIT { .file = -1 }

/*
 * Get the content of the item ready. Returns 0, or -1 if it cannot be had; then
 * error() or warning() may have been called, and if the blob is missing from a
 * partial clone, it was not fetched.
 *
 * May die() where the object store does, on a pack index that is corrupt.
 */
int content_load(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item);

/* Convert what is in the buffer, but for the filter. */
void content_convert(struct content *content, const struct checkout_item *item);

/*
 * Write the content to an empty file, which has to be open for reading, too, if
 * there is a file of a donor. Returns 0, or -1 with part of it written.
 */
int content_fill(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item, int fd);

void content_release(struct content *content);

#endif /* PARALLEL_CHECKOUT_CONTENT_H */
