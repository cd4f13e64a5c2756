/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * List the files of a working tree that can be donors; see donor-list.h.
 */
#include "git-compat-util.h"
#include "attr.h"
#include "convert.h"
#include "fsmonitor-settings.h"
#include "gettext.h"
#include "parallel-checkout/donor-list.h"
#include "parallel-checkout/wire.h"
#include "read-cache.h"
#include "replace-object.h"
#include "repository.h"
#include "strbuf.h"

/* The reader works while we do. */
#define FRAME_SIZE (64 * 1024)

/*
 * Does the stat data of the index prove that a file which has it was not
 * changed since? Not if it may have been changed in the moment in which the
 * index was written, which ie_match_stat() finds by mtime; that can be set,
 * while ctime cannot. Where that is in whole seconds, the moment is long.
 */
static int proves_content(struct index_state *istate,
			  const struct cache_entry *ce, dev_t dev)
{
	const struct stat_data *sd = &ce->ce_stat_data;
	struct stat st = { .st_mode = ce->ce_mode };

	if (!sd->sd_size ||
	    (ce->ce_flags & (CE_VALID | CE_SKIP_WORKTREE | CE_INTENT_TO_ADD)) ||
	    (!sd->sd_ctime.nsec && sd->sd_ctime.sec >= istate->timestamp.sec))
		return 0;
	fake_lstat_data(sd, &st);
	st.st_dev = dev;
	return !ie_match_stat(istate, ce, &st, CE_MATCH_RACY_IS_DIRTY |
					       CE_MATCH_IGNORE_FSMONITOR);
}

/*
 * An attribute "filter" without a driver of that name counts, too: there may
 * have been one when the file was written.
 */
static int is_converted(struct index_state *istate, const char *path,
			struct attr_check *filter)
{
	struct conv_attrs ca;
	const char *value;

	convert_attrs(istate, &ca, path);
	if (ca.drv || ca.ident || ca.working_tree_encoding ||
	    output_eol(ca.crlf_action) == EOL_CRLF)
		return 1;
	git_check_attr(istate, path, filter);
	value = filter->items[0].value;
	return !ATTR_UNSET(value) && !ATTR_FALSE(value);
}

static int is_donor(struct repository *repo, const struct cache_entry *ce,
		    dev_t dev, struct attr_check *filter)
{
	return S_ISREG(ce->ce_mode) && !ce_stage(ce) &&
		ce_namelen(ce) < WIRE_MAX_PAYLOAD / 2 &&
		proves_content(repo->index, ce, dev) &&
		lookup_replace_object(repo, &ce->oid) == &ce->oid &&
		!is_converted(repo->index, ce->name, filter);
}

static int flush_frame(int fd, struct strbuf *out)
{
	int ret = 0;

	if (out->len) {
		wire_end_frame(out, 0);
		ret = write_in_full(fd, out->buf, out->len) < 0 ? -1 : 0;
		strbuf_reset(out);
	}
	return ret;
}

int list_donor_files(struct repository *repo, int fd)
{
	struct attr_check *filter = attr_check_initl("filter", NULL);
	struct strbuf out = STRBUF_INIT;
	struct stat st;
	int ret = 0;

	if (stat(".", &st))
		die_errno(_("unable to stat '%s'"), ".");

	/*
	 * Read it as it is. What is not there in full is no file, and what a
	 * file system monitor says would be as of another moment.
	 */
	prepare_repo_settings(repo);
	repo->settings.command_requires_full_index = 0;
	fsm_settings__set_disabled(repo);
	repo_read_index(repo);

	for (unsigned int i = 0; !ret && i < repo->index->cache_nr; i++) {
		const struct cache_entry *ce = repo->index->cache[i];
		struct checkout_item item = { 0 };

		if (!is_donor(repo, ce, st.st_dev, filter))
			continue;
		item.mode = item.old_mode = ce->ce_mode;
		oidcpy(&item.oid, &ce->oid);
		item.path = ce->name;
		item.path_len = ce_namelen(ce);
		item.old_sd = ce->ce_stat_data;

		if (!out.len)
			wire_begin_frame(&out, WIRE_ITEMS);
		wire_put_item(&out, &item, repo->hash_algo);
		if (out.len >= FRAME_SIZE)
			ret = flush_frame(fd, &out);
	}
	if (!ret)
		ret = flush_frame(fd, &out);

	strbuf_release(&out);
	attr_check_free(filter);
	return ret;
}
