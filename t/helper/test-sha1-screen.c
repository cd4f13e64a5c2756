/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SHA-1 as sha1-screen.h computes it, for t0015:
 *
 *   name                  the back end in use
 *   hash <size> [<skip>]  the digest of standard input, which is taken in
 *                         updates of that size, from buffers that begin that
 *                         many bytes behind an aligned address
 *   race <n>              digests of n buffers that another thread writes to
 *   lie <n> <i> <size>    hash that many zeros, with a back end that gives
 *                         block i of each group of n to sha1dc, and a wrong
 *                         chaining value for it
 *   random <n>            compare n messages of random lengths and contents, in
 *                         random updates, with what sha1dc says by itself
 */
#include "test-tool.h"
#include "hash.h"
#include "hex.h"
#include "thread-utils.h"

#ifdef platform_SHA_IS_SHA1DC

#include "sha1-screen.h"

#ifdef SHA1_SCREEN
#include "sha1-screen/backend.h"

static const struct sha1_screen_backend *honest;
static unsigned int lie_n, lie_i;

static unsigned int lie(uint32_t ihv[5], const unsigned char *data,
			unsigned int n, uint32_t before[][5])
{
	unsigned int suspects = honest->compress(ihv, data, n, before);

	if (n != lie_n)
		return suspects;
	(lie_i + 1 < n ? before[lie_i + 1] : ihv)[0] ^= 1;
	return suspects | 1u << lie_i;
}

static int hash_with_liar(unsigned int n, unsigned int i, size_t size)
{
	static struct sha1_screen_backend liar = {
		.name = "liar",
		.compress = lie,
	};
	unsigned char hash[GIT_SHA1_RAWSZ], *zeros = xcalloc(1, size + 1);
	git_SHA_CTX ctx;

	for (int j = 0; !honest && sha1_screen_backends[j]; j++)
		if (sha1_screen_backends[j]->usable())
			honest = sha1_screen_backends[j];
	if (!honest)
		die("there is no back end here");
	lie_n = n;
	lie_i = i;
	sha1_screen_use(&liar);
	git_SHA1_Init(&ctx);
	git_SHA1_Update(&ctx, zeros, size);
	git_SHA1_Final(hash, &ctx);
	puts(hash_to_hex_algop(hash, &hash_algos[GIT_HASH_SHA1]));
	free(zeros);
	return 0;
}

#else

static int hash_with_liar(unsigned int n UNUSED, unsigned int i UNUSED,
			  size_t size UNUSED)
{
	die("there is no back end here");
}

#endif

static int hash_stdin(size_t size, size_t skip)
{
	unsigned char hash[GIT_SHA1_RAWSZ];
	char *buf = xmalloc(skip + size);
	git_SHA_CTX ctx;
	ssize_t len;

	git_SHA1_Init(&ctx);
	while ((len = read_in_full(0, buf + skip, size)) > 0)
		git_SHA1_Update(&ctx, buf + skip, len);
	if (len < 0)
		die_errno("cannot read standard input");
	git_SHA1_Final(hash, &ctx);
	puts(hash_to_hex_algop(hash, &hash_algos[GIT_HASH_SHA1]));
	free(buf);
	return 0;
}

static uint64_t random_state = 88172645463325252ULL;

static unsigned int random_below(unsigned int n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return ((random_state * 0x2545f4914f6cdd1dULL) >> 32) % n;
}

static int compare_random(unsigned long n)
{
	unsigned char buf[2000], expect[20], actual[20];

	while (n--) {
		size_t len = random_below(random_below(8) ? 300 : sizeof(buf));
		size_t max_update = 1 + random_below(len + 1);
		SHA1_CTX ctx;

		for (size_t i = 0; i < len; i++)
			buf[i] = random_below(256);
		SHA1DCInit(&ctx);
		SHA1DCUpdate(&ctx, (const char *)buf, len);
		if (SHA1DCFinal(expect, &ctx))
			die("a collision by chance");

		SHA1DCInit(&ctx);
		for (size_t i = 0, part; i < len; i += part) {
			part = random_below(max_update + 1);
			if (part > len - i)
				part = len - i;
			sha1_screen_update(&ctx, buf + i, part);
		}
		if (sha1_screen_final(actual, &ctx) ||
		    memcmp(expect, actual, sizeof(expect)))
			die("a message of %"PRIuMAX" bytes, %lu before the end",
			    (uintmax_t)len, n);
	}
	return 0;
}

static void *write_random(void *data)
{
	volatile uint32_t *buf = data;

	/* buf[0] is that of the other thread. */
	for (uint32_t x = 1; !buf[0]; x = x * 1664525 + 1013904223)
		buf[1 + (x >> 8) % 16384] = x;
	return NULL;
}

static int hash_written_to(unsigned long n)
{
	uint32_t *buf = xcalloc(1 + 16384, sizeof(*buf));
	pthread_t thread;

	if (pthread_create(&thread, NULL, write_random, buf))
		die("cannot create a thread");
	while (n--) {
		unsigned char hash[GIT_SHA1_RAWSZ];
		git_SHA_CTX ctx;

		git_SHA1_Init(&ctx);
		git_SHA1_Update(&ctx, buf + 1, 16384 * sizeof(*buf));
		git_SHA1_Final(hash, &ctx);
	}
	*(volatile uint32_t *)buf = 1;
	pthread_join(thread, NULL);
	free(buf);
	return 0;
}

int cmd__sha1_screen(int argc, const char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "name")) {
		puts(sha1_screen_name());
		return 0;
	}
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "hash"))
		return hash_stdin(strtoul(argv[2], NULL, 10),
				  argc == 4 ? strtoul(argv[3], NULL, 10) : 0);
	if (argc == 3 && !strcmp(argv[1], "random"))
		return compare_random(strtoul(argv[2], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "race"))
		return hash_written_to(strtoul(argv[2], NULL, 10));
	if (argc == 5 && !strcmp(argv[1], "lie"))
		return hash_with_liar(strtoul(argv[2], NULL, 10),
				      strtoul(argv[3], NULL, 10),
				      strtoul(argv[4], NULL, 10));
	die("usage: test-tool sha1-screen (name | hash <size> [<skip>] | "
	    "lie <n> <i> <size> | race <n> | random <n>)");
}

#else

int cmd__sha1_screen(int argc UNUSED, const char **argv UNUSED)
{
	die("Git is not built with sha1dc");
}

#endif
