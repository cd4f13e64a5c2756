/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done in a random case: changes behind Git's back, and commands.
 */
#include "git-compat-util.h"
#include "checkout-random.h"
#include "quote.h"
#include "strvec.h"

/* ---- the script ---- */

static void add_line(struct random_case *c, const char *function,
		     struct strvec *args)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(&line, function);
	for (size_t i = 0; i < args->nr; i++) {
		strbuf_addch(&line, ' ');
		sq_quote_buf_pretty(&line, args->v[i]);
	}
	string_list_append_nodup(&c->script, strbuf_detach(&line, NULL));
	strvec_clear(args);
}

/* A "change" takes many; each is an element of its own. */
void add_script(struct random_case *c, struct strbuf *out)
{
	struct string_list_item *item;
	const char *what;
	int in_change = 0;

	for_each_string_list_item(item, &c->script) {
		int is_change = skip_prefix(item->string, "change ", &what);

		if (!keep(c))
			continue;
		if (in_change && !is_change)
			strbuf_addch(out, '\n');
		if (!is_change)
			strbuf_addf(out, "%s\n", item->string);
		else if (in_change)
			strbuf_addf(out, " %s", what);
		else
			strbuf_addstr(out, item->string);
		in_change = is_change;
	}
	if (in_change)
		strbuf_addch(out, '\n');
}

static void push_flag(struct random_case *c, struct strvec *args,
		      unsigned int n, const char *flag)
{
	if (one_in(c, n))
		strvec_push(args, flag);
}

/* ---- changes behind Git's back ---- */

static void add_change(struct random_case *c, const char *what)
{
	struct strvec args = STRVEC_INIT;

	strvec_push(&args, what);
	add_line(c, "change", &args);
}

static void add_changes(struct random_case *c)
{
	static const char *const kinds[] = {
		"write", "write", "append", "append", "append", "file", "file",
		"remove", "remove", "remove", "dir", "dir", "emptydir", "link",
		"mode", "touch", "touch", "linkdir", "linkdir", "linkout",
		"linkout", "linkout", "dangling", "same", "same",
	};
	static const char *const rare[] = {
		"fifo", "readonly", "unreadable", "owner", "attributes",
		"nodir",
	};
	static const char *const all[] = {
		"remove-all", "remove-all", "remove-index", "racy-index",
	};
	unsigned int n = below(c, 6);

	if (one_in(c, 6))
		add_change(c, PICK(c, all));
	if (one_in(c, c->large ? 3 : 12))
		add_change(c, "write-all");
	if (one_in(c, 6))
		add_change(c, one_in(c, 3) ? "attributes:a/.gitattributes" :
			   "attributes:.gitattributes");
	if (c->loose && one_in(c, 2)) {
		char *what = xstrfmt("%s:%s:%s",
				     one_in(c, 2) ? "corrupt" : "missing",
				     any_branch(c), any_path(c));

		add_change(c, what);
		free(what);
	}
	while (n--) {
		const char *kind =
			one_in(c, 15) ? PICK(c, rare) : PICK(c, kinds);
		int of_dir = starts_with(kind, "link") ? !one_in(c, 4) :
			one_in(c, 5);
		char *what = xstrfmt("%s:%s", kind, of_dir ? any_dir(c) :
				     any_path(c));

		add_change(c, what);
		free(what);
	}
	if (one_in(c, 3))
		add_change(c, "refresh");
}

/* ---- commands ---- */

