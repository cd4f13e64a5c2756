/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries with filters that workers run; see filtered.h.
 */
#include "git-compat-util.h"
#include "entry.h"
#include "parallel-checkout/engine.h"
#include "progress.h"
#include "read-cache-ll.h"

/* A longer command may not fit into a message. */
#define MAX_COMMAND_LEN 4096

void pc_init_filtered(struct parallel_checkout *pc)
{
	strset_init(&pc->filtered.commands);
	oidset_init(&pc->filtered.blobs, 0);
}

void pc_release_filtered(struct parallel_checkout *pc)
{
	strset_clear(&pc->filtered.commands);
	oidset_clear(&pc->filtered.blobs);
}

/*
 * An entry that is not, like the result of a merge, may be gone by the time that
 * a filter has what it has delayed.
 */
static int is_in_index(const struct parallel_checkout *pc,
		       const struct cache_entry *ce)
{
	struct index_state *istate = pc->state->istate;
	int pos = istate ? index_name_pos(istate, ce->name, ce_namelen(ce)) : -1;

	return pos >= 0 && istate->cache[pos] == ce;
}

int pc_has_parallel_filter(const struct parallel_checkout *pc,
			   const struct queued_entry *entry)
{
	const char *base_dir = pc->state->base_dir;
	const char *slash = find_last_dir_sep(base_dir);
	struct smudge_command smudge;

	if (pc->config.nr == 1 || pc->at_once || pc->filtered.stopped)
		return 0;

	/* A worker tells a filter the path that it writes. */
	if (slash ? slash[1] : *base_dir)
		return 0;
	return get_parallel_smudge(&entry->ca, &smudge) &&
		strlen(smudge.cmd) <= MAX_COMMAND_LEN &&
		is_in_index(pc, entry->ce);
}

unsigned int pc_filter_cost(const struct queued_entry *entry)
{
	struct smudge_command smudge;

	if (!S_ISREG(entry->ce->ce_mode) ||
	    !get_parallel_smudge(&entry->ca, &smudge))
		return 0;
	return smudge.is_process ? TUNE_COST_PROCESS : TUNE_COST_COMMAND;
}

void pc_get_filter(const struct parallel_checkout *pc,
		   const struct queued_entry *entry,
		   struct checkout_conversion *conv)
{
	const struct delayed_checkout *dco = pc->state->delayed_checkout;
	struct smudge_command smudge;

	if (!entry->filter_cost || !get_parallel_smudge(&entry->ca, &smudge))
		return;
	conv->filter = smudge.cmd;
	conv->required = smudge.required;
	conv->is_process = smudge.is_process;
	conv->can_delay = smudge.is_process && dco && dco->state == CE_CAN_DELAY;
}

enum checkout_filter_turn pc_note_filtered(struct parallel_checkout *pc,
					   struct queued_entry *entry)
{
	struct smudge_command smudge;

	if (pc->phase == PHASE_ALONE)
		pc_note_alone(pc);
	pc->filtered.met = 1;
	entry->filter_cost = pc_filter_cost(entry);
	pc_note_blob(pc, entry);
	if (entry->has_twin)
		return FILTER_HAS_TWIN;
	get_parallel_smudge(&entry->ca, &smudge);
	return strset_add(&pc->filtered.commands, smudge.cmd) ?
		FILTER_IS_FIRST : FILTER_IS_KNOWN;
}

void pc_note_blob(struct parallel_checkout *pc, struct queued_entry *entry)
{
	entry->has_twin = !!oidset_insert(&pc->filtered.blobs,
					  &entry->ce->oid);
}

void pc_note_unfiltered(struct parallel_checkout *pc,
			const struct queued_entry *entry)
{
	struct smudge_command smudge;

	if (get_parallel_smudge(&entry->ca, &smudge) && smudge.required)
		pc->filtered.stopped = 1;
}

int pc_waits_for_delayed(const struct parallel_checkout *pc,
			 const struct queued_entry *entry)
{
	return entry->has_twin && pc->filtered.delayed;
}

void pc_finish_delayed(struct parallel_checkout *pc, struct progress *progress,
		       unsigned int *count, off_t *bytes)
{
	const struct string_list *paths = &pc->state->delayed_checkout->paths;
	size_t delayed_again = paths->nr, left;

	pc->progress = progress;
	pc->progress_cnt = count;
	pc->throughput_base = pc_bytes(pc) - *bytes;
	pc_enter(pc, PHASE_FILTERING);
	pc->in_flight = pc->filtered.delayed;
	pc->filtered.delayed = 0;
	pool_collect(&pc->dispatch.pool);
	pc_drain(pc);
	pc_enter(pc, PHASE_DRAINED);

	/* A filter of the main process may delay what those of workers have not. */
	left = pc->put_offs;
	pc->progress = NULL;
	pc_write_put_off(pc);
	*count += left - (paths->nr - delayed_again);
	*bytes = pc_bytes(pc) - pc->throughput_base;
	display_progress(progress, *count);
}
