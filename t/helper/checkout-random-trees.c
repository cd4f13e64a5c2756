/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trees of a random case: names, files, and what is in them.
 */
#include "git-compat-util.h"
#include "checkout-random.h"
#include "quote.h"

const char *const branch_names[BRANCHES] = { "one", "two", "three" };

enum style {
	TEXT, CRLF, MIXED, NO_NEWLINE, IDENT, BINARY, BAD_UTF8, EMPTY,
	/* these have a purpose */
	ATTRIBUTES, IGNORED, CONFIG, MODULES, BIG, DIR_LINK
};

/* A file; its contents follow from the rest. */
struct file {
	unsigned int mode;
	enum style style;
	unsigned int number;
	unsigned char version[ATTRIBUTE_LINES];	/* of each line */
	unsigned wide : 1;	/* lines are long */
};

const char *any_branch(struct random_case *c)
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

/* Names that are hard on somebody. */
static void add_odd_name(struct random_case *c, struct strbuf *path)
{
	static const char *const names[] = {
		"quo\"te", "new\nline", "ta\tb", "back\\slash", "\377\376bad.t",
		"-f", "--", " lead", "trail ", "~", ":(glob)", "*", "[a]",
		"#hash",
		"!not", "$HOME", "`ls`", "%f", "error.r", "abort.r",
		"missing-delay.a", "invalid-delay.a", "test-delay10.a",
		"smudge-write-fail.r", "con", "aux.t", "x.", "git~1",
		"A\314\212.t", "\303\205.t", "\342\200\214.git",
	};

	if (one_in(c, 4))
		strbuf_addchars(path, 'a' + below(c, 3), 253 + below(c, 3));
	else
		strbuf_addstr(path, PICK(c, names));
}

/* Many components, or nearly as long as a path can be. */
static void add_far_path(struct random_case *c, struct strbuf *path)
{
	if (c->long_paths) {
		for (unsigned int n = 15 + below(c, 2); n; n--) {
			strbuf_addchars(path, 'l', 240 + below(c, 16));
			strbuf_addch(path, '/');
		}
		if (path->len < 4060)
			strbuf_addchars(path, 'm',
					4060 - path->len < 240 ?
					4060 - path->len : 240);
		strbuf_addf(path, "/f%u", below(c, 4));
	} else {
		for (unsigned int n = 40 + below(c, 40); n; n--)
			strbuf_addstr(path, "d/");
		strbuf_addf(path, "f%u.t", below(c, 4));
	}
}

/* Valid until the next call. */
static const char *random_path(struct random_case *c)
{
	static const char *const suffixes[] = {
		"", "", "", "", ".t", ".t", ".t", ".crlf", ".lf", ".id", ".u16",
		".bin", ".fl", ".pf", ".bad", " it's", "\303\251", ".rd", ".rd",
		".ns", ".pk", ".rq", ".enc", ".m", ".ls",
	};
	static const char *const filtered[] = {
		".f0", ".f0", ".f1", ".f1", ".f2", ".f2", ".f3", ".f3", ".f4",
		".f4", ".f5", ".f5", "", "", ".t", ".id", ".u16", ".m", ".rd",
	};
	static const unsigned char depths[] = { 0, 0, 1, 1, 1, 2, 2, 3 };
	static struct strbuf path = STRBUF_INIT;
	unsigned int depth = PICK(c, depths);

	strbuf_reset(&path);
	if ((c->deep || c->long_paths) && one_in(c, 6)) {
		add_far_path(c, &path);
		return path.buf;
	}
	while (depth--) {
		add_dir_name(c, &path);
		strbuf_addch(&path, '/');
	}
	if (c->odd_names && one_in(c, 4)) {
		add_odd_name(c, &path);
	} else if (one_in(c, 8)) {
		add_dir_name(c, &path);
	} else {
		int upper = c->ignore_case && one_in(c, 3);
		const char *suffix = c->filters ? PICK(c, filtered) :
			PICK(c, suffixes);

		strbuf_addf(&path, "%c%u%s", upper ? 'F' : 'f',
			    below(c, c->large ? 30 : 8), suffix);
	}
	return path.buf;
}

const char *any_path(struct random_case *c)
{
	if (one_in(c, 8))
		return random_path(c);
	return c->paths.items[below(c, c->paths.nr)].string;
}

const char *any_dir(struct random_case *c)
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

static void remove_file(struct string_list *tree, const char *path)
{
	free(string_list_lookup(tree, path)->util);
	string_list_remove(tree, path, 0);
}

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
			remove_file(tree, old);
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
	if (c->filters && !one_in(c, 4))
		file->mode = 0100644;
	file->style = PICK(c, styles);
	file->wide = one_in(c, 12);
	file->number = c->files_made++;
}

