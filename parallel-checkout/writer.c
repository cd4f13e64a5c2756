/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write one entry into the working tree; see writer.h.
 */
/* for trust_executable_bit */
#define USE_THE_REPOSITORY_VARIABLE

#include "git-compat-util.h"
#include "entry.h"
#include "environment.h"
#include "parallel-checkout/content.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "parallel-checkout/writer.h"
#include "repository.h"
#include "trace2.h"

/*
 * Run the filter of the item on its content. Returns CHECKOUT_PENDING if there
 * is something to be written then, and nothing was said.
 */
static enum checkout_status run_filter(struct checkout_writer *writer,
				       const struct checkout_item *item,
				       struct content *content)
{
	struct strbuf filtered = STRBUF_INIT;
	enum checkout_status status;
	struct silence silence;

	be_silent(&silence);
	status = smudge_run(writer->smudge, item, content->buf, content->size,
			    &filtered);
	if (end_silence(&silence) && status == CHECKOUT_PENDING)
		status = CHECKOUT_UNFILTERED;
	FREE_AND_NULL(content->buf);
	content->buf = strbuf_detach(&filtered, &content->size);
	return status;
}

/*
 * Is the path as the item says? Returns CHECKOUT_PENDING if it is, and in
 * `*exists` whether there is a file to be replaced.
 */
static enum checkout_status check_old(struct checkout_writer *writer,
				      const struct checkout_item *item,
				      const char *name, int *exists)
{
	struct stat st;

	*exists = 0;
	if (dirs_lstat(&writer->dirs, name, &st) < 0)
		return errno == ENOENT ? CHECKOUT_PENDING : CHECKOUT_DECLINED;
	*exists = 1;
	if (!item->old_mode ||
	    (st.st_mode & S_IFMT) != (item->old_mode & S_IFMT) ||
	    (trust_executable_bit && S_ISREG(st.st_mode) &&
	     ((st.st_mode ^ item->old_mode) & 0100)) ||
	    match_stat_data(&item->old_sd, &st))
		return CHECKOUT_COLLIDED;
	return CHECKOUT_PENDING;
}

/* The file that is being written, for writer_abandon(). */
static struct {
	struct dir_handles *volatile dirs;
	const char *volatile name;
	volatile int fd;
	volatile sig_atomic_t is_creating, signal;
} unfinished;

/* Somebody may have removed it, or moved another file to its place. */
static int is_replaced(void)
{
	struct stat ours, st;

	return fstat_is_reliable() && !fstat(unfinished.fd, &ours) &&
		(dirs_lstat(unfinished.dirs, unfinished.name, &st) ||
		 ours.st_dev != st.st_dev || ours.st_ino != st.st_ino);
}

int writer_abandon(int sig)
{
	if (unfinished.is_creating) {
		unfinished.signal = sig;
		return -1;
	}
	if (unfinished.name && !is_replaced())
		dirs_unlink(unfinished.dirs, unfinished.name);
	return 0;
}

/* The object store may die(), as of a pack index that is corrupt. */
static void abandon_at_exit(void)
{
	writer_abandon(0);
}

static int create_unfinished(struct checkout_writer *writer, const char *name,
			     mode_t mode, int readable)
{
	int fd;

	unfinished.is_creating = 1;
	fd = dirs_create(&writer->dirs, name, readable ? O_RDWR : O_WRONLY,
			 mode);
	if (fd >= 0) {
		unfinished.dirs = &writer->dirs;
		unfinished.fd = fd;
		unfinished.name = name;
	}
	unfinished.is_creating = 0;
	if (unfinished.signal)
		raise(unfinished.signal);
	return fd;
}

/* Create the symbolic link; its directory is the current one. */
static enum checkout_status create_link(struct checkout_writer *writer,
					const struct content *content,
					const char *name, struct stat *st)
{
	if (dirs_symlink(&writer->dirs, content->buf, name) < 0)
		return errno == EEXIST ? CHECKOUT_COLLIDED : CHECKOUT_DECLINED;
	if (writer->want_stat && dirs_lstat(&writer->dirs, name, st) < 0) {
		dirs_unlink(&writer->dirs, name);
		return CHECKOUT_DECLINED;
	}
	return CHECKOUT_WRITTEN;
}

static int failed(struct checkout_writer *writer)
{
	if (is_no_room(errno))
		writer->no_room = errno;
	return -1;
}

