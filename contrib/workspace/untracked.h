/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WORKSPACE_UNTRACKED_H
#define WORKSPACE_UNTRACKED_H
/*
 * What an untracked cache (the extension UNTR of an index) believes, and how
 * Git can be made to forget it: by a name in the folder.
 */

#include "index-file.h"
#include "names.h"

/*
 * Adds to names a name in each folder of the cache that is at or below one
 * that names_cover() knows, or that has untracked files, as the base's have
 * none. Returns 0, or -1 if the extension is broken, or if
 * there is no name that Git would take.
 */
int untracked_add(const struct index_extension *extension, size_t hash_size,
		  struct names *names);

/*
 * Whether Git takes this name of a folder for a ".git" on some other system.
 * Then it leaves the untracked cache alone for any name in that folder. Some
 * names more than Git has do no harm.
 */
int is_dotgit_elsewhere(const char *name);

#endif