/* A file with a purpose, in one of its variants. */
static void put_special(struct random_case *c, struct string_list *tree,
			const char *path, enum style style)
{
	struct file file = {
		.mode = style == DIR_LINK ? 0120000 : 0100644,
		.style = style,
		.number = c->files_made++,
	};

	for (int i = 0; i < ATTRIBUTE_LINES; i++)
		file.version[i] = below(c, 8);
	put_file(tree, path, &file);
}

static const struct file *any_file(struct random_case *c,
				   struct string_list *tree, const char **path)
{
	struct string_list_item *item = &tree->items[below(c, tree->nr)];

	*path = item->string;
	return item->util;
}

static void put_submodule(struct random_case *c, struct string_list *tree,
			  const char *path)
{
	struct file file = {
		.mode = 0160000,
		.style = MODULES,
		.number = below(c, 2),
	};

	put_file(tree, path, &file);
}

/* A file becomes a directory, or one of its directories a file. */
static void change_type(struct random_case *c, struct string_list *tree,
			char *path)
{
	struct file file;
	char *slash = one_in(c, 2) ? strchr(path, '/') : strrchr(path, '/');

	make_file(c, &file);
	if (one_in(c, 2) && strlen(path) < 4000) {
		char *below_it = xstrfmt("%s/f%u", path, below(c, 4));

		put_file(tree, below_it, &file);
		free(below_it);
		return;
	}
	if (slash)
		*slash = '\0';
	if (slash && one_in(c, 2))
		put_special(c, tree, path, DIR_LINK);
	else
		put_file(tree, path, &file);
}

static void change_tree(struct random_case *c, struct string_list *tree)
{
	struct file file;
	const char *path;
	char *copy;

	file = *any_file(c, tree, &path);
	copy = xstrdup(path);
	switch (file.style >= ATTRIBUTES ? 12 : below(c, 12)) {
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
		/* A filter reads it. A link could lead to a later file. */
		if (strcmp(copy, ".version") || S_ISREG(file.mode))
			put_file(tree, copy, &file);
		break;
	case 6: case 7: /* remove */
		if (tree->nr > 5)
			remove_file(tree, copy);
		break;
	case 8: case 9: case 10:
		make_file(c, &file);
		put_file(tree, random_path(c), &file);
		break;
	case 11:
		change_type(c, tree, copy);
		break;
	default:
		put_special(c, tree, copy, file.style);
	}
	free(copy);
}

/* Change, add or remove what decides how other files are written. */
static void change_specials(struct random_case *c, struct string_list *tree)
{
	if (one_in(c, 3)) {
		char *path = xstrfmt("%s/.gitattributes", PICK(c, dir_names));

		put_special(c, tree, path, ATTRIBUTES);
		free(path);
	}
	if (one_in(c, 3))
		put_special(c, tree, ".version", TEXT);
	if (c->included && !one_in(c, 3))
		put_special(c, tree, ".gitconfig", CONFIG);
	if (c->attributes_file && !one_in(c, 3))
		put_special(c, tree, "attrs", ATTRIBUTES);
	if (c->submodules && one_in(c, 2))
		put_special(c, tree, ".gitmodules", MODULES);
	if (c->submodules && one_in(c, 2))
		put_submodule(c, tree, "sub");
	if (c->submodules && one_in(c, 2))
		put_submodule(c, tree, "b/mod");
	for (unsigned int i = 0; c->big && i < 4; i++) {
		char *path = xstrfmt(".big%u", i);

		put_special(c, tree, path, BIG);
		free(path);
	}
}

/*
 * A directory in some trees, and in others a link to one that has attributes.
 * Those must not count in the former.
 */
static void add_dir_links(struct random_case *c)
{
	const char *dir = PICK(c, dir_names), *attributes = PICK(c, dir_names);

	for (int b = 0; b < BRANCHES; b++) {
		char *path = xstrfmt("%s/.gitattributes", attributes);

		put_special(c, &c->trees[b], path, ATTRIBUTES);
		free(path);
		if (one_in(c, 2)) {
			put_special(c, &c->trees[b], dir, DIR_LINK);
			continue;
		}
		for (unsigned int n = 1 + below(c, 4); n; n--) {
			struct file file;

			make_file(c, &file);
			path = xstrfmt("%s/f%u%s", dir, below(c, 8),
				       one_in(c, 2) ? ".t" : "");
			put_file(&c->trees[b], path, &file);
			free(path);
		}
	}
}

