/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A slow, countable, breakable view of a directory, for tests and benchmarks:
 * a pass-through FUSE file system. "slowfs --help" says how to use it; what
 * befalls a request is in policy.c, and the mode that ignores case in names.c.
 * This file translates requests of the kernel into system calls.
 *
 * It uses the low-level interface, so that a request counted is a request
 * that the kernel made. Each request is served by a thread of its own, which
 * also does the waiting; requests wait side by side up to --threads.
 *
 * A node stands for an inode of the backing directory and holds it open
 * (O_PATH), so a number cannot be reused while the kernel knows the node, and
 * renames and hard links need no bookkeeping. System calls that need a path
 * go through /proc/self/fd.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/fuse.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "names.h"
#include "policy.h"

/* Not listed, and neither counted nor delayed. */
#define CONTROL_NAME ".slowfs"
#define CONTROL_INO (UINT64_MAX - 1)

struct node {
	/* the key, in nodes_tree; constant */
	dev_t dev;
	ino_t ino;

	int fd;			/* O_PATH; constant */
	uint64_t generation;	/* constant */

	/* both under nodes_lock */
	uint64_t nlookup;	/* references that the kernel holds */
	char *path;		/* name by which it was last looked up */

	/* with --icase, directories only, both under `lock` */
	pthread_mutex_t lock;
	struct names *names;
};

static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static void *nodes_tree;	/* of struct node; the root is not in it */
static struct node root = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct node control;
static atomic_ullong generations;

static struct {
	int icase;
	int no_flush;
	int serial_lookups;
	double entry_timeout;
	double attr_timeout;
	double negative_timeout;
	unsigned max_write;	/* 0: as large as the library has it */
} opt;

struct listing {
	pthread_mutex_t lock;
	struct dirent_copy {
		ino_t ino;
		unsigned char type;
		char *name;
	} *entry;
	size_t nr, alloc;
	int filled;
};

/* What a reader of the control file gets, as it was when it was opened. */
struct report {
	char *text;
	size_t len;
};

/* Large enough for "/proc/self/fd/" and any int. */
struct fdpath {
	char s[32];
};

static void *check(void *p)
{
	if (!p) {
		fputs("slowfs: out of memory\n", stderr);
		abort();
	}
	return p;
}

static struct fdpath fdpath(int fd)
{
	struct fdpath p;

	snprintf(p.s, sizeof(p.s), "/proc/self/fd/%d", fd);
	return p;
}

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static int node_cmp(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return 0;
}

static char *path_of(struct node *n, const char *name)
{
	char *path;

	pthread_mutex_lock(&nodes_lock);
	if (!name)
		path = strdup(n->path ? n->path : "");
	else if (!n->path)
		path = strdup(name);
	else if (asprintf(&path, "%s/%s", n->path, name) < 0)
		path = NULL;
	pthread_mutex_unlock(&nodes_lock);
	return check(path);
}

/*
 * Make the kernel know the inode behind `fd`, which is taken over, and fill
 * `e`. Returns 0 or an errno.
 */
static int node_enter(struct node *parent, const char *name, int fd,
		      struct fuse_entry_param *e)
{
	struct node *n, **slot;
	char *path;
	int err;

	memset(e, 0, sizeof(*e));
	if (fstatat(fd, "", &e->attr, AT_EMPTY_PATH)) {
		err = errno;
		close(fd);
		return err;
	}

	path = path_of(parent, name);
	n = check(calloc(1, sizeof(*n)));
	n->dev = e->attr.st_dev;
	n->ino = e->attr.st_ino;
	n->fd = fd;
	n->generation = ++generations;
	pthread_mutex_init(&n->lock, NULL);

	pthread_mutex_lock(&nodes_lock);
	slot = check(tsearch(n, &nodes_tree, node_cmp));
	if (*slot != n) {
		close(fd);
		pthread_mutex_destroy(&n->lock);
		free(n);
		n = *slot;
	}
	n->nlookup++;
	free(n->path);
	n->path = path;
	pthread_mutex_unlock(&nodes_lock);

	e->ino = (uintptr_t)n;
	e->generation = n->generation;
	e->attr_timeout = opt.attr_timeout;
	e->entry_timeout = opt.entry_timeout;
	return 0;
}

static void node_free(void *p)
{
	struct node *n = p;

	close(n->fd);
	names_free(n->names);
	pthread_mutex_destroy(&n->lock);
	free(n->path);
	free(n);
}

