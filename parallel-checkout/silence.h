/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SILENCE_H
#define PARALLEL_CHECKOUT_SILENCE_H

/*
 * Call functions that report errors and warnings by themselves without a word,
 * and know whether there would have been one; and ask for objects without
 * fetching them.
 */

#include "git-compat-util.h"
#include "odb.h"

struct repository;

struct silence {
	report_fn error, warning;
	unsigned long complaints;
};

/*
 * From now on, error() and warning() count what they are told. Can be nested.
 */
void be_silent(struct silence *saved);

/*
 * As it was before be_silent(). Returns the number of complaints since then.
 * errno stays as it is.
 */
unsigned long end_silence(const struct silence *saved);

/*
 * An object that cannot be read from a pack is marked, and not looked for in
 * that pack again. So that it is when somebody else asks for it, and reports
 * what is wrong with it, remove the marks, which may be ours.
 */
void forget_bad_objects(struct repository *repo);

/*
 * Look up what is known of an object, with flags OBJECT_INFO_*, but do not
 * fetch it: in a partial clone, many are fetched at once. Returns 0 if it is
 * there.
 */
int object_info_here(struct repository *repo, const struct object_id *oid,
		     struct object_info *oi, unsigned int flags);

/*
 * Some complaints are made only once, when something is loaded that is needed
 * to find objects, such as alternates and packs. Have them made now, if they
 * were not, before anybody is silent.
 */
void prepare_objects(struct repository *repo);

#endif /* PARALLEL_CHECKOUT_SILENCE_H */