static void make_first_tree(struct random_case *c, struct string_list *tree)
{
	static const unsigned char sizes[] = { 6, 6, 12, 12, 25, 45 };
	unsigned int n = c->large ? 250 : 4 + below(c, PICK(c, sizes));
	struct file file;
	const char *path;

	if (c->filters)
		n += 12;
	while (n--) {
		/* the same blob at several paths, if it is about filters */
		if (c->filters && tree->nr && one_in(c, 4))
			file = *any_file(c, tree, &path);
		else
			make_file(c, &file);
		put_file(tree, random_path(c), &file);
	}
	if (c->filters || !one_in(c, 4))
		put_special(c, tree, ".gitattributes", ATTRIBUTES);
	if (one_in(c, 3))
		put_special(c, tree, ".gitignore", IGNORED);
	put_special(c, tree, ".version", TEXT);
	change_specials(c, tree);
}

void make_trees(struct random_case *c)
{
	struct string_list_item *item;

	for (int b = 0; b < BRANCHES; b++)
		string_list_init_dup(&c->trees[b]);
	string_list_init_dup(&c->paths);

	make_first_tree(c, &c->trees[0]);
	for (int b = 1; b < BRANCHES; b++) {
		unsigned int n;

		for_each_string_list_item(item, &c->trees[0])
			put_file(&c->trees[b], item->string, item->util);
		n = 1 + below(c, c->trees[0].nr / (1 + below(c, 4)) + 1);
		while (n--)
			change_tree(c, &c->trees[b]);
		change_specials(c, &c->trees[b]);
	}
	if (c->dir_links)
		add_dir_links(c);
	for (int b = 0; b < BRANCHES; b++)
		for_each_string_list_item(item, &c->trees[b])
			string_list_insert(&c->paths, item->string);
}

void clear_trees(struct random_case *c)
{
	for (int b = 0; b < BRANCHES; b++)
		string_list_clear(&c->trees[b], 1);
	string_list_clear(&c->paths, 0);
}

/* ---- contents ---- */

static void add_attributes(struct random_case *c, const struct file *file,
			   struct strbuf *out)
{
	for (unsigned int i = 0; i < ATTRIBUTE_LINES; i++)
		if (c->attributes[i] && is_kept(c, c->attributes_at + i))
			add_attribute_line(c, out, i, file->version[i]);
}

static void add_modules(const struct file *file, struct strbuf *out)
{
	static const char *const urls[] = { "../repo", "./", "../nothing",
					    "../repo" };

	if (file->version[0] & 3)
		strbuf_addf(out, "[submodule \"sub\"]\n\tpath = sub\n\turl = %s\n",
			    urls[file->version[1] % 2]);
	if (file->version[0] & 4)
		strbuf_addf(out, "[submodule \"mod\"]\n\tpath = b/mod\n\turl = %s\n",
			    urls[file->version[2] % 4]);
	if (file->version[3] == 1)
		strbuf_addstr(out, "[broken\n");
	if (file->version[3] == 2)
		strbuf_addstr(out, "[submodule \"sub\"]\n\tupdate = none\n");
}

static void add_included(struct random_case *c, const struct file *file,
			 struct strbuf *out)
{
	static const char *const filtered[] = {
		"[filter \"d0\"]\n\tprocess =\n\tsmudge = cat\n",
		"[filter \"d1\"]\n\tparallel = true\n\trequired = false\n",
		"[filter \"d2\"]\n\tparallel = false\n",
		"[filter \"unknown\"]\n\tparallel\n\tsmudge = tr a-z b-za\n",
	};
	static const char *const variants[] = {
		"[core]\n\teol = crlf\n",
		"[core]\n\teol = lf\n",
		"[core]\n\tautocrlf = true\n",
		"[core]\n\tsymlinks = false\n",
		"[filter \"turn\"]\n\tsmudge = cat\n",
		"[filter \"bad\"]\n\tsmudge = cat\n\trequired\n",
		"bad\n",
		"[core]\n\tbigFileThreshold = 10\n",
	};

	if (c->filters && file->version[1] % 2)
		strbuf_addstr(out, filtered[file->version[0] %
					    ARRAY_SIZE(filtered)]);
	else
		strbuf_addstr(out, variants[file->version[0] %
					    ARRAY_SIZE(variants)]);
}

/* Too much to be written in no time, and not to be compressed. */
static void add_big(const struct file *file, struct strbuf *out)
{
	uint64_t x = file->version[0] * 100 + file->version[1] * 10 +
		file->number + 1;

	strbuf_grow(out, 3 << 20);
	for (size_t i = 0; i < (3 << 20) / sizeof(x); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		strbuf_add(out, &x, sizeof(x));
	}
}

static void add_link(const struct file *file, const char *path,
		     struct strbuf *out)
{
	static const char *const targets[] = {
		"f1", "a", "../outside", "nothing", ".", "a/f2.t", "..", "b",
	};
	static const char *const dirs[] = {
		"a", "b", "c", "../outdir", "d", "../outdir", "../outdir/in",
		"e e",
	};
	unsigned int i = file->number + file->version[0];