static void push_pathspecs(struct random_case *c, struct strvec *args)
{
	static const char *const globs[] = { "*.t", "*f1*", ":!a", "*.crlf" };
	unsigned int n = 1 + below(c, 3);

	strvec_push(args, "--");
	if (!one_in(c, 3)) {
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
			strvec_pushl(args, "--staged", "--worktree", NULL);
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

static void push_checkout_index(struct random_case *c, struct strvec *args)
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
	if (!from_stdin && !one_in(c, 3)) {
		strvec_push(args, "-a");
		return;
	}
	strvec_push(args, from_stdin ? "--stdin" : "--");
	while (n--) {
		const char *path = any_path(c);

		strvec_push(from_stdin ? &lines : args, path);
		if (one_in(c, 8))
			strvec_push(from_stdin ? &lines : args, path);
	}
	if (from_stdin)
		add_line(c, "lines", &lines);
}

static void push_sparse(struct random_case *c, struct strvec *args)
{
	strvec_push(args, "sparse-checkout");
	switch (below(c, 7)) {
	case 0:
		strvec_push(args, "disable");
		break;
	case 1:
		strvec_push(args, "reapply");
		break;
	case 2:
		strvec_pushl(args, "add", any_dir(c), NULL);
		break;
	case 3: case 4: case 5:
		strvec_pushl(args, "set", "--cone", NULL);
		push_flag(c, args, 3, "--sparse-index");
		strvec_push(args, any_dir(c));
		strvec_push(args, any_dir(c));
		break;
	default:
		strvec_pushl(args, "set", "--no-cone", "/*", NULL);
		strvec_pushf(args, "!/%s", any_dir(c));
		strvec_push(args, "!*.t");
	}
}

static void push_clone(struct random_case *c, struct strvec *args)
{
	static const char *const kinds[] = {
		"--sparse", "--shared", "--no-local", "--depth=1",
		"--no-checkout",
		"--recurse-submodules", "--filter=blob:none", "--bare",
	};
	const char *kind = PICK(c, kinds);

	if (one_in(c, 2))
		kind = c->submodules && one_in(c, 2) ?
			"--recurse-submodules" : "--local";
	strvec_pushl(args, "clone", "--template=", kind, NULL);
	strvec_pushf(args, "--branch=%s", any_branch(c));
	strvec_push(args, one_in(c, 3) ? "FILE_URL" : ".");
	/* the name tells who shows it that there is no working tree */
	strvec_pushf(args, "../clone%u%s", c->dirs_made++,
		     strcmp(kind, "--bare") ? "" : ".git");
}

static void push_switch(struct random_case *c, struct strvec *args)
{
	static const char *const flags[] = {
		"-f", "-m", "--detach", "-q", "--ignore-other-worktrees",
		"--no-overwrite-ignore", "--no-recurse-submodules",
		"--overwrite-ignore", "--orphan=new", "--recurse-submodules",
	};

	strvec_push(args, one_in(c, 3) ? "switch" : "checkout");
	if (one_in(c, 2))
		strvec_push(args, one_in(c, 2) ? "-f" : PICK(c, flags));
	if (strcmp(args->v[args->nr - 1], "--orphan=new"))
		strvec_push(args, any_branch(c));
}

static void push_merge(struct random_case *c, struct strvec *args)
{
	static const char *const aborts[] = {
		"merge", "rebase", "cherry-pick", "revert",
	};

	switch (below(c, 7)) {
	case 0: case 1:
		strvec_push(args, "merge");
		push_flag(c, args, 4, "--no-commit");
		push_flag(c, args, 5, "--squash");
		push_flag(c, args, 5, "-Xours");
		strvec_push(args, any_branch(c));
		break;
	case 2:
		strvec_pushl(args, PICK(c, aborts), "--abort", NULL);
		break;
	case 3:
		strvec_pushl(args, "cherry-pick", any_branch(c), NULL);
		break;
	case 4:
		strvec_pushl(args, "revert", "--no-edit", any_branch(c), NULL);
		break;
	case 5:
		strvec_push(args, "rebase");
		push_flag(c, args, 3, "--apply");
		push_flag(c, args, 3, "--autostash");
		strvec_push(args, any_branch(c));
		break;
	case 6:
		if (c->has_mbox)
			strvec_pushl(args, "am", "-3", "../mbox", NULL);
		else
			strvec_pushl(args, "bisect", "start", "three", "one",
				     NULL);
		break;
	}
}

static void push_read_tree(struct random_case *c, struct strvec *args)
{
	strvec_push(args, "read-tree");
	switch (below(c, 7)) {
	case 0:
		strvec_push(args, any_branch(c));
		return;
	case 1:
		strvec_push(args, "-u");
		strvec_pushf(args, "--prefix=sub%u/", c->dirs_made++);
		strvec_push(args, any_branch(c));
		return;
	}
	strvec_push(args, one_in(c, 2) ? "--reset" : "-m");
	strvec_push(args, "-u");
	if (one_in(c, 3))
		strvec_push(args, any_branch(c));
	strvec_push(args, any_branch(c));
}

static void push_submodule(struct random_case *c, struct strvec *args)
{
	static const char *const modes[] = {
		"--init", "--init", "--force", "--checkout", "--remote",
	};

	switch (below(c, 8)) {
	case 0:
		strvec_pushl(args, "submodule", "deinit", "-f", "--all", NULL);
		break;
	case 1: case 2: case 3:
		strvec_pushl(args, "checkout", any_branch(c), "--", ".", NULL);
		break;
	case 4:
		strvec_pushl(args, "restore", "-SW", "-s", any_branch(c), ".",
			     NULL);
		break;
	case 5:
		strvec_pushl(args, "reset", "--hard", "--recurse-submodules",
			     any_branch(c), NULL);
		break;
	default:
		strvec_pushl(args, "submodule", "update", PICK(c, modes), NULL);
	}
}

static void push_stash(struct random_case *c, struct strvec *args)
{
	if (one_in(c, 2)) {
		strvec_pushl(args, "stash", "push", NULL);
		push_flag(c, args, 3, "-u");
		push_flag(c, args, 4, "-k");
	} else {
		strvec_pushl(args, "stash", one_in(c, 3) ? "apply" : "pop",
			     NULL);
		push_flag(c, args, 3, "--index");
	}
}

static void push_operation(struct random_case *c, struct strvec *args)
{
	static const char *const resets[] = {
		"--hard", "--hard", "--hard", "--keep", "--merge",
	};

	switch (below(c, c->filters ? 34 : 30)) {
	case 0: case 1: case 2: case 3: case 4: case 5: case 6:
		push_switch(c, args);
		break;
	case 7: case 8: case 9: case 10:
		strvec_pushl(args, "reset", PICK(c, resets), NULL);
		if (!one_in(c, 3))
			strvec_push(args, any_branch(c));
		break;
	case 11: case 12: case 13: case 14:
		push_checkout_paths(c, args);
		break;
	case 15: case 16: case 30:
		strvec_pushl(args, "checkout", any_branch(c), "--", ".", NULL);
		break;
	case 17: case 31:
		push_stash(c, args);
		break;
	case 18: case 19:
		push_merge(c, args);
		break;
	case 20: case 32:
		push_clone(c, args);
		break;
	case 21:
		push_sparse(c, args);
		break;
	case 22: case 33:
		strvec_pushl(args, "worktree", "add", "--detach", NULL);
		strvec_pushf(args, "../tree%u", c->dirs_made++);
		strvec_push(args, any_branch(c));
		break;
	case 23: case 24:
		push_read_tree(c, args);
		break;
	case 25: case 26:
		strvec_pushl(args, "checkout-index", "-f", "-u", "-a", NULL);
		break;
	case 27:
		if (c->source != PLAIN) {
			strvec_pushl(args, "remote", "rename", "origin", "o2",
				     NULL);
			break;
		}
		/* fallthrough */
	default:
		push_checkout_index(c, args);
	}
}

/* In which circumstances a command is run. */
static void push_limits(struct random_case *c, struct strvec *args)
{
	switch (below(c, 50)) {
	case 0:
		strvec_pushf(args, "--close=%u", below(c, 3));
		break;
	case 1:
		strvec_pushf(args, "--ignore=%s",
			     one_in(c, 3) ? "PIPE" : "CHLD");
		break;
	case 2:
		strvec_pushf(args, "--files=%u", 32 + below(c, 33));
		break;
	case 3:
		if (c->filters)
			break; /* they could not write what they were told */
		strvec_pushf(args, "--size=%u", one_in(c, 2) ? 4 : 16);
		push_flag(c, args, 2, "--ignore=XFSZ");
		break;
	case 4:
		strvec_push(args, "--processes=1");
		break;
	case 5:
		push_flag(c, args, 3, "--removed-directory");
		break;
	}
	if (c->deep && one_in(c, 3))
		strvec_pushf(args, "--files=%u", 32 + below(c, 33));
}

static void add_operation(struct random_case *c)
{
	struct strvec args = STRVEC_INIT;
	char *dir = xstrdup(one_in(c, c->filters ? 3 : 8) ? any_dir(c) : ".");

	push_limits(c, &args);
	strvec_pushl(&args, dir, "git", NULL);
	if (c->submodules && one_in(c, 3))
		push_submodule(c, &args);
	else
		push_operation(c, &args);
	add_line(c, "run", &args);
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
		"run . git switch three",
		"run . git checkout one -- .",
	};

	if (one_in(c, 3))
		add_changes(c);
	if (one_in(c, 20)) {
		string_list_append(&c->script, "run . git read-tree one");
		string_list_append(&c->script,
				   "run . git checkout-index -a -u");
	} else {
		string_list_append(&c->script, PICK(c, first));
	}
	if (c->sparse) {
		struct strvec args = STRVEC_INIT;

		strvec_pushl(&args, ".", "git", NULL);
		push_sparse(c, &args);
		add_line(c, "run", &args);
	} else if (one_in(c, 3)) {
		string_list_append(&c->script, "run . git checkout -q -f one");
	}
}

void make_script(struct random_case *c)
{
	unsigned int n = 1 + below(c, 3);

	add_first_operation(c);
	while (n--) {
		add_changes(c);
		add_operation(c);
	}
}
