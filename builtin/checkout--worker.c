/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command that is a worker process of parallel checkout: its options, and
 * how it ends. Or it lists the files of other working trees that a checkout may
 * clone.
 * See "Parallel Checkout Design Notes" in Documentation/technical/.
 */
#include "builtin.h"
#include "config.h"
#include "environment.h"
#include "gettext.h"
#include "hex.h"
#include "parallel-checkout/donor-list.h"
#include "parallel-checkout/silence.h"
#include "parallel-checkout/smudge.h"
#include "parallel-checkout/wire.h"
#include "parallel-checkout/worker.h"
#include "parallel-checkout/writer.h"
#include "parse-options.h"
#include "repository.h"
#include "run-command.h"
#include "sigchain.h"
#include "strbuf.h"
#include "string-list.h"
#include "trace.h"
#ifdef __linux__
#include <sys/prctl.h>
#endif

/*
 * Only the delta bases of neighbouring files are worth keeping. The default of
 * core.deltaBaseCacheLimit, 96 MiB, is meant for walks over history and would
 * be spent by each worker.
 */
#define DELTA_BASE_CACHE_LIMIT (16 * 1024 * 1024)

static const char * const checkout_worker_usage[] = {
	"git checkout--worker --protocol=<n> [--root=<dir>] [--stat] [--donor=<dir>]...\n"
	"                     [--filters] [--filter-stderr=<fd>] [--git-prefix=<prefix>]\n"
	"                     [--ref=<ref>] [--treeish=<oid>]",
	"git checkout--worker --protocol=<n> [--root=<dir>] --list-donors",
	NULL
};

#ifdef SIGXFSZ
static void do_nothing(int sig UNUSED)
{
}
#endif

/*
 * A limit on the size of files (RLIMIT_FSIZE) is to be an error of write(), so
 * that the entry is declined. But a filter, that would inherit SIG_IGN, is to
 * end as ever.
 */
static void outlive_size_limit(void)
{
#ifdef SIGXFSZ
	signal(SIGXFSZ, do_nothing);
#endif
}

/*
 * No filter outlives us. The main process waits for us when it ends; less long
 * than this would be one that hangs.
 */
#define FILTERS_TIMEOUT_MS 2000

/* A filter is ended by a handler of run-command.c. */
static void end_on_signal(int sig)
{
	if (writer_abandon(sig))
		return;
	sigchain_pop(sig);
	raise(sig);
}

/*
 * When the main process ends, it tells us to, with SIGTERM; where it is killed,
 * Linux does that for it. Elsewhere, or if whoever has started us is between
 * it and us, end_if_unwanted() finds out.
 */
static void end_with_main_process(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGTERM, SIGQUIT };
	int is_ignored[ARRAY_SIZE(signals)];

	signal(SIGTERM, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		is_ignored[i] = signal(signals[i], SIG_DFL) == SIG_IGN;
		if (is_ignored[i])
			signal(signals[i], SIG_IGN);
	}

	/* The file goes first: later, another one may have its name. */
	clean_all_children(FILTERS_TIMEOUT_MS);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (is_ignored[i])
			sigchain_pop(signals[i]);
		else
			sigchain_push(signals[i], end_on_signal);
	}
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
#endif
}

/*
 * If nobody is there to read our answers, nobody wants the files. It is enough
 * to look once in a while: what takes less is under way.
 */
#define LOOK_NS 1000000

static void end_if_unwanted(void)
{
	static uint64_t looked_ns;
	struct pollfd pollfd = { .fd = 1, .events = POLLOUT };
	uint64_t now_ns = getnanotime();

	if (now_ns - looked_ns < LOOK_NS)
		return;
	looked_ns = now_ns;
	if (poll(&pollfd, 1, 0) > 0 && (pollfd.revents & (POLLERR | POLLHUP)))
		raise(SIGTERM);
}

/*
 * Is this the Git that has started us? Ask before the options are parsed, since
 * these are what changes together with the protocol.
 */
static void check_protocol(int argc, const char **argv)
{
	const char *value = NULL;
	int protocol;

	for (int i = 1; i < argc; i++)
		skip_prefix(argv[i], "--protocol=", &value);
	if (!value || strtol_i(value, 10, &protocol) ||
	    protocol != WIRE_PROTOCOL) {
		die_message(_("checkout worker of protocol %d was asked for %s; "
			      "was Git replaced while it was running?"),
			    WIRE_PROTOCOL, value ? value : _("none"));
		exit(129);	/* as for options that it does not know */
	}
}