/* Create the file; its directory is the current one. */
static enum checkout_status create_file(struct checkout_writer *writer,
					const struct checkout_item *item,
					struct content *content,
					const char *name, struct stat *st)
{
	int fd, err;
	struct silence silence;

	fd = create_unfinished(writer, name, item->mode & 0100 ? 0777 : 0666,
			       content->file >= 0);
	if (fd < 0)
		return errno == EEXIST || errno == EISDIR ?
			CHECKOUT_COLLIDED : CHECKOUT_DECLINED;

	be_silent(&silence);
	errno = 0;
	err = content_fill(content, writer, item, fd) ? failed(writer) : 0;
	if (end_silence(&silence))
		err = -1;
	if (!err && writer->want_stat && fstat_is_reliable())
		err = fstat(fd, st);
	/* One that was interrupted has closed it; cf. close_output(). */
	if (close(fd) < 0 && errno != EINTR)
		err = failed(writer);
	if (!err && writer->want_stat && !fstat_is_reliable())
		err = dirs_lstat(&writer->dirs, name, st);

	if (err) {
		forget_bad_objects(writer->repo);
		dirs_unlink(&writer->dirs, name);
	}
	unfinished.name = NULL;
	return err ? CHECKOUT_DECLINED : CHECKOUT_WRITTEN;
}

static void end_if_unwanted(const struct checkout_writer *writer)
{
	if (writer->end_if_unwanted)
		writer->end_if_unwanted();
}

static void trace_collision(const char *where, const struct checkout_item *item)
{
	trace2_data_string("pcheckout", NULL, where, item->path);
}

int writer_open(struct checkout_writer *writer, struct repository *repo,
		const char *root, int want_stat)
{
	static const struct dir_handles closed = DIR_HANDLES_INIT;
	static int registered;

	if (!registered)
		atexit(abandon_at_exit);
	registered = 1;
	memset(writer, 0, sizeof(*writer));
	writer->repo = repo;
	writer->want_stat = !!want_stat;
	writer->dirs = closed;
	return dirs_open_root(&writer->dirs, root);
}

void writer_close(struct checkout_writer *writer)
{
	for (unsigned int i = 0; i < writer->donors_nr; i++)
		dirs_release(&writer->donors[i].dirs);
	dirs_release(&writer->dirs);
}

void writer_add_donor(struct checkout_writer *writer, const char *path)
{
	static const struct dir_handles closed = DIR_HANDLES_INIT;
	struct writer_donor *donor;
	struct stat st = { 0 };

	if (writer->donors_nr == ARRAY_SIZE(writer->donors))
		return;
	donor = &writer->donors[writer->donors_nr++];
	donor->dirs = closed;
	donor->refused = stat(path, &st) ||
		dirs_open_root(&donor->dirs, path) < 0;
	donor->dev = st.st_dev;
}

void writer_begin_batch(struct checkout_writer *writer)
{
	dirs_forget(&writer->dirs);
	for (unsigned int i = 0; i < writer->donors_nr; i++)
		if (!writer->donors[i].refused)
			dirs_forget(&writer->donors[i].dirs);
}

/* As in entry.c, it is no error if the file, or its directory, is missing. */
static enum checkout_status remove_item(struct checkout_writer *writer,
					const struct checkout_item *item)
{
	const char *slash = strrchr(item->path, '/');
	const char *name = slash ? slash + 1 : item->path;
	struct stat st;

	if (dirs_enter(&writer->dirs, item->path,
		       slash ? slash - item->path : 0, 0))
		return is_missing_file_error(errno) || errno == ELOOP ?
			CHECKOUT_WRITTEN : CHECKOUT_DECLINED;

	if (item->mode == CHECKOUT_REMOVE_DIR)
		return dirs_rmdir(&writer->dirs, name) < 0 ?
			CHECKOUT_COLLIDED : CHECKOUT_WRITTEN;

	/*
	 * unlink() looks the name up with the directory locked, which keeps all
	 * others waiting for a round trip, unless the name is in the cache.
	 */
	if (!dirs_lstat(&writer->dirs, name, &st) &&
	    !dirs_unlink(&writer->dirs, name))
		return CHECKOUT_WRITTEN;
	return errno == ENOENT ? CHECKOUT_WRITTEN : CHECKOUT_DECLINED;
}

static int is_removal(const struct checkout_item *item)
{
	return item->mode == CHECKOUT_REMOVE_FILE ||
		item->mode == CHECKOUT_REMOVE_DIR;
}

/*
 * Make the directory of the item the current one. Returns CHECKOUT_PENDING if
 * that is possible.
 */
static enum checkout_status enter_dir(struct checkout_writer *writer,
				      const struct checkout_item *item)
{
	const char *slash = strrchr(item->path, '/');

	if (!dirs_enter(&writer->dirs, item->path,
			slash ? slash - item->path : 0, 1))
		return CHECKOUT_PENDING;
	if (errno != ENOTDIR && errno != ELOOP)
		return CHECKOUT_DECLINED;
	trace_collision("collision/dirname", item);
	return CHECKOUT_COLLIDED;
}

/* Create what the item describes; its directory is the current one. */
static enum checkout_status create_item(struct checkout_writer *writer,
					const struct checkout_item *item,
					const char *name,
					struct content *content,
					struct stat *st)
{
	enum checkout_status status;

	if (S_ISLNK(item->mode))
		return create_link(writer, content, name, st);