static void node_forget(fuse_ino_t ino, uint64_t nlookup)
{
	struct node *n = node_of(ino);

	if (n == &root || n == &control)
		return;
	pthread_mutex_lock(&nodes_lock);
	n->nlookup -= nlookup;
	if (n->nlookup)
		n = NULL;
	else
		tdelete(n, &nodes_tree, node_cmp);
	pthread_mutex_unlock(&nodes_lock);
	if (n)
		node_free(n);
}

/*
 * Count the request, wait, and perhaps fail it: returns nonzero if it has been
 * answered. `name` is that of an entry of `n`, or NULL for `n` itself.
 */
static int enter_limited(fuse_req_t req, enum slowfs_op op, struct node *n,
			 const char *name, size_t *limit)
{
	struct verdict v;
	char *path = policy_wants_path() ? path_of(n, name) : NULL;

	policy_enter(op, path, &v);
	free(path);
	if (limit)
		*limit = v.limit;
	if (v.err)
		fuse_reply_err(req, v.err);
	return v.err;
}

static int enter(fuse_req_t req, enum slowfs_op op, struct node *n,
		 const char *name)
{
	return enter_limited(req, op, n, name, NULL);
}

/*
 * The name of an entry as the backing directory has it. Without --icase that
 * is `name`. With it, the directory is locked until done_stored(), so that
 * what is found stays true. `*found` tells whether the entry exists; without
 * --icase that is unknown, and left at 0.
 */
static const char *stored(struct node *dir, const char *name, int *found)
{
	const char *s = NULL;

	*found = 0;
	if (!opt.icase)
		return name;
	pthread_mutex_lock(&dir->lock);
	if (!dir->names)
		dir->names = names_read(dir->fd);
	if (dir->names)
		s = names_find(dir->names, name);
	*found = !!s;
	return s ? s : name;
}

static void done_stored(struct node *dir)
{
	if (opt.icase)
		pthread_mutex_unlock(&dir->lock);
}

/* Between stored() and done_stored(): the entry has come or gone. */
static void note_created(struct node *dir, const char *name)
{
	if (opt.icase && dir->names)
		names_add(dir->names, name);
}

static void note_removed(struct node *dir, const char *name)
{
	if (opt.icase && dir->names)
		names_remove(dir->names, name);
}

static int is_control_name(struct node *parent, const char *name)
{
	return parent == &root && !strcmp(name, CONTROL_NAME);
}

static void control_attr(struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_ino = CONTROL_INO;
	st->st_mode = S_IFREG | 0600;
	st->st_nlink = 1;
	st->st_uid = getuid();
	st->st_gid = getgid();
}

static void slow_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	if (opt.max_write && opt.max_write < conn->max_write)
		conn->max_write = opt.max_write;
	/* the kernel's own limit would let only a dozen releases run */
	conn->max_background = 1024;
	conn->congestion_threshold = 1024;
	if (opt.serial_lookups)
		conn->want &= ~FUSE_CAP_PARALLEL_DIROPS;
}

static void reply_lookup(fuse_req_t req, struct node *parent,
			 const char *name, const char *real)
{
	struct fuse_entry_param e;
	int err, fd = openat(parent->fd, real,
			     O_PATH | O_NOFOLLOW | O_CLOEXEC);

	err = fd < 0 ? errno : node_enter(parent, name, fd, &e);
	if (err == ENOENT && opt.negative_timeout > 0) {
		memset(&e, 0, sizeof(e));
		e.entry_timeout = opt.negative_timeout;
		err = 0;
	}
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_entry(req, &e);
}

static void slow_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *dir = node_of(parent);
	const char *real;
	int found;

	if (is_control_name(dir, name)) {
		struct fuse_entry_param e = { .ino = (uintptr_t)&control };

		control_attr(&e.attr);
		fuse_reply_entry(req, &e);
		return;
	}
	if (enter(req, OP_LOOKUP, dir, name))
		return;
	real = stored(dir, name, &found);
	reply_lookup(req, dir, name, real);
	done_stored(dir);
}

static void slow_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	node_forget(ino, nlookup);
	fuse_reply_none(req);
}

static void slow_forget_multi(fuse_req_t req, size_t count,
			      struct fuse_forget_data *forgets)
{
	size_t i;

