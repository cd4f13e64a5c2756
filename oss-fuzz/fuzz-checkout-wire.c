/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feed anything to the decoder of parallel checkout's messages, as both ends
 * would: a stream of frames, each with items or results.
 */
#include "git-compat-util.h"
#include "hash.h"
#include "parallel-checkout/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touch what a string claims to be, and stop if it is not in the frame. */
static void check_string(const struct wire_frame *frame, const char *s)
{
	if (s && s + strlen(s) >= frame->end)
		abort();
}

static void decode_frame(struct wire_frame frame,
			 const struct git_hash_algo *algo)
{
	struct checkout_outcome outcome;
	struct checkout_result result;
	struct checkout_item item;

	if (frame.type == WIRE_ITEMS) {
		while (wire_get_item(&frame, &item, algo) > 0) {
			if (!item.path_len || item.path[item.path_len])
				abort();
			check_string(&frame, item.path);
			check_string(&frame, item.ca.working_tree_encoding);
			check_string(&frame, item.filter);
		}
	} else if (!wire_get_outcome(&frame, &outcome)) {
		while (wire_get_result(&frame, &result) > 0)
			if (result.status < CHECKOUT_WRITTEN ||
			    result.status > CHECKOUT_UNFILTERED)
				abort();
	}
	if (frame.p > frame.end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *buf = (const char *)data;
	struct wire_frame frame;
	ssize_t n;

	while ((n = wire_next_frame(buf, size, &frame)) > 0) {
		if ((size_t)n > size)
			abort();
		decode_frame(frame, &hash_algos[GIT_HASH_SHA1]);
		decode_frame(frame, &hash_algos[GIT_HASH_SHA256]);
		buf += n;
		size -= n;
	}
	return 0;
}
