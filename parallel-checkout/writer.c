/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write one entry into the working tree; see writer.h.
 */
/* for trust_executable_bit */
#define USE_THE_REPOSITORY_VARIABLE

#include "git-compat-util.h"
#include "convert.h"
#include "environment.h"
#include "odb/streaming.h"
#include "packfile.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "parallel-checkout/writer.h"
#include "promisor-remote.h"
#include "replace-object.h"
#include "repository.h"
#include "trace2.h"

/* What is to be written: a donor's file, a buffer, or a blob to be streamed. */
struct content {
	int file;		/* -1 if there is none */
	unsigned cloned : 1;	/* that is what was written */
	char *buf;
	size_t size;
	struct stream_filter *filter;
};

#define CONTENT_INIT { .file = -1 }

/* Loose blobs that are larger may not fit in memory; entry.c streams them. */
#define MAX_LOOSE_IN_CORE (16 * 1024 * 1024)

static int is_big(const struct checkout_writer *writer, size_t size)
{
	return size > repo_settings_get_big_file_threshold(writer->repo);
}

/* What convert.c has to know about it. */
static void get_attrs(const struct checkout_conversion *conv,
		      struct conv_attrs *ca)
{
	static const enum convert_crlf_action crlf_actions[] = {
		[CHECKOUT_EOL_AS_IS] = CRLF_BINARY,
		[CHECKOUT_EOL_CRLF] = CRLF_TEXT_CRLF,
		[CHECKOUT_EOL_AUTO_CRLF] = CRLF_AUTO_CRLF,
	};

	memset(ca, 0, sizeof(*ca));
	ca->crlf_action = crlf_actions[conv->eol];
	ca->ident = conv->ident;
	ca->working_tree_encoding = conv->encoding;
}

/*
 * Should the blob be streamed if it can be? An ident is expanded by the
 * streaming filter in another way than in core, and entry.c streams it.
 */
static int is_better_streamed(const struct checkout_writer *writer,
			      const struct checkout_item *item,
			      const struct object_info *oi)
{
	return is_big(writer, *oi->sizep) || item->conv.ident ||
		(oi->whence == OI_LOOSE && *oi->sizep > MAX_LOOSE_IN_CORE);
}

/*
 * Does stream_blob_to_fd() read the blob bit by bit? If not, it reads all of it
 * at first, and dies if it is corrupt.
 */
static int is_streamed(const struct checkout_writer *writer,
		       const struct object_info *oi)
{
	return oi->whence == OI_LOOSE ||
		(oi->whence == OI_PACKED && is_big(writer, *oi->sizep) &&
		 oi->u.packed.type == PACKED_OBJECT_TYPE_FULL);
}

/*
 * Read the whole blob, of which `oi` says where it was found. Returns 0, or -1
 * if that is not possible.
 */
static int read_blob(struct checkout_writer *writer,
		     const struct checkout_item *item, struct object_info *oi,
		     unsigned int flags, struct content *content)
{
	enum object_type type;
	size_t size;

	/* It was found in a pack a moment ago; do not look for it again. */
	if (oi->whence == OI_PACKED) {
		content->buf = unpack_entry(writer->repo, oi->u.packed.pack,
					    oi->u.packed.offset, &type, &size);
	} else {
		/* Not repo_read_object_file(), which may die(). */
		void *buf = NULL;

		oi->sizep = &size;
		oi->typep = &type;
		oi->contentp = &buf;
		if (object_info_here(writer->repo, &item->oid, oi, flags) < 0)
			return -1;
		content->buf = buf;
	}
	content->size = size;
	return content->buf && type == OBJ_BLOB ? 0 : -1;
}

/* All of the conversion but for the filter. */
static void convert_content(const struct checkout_item *item,
			    struct content *content)
{
	struct strbuf converted = STRBUF_INIT;
	struct conv_attrs ca;

	get_attrs(&item->conv, &ca);
	if (!convert_to_working_tree_ca(&ca, item->path, content->buf,
					content->size, &converted, NULL))
		return;
	free(content->buf);
	content->buf = strbuf_detach(&converted, &content->size);
}

/*
 * Open the donor's file of the item, whose blob has that size. Returns its
 * descriptor, or -1 if it cannot be the blob, or there is nothing to be shared.
 */