	for (i = 0; i < count; i++)
		node_forget(forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void reply_attr(fuse_req_t req, struct node *n,
		       struct fuse_file_info *fi)
{
	struct stat st;
	int ret = fi ? fstat(fi->fh, &st) :
		       fstatat(n->fd, "", &st, AT_EMPTY_PATH);

	if (ret)
		fuse_reply_err(req, errno);
	else
		fuse_reply_attr(req, &st, opt.attr_timeout);
}

static void reply_control_attr(fuse_req_t req)
{
	struct stat st;

	control_attr(&st);
	fuse_reply_attr(req, &st, 0);
}

static void slow_getattr(fuse_req_t req, fuse_ino_t ino,
			 struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);

	(void)fi; /* the node tells the same */
	if (n == &control)
		reply_control_attr(req);
	else if (!enter(req, OP_GETATTR, n, NULL))
		reply_attr(req, n, NULL);
}

static void set_time(struct timespec *out, const struct timespec *in,
		     int set, int now)
{
	if (now)
		out->tv_nsec = UTIME_NOW;
	else if (set)
		*out = *in;
	else
		out->tv_nsec = UTIME_OMIT;
}

static void slow_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
			 int set, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	struct fdpath path;

	if (n == &control) {
		reply_control_attr(req);
		return;
	}
	if (enter(req, OP_SETATTR, n, NULL))
		return;
	path = fdpath(n->fd);

	if ((set & FUSE_SET_ATTR_MODE) && chmod(path.s, attr->st_mode))
		goto fail;
	if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
		uid_t uid = set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
		gid_t gid = set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;

		if (fchownat(n->fd, "", uid, gid, AT_EMPTY_PATH))
			goto fail;
	}
	if ((set & FUSE_SET_ATTR_SIZE) &&
	    (fi ? ftruncate(fi->fh, attr->st_size) :
		  truncate(path.s, attr->st_size)))
		goto fail;
	if (set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
		   FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)) {
		struct timespec ts[2] = { { 0 } };

		set_time(&ts[0], &attr->st_atim, set & FUSE_SET_ATTR_ATIME,
			 set & FUSE_SET_ATTR_ATIME_NOW);
		set_time(&ts[1], &attr->st_mtim, set & FUSE_SET_ATTR_MTIME,
			 set & FUSE_SET_ATTR_MTIME_NOW);
		if (utimensat(n->fd, "", ts, AT_EMPTY_PATH))
			goto fail;
	}
	reply_attr(req, n, fi);
	return;
fail:
	fuse_reply_err(req, errno);
}

static void slow_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct node *n = node_of(ino);

	if (n == &control)
		fuse_reply_err(req, 0);
	else if (!enter(req, OP_ACCESS, n, NULL))
		fuse_reply_err(req, access(fdpath(n->fd).s, mask) ? errno : 0);
}

static void slow_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct node *n = node_of(ino);
	char buf[PATH_MAX + 1];
	ssize_t len;

	if (enter(req, OP_READLINK, n, NULL))
		return;
	len = readlinkat(n->fd, "", buf, sizeof(buf));
	if (len < 0) {
		fuse_reply_err(req, errno);
	} else if (len == sizeof(buf)) {
		fuse_reply_err(req, ENAMETOOLONG);
	} else {
		buf[len] = '\0';
		fuse_reply_readlink(req, buf);
	}
}

/* What mknod, mkdir, symlink and link have in common. */
struct making {
	enum slowfs_op op;
	mode_t mode;
	dev_t rdev;
	const char *target;	/* of a symlink */
	struct node *from;	/* of a hard link */
};

static int make_entry(const struct making *m, int dirfd, const char *name)
{
	switch (m->op) {
	case OP_MKDIR:
		return mkdirat(dirfd, name, m->mode);
	case OP_SYMLINK:
		return symlinkat(m->target, dirfd, name);
	case OP_LINK:
		/* AT_EMPTY_PATH would ask for a capability */
		return linkat(AT_FDCWD, fdpath(m->from->fd).s, dirfd, name,
			      AT_SYMLINK_FOLLOW);
	default:
		return mknodat(dirfd, name, m->mode, m->rdev);
	}
}

static void make(fuse_req_t req, fuse_ino_t parent, const char *name,
		 const struct making *m)
{
	struct node *dir = node_of(parent);
	int found;

	if (enter(req, m->op, dir, name))
		return;
	stored(dir, name, &found);
	if (found) {
		fuse_reply_err(req, EEXIST);
	} else if (make_entry(m, dir->fd, name)) {
		fuse_reply_err(req, errno);
	} else {
		note_created(dir, name);
		reply_lookup(req, dir, name, name);
	}
	done_stored(dir);
}

static void slow_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		       mode_t mode, dev_t rdev)
{
	struct making m = { .op = OP_MKNOD, .mode = mode, .rdev = rdev };

	make(req, parent, name, &m);
}

static void slow_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		       mode_t mode)
{
	struct making m = { .op = OP_MKDIR, .mode = mode };

	make(req, parent, name, &m);
}

static void slow_symlink(fuse_req_t req, const char *target,
			 fuse_ino_t parent, const char *name)
{
	struct making m = { .op = OP_SYMLINK, .target = target };

	make(req, parent, name, &m);
}

