/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A filter that does what it is told on its command line, also if that is
 * wrong, and that writes down what it is asked. What it does to a file depends
 * on nothing but its path and the request, so it does not matter how many of
 * these processes share the work.
 */
#include "test-tool.h"
#include "abspath.h"
#include "parse-options.h"
#include "pkt-line.h"
#include "quote.h"
#include "setup.h"
#include "strbuf.h"
#include "string-list.h"
#include "wildmatch.h"
#include "worktree-state.h"
#include "write-or-die.h"

static const char *const filter_usage[] = {
	"test-tool checkout-filter [<option>...] process",
	"test-tool checkout-filter [<option>...] (clean | smudge) <path>",
	NULL
};

static const char *name = "filter";	/* its last letter is the key */
static const char *start = "";		/* what is wrong with the handshake */
static const char *delay;		/* paths to delay */
static const char *fail;		/* paths to fail on */
static const char *how = "";		/* how to fail on them */
static const char *list = "";		/* how to list what is available */
static int log_lists;		/* write down who asks for a list, too */
static struct string_list capabilities = STRING_LIST_INIT_NODUP;
/* util: struct output */
static struct string_list delayed = STRING_LIST_INIT_DUP;

struct output {
	struct strbuf contents;
	unsigned listed : 1;
};

static const struct option options[] = {
	OPT_STRING(0, "name", &name, "driver", "the name in the log"),
	OPT_STRING(0, "start", &start, "how",
		   "none, garbage, welcome, capability: a bad handshake"),
	OPT_STRING_LIST(0, "can", &capabilities, "capability",
			"instead of clean and smudge, and delay if --delay is given"),
	OPT_STRING(0, "delay", &delay, "glob", "which paths to delay"),
	OPT_STRING(0, "fail", &fail, "glob", "which paths to fail on"),
	OPT_STRING(0, "how", &how, "how",
		   "error, abort, late, unknown, cut, die, early, noise"),
	OPT_STRING(0, "list", &list, "how",
		   "one at a time, missing those to fail on, one that is invalid, "
		   "die, error, or late-invalid, late-die, late-error when nothing is left"),
	OPT_BOOL(0, "log-lists", &log_lists,
		 "log how many are held when they are asked for"),
	OPT_END()
};

static int matches(const char *glob, const char *path)
{
	return glob && !wildmatch(glob, path, 0);
}

static int fails(const char *path, const char *this_way)
{
	return matches(fail, path) && !strcmp(how, this_way);
}

/* Rotate letters; the key tells drivers apart. */
static void transform(struct strbuf *sb, int is_clean)
{
	int by = 1 + name[strlen(name) - 1] % 25;

	if (is_clean)
		by = 26 - by;
	for (size_t i = 0; i < sb->len; i++) {
		int first = isupper(sb->buf[i]) ? 'A' : 'a';

		if (isalpha(sb->buf[i]))
			sb->buf[i] = first + (sb->buf[i] - first + by) % 26;
	}
}

/* ---- the log ---- */

static void add_variable(struct strbuf *out, const char *variable)
{
	const char *value = getenv(variable);

	strbuf_addf(out, " %s=%s", variable, value ? value : "(unset)");
}

static void add_absolute(struct strbuf *out, const char *key, const char *path)
{
	struct strbuf real = STRBUF_INIT;

	if (!path)
		path = "(none)";
	else if (strbuf_realpath(&real, path, 0))
		path = real.buf;
	strbuf_addf(out, " %s=%s", key, path);
	strbuf_release(&real);
}

/* Where we are, as a command that is started here would understand it. */
static void add_place(struct strbuf *out)
{
	const char *git_dir = getenv("GIT_DIR");
	const char *work_tree = getenv("GIT_WORK_TREE");
	const char *link;

	if (!git_dir)
		git_dir = ".git";
	link = read_gitfile_gently(git_dir, &(int){ 0 });
	add_absolute(out, "cwd", ".");
	add_absolute(out, "git-dir", link ? link : git_dir);
	add_absolute(out, "work-tree", work_tree ? work_tree : ".");
	add_variable(out, "GIT_PREFIX");
}

