/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The floor below any checkout: what the file system alone takes for a list
 * of files, and what inflating the objects of a pack alone takes.
 *
 *   floor fs LIST DIR N       make the files of LIST beneath DIR
 *   floor zlib PACK N         inflate every object of PACK with zlib
 *   floor libdeflate PACK N   the same with libdeflate
 *   floor features            say which of them this build has
 *
 * N processes share the work.  LIST is the output of "git ls-tree -r -l -z":
 * files get their size in zeros, links point to a name of their size.  Of an
 * object that is stored as a delta, only the delta's own stream is inflated.
 *
 * Build: cc -O2 floor.c -lz  [-DHAVE_LIBDEFLATE -ldeflate]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

#define MAX_PROCESSES 1024
#define MAX_DEPTH 256
/* Entries that a process takes at once: few enough to end together. */
#define CHUNK 128

struct entry {
	const char *path; /* in LIST, NUL-terminated */
	uint64_t size;
	unsigned mode;
};

/* What the processes share; all of it is only added to. */
struct shared {
	uint64_t next; /* first entry that nobody has taken */
	uint64_t done;
	uint64_t bytes;
	uint64_t deltas;
};

struct stream {
	uint64_t offset;
	uint64_t limit; /* bytes that its zlib stream takes at most */
};

static struct shared *shared;

