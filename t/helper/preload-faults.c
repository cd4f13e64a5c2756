/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library for LD_PRELOAD, for tests of system calls that fail in ways in
 * which file systems of tests do not. FAULTS in the environment has one word:
 *
 *   create	the file is made, but open() says EINTR
 *   early	the file is not made, and open() says EINTR
 *   other	somebody else makes the file, and open() says EINTR
 *   symlink	the link is made, but symlink() says EINTR
 *   close	the file is closed, but close() says EINTR
 *   quota	write() says EDQUOT
 *   pipe		write() to a pipe says ENOSPC, again and again
 *   poll		poll() says ENOMEM, again and again
 *   fork		fork() says EAGAIN, but for once
 *   hide		readdir() does not list ".gitignore"
 *   lookup	lstat() of a directory says EIO, but for once
 *
 * "pipe" and "poll" begin with call FAULTS_NTH, "fork" is that call only, and
 * "lookup" directory FAULTS_NTH. All else but "hide" is for links, and files
 * that are created with O_EXCL, outside of ".git", and for each FAULTS_NTH of
 * them (the first, and each, unless set). What is done is appended to
 * FAULTS_LOG. Tests build it themselves; see lib-faulty-calls.sh.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FDS 1024

/* Which descriptors are of files that something is to be wrong with? */
static char is_faulty[MAX_FDS];

static int want(const char *fault)
{
	const char *faults = getenv("FAULTS");

	return faults && !strcmp(faults, fault);
}

static void note(const char *what, const char *path)
{
	const char *name = getenv("FAULTS_LOG");
	int saved_errno = errno;
	FILE *log = name ? fopen(name, "a") : NULL;

	if (log) {
		fprintf(log, "%s %s\n", what, path);
		fclose(log);
	}
	errno = saved_errno;
}

static int nth(void)
{
	const char *value = getenv("FAULTS_NTH");

	return value ? atoi(value) : 1;
}

#define DEFINE_LSTAT(suffix) \
int lstat##suffix(const char *path, struct stat##suffix *st) \
{ \
	static int looked; \
	int ret = fstatat##suffix(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW); \
\
	if (ret || !want("lookup") || !S_ISDIR(st->st_mode) || \
	    *path == '/' || strstr(path, ".git") || ++looked != nth()) \
		return ret; \
	note("lookup", path); \
	errno = EIO; \
	return -1; \
}

DEFINE_LSTAT()
#ifdef __GLIBC__
DEFINE_LSTAT(64)
#endif

/* Is it the turn of a file that is created, or a link? */
static int is_chosen(const char *path)
{
	static int created;

	return !strstr(path, ".git") && ++created % nth() == 0;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	int chosen = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) &&
		is_chosen(path);
	int fd = chosen && want("early") ? -1 :
		syscall(SYS_openat, dir, path, flags, mode);

	if (chosen)
		note("open", path);
	if (chosen && want("early"))
		errno = EINTR;
	if (fd < 0 || fd >= MAX_FDS)
		return fd;
	if (chosen && want("other"))
		syscall(SYS_write, fd, "other\n", 6);
	if (chosen && (want("create") || want("other"))) {
		syscall(SYS_close, fd);
		errno = EINTR;
		return -1;
	}
	is_faulty[fd] = chosen;
	return fd;
}

#define NO_DIR
#define DIR_ARG int dir,
#define DEFINE_OPEN(name, arg, dir) \
int name(arg const char *path, int flags, ...) \
{ \
	mode_t mode = 0; \
	va_list ap; \
\
	if (flags & O_CREAT) { \
		va_start(ap, flags); \
		mode = va_arg(ap, int); \
		va_end(ap); \
	} \
	return open_at(dir, path, flags, mode); \
}

DEFINE_OPEN(open, NO_DIR, AT_FDCWD)
DEFINE_OPEN(openat, DIR_ARG, dir)
#ifdef __GLIBC__
DEFINE_OPEN(open64, NO_DIR, AT_FDCWD)
DEFINE_OPEN(openat64, DIR_ARG, dir)
#endif

int symlinkat(const char *target, int dir, const char *path)
{
	int chosen = is_chosen(path);
	int ret = syscall(SYS_symlinkat, target, dir, path);

	if (ret || !chosen || !want("symlink"))
		return ret;
	note("symlink", path);
	errno = EINTR;
	return -1;
}

int close(int fd)
{
	int ret = syscall(SYS_close, fd);

	if (fd < 0 || fd >= MAX_FDS || !is_faulty[fd])
		return ret;
	is_faulty[fd] = 0;
	if (!ret && want("close")) {
		errno = EINTR;
		ret = -1;
	}
	return ret;
}

static int is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	static int piped;

	if (want("pipe") && fd > 2 && is_pipe(fd) && ++piped >= nth()) {
		errno = ENOSPC;
		return -1;
	}
	if (fd >= 0 && fd < MAX_FDS && is_faulty[fd] && want("quota")) {
		errno = EDQUOT;
		return -1;
	}
	return syscall(SYS_write, fd, buf, len);
}

int poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	static int polled;

	if (!real)
		real = (int (*)(struct pollfd *, nfds_t, int))
			dlsym(RTLD_NEXT, "poll");
	if (!want("poll") || ++polled < nth())
		return real(fds, nr, timeout);
	errno = ENOMEM;
	return -1;
}

pid_t fork(void)
{
	static pid_t (*real)(void);
	static int forked;

	if (!real)
		real = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
	if (!want("fork") || ++forked != nth())
		return real();
	note("fork", "");
	errno = EAGAIN;
	return -1;
}

#define DEFINE_READDIR(name, type) \
struct type *name(DIR *dir) \
{ \
	static struct type *(*real)(DIR *); \
	struct type *e; \
\
	if (!real) \
		real = (struct type *(*)(DIR *))dlsym(RTLD_NEXT, #name); \
	while ((e = real(dir)) && want("hide") && \
	       !strcmp(e->d_name, ".gitignore")) \
		note("hidden", e->d_name); \
	return e; \
}

DEFINE_READDIR(readdir, dirent)
#ifdef __GLIBC__
DEFINE_READDIR(readdir64, dirent64)
#endif

__attribute__((constructor))
static void loaded(void)
{
	if (want("none"))
		note("loaded", "");
}
