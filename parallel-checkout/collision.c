/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths that collide where case is ignored; see collision.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/collision.h"

void collision_init(struct collision_set *set)
{
	strset_init(&set->names);
	strset_init(&set->dirs);
	strbuf_init(&set->folded, 0);
}

void collision_release(struct collision_set *set)
{
	strset_clear(&set->names);
	strset_clear(&set->dirs);
	strbuf_release(&set->folded);
}

static char *fold(struct strbuf *folded, const char *path)
{
	strbuf_reset(folded);
	while (*path)
		strbuf_addch(folded, tolower(*path++));
	return folded->buf;
}

void collision_add(struct collision_set *set, const char *path)
{
	char *name = fold(&set->folded, path);

	strset_add(&set->names, name);
	for (char *p = name; (p = strchr(p, '/')); p++) {
		*p = '\0';
		strset_add(&set->dirs, name);
		*p = '/';
	}
}

int collision_found(struct collision_set *set, const char *path)
{
	char *name = fold(&set->folded, path);
	int found = strset_contains(&set->names, name) ||
		strset_contains(&set->dirs, name);

	for (char *p = name; !found && (p = strchr(p, '/')); p++) {
		*p = '\0';
		found = strset_contains(&set->names, name);
		*p = '/';
	}
	return found;
}

void spelling_init(struct spelling_set *set)
{
	strmap_init(&set->dirs);
	strbuf_init(&set->folded, 0);
	strbuf_init(&set->dir, 0);
	set->differs = 0;
}

void spelling_release(struct spelling_set *set)
{
	strmap_clear(&set->dirs, 1);
	strbuf_release(&set->folded);
	strbuf_release(&set->dir);
}

int spelling_differs(struct spelling_set *set, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? slash - path : 0;

	if (len == set->dir.len && !memcmp(set->dir.buf, path, len))
		return set->differs;

	set->differs = 0;
	strbuf_reset(&set->dir);
	strbuf_add(&set->dir, path, len);
	strbuf_reset(&set->folded);
	for (size_t i = 0; i <= len; i++) {
		if (path[i] == '/') {
			const char *known = strmap_get(&set->dirs,
						       set->folded.buf);

			if (!known)
				strmap_put(&set->dirs, set->folded.buf,
					   xmemdupz(path, i));
			else if (strncmp(known, path, i))
				set->differs = 1;
		}
		strbuf_addch(&set->folded, tolower(path[i]));
	}
	return set->differs;
}
