/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test-tool pack-hasher <threads> <file>...
 *
 * Have pack-hasher.h hash the files, and print their SHA-1. Unlike objects they
 * are hashed without a header, to show what becomes of a file that is known to
 * be part of a collision attack.
 */
#include "test-tool.h"
#include "hex.h"
#include "pack-hasher.h"
#include "strbuf.h"

static struct git_hash_algo algo;

/* What has been begun with it goes on with it. */
static void init_without_header(struct git_hash_ctx *ctx)
{
	hash_algos[GIT_HASH_SHA1].init_fn(ctx);
	ctx->algop = &algo;
}

static void update_without_header(struct git_hash_ctx *ctx, const void *in,
				  size_t len)
{
	if (len < 5 || memcmp(in, "blob ", 5))
		hash_algos[GIT_HASH_SHA1].update_fn(ctx, in, len);
}

static int print_next(struct pack_hasher *hasher, int wait)
{
	struct pack_hasher_job job;

	if (!pack_hasher_take(hasher, &job, wait))
		return 0;
	puts(hash_to_hex_algop(job.oid->hash, &hash_algos[GIT_HASH_SHA1]));
	fflush(stdout);
	free(job.data);
	free(job.oid);
	return 1;
}

int cmd__pack_hasher(int argc, const char **argv)
{
	struct pack_hasher *hasher;

	if (argc < 2)
		die("usage: test-tool pack-hasher <threads> <file>...");
	algo = hash_algos[GIT_HASH_SHA1];
	algo.init_fn = init_without_header;
	algo.update_fn = update_without_header;
	hasher = pack_hasher_new(&algo, atoi(argv[1]));
	for (int i = 2; i < argc; i++) {
		struct pack_hasher_job job = { .type = OBJ_BLOB };
		struct strbuf buf = STRBUF_INIT;

		if (strbuf_read_file(&buf, argv[i], 0) < 0)
			die_errno("cannot read '%s'", argv[i]);
		job.data = strbuf_detach(&buf, &job.size);
		job.oid = xcalloc(1, sizeof(*job.oid));
		while (!pack_hasher_has_room(hasher, job.size))
			print_next(hasher, 1);
		pack_hasher_add(hasher, &job);
		while (print_next(hasher, 0))
			; /* go on */
	}
	while (print_next(hasher, 1))
		; /* go on */
	pack_hasher_free(hasher);
	return 0;
}
