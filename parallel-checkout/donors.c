/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find donors and what they have; see donors.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "convert.h"
#include "parallel-checkout/donors.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/wire.h"
#include "repository.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

/* What the index of a donor has at a path. */
struct donor_file {
	const char *path;
	uint32_t mode;
	unsigned int donor;
	struct object_id oid;
};

#define READ_SIZE (64 * 1024)

/* A lister that says nothing for that long is stopped. */
#define LISTER_MS 1000

/* How long it may take to be gone then; it may wait for a server in vain. */
#define STOPPED_LISTER_MS 100

void donors_init(struct checkout_donors *donors)
{
	mem_pool_init(&donors->names, 0);
	strbuf_init(&donors->in, 0);
	donors->reflink = get_checkout_reflink();
}

/* -- the lister -- */

/* It finds the repository as a worker does, and has to say nothing. */
static void start_lister(struct checkout_donors *donors, const char *root)
{
	struct child_process *cp = xmalloc(sizeof(*cp));
	struct silence silence;

	child_process_init(cp);
	cp->git_cmd = 1;
	cp->clean_on_exit = 1;
	strvec_push(&cp->args, "checkout--worker");
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	if (*root)
		strvec_pushf(&cp->args, "--root=%s", root);
	strvec_push(&cp->args, "--list-donors");

	/*
	 * not no_stdin and the like, for which start_command() dies if it must
	 */
	cp->out = -1;
	cp->in = open("/dev/null", O_RDONLY);
	cp->err = open("/dev/null", O_WRONLY);
	if (cp->in < 0 || cp->err < 0) {
		if (cp->in >= 0)
			close(cp->in);
		if (cp->err >= 0)
			close(cp->err);
		child_process_clear(cp);
		free(cp);
		return;
	}

	be_silent(&silence);
	if (!start_command(cp)) {
		donors->lister = cp;
	} else {
		/* If not even a pipe could be had, this is still open. */
		if (!cp->pid && cp->err > 0)
			close(cp->err);
		free(cp);
	}
	end_silence(&silence);
}

/*
 * Wait until there is more to read of the list, or it has ended. Returns -1 if
 * it takes longer than that.
 */
static int wait_for_lister(const struct child_process *lister,
			   unsigned int timeout_ms)
{
	struct pollfd pollfd = { .fd = lister->out, .events = POLLIN };
	uint64_t now = getnanotime(), end = now + timeout_ms * 1000000ULL;
	int ready;

	/* The timer of the progress interrupts it once in a second. */
	do {
		ready = poll(&pollfd, 1, (end - now) / 1000000);
		now = getnanotime();
	} while (ready < 0 && errno == EINTR && now < end);
	return ready > 0 ? 0 : -1;
}

/* Returns -1 if it is not gone in that time. */
static int wait_for_end(const struct child_process *lister)
{
	char buf[4096];
	ssize_t n = 1;

	while (n > 0 && !wait_for_lister(lister, STOPPED_LISTER_MS))
		n = xread(lister->out, buf, sizeof(buf));
	return n ? -1 : 0;
}

static void stop_lister(struct checkout_donors *donors)
{
	struct child_process *lister = donors->lister;
	struct silence silence;
	int is_gone;

	if (!lister)
		return;
	donors->lister = NULL;
	kill(lister->pid, SIGKILL);
	is_gone = !wait_for_end(lister);
	close(lister->out);

	/* One that even that does not end is not waited for. */
	if (!is_gone)
		return;
	be_silent(&silence);
	finish_command(lister);
	end_silence(&silence);
	free(lister);
}

/* Returns -1 if that cannot come next. */
static int add_file(struct checkout_donors *donors,
		    const struct checkout_item *item)
{
	struct donor_file *file;

	if (!item->id || item->id > donors->nr ||
	    (donors->files_nr &&
	     strcmp(donors->files[donors->files_nr - 1].path, item->path) > 0))
		return -1;
	ALLOC_GROW(donors->files, donors->files_nr + 1, donors->files_alloc);
	file = &donors->files[donors->files_nr++];
	file->path = mem_pool_strdup(&donors->names, item->path);
	file->mode = item->mode;
	file->donor = item->id;
	oidcpy(&file->oid, &item->oid);
	return 0;
}