/* What the main process says about filters. */
struct worker_filters {
	int run, stderr_fd;
	const char *git_prefix, *ref, *treeish;
};

/*
 * A filter is to find what it would find if the main process had started it.
 * What it says goes to the user, and what we say does not, now that they share
 * a standard error.
 */
static void prepare_filters(const struct worker_filters *filters,
			    struct checkout_smudge *smudge,
			    struct repository *repo)
{
	struct object_id treeish;
	struct silence silence;

	if (filters->treeish &&
	    get_oid_hex_algop(filters->treeish, &treeish, repo->hash_algo))
		die(_("malformed object name '%s'"), filters->treeish);
	smudge_init(smudge, filters->ref, filters->treeish ? &treeish : NULL);

	if (filters->git_prefix)
		setenv(GIT_PREFIX_ENVIRONMENT, filters->git_prefix, 1);
	else
		unsetenv(GIT_PREFIX_ENVIRONMENT);
	be_silent(&silence);	/* to the end */
	if (filters->stderr_fd >= 0 && dup2(filters->stderr_fd, 2) >= 0)
		close(filters->stderr_fd);
}

int cmd_checkout__worker(int argc,
			 const char **argv,
			 const char *prefix,
			 struct repository *repo)
{
	struct checkout_writer writer;
	struct checkout_smudge smudge;
	struct worker_filters filters = { .stderr_fd = -1 };
	struct string_list donors = STRING_LIST_INIT_DUP;
	const char *root = "", *unused;
	int protocol = 0, want_stat = 0, want_donors = 0, ret;
	struct option options[] = {
		/* check_protocol() has looked at it */
		OPT_INTEGER(0, "protocol", &protocol,
			    N_("version of the messages")),
		OPT_STRING(0, "root", &root, N_("dir"),
			   N_("write files below <dir>")),
		OPT_BOOL(0, "stat", &want_stat,
			 N_("answer with stat data")),
		OPT_STRING_LIST(0, "donor", &donors, N_("dir"),
				N_("entries may say that <dir> has their file")),
		OPT_BOOL(0, "filters", &filters.run,
			 N_("run the filters that entries come with")),
		OPT_INTEGER(0, "filter-stderr", &filters.stderr_fd,
			    N_("descriptor of their standard error")),
		OPT_STRING(0, "git-prefix", &filters.git_prefix, N_("prefix"),
			   N_("GIT_PREFIX of filters")),
		OPT_STRING(0, "ref", &filters.ref, N_("ref"),
			   N_("the ref that filters are told")),
		OPT_STRING(0, "treeish", &filters.treeish, N_("oid"),
			   N_("the tree-ish that filters are told")),
		OPT_BOOL(0, "list-donors", &want_donors,
			 N_("only list files of other working trees")),
		OPT_END()
	};

	show_usage_with_options_if_asked(argc, argv,
					 checkout_worker_usage, options);

	check_protocol(argc, argv);
	repo_config(repo, git_default_config, NULL);
	prepare_repo_settings(repo);
	if (repo_config_get_value(repo, "core.deltabasecachelimit", &unused))
		repo->settings.delta_base_cache_limit = DELTA_BASE_CACHE_LIMIT;
	argc = parse_options(argc, argv, prefix, options,
			     checkout_worker_usage, 0);
	if (argc)
		usage_with_options(checkout_worker_usage, options);

	end_with_main_process();
	if (want_donors) {
		if (list_donors(repo, root, 1))
			die_errno(_("unable to send the list of files"));
		return 0;
	}

	outlive_size_limit();
	if (writer_open(&writer, repo, root, want_stat) < 0)
		die_errno(_("cannot open directory '%s'"), root);
	for (size_t i = 0; i < donors.nr; i++)
		writer_add_donor(&writer, donors.items[i].string);

	writer.end_if_unwanted = end_if_unwanted;
	if (filters.run) {
		prepare_filters(&filters, &smudge, repo);
		writer.smudge = &smudge;
	}
	ret = worker_serve(&writer);

	writer_close(&writer);
	string_list_clear(&donors, 0);
	if (filters.run)
		smudge_release(&smudge);
	return ret ? 128 : 0;
}