static int open_donor_file(struct checkout_writer *writer,
			   const struct checkout_item *item, size_t size)
{
	struct writer_donor *donor;
	const char *slash;
	struct stat st;
	int fd;

	if (!size || !item->donor || item->donor > writer->donors_nr)
		return -1;
	donor = &writer->donors[item->donor - 1];

	/* The donor has the blob of that name, and not what replaces it here. */
	if (donor->refused ||
	    lookup_replace_object(writer->repo, &item->oid) != &item->oid)
		return -1;
	slash = strrchr(item->path, '/');
	if (dirs_enter(&donor->dirs, item->path,
		       slash ? slash - item->path : 0, 0))
		return -1;
	fd = dirs_open(&donor->dirs, slash ? slash + 1 : item->path);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_dev == donor->dev && (uintmax_t)st.st_size == size)
		return fd;
	close(fd);
	return -1;
}

/*
 * Get the content of the item ready. Returns 0, or -1 if it cannot be had
 * without a word.
 */
static int load_content(struct checkout_writer *writer,
			const struct checkout_item *item,
			struct content *content)
{
	struct object_info oi = OBJECT_INFO_INIT;
	unsigned int flags = OBJECT_INFO_LOOKUP_REPLACE;
	size_t size;
	struct conv_attrs ca;

	/*
	 * A missing blob of a partial clone is the main process's business: it
	 * can fetch many at once. So do not look for new packs for each, until
	 * that may have been done.
	 */
	if (repo_has_promisor_remote(writer->repo) && !item->again)
		flags |= OBJECT_INFO_QUICK;
	oi.sizep = &size;
	if (object_info_here(writer->repo, &item->oid, &oi, flags) < 0)
		return -1;

	content->file = open_donor_file(writer, item, size);
	if (content->file >= 0) {
		content->size = size;
		return 0;
	}

	get_attrs(&item->conv, &ca);
	if (item->conv.filter) {
		/* A filter gets the whole. One at a time is enough of these. */
		if (is_big(writer, size))
			return -1;
	} else if (S_ISREG(item->mode) &&
		   is_better_streamed(writer, item, &oi)) {
		content->size = size;
		content->filter = get_stream_filter_ca(&ca, &item->oid);
		if (content->filter && is_streamed(writer, &oi))
			return 0;
		/* One at a time is enough of these. */
		if (is_big(writer, size))
			return -1;
	}

	if (read_blob(writer, item, &oi, flags, content))
		return -1;
	if (content->filter) {
		/* That it can be read is all that we want to know. */
		FREE_AND_NULL(content->buf);
		return 0;
	}

	if (S_ISREG(item->mode))
		convert_content(item, content);
	return 0;
}

/*
 * Run the filter of the item on its content. Returns CHECKOUT_PENDING if there
 * is something to be written then. To complain is not for us, so nothing may be
 * said.
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

static void release_content(struct content *content)
{
	free(content->buf);
	if (content->filter)
		free_stream_filter(content->filter);
	if (content->file >= 0)
		close(content->file);
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
		return CHECKOUT_CONFLICT;
	return CHECKOUT_PENDING;
}

/*
 * Blocks of zeros of this size become holes, as they do in
 * stream_blob_to_fd().
 */
#define HOLE_SIZE (16 * 1024)

static int is_hole(const char *p)
{
	return !*p && !memcmp(p, p + 1, HOLE_SIZE - 1);
}

/*
 * One write for all, unless there are holes. The last block is always written,
 * which gives the file its size.
 */
static int write_buffer(int fd, const char *buf, size_t size)
{
	size_t start = 0, pos = 0;

	while (size - pos > HOLE_SIZE) {
		size_t end = pos;

		while (size - end > HOLE_SIZE && is_hole(buf + end))
			end += HOLE_SIZE;
		if (end == pos) {
			pos += HOLE_SIZE;
			continue;
		}
		if (write_in_full(fd, buf + start, pos - start) < 0 ||
		    lseek(fd, end - pos, SEEK_CUR) == (off_t)-1)
			return -1;
		start = pos = end;
	}
	return write_in_full(fd, buf + start, size - start) < 0 ? -1 : 0;
}

/*
 * Clone the donor's file, and see whether what has come is the blob. Otherwise
 * that is loaded after all, to be written to the file, which is empty then.
 * Returns -1 if neither is possible.
 */
static int clone_or_load(struct checkout_writer *writer,
			 const struct checkout_item *item,
			 struct content *content, int fd)
{
	struct checkout_item plain = *item;

	if (reflink_file(fd, content->file)) {
		if (is_reflink_unsupported(errno))
			writer->donors[item->donor - 1].refused = 1;
	} else if (is_file_of_blob(fd, &item->oid, content->size,
				   writer->repo->hash_algo)) {
		content->cloned = 1;
		return 0;
	}

