/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find donors and what they have; see donors.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "abspath.h"
#include "config.h"
#include "entry.h"
#include "environment.h"
#include "gettext.h"
#include "parallel-checkout/engine.h"
#include "parallel-checkout/reflink.h"
#include "parallel-checkout/silence.h"
#include "parse.h"
#include "read-cache-ll.h"
#include "repository.h"
#include "strvec.h"
#include "trace.h"
#include "trace2.h"
#include "worktree.h"

/* What a donor has at a path, by its index. */
struct donor_file {
	const char *path;
	uint32_t mode;
	struct object_id oid;
	struct stat_data sd;
};

#define READ_SIZE (64 * 1024)

/* Who insists on clones waits that long for all lists together. */
#define PATIENCE_MS 2000

/* Who does not looks once in so many entries whether there is more of them. */
#define ENTRIES_PER_READ 16

/*
 * Without workers, it takes that many entries to make up for reading another
 * index, and a good part of all there are not to take longer.
 */
#define MIN_ENTRIES 64
#define MIN_PART 32

/*
 * When it takes no longer to clone a file than to write it. To share blocks
 * costs as much as to write 300 bytes on Btrfs and 3 kB on XFS. And what was
 * written a moment ago is not on the disk yet, where it has to be first; the
 * kernel does that by itself after 30 seconds, and looks each 5 seconds.
 */
#define MIN_SIZE 4096
#define MIN_AGE 40

void pc_init_donors(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;
	const char *key = "checkout.reflink", *value;
	int as_bool;

	mem_pool_init(&donors->paths, 0);
	if (!repo_config_get_value(the_repository, key, &value)) {
		as_bool = value ? git_parse_maybe_bool(value) : 1;
		if (value && !strcasecmp(value, "auto"))
			donors->reflink = REFLINK_AUTO;
		else if (as_bool >= 0)
			donors->reflink = as_bool ? REFLINK_ALWAYS :
				REFLINK_NEVER;
		else
			git_die_config(the_repository, key,
				       _("bad value '%s' for '%s': neither a boolean nor 'auto'"),
				       value, key);
	}
	if (is_reflink_simulated())
		donors->reflink = REFLINK_ALWAYS;
	if (donors->reflink)
		repo_config_get_pathname(the_repository,
					 "checkout.reflinkFrom",
					 &donors->named);
}

/* -- where they are -- */

static int has_same_inode(const char *path, const struct stat *st)
{
	struct stat other;

	return !stat(path, &other) && other.st_ino == st->st_ino &&
		other.st_dev == st->st_dev;
}

/* Take the working tree at the path, if it is on the file system of the root. */
static void add_donor(struct checkout_donors *donors, const char *path,
		      const struct stat *root)
{
	struct checkout_donor *donor;
	struct stat st;
	char *dot_git;

	if (donors->nr == ARRAY_SIZE(donors->donor) || stat(path, &st) ||
	    !S_ISDIR(st.st_mode) || st.st_dev != root->st_dev ||
	    st.st_ino == root->st_ino)
		return;
	for (int i = 0; i < donors->nr; i++)
		if (has_same_inode(donors->donor[i].path, &st))
			return;
	dot_git = xstrfmt("%s/.git", path);
	if (!access(dot_git, F_OK)) {
		donor = &donors->donor[donors->nr++];
		donor->path = absolute_pathdup(path);
		child_process_init(&donor->lister);
		strbuf_init(&donor->in, 0);
	}
	free(dot_git);
}

/* The working tree of a repository on this machine that we are a clone of. */
static void add_origin(struct checkout_donors *donors, const struct stat *root)
{
	const char *url;
	char *path;
	size_t len;

	if (repo_config_get_value(the_repository, "remote.origin.url", &url) ||
	    !url || !is_absolute_path(url))
		return;
	len = strlen(url);
	strip_suffix(url, "/.git", &len);
	path = xmemdupz(url, len);
	add_donor(donors, path, root);
	free(path);
}

static void look_for_donors(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;
	struct worktree **worktrees;
	struct stat root;

	donors->looked_for = 1;
	donors->patience_ms = donors->reflink == REFLINK_ALWAYS ?
		PATIENCE_MS : 0;
	donors->looked_at = time(NULL);

	/* A file "prefix-name" is no file of another working tree. */
	if (*pc->name_prefix || stat(*pc->root ? pc->root : ".", &root) ||
	    !can_reflink(*pc->root ? pc->root : "."))
		return;
	if (donors->named)
		add_donor(donors, donors->named, &root);
	worktrees = get_worktrees_without_reading_head();
	for (struct worktree **wt = worktrees; *wt; wt++)
		if (!(*wt)->is_bare)
			add_donor(donors, (*wt)->path, &root);
	free_worktrees(worktrees);
	add_origin(donors, &root);

	for (int i = 0; i < donors->nr; i++)
		trace2_data_string("pcheckout", the_repository, "donor",
				   donors->donor[i].path);
}

