/* SPDX-License-Identifier: GPL-2.0-only */
/* One fetch for all blobs that a command will read; see blob-prefetch.h. */
#include "git-compat-util.h"
#include "blob-prefetch.h"
#include "entry.h"
#include "environment.h"
#include "odb.h"
#include "oid-array.h"
#include "promisor-remote.h"
#include "read-cache-ll.h"
#include "replace-object.h"
#include "repository.h"
#include "strbuf.h"
#include "symlinks.h"

int blob_prefetch_begin(struct blob_prefetch *prefetch, struct repository *repo)
{
	if (!fetch_if_missing || !repo_has_promisor_remote(repo))
		return 0;
	prefetch->repo = repo;
	oidset_init(&prefetch->missing, 0);
	strset_init(&prefetch->dirs);
	return 1;
}

static int is_missing(struct blob_prefetch *prefetch,
		      const struct object_id *oid)
{
	return oidset_contains(&prefetch->missing, oid) ||
		odb_read_object_info_extended(prefetch->repo->objects, oid,
					      NULL, OBJECT_INFO_FOR_PREFETCH);
}

int blob_prefetch_add(struct blob_prefetch *prefetch,
		      const struct object_id *oid)
{
	oid = lookup_replace_object(prefetch->repo, oid);
	if (!is_missing(prefetch, oid))
		return 0;
	oidset_insert(&prefetch->missing, oid);
	return 1;
}

/* Will checkout_entry() write it? */
static int is_written(const struct checkout *state,
		      const struct cache_entry *ce)
{
	struct strbuf path = STRBUF_INIT;
	const char *slash;
	struct stat st;
	int is_absent;

	strbuf_addf(&path, "%s%s", state->base_dir, ce->name);
	slash = strrchr(path.buf, '/');
	is_absent = (slash && !has_dirs_only_path(path.buf, slash - path.buf,
						  state->base_dir_len)) ||
		lstat(path.buf, &st);
	strbuf_release(&path);
	if (is_absent)
		return !state->not_new;
	return state->force &&
		ie_match_stat(state->istate, ce, &st, CE_MATCH_IGNORE_VALID |
			      CE_MATCH_IGNORE_SKIP_WORKTREE);
}

/*
 * The file comes before the index, and of a file that is unmerged, stage 2
 * counts.
 */
void blob_prefetch_add_attributes(struct blob_prefetch *prefetch,
				  struct index_state *istate, const char *path)
{
	struct strbuf file = STRBUF_INIT;
	size_t len = strlen(path);

	do {
		int found;
		unsigned int pos;

		while (len && path[len - 1] != '/')
			len--;
		strbuf_reset(&file);
		strbuf_add(&file, path, len);
		if (!strset_add(&prefetch->dirs, file.buf))
			break;
		strbuf_addstr(&file, GITATTRIBUTES_FILE);
		found = index_name_pos(istate, file.buf, file.len);
		pos = found < 0 ? -found - 1 : found;
		for (; pos < istate->cache_nr &&
		     !strcmp(istate->cache[pos]->name, file.buf); pos++)
			if (!(ce_stage(istate->cache[pos]) & 1) &&
			    access(file.buf, F_OK))
				blob_prefetch_add(prefetch,
						  &istate->cache[pos]->oid);
	} while (len--);
	strbuf_release(&file);
}

void blob_prefetch_add_entry(struct blob_prefetch *prefetch,
			     const struct checkout *state,
			     const struct cache_entry *ce, int is_read)
{
	const struct object_id *oid;

	if (!S_ISREG(ce->ce_mode) && !S_ISLNK(ce->ce_mode))
		return;
	oid = lookup_replace_object(prefetch->repo, &ce->oid);
	/* Most blobs are there, and then nobody has to look at the file. */
	if (!is_missing(prefetch, oid) ||
	    (!is_read && ((ce->ce_flags & CE_WT_REMOVE) ||
			  !is_written(state, ce))))
		return;
	oidset_insert(&prefetch->missing, oid);
	if (S_ISREG(ce->ce_mode))
		blob_prefetch_add_attributes(prefetch, state->istate, ce->name);
}

void blob_prefetch_run(struct blob_prefetch *prefetch)
{
	struct oid_array missing = OID_ARRAY_INIT;
	const struct object_id *oid;
	struct object_id unused;
	struct oidset_iter iter;

	oidset_iter_init(&prefetch->missing, &iter);
	while ((oid = oidset_iter_next(&iter)))
		oid_array_append(&missing, oid);
	if (missing.nr) {
		promisor_remote_try_direct(prefetch->repo, missing.oid,
					   missing.nr, &unused);
		/* What came is in packs that only "git fetch" knows of. */
		odb_reprepare(prefetch->repo->objects);
	}
	oid_array_clear(&missing);
	oidset_clear(&prefetch->missing);
	strset_clear(&prefetch->dirs);
}
