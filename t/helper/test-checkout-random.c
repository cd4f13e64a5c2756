/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make up a case for the comparison of parallel and sequential checkout: a
 * repository, and what is done with it. The same seed gives the same case on
 * every platform.
 */
#include "test-tool.h"
#include "gettext.h"
#include "quote.h"
#include "strbuf.h"
#include "string-list.h"
#include "strvec.h"
#include "wrapper.h"

static const char usage_string[] =
	"test-tool checkout-random <seed> <directory>\n"
	"\n"
	"Writes files into the directory: \"stream\" for fast-import, with the\n"
	"branches one, two and three; \"config\"; \"vars\", with settings for the\n"
	"shell; and \"script\", which calls the shell functions change, lines\n"
	"and run.";

#define MAX_LINES 12
#define BRANCHES 3

static const char *const branch_names[BRANCHES] = { "one", "two", "three" };

enum style {
	TEXT, CRLF, MIXED, NO_NEWLINE, IDENT, BINARY, BAD_UTF8, EMPTY,
	ATTRIBUTES, IGNORE
};

/* A file; its contents follow from the rest. */
struct file {
	unsigned int mode;
	enum style style;
	unsigned int number;
	unsigned char version[MAX_LINES];	/* of each line */
	unsigned wide : 1;	/* lines are long */
};

struct random_case {
	uint64_t state;

	unsigned int rawsz;		/* of an object ID */
	unsigned ignore_case : 1;
	unsigned large : 1;
	unsigned int files_made;
	unsigned int dirs_made;		/* outside of the working tree */

	struct string_list trees[BRANCHES];	/* util is a struct file */
	struct string_list paths;		/* in any of them */
	struct strbuf script;
};