/* One write, as others write to the same file. */
static void log_request(const char *path, const char *meta,
			const struct strbuf *input)
{
	const char *log = getenv("GIT_TEST_FILTER_LOG");
	struct strbuf line = STRBUF_INIT;
	int fd;

	if (!log)
		return;
	fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0666);
	if (fd < 0)
		die_errno("cannot open '%s'", log);
	strbuf_addf(&line, "%s ", name);
	quote_c_style(path, &line, NULL, 0);
	strbuf_addf(&line, "%s %d bytes %016"PRIx64, meta, (int)input->len,
		    hash_of(input->buf, input->len));
	add_place(&line);
	strbuf_addch(&line, '\n');
	write_or_die(fd, line.buf, line.len);
	close(fd);
	strbuf_release(&line);
}

/* ---- one file ---- */

static int filter_one(const char *path, int is_clean)
{
	struct strbuf sb = STRBUF_INIT;
	int code = 0;

	if (!is_clean && fails(path, "die"))
		return 3;
	if (!is_clean && fails(path, "early"))
		strbuf_addstr(&sb, "something else\n");
	else if (strbuf_read(&sb, 0, 0) < 0)
		return 4;
	if (is_clean) {
		transform(&sb, 1);
		write_or_die(1, sb.buf, sb.len);
		strbuf_release(&sb);
		return 0;
	}
	if (!fails(path, "early"))
		log_request(path, "", &sb);
	transform(&sb, 0);
	if (fails(path, "noise"))
		fprintf(stderr, "noise about %s\n", path);
	if (fails(path, "error"))
		code = 1;
	if (fails(path, "cut")) {
		code = 2;
		strbuf_setlen(&sb, sb.len / 2);
	}
	write_or_die(1, sb.buf, sb.len);
	strbuf_release(&sb);
	return code;
}

/* ---- the long-running process ---- */

struct request {
	char *command, *path;
	struct strbuf meta;
	struct strbuf input;
	int can_delay;
};

/*
 * Whoever stops a filter sends a signal; it may come before or after our end.
 */
static void NORETURN quit(int sig UNUSED)
{
	_exit(0);
}

static void send_status(const char *status)
{
	packet_write_fmt(1, "status=%s\n", status);
	packet_flush(1);
}

static void skip_to_flush(void)
{
	char *line;

	while (packet_read_line_gently(0, NULL, &line) > 0)
		; /* next */
}

static void shake_hands(void)
{
	skip_to_flush();
	if (!strcmp(start, "none"))
		quit(0);
	if (!strcmp(start, "garbage"))
		write_or_die(1, "garbage\n", 8);
	packet_write_fmt(1, "%s\n", !strcmp(start, "welcome") ?
			 "no-filter" : "git-filter-server");
	packet_write_fmt(1, "version=2\n");
	packet_flush(1);
	skip_to_flush();
	if (!strcmp(start, "capability"))
		packet_write_fmt(1, "capability=fly\n");
	for (size_t i = 0; i < capabilities.nr; i++)
		packet_write_fmt(1, "capability=%s\n",
				 capabilities.items[i].string);
	packet_flush(1);
}

static int read_request(struct request *r)
{
	char *line;
	const char *value;

	if (packet_read_line_gently(0, NULL, &line) < 0 || !line)
		return 0;
	if (!skip_prefix(line, "command=", &value))
		die("no command: '%s'", line);
	r->command = xstrdup(value);
	while (packet_read_line_gently(0, NULL, &line) > 0 && line) {
		if (skip_prefix(line, "pathname=", &value)) {
			r->path = xstrdup(value);
			continue;
		}
		r->can_delay |= !strcmp(line, "can-delay=1");
		strbuf_addf(&r->meta, " %s", line);
	}
	if (r->path && read_packetized_to_strbuf(0, &r->input, 0) < 0)
		die("no contents of '%s'", r->path);
	return 1;
}

static void drop_delayed(struct string_list_item *item)
{
	struct output *output = item->util;

	strbuf_release(&output->contents);
	free(output);
	string_list_remove(&delayed, item->string, 0);
}