void pc_add_donor_args(struct parallel_checkout *pc, struct strvec *args)
{
	struct checkout_donors *donors = &pc->donors;

	if (donors->reflink && !donors->looked_for)
		look_for_donors(pc);
	for (int i = 0; i < donors->nr; i++)
		strvec_pushf(args, "--donor=%s", donors->donor[i].path);
}

void pc_lend_donors(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;

	if (donors->lent || !donors->looked_for)
		return;
	donors->lent = 1;
	for (int i = 0; i < donors->nr; i++)
		writer_add_donor(&pc->writer, donors->donor[i].path);
}

/* -- what they have -- */

/*
 * The lister finds the repository and its configuration by itself, and has to
 * say nothing. It is not to fetch anything there.
 */
static void start_lister(struct checkout_donor *donor)
{
	struct child_process *cp = &donor->lister;
	struct silence silence;

	cp->git_cmd = 1;
	cp->dir = donor->path;
	cp->clean_on_exit = 1;
	strvec_push(&cp->args, "checkout--worker");
	strvec_pushf(&cp->args, "--protocol=%d", WIRE_PROTOCOL);
	strvec_pushf(&cp->args, "--list-donor=%s", the_hash_algo->name);
	strvec_pushv(&cp->env, (const char **)local_repo_env);
	strvec_push(&cp->env, GIT_ATTR_SOURCE_ENVIRONMENT);
	strvec_push(&cp->env, NO_LAZY_FETCH_ENVIRONMENT "=1");

	/* not no_stdin and the like, for which start_command() dies if it must */
	cp->out = -1;
	cp->in = open("/dev/null", O_RDONLY);
	cp->err = open("/dev/null", O_WRONLY);
	if (cp->in < 0 || cp->err < 0) {
		if (cp->in >= 0)
			close(cp->in);
		if (cp->err >= 0)
			close(cp->err);
		child_process_clear(cp);
		return;
	}

	be_silent(&silence);
	if (!start_command(cp)) {
		pool_set_cloexec(cp->out);
		donor->is_listing = 1;
	} else if (!cp->pid && cp->err > 0) {
		/* If not even a pipe could be had, this is still open. */
		close(cp->err);
	}
	end_silence(&silence);
}

static void stop_lister(struct checkout_donor *donor)
{
	struct silence silence;

	if (!donor->is_listing)
		return;
	donor->is_listing = 0;
	close(donor->lister.out);
	kill(donor->lister.pid, SIGKILL);
	be_silent(&silence);
	finish_command(&donor->lister);
	end_silence(&silence);
}

/* Returns -1 if that cannot come next. */
static int add_file(struct checkout_donors *donors,
		    struct checkout_donor *donor,
		    const struct checkout_item *item)
{
	struct donor_file *file;

	if (!item->old_mode ||
	    (donor->nr && strcmp(donor->files[donor->nr - 1].path,
				 item->path) >= 0))
		return -1;
	ALLOC_GROW(donor->files, donor->nr + 1, donor->alloc);
	file = &donor->files[donor->nr++];
	file->path = mem_pool_strdup(&donors->paths, item->path);
	file->mode = item->mode;
	oidcpy(&file->oid, &item->oid);
	file->sd = item->old_sd;
	return 0;
}

/* Returns -1 if what has come is no list. */
static int take_frames(struct checkout_donors *donors,
		       struct checkout_donor *donor)
{
	struct wire_frame frame;
	size_t pos = 0;
	ssize_t n;

	while ((n = wire_next_frame(donor->in.buf + pos, donor->in.len - pos,
				    &frame)) > 0) {
		struct wire_cursor cursor;
		struct checkout_item item;
		int ret;

		if (frame.type != WIRE_ITEMS)
			return -1;
		wire_open_frame(&cursor, &frame);
		while ((ret = wire_get_item(&cursor, &item,
					    the_hash_algo)) > 0)
			if (add_file(donors, donor, &item))
				return -1;
		if (ret < 0)
			return -1;
		pos += n;
	}
	strbuf_remove(&donor->in, 0, pos);
	return n < 0 ? -1 : 0;
}