/* splitmix64 */
static uint64_t next_random(struct random_case *c)
{
	uint64_t z = (c->state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* less than n */
static unsigned int below(struct random_case *c, unsigned int n)
{
	return (next_random(c) >> 16) % n;
}

static int one_in(struct random_case *c, unsigned int n)
{
	return !below(c, n);
}

#define PICK(c, array) ((array)[below((c), ARRAY_SIZE(array))])

static const char *any_branch(struct random_case *c)
{
	return PICK(c, branch_names);
}

/* ---- names ---- */

static const char *const dir_names[] = { "a", "b", "c", "d", "e e" };

static void add_dir_name(struct random_case *c, struct strbuf *path)
{
	size_t start = path->len;

	strbuf_addstr(path, PICK(c, dir_names));
	if (c->ignore_case && one_in(c, 4))
		path->buf[start] = toupper(path->buf[start]);
	if (c->large)
		strbuf_addf(path, "%u", below(c, 4));
}

/* Valid until the next call. */
static const char *random_path(struct random_case *c)
{
	static const char *const suffixes[] = {
		"", "", "", "", "", ".t", ".t", ".crlf", ".lf", ".id", ".u16",
		".bin", ".fl", ".pf", ".bad", " it's", "\303\251",
	};
	static const unsigned char depths[] = { 0, 0, 1, 1, 1, 2, 2, 3 };
	static struct strbuf path = STRBUF_INIT;
	unsigned int depth = PICK(c, depths);

	strbuf_reset(&path);
	while (depth--) {
		add_dir_name(c, &path);
		strbuf_addch(&path, '/');
	}
	if (one_in(c, 8)) {
		add_dir_name(c, &path);
	} else {
		int upper = c->ignore_case && one_in(c, 3);

		strbuf_addf(&path, "%c%u%s", upper ? 'F' : 'f',
			    below(c, c->large ? 30 : 8), PICK(c, suffixes));
	}
	return path.buf;
}

/* A path of the repository, mostly. */
static const char *any_path(struct random_case *c)
{
	if (one_in(c, 8))
		return random_path(c);
	return c->paths.items[below(c, c->paths.nr)].string;
}

/* A leading directory of a path, mostly. Valid until the next call. */
static const char *any_dir(struct random_case *c)
{
	static struct strbuf dir = STRBUF_INIT;
	const char *slash;

	strbuf_reset(&dir);
	for (int i = 0; i < 10 && !dir.len; i++) {
		const char *path = any_path(c);

		slash = one_in(c, 2) ? strchr(path, '/') : strrchr(path, '/');
		if (slash)
			strbuf_add(&dir, path, slash - path);
	}
	if (!dir.len)
		strbuf_addstr(&dir, "a");
	return dir.buf;
}

/* ---- trees ---- */

static void put_file(struct string_list *tree, const char *path,
		     const struct file *file)
{
	struct file *copy = xmalloc(sizeof(*copy));
	struct string_list_item *item;

	/* nothing is both a file and a directory */
	for (size_t i = tree->nr; i > 0; i--) {
		const char *old = tree->items[i - 1].string, *rest;

		if (!strcmp(old, path) ||
		    (skip_prefix(old, path, &rest) && *rest == '/') ||
		    (skip_prefix(path, old, &rest) && *rest == '/')) {
			free(tree->items[i - 1].util);
			string_list_remove(tree, old, 0);
			i = tree->nr + 1;
		}
	}
	*copy = *file;
	item = string_list_insert(tree, path);
	item->util = copy;
}

static void make_file(struct random_case *c, struct file *file)
{
	static const enum style styles[] = {
		TEXT, TEXT, TEXT, TEXT, TEXT, CRLF, CRLF, MIXED, NO_NEWLINE,
		IDENT, IDENT, BINARY, BAD_UTF8, EMPTY,
	};
	static const unsigned int modes[] = {
		0100644, 0100644, 0100644, 0100644, 0100644, 0100644, 0100644,
		0100755, 0100755, 0120000, 0120000,
	};

	memset(file, 0, sizeof(*file));
	file->mode = one_in(c, 25) ? 0160000 : PICK(c, modes);
	file->style = PICK(c, styles);
	file->wide = one_in(c, 12);
	file->number = c->files_made++;
}

static void put_attributes(struct random_case *c, struct string_list *tree,
			   const char *path)
{
	struct file file = { .mode = 0100644, .style = ATTRIBUTES };

	for (int i = 0; i < MAX_LINES; i++)
		file.version[i] = below(c, 4);
	put_file(tree, path, &file);
}

static const struct file *any_file(struct random_case *c,
				   struct string_list *tree, const char **path)
{
	struct string_list_item *item = &tree->items[below(c, tree->nr)];

	*path = item->string;
	return item->util;
}

static void change_tree(struct random_case *c, struct string_list *tree)
{
	struct file file;
	const char *path;
	char *copy;

	file = *any_file(c, tree, &path);
	copy = xstrdup(path);
	switch (file.style == ATTRIBUTES ? 12 : below(c, 12)) {
	case 0: case 1: case 2: case 3: /* edit */
		file.version[below(c, MAX_LINES)]++;
		put_file(tree, copy, &file);
		break;
	case 4: /* change the mode */
		if (S_ISREG(file.mode))
			file.mode ^= 0111;
		put_file(tree, copy, &file);
		break;
	case 5: /* something else, maybe of another type */
		make_file(c, &file);
		put_file(tree, copy, &file);
		break;
	case 6: case 7: /* remove */
		if (tree->nr > 5) {
			free(string_list_lookup(tree, copy)->util);
			string_list_remove(tree, copy, 0);
		}
		break;
	case 8: case 9: case 10:
		make_file(c, &file);
		put_file(tree, random_path(c), &file);
		break;
	case 11: /* a file becomes a directory, or the reverse */
		make_file(c, &file);
		if (one_in(c, 2)) {
			char *below_it = xstrfmt("%s/f%u", copy, below(c, 4));

			put_file(tree, below_it, &file);
			free(below_it);
		} else {
			char *slash = strrchr(copy, '/');

			if (slash)
				*slash = '\0';
			put_file(tree, copy, &file);
		}
		break;
	default:
		put_attributes(c, tree, copy);
	}
	free(copy);
}

static void make_trees(struct random_case *c)
{
	unsigned int n = c->large ? 250 : 8 + below(c, 45);
	struct file file;

	for (int b = 0; b < BRANCHES; b++)
		string_list_init_dup(&c->trees[b]);
	string_list_init_dup(&c->paths);

	while (n--) {
		make_file(c, &file);
		put_file(&c->trees[0], random_path(c), &file);
	}
	if (!one_in(c, 4))
		put_attributes(c, &c->trees[0], ".gitattributes");
	if (one_in(c, 4))
		put_attributes(c, &c->trees[0], "a/.gitattributes");
	if (one_in(c, 3)) {
		file.mode = 0100644;
		file.style = IGNORE;
		put_file(&c->trees[0], ".gitignore", &file);
	}

	for (int b = 1; b < BRANCHES; b++) {
		struct string_list_item *item;

		for_each_string_list_item(item, &c->trees[0])
			put_file(&c->trees[b], item->string, item->util);
		n = 1 + below(c, c->trees[0].nr / (1 + below(c, 4)) + 1);
		while (n--)
			change_tree(c, &c->trees[b]);
	}
	for (int b = 0; b < BRANCHES; b++) {
		struct string_list_item *item;

		for_each_string_list_item(item, &c->trees[b])
			string_list_insert(&c->paths, item->string);
	}
}

/* ---- contents ---- */

static void add_attributes(const struct file *file, struct strbuf *out)
{
	static const char *const lines[][4] = {
		{ "*.t text", "*.t text eol=crlf", "*.t text eol=lf", "*.t -text" },
		{ "*.crlf text eol=crlf", "*.crlf text eol=crlf", "*.crlf eol=lf", "" },
		{ "*.lf text eol=lf", "", "*.lf text=auto", "*.lf text" },
		{ "*.id ident", "*.id ident", "", "*.id ident text eol=crlf" },
		{ "*.u16 working-tree-encoding=UTF-16LE-BOM text",
		  "*.u16 working-tree-encoding=UTF-16BE text",
		  "*.u16 working-tree-encoding=ISO-8859-1 text", "" },
		{ "*.bin binary", "", "*.bin -text", "" },
		{ "*.fl filter=turn", "", "*.fl filter=turn ident", "" },
		{ "*.pf filter=serve", "*.pf filter=serve", "", "*.pf filter=late" },
		{ "*.bad filter=bad", "", "", "*.bad filter=unknown" },
		{ "* text=auto", "", "", "f1* text eol=crlf" },
		{ "", "", "a/** eol=crlf", "" },
		{ "", "", "", "b/* text" },
	};

	for (int i = 0; i < MAX_LINES; i++)
		strbuf_addf(out, "%s\n", lines[i][file->version[i] % 4]);
}

static void add_contents(const struct file *file, struct strbuf *out)
{
	unsigned int n = 1 + file->number % MAX_LINES;

	if (file->style == ATTRIBUTES) {
		add_attributes(file, out);
		return;
	}
	if (S_ISLNK(file->mode)) {
		static const char *const targets[] = {
			"f1", "a", "../outside", "nothing", ".", "a/f2.t", "..",
		};

		strbuf_addstr(out, targets[(file->number + file->version[0]) %
					   ARRAY_SIZE(targets)]);
		return;
	}
	if (file->style == IGNORE) {
		strbuf_addstr(out, "f3*\nuntracked\n");
		return;
	}
	if (file->style == EMPTY && !file->version[0])
		return;
	for (unsigned int i = 0; i < n; i++) {
		strbuf_addf(out, "line %u of file %u", i, file->number);
		if (file->version[i])
			strbuf_addf(out, ", version %d", file->version[i]);
		if (file->wide)
			strbuf_addchars(out, '=', 300);
		if (file->style == IDENT && i == n / 2)
			strbuf_addstr(out, " $Id$");
		if (file->style == BINARY && i == n / 2)
			strbuf_addch(out, '\0');
		if (file->style == BAD_UTF8 && i == n / 2)
			strbuf_addstr(out, "\377\300");
		if (file->style == CRLF || (file->style == MIXED && i % 2))
			strbuf_addch(out, '\r');
		strbuf_addch(out, '\n');
	}
	if (file->style == NO_NEWLINE)
		strbuf_setlen(out, out->len - 1);
}

static void add_stream(struct random_case *c, struct strbuf *out)
{
	struct strbuf contents = STRBUF_INIT;

	for (int b = 0; b < BRANCHES; b++) {
		struct string_list_item *item;

		strbuf_addf(out, "commit refs/heads/%s\n"
			    "committer C O Mitter <committer@example.com> 1112354055 +0200\n"
			    "data <<E\n%s\nE\n", branch_names[b], branch_names[b]);
		if (b)
			strbuf_addf(out, "from refs/heads/%s\ndeleteall\n",
				    branch_names[0]);
		for_each_string_list_item(item, &c->trees[b]) {
			const struct file *file = item->util;

			if (file->mode == 0160000) {
				strbuf_addf(out, "M 160000 ");
				for (unsigned int i = 0; i < c->rawsz; i++)
					strbuf_addf(out, "%02x", (file->number +
						    file->version[0] + i) % 255 + 1);
				strbuf_addf(out, " %s\n", item->string);
				continue;
			}
			strbuf_reset(&contents);
			add_contents(file, &contents);
			strbuf_addf(out, "M %06o inline %s\ndata %"PRIuMAX"\n",
				    file->mode, item->string,
				    (uintmax_t)contents.len);
			strbuf_addbuf(out, &contents);
			strbuf_addch(out, '\n');
		}
		strbuf_addch(out, '\n');
	}
	strbuf_release(&contents);
}

static void add_config(struct random_case *c, struct strbuf *out)
{
	static const char *const autocrlf[] = { "true", "input" };

	/* The change time cannot be set, so it depends on the machine's speed. */
	strbuf_addstr(out, "[core]\ntrustCtime = false\n");
	if (one_in(c, 4))
		strbuf_addf(out, "autocrlf = %s\n", PICK(c, autocrlf));
	if (one_in(c, 6))
		strbuf_addstr(out, "eol = crlf\n");
	if (one_in(c, 3))
		strbuf_addstr(out, "bigFileThreshold = 500\n");
	if (one_in(c, 12))
		strbuf_addstr(out, "symlinks = false\n");
	if (one_in(c, 12))
		strbuf_addstr(out, "fileMode = false\n");
	if (one_in(c, 12))
		strbuf_addstr(out, "checkStat = minimal\n");
	strbuf_addf(out, "ignoreCase = %s\n", c->ignore_case ? "true" : "false");
}

/* ---- operations ---- */

static void add_command(struct random_case *c, const char *function,
			struct strvec *args)
{
	strbuf_addstr(&c->script, function);
	for (size_t i = 0; i < args->nr; i++) {
		strbuf_addch(&c->script, ' ');
		sq_quote_buf_pretty(&c->script, args->v[i]);
	}
	strbuf_addch(&c->script, '\n');
	strvec_clear(args);
}

static void push_flag(struct random_case *c, struct strvec *args,
		      unsigned int n, const char *flag)
{
	if (one_in(c, n))
		strvec_push(args, flag);
}

static void add_changes(struct random_case *c)
{
	static const char *const kinds[] = {
		"write", "write", "append", "append", "append", "file", "file",
		"file", "remove", "remove", "remove", "dir", "dir", "emptydir",
		"link", "mode", "touch", "touch",
	};
	struct strvec args = STRVEC_INIT;
	unsigned int n = below(c, 7);

	if (one_in(c, 10))
		strvec_push(&args, "remove-all");
	if (one_in(c, c->large ? 3 : 15))
		strvec_push(&args, "write-all");
	if (one_in(c, 12))
		strvec_push(&args, "remove-index");
	if (one_in(c, 3))
		strvec_push(&args, one_in(c, 3) ? "attributes:a/.gitattributes" :
			    "attributes:.gitattributes");
	while (n--) {
		const char *kind = PICK(c, kinds);
		const char *path = one_in(c, 5) ? any_dir(c) : any_path(c);

		strvec_pushf(&args, "%s:%s", kind, path);
	}
	push_flag(c, &args, 2, "refresh");
	if (args.nr)
		add_command(c, "change", &args);
}

static void push_pathspecs(struct random_case *c, struct strvec *args)
{
	static const char *const globs[] = { "*.t", "*f1*", ":!a", "*.crlf" };
	unsigned int n = 1 + below(c, 3);

	strvec_push(args, "--");
	if (one_in(c, 3)) {
		strvec_push(args, ".");
		return;
	}
	while (n--) {
		switch (below(c, 4)) {
		case 0:
			strvec_push(args, PICK(c, globs));
			break;
		case 1:
			strvec_push(args, any_dir(c));
			break;
		default:
			strvec_push(args, any_path(c));
		}
	}
}

static void push_checkout_paths(struct random_case *c, struct strvec *args)
{
	static const char *const sides[] = {
		"--ours", "--theirs", "--merge", "--conflict=diff3",
	};
	static const char *const places[] = { "--staged", "--worktree" };

	if (one_in(c, 2)) {
		strvec_push(args, "restore");
		switch (below(c, 4)) {
		case 0:
			strvec_push(args, PICK(c, sides));
			break;
		case 1:
			strvec_pushf(args, "--source=%s", any_branch(c));
			strvec_pushv(args, (const char *[]){ "--staged",
				     "--worktree", NULL });
			break;
		case 2:
			strvec_pushf(args, "--source=%s", any_branch(c));
			strvec_push(args, PICK(c, places));
			break;
		}
		push_flag(c, args, 3, "--overlay");
		push_flag(c, args, 4, "--ignore-unmerged");
	} else {
		strvec_push(args, "checkout");
		push_flag(c, args, 4, "-f");
		push_flag(c, args, 4, "--no-overlay");
		if (one_in(c, 2))
			strvec_push(args, any_branch(c));
		else if (one_in(c, 3))
			strvec_push(args, PICK(c, sides));
	}
	push_pathspecs(c, args);
}

/* Returns whether the paths come from the standard input. */
static int push_checkout_index(struct random_case *c, struct strvec *args)
{
	static const char *const stages[] = { "1", "2", "3", "all" };
	int from_stdin = one_in(c, 3), n = 1 + below(c, 5);
	struct strvec lines = STRVEC_INIT;

	strvec_push(args, "checkout-index");
	push_flag(c, args, 2, "-f");
	push_flag(c, args, 2, "-u");
	push_flag(c, args, 4, "-q");
	push_flag(c, args, 6, "-n");
	push_flag(c, args, 8, "--ignore-skip-worktree-bits");
	switch (below(c, 7)) {
	case 0:
		strvec_pushf(args, "--prefix=../out%u/", c->dirs_made++);
		break;
	case 1:
		strvec_push(args, "--prefix=pre/x-");
		break;
	case 2:
		strvec_push(args, "--temp");
		break;
	}
	if (one_in(c, 4))
		strvec_pushf(args, "--stage=%s", PICK(c, stages));
	if (!from_stdin && one_in(c, 2)) {
		strvec_push(args, "-a");
		return 0;
	}
	if (from_stdin)
		strvec_push(args, "--stdin");
	else
		strvec_push(args, "--");
	while (n--) {
		const char *path = any_path(c);

		strvec_push(from_stdin ? &lines : args, path);
		if (one_in(c, 8))
			strvec_push(from_stdin ? &lines : args, path);
	}
	if (from_stdin)
		add_command(c, "lines", &lines);
	return from_stdin;
}

static void push_operation(struct random_case *c, struct strvec *args)
{
	static const char *const switches[] = {
		"-f", "-m", "--detach", "-q", "--ignore-other-worktrees",
		"--no-overwrite-ignore",
	};
	static const char *const resets[] = {
		"--hard", "--hard", "--hard", "--keep", "--merge",
	};

	switch (below(c, 29)) {
	case 0: case 1: case 2:
		strvec_push(args, "checkout");
		if (one_in(c, 2))
			strvec_push(args, PICK(c, switches));
		strvec_push(args, any_branch(c));
		break;
	case 3: case 4:
		strvec_pushl(args, "checkout", "-f", any_branch(c), NULL);
		break;
	case 5:
		strvec_push(args, "switch");
		if (one_in(c, 2))
			strvec_push(args, PICK(c, switches));
		strvec_push(args, any_branch(c));
		break;
	case 6: case 7: case 8:
		strvec_pushl(args, "reset", PICK(c, resets), NULL);
		if (!one_in(c, 3))
			strvec_push(args, any_branch(c));
		break;
	case 9: case 10: case 11:
		push_checkout_paths(c, args);
		break;
	case 12:
		strvec_pushl(args, "stash", "push", NULL);
		push_flag(c, args, 3, "-u");
		push_flag(c, args, 4, "-k");
		break;
	case 13:
		strvec_pushl(args, "stash", one_in(c, 3) ? "apply" : "pop", NULL);
		push_flag(c, args, 3, "--index");
		break;
	case 14: case 15:
		strvec_push(args, "merge");
		push_flag(c, args, 4, "--no-commit");
		push_flag(c, args, 5, "--squash");
		push_flag(c, args, 5, "-Xours");
		strvec_push(args, any_branch(c));
		break;
	case 16:
		strvec_pushl(args, "merge", "--abort", NULL);
		break;
	case 17:
		strvec_pushl(args, "cherry-pick", any_branch(c), NULL);
		break;
	case 18:
		strvec_push(args, "clone");
		push_flag(c, args, 5, "--sparse");
		push_flag(c, args, 5, "--shared");
		strvec_pushf(args, "--branch=%s", any_branch(c));
		strvec_pushl(args, "--template=", ".", NULL);
		strvec_pushf(args, "../clone%u", c->dirs_made++);
		break;
	case 19: case 20:
		strvec_push(args, "sparse-checkout");
		switch (below(c, 6)) {
		case 0:
			strvec_push(args, "disable");
			break;
		case 1:
			strvec_push(args, "reapply");
			break;
		case 2: case 3:
			strvec_pushl(args, "set", "--cone", any_dir(c), NULL);
			strvec_push(args, any_dir(c));
			break;
		default:
			strvec_pushl(args, "set", "--no-cone", "/*", NULL);
			strvec_pushf(args, "!/%s", any_dir(c));
			strvec_push(args, "!*.t");
		}
		break;
	case 21:
		strvec_pushl(args, "worktree", "add", "--detach", NULL);
		strvec_pushf(args, "../tree%u", c->dirs_made++);
		strvec_push(args, any_branch(c));
		break;
	case 22:
		strvec_push(args, "read-tree");
		if (one_in(c, 5)) {
			strvec_push(args, any_branch(c));
			break;
		}
		strvec_push(args, one_in(c, 2) ? "--reset" : "-m");
		strvec_push(args, "-u");
		if (one_in(c, 3))
			strvec_push(args, any_branch(c));
		strvec_push(args, any_branch(c));
		break;
	case 23: case 24:
		strvec_pushl(args, "checkout-index", "-f", "-u", "-a", NULL);
		break;
	case 25:
		strvec_pushl(args, "checkout", any_branch(c), "--", ".", NULL);
		break;
	case 26:
		strvec_pushl(args, "read-tree", "-u", NULL);
		strvec_pushf(args, "--prefix=sub%u/", c->dirs_made++);
		strvec_push(args, any_branch(c));
		break;
	default:
		push_checkout_index(c, args);
	}
}

static void add_operation(struct random_case *c)
{
	struct strvec args = STRVEC_INIT;
	char *dir = xstrdup(one_in(c, 8) ? any_dir(c) : ".");

	strvec_pushl(&args, dir, "git", NULL);
	push_operation(c, &args);
	add_command(c, "run", &args);
	free(dir);
}

/* The first one, in a working tree with nothing or little in it. */
static void add_first_operation(struct random_case *c)
{
	static const char *const first[] = {
		"run . git checkout -f one",
		"run . git reset --hard",
		"run . git checkout two",
		"run . git clone --template= . ../clone",
		"run . git read-tree -u -m three",
		"run . git read-tree one\nrun . git checkout-index -a -u",
		"run . git switch three",
		"run . git checkout one -- .",
	};

	if (one_in(c, 2))
		add_changes(c);
	strbuf_addf(&c->script, "%s\n", PICK(c, first));
	if (one_in(c, 2))
		strbuf_addstr(&c->script, "run . git checkout -q -f one\n");
}

static void write_output(const char *dir, const char *name, struct strbuf *sb)
{
	char *path = xstrfmt("%s/%s", dir, name);

	write_file_buf(path, sb->buf, sb->len);
	strbuf_reset(sb);
	free(path);
}

int cmd__checkout_random(int argc, const char **argv)
{
	static const char *const masks[] = { "022", "022", "022", "027", "002" };
	struct random_case c = { 0 };
	struct strbuf out = STRBUF_INIT;
	const char *hash;
	char *end;
	int n;

	if (argc != 3)
		usage(usage_string);
	errno = 0;
	c.state = strtoumax(argv[1], &end, 10);
	if (errno || end == argv[1] || *end)
		die("not a seed: '%s'", argv[1]);

	hash = one_in(&c, 8) ? "sha256" : "sha1";
	c.rawsz = !strcmp(hash, "sha1") ? 20 : 32;
	c.ignore_case = one_in(&c, 10);
	c.large = one_in(&c, 25);
	strbuf_addf(&out, "hash=%s\nmask=%s\n", hash, PICK(&c, masks));
	write_output(argv[2], "vars", &out);
	add_config(&c, &out);
	write_output(argv[2], "config", &out);
	make_trees(&c);
	add_stream(&c, &out);
	write_output(argv[2], "stream", &out);

	strbuf_init(&c.script, 0);
	add_first_operation(&c);
	for (n = 2 + below(&c, 3); n; n--) {
		add_changes(&c);
		add_operation(&c);
	}
	write_output(argv[2], "script", &c.script);

	for (int b = 0; b < BRANCHES; b++)
		string_list_clear(&c.trees[b], 1);
	string_list_clear(&c.paths, 0);
	strbuf_release(&c.script);
	strbuf_release(&out);
	return 0;
}
