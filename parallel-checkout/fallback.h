/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_FALLBACK_H
#define PARALLEL_CHECKOUT_FALLBACK_H

/*
 * What becomes of entries that were put off: entry.c writes them, one after the
 * other, and says what is to be said. It is the only one that removes or
 * replaces what is in the way, and it never does so while workers are in
 * flight.
 */

struct cache_entry;
struct conv_attrs;
struct parallel_checkout;
struct queued_entry;

struct checkout_fallback {
	/* Given to entry.c only to have its path cleared. */
	struct queued_entry *clearing;
	size_t turn;		/* its number, and then that of the next one */

	size_t fetched;		/* what entries below that lacked is here */
	uintmax_t bytes;	/* written by entry.c */
};

/*
 * Do the entries that were put off, in the order in which they came. If they
 * are many and `workers_help`, entry.c only looks at and clears the paths of
 * those that workers can write, who do it before the others. With `is_last`,
 * there is nothing else to come. From PHASE_DRAINED to PHASE_DRAINED.
 */
void pc_do_put_off(struct parallel_checkout *pc, int workers_help, int is_last);

/* The same for entries numbered below `end` alone, all of them by entry.c. */
void pc_write_put_off(struct parallel_checkout *pc, size_t end);

/*
 * The same for this one, which was put off. Returns -1 if its blob is missing and
 * cannot be fetched any more.
 */
int pc_write_one_put_off(struct parallel_checkout *pc, size_t i);

/* See parallel_checkout_offer_cleared(). */
int pc_offer_cleared(struct parallel_checkout *pc, struct cache_entry *ce,
		     const struct conv_attrs *ca, int *nr_checkouts);

#endif /* PARALLEL_CHECKOUT_FALLBACK_H */
