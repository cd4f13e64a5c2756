/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inflating packed and loose objects in one call; see object-inflate.h.
 */
#include "git-compat-util.h"
#include "object-inflate.h"
#include "odb.h"
#include "trace.h"
#include "whole-inflate.h"

/* An inflater, kept for the next inflation. */
struct tools {
	struct tools *next;
	struct whole_inflater *inflater;
};

/*
 * There are as many sets of tools as there ever were threads that inflated at
 * the same moment. They are taken and put back while obj_read_lock is held, so
 * no other lock is needed, and no storage per thread that had to be released.
 */
static struct tools *spare_tools;	/* access under obj_read_lock */
static int no_tools;			/* access under obj_read_lock */
static int strict;			/* set before there are threads */

void inflate_strictly(void)
{
	strict = 1;
	while (spare_tools) {
		struct tools *t = spare_tools;

		spare_tools = t->next;
		whole_inflater_free(t->inflater);
		free(t);
	}
}

static struct tools *take_tools(void)
{
	struct tools *t = spare_tools;

	if (t) {
		spare_tools = t->next;
	} else if (!no_tools) {
		struct whole_inflater *inflater = strict ?
			whole_inflater_new() : whole_inflater_new_lenient();

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
