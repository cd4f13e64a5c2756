/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count complaints instead of making them; see silence.h.
 */
#include "git-compat-util.h"
#include "packfile.h"
#include "parallel-checkout/silence.h"
#include "repository.h"

static unsigned long complaints;

static void count_complaint(const char *fmt UNUSED, va_list params UNUSED)
{
	complaints++;
}

void be_silent(struct silence *saved)
{
	saved->error = get_error_routine();
	saved->warning = get_warn_routine();
	saved->complaints = complaints;
	set_error_routine(count_complaint);
	set_warn_routine(count_complaint);
}

unsigned long end_silence(const struct silence *saved)
{
	set_error_routine(saved->error);
	set_warn_routine(saved->warning);
	return complaints - saved->complaints;
}

void forget_bad_objects(struct repository *repo)
{
	struct packed_git *p;

	repo_for_each_pack(repo, p)
		oidset_clear(&p->bad_objects);
}

int object_info_here(struct repository *repo, const struct object_id *oid,
		     struct object_info *oi, unsigned int flags)
{
	return odb_read_object_info_extended(repo->objects, oid, oi, flags |
					     OBJECT_INFO_SKIP_FETCH_OBJECT);
}

void prepare_objects(struct repository *repo)
{
	struct object_id oid = *repo->hash_algo->null_oid;

	/* What nobody has is looked for everywhere. */
	memset(oid.hash, 0xff, repo->hash_algo->rawsz);
	object_info_here(repo, &oid, NULL, OBJECT_INFO_LOOKUP_REPLACE |
			 OBJECT_INFO_QUICK);
}
