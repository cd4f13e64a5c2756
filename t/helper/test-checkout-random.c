/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make up a case for the comparison of parallel and sequential checkout: a
 * repository, and what is done with it. The same seed gives the same case on
 * every platform.
 */
#include "test-tool.h"
#include "checkout-random.h"
#include "gettext.h"
#include "wrapper.h"

static const char usage_string[] =
	"test-tool checkout-random [--filters] <seed> <directory> [<number>...]\n"
	"\n"
	"Writes files into the directory: \"stream\" for fast-import, with the\n"
	"branches one, two and three; \"config\"; and for the shell \"vars\", with\n"
	"settings; \"setup\"; and \"script\", which calls the functions change,\n"
	"lines and run. The elements with the numbers are left out, the others are\n"
	"as they were; \"vars\" says how many there are.\n"
	"\n"
	"With --filters, most files have a filter, and \"drivers\" has the\n"
	"configuration of these, which call \"$TOOL\" checkout-filter.";

/* splitmix64 */
static uint64_t next_random(struct random_case *c)
{
	uint64_t z = (c->state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

unsigned int below(struct random_case *c, unsigned int n)
{
	return (next_random(c) >> 16) % n;
}

int one_in(struct random_case *c, unsigned int n)
{
	return !below(c, n);
}

int is_kept(struct random_case *c, unsigned int number)
{
	char name[16];

	xsnprintf(name, sizeof(name), "%u", number);
	return !string_list_has_string(&c->drop, name);
}

int keep(struct random_case *c)
{
	return is_kept(c, c->elements++);
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
	struct random_case c = {
		.drop = STRING_LIST_INIT_NODUP,
		.script = STRING_LIST_INIT_DUP,
	};
	struct strbuf out = STRBUF_INIT, vars = STRBUF_INIT;
	char *end;

	if (argc > 1 && !strcmp(argv[1], "--filters")) {
		c.filters = 1;
		argc--;
		argv++;
	}
	if (argc < 3)
		usage(usage_string);
	errno = 0;
	c.state = strtoumax(argv[1], &end, 10);
	if (errno || end == argv[1] || *end)
		die("not a seed: '%s'", argv[1]);
	for (int i = 3; i < argc; i++)
		string_list_insert(&c.drop, argv[i]);

	choose_kind(&c, &vars);
	make_trees(&c);
	make_script(&c);
	add_stream(&c, &out);
	write_output(argv[2], "stream", &out);
	add_config(&c, &out);
	write_output(argv[2], "config", &out);
	add_setup(&c, &out);
	write_output(argv[2], "setup", &out);
	add_script(&c, &out);
	write_output(argv[2], "script", &out);
	if (c.filters) {
		add_drivers(&c, &out, &vars);
		write_output(argv[2], "drivers", &out);
	}
	strbuf_addf(&vars, "elements=%u\n", c.elements);
	write_output(argv[2], "vars", &vars);

	clear_trees(&c);
	string_list_clear(&c.script, 0);
	string_list_clear(&c.drop, 0);
	strbuf_release(&vars);
	strbuf_release(&out);
	return 0;
}
