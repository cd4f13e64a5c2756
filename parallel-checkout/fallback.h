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

	/*
	 * What comes before this one, and the number of those among them that
	 * are still put off, as they wait for what workers hold: not to be seen
	 * to before there is nothing else to come.
	 */
	size_t first, left;

	size_t fetched;		/* what entries below that lacked is here */
	unsigned one_by_one : 1;	/* not all can be fetched in one go */
	uintmax_t bytes;	/* written by entry.c */
};

/*
 * Do the entries that were put off, in the order in which they came. If they
 * are many and `workers_help`, entry.c only looks at and clears the paths of
 * those that workers can write, who do it before the others. With `is_last`,
 * there is nothing else to come. From PHASE_DRAINED to PHASE_DRAINED.
 */
void pc_do_put_off(struct parallel_checkout *pc, int workers_help, int is_last);

/* The same, all of them by entry.c. */
void pc_write_put_off(struct parallel_checkout *pc);

/* The same for this one, which was put off. */
void pc_write_one_put_off(struct parallel_checkout *pc, size_t i);

/* See parallel_checkout_offer_cleared(). */
int pc_offer_cleared(struct parallel_checkout *pc, struct cache_entry *ce,
		     const struct conv_attrs *ca, int *nr_checkouts);

#endif /* PARALLEL_CHECKOUT_FALLBACK_H */
