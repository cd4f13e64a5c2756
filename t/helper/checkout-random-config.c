/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configuration of a random case: what kind of repository it is, its
 * config and attributes, and what the shell does to set it up.
 */
#include "git-compat-util.h"
#include "checkout-random.h"

static const struct attribute_line attribute_lines[ATTRIBUTE_LINES] = {
	{ 1, { "*.t text", "*.t text eol=crlf", "*.t text eol=lf",
	       "*.t -text" } },
	{ 1, { "*.crlf text eol=crlf", "*.crlf text eol=crlf", "*.crlf eol=lf",
	       "" } },
	{ 1, { "*.lf text eol=lf", "", "*.lf text=auto", "*.lf text" } },
	{ 2, { "*.id ident", "*.id ident", "", "*.id ident text eol=crlf" } },
	{ 2, { "*.u16 working-tree-encoding=UTF-16LE-BOM text",
	       "*.u16 working-tree-encoding=UTF-16BE text",
	       "*.u16 working-tree-encoding=ISO-8859-1 text", "" } },
	{ 2, { "*.bin binary", "", "*.bin -text", "" } },
	{ 3, { "*.fl filter=turn", "", "*.fl filter=turn ident", "" } },
	{ 3, { "*.pf filter=serve", "*.pf filter=serve", "",
	       "*.pf filter=late" } },
	{ 4, { "*.bad filter=bad", "", "", "*.bad filter=unknown" } },
	{ 3, { "* text=auto", "", "", "f1* text eol=crlf" } },
	{ 1, { "", "", "a/** eol=crlf", "" } },
	{ 1, { "", "", "", "b/* text" } },
	{ 3, { "*.rd filter=reads", "*.rd filter=reads", "*.rd filter=reads",
	       "" } },
	{ 4, { "*.ns filter=noisy", "", "*.ns filter=noisy", "" } },
	{ 4, { "*.pk filter=picky", "*.pk filter=must", "",
	       "*.pk filter=picky" } },
	{ 4, { "*.rq filter=required", "*.rq filter=required text", "", "" } },
	{ 4, { "*.enc working-tree-encoding=UTF-99", "",
	       "*.enc working-tree-encoding=UTF-8",
	       "*.enc working-tree-encoding" } },
	{ 4, { "[attr]mac text eol=crlf", "[attr]mac ident", "[attr]mac -text",
	       "" } },
	{ 1, { "*.m mac", "*.m mac", "*.m mac ident", "" } },
	{ 6, { "b/** filter=lists", "*.ls filter=lists", "", "" } },
	{ 6, { "*.r filter=serve", "*.a filter=late", "", "*.t filter=late" } },
	{ 20, { "", "", "", "*.t filter=dies" } },
	{ 12, { "", "", "", "* filter=reads" } },
	{ 1, { "", "", "", "f[2-5] eol=crlf" } },
};

static const struct attribute_line *lines_of(struct random_case *c)
{
	return c->filters ? filter_lines : attribute_lines;
}

void add_attribute_line(struct random_case *c, struct strbuf *out,
			unsigned int line, unsigned int variant)
{
	strbuf_addf(out, "%s\n", lines_of(c)[line].variants[variant % 4]);
}

