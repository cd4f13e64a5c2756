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
#include "parallel-checkout/writer.h"
#include "repository.h"
#include "trace.h"
#include "trace2.h"

/* It is enough to look once in a while: what takes less is under way. */
#define LOOK_NS 1000000

static void end_if_unwanted(struct checkout_writer *writer)
{
	struct pollfd pollfd = { .fd = 1, .events = POLLOUT };
	uint64_t now_ns;

	if (!writer->has_listener)
		return;
	now_ns = getnanotime();
	if (now_ns - writer->looked_ns < LOOK_NS)
		return;
	writer->looked_ns = now_ns;
	if (poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLERR | POLLHUP)))
		raise(SIGTERM);
}

static enum checkout_status collide(const struct checkout_item *item,
				    const char *where)
{
	trace2_data_string("pcheckout", NULL, where, item->path);
	return CHECKOUT_COLLIDED;
}

/*
 * Make the directory of the item the current one. Returns CHECKOUT_PENDING if
 * that is possible, and sets `*name`.
 */
static enum checkout_status enter_dir(struct checkout_writer *writer,
				      const struct checkout_item *item,
				      const char **name)
{
	*name = dirs_enter(&writer->dirs, item->path, 1);
	if (*name)
		return CHECKOUT_PENDING;
	return errno == ENOTDIR || errno == ELOOP ?
		collide(item, "collision/dirname") : CHECKOUT_DECLINED;
}

/*
 * Is the path as the item says? Returns CHECKOUT_PENDING if it is; then the old
 * file is removed, if there is one and `remove` says so.
 */
static enum checkout_status check_old(struct checkout_writer *writer,
				      const struct checkout_item *item,
				      const char *name, int remove)
{
	struct stat st;

	if (dirs_lstat(&writer->dirs, name, &st) < 0)
		return errno == ENOENT ? CHECKOUT_PENDING : CHECKOUT_DECLINED;
	if (!item->old_mode ||
	    (st.st_mode & S_IFMT) != (item->old_mode & S_IFMT) ||
	    (trust_executable_bit && S_ISREG(st.st_mode) &&
	     ((st.st_mode ^ item->old_mode) & 0100)) ||
	    match_stat_data(&item->old_sd, &st))
		return collide(item, "collision/basename");
	if (remove && dirs_unlink(&writer->dirs, name) < 0 && errno != ENOENT)
		return CHECKOUT_DECLINED;
	return CHECKOUT_PENDING;
}

/* The file that is being written, for writer_abandon(). */
static struct {
	struct dir_handles *volatile dirs;
	const char *volatile name;
	volatile int fd;
	volatile sig_atomic_t is_creating, signal;
} unfinished;

int writer_abandon(int sig)
{
	struct stat ours, st;

	if (unfinished.is_creating) {
		unfinished.signal = sig;
		return -1;
	}
	/* Somebody may have removed it, or moved another file to its place. */
	if (unfinished.name &&
	    (!fstat_is_reliable() || fstat(unfinished.fd, &ours) ||
	     (!dirs_lstat(unfinished.dirs, unfinished.name, &st) &&
	      ours.st_dev == st.st_dev && ours.st_ino == st.st_ino)))
		dirs_unlink(unfinished.dirs, unfinished.name);
	return 0;
}

/* The object store may die(), as of a pack index that is corrupt. */
static void abandon_at_exit(void)
{
	writer_abandon(0);
}

/* Create the symbolic link; its directory is the current one. */
static enum checkout_status create_link(struct checkout_writer *writer,
					const struct checkout_item *item,
					const char *target, const char *name,
					struct stat *st)
{
	if (dirs_symlink(&writer->dirs, target, name) < 0)
		return errno == EEXIST ? collide(item, "collision/basename") :
			CHECKOUT_DECLINED;
	if (writer->want_stat && dirs_lstat(&writer->dirs, name, st) < 0) {
		dirs_unlink(&writer->dirs, name);
		return CHECKOUT_DECLINED;
	}
	return CHECKOUT_WRITTEN;
}

/* Create the file; its directory is the current one. */
static enum checkout_status create_file(struct checkout_writer *writer,
					const struct checkout_item *item,
					struct content *content,
					const char *name, struct stat *st)
{
	int fd, err;

	unfinished.is_creating = 1;
	fd = dirs_create(&writer->dirs, name,
			 content->file >= 0 ? O_RDWR : O_WRONLY,
			 item->mode & 0100 ? 0777 : 0666);
	if (fd >= 0) {
		unfinished.dirs = &writer->dirs;
		unfinished.fd = fd;
		unfinished.name = name;
	}
	unfinished.is_creating = 0;
	if (unfinished.signal)
		raise(unfinished.signal);
	if (fd < 0)
		return errno == EEXIST || errno == EISDIR ?
			collide(item, "collision/basename") : CHECKOUT_DECLINED;

	errno = 0;
	err = content_fill(content, writer, item, fd) || silence_is_broken();
	if (!err && writer->want_stat && fstat_is_reliable())
		err = fstat(fd, st);
	/* One that was interrupted has closed it; cf. close_output(). */
	if (close(fd) < 0 && errno != EINTR)
		err = -1;
	if (!err && writer->want_stat && !fstat_is_reliable())
		err = dirs_lstat(&writer->dirs, name, st);

	if (err) {
		if (is_no_room(errno))
			writer->no_room = errno;
		forget_bad_objects(writer->repo);
		dirs_unlink(&writer->dirs, name);
	}
	unfinished.name = NULL;
	return err ? CHECKOUT_DECLINED : CHECKOUT_WRITTEN;
}

