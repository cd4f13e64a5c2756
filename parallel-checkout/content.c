/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read and convert a blob, and fill a file with it; see content.h.
 */
#include "git-compat-util.h"
#include "convert.h"
#include "environment.h"
#include "odb/streaming.h"
#include "packfile.h"
#include "parallel-checkout/content.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/writer.h"
#include "promisor-remote.h"
#include "replace-object.h"
#include "repository.h"

/* No donor's file may make us wait, like a pipe, or become our terminal. */
#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif
#ifndef O_NOCTTY
#define O_NOCTTY 0
#endif

/* Loose blobs that are larger may not fit in memory; entry.c streams them. */
#define MAX_LOOSE_IN_CORE (1024 * 1024)

static int is_big(const struct checkout_writer *writer, size_t size)
{
	return size > repo_settings_get_big_file_threshold(writer->repo);
}

/*
 * Should the blob be streamed if it can be? An ident is expanded by the
 * streaming filter in another way than in core, and entry.c streams it.
 */
static int is_better_streamed(const struct checkout_writer *writer,
			      const struct checkout_item *item,
			      const struct object_info *oi)
{
	return is_big(writer, *oi->sizep) || item->ca.ident ||
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

void content_convert(struct content *content, const struct checkout_item *item)
{
	struct strbuf converted = STRBUF_INIT;

	if (!convert_to_working_tree_ca(&item->ca, item->path, content->buf,
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

	/*
	 * The donor has the blob of that name, and not what replaces it here.
	 */
	if (donor->refused ||
	    lookup_replace_object(writer->repo, &item->oid) != &item->oid)
		return -1;
	slash = strrchr(item->path, '/');
	if (dirs_enter(&donor->dirs, item->path,
		       slash ? slash - item->path : 0, 0))
		return -1;
	fd = dirs_open(&donor->dirs, slash ? slash + 1 : item->path,
		       O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_dev == donor->dev && (uintmax_t)st.st_size == size)
		return fd;
	close(fd);
	return -1;
}

int content_load(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item)
{
	struct object_info oi = OBJECT_INFO_INIT;
	unsigned int flags = OBJECT_INFO_LOOKUP_REPLACE;
	size_t size;

	/*
	 * A missing blob of a partial clone is the main process's business: it
	 * can fetch many at once. So do not look for new packs for each.
	 */
	if (repo_has_promisor_remote(writer->repo))
		flags |= OBJECT_INFO_QUICK;
	oi.sizep = &size;
	if (object_info_here(writer->repo, &item->oid, &oi, flags) < 0)
		return -1;

	content->file = open_donor_file(writer, item, size);
	if (content->file >= 0) {
		content->size = size;
		return 0;
	}

	if (item->filter) {
		/* A filter gets the whole. One at a time is enough of these. */
		if (is_big(writer, size))
			return -1;
	} else if (S_ISREG(item->mode) &&
		   is_better_streamed(writer, item, &oi)) {
		content->size = size;
		content->filter = get_stream_filter_ca(&item->ca, &item->oid);
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
		content_convert(content, item);
	return 0;
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
static int clone_or_load(struct content *content,
			 struct checkout_writer *writer,
			 const struct checkout_item *item, int fd)
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
		content_load(content, writer, &plain);
}

int content_fill(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item, int fd)
{
	struct stream_filter *filter;

	if (content->file >= 0) {
		if (clone_or_load(content, writer, item, fd))
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

void content_release(struct content *content)
{
	free(content->buf);
	if (content->filter)
		free_stream_filter(content->filter);
	if (content->file >= 0)
		close(content->file);
}
