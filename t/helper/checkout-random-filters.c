/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a random case has that is about filters (--filters): the drivers, and
 * the attributes that ask for them.
 */
#include "git-compat-util.h"
#include "checkout-random.h"

#define DRIVERS 6

const struct attribute_line filter_lines[ATTRIBUTE_LINES] = {
	{ 1, { "*.f0 filter=d0", "*.f0 filter=d0", "*.f0 filter=d1",
	       "*.f0 filter=d0 text" } },
	{ 1, { "*.f1 filter=d1", "*.f1 filter=d1 ident", "*.f1 filter=d1",
	       "" } },
	{ 1, { "*.f2 filter=d2", "*.f2 filter=d2 text eol=crlf",
	       "*.f2 filter=d2",
	       "*.f2 filter=d3" } },
	{ 1, { "*.f3 filter=d3 working-tree-encoding=UTF-16LE-BOM text",
	       "*.f3 filter=d3",
	       "*.f3 filter=d3 working-tree-encoding=UTF-16BE text ident",
	       "*.f3 filter=d3" } },
	{ 1, { "*.f4 filter=d4", "*.f4 filter=d4", "*.f4 filter=d4",
	       "*.f4 filter=unknown" } },
	{ 1, { "*.f5 filter=d5", "*.f5 filter=d5", "*.f5 filter=d5 text=auto",
	       "*.f5 filter" } },
	{ 3, { "* text=auto", "", "* text=auto eol=crlf", "* text" } },
	{ 2, { "a/** filter=d0", "", "", "a/* filter=d5" } },
	{ 2, { "b/** -filter", "b/** filter=d4", "", "" } },
	{ 3, { "*/f[0-3]* filter=d1", "", "", "" } },
	{ 3, { "f[0-3]* filter=d3", "", "", "f[0-3]* !filter" } },
	{ 6, { "* filter=d2", "", "", "* filter=d5" } },
	{ 1, { "*.t text", "*.t text eol=crlf", "*.t eol=lf",
	       "*.t filter=d1" } },
	{ 2, { "*.id ident", "*.id ident filter=d2", "",
	       "*.id ident text eol=crlf" } },
	{ 2, { "*.u16 working-tree-encoding=UTF-16LE-BOM text", "",
	       "*.u16 working-tree-encoding=ISO-8859-1 filter=d0", "" } },
	{ 2, { "[attr]mac filter=d4 text eol=crlf", "[attr]mac ident",
	       "[attr]mac filter=d0", "" } },
	{ 1, { "*.m mac", "*.m mac", "*.m mac ident", "" } },
	{ 3, { "*.rd filter=reads", "*.rd filter=reads", "*.rd filter=reads",
	       "" } },
	{ 4, { "*.f0 ident", "", "*.f0 -text", "*.f0 eol=crlf" } },
	{ 4, { "*.f4 text eol=crlf", "", "", "*.f4 ident" } },
	{ 4, { "", "*.f5 working-tree-encoding=UTF-16LE-BOM text", "", "" } },
	{ 6, { "*.f[0-2] filter=d3", "", "", "*.f[0-2] binary" } },
	{ 6, { "c/** eol=crlf text", "", "c/** filter=d5", "" } },
	{ 3, { "", "", "d/** filter=d2", "e*/** filter=d4" } },
};

/* Those that misbehave end the command, or make it fail, so there are few. */
static const char *const processes[] = {
	"", "", "", "",
	"--can=smudge", "--can=clean", "--can=clean --can=smudge --can=delay",
	"--delay=*", "--delay=*", "--delay=GLOB", "--delay=GLOB",
	"--delay=* --list=one", "--delay=GLOB --list=one",
	"--delay=* --fail=GLOB --how=error",
	"--delay=GLOB --fail=GLOB --how=error",
	"--delay=GLOB --fail=GLOB --how=late",
	"--delay=* --fail=GLOB --list=missing", "--delay=GLOB --list=invalid",
	"--delay=GLOB --list=die", "--delay=GLOB --list=error",
	"--delay=GLOB --list=late-invalid", "--delay=* --list=late-die",
	"--fail=GLOB --how=error", "--fail=GLOB --how=error",
	"--fail=GLOB --how=late", "--fail=GLOB --how=unknown",
	"--fail=GLOB --how=die", "--fail=GLOB --how=cut",
	"--fail=GLOB --how=noise",
};