	close(content->file);
	content->file = -1;
	plain.donor = 0;
	return ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) < 0 ? -1 :
		load_content(writer, &plain, content);
}

static int fill_file(struct checkout_writer *writer,
		     const struct checkout_item *item,
		     struct content *content, int fd)
{
	struct stream_filter *filter;

	if (content->file >= 0) {
		if (clone_or_load(writer, item, content, fd))
			return -1;
		if (content->cloned)
			return 0;
	}

	filter = content->filter;
	if (!filter)
		return write_buffer(fd, content->buf, content->size);

	/* stream_blob_to_fd() frees the filter */
	content->filter = NULL;
	return odb_stream_blob_to_fd(writer->repo->objects, fd, &item->oid,
				     filter, 1) ? -1 : 0;
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
	fd = readable ? dirs_create_readable(&writer->dirs, name, mode) :
		dirs_create(&writer->dirs, name, mode);
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
		return errno == EEXIST ? CHECKOUT_CONFLICT : CHECKOUT_DECLINED;
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
	struct silence silence;

	fd = create_unfinished(writer, name, item->mode & 0100 ? 0777 : 0666,
			       content->file >= 0);
	if (fd < 0)
		return errno == EEXIST || errno == EISDIR ?
			CHECKOUT_CONFLICT : CHECKOUT_DECLINED;

	be_silent(&silence);
	err = fill_file(writer, item, content, fd);
	if (end_silence(&silence))
		err = -1;
	if (!err && writer->want_stat && fstat_is_reliable())
		err = fstat(fd, st);
	/* One that was interrupted has closed it; cf. close_output() in entry.c. */
	if (close(fd) < 0 && errno != EINTR)
		err = -1;
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

static void trace_conflict(const char *where, const struct checkout_item *item)
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
	struct stat st;

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

/*
 * A removal cannot find anything in its way. As in entry.c, it is no error if
 * the file, or its directory, is missing.
 */
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
			CHECKOUT_CONFLICT : CHECKOUT_WRITTEN;

	/*
	 * unlink() looks the name up while it holds the lock of the directory.
	 * On a network file system, that keeps all others waiting for a round
	 * trip. With the name looked up beforehand, it is in the kernel's
	 * cache.
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
	trace_conflict("collision/dirname", item);
	return CHECKOUT_CONFLICT;
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
	if (item->conv.filter) {
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
	struct silence silence;
	int err, exists = 0;

	if (item->conv.filter && (!writer->smudge || writer->smudge->stopped))
		return CHECKOUT_DECLINED;

	/* A filter costs more than a look. */
	if (item->old_mode || writer->expect_conflict || item->conv.filter) {
		enum checkout_status status = check_old(writer, item, name,
							&exists);

		if (status != CHECKOUT_PENDING)
			return status;
	}

	/*
	 * Nothing is removed or created before the content is there, so that
	 * what cannot be read changes nothing. An entry on which anything would
	 * have been said is not written, so that entry.c can say it.
	 */
	be_silent(&silence);
	err = load_content(writer, item, content);
	if (end_silence(&silence) || err) {
		forget_bad_objects(writer->repo);
		return CHECKOUT_DECLINED;
	}

	end_if_unwanted(writer);
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
	convert_content(item, content);
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
	writer->expect_conflict = result->status == CHECKOUT_CONFLICT;
	if (result->status == CHECKOUT_WRITTEN) {
		writer->bytes += content.size;
		if (content.cloned)
			result->cloned = content.size;
		if (writer->want_stat) {
			result->has_sd = 1;
			fill_stat_data(&result->sd, &st);
		}
	} else if (result->status == CHECKOUT_CONFLICT) {
		trace_conflict("collision/basename", item);
	} else if (result->status != CHECKOUT_DELAYED) {
		/*
		 * The directory may have been removed under our handle; look
		 * again the next time.
		 */
		dirs_forget(&writer->dirs);
	}
	release_content(&content);
}

void writer_write(struct checkout_writer *writer,
		  const struct checkout_item *item,
		  struct checkout_result *result)
{
	end_if_unwanted(writer);
	memset(result, 0, sizeof(*result));
	result->id = item->id;
	if (is_removal(item))
		result->status = remove_item(writer, item);
	else
		write_in_dir(writer, item, write_item, result);
}

void writer_write_late(struct checkout_writer *writer,
		       const struct checkout_item *item,
		       struct checkout_result *result)
{
	end_if_unwanted(writer);
	memset(result, 0, sizeof(*result));
	result->id = item->id;
	write_in_dir(writer, item, write_late_item, result);
}