/* Returns -1 if that is no part of a list. */
static int take_frame(struct checkout_donors *donors,
		      const struct wire_frame *frame)
{
	struct wire_cursor cursor;
	struct checkout_item item;
	const char *path;
	int ret;

	wire_open_frame(&cursor, frame);
	if (frame->type == WIRE_DONORS) {
		while ((ret = wire_get_path(&cursor, &path)) > 0 &&
		       donors->nr < ARRAY_SIZE(donors->path)) {
			donors->path[donors->nr++] = xstrdup(path);
			trace2_data_string("pcheckout", the_repository,
					   "donor", path);
		}
		return ret;
	}
	if (frame->type != WIRE_ITEMS)
		return -1;
	while ((ret = wire_get_item(&cursor, &item, the_hash_algo)) > 0)
		if (add_file(donors, &item))
			return -1;
	return ret;
}

/* Read more of the list. Returns -1 if there is no more. */
static int read_list(struct checkout_donors *donors)
{
	struct wire_frame frame;
	size_t pos = 0;
	ssize_t n;

	if (!donors->lister)
		return -1;
	strbuf_grow(&donors->in, READ_SIZE);
	/* It may have been stopped, or wait for a server that is gone. */
	n = wait_for_lister(donors->lister, LISTER_MS) ? -1 :
		xread(donors->lister->out, donors->in.buf + donors->in.len,
		      READ_SIZE);
	if (n <= 0) {
		stop_lister(donors);
		return -1;
	}
	strbuf_setlen(&donors->in, donors->in.len + n);
	while ((n = wire_next_frame(donors->in.buf + pos,
				    donors->in.len - pos, &frame)) > 0) {
		pos += n;
		if (take_frame(donors, &frame))
			n = -1;
		if (n < 0)
			break;
	}
	strbuf_remove(&donors->in, 0, pos);
	if (n < 0)
		stop_lister(donors);
	return n < 0 ? -1 : 0;
}

/* Have donors looked for; wait until it is known which they are. */
static void ask(struct checkout_donors *donors, const char *root,
		const char *name_prefix)
{
	/* A file "prefix-name" is no file of another working tree. */
	if (*name_prefix ||
	    !can_reflink(*root ? root : ".",
			 donors->reflink == CHECKOUT_REFLINK_FORCE))
		return;
	start_lister(donors, root);
	while (!donors->nr && !read_list(donors))
		; /* go on */
}

/* -- what they have -- */

void donors_add_args(struct checkout_donors *donors, const char *root,
		     const char *name_prefix, struct strvec *args)
{
	if (!donors->reflink)
		return;
	if (!donors->asked)
		ask(donors, root, name_prefix);
	donors->asked = 1;
	for (unsigned int i = 0; i < donors->nr; i++)
		strvec_pushf(args, "--donor=%s", donors->path[i]);
}

static int has_list_beyond(const struct checkout_donors *donors,
			   const char *path)
{
	return donors->files_nr &&
		strcmp(donors->files[donors->files_nr - 1].path, path) > 0;
}

/*
 * The position of the first file with the path, or where it would be. Entries
 * mostly come in the order of the list.
 */
static size_t find_path(const struct checkout_donors *donors, const char *path)
{
	size_t lo = 0, hi = donors->files_nr;

	if (donors->next < hi &&
	    !strcmp(donors->files[donors->next].path, path))
		return donors->next;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(donors->files[mid].path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Is a file with these attributes, and no filter, just the blob? */
static int is_stored_as_is(const struct conv_attrs *ca)
{
	return output_eol(ca->crlf_action) != EOL_CRLF && !ca->ident &&
		!ca->working_tree_encoding;
}

void donors_find(struct checkout_donors *donors, struct checkout_item *item)
{
	size_t pos;

	if (!donors->nr || !S_ISREG(item->mode) || item->filter ||
	    !is_stored_as_is(&item->ca))
		return;

	while (!has_list_beyond(donors, item->path) && !read_list(donors))
		; /* go on */
	for (pos = find_path(donors, item->path);
	     pos < donors->files_nr &&
	     !strcmp(donors->files[pos].path, item->path); pos++) {
		const struct donor_file *file = &donors->files[pos];

		donors->next = pos + 1;
		if (!item->donor && file->mode == item->mode &&
		    oideq(&file->oid, &item->oid))
			item->donor = file->donor;
	}
}

void donors_release(struct checkout_donors *donors)
{
	stop_lister(donors);
	strbuf_release(&donors->in);
	for (unsigned int i = 0; i < donors->nr; i++)
		free(donors->path[i]);
	free(donors->files);
	mem_pool_discard(&donors->names, 0);
}
