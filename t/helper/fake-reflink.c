/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library to be preloaded, which has FICLONE simulated on file systems that
 * cannot do it, and lets it fail in the ways that real ones have failed.
 *
 *	cc -shared -fPIC -o fake-reflink.so fake-reflink.c
 *
 * FAKE_REFLINK is what FICLONE does:
 *
 *	copy	the file is copied
 *	short	half of it is, which counts as success
 *	zero	it has the right size and only zeros, which counts as success
 *	other	the first byte was written to in that moment by somebody who
 *		has mapped the file into memory: no times have changed
 *	opened	the same, and somebody waits to open it; a lease is asked back
 *	fail	the disk has an error when half of it is copied
 *	unsupported	what a file system says that cannot share blocks
 *
 * FAKE_REFLINK_LEASES, if set, has fstatfs() say that this is XFS; otherwise it
 * says that it does not know, so that there are no leases.
 * FAKE_REFLINK_LOG, if set, is a file to which a line is added for each call.
 * FAKE_REFLINK_FS is the f_type of each file system, in hexadecimal; if it is
 * unset, that of XFS.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define FICLONE_REQUEST 0x40049409ul
#define XFS_TYPE 0x58465342

static void log_call(void)
{
	const char *path = getenv("FAKE_REFLINK_LOG");
	int fd;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, "FICLONE\n", 8) != 8)
		abort();
	close(fd);
}

static int copy(int to, int from, off_t size, int zero, int other)
{
	char buf[65536];
	off_t pos = 0;

	while (pos < size) {
		ssize_t n = pread(from, buf, size - pos < (off_t)sizeof(buf) ?
				  (size_t)(size - pos) : sizeof(buf), pos);

		if (n <= 0)
			return -1;
		if (zero)
			memset(buf, 0, n);
		if (other && !pos)
			buf[0] ^= 1;
		if (pwrite(to, buf, n, pos) != n)
			return -1;
		pos += n;
	}
	return 0;
}

static void ask_lease_back(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) >= 0 ||
	    errno != EAGAIN)
		abort();
}

static int fake(int to, int from, const char *how)
{
	int is_short = !strcmp(how, "short"), fails = !strcmp(how, "fail");
	struct stat st;

	log_call();
	if (!strcmp(how, "unsupported")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (fstat(from, &st) ||
	    copy(to, from, is_short || fails ? st.st_size / 2 : st.st_size,
		 !strcmp(how, "zero"),
		 !strcmp(how, "other") || !strcmp(how, "opened")))
		return -1;
	if (!strcmp(how, "opened"))
		ask_lease_back(from);
	if (fails) {
		errno = EIO;
		return -1;
	}
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	const char *how = getenv("FAKE_REFLINK");
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (request == FICLONE_REQUEST && how)
		return fake(fd, (int)arg, how);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static long fs_type(void)
{
	const char *type = getenv("FAKE_REFLINK_FS");

	return type ? strtol(type, NULL, 16) : XFS_TYPE;
}

/* Git asks for nothing but the type. */
int statfs(const char *path, struct statfs *fs)
{
	(void)path;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = fs_type();
	return 0;
}

int statfs64(const char *path, struct statfs64 *fs)
{
	(void)path;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = fs_type();
	return 0;
}

int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = getenv("FAKE_REFLINK_LEASES") ? XFS_TYPE : 0;
	return 0;
}

int fstatfs64(int fd, struct statfs64 *fs)
{
	(void)fd;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = getenv("FAKE_REFLINK_LEASES") ? XFS_TYPE : 0;
	return 0;
}
