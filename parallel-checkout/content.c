/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is to be in a file; see content.h.
 */
#include "git-compat-util.h"
#include "odb/streaming.h"
#include "packfile.h"
#include "parallel-checkout/content.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/writer.h"
#include "promisor-remote.h"
#include "replace-object.h"
#include "repository.h"

/* No donor's file may make us wait, like a pipe. */
#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

/* Loose blobs that are larger may not fit in memory; entry.c streams them. */
#define MAX_LOOSE_IN_CORE (1024 * 1024)

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
		void *buf = NULL;

		/* Not repo_read_object_file(), which may die(). */
		oi->sizep = &size;
		oi->typep = &type;
		oi->contentp = &buf;
		if (odb_read_object_info_extended(writer->repo->objects,
						  &item->oid, oi, flags) < 0)
			return -1;
		content->buf = buf;
	}
	content->size = size;
	return content->buf && type == OBJ_BLOB ? 0 : -1;
}

/* Convert what is in the buffer, but for the filter. */
static void convert(struct content *content, const struct checkout_item *item)
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
 * descriptor, or -1 if it cannot be the blob.
 */
static int open_donor_file(struct checkout_writer *writer,
			   const struct checkout_item *item, size_t size)
{
	struct writer_donor *donor;
	const char *name;
	struct stat st;
	int fd;

	if (item->donor > writer->donors_nr)
		return -1;
	donor = &writer->donors[item->donor - 1];

	/* It has the blob of that name, and not what replaces it here. */
	if (donor->refused ||
	    lookup_replace_object(writer->repo, &item->oid) != &item->oid)
		return -1;
	name = dirs_enter(&donor->dirs, item->path, 0);
	if (!name)
		return -1;
	fd = dirs_open(&donor->dirs, name, O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_dev == donor->dev && (uintmax_t)st.st_size == size)
		return fd;
	close(fd);
	return -1;
}

int content_load(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item, unsigned int donor)
{
	struct object_info oi = OBJECT_INFO_INIT;
	unsigned int flags = OBJECT_INFO_LOOKUP_REPLACE |
		OBJECT_INFO_SKIP_FETCH_OBJECT;
	int is_big, is_loose, is_file = S_ISREG(item->mode);

	/* The filter has it; as elsewhere, what it gets is made of nothing. */
	if (item->was_delayed) {
		convert(content, item);
		return 0;
	}

	/*
	 * A missing blob of a partial clone is the main process's business: it
	 * can fetch many at once. So do not look for new packs for each.
	 */
	if (repo_has_promisor_remote(writer->repo))
		flags |= OBJECT_INFO_QUICK;
	oi.sizep = &content->size;
	if (odb_read_object_info_extended(writer->repo->objects, &item->oid,
					  &oi, flags) < 0)
		return -1;

	if (donor && content->size) {
		content->file = open_donor_file(writer, item, content->size);
		if (content->file >= 0)
			return 0;
	}

	/*
	 * An ident is expanded by the streaming filter in another way than in
	 * core, and entry.c streams it. A filter of the user gets the whole.
	 */
	is_big = is_file && content->size >
		repo_settings_get_big_file_threshold(writer->repo);
	is_loose = oi.whence == OI_LOOSE;
	if (is_file && !item->filter &&
	    (is_big || item->ca.ident ||
	     (is_loose && content->size > MAX_LOOSE_IN_CORE)))
		content->stream = get_stream_filter_ca(&item->ca, &item->oid);

	/*
	 * stream_blob_to_fd() reads these bit by bit. Of others, it reads all
	 * at first, and dies if they are corrupt.
	 */
	if (content->stream &&
	    (is_loose || (is_big && oi.whence == OI_PACKED &&
			  oi.u.packed.type == PACKED_OBJECT_TYPE_FULL)))
		return 0;

	/* One at a time is enough of those that are big. */
	if (is_big || read_blob(writer, item, &oi, flags, content))
		return -1;
	if (content->stream)
		/* That it can be read is all that we want to know. */
		FREE_AND_NULL(content->buf);
	else if (is_file)
		convert(content, item);
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

/* Clone the donor's file, and see whether what has come is the blob. */
static int clone_file(const struct content *content,
		      struct checkout_writer *writer,
		      const struct checkout_item *item, int fd)
{
	if (reflink_file(fd, content->file)) {
		if (is_reflink_unsupported(errno))
			writer->donors[item->donor - 1].refused = 1;
		return -1;
	}
	if (!is_file_of_blob(fd, &item->oid, content->size,
			     writer->repo->hash_algo))
		return -1;
	writer->outcome.cloned_files++;
	writer->outcome.cloned_bytes += content->size;
	return 0;
}

int content_fill(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item, int fd)
{
	struct stream_filter *stream;

	if (content->file >= 0) {
		if (!clone_file(content, writer, item, fd))
			return 0;
		close(content->file);
		content->file = -1;
		if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) < 0 ||
		    content_load(content, writer, item, 0))
			return -1;
	}
	if (!content->stream)
		return write_buffer(fd, content->buf, content->size);

	/* stream_blob_to_fd() frees the filter */
	stream = content->stream;
	content->stream = NULL;
	return odb_stream_blob_to_fd(writer->repo->objects, fd, &item->oid,
				     stream, 1);
}
