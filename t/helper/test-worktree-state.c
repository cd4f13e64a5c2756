/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Change a working tree behind Git's back, run something in it, and show all of
 * what it, the index and the rest of the repository are, but for what differs
 * from one run to the next.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "test-tool.h"
#include "abspath.h"
#include "dir.h"
#include "hex.h"
#include "read-cache.h"
#include "repository.h"
#include "run-command.h"
#include "setup.h"
#include "statinfo.h"
#include "strbuf.h"
#include "string-list.h"
#include "worktree-state.h"

static const char usage_string[] =
	"test-tool worktree-state change (<kind>:<path>)... [refresh]\n"
	"   or: test-tool worktree-state run <directory> [<option>...] <where>\n"
	"                                    <command>...\n"
	"\n"
	"Both make all files old, so that none is racily clean afterwards. The\n"
	"latter shows everything beside and below the working tree, and lets the\n"
	"reference refresh the index. The directory is for the command's streams.";

#define TEMPORARY ".merge_"

uint64_t hash_of(const char *buf, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325;

	while (len--)
		hash = (hash ^ (unsigned char)*buf++) * 0x100000001b3;
	return hash;
}

/* The names in a directory, sorted. */
static void list_directory(const char *path, struct string_list *names)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir) {
		printf("cannot open %s\n", path);
		return;
	}
	while ((e = readdir(dir)))
		if (!is_dot_or_dotdot(e->d_name))
			string_list_append(names, e->d_name);
	closedir(dir);
	string_list_sort(names);
}

void for_each_child(const char *path, child_fn fn, void *data)
{
	struct string_list names = STRING_LIST_INIT_DUP;
	struct string_list_item *item;

	list_directory(path, &names);
	for_each_string_list_item(item, &names) {
		char *child = xstrfmt("%s/%s", path, item->string);
		struct stat st;

		if (lstat(child, &st))
			printf("cannot lstat %s\n", child);
		else
			fn(child, item->string, &st, data);
		free(child);
	}
	string_list_clear(&names, 0);
}

int read_contents(const char *path, const struct stat *st,
		  struct strbuf *contents)
{
	strbuf_reset(contents);
	if (S_ISLNK(st->st_mode))
		return strbuf_readlink(contents, path, st->st_size);
	if (!S_ISREG(st->st_mode))
		return -1;
	return strbuf_read_file(contents, path, st->st_size) < 0 ? -1 : 0;
}

/*
 * Numbers and times that the file system made up are only compared with those
 * of the file. The size of an entry may have been set to 0 if it was written in
 * the same moment as the index and Git finds it modified; this is luck.
 */
static void show_entry(const struct cache_entry *ce, const char *worktree)
{
	static const struct stat_data zero;
	const struct stat_data *sd = &ce->ce_stat_data;
	const char *match = "differs";
	unsigned int flags = ce->ce_flags & (CE_VALID | CE_EXTENDED_FLAGS);
	struct stat_data now;
	char *path = xstrfmt("%s/%s", worktree, ce->name);
	struct stat st;

	/*
	 * Who reads the index forgets this flag of a file that is there; that
	 * is written if there is another reason to write the index, like luck.
	 */
	if ((flags & CE_SKIP_WORKTREE) && !lstat(path, &st))
		flags &= ~CE_SKIP_WORKTREE;

	if (S_ISGITLINK(ce->ce_mode)) {
		/* a directory; when it was filled is not Git's business */
		match = "any";
	} else if (!memcmp(sd, &zero, sizeof(zero))) {
		match = "none";
	} else if (lstat(path, &st)) {
		match = "no file";
	} else {
		fill_stat_data(&now, &st);
		if (!memcmp(&sd->sd_mtime, &now.sd_mtime,
			    sizeof(now.sd_mtime)) &&
		    sd->sd_ino == now.sd_ino)
			match = sd->sd_size && sd->sd_size != now.sd_size ?
				"wrong size" : "file";
	}
	printf("entry %06o %s %d flags=%x uid=%u gid=%u stat=%s %s\n",
	       ce->ce_mode, oid_to_hex(&ce->oid), ce_stage(ce),
	       flags, sd->sd_uid, sd->sd_gid, match, ce->name);
	free(path);
}

