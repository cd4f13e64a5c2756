/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that knows libdeflate; see whole-inflate.h.
 */
#include "git-compat-util.h"
#include "parse.h"
#include "whole-inflate.h"

#ifdef USE_LIBDEFLATE

#include <libdeflate.h>

/*
 * There is no such struct: it stands for libdeflate's own, so that nobody else
 * needs to include the library's header.
 */
static struct libdeflate_decompressor *unwrap(struct whole_inflater *inflater)
{
	return (struct libdeflate_decompressor *)inflater;
}

struct whole_inflater *whole_inflater_new(void)
{
	if (!git_env_bool("GIT_TEST_WHOLE_INFLATE", 1))
		return NULL;
	return (struct whole_inflater *)libdeflate_alloc_decompressor();
}

void whole_inflater_free(struct whole_inflater *inflater)
{
	libdeflate_free_decompressor(unwrap(inflater));
}

int whole_inflate(struct whole_inflater *inflater,
		  const void *in, size_t in_len,
		  void *out, size_t out_len,
		  size_t *out_used, size_t *in_used)
{
	size_t in_actual, out_actual;

	if (!inflater ||
	    libdeflate_zlib_decompress_ex(unwrap(inflater), in, in_len,
					  out, out_len,
					  &in_actual, &out_actual))
		return -1;
	if (out_used)
		*out_used = out_actual;
	else if (out_actual != out_len)
		return -1;
	if (in_used)
		*in_used = in_actual;
	return 0;
}

uint32_t whole_crc32(uint32_t crc, const void *in, size_t len)
{
	/* NULL would have it return the initial value. */
	return in ? libdeflate_crc32(crc, in, len) : crc;
}

#else

#include "git-zlib.h"

struct whole_inflater *whole_inflater_new(void)
{
	return NULL;
}

void whole_inflater_free(struct whole_inflater *inflater UNUSED)
{
}

int whole_inflate(struct whole_inflater *inflater UNUSED,
		  const void *in UNUSED, size_t in_len UNUSED,
		  void *out UNUSED, size_t out_len UNUSED,
		  size_t *out_used UNUSED, size_t *in_used UNUSED)
{
	return -1;
}

uint32_t whole_crc32(uint32_t crc, const void *in, size_t len)
{
	const unsigned char *p = in;

	/* zlib counts in unsigned int. */
	while (len) {
		uInt n = len < INT_MAX ? len : INT_MAX;

		crc = crc32(crc, p, n);
		p += n;
		len -= n;
	}
	return crc;
}

#endif