static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "floor: ");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static void *grab(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		fail("out of memory (%zu bytes)", size);
	return p;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Map a whole file for reading. */
static unsigned char *map_file(const char *name, size_t *len)
{
	struct stat st;
	unsigned char *p;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		fail("cannot open '%s': %s", name, strerror(errno));
	if (!st.st_size)
		fail("'%s' is empty", name);
	*len = st.st_size;
	p = mmap(NULL, *len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		fail("cannot map '%s': %s", name, strerror(errno));
	close(fd);
	return p;
}

/* Take the next chunk of nr entries; false when none is left. */
static int take(uint64_t nr, uint64_t *from, uint64_t *to)
{
	*from = __atomic_fetch_add(&shared->next, CHUNK, __ATOMIC_RELAXED);
	if (*from >= nr)
		return 0;
	*to = nr - *from < CHUNK ? nr : *from + CHUNK;
	return 1;
}

static void account(uint64_t done, uint64_t bytes, uint64_t deltas)
{
	__atomic_fetch_add(&shared->done, done, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->deltas, deltas, __ATOMIC_RELAXED);
}

/* ---- the file system ---- */

static struct entry *read_list(const char *name, uint64_t *nr, uint64_t *max)
{
	size_t len;
	const char *data = (const char *)map_file(name, &len);
	const char *end = data + len, *p;
	struct entry *list;
	uint64_t count = 0;

	if (end[-1])
		fail("'%s' does not end with NUL; make it with 'git ls-tree -r -l -z'",
		     name);
	for (p = data; p < end; p += strlen(p) + 1)
		count++;
	list = grab(count * sizeof(*list));
	*nr = 0;
	*max = 0;
	for (p = data; p < end; p += strlen(p) + 1) {
		struct entry *e = &list[*nr];
		const char *tab = strchr(p, '\t');
		char size[32];

		if (!tab || sscanf(p, "%o %*s %*s %31s", &e->mode, size) != 2)
			fail("'%s': line %llu is not from 'git ls-tree -r -l -z'",
			     name, (unsigned long long)*nr + 1);
		if (S_ISDIR(e->mode) || (e->mode & S_IFMT) == 0160000)
			continue;
		e->size = strtoull(size, NULL, 10);
		e->path = tab + 1;
		if (e->size > *max)
			*max = e->size;
		(*nr)++;
	}
	return list;
}

/* The open directories from the top to where the last file was made. */
struct where {
	int fd[MAX_DEPTH];
	size_t end[MAX_DEPTH]; /* length of the path up to this component */
	int depth;
	char path[4096];
};

/* Go to the directory of path, making what is missing; return its base name. */
static const char *go(struct where *w, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	size_t at;

	if (len >= sizeof(w->path))
		fail("path too long: '%s'", path);
	while (w->depth && (w->end[w->depth] > len ||
			    memcmp(w->path, path, w->end[w->depth]) ||
			    path[w->end[w->depth]] != '/'))
		close(w->fd[w->depth--]);
	at = w->depth ? w->end[w->depth] + 1 : 0;
	while (at < len) {
		const char *next = memchr(path + at, '/', len - at);
		size_t stop = next ? (size_t)(next - path) : len;
		int fd, up = w->fd[w->depth];

		if (w->depth + 1 == MAX_DEPTH)
			fail("path too deep: '%s'", path);
		memcpy(w->path + at, path + at, stop - at);
		w->path[stop] = '\0';
		if (mkdirat(up, w->path + at, 0777) && errno != EEXIST)
			fail("cannot make '%s': %s", w->path, strerror(errno));
		fd = openat(up, w->path + at,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fail("cannot open '%s': %s", w->path, strerror(errno));
		w->path[stop] = '/';
		w->depth++;
		w->fd[w->depth] = fd;
		w->end[w->depth] = stop;
		at = stop + 1;
	}
	return slash ? slash + 1 : path;
}

static void make_file(int dir, const char *name, const struct entry *e,
		      const char *buf)
{
	struct stat st;
	uint64_t left = e->size;
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			e->mode & 0100 ? 0777 : 0666);

	if (fd < 0)
		fail("cannot create '%s': %s", e->path, strerror(errno));
	while (left) {
		ssize_t n = write(fd, buf, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("cannot write '%s': %s", e->path, strerror(errno));
		left -= n;
	}
	if (fstat(fd, &st))
		fail("cannot stat '%s': %s", e->path, strerror(errno));
	close(fd);
}

static void make_link(int dir, const char *name, const struct entry *e)
{
	char target[4096];
	struct stat st;

	if (!e->size || e->size >= sizeof(target))
		fail("link '%s' has an impossible size", e->path);
	memset(target, 'x', e->size);
	target[e->size] = '\0';
	if (symlinkat(target, dir, name) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		fail("cannot link '%s': %s", e->path, strerror(errno));
}

static void fs_worker(const struct entry *list, uint64_t nr, const char *buf,
		      const char *top)
{
	static struct where w;
	uint64_t from, to, i, done = 0, bytes = 0;

	w.fd[0] = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.fd[0] < 0)
		fail("cannot open '%s': %s", top, strerror(errno));
	while (take(nr, &from, &to)) {
		for (i = from; i < to; i++) {
			const char *name = go(&w, list[i].path);

			if (S_ISLNK(list[i].mode))
				make_link(w.fd[w.depth], name, &list[i]);
			else
				make_file(w.fd[w.depth], name, &list[i], buf);
			done++;
			bytes += list[i].size;
		}
	}
	account(done, bytes, 0);
}

/* ---- inflating ---- */

static uint64_t get_be(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static int by_offset(const void *va, const void *vb)
{
	const struct stream *a = va, *b = vb;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/*
 * The places of all objects, from the pack's index: version 2 has, behind an
 * 8-byte header and 256 counters, the names, CRCs, and 4-byte offsets, of
 * which those with the top bit set are numbers in a table of 8-byte ones.
 */
static struct stream *read_idx(const char *pack, size_t pack_len,
			       unsigned hash_len, uint64_t *nr)
{
	size_t name_len = strlen(pack), len;
	char *name = grab(name_len + 1);
	const unsigned char *idx, *small, *large;
	struct stream *list;
	uint64_t i;

	if (name_len < 5 || strcmp(pack + name_len - 5, ".pack"))
		fail("'%s' is not called *.pack", pack);
	memcpy(name, pack, name_len + 1);
	strcpy(name + name_len - 5, ".idx");
	idx = map_file(name, &len);
	if (len < 8 + 1024 || memcmp(idx, "\377tOc\0\0\0\2", 8))
		fail("'%s' is no pack index of version 2", name);
	*nr = get_be(idx + 8 + 255 * 4, 4);
	if (!*nr || (len - 1032) / (hash_len + 8) < *nr)
		fail("'%s' is damaged", name);
	small = idx + 1032 + *nr * (hash_len + 4);
	large = small + *nr * 4;
	list = grab(*nr * sizeof(*list));
	for (i = 0; i < *nr; i++) {
		uint64_t offset = get_be(small + i * 4, 4);

		if (offset & 0x80000000u) {
			const unsigned char *p =
				large + (offset & 0x7fffffffu) * 8;

			if (p + 8 > idx + len)
				fail("'%s' is damaged", name);
			offset = get_be(p, 8);
		}
		if (offset < 12 || offset >= pack_len - hash_len)
			fail("'%s' is damaged", name);
		list[i].offset = offset;
	}
	qsort(list, *nr, sizeof(*list), by_offset);
	for (i = 0; i < *nr; i++)
		list[i].limit = (i + 1 < *nr ? list[i + 1].offset :
				 pack_len - hash_len) - list[i].offset;
	free(name);
	return list;
}

/* Step over an entry's header; return the size of what its stream holds. */
static uint64_t entry_header(const unsigned char **pp,
			     const unsigned char *end, unsigned hash_len,
			     int *is_delta)
{
	const unsigned char *p = *pp;
	unsigned c = *p++, type = c >> 4 & 7, shift = 4;
	uint64_t size = c & 15;

	while (c & 0x80) {
		if (p == end || shift > 57)
			fail("damaged entry header");
		c = *p++;
		size |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
	}
	*is_delta = type == 6 || type == 7;
	if (type == 6)
		do
			c = *p++;
		while (c & 0x80 && p < end);
	else if (type == 7)
		p += hash_len;
	else if (type < 1 || type > 4)
		fail("entry of unknown type %u", type);
	if (p >= end)
		fail("damaged entry header");
	*pp = p;
	return size;
}

static void zlib_one(z_stream *z, const unsigned char *in, uint64_t in_len,
		     unsigned char *out, uint64_t size)
{
	if (in_len > UINT32_MAX || size > UINT32_MAX)
		fail("object too large");
	inflateReset(z);
	z->next_in = (unsigned char *)in;
	z->avail_in = in_len;
	z->next_out = out;
	z->avail_out = size + 1;
	if (inflate(z, Z_FINISH) != Z_STREAM_END || z->total_out != size)
		fail("zlib refuses an object");
}

static void inflate_worker(const unsigned char *pack,
			   const struct stream *list, uint64_t nr,
			   unsigned hash_len, int use_libdeflate)
{
	uint64_t from, to, i, done = 0, bytes = 0, deltas = 0, room = 0;
	unsigned char *out = NULL;
	z_stream z;
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();

	if (!d)
		fail("out of memory");
#endif
	memset(&z, 0, sizeof(z));
	if (inflateInit(&z) != Z_OK)
		fail("out of memory");
	while (take(nr, &from, &to)) {
		for (i = from; i < to; i++) {
			const unsigned char *p = pack + list[i].offset;
			const unsigned char *end = p + list[i].limit;
			int is_delta;
			uint64_t size = entry_header(&p, end, hash_len,
						     &is_delta);

			if (size + 1 > room) {
				free(out);
				room = (size + 1) * 3 / 2;
				out = grab(room);
			}
#ifdef HAVE_LIBDEFLATE
			if (use_libdeflate) {
				size_t used, got;

				if (libdeflate_zlib_decompress_ex(d, p, end - p,
						out, size, &used, &got) ||
				    got != size)
					fail("libdeflate refuses an object");
			} else
#endif
				zlib_one(&z, p, end - p, out, size);
			done++;
			bytes += size;
			deltas += is_delta;
		}
	}
	free(out);
	inflateEnd(&z);
#ifdef HAVE_LIBDEFLATE
	libdeflate_free_decompressor(d);
#else
	(void)use_libdeflate;
#endif
	account(done, bytes, deltas);
}

/* ---- both ---- */

static unsigned number(const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*end || !*arg || n < 1 || n > MAX_PROCESSES)
		fail("number of processes must be 1 to %d, not '%s'",
		     MAX_PROCESSES, arg);
	return n;
}

static int usage(void)
{
	fprintf(stderr, "usage: floor fs LIST DIR N\n"
			"   or: floor zlib PACK N\n"
			"   or: floor libdeflate PACK N\n"
			"   or: floor features\n");
	return 129;
}

enum what { NONE, FS, ZLIB, LIBDEFLATE };

/* What the processes have in common, read before they are started. */
struct job {
	enum what what;
	uint64_t nr;

	/* FS */
	struct entry *files;
	const char *top;
	char *buf;

	/* the others */
	unsigned char *pack;
	struct stream *streams;
};

static const unsigned hash_len = 20;

static enum what parse_what(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "fs"))
		return FS;
	if (argc == 4 && !strcmp(argv[1], "zlib"))
		return ZLIB;
	if (argc == 4 && !strcmp(argv[1], "libdeflate"))
		return LIBDEFLATE;
	return NONE;
}

static void load(struct job *job, char **argv)
{
	uint64_t max;
	size_t len;

	if (job->what == FS) {
		job->files = read_list(argv[2], &job->nr, &max);
		job->buf = grab(max);
		memset(job->buf, 'x', max);
		job->top = argv[3];
		if (mkdir(job->top, 0777) && errno != EEXIST)
			fail("cannot make '%s': %s", job->top, strerror(errno));
		return;
	}
	job->pack = map_file(argv[2], &len);
	if (len < 32 || memcmp(job->pack, "PACK", 4))
		fail("'%s' is no pack", argv[2]);
	job->streams = read_idx(argv[2], len, hash_len, &job->nr);
}

static void work(const struct job *job)
{
	if (job->what == FS)
		fs_worker(job->files, job->nr, job->buf, job->top);
	else
		inflate_worker(job->pack, job->streams, job->nr, hash_len,
			       job->what == LIBDEFLATE);
}

/* Have the job done by that many processes; 1 is this one. */
static void run(const struct job *job, unsigned processes)
{
	int status, failed = 0;

	if (processes == 1) {
		work(job);
	} else {
		for (unsigned i = 0; i < processes; i++) {
			pid_t pid = fork();

			if (pid < 0)
				fail("cannot fork: %s", strerror(errno));
			if (!pid) {
				work(job);
				_exit(0); /* buffers are for the parent */
			}
		}
		while (wait(&status) > 0)
			failed |= status;
	}
	if (failed || shared->done != job->nr)
		fail("a process failed");
}

int main(int argc, char **argv)
{
	struct job job = { .what = parse_what(argc, argv) };
	unsigned processes;
	double begin;

	if (argc == 2 && !strcmp(argv[1], "features")) {
#ifdef HAVE_LIBDEFLATE
		puts("fs zlib libdeflate");
#else
		puts("fs zlib");
#endif
		return 0;
	}
	if (job.what == NONE)
		return usage();
#ifndef HAVE_LIBDEFLATE
	if (job.what == LIBDEFLATE)
		fail("built without libdeflate");
#endif
	processes = number(argv[argc - 1]);

	begin = now();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("out of memory");
	load(&job, argv);
	run(&job, processes);
	printf("%s: %llu entries (%llu of them deltas), %llu bytes, %u processes, %.3f s\n",
	       argv[1], (unsigned long long)shared->done,
	       (unsigned long long)shared->deltas,
	       (unsigned long long)shared->bytes, processes, now() - begin);
	free(job.files);
	free(job.streams);
	free(job.buf);
	return 0;
}
