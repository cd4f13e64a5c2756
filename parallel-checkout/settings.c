/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is configured about workers; see parallel-checkout/settings.h.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "config.h"
#include "gettext.h"
#include "parallel-checkout/settings.h"
#include "parse.h"
#include "thread-utils.h"

/* As it has been with a number of workers since there are any. */
#define DEFAULT_THRESHOLD 100

static int parse_workers(const char *name, const char *value)
{
	int nr;

	if (!strcasecmp(value, "auto"))
		return 0;
	if (!git_parse_int(value, &nr))
		die(_("bad value '%s' for '%s': neither a number nor '%s'"),
		    value, name, "auto");
	return nr < 1 ? online_cpus() : nr;
}

static const char *env_value(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

void get_checkout_workers(struct checkout_workers *config)
{
	const char *test = "GIT_TEST_CHECKOUT_WORKERS";
	const char *env = "GIT_CHECKOUT_WORKERS", *key = "checkout.workers";
	const char *value;

	config->nr = 0;
	config->threshold = 0;
	if ((value = env_value(test))) {
		config->nr = parse_workers(test, value);
		return;
	}

	if ((value = env_value(env))) {
		config->nr = parse_workers(env, value);
	} else if (!git_config_get_value(key, &value)) {
		if (!value)
			die(_("missing value for '%s'"), key);
		config->nr = parse_workers(key, value);
	}
	if (git_config_get_int("checkout.thresholdForParallelism",
			       &config->threshold))
		config->threshold = config->nr ? DEFAULT_THRESHOLD : -1;
	else if (config->threshold < 0)
		config->threshold = 0;
}