void choose_kind(struct random_case *c, struct strbuf *out)
{
	static const char *const masks[] = {
		"022", "022", "022", "027", "002", "077",
	};
	static const char *const settings[] =
		{ "1", "2", "3", "16", "auto", "auto0" };
	const char *hash = one_in(c, 8) ? "sha256" : "sha1";
	/* "auto" if there is a reason */
	unsigned int first = below(c, 6);

	c->rawsz = !strcmp(hash, "sha1") ? 20 : 32;
	c->ignore_case = one_in(c, 10);
	c->large = one_in(c, 40);
	c->big = one_in(c, 30);
	if (c->big)
		first = 4;
	c->odd_names = one_in(c, 6);
	c->deep = one_in(c, 25);
	c->long_paths = one_in(c, 40);
	c->submodules = one_in(c, 8);
	c->populated = one_in(c, 2);
	c->loose = one_in(c, 10);
	c->reftable = one_in(c, 15);
	c->included = one_in(c, 8);
	c->attributes_file = one_in(c, 8);
	c->dir_links = one_in(c, 4);
	c->chain = one_in(c, 3);
	c->has_mbox = one_in(c, 25);
	c->sparse = one_in(c, 6);
	/* what is found only when workers are started in the midst */
	c->submodules |= c->big && one_in(c, 4);
	c->included |= c->big && one_in(c, 4);
	c->attributes_file |= c->big && one_in(c, 4);
	for (unsigned int i = 0; i < ATTRIBUTE_LINES; i++)
		c->attributes[i] = one_in(c, lines_of(c)[i].one_in);
	switch (c->submodules ? 0 : below(c, 30)) {
	case 1: case 2:
		c->source = PARTIAL;
		break;
	case 3:
		c->source = SHALLOW;
		break;
	case 4:
		c->source = SHARED;
		break;
	}
	strbuf_addf(out, "hash=%s\nrefs=%s\nmask=%s\nsettings='%s %s %s'\n", hash,
		    c->reftable ? "reftable" : "files", PICK(c, masks),
		    settings[first], settings[(first + 1 + below(c, 2)) % 6],
		    settings[(first + 3 + below(c, 3)) % 6]);
	strbuf_addf(out, "source=%u\npopulate=%u\nunpack=%u\n", c->source,
		    c->submodules && c->populated, c->loose ? 100000 : 1);
}

struct config_line {
	const char *line;
	unsigned int one_in;
};

static const struct config_line lines[] = {
	{ "core.autocrlf=true", 8 },
	{ "core.autocrlf=input", 8 },
	{ "core.eol=crlf", 6 },
	{ "core.bigFileThreshold=500", 3 },
	{ "core.symlinks=false", 12 },
	{ "core.fileMode=false", 12 },
	{ "core.checkStat=minimal", 12 },
	{ "core.splitIndex=true", 20 },
	{ "core.untrackedCache=true", 20 },
	{ "core.fsmonitor=.git/hooks/fsmonitor", 30 },
	{ "core.sharedRepository=group", 30 },
	{ "core.sharedRepository=0660", 40 },
	{ "core.protectNTFS=false", 15 },
	{ "core.quotePath=false", 15 },
	{ "core.safecrlf=true", 30 },
	{ "core.preloadIndex=false", 15 },
	{ "core.attributesFile=../outdir/attrs", 12 },
	{ "core.hooksPath=.git/hooks", 20 },
	{ "index.sparse=true", 10 },
	{ "index.version=4", 20 },
	{ "index.skipHash=true", 20 },
	{ "attr.tree=two", 30 },
	{ "attr.tree=nothing", 60 },
	{ "merge.renormalize=true", 20 },
	{ "merge.conflictStyle=diff3", 20 },
	{ "checkout.guess=false", 20 },
	{ "filter.required.smudge=cat", 60 },
	{ "filter.reads.required=true", 12 },
	{ "filter.serve.required=true", 20 },
	{ "filter.late.required=true", 20 },
	{ "filter.noisy.required=true", 20 },
	{ "filter.picky.required=true", 10 },
	{ "filter.bad.required=true", 10 },
	{ "filter.turn.required", 20 },
	{ "submodule.sub.update=none", 40 },
	{ "submodule.sub.ignore=all", 40 },
	{ "extensions.worktreeConfig=true", 60 },
};

static void add_config_line(struct random_case *c, struct strbuf *out,
			    const char *line)
{
	const char *value = strchrnul(line, '=');
	const char *dot = value;

	if (!keep(c))
		return;
	while (*--dot != '.')
		; /* find the last one of the key */
	if (memchr(line, '.', dot - line)) {
		const char *first = strchr(line, '.');

		strbuf_addf(out, "[%.*s \"%.*s\"]\n", (int)(first - line), line,
			    (int)(dot - first - 1), first + 1);
	} else {
		strbuf_addf(out, "[%.*s]\n", (int)(dot - line), line);
	}
	strbuf_addf(out, "\t%.*s", (int)(value - dot - 1), dot + 1);
	if (*value)
		strbuf_addf(out, " = %s", value + 1);
	strbuf_addch(out, '\n');
}