/* It may be broken, and Git dies then. */
static void show_index(const char *git, const char *worktree)
{
	char *path = xstrfmt("%s/index", git);
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		struct index_state istate = INDEX_STATE_INIT(the_repository);

		read_index_from(&istate, path, git);
		for (unsigned int i = 0; i < istate.cache_nr; i++)
			show_entry(istate.cache[i], worktree);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) < 0)
		die_errno("cannot show the index");
	free(path);
}

/* All but objects, and what differs from one run to the next. */
static void show_git_child(const char *path, const char *name,
			   const struct stat *st, void *data)
{
	struct strbuf contents = STRBUF_INIT;

	if (starts_with(name, "sharedindex.")) {
		printf("git sharedindex\n");
		return;
	}
	printf("git %o %s\n", (int)st->st_mode & 07777, path);
	if (!strcmp(name, "index") || !strcmp(name, "objects") ||
	    !strcmp(name, "hooks") || !strcmp(name, "reftable"))
		; /* nothing */
	else if (S_ISDIR(st->st_mode))
		for_each_child(path, show_git_child, data);
	else if (!read_contents(path, st, &contents))
		printf("git %s: %016"PRIx64" %.60s\n", path,
		       hash_of(contents.buf, contents.len),
		       strchr(contents.buf, '\n') + 1 ==
		       contents.buf + contents.len ? contents.buf : "\n");
	strbuf_release(&contents);
}

/* Show what Git knows of a working tree: .git is <worktree>/.git. */
static void show_git(const char *git, const char *worktree)
{
	struct strbuf sb = STRBUF_INIT;
	struct stat st;
	const char *dir;

	if (lstat(git, &st))
		die_errno("cannot lstat '%s'", git);
	if (S_ISDIR(st.st_mode)) {
		/* leftovers, like locks, would be among these */
		for_each_child(git, show_git_child, NULL);
		show_index(git, worktree);
	} else if (!read_contents(git, &st, &sb)) {
		strbuf_rtrim(&sb);
		printf("gitfile %s %s\n", git, sb.buf);
		if (skip_prefix(sb.buf, "gitdir: ", &dir)) {
			char *path = is_absolute_path(dir) ? xstrdup(dir) :
				xstrfmt("%s/%s", worktree, dir);

			show_index(path, worktree);
			free(path);
		}
	}
	strbuf_release(&sb);
}

/*
 * The files of "checkout-index --temp" have random names; show what is in them,
 * in the order of that.
 */
static void add_temporary(struct string_list *shown, const struct stat *st,
			  const struct strbuf *contents)
{
	string_list_append_nodup(shown,
		xstrfmt("%o %d bytes, %016"PRIx64, (int)st->st_mode,
			(int)contents->len,
			hash_of(contents->buf, contents->len)));
}

static void show_temporaries(struct string_list *shown)
{
	struct string_list_item *item;

	string_list_sort(shown);
	for_each_string_list_item(item, shown)
		printf("temporary %s\n", item->string);
}

struct shown_dir {
	const char *path;
	struct string_list temporaries;
};

static void show_tree(const char *path);

static void show_child(const char *path, const char *name,
		       const struct stat *st, void *data)
{
	struct shown_dir *dir = data;
	struct strbuf contents = STRBUF_INIT;

	if (!strcmp(name, ".git")) {
		show_git(path, dir->path);
	} else if (S_ISDIR(st->st_mode)) {
		printf("dir %o %s\n", (int)st->st_mode & 07777, path);
		if (ends_with(name, ".git"))
			for_each_child(path, show_git_child, NULL);
		else
			show_tree(path);
	} else if (read_contents(path, st, &contents)) {
		printf("special %o %s\n", (int)st->st_mode, path);
	} else if (starts_with(name, TEMPORARY)) {
		add_temporary(&dir->temporaries, st, &contents);
		unlink(path);
	} else if (S_ISLNK(st->st_mode)) {
		printf("link %s -> %s\n", path, contents.buf);
	} else {
		printf("file %o %d links, %d bytes, uid %d, %016"PRIx64" %s\n",
		       (int)st->st_mode & 07777, (int)st->st_nlink,
		       (int)contents.len, (int)st->st_uid,
		       hash_of(contents.buf, contents.len), path);
	}
	strbuf_release(&contents);
}