static void slow_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		      const char *name)
{
	struct making m = { .op = OP_LINK, .from = node_of(ino) };

	if (m.from == &control)
		fuse_reply_err(req, EPERM);
	else
		make(req, parent, name, &m);
}

static void do_remove(fuse_req_t req, fuse_ino_t parent, const char *name,
		      enum slowfs_op op, int flags)
{
	struct node *dir = node_of(parent);
	const char *real;
	int found, err = 0;

	if (is_control_name(dir, name)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	if (enter(req, op, dir, name))
		return;
	real = stored(dir, name, &found);
	if (unlinkat(dir->fd, real, flags))
		err = errno;
	else
		note_removed(dir, name);
	done_stored(dir);
	fuse_reply_err(req, err);
}

static void slow_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	do_remove(req, parent, name, OP_UNLINK, 0);
}

static void slow_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	do_remove(req, parent, name, OP_RMDIR, AT_REMOVEDIR);
}

/*
 * With --icase, an existing target keeps its name, as on ext4 with casefold.
 * (Renaming to another case of the same name never comes here: the kernel sees
 * two names of one inode, and has nothing to do.)
 */
static int rename_icase(struct node *from, const char *name, struct node *to,
			const char *newname, unsigned flags)
{
	struct node *first = from < to ? from : to;
	struct node *second = from < to ? to : from;
	const char *source, *target;
	char *source_copy = NULL, *target_copy = NULL;
	int err = 0;

	pthread_mutex_lock(&first->lock);
	if (first != second)
		pthread_mutex_lock(&second->lock);
	if (!from->names)
		from->names = names_read(from->fd);
	if (!to->names)
		to->names = names_read(to->fd);
	if (!from->names || !to->names) {
		err = EIO;
		goto out;
	}
	source = names_find(from->names, name);
	target = names_find(to->names, newname);
	source_copy = check(strdup(source ? source : name));
	target_copy = check(strdup(target ? target : newname));
	if (target && (flags & RENAME_NOREPLACE)) {
		err = EEXIST;
	} else if (renameat2(from->fd, source_copy, to->fd, target_copy,
			     flags)) {
		err = errno;
	} else if (!(flags & RENAME_EXCHANGE)) {
		names_remove(from->names, source_copy);
		names_add(to->names, target_copy);
	}
out:
	if (first != second)
		pthread_mutex_unlock(&second->lock);
	pthread_mutex_unlock(&first->lock);
	free(source_copy);
	free(target_copy);
	return err;
}

static void slow_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
			fuse_ino_t newparent, const char *newname,
			unsigned int flags)
{
	struct node *from = node_of(parent), *to = node_of(newparent);
	int err;

	if (is_control_name(from, name) || is_control_name(to, newname)) {
		fuse_reply_err(req, EPERM);
		return;
	}
	if (enter(req, OP_RENAME, from, name))
		return;
	if (opt.icase)
		err = rename_icase(from, name, to, newname, flags);
	else
		err = renameat2(from->fd, name, to->fd, newname, flags) ?
			errno : 0;
	fuse_reply_err(req, err);
}

static int backing_flags(int flags)
{
	/* direct I/O of the backing would ask for aligned buffers */
	return (flags & ~(O_DIRECT | O_NOFOLLOW)) | O_CLOEXEC;
}

static void slow_create(fuse_req_t req, fuse_ino_t parent, const char *name,
			mode_t mode, struct fuse_file_info *fi)
{
	struct node *dir = node_of(parent);
	struct fuse_entry_param e;
	const char *real;
	int found, fd = -1, pathfd, err = 0;

	if (enter(req, OP_CREATE, dir, name))
		return;
	real = stored(dir, name, &found);
	if (found && (fi->flags & O_EXCL)) {
		err = EEXIST;
	} else {
		fd = openat(dir->fd, real, backing_flags(fi->flags) |
			    O_CREAT | O_NOFOLLOW, mode);
		if (fd < 0)
			err = errno;
		else
			note_created(dir, name);
	}
	done_stored(dir);

	if (!err) {
		pathfd = open(fdpath(fd).s, O_PATH | O_CLOEXEC);
		err = pathfd < 0 ? errno : node_enter(dir, name, pathfd, &e);
	}
	if (err) {
		if (fd >= 0)
			close(fd);
		fuse_reply_err(req, err);
		return;
	}
	fi->fh = fd;
	if (fuse_reply_create(req, &e, fi)) {
		/* the request was interrupted, so nobody will release it */
		close(fd);
		node_forget(e.ino, 1);
	}
}

