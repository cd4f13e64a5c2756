/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that read directories; see dir-ahead.h.
 */
#include "git-compat-util.h"
#include "dir.h"
#include "dir-ahead.h"
#include "gettext.h"
#include "strmap.h"
#include "thread-utils.h"
#include "trace.h"
#include "waiting-loop.h"

#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

#define MAX_THREADS 64
#define MAX_BYTES (64 * 1024 * 1024)

/* A larger ignore file is left to the walk, and so is a longer list. */
#define MAX_IGNORE_SIZE (1024 * 1024)
#define MAX_LIST_SIZE (4 * 1024 * 1024)

/*
 * Judge by so many directories of which so many have to be slow, or the walk
 * is over before threads were of use. A plan takes time as well.
 */
#define FIRST_READS 8
#define FIRST_SLOW 4
#define FIRST_PLANS 200

/* What takes less was no round trip; a new thread costs a fraction of it. */
#define SLOW_NS (100 * 1000)

struct queue {
	struct dir_ahead_dir *first, **end;
};

struct dir_ahead {
	const char *ignore_name;
	struct strmap dirs;	/* by path */
	size_t pending;		/* added and not given to the plan yet */
	size_t plans;

	/* of the caller while it is alone */
	int reads, slow_reads;
	unsigned is_alone : 1;
	unsigned is_over : 1;	/* nothing more is added */
	unsigned is_full : 1;	/* there are no more threads */
	unsigned is_cut : 1;	/* by dir_ahead_has_enough() */
	struct queue cut;	/* plans that were */

	/* The mutex is for what follows. */
	pthread_mutex_t mutex;
	pthread_cond_t has_todo, has_done;
	struct queue todo, done;
	size_t bytes;
	int idle;		/* threads that wait for something to do */
	unsigned is_end : 1;

	pthread_t threads[MAX_THREADS];
	int nr_threads;
};

static void put(struct queue *queue, struct dir_ahead_dir *dir)
{
	dir->next = NULL;
	*queue->end = dir;
	queue->end = &dir->next;
}

static struct dir_ahead_dir *take(struct queue *queue)
{
	struct dir_ahead_dir *dir = queue->first;

	if (dir) {
		queue->first = dir->next;
		if (!queue->first)
			queue->end = &queue->first;
	}
	return dir;
}

struct dir_ahead *dir_ahead_new(const char *ignore_name, int is_forced)
{
	struct dir_ahead *ahead = xcalloc(1, sizeof(*ahead));

	ahead->ignore_name = ignore_name;
	ahead->is_alone = !is_forced;
	strmap_init_with_options(&ahead->dirs, NULL, 0);
	ahead->todo.end = &ahead->todo.first;
	ahead->done.end = &ahead->done.first;
	ahead->cut.end = &ahead->cut.first;
	pthread_mutex_init(&ahead->mutex, NULL);
	pthread_cond_init(&ahead->has_todo, NULL);
	pthread_cond_init(&ahead->has_done, NULL);
	return ahead;
}

void dir_ahead_free(struct dir_ahead *ahead)
{
	struct hashmap_iter iter;
	struct strmap_entry *entry;

	if (!ahead)
		return;
	strmap_for_each_entry(&ahead->dirs, &iter, entry) {
		struct dir_ahead_dir *dir = entry->value;

		strbuf_release(&dir->list);
		free(dir->ignore_buf);
		free(dir);
	}
	strmap_clear(&ahead->dirs, 0);
	pthread_cond_destroy(&ahead->has_done);
	pthread_cond_destroy(&ahead->has_todo);
	pthread_mutex_destroy(&ahead->mutex);
	free(ahead);
}

/* -- what a thread does -- */

/*
 * Returns whether the ignore file is to be opened. That is not asked of the
 * list, which may be older than the file on a file system that keeps lists.
 *
 * Of what looks like another repository, there is no list: the walk may not
 * want one. Nor is there of what has very many files.
 */
static int read_list(const struct dir_ahead *ahead, struct dir_ahead_dir *dir)
{
	const char *path = *dir->path ? dir->path : ".";
	DIR *stream = opendir(path);
	struct dirent *e;

	if (!stream)
		return 0;
	while (errno = 0, (e = readdir_skip_dot_and_dotdot(stream))) {
		if (dir->list.len > MAX_LIST_SIZE ||
		    (*dir->path && !fspathcmp(e->d_name, ".git")))
			break;
		strbuf_addch(&dir->list, DTYPE(e));
		strbuf_add(&dir->list, e->d_name, strlen(e->d_name) + 1);
	}
	if (e || errno)
		strbuf_release(&dir->list);
	else
		dir->has |= DIR_AHEAD_LIST;
	closedir(stream);
	return dir->has & DIR_AHEAD_LIST && ahead->ignore_name;
}

