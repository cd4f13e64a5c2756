/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths that collide; see collision.h.
 */
#include "git-compat-util.h"
#include "parallel-checkout/collision.h"

void collision_init(struct collision_set *set, int ignore_case)
{
	set->fold = !!ignore_case;
	strset_init(&set->files);
	strmap_init(&set->dirs);
	strbuf_init(&set->folded, 0);
	strbuf_init(&set->last_dir, 0);
}

void collision_release(struct collision_set *set)
{
	strset_clear(&set->files);
	strmap_clear(&set->dirs, 1);
	strbuf_release(&set->folded);
	strbuf_release(&set->last_dir);
}

/* Add path[0..len), a directory that is folded to `name`. */
static int add_dir(struct collision_set *set, const char *name,
		   const char *path, size_t len)
{
	const char *known = strmap_get(&set->dirs, name);
	int found = strset_contains(&set->files, name);

	if (known && !memcmp(known, path, len))
		return found;
	found |= !!known;
	free(strmap_put(&set->dirs, name, xmemdupz(path, len)));
	return found;
}

int collision_add(struct collision_set *set, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t dir_len = slash ? slash - path : 0;
	int found = 0;
	char *name;

	strbuf_reset(&set->folded);
	for (const char *p = path; *p; p++)
		strbuf_addch(&set->folded, set->fold ? tolower(*p) : *p);
	name = set->folded.buf;

	/* Most paths are in the directory of the one before them. */
	if (dir_len != set->last_dir.len ||
	    memcmp(path, set->last_dir.buf, dir_len)) {
		for (char *p = name; (p = strchr(p, '/')); p++) {
			*p = '\0';
			found |= add_dir(set, name, path, p - name);
			*p = '/';
		}
		strbuf_reset(&set->last_dir);
		strbuf_add(&set->last_dir, path, dir_len);
	}

	found |= strmap_contains(&set->dirs, name);
	return !strset_add(&set->files, name) || found;
}