static void open_control(fuse_req_t req, struct fuse_file_info *fi)
{
	struct report *r = check(calloc(1, sizeof(*r)));
	FILE *out = check(open_memstream(&r->text, &r->len));

	policy_print(out);
	fclose(out);
	fi->fh = (uintptr_t)r;
	fi->direct_io = 1; /* it has no size */
	if (fuse_reply_open(req, fi)) {
		free(r->text);
		free(r);
	}
}

static void slow_open(fuse_req_t req, fuse_ino_t ino,
		      struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	int fd;

	if (n == &control) {
		open_control(req, fi);
		return;
	}
	if (enter(req, OP_OPEN, n, NULL))
		return;
	fd = open(fdpath(n->fd).s, backing_flags(fi->flags));
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = fd;
	if (fuse_reply_open(req, fi))
		close(fd);
}

static void slow_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		      struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	char *buf;
	ssize_t len;

	if (n == &control) {
		struct report *r = (struct report *)(uintptr_t)fi->fh;

		if ((size_t)off >= r->len)
			fuse_reply_buf(req, NULL, 0);
		else
			fuse_reply_buf(req, r->text + off,
				       size < r->len - off ? size :
							     r->len - off);
		return;
	}
	if (enter(req, OP_READ, n, NULL))
		return;
	buf = check(malloc(size ? size : 1));
	len = pread(fi->fh, buf, size, off);
	if (len < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, buf, len);
	free(buf);
}

/* Lines of commands; whatever comes after a bad one is not obeyed. */
static void write_control(fuse_req_t req, const char *buf, size_t size)
{
	char *text = check(strndup(buf, size)), *rest = text, *line;
	char err[400];

	while ((line = strsep(&rest, "\n"))) {
		if (*line && policy_command(line, err, sizeof(err))) {
			fprintf(stderr, "slowfs: %s\n", err);
			fuse_reply_err(req, EINVAL);
			free(text);
			return;
		}
	}
	free(text);
	fuse_reply_write(req, size);
}

static void slow_write(fuse_req_t req, fuse_ino_t ino, const char *buf,
		       size_t size, off_t off, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	size_t limit;
	ssize_t len;

	if (n == &control) {
		write_control(req, buf, size);
		return;
	}
	if (enter_limited(req, OP_WRITE, n, NULL, &limit))
		return;
	len = pwrite(fi->fh, buf, size < limit ? size : limit, off);
	if (len < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, len);
}

static void slow_flush(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	int fd;

	if (n == &control) {
		fuse_reply_err(req, 0);
		return;
	}
	if (opt.no_flush) {
		/* the kernel does not ask again */
		fuse_reply_err(req, ENOSYS);
		return;
	}
	if (enter(req, OP_FLUSH, n, NULL))
		return;
	/* a duplicate, as another descriptor of the caller may live on */
	fd = dup(fi->fh);
	fuse_reply_err(req, fd < 0 || close(fd) ? errno : 0);
}

static void slow_release(fuse_req_t req, fuse_ino_t ino,
			 struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);

	if (n == &control) {
		struct report *r = (struct report *)(uintptr_t)fi->fh;

		free(r->text);
		free(r);
		fuse_reply_err(req, 0);
		return;
	}
	/* must not be skipped, whatever becomes of the answer */
	if (enter(req, OP_RELEASE, n, NULL)) {
		close(fi->fh);
		return;
	}
	close(fi->fh);
	fuse_reply_err(req, 0);
}

static void slow_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		       struct fuse_file_info *fi)
{
	if (enter(req, OP_FSYNC, node_of(ino), NULL))
		return;
	fuse_reply_err(req, (datasync ? fdatasync(fi->fh) : fsync(fi->fh)) ?
			    errno : 0);
}

static void slow_opendir(fuse_req_t req, fuse_ino_t ino,
			 struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	struct listing *l;

	if (enter(req, OP_OPENDIR, n, NULL))
		return;
	if (faccessat(n->fd, ".", R_OK, AT_EACCESS)) {
		fuse_reply_err(req, errno);
		return;
	}
	l = check(calloc(1, sizeof(*l)));
	pthread_mutex_init(&l->lock, NULL);
	fi->fh = (uintptr_t)l;
	if (fuse_reply_open(req, fi))
		free(l);
}

static void empty_listing(struct listing *l)
{
	while (l->nr)
		free(l->entry[--l->nr].name);
	l->filled = 0;
}

/*
 * The whole directory at once. So an offset is a plain index, which stays
 * right while entries are removed.
 */
