/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_CLASSIFY_H
#define PARALLEL_CHECKOUT_CLASSIFY_H

/*
 * What an entry is: an ordinary one, one that comes at its turn, or one for
 * entry.c. What is decided here is not asked again.
 */

struct accepted_entry;
struct parallel_checkout;
struct stat;

enum entry_class {
	/* A worker may write it. */
	ENTRY_ORDINARY,

	/* What comes before it has to be written first. */
	ENTRY_AT_ITS_TURN,

	/* entry.c has to look at its path, and offer it again. */
	ENTRY_UNSEEN,

	/* It is for entry.c, when what comes before it is written. */
	ENTRY_UNFIT,
};

/*
 * Classify an entry, of which `ce` is set, with what parallel_checkout_offer()
 * was told of its path. Fills in the rest of the entry but for that path;
 * attributes are those of now, and stay with it.
 */
enum entry_class classify_entry(struct parallel_checkout *pc,
				struct accepted_entry *entry,
				const struct stat *st);

/*
 * The same, for an entry that entry.c is going to write, with these attributes
 * if it is a regular file, to a path that it has cleared: ENTRY_ORDINARY if the
 * writer can do that.
 */
enum entry_class classify_cleared(const struct parallel_checkout *pc,
				  struct accepted_entry *entry,
				  const struct conv_attrs *ca);

/* The same, for an entry whose file is to be removed. */
enum entry_class classify_removal(const struct parallel_checkout *pc,
				  struct accepted_entry *entry);

/* What the filter of an entry costs, or 0 if it has none; see tune.h. */
unsigned int classify_cost(const struct accepted_entry *entry);

#endif /* PARALLEL_CHECKOUT_CLASSIFY_H */