void add_config(struct random_case *c, struct strbuf *out)
{
	/*
	 * The change time cannot be set, so it depends on the machine's speed.
	 */
	strbuf_addf(out, "[core]\n\ttrustCtime = false\n\tignoreCase = %s\n",
		    c->ignore_case ? "true" : "false");
	if (c->big)
		strbuf_addstr(out,
			      "\tcompression = 0\n[pack]\n\tcompression = 0\n");
	for (unsigned int i = 0; i < ARRAY_SIZE(lines); i++)
		if (one_in(c, lines[i].one_in))
			add_config_line(c, out, lines[i].line);
	if (c->attributes_file)
		add_config_line(c, out, one_in(c, 4) ? "core.attributesFile=b" :
				"core.attributesFile=attrs");
	if (c->submodules && !one_in(c, 4))
		add_config_line(c, out, "submodule.recurse=true");
	/* A fetch reads it as it is by then, and ours come before files. */
	if (c->included && c->source != PARTIAL)
		add_config_line(c, out, "include.path=../.gitconfig");
	if (c->filters && one_in(c, 4))
		add_config_line(c, out, one_in(c, 2) ?
				"filter.d0.parallel=true" :
				"filter.d0.parallel=false");
}

static void add_hook(struct random_case *c, struct strbuf *out,
		     unsigned int n, const char *name, const char *text)
{
	if (one_in(c, n) && keep(c))
		strbuf_addf(out, "hook %s '%s'\n", name, text);
}

static void add_info(struct random_case *c, struct strbuf *out)
{
	unsigned int n = 1 + below(c, 3);

	strbuf_addstr(out, "mkdir -p repo/.git/info\n"
		      "cat >repo/.git/info/attributes <<\\EOF\n");
	while (n--) {
		unsigned int line = below(c, ATTRIBUTE_LINES);
		unsigned int variant = below(c, 4);

		if (keep(c) && c->attributes[line])
			add_attribute_line(c, out, line, variant);
	}
	strbuf_addstr(out, "EOF\n");
}

static void add_replace(struct random_case *c, struct strbuf *out)
{
	for (unsigned int n = 1 + below(c, 3); n; n--) {
		char *old = xstrdup(any_path(c));
		const char *new = any_path(c);
		int kept = keep(c);

		if (kept && !strpbrk(old, "'\n\\\"") &&
		    !strpbrk(new, "'\n\\\""))
			strbuf_addf(out, "git -C repo replace -f 'one:%s' 'two:%s' "
				    ">/dev/null 2>&1 || :\n", old, new);
		free(old);
	}
}

void add_setup(struct random_case *c, struct strbuf *out)
{
	if (one_in(c, 6))
		add_info(c, out);
	if (one_in(c, 25))
		add_replace(c, out);
	if (c->has_mbox)
		strbuf_addstr(out, "git -C repo format-patch -q --stdout one..two >mbox\n");
	add_hook(c, out, 15, "post-checkout",
		 "echo \"$3\"; find . -name .git -prune -o -type f -exec cksum {} + | sort");
	add_hook(c, out, 25, "reference-transaction", "echo \"$1\"; cat");
	add_hook(c, out, 40, "post-merge", "ls -R");
	add_hook(c, out, 60, "pre-commit", "test ! -f f1");
	strbuf_addstr(out, "hook fsmonitor 'printf \"t\\\\0/\\\\0\"'\n");
	strbuf_addstr(out, "cat >outdir/.gitattributes <<\\EOF\n");
	if (keep(c))
		strbuf_addstr(out, "* text eol=crlf\n");
	if (keep(c))
		strbuf_addstr(out, "*.t filter=turn\nf1* filter=bad\n");
	strbuf_addstr(out, "EOF\ncp outdir/.gitattributes outdir/in\n"
		      "cat >outdir/attrs <<\\EOF\n");
	for (unsigned int i = 0; i < ATTRIBUTE_LINES; i++) {
		unsigned int variant = below(c, 4);

		if (one_in(c, 4) && c->attributes[i])
			add_attribute_line(c, out, i, variant);
	}
	strbuf_addstr(out, "EOF\n");
}
