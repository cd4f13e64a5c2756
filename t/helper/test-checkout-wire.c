/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Talk to "git checkout--worker": make frames of items from lines, and lines
 * from frames of results, or of items.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "test-tool.h"
#include "dirs.h"
#include "hex.h"
#include "parallel-checkout/wire.h"
#include "parse-options.h"
#include "repository.h"
#include "setup.h"
#include "strbuf.h"
#include "string-list.h"
#include "write-or-die.h"

static const char * const wire_usage[] = {
	"test-tool checkout-wire encode [--split=<n>] [--collect] <lines >frames",
	"test-tool checkout-wire answer [--late] [<id> <status>]... >frame",
	"test-tool checkout-wire decode [--batches] <frames >lines",
	"test-tool checkout-wire stat <path>...",
	"test-tool checkout-wire has-openat",
	NULL
};

static uint32_t parse_number(const char *s, int base)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, base);
	if (errno || end == s || *end || n > UINT32_MAX)
		die("not a number: '%s'", s);
	return n;
}

/* <mode>:<path>: the file that is at the path now may be replaced. */
static void parse_old(struct checkout_item *item, char *value)
{
	char *path = strchr(value, ':');
	struct stat st;

	if (!path)
		die("old=<mode>:<path> expected");
	*path++ = '\0';
	item->old_mode = parse_number(value, 8);
	if (lstat(path, &st))
		die_errno("cannot lstat '%s'", path);
	fill_stat_data(&item->old_sd, &st);
}

static enum convert_crlf_action parse_eol(const char *word)
{
	if (!strcmp(word, "binary"))
		return CRLF_BINARY;
	if (!strcmp(word, "crlf"))
		return CRLF_TEXT_CRLF;
	if (!strcmp(word, "auto-crlf"))
		return CRLF_AUTO_CRLF;
	die("unknown line ends '%s'", word);
}

/* Is it one of the options that say which filter there is? */
static int parse_filter(struct checkout_item *item, const char *word)
{
	const char *value;

	if (skip_prefix(word, "filter=", &value)) {
		item->filter = value;
	} else if (skip_prefix(word, "process=", &value)) {
		item->filter = value;
		item->is_process = 1;
	} else if (skip_prefix(word, "delay=", &value)) {
		item->filter = value;
		item->is_process = item->can_delay = 1;
	} else if (!strcmp(word, "required")) {
		item->required = 1;
	} else {
		return 0;
	}
	return 1;
}

/*
 * <id> SP <mode> SP <oid> [SP <option>]... TAB <path>
 *
 * where an option is one of
 *
 *	encoding=<encoding>
 *	eol=binary, eol=crlf or eol=auto-crlf (default: no conversion)
 *	filter=<command>
 *	process=<command>
 *	delay=<command>: a process that may delay its answer
 *	required: the filter is
 *	ident
 *	old=<mode>:<path>
 *	donor=<number>: it may have the file
 *
 * Changes the line, and points into it.
 */
static void parse_item(struct checkout_item *item, char *line)
{
	struct string_list words = STRING_LIST_INIT_NODUP;
	char *tab = strchr(line, '\t');

	if (!tab)
		die("no path in line '%s'", line);
	*tab = '\0';
	string_list_split_in_place(&words, line, " ", -1);
	if (words.nr < 3)
		die("not enough words in line '%s'", line);

	memset(item, 0, sizeof(*item));
	item->ca.crlf_action = CRLF_BINARY;
	item->id = parse_number(words.items[0].string, 10);
	item->mode = parse_number(words.items[1].string, 8);
	if (get_oid_hex(words.items[2].string, &item->oid))
		die("not an object name: '%s'", words.items[2].string);
	item->path = tab + 1;
	item->path_len = strlen(item->path);

	for (size_t i = 3; i < words.nr; i++) {
		char *word = words.items[i].string;
		const char *value;

		if (skip_prefix(word, "encoding=", &value))
			item->ca.working_tree_encoding = value;
		else if (skip_prefix(word, "eol=", &value))
			item->ca.crlf_action = parse_eol(value);
		else if (!strcmp(word, "ident"))
			item->ca.ident = 1;
		else if (parse_filter(item, word))
			; /* done */
		else if (starts_with(word, "old="))
			parse_old(item, word + strlen("old="));
		else if (skip_prefix(word, "donor=", &value))
			item->donor = parse_number(value, 10);
		else
			die("unknown option '%s'", word);
	}
	string_list_clear(&words, 0);
}

static void encode(int split, int collect)
{
	struct strbuf line = STRBUF_INIT, out = STRBUF_INIT;
	size_t start = 0;
	int nr = 0, open = 0;

	while (strbuf_getline_lf(&line, stdin) != EOF) {
		struct checkout_item item;

		if (!open)
			start = wire_begin_frame(&out, WIRE_ITEMS);
		open = 1;

		/* An empty line ends a frame, which can be an empty one. */
		if (line.len) {
			parse_item(&item, line.buf);
			wire_put_item(&out, &item);
			nr++;
		}
		if (!line.len || nr == split) {
			wire_end_frame(&out, start);
			nr = open = 0;
		}
	}
	if (open)
		wire_end_frame(&out, start);
	if (collect)
		wire_end_frame(&out, wire_begin_frame(&out, WIRE_COLLECT));
	write_or_die(1, out.buf, out.len);
	strbuf_release(&line);
	strbuf_release(&out);
}

