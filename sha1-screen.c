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

	if (name && !*name)
		name = NULL;
	if (name && !strcmp(name, none.name))
		return &none;
	for (int i = 0; sha1_screen_backends[i]; i++) {
		const struct sha1_screen_backend *b = sha1_screen_backends[i];

		if ((!name || !strcmp(name, b->name)) && b->usable())
			return b;
	}
	if (name)
		die("GIT_TEST_SHA1: there is no '%s' here", name);
	return &none;
}

static const struct sha1_screen_backend *backend;

/* Threads that come here at the same time choose the same one. */
static const struct sha1_screen_backend *get_backend(void)
{
	const struct sha1_screen_backend *b =
		__atomic_load_n(&backend, __ATOMIC_RELAXED);

	if (!b) {
		b = choose_backend();
		__atomic_store_n(&backend, b, __ATOMIC_RELAXED);
	}
	return b;
}

void sha1_screen_use(const struct sha1_screen_backend *b)
{
	__atomic_store_n(&backend, b, __ATOMIC_RELAXED);
}

/*
 * Up to SHA1_SCREEN_BLOCKS blocks. No bytes are waiting in the buffer of the
 * context. Each block that is not proven harmless is given to sha1dc, with the
 * chaining value in front of it, and what comes out has to be what the back end
 * says. If it is not, return -1, with the chaining value and the length as they
 * were; an attack that was seen stays seen.
 */
static int update_group(SHA1_CTX *ctx, const struct sha1_screen_backend *b,
			const unsigned char *data, unsigned int n)
{
	uint32_t ihv[SHA1_SCREEN_BLOCKS + 1][5];	/* i: before block i */
	unsigned int suspects = b->compress(ctx->ihv, data, n, ihv);
	uint64_t total = ctx->total;

	if (suspects)
		memcpy(ihv[n], ctx->ihv, sizeof(ctx->ihv));
	for (unsigned int i = 0; suspects >> i; i++) {
		if (!(suspects >> i & 1))
			continue;
		memcpy(ctx->ihv, ihv[i], sizeof(ctx->ihv));
		SHA1DCUpdate(ctx, (const char *)data + 64 * i, 64);
		if (memcmp(ctx->ihv, ihv[i + 1], sizeof(ctx->ihv))) {
			memcpy(ctx->ihv, ihv[0], sizeof(ctx->ihv));
			ctx->total = total;
			return -1;
		}
	}
	if (suspects)
		memcpy(ctx->ihv, ihv[n], sizeof(ctx->ihv));
	ctx->total = total + 64 * n;
	return 0;
}

static void update_blocks(SHA1_CTX *ctx, const struct sha1_screen_backend *b,
			  const unsigned char *data, size_t nr)
{
	while (nr) {
		unsigned int n = nr < SHA1_SCREEN_BLOCKS ?
			nr : SHA1_SCREEN_BLOCKS;

		if (update_group(ctx, b, data, n)) {
			/*
			 * It may be a mapped file that somebody writes to; then
			 * both have not seen the same. A copy stays as it is.
			 */
			unsigned char copy[SHA1_SCREEN_BLOCKS * 64];

			memcpy(copy, data, 64 * n);
			if (update_group(ctx, b, copy, n))
				BUG("sha1dc and '%s' do not agree", b->name);
		}
		data += 64 * n;
		nr -= n;
	}
}

static void update(SHA1_CTX *ctx, const struct sha1_screen_backend *b,
		   const unsigned char *data, size_t len)
{
	size_t held = ctx->total % 64;

	if (held && len >= 64 - held) {
		unsigned char blocks[SHA1_SCREEN_BLOCKS * 64];
		size_t nr = (held + len) / 64, missing;

		/* As many as are checked at once: most objects are small. */
		if (nr > SHA1_SCREEN_BLOCKS)
			nr = SHA1_SCREEN_BLOCKS;
		missing = 64 * nr - held;
		memcpy(blocks, ctx->buffer, held);
		memcpy(blocks + held, data, missing);
		ctx->total -= held;
		update_blocks(ctx, b, blocks, nr);
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
	unsigned char end[2 * 64] = { 0 };
	size_t held = ctx->total % 64, nr = held < 56 ? 1 : 2;

	if (!b->compress)
		return SHA1DCFinal(hash, ctx);

	/* A one bit, zeros, and the length, up to the end of a block. */
	memcpy(end, ctx->buffer, held);
	end[held] = 0x80;
	put_be64(end + 64 * nr - 8, ctx->total * 8);
	ctx->total -= held;
	update_blocks(ctx, b, end, nr);
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
	const char *name = getenv("GIT_TEST_SHA1");

	if (name && *name && strcmp(name, "sha1dc"))
		die("GIT_TEST_SHA1: there is no '%s' here", name);
	return "sha1dc";
}

#endif