/* Nothing is listed twice, though nobody may have asked for it. */
static void list_available(void)
{
	struct strbuf held = STRBUF_INIT, none = STRBUF_INIT;
	struct string_list_item *item;
	size_t nr = 0;

	if (log_lists) {
		strbuf_addf(&held, " holds %d", (int)delayed.nr);
		log_request("list", held.buf, &none);
		strbuf_release(&held);
	}
	if (!strcmp(list, "die") ||
	    (!strcmp(list, "late-die") && !delayed.nr))
		quit(0);
	for_each_string_list_item(item, &delayed) {
		struct output *output = item->util;

		if (output->listed || (nr && !strcmp(list, "one")) ||
		    (!strcmp(list, "missing") && matches(fail, item->string)))
			continue;
		packet_write_fmt(1, "pathname=%s\n", item->string);
		output->listed = 1;
		nr++;
	}
	if ((nr && !strcmp(list, "invalid")) ||
	    (!delayed.nr && !strcmp(list, "late-invalid")))
		packet_write_fmt(1, "pathname=no/such/path\n");
	packet_flush(1);
	send_status("success");
}

/* Whoever asks has to do without what was delayed, then. */
static void refuse_list(void)
{
	while (delayed.nr)
		drop_delayed(&delayed.items[0]);
	packet_flush(1);
	send_status("error");
}

static void put_off(struct request *r)
{
	struct string_list_item *item = string_list_insert(&delayed, r->path);
	struct output *output = item->util;

	if (!output) {
		CALLOC_ARRAY(output, 1);
		strbuf_init(&output->contents, 0);
		item->util = output;
	}
	strbuf_swap(&output->contents, &r->input);
	output->listed = 0;
	send_status("delayed");
}

/* What was delayed comes with no contents; it is in r->input afterwards. */
static void take_up(struct request *r)
{
	struct string_list_item *item = string_list_lookup(&delayed, r->path);
	struct output *output;

	if (!item)
		return;
	output = item->util;
	if (output->listed)
		strbuf_swap(&output->contents, &r->input);
	drop_delayed(item);
}

static void send_contents(struct request *r)
{
	send_status("success");
	if (!strcmp(r->command, "smudge") && fails(r->path, "cut")) {
		packet_write_fmt(1, "half of it");
		quit(0);
	}
	write_packetized_from_buf_no_flush(r->input.buf, r->input.len, 1);
	packet_flush(1);
	if (!strcmp(r->command, "smudge") && fails(r->path, "late"))
		send_status("error");
	else
		packet_flush(1);
}

static void smudge(struct request *r)
{
	log_request(r->path, r->meta.buf, &r->input);
	if (r->can_delay && matches(delay, r->path)) {
		put_off(r);
		return;
	}
	take_up(r);
	transform(&r->input, 0);
	if (fails(r->path, "noise"))
		fprintf(stderr, "noise about %s\n", r->path);
	if (fails(r->path, "die"))
		quit(0);
	if (fails(r->path, "error"))
		send_status("error");
	else if (fails(r->path, "abort"))
		send_status("abort");
	else if (fails(r->path, "unknown"))
		send_status("perplexed");
	else
		send_contents(r);
}

static int serve(void)
{
	for (;;) {
		struct request r = {
			.meta = STRBUF_INIT,
			.input = STRBUF_INIT,
		};
		int more = read_request(&r);

		if (!more)
			return 0;
		if (!strcmp(r.command, "list_available_blobs")) {
			if (!strcmp(list, "error") ||
			    (!strcmp(list, "late-error") && !delayed.nr))
				refuse_list();
			else
				list_available();
		} else if (!r.path) {
			die("no path for '%s'", r.command);
		} else if (!strcmp(r.command, "smudge")) {
			smudge(&r);
		} else {
			transform(&r.input, 1);
			send_contents(&r);
		}
		free(r.command);
		free(r.path);
		strbuf_release(&r.meta);
		strbuf_release(&r.input);
	}
}

int cmd__checkout_filter(int argc, const char **argv)
{
	argc = parse_options(argc, argv, NULL, options, filter_usage,
			     PARSE_OPT_STOP_AT_NON_OPTION);
	if (argc == 2 && (!strcmp(argv[0], "clean") ||
			  !strcmp(argv[0], "smudge")))
		return filter_one(argv[1], !strcmp(argv[0], "clean"));
	if (argc != 1 || strcmp(argv[0], "process"))
		usage_with_options(filter_usage, options);
	signal(SIGTERM, quit);
	if (!capabilities.nr) {
		string_list_append(&capabilities, "clean");
		string_list_append(&capabilities, "smudge");
		if (delay)
			string_list_append(&capabilities, "delay");
	}
	shake_hands();
	return serve();
}
