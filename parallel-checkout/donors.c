/* SPDX-License-Identifier: GPL-2.0-only */
/* Find donors and what they have; see donors.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "convert.h"
#include "hex.h"
#include "parallel-checkout/donors.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/wire.h"
#include "repository.h"
#include "run-command.h"
#include "trace.h"
#include "trace2.h"
#ifdef __linux__
#include <sys/vfs.h>
#endif

/* A lister that says nothing for that long is stopped. */
#define LISTER_NS 1000000000ULL

void donors_init(struct checkout_donors *donors)
{
	donors->reflink = get_checkout_reflink();
	strvec_init(&donors->args);
	strintmap_init(&donors->files, 0);
}

/*
 * Start the lister, which finds the repository as a worker does, and read as
 * much of its list as there is to be had. It has to say nothing.
 */
static void ask_lister(const char *root, struct strbuf *list)
{
	struct child_process lister = CHILD_PROCESS_INIT;
	ssize_t n;

	lister.git_cmd = 1;
	lister.no_stdin = 1;
	lister.no_stderr = 1;
	lister.out = -1;
	strvec_push(&lister.args, "checkout--worker");
	strvec_pushf(&lister.args, "--protocol=%d", WIRE_PROTOCOL);
	if (*root)
		strvec_pushf(&lister.args, "--root=%s", root);
	strvec_push(&lister.args, "--list-donors");
	if (start_command(&lister))
		return;

	do
		n = wire_wait(lister.out, getnanotime() + LISTER_NS) ?
			-1 : strbuf_read_once(list, lister.out, 64 * 1024);
	while (n > 0);
	if (n < 0) {
		kill(lister.pid, SIGKILL);
		n = wire_wait(lister.out, getnanotime() + LISTER_NS);
	}
	close(lister.out);

	/* If not even that ends it, a server is gone; do not wait for it. */
	if (n < 0)
		child_process_clear(&lister);
	else
		finish_command(&lister);
}

static void find_donors(struct checkout_donors *donors, const char *root)
{
	struct strbuf list = STRBUF_INIT;
	const char *line, *end, *path;

	be_silent();
	ask_lister(root, &list);
	end_silence();

	/* If it was ended, the last line may be cut. */
	end = list.buf + list.len;
	while (end > list.buf && end[-1])
		end--;
	for (line = list.buf; line < end; line += strlen(line) + 1) {
		size_t nr = donors->args.nr;

		if (skip_prefix(line, "donor ", &path)) {
			if (nr == CHECKOUT_MAX_DONORS)
				break;
			strvec_pushf(&donors->args, "--donor=%s", path);
			trace2_data_string("pcheckout", the_repository,
					   "donor", path);
		} else if (nr && !strintmap_contains(&donors->files, line)) {
			strintmap_set(&donors->files, line, nr);
		}
	}
	strbuf_release(&list);
}

/*
 * Is the directory on a file system whose clones are known to be sound? To hash
 * a clone does not prove that it is kept (OpenZFS had bugs of that kind). With
 * `force`, on Linux, that is not asked.
 */
static int can_reflink(const char *dir MAYBE_UNUSED, int force MAYBE_UNUSED)
{
#ifdef __linux__
	struct statfs fs;

	if (force)
		return 1;
	switch (statfs(dir, &fs) ? 0 : (uint32_t)fs.f_type) {
	case 0x58465342:	/* XFS */
	case 0x9123683e:	/* Btrfs */
	case 0xca451a4e:	/* bcachefs */
	case 0x7461636f:	/* OCFS2 */
		return 1;
	}
#endif
	return 0;
}

void donors_add_args(struct checkout_donors *donors, const char *root,
		     const char *name_prefix, struct strvec *args)
{
	/* A file "prefix-name" is no file of another working tree. */
	if (donors->reflink && !*name_prefix &&
	    can_reflink(*root ? root : ".",
			donors->reflink == CHECKOUT_REFLINK_FORCE))
		find_donors(donors, root);
	donors->reflink = CHECKOUT_REFLINK_NO;
	strvec_pushv(args, donors->args.v);
}

void donors_find(struct checkout_donors *donors, struct checkout_item *item)
{
	static struct strbuf wanted = STRBUF_INIT;
	const struct conv_attrs *ca = &item->ca;

	/* Its file has to be just the blob. */
	if (!donors->args.nr || !S_ISREG(item->mode) || item->filter ||
	    output_eol(ca->crlf_action) == EOL_CRLF || ca->ident ||
	    ca->working_tree_encoding)
		return;

	strbuf_reset(&wanted);
	strbuf_addstr(&wanted, oid_to_hex(&item->oid));
	strbuf_addch(&wanted, ' ');
	strbuf_add(&wanted, item->path, item->path_len);
	item->donor = strintmap_get(&donors->files, wanted.buf);
}

void donors_release(struct checkout_donors *donors)
{
	strvec_clear(&donors->args);
	strintmap_clear(&donors->files);
}