static const char *const bad_starts[] = {
	"--start=none", "--start=garbage", "--start=welcome",
	"--start=capability",
};

static const char *const one_shots[] = {
	"", "", "", "",
	"--fail=GLOB --how=error", "--fail=GLOB --how=error",
	"--fail=GLOB --how=cut",
	"--fail=GLOB --how=die", "--fail=GLOB --how=early",
	"--fail=GLOB --how=noise",
};

static const char *const other_commands[] = {
	"cat", "sed -e s/e/E/", "", "false", "no-such-command", "echo %f; cat",
};

static const char *const globs[] = {
	"*f1*", "*f[0-3]*", "*[02468].f*", "*/*", "a/*", "*.f[0-2]", "*",
};

/* GLOB stands for one of the globs. */
static void add_options(struct random_case *c, struct strbuf *out,
			const char *options)
{
	const char *found;

	while ((found = strstr(options, "GLOB"))) {
		strbuf_add(out, options, found - options);
		strbuf_addf(out, "\"%s\"", PICK(c, globs));
		options = found + strlen("GLOB");
	}
	strbuf_addstr(out, options);
}

static void add_value(struct random_case *c, struct strbuf *out,
		      const char *key, const char *value)
{
	if (!keep(c))
		return;
	strbuf_addf(out, "\t%s = \"", key);
	for (; *value; value++) {
		if (strchr("\"\\", *value))
			strbuf_addch(out, '\\');
		strbuf_addch(out, *value);
	}
	strbuf_addstr(out, "\"\n");
}

static void add_tool(struct random_case *c, struct strbuf *out, const char *key,
		     unsigned int driver, const char *options, const char *args)
{
	struct strbuf value = STRBUF_INIT, expanded = STRBUF_INIT;

	add_options(c, &expanded, options);
	strbuf_addf(&value, "exec \"$TOOL\" checkout-filter --name=d%u %s%s%s",
		    driver, expanded.buf, expanded.len ? " " : "", args);
	add_value(c, out, key, value.buf);
	strbuf_release(&expanded);
	strbuf_release(&value);
}

static void add_one_shot(struct random_case *c, struct strbuf *out,
			 unsigned int driver)
{
	switch (below(c, 7)) {
	case 0:
		add_value(c, out, "smudge", PICK(c, other_commands));
		break;
	case 1:
		break;
	default:
		add_tool(c, out, "smudge", driver, PICK(c, one_shots),
			 "smudge %f");
	}
	if (!one_in(c, 6))
		add_tool(c, out, "clean", driver, "", "clean %f");
}

static void add_process(struct random_case *c, struct strbuf *out,
			unsigned int driver)
{
	if (one_in(c, 25))
		add_value(c, out, "process", "no-such-command");
	else
		add_tool(c, out, "process", driver, one_in(c, 20) ?
			 PICK(c, bad_starts) : PICK(c, processes), "process");
}

static void add_flag(struct random_case *c, struct strbuf *out,
		     const char *key)
{
	static const char *const values[] = { "", " = true", " = yes",
					      " = false" };
	const char *value = PICK(c, values);

	if (keep(c))
		strbuf_addf(out, "\t%s%s\n", key, value);
}

/*
 * One that looks at the working tree must not be run in parallel: it depends on
 * the order in which files are written.
 */
static void add_reader(struct random_case *c, struct strbuf *out, int forced)
{
	strbuf_addstr(out, "[filter \"reads\"]\n");
	add_value(c, out, "clean", "sed s/x/x/");
	add_value(c, out, "smudge", forced ? "cat" :
		  "case %f in [a-zA-Z]*) cat .version 2>&1;; esac; cat");
}

void add_drivers(struct random_case *c, struct strbuf *out, struct strbuf *vars)
{
	int forced = one_in(c, 3);

	strbuf_addf(vars, "filter_parallel=%d\n", forced);
	for (unsigned int i = 0; i < DRIVERS; i++) {
		/* sometimes the one before, which has the same process then */
		unsigned int name = i && one_in(c, 6) ? i - 1 : i;
		unsigned int kind = below(c, 10);

		strbuf_addf(out, "[filter \"d%u\"]\n", i);
		if (kind < 4 || kind == 9)
			add_one_shot(c, out, name);
		if (kind >= 4)
			add_process(c, out, name);
		if (one_in(c, 6))
			add_flag(c, out, "required");
		if (!one_in(c, 3))
			add_flag(c, out, "parallel");
	}
	add_reader(c, out, forced);
}
