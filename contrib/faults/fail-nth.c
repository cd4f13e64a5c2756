/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A library for LD_PRELOAD that makes the Nth call of a class fail, in one
 * process of a command. From the environment:
 *
 *   FAULTS_DIR=<dir>	where to leave "hit" when that has happened, and for
 *			each process "process.<name>#<k>": how many calls it
 *			had of each class, as 64-bit numbers
 *   FAULTS_PROCESS=<name>[#<k>]
 *			the kth (first) process of that name: its git command,
 *			or its program; "main" is the one that the others come
 *			from
 *   FAULTS_CLASS=<class>	which calls count, see the table below
 *   FAULTS_NTH=<n>	which of them fails, and with FAULTS_ON=1 each after it
 *   FAULTS_HOW=<how>	an errno by its number; or "short": a part is read or
 *			written
 *   FAULTS_STACK=1	leave the addresses of the callers, too
 *   FAULTS_PLACES=1	let nothing fail, but leave "places.<name>#<k>": for each
 *			class MAX_PLACES 32-bit numbers, one for each call: the
 *			same where it comes from the same callers
 *
 * A child is counted with its parent until it executes something. What the C
 * library does by itself, such as the opening of a file by fopen(), is
 * not counted. The driver beside this file says what is done with all that.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Which calls are of a class is said where they are defined. */
enum call_class {
	NONE,
	MEMORY, OPEN, READ, WRITE, CLOSE, STAT, NAME, SYNC,
	PROCESS, THREAD, POLL, MAP, CLONE, CWD,
	CLASSES
};

static const char *const class_names[] = {
	"none",
	"memory", "open", "read", "write", "close", "stat", "name", "sync",
	"process", "thread", "poll", "map", "clone", "cwd",
};

#define MAX_PLACES (1 << 20)

static struct {
	enum call_class class;
	uint64_t nth, *counts;
	uint32_t *places;
	int err, is_short, and_on, with_stack;
	char dir[4096];
} faults;

static __thread int in_hook;

/* What is left for the driver is written without calls that count. */
static void leave(const char *name, const char *text)
{
	char path[sizeof(faults.dir) + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", faults.dir, name);
	fd = syscall(SYS_openat, AT_FDCWD, path,
		     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	syscall(SYS_write, fd, text, strlen(text));
	if (faults.with_stack && !strcmp(name, "hit")) {
		void *stack[40];

		in_hook = 1;
		backtrace_symbols_fd(stack, backtrace(stack, 40), fd);
		in_hook = 0;
	}
	syscall(SYS_close, fd);
}

/* A number of those who call, but for the functions of this library. */
static uint32_t place_of_call(void)
{
	void *stack[14];
	uint32_t hash = 2166136261u;	/* FNV-1a */
	int n;

	in_hook = 1;
	n = backtrace(stack, sizeof(stack) / sizeof(*stack));
	in_hook = 0;
	for (int i = 3; i < n; i++)
		for (uintptr_t rest = (uintptr_t)stack[i]; rest; rest >>= 8)
			hash = (hash ^ (rest & 0xff)) * 16777619u;
	return hash;
}

/* Does this call fail? */
static int is_turn(enum call_class class, const char *function)
{
	uint64_t count;
	char text[100];
	int saved_errno = errno;

	if (!faults.counts || in_hook)
		return 0;
	count = __atomic_add_fetch(&faults.counts[class], 1, __ATOMIC_SEQ_CST);
	if (faults.places && count <= MAX_PLACES) {
		faults.places[(size_t)class * MAX_PLACES + count - 1] =
			place_of_call();
		errno = saved_errno;
	}
	if (class != faults.class || count < faults.nth ||
	    (count > faults.nth && !faults.and_on))
		return 0;
	if (count == faults.nth) {
		snprintf(text, sizeof(text), "%s in %d\n", function,
			 (int)getpid());
		leave("hit", text);
	}
	errno = saved_errno;
	return 1;
}

#define REAL(name) ({ \
	static __typeof__(&name) real_; \
	if (!real_) \
		real_ = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
	real_; \
})

/*
 * A function of the class, and what it returns when it fails. The call is not
 * made, but for close(): Linux has closed the descriptor even if that fails.
 */
#define DEFINE(class, type, failure, name, args, call) \
type name args \
{ \
	if (is_turn(class, #name)) { \
		errno = faults.err; \
		return failure; \
	} \
	return REAL(name) call; \
}

/* Those of glibc, which the library itself could not do without. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *ptr, size_t size);

#define DEFINE_MEMORY(name, args, call) \
void *name args \
{ \
	if (is_turn(MEMORY, #name)) { \
		errno = ENOMEM; \
		return NULL; \
	} \
	return __libc_##name call; \
}

DEFINE_MEMORY(malloc, (size_t size), (size))
DEFINE_MEMORY(calloc, (size_t n, size_t size), (n, size))
DEFINE_MEMORY(realloc, (void *ptr, size_t size), (ptr, size))

#define DEFINE_OPEN(name, dir_arg, call) \
int name(dir_arg const char *path, int flags, ...) \
{ \
	mode_t mode = 0; \
	va_list ap; \
\
	if (flags & (O_CREAT | __O_TMPFILE)) { \
		va_start(ap, flags); \
		mode = va_arg(ap, int); \
		va_end(ap); \
	} \
	if (is_turn(OPEN, #name)) { \
		errno = faults.err; \
		return -1; \
	} \
	return REAL(name) call; \
}

#define NO_DIR
#define DIR_ARG int dir,
DEFINE_OPEN(open, NO_DIR, (path, flags, mode))
DEFINE_OPEN(open64, NO_DIR, (path, flags, mode))
DEFINE_OPEN(openat, DIR_ARG, (dir, path, flags, mode))
DEFINE_OPEN(openat64, DIR_ARG, (dir, path, flags, mode))

/* Half of what was asked for, if that is more than nothing. */
#define DEFINE_TRANSFER(class, name, args, len, call) \
ssize_t name args \
{ \
	if (is_turn(class, #name)) { \
		if (!faults.is_short) { \
			errno = faults.err; \
			return -1; \
		} \
		if (len > 1) \
			len /= 2; \
	} \
	return REAL(name) call; \
}

DEFINE_TRANSFER(READ, read, (int fd, void *buf, size_t len), len,
		(fd, buf, len))
DEFINE_TRANSFER(READ, pread, (int fd, void *buf, size_t len, off_t at), len,
		(fd, buf, len, at))
DEFINE_TRANSFER(READ, pread64, (int fd, void *buf, size_t len, off64_t at), len,
		(fd, buf, len, at))
DEFINE_TRANSFER(WRITE, write, (int fd, const void *buf, size_t len), len,
		(fd, buf, len))
DEFINE_TRANSFER(WRITE, pwrite, (int fd, const void *buf, size_t len, off_t at),
		len, (fd, buf, len, at))
DEFINE_TRANSFER(WRITE, pwrite64,
		(int fd, const void *buf, size_t len, off64_t at), len,
		(fd, buf, len, at))
DEFINE_TRANSFER(WRITE, writev, (int fd, const struct iovec *iov, int len), len,
		(fd, iov, len))

int close(int fd)
{
	int fails = is_turn(CLOSE, "close");
	int ret = REAL(close)(fd);

	if (!fails || ret)
		return ret;
	errno = faults.err;
	return -1;
}

DEFINE(STAT, int, -1, stat, (const char *path, struct stat *st), (path, st))
DEFINE(STAT, int, -1, lstat, (const char *path, struct stat *st), (path, st))
DEFINE(STAT, int, -1, fstat, (int fd, struct stat *st), (fd, st))
DEFINE(STAT, int, -1, fstatat,
       (int dir, const char *path, struct stat *st, int flags),
       (dir, path, st, flags))
DEFINE(STAT, int, -1, stat64, (const char *path, struct stat64 *st), (path, st))
DEFINE(STAT, int, -1, lstat64, (const char *path, struct stat64 *st),
       (path, st))
DEFINE(STAT, int, -1, fstat64, (int fd, struct stat64 *st), (fd, st))
DEFINE(STAT, int, -1, fstatat64,
       (int dir, const char *path, struct stat64 *st, int flags),
       (dir, path, st, flags))

DEFINE(NAME, int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
DEFINE(NAME, int, -1, mkdirat, (int dir, const char *path, mode_t mode),
       (dir, path, mode))
DEFINE(NAME, int, -1, rmdir, (const char *path), (path))
DEFINE(NAME, int, -1, unlink, (const char *path), (path))
DEFINE(NAME, int, -1, unlinkat, (int dir, const char *path, int flags),
       (dir, path, flags))
DEFINE(NAME, int, -1, symlink, (const char *to, const char *path), (to, path))
DEFINE(NAME, int, -1, symlinkat, (const char *to, int dir, const char *path),
       (to, dir, path))
DEFINE(NAME, int, -1, link, (const char *from, const char *to), (from, to))
DEFINE(NAME, int, -1, rename, (const char *from, const char *to), (from, to))
DEFINE(NAME, int, -1, renameat,
       (int from_dir, const char *from, int to_dir, const char *to),
       (from_dir, from, to_dir, to))

DEFINE(SYNC, int, -1, fsync, (int fd), (fd))
DEFINE(SYNC, int, -1, fdatasync, (int fd), (fd))

DEFINE(PROCESS, int, -1, pipe, (int fds[2]), (fds))
DEFINE(PROCESS, int, -1, pipe2, (int fds[2], int flags), (fds, flags))
DEFINE(PROCESS, pid_t, -1, fork, (void), ())
DEFINE(PROCESS, int, -1, execve,
       (const char *path, char *const argv[], char *const env[]),
       (path, argv, env))
DEFINE(PROCESS, int, -1, execv, (const char *path, char *const argv[]),
       (path, argv))
DEFINE(PROCESS, int, -1, execvp, (const char *path, char *const argv[]),
       (path, argv))

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*fn)(void *), void *data)
{
	if (is_turn(THREAD, "pthread_create"))
		return faults.err;
	return REAL(pthread_create)(thread, attr, fn, data);
}

DEFINE(POLL, int, -1, poll, (struct pollfd *fds, nfds_t n, int timeout),
       (fds, n, timeout))
DEFINE(POLL, int, -1, ppoll,
       (struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask),
       (fds, n, timeout, mask))

DEFINE(MAP, void *, MAP_FAILED, mmap,
       (void *at, size_t len, int prot, int flags, int fd, off_t offset),
       (at, len, prot, flags, fd, offset))
DEFINE(MAP, void *, MAP_FAILED, mmap64,
       (void *at, size_t len, int prot, int flags, int fd, off64_t offset),
       (at, len, prot, flags, fd, offset))

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == FICLONE && is_turn(CLONE, "FICLONE")) {
		errno = faults.err;
		return -1;
	}
	return REAL(ioctl)(fd, request, arg);
}