	if (file->style == DIR_LINK) {
		while ((path = strchr(path, '/'))) {
			strbuf_addstr(out, "../");
			path++;
		}
		strbuf_addstr(out, dirs[i % ARRAY_SIZE(dirs)]);
	} else {
		strbuf_addstr(out, targets[i % ARRAY_SIZE(targets)]);
	}
}

static void add_text(const struct file *file, struct strbuf *out)
{
	/* what expands them in core and bit by bit does not agree on all */
	static const char *const idents[] = {
		" $Id$", " $$Id$", " $Id:a b$", " $Id: a\tb$", " $Id: old $",
		" $Id:no end",
	};
	unsigned int n = 1 + file->number % MAX_LINES;

	if (file->style == EMPTY && !file->version[0])
		return;
	for (unsigned int i = 0; i < n; i++) {
		strbuf_addf(out, "line %u of file %u", i, file->number);
		if (file->version[i])
			strbuf_addf(out, ", version %d", file->version[i]);
		if (file->wide)
			strbuf_addchars(out, '=', 300);
		if (file->style == IDENT && i == n / 2)
			strbuf_addstr(out, idents[file->number %
						 ARRAY_SIZE(idents)]);
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

static void add_contents(struct random_case *c, const struct file *file,
			 const char *path, struct strbuf *out)
{
	if (S_ISLNK(file->mode))
		add_link(file, path, out);
	else if (file->style == ATTRIBUTES)
		add_attributes(c, file, out);
	else if (file->style == IGNORED)
		strbuf_addstr(out, "f3*\nuntracked\n");
	else if (file->style == CONFIG)
		add_included(c, file, out);
	else if (file->style == MODULES)
		add_modules(file, out);
	else if (file->style == BIG)
		add_big(file, out);
	else
		add_text(file, out);
}

static void add_file(struct random_case *c, const struct file *file,
		     const char *path, struct strbuf *out)
{
	struct strbuf contents = STRBUF_INIT, quoted = STRBUF_INIT;

	quote_c_style(path, &quoted, NULL, 0);
	if (file->mode == 0160000 && file->style == MODULES) {
		strbuf_addf(out, "M 160000 :%u", 1 + file->number);
	} else if (file->mode == 0160000) {
		strbuf_addf(out, "M 160000 ");
		for (unsigned int i = 0; i < c->rawsz; i++)
			strbuf_addf(out, "%02x", (file->number +
				    file->version[0] + i) % 255 + 1);
	} else {
		add_contents(c, file, path, &contents);
		strbuf_addf(out, "M %06o inline", file->mode);
	}
	strbuf_addf(out, " %s\n", quoted.buf);
	if (file->mode != 0160000) {
		strbuf_addf(out, "data %"PRIuMAX"\n", (uintmax_t)contents.len);
		strbuf_addbuf(out, &contents);
		strbuf_addch(out, '\n');
	}
	strbuf_release(&quoted);
	strbuf_release(&contents);
}

static void add_commit(struct strbuf *out, const char *branch,
		       unsigned int mark,
		       const char *from)
{
	strbuf_addf(out, "commit refs/heads/%s\n", branch);
	if (mark)
		strbuf_addf(out, "mark :%u\n", mark);
	strbuf_addf(out, "committer C O Mitter <committer@example.com> 1112354055 +0200\n"
		    "data <<E\n%s\nE\n", branch);
	if (from)
		strbuf_addf(out, "from refs/heads/%s\ndeleteall\n", from);
}

static void add_module_commits(struct strbuf *out)
{
	for (unsigned int i = 1; i <= 2; i++) {
		add_commit(out, "sub", i, NULL);
		strbuf_addf(out, "M 644 inline .gitattributes\ndata <<E\n* text\nE\n"
			    "M 644 inline s.t\ndata <<E\nversion %u\nE\n"
			    "M 644 inline dir/s%u.t\ndata <<E\nx\nE\n", i, i);
	}
}

void add_stream(struct random_case *c, struct strbuf *out)
{
	unsigned int first;

	if (c->submodules)
		add_module_commits(out);
	c->attributes_at = c->elements;
	c->elements += ATTRIBUTE_LINES;
	first = c->elements;
	c->elements += c->paths.nr;
	for (int b = 0; b < BRANCHES; b++) {
		struct string_list_item *item;

		add_commit(out, branch_names[b], 0,
			   !b ? NULL : branch_names[b == 2 && c->chain]);
		for_each_string_list_item(item, &c->trees[b]) {
			struct string_list_item *path =
				string_list_lookup(&c->paths, item->string);

			if (is_kept(c, first + (path - c->paths.items)))
				add_file(c, item->util, item->string, out);
		}
		strbuf_addch(out, '\n');
	}
}
