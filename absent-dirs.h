/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ABSENT_DIRS_H
#define ABSENT_DIRS_H

#include "strbuf.h"

/*
 * What has been found out about directories of the working tree that are not
 * there, so as not to look into each of their subdirectories as well. Each
 * look is a round trip on a network file system.
 *
 * Made for paths that come in the order of the index: only one directory is
 * remembered as absent, and one as present. What is remembered is not updated
 * when directories come into being; it is for those who want to know what was
 * there before.
 */
struct absent_dirs {
	struct strbuf absent;	/* no such directory; empty if none is known */
	struct strbuf present;	/* it and its parents are there */
};

#define ABSENT_DIRS_INIT { \
	.absent = STRBUF_INIT, \
	.present = STRBUF_INIT, \
}

/*
 * Is it known that there is no file `path`, which is relative to the current
 * directory, because one of its leading directories is absent? Returns 1 if so,
 * and 0 if somebody has to look. Looks at the parent of the leading
 * directory itself, if that is new: for the many directories that have no
 * subdirectory, whoever looks for `path` will find out with one look.
 */
int absent_dirs_cover(struct absent_dirs *dirs, const char *path);

/* Forget everything. */
void absent_dirs_clear(struct absent_dirs *dirs);

#endif /* ABSENT_DIRS_H */
