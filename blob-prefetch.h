/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In a partial clone, fetches in one go the blobs that a command is about to
 * read, each of which would be a fetch of its own when its turn comes.
 */
#ifndef BLOB_PREFETCH_H
#define BLOB_PREFETCH_H

#include "oidset.h"
#include "strmap.h"

struct cache_entry;
struct checkout;
struct index_state;
struct repository;

struct blob_prefetch {
	struct repository *repo;
	struct oidset missing;
	struct strset dirs;	/* whose .gitattributes has been looked for */
};

/*
 * Begin to collect. Returns 0, and there is nothing to release, if nothing can
 * be fetched: there is no promisor remote, or the command must not fetch.
 */
int blob_prefetch_begin(struct blob_prefetch *prefetch,
			struct repository *repo);

/* Add a blob, or what replaces it, if it is missing. Returns whether it is. */
int blob_prefetch_add(struct blob_prefetch *prefetch,
		      const struct object_id *oid);

/*
 * Add the .gitattributes of the index that are missing, of the directories
 * that lead to a path, where there is no such file.
 */
void blob_prefetch_add_attributes(struct blob_prefetch *prefetch,
				  struct index_state *istate, const char *path);

/*
 * Add the blob of an entry of state->istate that checkout_entry() will be
 * called for, if it is missing and the file will be written: it is neither up
 * to date, nor to be removed, nor left alone as `state` says. With `is_read`,
 * the blob will be read in any case. If it is added, so are the attributes that
 * its conversion looks at.
 */
void blob_prefetch_add_entry(struct blob_prefetch *prefetch,
			     const struct checkout *state,
			     const struct cache_entry *ce, int is_read);

/*
 * Fetch what was added, and release `prefetch`. What cannot be had is asked
 * for again when its turn comes, and the command fails then, as it would have
 * without this; "git fetch" says so both times. It sees nothing of the files
 * that are written later, of which one can be part of its configuration.
 */
void blob_prefetch_run(struct blob_prefetch *prefetch);

#endif
