/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks are compressed and checked by a back end, and those that it does not
 * prove harmless are given to sha1dc; see sha1-screen.h.
 */
#include "git-compat-util.h"
#include "sha1-screen.h"

#ifdef SHA1_SCREEN

#include "sha1-screen/backend.h"

static const struct sha1_screen_backend none = { "sha1dc" };

static const struct sha1_screen_backend *choose_backend(void)
{
	const char *name = getenv("GIT_TEST_SHA1");

	if (name && !strcmp(name, none.name))
		return &none;
	for (int i = 0; sha1_screen_backends[i]; i++) {
		const struct sha1_screen_backend *b = sha1_screen_backends[i];

		if ((!name || !strcmp(name, b->name)) && b->usable())
			return b;
	}
	if (name)
		die("GIT_TEST_SHA1: this machine has no '%s'", name);
	return &none;
}

/* Threads that come here at the same time choose the same one. */
static const struct sha1_screen_backend *get_backend(void)
{
	static const struct sha1_screen_backend *backend;
	const struct sha1_screen_backend *b =
		__atomic_load_n(&backend, __ATOMIC_RELAXED);

	if (!b) {
		b = choose_backend();
		__atomic_store_n(&backend, b, __ATOMIC_RELAXED);
	}
	return b;
}

/*
 * Give a block to sha1dc, with the chaining value in front of it. What comes
 * out has to be what the back end says; that happens so often that a processor
 * which makes mistakes is found.
 */
static void compress_suspect(SHA1_CTX *ctx, const unsigned char *block,
			     const uint32_t before[5], const uint32_t after[5])
{
	memcpy(ctx->ihv, before, sizeof(ctx->ihv));
	SHA1DCUpdate(ctx, (const char *)block, 64);
	if (memcmp(ctx->ihv, after, sizeof(ctx->ihv)))
		BUG("sha1dc and '%s' do not agree", sha1_screen_name());
}

/* No bytes are waiting in the buffer of the context. */
static void update_blocks(SHA1_CTX *ctx, const struct sha1_screen_backend *b,
			  const unsigned char *data, size_t nr)
{
	while (nr) {
		unsigned int n = nr < SHA1_SCREEN_BLOCKS ?
			nr : SHA1_SCREEN_BLOCKS;
		uint32_t ihv[SHA1_SCREEN_BLOCKS + 1][5];	/* 0: before */
		uint64_t total = ctx->total + 64 * n;
		unsigned int suspects = b->compress(ctx->ihv, data, n, ihv);

		if (suspects) {
			memcpy(ihv[n], ctx->ihv, sizeof(ctx->ihv));
			for (unsigned int i = 0; i < n; i++)
				if (suspects & (1u << i))
					compress_suspect(ctx, data + 64 * i,
							 ihv[i], ihv[i + 1]);
			memcpy(ctx->ihv, ihv[n], sizeof(ctx->ihv));
		}
		ctx->total = total;
		data += 64 * n;
		nr -= n;
	}
}

static void update(SHA1_CTX *ctx, const struct sha1_screen_backend *b,
		   const unsigned char *data, size_t len)
{
	size_t held = ctx->total % 64;

	if (held && len >= 64 - held) {
		size_t missing = 64 - held;
		unsigned char block[64];

		memcpy(block, ctx->buffer, held);
		memcpy(block + held, data, missing);
		ctx->total -= held;
		update_blocks(ctx, b, block, 1);
		data += missing;
		len -= missing;
		held = 0;
	}
	if (!held && len >= 64) {
		update_blocks(ctx, b, data, len / 64);
		data += len - len % 64;
		len %= 64;
	}
	SHA1DCUpdate(ctx, (const char *)data, len);	/* keeps it */
}

void sha1_screen_update(SHA1_CTX *ctx, const void *data, size_t len)
{
	const struct sha1_screen_backend *b = get_backend();

	if (b->compress)
		update(ctx, b, data, len);
	else
		SHA1DCUpdate(ctx, data, len);
}

int sha1_screen_final(unsigned char hash[20], SHA1_CTX *ctx)
{
	const struct sha1_screen_backend *b = get_backend();
	unsigned char end[2 * 64] = { 0x80 };
	uint64_t bits = ctx->total * 8;
	size_t len;

	if (!b->compress)
		return SHA1DCFinal(hash, ctx);

	/* A one bit, zeros, and the length, up to the end of a block. */
	len = (ctx->total % 64 < 56 ? 64 : 128) - ctx->total % 64;
	put_be64(end + len - 8, bits);
	update(ctx, b, end, len);
	for (int i = 0; i < 5; i++)
		put_be32(hash + 4 * i, ctx->ihv[i]);
	return ctx->found_collision;
}

const char *sha1_screen_name(void)
{
	return get_backend()->name;
}

#else

void sha1_screen_update(SHA1_CTX *ctx, const void *data, size_t len)
{
	SHA1DCUpdate(ctx, data, len);
}

int sha1_screen_final(unsigned char hash[20], SHA1_CTX *ctx)
{
	return SHA1DCFinal(hash, ctx);
}

const char *sha1_screen_name(void)
{
	return "sha1dc";
}

#endif
