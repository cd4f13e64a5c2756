/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that share blocks; see reflink.h.
 */
#include "git-compat-util.h"
#include "hash.h"
#include "object.h"
#include "object-file.h"
#include "parallel-checkout/reflink.h"
#ifdef __linux__
#include <sys/ioctl.h>
#include <sys/vfs.h>
/* of linux/fs.h, which some C libraries do not get on with */
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif
#endif

#define READ_SIZE (64 * 1024)

int can_reflink(const char *dir MAYBE_UNUSED, int force MAYBE_UNUSED)
{
#ifdef __linux__
	struct statfs fs;

	if (force)
		return 1;
	if (statfs(dir, &fs))
		return 0;
	switch ((uint32_t)fs.f_type) {
	case 0x58465342:	/* XFS */
	case 0x9123683e:	/* Btrfs */
	case 0xca451a4e:	/* bcachefs */
	case 0x7461636f:	/* OCFS2 */
		return 1;
	}
#endif
	return 0;
}

int reflink_file(int to MAYBE_UNUSED, int from MAYBE_UNUSED)
{
#ifdef __linux__
	return ioctl(to, FICLONE, from);
#else
	errno = ENOSYS;
	return -1;
#endif
}

int is_reflink_unsupported(int err)
{
	return err == EOPNOTSUPP || err == ENOTTY || err == ENOSYS;
}

int is_file_of_blob(int fd, const struct object_id *oid, size_t size,
		    const struct git_hash_algo *algo)
{
	struct git_hash_ctx ctx;
	struct object_id actual;
	char buf[READ_SIZE];
	ssize_t n;

	git_hash_init(&ctx, algo);
	git_hash_update(&ctx, buf,
			format_object_header(buf, sizeof(buf), OBJ_BLOB, size));
	while ((n = xread(fd, buf, sizeof(buf))) > 0)
		git_hash_update(&ctx, buf, n);
	git_hash_final_oid(&actual, &ctx);
	return !n && oideq(&actual, oid);
}
