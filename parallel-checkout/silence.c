/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Note complaints instead of making them; see silence.h.
 */
#include "git-compat-util.h"
#include "odb.h"
#include "packfile.h"
#include "parallel-checkout/silence.h"
#include "repository.h"

static report_fn saved_error, saved_warning;
static int depth, is_broken;

static void note_complaint(const char *fmt UNUSED, va_list params UNUSED)
{
	is_broken = 1;
}

void be_silent(void)
{
	is_broken = 0;
	if (depth++)
		return;
	saved_error = get_error_routine();
	saved_warning = get_warn_routine();
	set_error_routine(note_complaint);
	set_warn_routine(note_complaint);
}

int silence_is_broken(void)
{
	return is_broken;
}

int end_silence(void)
{
	if (!--depth) {
		set_error_routine(saved_error);
		set_warn_routine(saved_warning);
	}
	return is_broken;
}

void forget_bad_objects(struct repository *repo)
{
	struct packed_git *p;

	repo_for_each_pack(repo, p)
		oidset_clear(&p->bad_objects);
}

void prepare_objects(struct repository *repo)
{
	struct object_id oid = *repo->hash_algo->null_oid;

	/* What nobody has is looked for everywhere. */
	memset(oid.hash, 0xff, repo->hash_algo->rawsz);
	odb_read_object_info_extended(repo->objects, &oid, NULL,
				      OBJECT_INFO_LOOKUP_REPLACE |
				      OBJECT_INFO_SKIP_FETCH_OBJECT |
				      OBJECT_INFO_QUICK);
}