static void show_tree(const char *path)
{
	struct shown_dir dir = {
		.path = path,
		.temporaries = STRING_LIST_INIT_DUP,
	};

	for_each_child(path, show_child, &dir);
	show_temporaries(&dir.temporaries);
	string_list_clear(&dir.temporaries, 0);
}

/* See show_temporaries(). */
static void hide_random_names(struct strbuf *sb)
{
	size_t pos = 0;
	char *found;

	while ((found = strstr(sb->buf + pos, TEMPORARY))) {
		pos = found - sb->buf + strlen(TEMPORARY "file_");
		for (size_t i = 0; i < 6 && pos < sb->len; i++)
			if (isalnum(sb->buf[pos]))
				sb->buf[pos++] = 'X';
	}
}

/* What only one of the programs would say: where it is. */
static void hide_program(struct strbuf *sb, const char *variable)
{
	const char *path = getenv(variable);
	char *found;

	while (path && *path && (found = strstr(sb->buf, path)))
		strbuf_splice(sb, found - sb->buf, strlen(path), "GIT", 3);
}

/* The set of the lines of a text, which is taken apart. */
static void show_lines(const char *name, struct strbuf *sb)
{
	struct string_list lines = STRING_LIST_INIT_NODUP;
	struct string_list_item *item;

	hide_random_names(sb);
	hide_program(sb, "GIT_EXEC_PATH");
	hide_program(sb, "GIT_BUILD_DIR");
	string_list_split_in_place(&lines, sb->buf, "\n", -1);
	string_list_sort(&lines);
	string_list_remove_duplicates(&lines, 0);
	for_each_string_list_item(item, &lines)
		if (*item->string)
			printf("%s: %s\n", name, item->string);
	string_list_clear(&lines, 0);
}

static void show_file(const char *dir, const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	char *path = xstrfmt("%s/%s", dir, name);

	if (strbuf_read_file(&sb, path, 0) < 0)
		die_errno("cannot read '%s'", path);
	show_lines(name, &sb);
	strbuf_release(&sb);
	free(path);
}

/*
 * What the reference says; it may look at files, and update the index. Without
 * a name, nothing is shown.
 */
static void ask_reference(const char *name, const char **args)
{
	struct child_process git = CHILD_PROCESS_INIT;
	struct strbuf out = STRBUF_INIT;
	const char *dir = getenv("GIT_TEST_REFERENCE_GIT");
	int code;

	strvec_pushf(&git.args, "%s/git", dir);
	strvec_pushv(&git.args, args);
	strvec_pushf(&git.env, "GIT_EXEC_PATH=%s", dir);
	strvec_push(&git.env, "GIT_TEST_CHECKOUT_WORKERS");
	git.no_stderr = 1;
	git.no_stdin = 1;
	code = pipe_command(&git, NULL, 0, &out, 0, NULL, 0);
	if (code && name)
		printf("%s: exit code %d\n", name, code);
	if (name)
		show_lines(name, &out);
	strbuf_release(&out);
}

static const char *status[] = { "status", "--porcelain=v2", NULL };

static void show_all(const char *dir)
{
	static const char *refs[] = { "for-each-ref", "--include-root-refs",
				      NULL };
	struct stat st;

	show_file(dir, "code");
	show_file(dir, "out");
	show_file(dir, "err");
	if (getenv("GIT_TEST_FILTER_LOG"))
		show_file(dir, "told");
	show_tree("..");
	if (!lstat(".git/reftable", &st))
		ask_reference("ref", refs);
	age_all("..");
	ask_reference("status", status);
}

static void show_command(int argc, const char **argv)
{
	printf("#");
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n");
}

int cmd__worktree_state(int argc, const char **argv)
{
	if (argc < 3)
		usage(usage_string);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	setup_git_directory(the_repository);
	if (!strcmp(argv[1], "change")) {
		for (int i = 2; i < argc; i++)
			change_worktree(argv[i]);
		age_all(".");
		for (int i = 2; i < argc; i++)
			change_times(argv[i]);
		if (!strcmp(argv[argc - 1], "refresh"))
			ask_reference(NULL, status);
	} else if (!strcmp(argv[1], "run") && argc > 4) {
		show_command(argc - 3, argv + 3);
		run_in_worktree(argv[2], argc - 3, argv + 3);
		show_all(argv[2]);
	} else {
		usage(usage_string);
	}
	return 0;
}
