/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SILENCE_H
#define PARALLEL_CHECKOUT_SILENCE_H

/*
 * Call functions that report errors and warnings by themselves without a word,
 * and know whether there would have been one.
 */

struct repository;

/*
 * From now on, error() and warning() say nothing. Can be nested, but only the
 * innermost silence knows whether it was broken.
 */
void be_silent(void);

/* Was there anything to be said since the last be_silent()? */
int silence_is_broken(void);

/* Undo be_silent(). Returns what silence_is_broken() does; errno stays. */
int end_silence(void);

/*
 * Remove the marks of objects that could not be read from a pack, so that
 * whoever asks for one next finds what is wrong with it, and says so.
 */
void forget_bad_objects(struct repository *repo);

/*
 * Some complaints are made only once, when alternates or packs are loaded. Have
 * them made now, if they were not, before anybody is silent.
 */
void prepare_objects(struct repository *repo);

#endif /* PARALLEL_CHECKOUT_SILENCE_H */
