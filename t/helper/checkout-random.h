/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of "test-tool checkout-random" share: the case that is made
 * up, and the random numbers that it is made of.
 */
#ifndef CHECKOUT_RANDOM_H
#define CHECKOUT_RANDOM_H

#include "strbuf.h"
#include "string-list.h"

#define BRANCHES 3
#define MAX_LINES 12
#define ATTRIBUTE_LINES 24

/* Where repositories come from. */
enum source { PLAIN, PARTIAL, SHALLOW, SHARED };

struct random_case {
	uint64_t state;
	struct string_list drop;	/* numbers of elements to leave out */
	unsigned int elements;		/* that have been numbered */
	unsigned int attributes_at;	/* number of their first line */
	unsigned char attributes[ATTRIBUTE_LINES];	/* those used */

	unsigned int rawsz;		/* of an object ID */
	enum source source;
	unsigned filters : 1;		/* it is all about them */
	unsigned ignore_case : 1;
	unsigned large : 1;		/* many files */
	unsigned big : 1;		/* some with megabytes */
	unsigned odd_names : 1;
	unsigned deep : 1;
	unsigned long_paths : 1;
	unsigned submodules : 1;
	unsigned populated : 1;		/* the submodules are */
	unsigned loose : 1;		/* objects */
	unsigned reftable : 1;
	unsigned included : 1;		/* .gitconfig is */
	unsigned attributes_file : 1;	/* "attrs" has attributes */
	unsigned dir_links : 1;		/* directories become links, and back */
	unsigned chain : 1;		/* three comes after two */
	unsigned has_mbox : 1;
	unsigned sparse : 1;
	unsigned int files_made;
	unsigned int dirs_made;		/* outside of the working tree */

	struct string_list trees[BRANCHES];	/* util is a struct file */
	struct string_list paths;		/* in any of them */
	struct string_list script;
};

/* A random number less than n. */
unsigned int below(struct random_case *c, unsigned int n);

/* True for one in n. */
int one_in(struct random_case *c, unsigned int n);

#define PICK(c, array) ((array)[below((c), ARRAY_SIZE(array))])

/*
 * Number the next element of the case: a file, a line of configuration, an
 * operation. Returns whether it stays in the case; see --drop.
 */
int keep(struct random_case *c);

/* Is the element with that number in the case? */
int is_kept(struct random_case *c, unsigned int number);

/* ---- checkout-random-trees.c ---- */

extern const char *const branch_names[BRANCHES];

/* The name of one of the branches. */
const char *any_branch(struct random_case *c);

/* A path of the repository, mostly. Valid until the next call. */
const char *any_path(struct random_case *c);

/* A leading directory of a path, mostly. Valid until the next call. */
const char *any_dir(struct random_case *c);

/* Make up the trees of the branches. */
void make_trees(struct random_case *c);

/* Append the branches, in the language of fast-import. */
void add_stream(struct random_case *c, struct strbuf *out);

/* Free what make_trees() allocated. */
void clear_trees(struct random_case *c);

/* ---- checkout-random-config.c ---- */

/* Each has variants; a case uses one in so many lines. */
struct attribute_line {
	unsigned int one_in;
	const char *variants[4];
};

/* Append one line of an attributes file: its place, and which variant. */
void add_attribute_line(struct random_case *c, struct strbuf *out,
			unsigned int line, unsigned int variant);

/*
 * Decide on what the rest depends on, and append the variables for the shell.
 */
void choose_kind(struct random_case *c, struct strbuf *out);

/* Append the configuration of the repository. */
void add_config(struct random_case *c, struct strbuf *out);

/* Append what the shell does in the new repository, once. */
void add_setup(struct random_case *c, struct strbuf *out);

/* ---- checkout-random-filters.c ---- */

/* The attributes of a case that is about filters. */
extern const struct attribute_line filter_lines[ATTRIBUTE_LINES];

/* Append the drivers, and the variables for the shell that are about them. */
void add_drivers(struct random_case *c, struct strbuf *out,
		 struct strbuf *vars);

/* ---- checkout-random-operations.c ---- */

/* Make up c->script. */
void make_script(struct random_case *c);

/* Append it, for the shell. */
void add_script(struct random_case *c, struct strbuf *out);

#endif