	/* As elsewhere, a filter does not see the old file. */
	if (item->filter) {
		status = run_filter(writer, item, content);
		if (status != CHECKOUT_PENDING)
			return status;

		/*
		 * It may have taken long, and the tree may be gone; or it has
		 * moved the directory.
		 */
		end_if_unwanted(writer);
		dirs_forget(&writer->dirs);
		status = enter_dir(writer, item);
		if (status != CHECKOUT_PENDING)
			return status;
	}
	return create_file(writer, item, content, name, st);
}

/*
 * Write the item, whose directory is the current one. On success, `st` is what
 * was written, and the content has its size.
 */
static enum checkout_status write_item(struct checkout_writer *writer,
				       const struct checkout_item *item,
				       const char *name,
				       struct content *content, struct stat *st)
{
	enum checkout_status status;
	struct silence silence;
	int err, exists = 0;

	if (item->filter && (!writer->smudge || writer->smudge->stopped))
		return CHECKOUT_DECLINED;

	/* A filter costs more than a look. */
	if (writer->expect_collision || item->filter) {
		status = check_old(writer, item, name, &exists);
		if (status != CHECKOUT_PENDING)
			return status;
	}

	/*
	 * What cannot be read changes nothing, unless it is streamed. An entry
	 * on which anything would have been said is left to entry.c.
	 */
	be_silent(&silence);
	err = content_load(content, writer, item);
	if (end_silence(&silence) || err) {
		forget_bad_objects(writer->repo);
		return CHECKOUT_DECLINED;
	}

	end_if_unwanted(writer);

	/* Now that nothing has to be waited for: is it the old one still? */
	if (item->old_mode) {
		status = check_old(writer, item, name, &exists);
		if (status != CHECKOUT_PENDING)
			return status;
	}
	if (exists && dirs_unlink(&writer->dirs, name) < 0 && errno != ENOENT)
		return CHECKOUT_DECLINED;
	return create_item(writer, item, name, content, st);
}

/* The filter has the content; as elsewhere, what it gets is made of nothing. */
static enum checkout_status write_late_item(struct checkout_writer *writer,
					    const struct checkout_item *item,
					    const char *name,
					    struct content *content,
					    struct stat *st)
{
	content_convert(content, item);
	return create_item(writer, item, name, content, st);
}

typedef enum checkout_status (*write_fn)(struct checkout_writer *writer,
					 const struct checkout_item *item,
					 const char *name,
					 struct content *content,
					 struct stat *st);

/* Enter the directory of the item, and have `fn` write it. */
static void write_in_dir(struct checkout_writer *writer,
			 const struct checkout_item *item, write_fn fn,
			 struct checkout_result *result)
{
	const char *slash = strrchr(item->path, '/');
	const char *name = slash ? slash + 1 : item->path;
	struct content content = CONTENT_INIT;
	struct stat st;

	result->status = enter_dir(writer, item);
	if (result->status != CHECKOUT_PENDING)
		return;
	result->status = fn(writer, item, name, &content, &st);
	writer->expect_collision = result->status == CHECKOUT_COLLIDED;
	if (result->status == CHECKOUT_WRITTEN) {
		writer->outcome.files++;
		writer->outcome.bytes += content.size;
		writer->outcome.cloned_files += content.cloned;
		if (content.cloned)
			writer->outcome.cloned_bytes += content.size;
		if (writer->want_stat) {
			result->has_sd = 1;
			fill_stat_data(&result->sd, &st);
		}
	} else if (result->status == CHECKOUT_COLLIDED) {
		trace_collision("collision/basename", item);
	} else if (result->status != CHECKOUT_DELAYED) {
		/*
		 * The directory may have been removed under our handle; look
		 * again the next time.
		 */
		dirs_forget(&writer->dirs);
	}
	content_release(&content);
}

static void count_answer(struct checkout_writer *writer,
			 enum checkout_status status)
{
	writer->outcome.collided += status == CHECKOUT_COLLIDED;
	writer->outcome.delayed += status == CHECKOUT_DELAYED;
	writer->outcome.declined += status == CHECKOUT_DECLINED ||
		status == CHECKOUT_UNFILTERED;
}

void writer_write(struct checkout_writer *writer,
		  const struct checkout_item *item,
		  struct checkout_result *result)
{
	end_if_unwanted(writer);
	writer->no_room = 0;
	memset(result, 0, sizeof(*result));
	result->id = item->id;
	if (is_removal(item)) {
		result->status = remove_item(writer, item);
		writer->outcome.removed++;
	} else {
		write_in_dir(writer, item, write_item, result);
		count_answer(writer, result->status);
	}
}

void writer_write_late(struct checkout_writer *writer,
		       const struct checkout_item *item,
		       struct checkout_result *result)
{
	end_if_unwanted(writer);
	writer->no_room = 0;
	memset(result, 0, sizeof(*result));
	result->id = item->id;
	write_in_dir(writer, item, write_late_item, result);
	count_answer(writer, result->status);
}
