/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inflating packed and loose objects in one call; see object-inflate.h.
 */
#include "git-compat-util.h"
#include "object-file.h"
#include "object-inflate.h"
#include "odb.h"
#include "trace.h"
#include "whole-inflate.h"

/*
 * A loose object whose file is at most this large is inflated before its size
 * is known, into a buffer that is kept. Asking zlib for the header first costs
 * about as much as it takes to inflate a few kilobytes with libdeflate; from
 * these sizes on it does not matter any more. The buffer allows for the usual
 * ratios of source code; what compresses better takes the other path.
 */
#define SMALL_FILE	(16 * 1024)
#define SMALL_OUTPUT	(64 * 1024)

/* What one inflation needs, kept for the next one. */
struct tools {
	struct tools *next;
	struct whole_inflater *inflater;
	unsigned char *small_output;	/* allocated when first needed */
};

/*
 * There are as many sets of tools as there ever were threads that inflated at
 * the same moment. They are taken and put back while obj_read_lock is held, so
 * no other lock is needed, and no storage per thread that had to be released.
 */
static struct tools *spare_tools;	/* access under obj_read_lock */
static int no_tools;			/* access under obj_read_lock */

static struct tools *take_tools(void)
{
	struct tools *t = spare_tools;

	if (t) {
		spare_tools = t->next;
	} else if (!no_tools) {
		struct whole_inflater *inflater = whole_inflater_new();

		if (inflater) {
			CALLOC_ARRAY(t, 1);
			t->inflater = inflater;
		} else {
			no_tools = 1;
		}
	}
	return t;
}

static void put_back_tools(struct tools *t)
{
	t->next = spare_tools;
	spare_tools = t;
}

static void trace_result(const char *what, size_t size, int done)
{
	static struct trace_key key = TRACE_KEY_INIT(WHOLE_INFLATE);

	trace_printf_key(&key, "%s %"PRIuMAX" %s\n", what, (uintmax_t)size,
			 done ? "done" : "refused");
}

int inflate_packed_whole(const void *in, size_t in_len,
			 void *out, size_t size)
{
	struct tools *t;
	int ret;

	t = take_tools();
	if (!t)
		return -1;

	obj_read_unlock();
	ret = whole_inflate(t->inflater, in, in_len, out, size, NULL, NULL);
	obj_read_lock();

	put_back_tools(t);
	trace_result("packed", size, !ret);
	return ret;
}

/*
 * The length of a loose object's header, NUL included, if the first "len"
 * bytes of the object hold a valid one of at most "max" bytes that announces
 * what is there in full. Otherwise 0.
 */
static size_t check_loose_header(const char *object, size_t len, size_t max)
{
	const char *nul = memchr(object, '\0', len < max ? len : max);
	enum object_type type;
	size_t size;
	struct object_info oi = OBJECT_INFO_INIT;

	if (!nul)
		return 0;
	oi.typep = &type;
	oi.sizep = &size;
	if (parse_loose_header(object, &oi) < 0 || type < 0)
		return 0;
	if (size != len - (nul + 1 - object))
		return 0;
	return nul + 1 - object;
}

void *inflate_loose_small(const void *in, size_t in_len,
			  char *hdr, size_t hdr_len)
{
	struct tools *t;
	void *content = NULL;
	size_t in_used, out_used, skip;
	int ret;

	if (in_len > SMALL_FILE)
		return NULL;
	t = take_tools();
	if (!t)
		return NULL;
	if (!t->small_output)
		t->small_output = xmalloc(SMALL_OUTPUT);

	obj_read_unlock();
	ret = whole_inflate(t->inflater, in, in_len,
			    t->small_output, SMALL_OUTPUT, &out_used, &in_used);
	obj_read_lock();

	if (!ret && in_used == in_len) {
		skip = check_loose_header((char *)t->small_output, out_used,
					  hdr_len);
		if (skip) {
			memcpy(hdr, t->small_output, skip);
			content = xmemdupz(t->small_output + skip,
					   out_used - skip);
		}
	}

	put_back_tools(t);
	trace_result("loose-small", in_len, !!content);
	return content;
}

int inflate_loose_whole(const void *in, size_t in_len, size_t hdr_len,
			unsigned char **content, size_t size)
{
	struct tools *t;
	size_t in_used;
	int ret;

	t = take_tools();
	if (!t)
		return -1;

	/* The header comes first in the stream, so it needs a place, too. */
	*content = xrealloc(*content, st_add3(hdr_len, size, 1));

	obj_read_unlock();
	ret = whole_inflate(t->inflater, in, in_len,
			    *content, hdr_len + size, NULL, &in_used);
	if (!ret && in_used != in_len)
		ret = -1;
	if (!ret)
		memmove(*content, *content + hdr_len, size);
	/*
	 * In any case: zlib may be content with a stream that is shorter than
	 * its header says, and write less than this.
	 */
	(*content)[size] = '\0';
	obj_read_lock();

	put_back_tools(t);
	trace_result("loose", size, !ret);
	return ret;
}
