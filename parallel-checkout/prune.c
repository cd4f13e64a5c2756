/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Directories that may be empty; see prune.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/prune.h"
#include "setup.h"

void prune_add_parent(struct prune_list *list, const char *path)
{
	const char *end = strrchr(path, '/'), *cwd = startup_info->original_cwd;
	size_t depth = 0;
	char *dir;

	if (!end)
		return;
	/* Somebody is in there; see schedule_dir_for_removal(). */
	if (cwd && strlen(cwd) == (size_t)(end - path) &&
	    !memcmp(cwd, path, end - path))
		return;
	for (const char *p = path; p < end; p++)
		depth += *p == '/';

	ALLOC_GROW(list->levels, depth + 1, list->alloc);
	while (list->nr <= depth)
		strset_init(&list->levels[list->nr++]);

	dir = xmemdupz(path, end - path);
	strset_add(&list->levels[depth], dir);
	free(dir);
}

int prune_take_level(struct prune_list *list, struct strset *level)
{
	while (list->nr) {
		*level = list->levels[--list->nr];
		if (!strset_empty(level))
			return 0;
		strset_clear(level);
	}
	FREE_AND_NULL(list->levels);
	list->alloc = 0;
	return -1;
}
