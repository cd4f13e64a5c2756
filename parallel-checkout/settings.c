/* SPDX-License-Identifier: GPL-2.0-only */
/* What is configured about workers; see settings.h. */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "config.h"
#include "gettext.h"
#include "parallel-checkout/settings.h"
#include "parse.h"
#include "thread-utils.h"

/* As it has been with a number of workers since there are any. */
#define DEFAULT_THRESHOLD 100

/* It is only on Linux that "auto" was measured; see the Makefile. */
#ifdef CHECKOUT_WORKERS_AUTO
#define DEFAULT_WORKERS 0
#else
#define DEFAULT_WORKERS 1
#endif

static int parse_workers(const char *name, const char *value, int *nr)
{
	if (!strcasecmp(value, "auto"))
		*nr = 0;
	else if (!git_parse_int(value, nr))
		return error(_("bad value '%s' for '%s': %s"), value, name,
			     errno == ERANGE ? _("out of range") :
			     _("neither a number nor 'auto'"));
	else if (*nr < 1)
		*nr = online_cpus();
	return 0;
}

void get_checkout_workers(struct checkout_workers *config)
{
	const char *name = "GIT_TEST_CHECKOUT_WORKERS";
	const char *value = getenv(name);

	config->threshold = 0;
	if (value && *value) {
		if (parse_workers(name, value, &config->nr))
			exit(128);
		return;
	}

	name = "checkout.workers";
	config->nr = DEFAULT_WORKERS;
	if (!repo_config_get_string_tmp(the_repository, name, &value) &&
	    parse_workers(name, value, &config->nr))
		git_die_config(the_repository, name, NULL);
	if (repo_config_get_int(the_repository,
				"checkout.thresholdForParallelism",
				&config->threshold))
		config->threshold = config->nr ? DEFAULT_THRESHOLD : -1;
	else if (config->threshold < 0)
		config->threshold = 0;
}

enum checkout_reflink get_checkout_reflink(void)
{
	const char *key = "checkout.reflink", *value;
	int as_bool;

	if (repo_config_get_value(the_repository, key, &value))
		return CHECKOUT_REFLINK_NO;
	as_bool = git_parse_maybe_bool(value);
	if (as_bool >= 0)
		return as_bool ? CHECKOUT_REFLINK_SOUND : CHECKOUT_REFLINK_NO;
	if (!strcasecmp(value, "force"))
		return CHECKOUT_REFLINK_FORCE;
	if (!strcasecmp(value, "auto"))
		return CHECKOUT_REFLINK_SOUND;
	git_die_config(the_repository, key,
		       _("bad value '%s' for '%s': neither a boolean nor 'force'"),
		       value, key);
}