/* Read more of the list. Returns -1 if there is none, not yet or never. */
static int read_list(struct checkout_donors *donors,
		     struct checkout_donor *donor)
{
	struct pollfd pollfd = {
		.fd = donor->lister.out,
		.events = POLLIN,
	};
	uint64_t start_ns;
	int ready;
	ssize_t n;

	if (!donor->is_listing)
		return -1;
	start_ns = getnanotime();
	do
		ready = poll(&pollfd, 1, donors->patience_ms);
	while (ready < 0 && errno == EINTR);
	if (donors->patience_ms) {
		uint64_t ms = (getnanotime() - start_ns) / 1000000;

		donors->patience_ms -= ms < (uint64_t)donors->patience_ms ?
			ms : (uint64_t)donors->patience_ms;
	}
	if (ready <= 0)
		return -1;

	strbuf_grow(&donor->in, READ_SIZE);
	n = xread(donor->lister.out, donor->in.buf + donor->in.len, READ_SIZE);
	if (n > 0)
		strbuf_setlen(&donor->in, donor->in.len + n);
	if (n <= 0 || take_frames(donors, donor)) {
		stop_lister(donor);
		return -1;
	}
	return 0;
}

static int has_list_up_to(const struct checkout_donor *donor, const char *path)
{
	return donor->nr &&
		strcmp(donor->files[donor->nr - 1].path, path) >= 0;
}

/* Entries mostly come in the order of the list. */
static const struct donor_file *find_file(struct checkout_donor *donor,
					  const char *path)
{
	size_t lo = 0, hi = donor->nr;

	if (donor->next < hi && !strcmp(donor->files[donor->next].path, path))
		return &donor->files[donor->next++];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int cmp = strcmp(donor->files[mid].path, path);

		if (!cmp) {
			donor->next = mid + 1;
			return &donor->files[mid];
		}
		if (cmp < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	donor->next = lo;
	return NULL;
}

static int is_worth_it(const struct checkout_donors *donors,
		       const struct donor_file *file)
{
	return donors->reflink == REFLINK_ALWAYS ||
		(file->sd.sd_size >= MIN_SIZE &&
		 (uint64_t)file->sd.sd_mtime.sec + MIN_AGE <=
		 donors->looked_at);
}

/* Is another index worth reading for what there is to be written? */
static int is_worth_asking(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;
	const struct index_state *istate = pc->state->istate ?
		pc->state->istate : the_repository->index;
	size_t min = donors->reflink == REFLINK_AUTO ?
		istate->cache_nr / MIN_PART : 0;

	/* Somebody found workers worth it. */
	if (is_reflink_simulated() ||
	    (donors->looked_for && donors->reflink == REFLINK_ALWAYS))
		return 1;
	return ++donors->entries_before + pc->queue.queued >=
		(min > MIN_ENTRIES ? min : MIN_ENTRIES);
}

static int have_donors(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;

	if (!donors->asked) {
		if (!is_worth_asking(pc))
			return 0;
		donors->asked = 1;
		if (!donors->looked_for)
			look_for_donors(pc);
		for (int i = 0; i < donors->nr; i++)
			start_lister(&donors->donor[i]);
	}
	return donors->nr;
}

void pc_find_donor(struct parallel_checkout *pc, struct checkout_item *item)
{
	struct checkout_donors *donors = &pc->donors;
	const struct checkout_conversion *conv = &item->conv;
	int may_read;

	if (!donors->reflink || !S_ISREG(item->mode) || conv->eol ||
	    conv->ident || conv->encoding || conv->filter || !have_donors(pc))
		return;

	may_read = donors->patience_ms || !donors->since_read;
	if (++donors->since_read == ENTRIES_PER_READ)
		donors->since_read = 0;
	for (int i = 0; i < donors->nr; i++) {
		struct checkout_donor *donor = &donors->donor[i];
		const struct donor_file *file;

		while (may_read && !has_list_up_to(donor, item->path) &&
		       !read_list(donors, donor))
			; /* go on */
		file = find_file(donor, item->path);
		if (file && file->mode == item->mode &&
		    oideq(&file->oid, &item->oid) &&
		    is_worth_it(donors, file)) {
			item->donor = i + 1;
			item->donor_sd = file->sd;
			return;
		}
	}
}

void pc_release_donors(struct parallel_checkout *pc)
{
	struct checkout_donors *donors = &pc->donors;

	for (int i = 0; i < donors->nr; i++) {
		struct checkout_donor *donor = &donors->donor[i];

		stop_lister(donor);
		strbuf_release(&donor->in);
		free(donor->files);
		free(donor->path);
	}
	mem_pool_discard(&donors->paths, 0);
	free(donors->named);
}