static int fill_listing(struct listing *l, struct node *n)
{
	struct dirent *de;
	DIR *dir;
	int fd = openat(n->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	dir = check(fdopendir(fd));
	empty_listing(l);
	while ((de = readdir(dir))) {
		struct dirent_copy *c;

		if (is_control_name(n, de->d_name))
			continue;
		if (l->nr == l->alloc) {
			l->alloc = l->alloc ? 2 * l->alloc : 64;
			l->entry = check(realloc(l->entry, l->alloc *
						 sizeof(*l->entry)));
		}
		c = &l->entry[l->nr++];
		c->ino = de->d_ino;
		c->type = de->d_type;
		c->name = check(strdup(de->d_name));
	}
	closedir(dir);
	l->filled = 1;
	return 0;
}

static void slow_readdir(fuse_req_t req, fuse_ino_t ino, size_t size,
			 off_t off, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;
	char *buf;
	size_t used = 0;
	int err = 0;

	if (enter(req, OP_READDIR, n, NULL))
		return;
	buf = check(malloc(size));
	pthread_mutex_lock(&l->lock);
	if (!off || !l->filled) /* rewinddir() wants the news */
		err = fill_listing(l, n);
	for (; !err && (size_t)off < l->nr; off++) {
		struct dirent_copy *c = &l->entry[off];
		struct stat st = {
			.st_ino = c->ino,
			.st_mode = DTTOIF(c->type),
		};
		size_t len = fuse_add_direntry(req, buf + used, size - used,
					       c->name, &st, off + 1);

		if (len > size - used)
			break;
		used += len;
	}
	pthread_mutex_unlock(&l->lock);
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_buf(req, buf, used);
	free(buf);
}

static void slow_releasedir(fuse_req_t req, fuse_ino_t ino,
			    struct fuse_file_info *fi)
{
	struct listing *l = (struct listing *)(uintptr_t)fi->fh;

	if (!enter(req, OP_RELEASEDIR, node_of(ino), NULL))
		fuse_reply_err(req, 0);
	empty_listing(l);
	free(l->entry);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void slow_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			  struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	int fd, err;

	(void)fi;
	if (enter(req, OP_FSYNCDIR, n, NULL))
		return;
	fd = openat(n->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	err = (datasync ? fdatasync(fd) : fsync(fd)) ? errno : 0;
	close(fd);
	fuse_reply_err(req, err);
}

static void slow_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct node *n = ino ? node_of(ino) : &root;
	struct statvfs st;

	if (n == &control)
		n = &root;
	else if (enter(req, OP_STATFS, n, NULL))
		return;
	if (fstatvfs(n->fd, &st))
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

static const struct fuse_lowlevel_ops operations = {
	.init = slow_init,
	.lookup = slow_lookup,
	.forget = slow_forget,
	.forget_multi = slow_forget_multi,
	.getattr = slow_getattr,
	.setattr = slow_setattr,
	.access = slow_access,
	.readlink = slow_readlink,
	.mknod = slow_mknod,
	.mkdir = slow_mkdir,
	.symlink = slow_symlink,
	.link = slow_link,
	.unlink = slow_unlink,
	.rmdir = slow_rmdir,
	.rename = slow_rename,
	.create = slow_create,
	.open = slow_open,
	.read = slow_read,
	.write = slow_write,
	.flush = slow_flush,
	.release = slow_release,
	.fsync = slow_fsync,
	.opendir = slow_opendir,
	.readdir = slow_readdir,
	.releasedir = slow_releasedir,
	.fsyncdir = slow_fsyncdir,
	.statfs = slow_statfs,
};

/*
 * Before 3.16.2 the library takes the wish for FUSE_CAP_PARALLEL_DIROPS and
 * does not pass it on, so the kernel would look up one name of a directory at
 * a time, which no network file system does. Unless that is what is asked for,
 * set the flag in the answer to FUSE_INIT, which is the first one.
 */
static ssize_t write_answer(int fd, struct iovec *iov, int count, void *data)
{
	static atomic_int seen;

	(void)data;
	if (!atomic_exchange(&seen, 1) && count > 1 && !opt.serial_lookups &&
	    iov[1].iov_len >= offsetof(struct fuse_init_out, flags) +
			      sizeof(((struct fuse_init_out *)0)->flags)) {
		struct fuse_init_out *out = iov[1].iov_base;

		out->flags |= FUSE_PARALLEL_DIROPS;
	}
	return writev(fd, iov, count);
}

static ssize_t read_request(int fd, void *buf, size_t len, void *data)
{
	(void)data;
	return read(fd, buf, len);
}

static const struct fuse_custom_io custom_io = {
	.writev = write_answer,
	.read = read_request,
};

/* Ends the file system when the process that wanted it has ended. */
static void *watch_owner(void *data)
{
	struct pollfd p = { .fd = *(int *)data, .events = POLLIN };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		; /* try again */
	kill(getpid(), SIGTERM);
	return NULL;
}

static int start_watching(int *pidfd)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	/* the signal has to end up in the thread that waits for the end */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, watch_owner, pidfd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return err;
}

/* Each node that the kernel knows keeps a descriptor open. */
static void raise_file_limit(void)
{
	struct rlimit lim;
	FILE *f;
	unsigned long long max;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return;
	lim.rlim_cur = lim.rlim_max;
	setrlimit(RLIMIT_NOFILE, &lim);

	f = fopen("/proc/sys/fs/nr_open", "r");
	if (!f)
		return;
	if (fscanf(f, "%llu", &max) == 1 && max > lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max = max;
		setrlimit(RLIMIT_NOFILE, &lim); /* as root only */
	}
	fclose(f);
}

static const char usage[] =
"usage: slowfs [options] BACKING MOUNTPOINT\n"
"\n"
"Shows the directory BACKING at MOUNTPOINT, slowly. Returns when it is\n"
"mounted; ends when it is unmounted or gets SIGTERM.\n"
"\n"
"  --latency=[OPS=]USEC[,...]   let each operation wait; OPS is op[+op...]\n"
"  --one-arm                    one operation at a time\n"
"  --serial-lookups             look up one name of a directory at a time\n"
"  --icase                      names that differ in case are the same\n"
"  --fault=OPS:ACTION:WHEN[:GLOB]  ACTION: errno, short=BYTES, delay=USEC;\n"
"                               WHEN: N (the Nth), N+ (from then on), %N\n"
"  --entry-timeout=SEC --attr-timeout=SEC --negative-timeout=SEC\n"
"                               how long the kernel may cache (0)\n"
"  --max-write=BYTES            split writes that are larger\n"
"  --no-flush                   close() makes no request\n"
"  --threads=N                  requests that can wait side by side (256)\n"
"  --owner=PID                  end when this process ends\n"
"  --foreground                 stay there\n"
"  --debug                      show all requests; implies --foreground\n"
"  -o OPTION                    hand a mount option to FUSE\n"
"\n"
"MOUNTPOINT/" CONTROL_NAME " shows the counters of the operations, and takes\n"
"the lines 'reset', 'latency SPEC', 'fault SPEC', 'fault none' and\n"
"'one-arm on|off'.\n";

static void die(const char *what, const char *why)
{
	fprintf(stderr, "slowfs: %s: %s\n", what, why);
	exit(1);
}

static double parse_seconds(const char *key, const char *s)
{
	char *end;
	double d = strtod(s, &end);

	if (end == s || *end || !(d >= 0 && d <= 1e6)) {
		fprintf(stderr, "slowfs: --%s: '%s' is no number of seconds\n",
			key, s);
		exit(2);
	}
	return d;
}

static long parse_int(const char *key, const char *s, long min, long max)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || end == s || *end || n < min || n > max) {
		fprintf(stderr, "slowfs: --%s: '%s' is not between %ld and %ld\n",
			key, s, min, max);
		exit(2);
	}
	return n;
}

