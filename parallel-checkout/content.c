/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is to be in a file; see content.h.
 */
#include "git-compat-util.h"
#include "hash.h"
#include "object.h"
#include "object-file.h"
#include "odb/streaming.h"
#include "packfile.h"
#include "parallel-checkout/content.h"
#include "parallel-checkout/writer.h"
#include "promisor-remote.h"
#include "repository.h"
#ifdef __linux__
#include <sys/ioctl.h>
#include <sys/vfs.h>
/* of linux/fs.h, which some C libraries do not get on with */
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif
#endif

/* No donor's file may make us wait, like a pipe. */
#ifndef O_NONBLOCK
#define O_NONBLOCK 0
#endif

#define LOOKUP_FLAGS (OBJECT_INFO_LOOKUP_REPLACE | \
		      OBJECT_INFO_SKIP_FETCH_OBJECT)

/* Loose blobs that are larger may not fit in memory; entry.c streams them. */
#define MAX_LOOSE_IN_CORE (1024 * 1024)

/* Read the whole blob, from where it was found a moment ago. */
static int read_blob(struct content *content, struct checkout_writer *writer,
		     const struct checkout_item *item)
{
	struct object_info oi = content->oi;
	enum object_type type;
	void *buf = NULL;

	if (oi.whence == OI_PACKED) {
		buf = unpack_entry(writer->repo, oi.u.packed.pack,
				   oi.u.packed.offset, &type, &content->size);
	} else {
		/* Not repo_read_object_file(), which may die(). */
		oi.typep = &type;
		oi.contentp = &buf;
		if (odb_read_object_info_extended(writer->repo->objects,
						  &item->oid, &oi,
						  LOOKUP_FLAGS) < 0)
			return -1;
	}
	content->buf = buf;
	return buf && type == OBJ_BLOB ? 0 : -1;
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

/* Returns a descriptor of the donor's file, or -1 if it cannot be the blob. */
static int open_donor_file(struct checkout_writer *writer,
			   const struct checkout_item *item, size_t size)
{
	struct writer_donor *donor = &writer->donors[item->donor - 1];
	const char *name;
	struct stat st;
	int fd;

	if (item->donor > writer->donors_nr || donor->refused)
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

/* Make the blob, which was found, a buffer or a stream. */
static int load_blob(struct content *content, struct checkout_writer *writer,
		     const struct checkout_item *item)
{
	const struct object_info *oi = &content->oi;
	int is_file = S_ISREG(item->mode), is_loose = oi->whence == OI_LOOSE;
	int is_big = is_file && content->size >
		repo_settings_get_big_file_threshold(writer->repo);

	/*
	 * An ident is expanded by the streaming filter in another way than in
	 * core, and entry.c streams it. A filter of the user gets the whole.
	 */
	if (is_file && !item->filter &&
	    (is_big || item->ca.ident ||
	     (is_loose && content->size > MAX_LOOSE_IN_CORE)))
		content->stream = get_stream_filter_ca(&item->ca, &item->oid);

	/*
	 * stream_blob_to_fd() reads these bit by bit. Of others, it reads all
	 * at first, and dies if they are corrupt.
	 */
	if (content->stream &&
	    (is_loose || (is_big && oi->whence == OI_PACKED &&
			  oi->u.packed.type == PACKED_OBJECT_TYPE_FULL)))
		return 0;

	/* One at a time is enough of those that are big. */
	if (is_big || read_blob(content, writer, item))
		return -1;
	if (content->stream)
		/* That it can be read is all that we want to know. */
		FREE_AND_NULL(content->buf);
	else if (is_file)
		convert(content, item);
	return 0;
}

int content_load(struct content *content, struct checkout_writer *writer,
		 const struct checkout_item *item)
{
	unsigned int flags = LOOKUP_FLAGS;

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
	content->oi.sizep = &content->size;
	if (odb_read_object_info_extended(writer->repo->objects, &item->oid,
					  &content->oi, flags) < 0)
		return -1;

	if (item->donor && content->size)
		content->file = open_donor_file(writer, item, content->size);
	return content->file >= 0 ? 0 : load_blob(content, writer, item);
}

#define HOLE_SIZE (16 * 1024)

/*
 * One write for all, unless there are holes, which blocks of zeros become as in
 * stream_blob_to_fd(). The last block is always written, which gives the file
 * its size.
 */
static int write_buffer(int fd, const char *buf, size_t size)
{
	size_t start = 0;

	for (size_t pos = 0; size - pos > HOLE_SIZE; pos += HOLE_SIZE) {
		const char *p = buf + pos;

		if (*p || memcmp(p, p + 1, HOLE_SIZE - 1))
			continue;
		if (write_in_full(fd, buf + start, pos - start) < 0 ||
		    lseek(fd, HOLE_SIZE, SEEK_CUR) < 0)
			return -1;
		start = pos + HOLE_SIZE;
	}
	return write_in_full(fd, buf + start, size - start) < 0 ? -1 : 0;
}

/*
 * Let the empty file `to` share the blocks of `from`. Part of them may be there
 * on an error, and even without one.
 */
static int reflink_file(int to MAYBE_UNUSED, int from MAYBE_UNUSED)
{
#ifdef __linux__
	return ioctl(to, FICLONE, from);
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* Hash the file, from where `fd` is. */
static int is_file_of_blob(int fd, const struct object_id *oid, size_t size,
			   const struct git_hash_algo *algo)
{
	struct git_hash_ctx ctx;
	struct object_id actual;
	char buf[64 * 1024];
	ssize_t n;

	git_hash_init(&ctx, algo);
	git_hash_update(&ctx, buf,
			format_object_header(buf, sizeof(buf), OBJ_BLOB, size));
	while ((n = xread(fd, buf, sizeof(buf))) > 0)
		git_hash_update(&ctx, buf, n);
	git_hash_final_oid(&actual, &ctx);
	return !n && oideq(&actual, oid);
}

/*
 * Keep others from opening the donor's file for writing until it is closed. A
 * lease for reading is had only if nobody has the file open or mapped so, and
 * who wants to has to wait until it is returned, or taken away after some time;
 * see fcntl(2). That goes for all only where all are on this machine.
 */
static int take_lease(int fd MAYBE_UNUSED)
{
#ifdef __linux__
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return 0;
	switch ((uint32_t)fs.f_type) {
	case 0x58465342:	/* XFS */
	case 0x9123683e:	/* Btrfs */
	case 0xca451a4e:	/* bcachefs */
		return !fcntl(fd, F_SETLEASE, F_RDLCK);
	}
#endif
	return 0;
}

/*
 * Has the lease been kept, and all been cloned? XFS could clone a part and call
 * that a success, until Linux commit 7ce31f20a077 (xfs: don't drop errno values
 * when we fail to ficlone the entire range, 2024-12-03); nor does a lease keep
 * a server from truncating the file.
 */
static int is_whole_clone(int to MAYBE_UNUSED, int from MAYBE_UNUSED,
			  size_t size MAYBE_UNUSED)
{
#ifdef __linux__
	struct stat st;

	return fcntl(from, F_GETLEASE) == F_RDLCK &&
		!fstat(to, &st) && (uintmax_t)st.st_size == size;
#else
	return 0;
#endif
}

/*
 * Clone the donor's file, and see whether it is the blob, and was when it was
 * cloned. If that cannot be had, see whether what has come is the blob. This is
 * slower, as no block of the clone is in memory; but who has the donor's file
 * mapped could write to it before it is cloned without a change of its times.
 */
static int clone_file(const struct content *content,
		      struct checkout_writer *writer,
		      const struct checkout_item *item, int fd)
{
	const struct git_hash_algo *algo = writer->repo->hash_algo;
	int is_leased = take_lease(content->file);

	if (reflink_file(fd, content->file)) {
		/*
		 * Will all files fail? Not with EINVAL, which a single one has
		 * on Btrfs that has no checksums, nor EXDEV.
		 */
		if (errno == EOPNOTSUPP || errno == ENOTTY || errno == ENOSYS)
			writer->donors[item->donor - 1].refused = 1;
		return -1;
	}
	if (!(is_leased &&
	      is_file_of_blob(content->file, &item->oid, content->size, algo) &&
	      is_whole_clone(fd, content->file, content->size)) &&
	    !is_file_of_blob(fd, &item->oid, content->size, algo))
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
		int is_cloned = !clone_file(content, writer, item, fd);

		close(content->file);	/* and return the lease */
		content->file = -1;
		if (is_cloned)
			return 0;
		if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) < 0 ||
		    load_blob(content, writer, item))
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
