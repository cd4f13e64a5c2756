/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Look for many .gitattributes files with threads; see attr-preload.h.
 */
#include "git-compat-util.h"
#include "absent-dirs.h"
#include "attr.h"
#include "attr-preload.h"
#include "environment.h"
#include "read-cache-ll.h"
#include "strmap.h"
#include "strvec.h"
#include "waiting-loop.h"

/*
 * So many tell whether a look has to wait. Others are not even collected if it
 * does not: to find out what the index has of a directory takes a microsecond.
 */
#define SAMPLE 16

struct candidates {
	struct strvec paths;
	unsigned char *absent;	/* by the number of the path */
};

static void add_candidate(struct candidates *all, struct index_state *istate,
			  struct strbuf *buf, const char *dir, size_t len)
{
	int pos;

	strbuf_reset(buf);
	strbuf_add(buf, dir, len);
	strbuf_addstr(buf, GITATTRIBUTES_FILE);
	pos = index_name_pos_sparse(istate, buf->buf, buf->len);
	if (pos < 0)
		pos = -1 - pos;

	/* of any stage */
	if ((unsigned int)pos == istate->cache_nr ||
	    strcmp(istate->cache[pos]->name, buf->buf))
		strvec_push(&all->paths, buf->buf);
}

/*
 * One for each leading directory, until there are `enough`. What is below a
 * directory is in the index one after another, so a directory that the last
 * entry was not in is a new one.
 */
static void collect(struct candidates *all, struct index_state *istate,
		    int (*is_wanted)(const struct cache_entry *), size_t enough)
{
	struct strbuf buf = STRBUF_INIT;
	const char *last = NULL;

	for (unsigned int i = 0;
	     i < istate->cache_nr && all->paths.nr < enough; i++) {
		const struct cache_entry *ce = istate->cache[i];
		size_t same = 0;

		/* nobody asks for those of a link or a submodule */
		if (!S_ISREG(ce->ce_mode) || !is_wanted(ce))
			continue;
		if (!last) {
			add_candidate(all, istate, &buf, "", 0);
		} else {
			while (last[same] && last[same] == ce->name[same])
				same++;
		}
		for (size_t n = same; n < ce_namelen(ce); n++)
			if (ce->name[n] == '/')
				add_candidate(all, istate, &buf, ce->name,
					      n + 1);
		last = ce->name;
	}
	strbuf_release(&buf);
}

static void look(struct waiting_loop *loop)
{
	struct candidates *all = loop->data;
	struct waiting_loop_share share = { 0 };
	struct absent_dirs dirs = ABSENT_DIRS_INIT;

	while (waiting_loop_next(loop, &share))
		for (size_t i = share.begin; i < share.end; i++) {
			const char *path = all->paths.v[i];
			struct stat st;

			if (absent_dirs_cover(&dirs, path)) {
				all->absent[i] = 1;
				continue;
			}

			/* what absent_dirs_cover() may have done goes with it */
			share.looks++;
			all->absent[i] = lstat(path, &st) &&
				is_missing_file_error(errno);
		}
	absent_dirs_clear(&dirs);
}

void find_absent_attributes(struct index_state *istate,
			    int (*is_wanted)(const struct cache_entry *),
			    struct strset *absent)
{
	struct candidates all = { .paths = STRVEC_INIT };
	struct waiting_loop loop = { .fn = look, .data = &all };

	if (!HAVE_THREADS)
		return;
	collect(&all, istate, is_wanted, SAMPLE);
	CALLOC_ARRAY(all.absent, all.paths.nr);
	loop.nr = all.paths.nr;
	if (waiting_loop_try(&loop) > 1) {
		strvec_clear(&all.paths);
		collect(&all, istate, is_wanted, SIZE_MAX);
		REALLOC_ARRAY(all.absent, all.paths.nr);
		memset(all.absent, 0, all.paths.nr);
		loop.nr = all.paths.nr;
		waiting_loop_run(&loop, SAMPLE);
	}
	for (size_t i = 0; i < all.paths.nr; i++)
		if (all.absent[i])
			strset_add(absent, all.paths.v[i]);
	strvec_clear(&all.paths);
	free(all.absent);
}