/* As in entry.c, it is no error if the file, or its directory, is missing. */
static enum checkout_status remove_item(struct checkout_writer *writer,
					const struct checkout_item *item)
{
	const char *name = dirs_enter(&writer->dirs, item->path, 0);
	struct stat st;

	if (!name)
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

/*
 * Write the item. On success, `st` is what was written, if that is wanted, and
 * the content has its size.
 */
static enum checkout_status write_item(struct checkout_writer *writer,
				       const struct checkout_item *item,
				       struct content *content, struct stat *st)
{
	enum checkout_status status;
	const char *name;

	if (item->filter && !writer->smudge.may_run)
		return CHECKOUT_DECLINED;
	status = enter_dir(writer, item, &name);
	if (status == CHECKOUT_PENDING && writer->expect_collision)
		status = check_old(writer, item, name, 0);
	if (status != CHECKOUT_PENDING)
		return status;

	/* What cannot be read changes nothing, unless it is streamed. */
	if (content_load(content, writer, item) ||
	    silence_is_broken()) {
		forget_bad_objects(writer->repo);
		return CHECKOUT_DECLINED;
	}
	end_if_unwanted(writer);

	/*
	 * Nothing has to be waited for now: is it the old one still? A filter
	 * costs more than a look, too.
	 */
	if (item->old_mode || item->filter)
		status = check_old(writer, item, name, 1);
	if (status != CHECKOUT_PENDING)
		return status;
	if (S_ISLNK(item->mode))
		return create_link(writer, item, content->buf, name, st);

	if (item->filter) {
		status = smudge_run(&writer->smudge, item, &content->buf,
				    &content->size);
		if (status != CHECKOUT_PENDING)
			return status;

		/*
		 * It may have taken long, and the tree may be gone; or it has
		 * moved the directory.
		 */
		end_if_unwanted(writer);
		dirs_forget(&writer->dirs);
		status = enter_dir(writer, item, &name);
		if (status != CHECKOUT_PENDING)
			return status;
	}
	return create_file(writer, item, content, name, st);
}

int writer_open(struct checkout_writer *writer, struct repository *repo,
		const char *root, int want_stat)
{
	const struct checkout_writer opened = {
		.repo = repo,
		.dirs = DIR_HANDLES_INIT,
		.smudge = SMUDGE_INIT,
		.want_stat = !!want_stat,
	};
	static int registered;

	if (!registered)
		atexit(abandon_at_exit);
	registered = 1;
	*writer = opened;
	return dirs_open_root(&writer->dirs, root);
}

void writer_close(struct checkout_writer *writer)
{
	for (unsigned int i = 0; i < writer->donors_nr; i++)
		dirs_release(&writer->donors[i].dirs);
	dirs_release(&writer->dirs);
	smudge_release(&writer->smudge);
}

void writer_add_donor(struct checkout_writer *writer, const char *path)
{
	const struct dir_handles closed = DIR_HANDLES_INIT;
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

void writer_write(struct checkout_writer *writer,
		  const struct checkout_item *item,
		  struct checkout_result *result)
{
	struct content content = { .file = -1 };
	struct stat st;

	end_if_unwanted(writer);
	writer->no_room = 0;
	memset(result, 0, sizeof(*result));
	result->id = item->id;
	if (item->mode == CHECKOUT_REMOVE_FILE ||
	    item->mode == CHECKOUT_REMOVE_DIR) {
		result->status = remove_item(writer, item);
		writer->outcome.removed++;
		return;
	}

	/* An entry on which anything would have been said is for entry.c. */
	be_silent();
	result->status = write_item(writer, item, &content, &st);
	end_silence();
	writer->expect_collision = result->status == CHECKOUT_COLLIDED;

	switch (result->status) {
	case CHECKOUT_WRITTEN:
		writer->outcome.bytes += content.size;
		result->has_sd = writer->want_stat;
		if (result->has_sd)
			fill_stat_data(&result->sd, &st);
		break;
	case CHECKOUT_COLLIDED:
	case CHECKOUT_DELAYED:
		break;
	default:
		/*
		 * The directory may have been removed under our handle; look
		 * again the next time.
		 */
		dirs_forget(&writer->dirs);
	}
	free(content.buf);
	if (content.stream)
		free_stream_filter(content.stream);
	if (content.file >= 0)
		close(content.file);
}