static void read_ignore(const struct dir_ahead *ahead,
			struct dir_ahead_dir *dir)
{
	char *path = xstrfmt("%s%s", dir->path, ahead->ignore_name);
	/* whatever it has become since it was listed */
	int fd = open_nofollow(path, O_RDONLY | O_NONBLOCK);
	size_t size;

	free(path);
	if (fd < 0) {
		if (errno == ENOENT)
			dir->ignore = DIR_AHEAD_IGNORE_ABSENT;
		return;
	}
	if (!fstat(fd, &dir->ignore_st) && S_ISREG(dir->ignore_st.st_mode) &&
	    dir->ignore_st.st_size <= MAX_IGNORE_SIZE) {
		size = xsize_t(dir->ignore_st.st_size);
		dir->ignore_buf = xmalloc(size ? size : 1);
		if (read_in_full(fd, dir->ignore_buf, size) == (ssize_t)size)
			dir->ignore = DIR_AHEAD_IGNORE_READ;
	}
	close(fd);
}

static void read_dir(const struct dir_ahead *ahead, struct dir_ahead_dir *dir)
{
	int may_have_ignore = ahead->ignore_name &&
		dir->wanted & DIR_AHEAD_IGNORE;

	if (dir->wanted & DIR_AHEAD_STAT &&
	    !lstat(*dir->path ? dir->path : ".", &dir->st))
		dir->has |= DIR_AHEAD_STAT;
	if (dir->wanted & DIR_AHEAD_LIST) {
		/* It may have been read before there was a list. */
		dir->ignore = DIR_AHEAD_IGNORE_UNKNOWN;
		FREE_AND_NULL(dir->ignore_buf);
		may_have_ignore = read_list(ahead, dir);
	}
	if (may_have_ignore)
		read_ignore(ahead, dir);
}

/* What it takes besides the struct itself. */
static size_t size_of(const struct dir_ahead_dir *dir)
{
	return dir->list.alloc +
		(dir->ignore_buf ? xsize_t(dir->ignore_st.st_size) : 0);
}

static void *run_thread(void *data)
{
	struct dir_ahead *ahead = data;

	pthread_mutex_lock(&ahead->mutex);
	while (!ahead->is_end) {
		struct dir_ahead_dir *dir = take(&ahead->todo);

		if (!dir) {
			ahead->idle++;
			pthread_cond_wait(&ahead->has_todo, &ahead->mutex);
			ahead->idle--;
			continue;
		}
		/* What was queued before there was too much is left, too. */
		if (ahead->bytes <= MAX_BYTES) {
			pthread_mutex_unlock(&ahead->mutex);
			read_dir(ahead, dir);
			pthread_mutex_lock(&ahead->mutex);
			ahead->bytes += size_of(dir);
		}
		put(&ahead->done, dir);
		pthread_cond_signal(&ahead->has_done);
	}
	pthread_mutex_unlock(&ahead->mutex);
	return NULL;
}

/* -- what the caller does -- */

static void queue_dir(struct dir_ahead *ahead, struct dir_ahead_dir *dir,
		      unsigned wanted)
{
	dir->wanted = wanted;
	ahead->pending++;
	pthread_mutex_lock(&ahead->mutex);
	put(wanted ? &ahead->todo : &ahead->done, dir);
	if (wanted && ahead->idle)
		pthread_cond_signal(&ahead->has_todo);
	pthread_mutex_unlock(&ahead->mutex);
}

void dir_ahead_add(struct dir_ahead *ahead, const char *path, unsigned wanted,
		   void *data)
{
	struct dir_ahead_dir *dir;
	size_t bytes;

	/* A file system may list a name twice while a directory changes. */
	if (ahead->is_over || strmap_contains(&ahead->dirs, path))
		return;
	pthread_mutex_lock(&ahead->mutex);
	bytes = ahead->bytes += sizeof(*dir) + strlen(path);
	pthread_mutex_unlock(&ahead->mutex);
	if (bytes > MAX_BYTES) {
		ahead->is_over = 1;
		return;
	}

	FLEX_ALLOC_STR(dir, path, path);
	strbuf_init(&dir->list, 0);
	dir->data = data;
	strmap_put(&ahead->dirs, dir->path, dir);
	queue_dir(ahead, dir, wanted);
}

int dir_ahead_has_enough(struct dir_ahead *ahead)
{
	if (ahead->is_over)
		return 1;
	if (!ahead->is_alone || strmap_get_size(&ahead->dirs) <= FIRST_READS)
		return 0;
	ahead->is_cut = 1;
	return 1;
}

void dir_ahead_ask(struct dir_ahead *ahead, struct dir_ahead_dir *dir,
		   unsigned wanted)
{
	if (!ahead->is_over)
		queue_dir(ahead, dir, wanted);
}

/*
 * A thread that does not get a processor is slow as well, but that is not what
 * it wants to wait for.
 */
