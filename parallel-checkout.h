/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_H
#define PARALLEL_CHECKOUT_H

/*
 * Write many index entries into the working tree, with the help of worker
 * processes. "Parallel Checkout Design Notes" in Documentation/technical/ say
 * how it works.
 *
 * A user, like check_updates() in unpack-trees.c, does
 *
 *	parallel_checkout_begin(&state, old_index, progress, &cnt, 0);
 *	for each entry
 *		errs |= checkout_entry(ce, &state, NULL, &nr_checkouts);
 *	errs |= parallel_checkout_finish();
 *
 * and checkout_entry_ca() in entry.c offers each entry. One that is accepted is
 * written later; one that is refused is the caller's.
 */

struct cache_entry;
struct checkout;
struct conv_attrs;
struct index_state;
struct progress;

/*
 * To be called before anything in the working tree is removed, renamed,
 * replaced or made: a BUG() if workers have something to do. They believe what
 * the main process knew of the paths.
 */
void parallel_checkout_assert_quiet(void);

/*
 * Attributes come from the index before they come from the working tree
 * (GIT_ATTR_CHECKOUT), so that to write a .gitattributes file changes nothing
 * for the entries after it.
 */
#define PARALLEL_CHECKOUT_ATTRS_FROM_INDEX (1u << 0)

/*
 * The caller gets the names of entries one by one, from somebody who may wait
 * for each file: unless a number of workers is configured, there are none.
 */
#define PARALLEL_CHECKOUT_ONE_BY_ONE (1u << 1)

/*
 * Start to accept entries. Has to be paired with parallel_checkout_finish(),
 * until which `state` (of checkout_entry(), with an istate) and `old_index`
 * must stay as they are.
 *
 * `old_index` has the entries that are replaced, and may be state->istate:
 * where the working tree still has what it says, files are replaced without a
 * further look. With NULL, entry.c looks at all paths. `progress` (may be NULL)
 * is advanced, and `*progress_cnt` with it, for each entry that was accepted
 * when it is done.
 */
void parallel_checkout_begin(const struct checkout *state,
			     const struct index_state *old_index,
			     struct progress *progress,
			     unsigned int *progress_cnt, unsigned int flags);

/*
 * Remove files, before any entry is written. For each entry whose file goes,
 *
 *	if (parallel_checkout_remove(ce))
 *		unlink_entry(ce, state.super_prefix);
 *
 * and then parallel_checkout_finish_removals(), which waits until all the files
 * are gone, does and reports what could not be done in parallel, and removes
 * the directories that are empty now. The entries must stay valid until then.
 */
int parallel_checkout_remove(struct cache_entry *ce);
void parallel_checkout_finish_removals(void);

/*
 * Finish all entries that were accepted. Returns 0 if all of them are written,
 * -1 otherwise, with the errors reported.
 *
 * Where filters may delay their answers (state->delayed_checkout),
 * finish_delayed_checkout() has to follow; entries and their `nr_checkouts`
 * must stay valid until then. It calls parallel_checkout_finish_delayed(),
 * which returns the same, advances the progress, `*progress_cnt` and `*bytes`,
 * and may leave paths in state->delayed_checkout; parallel_checkout_delayed()
 * says how many entries it is about.
 */
int parallel_checkout_finish(void);
size_t parallel_checkout_delayed(void);
int parallel_checkout_finish_delayed(struct progress *progress,
				     unsigned int *progress_cnt, off_t *bytes);

/*
 * Finish those that were accepted so far. A user does that before it changes
 * something in the working tree itself, or runs something that may look at it.
 */
void parallel_checkout_catch_up(void);

/* The number of entries that were accepted so far. */
size_t parallel_checkout_accepted(void);

enum parallel_checkout_answer {
	PARALLEL_CHECKOUT_ACCEPTED,
	PARALLEL_CHECKOUT_REFUSED,

	/*
	 * The caller is to look at the path, and if it decides to write the
	 * entry, to offer it again.
	 */
	PARALLEL_CHECKOUT_UNSEEN,
};

/*
 * Offer an entry, with `st` NULL if nobody has looked at its path. When it is
 * offered again, `st` is what was found there (of mode 0 if that is nothing),
 * and that must be left in place if the entry is accepted.
 *
 * `nr_checkouts` (may be NULL) is incremented when the entry is written, like
 * that of checkout_entry(). It must stay valid until
 * parallel_checkout_finish(), and so must `ce`.
 */
enum parallel_checkout_answer
parallel_checkout_offer(struct cache_entry *ce, const struct stat *st,
			const struct checkout *state, int *nr_checkouts);

/*
 * For entry.c, which has made way for the file of the entry and knows its
 * attributes (NULL if it has none): make it as a worker would, and update what
 * a written entry updates. Returns 0; or a positive number, with errno set, if
 * there is no room for it; or -1 if there is no new file for whatever other
 * reason. Nothing is reported.
 */
int parallel_checkout_write(struct cache_entry *ce, const struct conv_attrs *ca,
			    const struct checkout *state, int *nr_checkouts);

#endif /* PARALLEL_CHECKOUT_H */