static void print_sd(const struct stat_data *sd)
{
	printf(" size=%u mtime=%u.%09u ctime=%u.%09u dev=%u ino=%u uid=%u gid=%u",
	       sd->sd_size, sd->sd_mtime.sec, sd->sd_mtime.nsec,
	       sd->sd_ctime.sec, sd->sd_ctime.nsec,
	       sd->sd_dev, sd->sd_ino, sd->sd_uid, sd->sd_gid);
}

static const char *const status_name[] = {
	[CHECKOUT_WRITTEN] = "written",
	[CHECKOUT_COLLIDED] = "collided",
	[CHECKOUT_DECLINED] = "declined",
	[CHECKOUT_DELAYED] = "delayed",
	[CHECKOUT_UNFILTERED] = "unfiltered",
};

/* A frame as a worker would send it that has done nothing. */
static void answer(const char **argv, int late)
{
	const struct checkout_outcome outcome = { 0 };
	struct strbuf out = STRBUF_INIT;
	size_t start = wire_begin_frame(&out, late ? WIRE_LATE : WIRE_RESULTS);

	wire_put_outcome(&out, &outcome);
	for (; argv[0] && argv[1]; argv += 2) {
		struct checkout_result result;
		unsigned int i = CHECKOUT_WRITTEN;

		while (i < CHECKOUT_UNFILTERED &&
		       strcmp(argv[1], status_name[i]))
			i++;
		memset(&result, 0, sizeof(result));
		result.id = parse_number(argv[0], 10);
		result.status = i;
		wire_put_result(&out, &result);
	}
	wire_end_frame(&out, start);
	write_or_die(1, out.buf, out.len);
	strbuf_release(&out);
}

/*
 * <id> SP <status> [SP <stat data>]...
 *
 * for each result, with "late " before it if that is the last word about one
 * that was delayed. After those of a frame, "cloned <files> <bytes>" if there
 * are any of donors, and before them, with --batches, "batch <bytes>".
 */
static void decode(int batches)
{
	struct strbuf in = STRBUF_INIT;
	size_t pos = 0;

	if (strbuf_read(&in, 0, 0) < 0)
		die_errno("cannot read frames");
	while (pos < in.len) {
		struct wire_frame frame;
		struct checkout_outcome outcome;
		struct checkout_result result;
		ssize_t n = wire_next_frame(in.buf + pos, in.len - pos, &frame);
		int ret;

		if (n <= 0)
			die("malformed or truncated frame");
		if (frame.type != WIRE_RESULTS && frame.type != WIRE_LATE)
			die("these are no results");
		if (wire_get_outcome(&frame, &outcome))
			die("no outcome");
		if (batches)
			printf("batch %"PRIuMAX"\n", (uintmax_t)outcome.bytes);
		while ((ret = wire_get_result(&frame, &result)) > 0) {
			printf("%s%u %s",
			       frame.type == WIRE_LATE ? "late " : "",
			       (unsigned)result.id, status_name[result.status]);
			if (result.has_sd)
				print_sd(&result.sd);
			putchar('\n');
		}
		if (ret < 0)
			die("malformed result");
		if (outcome.cloned_files)
			printf("cloned %"PRIuMAX" %"PRIuMAX"\n",
			       (uintmax_t)outcome.cloned_files,
			       (uintmax_t)outcome.cloned_bytes);
		pos += n;
	}
	strbuf_release(&in);
}

/* What decode would print of the stat data of files. */
static void print_stat(const char **paths)
{
	for (; *paths; paths++) {
		struct stat st;
		struct stat_data sd;

		if (lstat(*paths, &st))
			die_errno("cannot lstat '%s'", *paths);
		fill_stat_data(&sd, &st);
		print_sd(&sd);
		putchar('\n');
	}
}

int cmd__checkout_wire(int argc, const char **argv)
{
	int split = 0, batches = 0, collect = 0, late = 0;
	struct option options[] = {
		OPT_INTEGER(0, "split", &split, "items in a frame"),
		OPT_BOOL(0, "collect", &collect, "ask for what was delayed"),
		OPT_BOOL(0, "late", &late, "it was delayed"),
		OPT_BOOL(0, "batches", &batches, "print a line for each frame"),
		OPT_END()
	};

	argc = parse_options(argc, argv, NULL, options, wire_usage, 0);
	if (!argc)
		usage_with_options(wire_usage, options);
	if (!strcmp(argv[0], "stat")) {
		print_stat(argv + 1);
		return 0;
	}
	if (!strcmp(argv[0], "answer")) {
		answer(argv + 1, late);
		return 0;
	}
	if (argc != 1)
		usage_with_options(wire_usage, options);
	if (!strcmp(argv[0], "has-openat")) {
#ifdef NO_OPENAT
		return 1;
#else
		return 0;
#endif
	}
	setup_git_directory(the_repository);
	if (!strcmp(argv[0], "encode"))
		encode(split, collect);
	else if (!strcmp(argv[0], "decode"))
		decode(batches);
	else
		usage_with_options(wire_usage, options);
	return 0;
}