DEFINE(CWD, char *, NULL, getcwd, (char *buf, size_t size), (buf, size))

/* "checkout--worker" for "git -c x=y checkout--worker", "sh" for "/bin/sh" */
static const char *name_of_process(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int i;

	name = name ? name + 1 : argv[0];
	if (strcmp(name, "git"))
		return strncmp(name, "git-", 4) ? name : name + 4;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-c") || !strcmp(argv[i], "-C"))
			i++;
		else if (argv[i][0] != '-')
			return argv[i];
	}
	return name;
}

/* What is in the file is known however the process ends. */
static void *new_map(const char *kind, const char *name, int k, size_t size)
{
	char path[sizeof(faults.dir) + 300];
	void *map = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%.200s#%d", faults.dir, kind, name,
		 k);
	fd = syscall(SYS_openat, AT_FDCWD, path,
		     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, size))
		map = (void *)syscall(SYS_mmap, NULL, size,
				      PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				      0);
	syscall(SYS_close, fd);
	return map == MAP_FAILED ? NULL : map;
}

/* Is it the kth process of its name? As many have left a file. */
static int is_kth(const char *name, int k)
{
	int i = 0;

	errno = EEXIST;
	while (!faults.counts && errno == EEXIST && i++ < 1000)
		faults.counts = new_map("process", name, i,
					CLASSES * sizeof(*faults.counts));
	if (getenv("FAULTS_PLACES"))
		faults.places = new_map("places", name, i,
					(size_t)CLASSES * MAX_PLACES *
					sizeof(*faults.places));
	return faults.counts && i == k;
}