/* What is said about the mount, beside `opt`. */
struct run {
	struct fuse_args args;
	int foreground, threads;
	int pidfd;		/* of --owner, or -1 */
};

enum {
	OPT_LATENCY = 256, OPT_ONE_ARM, OPT_SERIAL_LOOKUPS, OPT_ICASE,
	OPT_FAULT, OPT_ENTRY, OPT_ATTR, OPT_NEGATIVE, OPT_MAX_WRITE,
	OPT_NO_FLUSH, OPT_THREADS, OPT_OWNER, OPT_FOREGROUND, OPT_DEBUG
};

static const struct option longopts[] = {
	{ "latency", required_argument, NULL, OPT_LATENCY },
	{ "one-arm", no_argument, NULL, OPT_ONE_ARM },
	{ "serial-lookups", no_argument, NULL, OPT_SERIAL_LOOKUPS },
	{ "icase", no_argument, NULL, OPT_ICASE },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "entry-timeout", required_argument, NULL, OPT_ENTRY },
	{ "attr-timeout", required_argument, NULL, OPT_ATTR },
	{ "negative-timeout", required_argument, NULL, OPT_NEGATIVE },
	{ "max-write", required_argument, NULL, OPT_MAX_WRITE },
	{ "no-flush", no_argument, NULL, OPT_NO_FLUSH },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "owner", required_argument, NULL, OPT_OWNER },
	{ "foreground", no_argument, NULL, OPT_FOREGROUND },
	{ "debug", no_argument, NULL, OPT_DEBUG },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