static void read_alone(struct dir_ahead *ahead, struct dir_ahead_dir *dir)
{
	uint64_t start_ns = getnanotime();
	long waits = waiting_loop_waits();

	read_dir(ahead, dir);
	ahead->reads++;
	if (waiting_loop_waits() > waits && getnanotime() - start_ns >= SLOW_NS)
		ahead->slow_reads++;
}

/*
 * The first directories, one by one. Returns -1 if it should end with these.
 * They are planned only if there is nothing else to read: if it is not slow,
 * the walk does all of that again.
 */
static int run_alone(struct dir_ahead *ahead, dir_ahead_plan_fn plan,
		     void *plan_data)
{
	while (ahead->pending && ahead->slow_reads < FIRST_SLOW) {
		struct dir_ahead_dir *dir = take(&ahead->todo);

		if (dir) {
			if (ahead->reads - ahead->slow_reads >
			    FIRST_READS - FIRST_SLOW)
				return -1;
			read_alone(ahead, dir);
			put(&ahead->done, dir);
			continue;
		}
		if (ahead->plans++ == FIRST_PLANS)
			return -1;
		dir = take(&ahead->done);
		ahead->pending--;
		ahead->is_cut = 0;
		plan(ahead, dir, plan_data);
		if (ahead->is_cut)
			put(&ahead->cut, dir);
	}
	return ahead->pending ? 0 : -1;
}

/* Each has one descriptor open, and others need some, too. */
static int max_threads(void)
{
#ifdef RLIMIT_NOFILE
	struct rlimit lim;

	/* RLIM_INFINITY is a large number. */
	if (!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur / 4 < MAX_THREADS)
		return lim.rlim_cur < 8 ? 1 : lim.rlim_cur / 4;
#endif
	return MAX_THREADS;
}

/*
 * Have a thread for each directory that waits for one. Returns -1 if there is
 * not one thread for any of them to be had.
 */
static int add_threads(struct dir_ahead *ahead, int max)
{
	struct dir_ahead_dir *dir;
	int wanted, ret;

	pthread_mutex_lock(&ahead->mutex);
	wanted = -ahead->idle;
	for (dir = ahead->todo.first; dir; dir = dir->next)
		if (++wanted == MAX_THREADS)
			break;
	while (wanted-- > 0 && ahead->nr_threads < max && !ahead->is_full) {
		if (pthread_create(&ahead->threads[ahead->nr_threads], NULL,
				   run_thread, ahead))
			ahead->is_full = 1;
		else
			ahead->nr_threads++;
	}
	ret = ahead->todo.first && !ahead->nr_threads ? -1 : 0;
	pthread_mutex_unlock(&ahead->mutex);
	return ret;
}

static struct dir_ahead_dir *next_done(struct dir_ahead *ahead)
{
	struct dir_ahead_dir *dir;

	pthread_mutex_lock(&ahead->mutex);
	while (!(dir = take(&ahead->done)))
		pthread_cond_wait(&ahead->has_done, &ahead->mutex);
	pthread_mutex_unlock(&ahead->mutex);
	return dir;
}

static void end_threads(struct dir_ahead *ahead)
{
	pthread_mutex_lock(&ahead->mutex);
	ahead->is_end = 1;
	pthread_cond_broadcast(&ahead->has_todo);
	pthread_mutex_unlock(&ahead->mutex);
	for (int i = 0; i < ahead->nr_threads; i++)
		if (pthread_join(ahead->threads[i], NULL))
			die(_("unable to join a thread"));
}

int dir_ahead_run(struct dir_ahead *ahead, dir_ahead_plan_fn plan,
		  void *plan_data)
{
	int max = max_threads();
	struct dir_ahead_dir *dir;

	if (!waiting_loop_may_grow() ||
	    (ahead->is_alone && run_alone(ahead, plan, plan_data)))
		return 0;
	ahead->is_alone = 0;
	while ((dir = take(&ahead->cut)))
		plan(ahead, dir, plan_data);

	for (;;) {
		if (ahead->nr_threads < max && add_threads(ahead, max))
			break;
		if (!ahead->pending)
			break;
		dir = next_done(ahead);
		ahead->pending--;
		plan(ahead, dir, plan_data);
	}
	end_threads(ahead);
	return ahead->nr_threads;
}

/* -- what the walk does -- */

size_t dir_ahead_nr(const struct dir_ahead *ahead)
{
	return strmap_get_size((struct strmap *)&ahead->dirs);
}

const struct dir_ahead_dir *dir_ahead_find(const struct dir_ahead *ahead,
					   const char *path)
{
	return ahead ? strmap_get((struct strmap *)&ahead->dirs, path) : NULL;
}

const char *dir_ahead_next(const struct dir_ahead_dir *dir, size_t *pos,
			   int *type)
{
	const char *name;

	if (*pos >= dir->list.len)
		return NULL;
	*type = (unsigned char)dir->list.buf[*pos];
	name = dir->list.buf + *pos + 1;
	*pos += strlen(name) + 2;
	return name;
}
