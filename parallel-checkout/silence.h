/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PARALLEL_CHECKOUT_SILENCE_H
#define PARALLEL_CHECKOUT_SILENCE_H

/*
 * Call functions that report errors and warnings by themselves without a word,
 * and know whether there would have been one.
 */

#include "git-compat-util.h"

struct silence {
	report_fn error, warning;
	unsigned long complaints;
};

/* From now on, error() and warning() count what they are told. Can be nested. */
void be_silent(struct silence *saved);

/*
 * As it was before be_silent(). Returns the number of complaints since then.
 * errno stays as it is.
 */
unsigned long end_silence(const struct silence *saved);

#endif /* PARALLEL_CHECKOUT_SILENCE_H */