static int is_chosen(int argc, char **argv)
{
	char wanted[256], *number;
	const char *process = getenv("FAULTS_PROCESS");
	const char *name = getenv("FAULTS_MAIN") ?
		name_of_process(argc, argv) : "main";
	int k = 1, is_it;

	setenv("FAULTS_MAIN", "0", 1);
	snprintf(wanted, sizeof(wanted), "%s", process ? process : "main");
	number = strchr(wanted, '#');
	if (number) {
		*number = '\0';
		k = atoi(number + 1);
	}
	is_it = is_kth(name, k);
	return is_it && !strcmp(name, wanted);
}

__attribute__((constructor))
static void choose(int argc, char **argv)
{
	const char *dir = getenv("FAULTS_DIR"), *class = getenv("FAULTS_CLASS");
	const char *nth = getenv("FAULTS_NTH"), *how = getenv("FAULTS_HOW");
	int i;

	if (!dir)
		return;
	snprintf(faults.dir, sizeof(faults.dir), "%s", dir);
	if (!is_chosen(argc, argv) || !class || !nth)
		return;
	faults.nth = strtoul(nth, NULL, 10);
	faults.is_short = how && !strcmp(how, "short");
	faults.err = how ? atoi(how) : EIO;
	faults.and_on = !!getenv("FAULTS_ON");
	faults.with_stack = !!getenv("FAULTS_STACK");
	for (i = MEMORY; i < CLASSES; i++)
		if (!strcmp(class, class_names[i]))
			faults.class = i;
}