/* Take one option, but for --help and what is unknown. */
static void set_option(struct run *run, int c)
{
	char err[400];

	switch (c) {
	case OPT_LATENCY:
		if (policy_latency(optarg, err, sizeof(err)))
			die("--latency", err);
		break;
	case OPT_ONE_ARM:
		policy_one_arm(1);
		break;
	case OPT_SERIAL_LOOKUPS:
		opt.serial_lookups = 1;
		break;
	case OPT_ICASE:
		opt.icase = 1;
		break;
	case OPT_FAULT:
		if (policy_fault(optarg, err, sizeof(err)))
			die("--fault", err);
		break;
	case OPT_ENTRY:
		opt.entry_timeout = parse_seconds("entry-timeout", optarg);
		break;
	case OPT_ATTR:
		opt.attr_timeout = parse_seconds("attr-timeout", optarg);
		break;
	case OPT_NEGATIVE:
		opt.negative_timeout = parse_seconds("negative-timeout", optarg);
		break;
	case OPT_MAX_WRITE:
		opt.max_write = parse_int("max-write", optarg, 4096, INT_MAX);
		break;
	case OPT_NO_FLUSH:
		opt.no_flush = 1;
		break;
	case OPT_THREADS:
		run->threads = parse_int("threads", optarg, 1, 4096);
		break;
	case OPT_OWNER:
		run->pidfd = syscall(SYS_pidfd_open,
				     parse_int("owner", optarg, 1, INT_MAX), 0);
		if (run->pidfd < 0)
			die("--owner", strerror(errno));
		break;
	case OPT_DEBUG:
		fuse_opt_add_arg(&run->args, "-d");
		/* fallthrough */
	case OPT_FOREGROUND:
		run->foreground = 1;
		break;
	case 'o':
		fuse_opt_add_arg(&run->args, "-o");
		fuse_opt_add_arg(&run->args, optarg);
		break;
	}
}

/* Mount, serve until asked to end, and unmount. Returns 0 if all went well. */
static int serve(struct run *run, const char *mountpoint)
{
	struct fuse_loop_config *config;
	struct fuse_session *se;
	int ret = 1;

	se = fuse_session_new(&run->args, &operations, sizeof(operations),
			      NULL);
	if (!se)
		return ret;
	if (fuse_set_signal_handlers(se))
		goto out_session;
	if (fuse_session_mount(se, mountpoint))
		goto out_handlers;
	if (fuse_session_custom_io(se, &custom_io, fuse_session_fd(se)))
		goto out_mount;
	if (fuse_daemonize(run->foreground))
		goto out_mount;
	if (run->pidfd >= 0 && start_watching(&run->pidfd))
		goto out_mount;

	config = fuse_loop_cfg_create();
	fuse_loop_cfg_set_max_threads(config, run->threads);
	fuse_loop_cfg_set_idle_threads(config, run->threads);
	/* the number of a signal is how it is asked to end */
	ret = fuse_session_loop_mt(se, config) < 0;
	fuse_loop_cfg_destroy(config);
out_mount:
	fuse_session_unmount(se);
out_handlers:
	fuse_remove_signal_handlers(se);
out_session:
	fuse_session_destroy(se);
	/* at the end the kernel does not say what it forgets */
	tdestroy(nodes_tree, node_free);
	names_free(root.names);
	return ret;
}

int main(int argc, char **argv)
{
	struct run run = { .args = FUSE_ARGS_INIT(0, NULL), .threads = 256,
			   .pidfd = -1 };
	char *mountpoint;
	int c, ret;

	setlocale(LC_CTYPE, "C.UTF-8");
	fuse_opt_add_arg(&run.args, "slowfs");
	fuse_opt_add_arg(&run.args, "-ofsname=slowfs,subtype=slowfs");

	while ((c = getopt_long(argc, argv, "ho:", longopts, NULL)) != -1) {
		if (c == 'h' || c == '?') {
			fputs(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
		set_option(&run, c);
	}
	if (argc - optind != 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (opt.icase && (opt.entry_timeout > 0 || opt.negative_timeout > 0))
		/* the kernel would keep "A" when "a" is removed */
		die("--icase", "cannot be used with --entry-timeout or "
		    "--negative-timeout");

	raise_file_limit();
	umask(0); /* that of the caller is in the mode already */
	/* by default the kernel may let us sleep 50 microseconds longer */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);

	root.fd = open(argv[optind], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0)
		die(argv[optind], strerror(errno));
	mountpoint = realpath(argv[optind + 1], NULL);
	if (!mountpoint)
		die(argv[optind + 1], strerror(errno));

	ret = serve(&run, mountpoint);
	fuse_opt_free_args(&run.args);
	free(mountpoint);
	return ret;
}
