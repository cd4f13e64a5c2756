/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find donors and what they have; see donors.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "convert.h"
#include "hex.h"
#include "parallel-checkout/donors.h"
#include "parallel-checkout/pool.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/wire.h"
#include "repository.h"
#include "run-command.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"

#define READ_SIZE (64 * 1024)

/* A lister that says nothing for that long is stopped. */
#define LISTER_MS 1000

/* How long it may take to be gone then; it may wait for a server in vain. */
#define STOPPED_LISTER_MS 100

void donors_init(struct checkout_donors *donors)
{
	strbuf_init(&donors->list, 0);
	strbuf_init(&donors->wanted, 0);
	donors->reflink = get_checkout_reflink();
}

/*
 * It finds the repository as a worker does, and has to say nothing. Returns
 * NULL if it cannot be started.
 */
static struct child_process *start_lister(const char *root)
{
	struct child_process *cp = xmalloc(sizeof(*cp));

	child_process_init(cp);
	cp->git_cmd = 1;
	cp->no_stdin = 1;
	cp->no_stderr = 1;
	cp->out = -1;
	cp->clean_on_exit = 1;
	strvec_push(&cp->args, "checkout--worker");
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	if (*root)
		strvec_pushf(&cp->args, "--root=%s", root);
	strvec_push(&cp->args, "--list-donors");

	be_silent();
	if (start_command(cp))
		FREE_AND_NULL(cp);
	end_silence();
	return cp;
}

/*
 * Read more of the list. Returns 0 at its end, and -1 if that cannot be done in
 * that time.
 */
static ssize_t read_list(struct checkout_donors *donors, int fd,
			 unsigned int timeout_ms)
{
	uint64_t end_ns = getnanotime() + timeout_ms * 1000000ULL;

	return pool_wait_for_pipe(fd, end_ns) ? -1 :
		strbuf_read_once(&donors->list, fd, READ_SIZE);
}

/* Fill the list, with as much as there is to be had. */
static void ask_lister(struct checkout_donors *donors, const char *root)
{
	struct child_process *lister = start_lister(root);
	ssize_t n;

	if (!lister)
		return;
	while ((n = read_list(donors, lister->out, LISTER_MS)) > 0)
		; /* go on */
	if (n < 0) {
		kill(lister->pid, SIGKILL);
		while ((n = read_list(donors, lister->out,
				      STOPPED_LISTER_MS)) > 0)
			; /* go on */
	}
	close(lister->out);

	/* One that even that does not end is not waited for. */
	if (n < 0)
		return;
	be_silent();
	finish_command(lister);
	end_silence();
	free(lister);
}

static void find_donors(struct checkout_donors *donors, const char *root)
{
	const char *line, *end, *path;

	ask_lister(donors, root);

	/* If it was ended, the last line may be cut. */
	end = donors->list.buf + donors->list.len;
	while (end > donors->list.buf && end[-1])
		end--;
	for (line = donors->list.buf; line < end; line += strlen(line) + 1) {
		if (!skip_prefix(line, "donor ", &path)) {
			if (donors->nr)
				strset_add(&donors->files[donors->nr - 1],
					   line);
			continue;
		}
		if (donors->nr == ARRAY_SIZE(donors->path))
			break;
		donors->path[donors->nr] = path;
		strset_init_with_options(&donors->files[donors->nr++], NULL, 0);
		trace2_data_string("pcheckout", the_repository, "donor", path);
	}
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
	for (unsigned int i = 0; i < donors->nr; i++)
		strvec_pushf(args, "--donor=%s", donors->path[i]);
}

/* Is a file with these attributes, and no filter, just the blob? */
static int is_stored_as_is(const struct conv_attrs *ca)
{
	return output_eol(ca->crlf_action) != EOL_CRLF && !ca->ident &&
		!ca->working_tree_encoding;
}

void donors_find(struct checkout_donors *donors, struct checkout_item *item)
{
	if (!donors->nr || !S_ISREG(item->mode) || item->filter ||
	    !is_stored_as_is(&item->ca))
		return;

	strbuf_reset(&donors->wanted);
	strbuf_addstr(&donors->wanted, oid_to_hex(&item->oid));
	strbuf_addch(&donors->wanted, ' ');
	strbuf_add(&donors->wanted, item->path, item->path_len);
	for (unsigned int i = 0; i < donors->nr && !item->donor; i++)
		if (strset_contains(&donors->files[i], donors->wanted.buf))
			item->donor = i + 1;
}

void donors_release(struct checkout_donors *donors)
{
	for (unsigned int i = 0; i < donors->nr; i++)
		strset_clear(&donors->files[i]);
	strbuf_release(&donors->list);
	strbuf_release(&donors->wanted);
}
