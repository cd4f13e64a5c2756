/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SLOWFS_NAMES_H
#define SLOWFS_NAMES_H

/*
 * The names of one directory, found regardless of case. The directory is read
 * once; after that the caller reports each change it makes to it.
 *
 * Not thread-safe; the caller holds the directory's lock. Case is folded as
 * the C library does for UTF-8 (one character for one, no normalization); a
 * name that is not valid UTF-8 is folded as ASCII. setlocale() has to have
 * been called.
 */

struct names;

/*
 * Read the directory behind `dirfd` (O_PATH will do; it is not kept).
 * Returns NULL with errno set if it cannot be read.
 */
struct names *names_read(int dirfd);

/* The name as it is stored, or NULL. Owned by `n`, valid until that changes. */
const char *names_find(struct names *n, const char *name);

/* `name` has been created; nothing happens if it is there in any case. */
void names_add(struct names *n, const char *name);

/* `name`, in whatever case, is gone. */
void names_remove(struct names *n, const char *name);

/* Takes NULL too. */
void names_free(struct names *n);

#endif
