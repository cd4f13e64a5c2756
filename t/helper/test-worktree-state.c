/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Change a working tree behind Git's back, and show all of what it and the
 * index are, but for what differs from one run to the next.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "test-tool.h"
#include "config.h"
#include "dir.h"
#include "environment.h"
#include "hex.h"
#include "lockfile.h"
#include "object-file.h"
#include "read-cache.h"
#include "repository.h"
#include "setup.h"
#include "statinfo.h"
#include "strbuf.h"
#include "string-list.h"
#include "wrapper.h"
#include "write-or-die.h"

static const char usage_string[] =
	"test-tool worktree-state change (<kind>:<path>)... [refresh]\n"
	"   or: test-tool worktree-state show <directory> [<output file>...]\n"
	"\n"
	"Both make all files old, so that none is racily clean afterwards. The\n"
	"latter refreshes the index when it has shown all.";

#define SOME_TIME 1112354055
#define TEMPORARY ".merge_"

/* FNV-1a: tells contents apart, and is the same everywhere. */
static uint64_t hash_of(const char *buf, size_t len)
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

	if (!dir)
		die_errno("cannot open '%s'", path);
	while ((e = readdir(dir)))
		if (!is_dot_or_dotdot(e->d_name))
			string_list_append(names, e->d_name);
	closedir(dir);
	string_list_sort(names);
}

/* Call this for everything in a directory, sorted by name. */
typedef void (*child_fn)(const char *path, const char *name,
			 const struct stat *st, void *data);

static void for_each_child(const char *path, child_fn fn, void *data)
{
	struct string_list names = STRING_LIST_INIT_DUP;
	struct string_list_item *item;

	list_directory(path, &names);
	for_each_string_list_item(item, &names) {
		char *child = xstrfmt("%s/%s", path, item->string);
		struct stat st;

		if (lstat(child, &st))
			die_errno("cannot lstat '%s'", child);
		fn(child, item->string, &st, data);
		free(child);
	}
	string_list_clear(&names, 0);
}

static void remove_all(const char *path)
{
	struct strbuf sb = STRBUF_INIT;
	struct stat st;

	if (!lstat(path, &st)) {
		strbuf_addstr(&sb, path);
		if (!S_ISDIR(st.st_mode))
			unlink(path);
		else
			remove_dir_recursively(&sb, 0);
	}
	strbuf_release(&sb);
}

/* What cannot be written because of what is in the way is not written. */
static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0)
		return;
	write_or_die(fd, text, strlen(text));
	close(fd);
}

static void write_into(const char *path, const char *name,
		       const struct stat *st, void *data)
{
	if (!strcmp(name, ".git"))
		return; /* may be a file */
	if (S_ISDIR(st->st_mode))
		for_each_child(path, write_into, data);
	else if (S_ISREG(st->st_mode))
		write_text(path, "everything is dirty\n");
}

static void remove_everything(void)
{
	struct string_list names = STRING_LIST_INIT_DUP;
	struct string_list_item *item;

	list_directory(".", &names);
	for_each_string_list_item(item, &names)
		if (strcmp(item->string, ".git"))
			remove_all(item->string);
	string_list_clear(&names, 0);
}

static void change(const char *what)
{
	const char *path;
	struct stat st;

	if (skip_prefix(what, "write:", &path)) {
		/* also through a link, which is somebody else's file then */
		write_text(path, "dirty\n");
	} else if (skip_prefix(what, "append:", &path)) {
		int fd = open(path, O_WRONLY | O_APPEND);

		if (fd >= 0) {
			write_or_die(fd, "more\n", 5);
			close(fd);
		}
	} else if (skip_prefix(what, "attributes:", &path)) {
		write_text(path, "* text eol=crlf\n*.id ident\n");
	} else if (skip_prefix(what, "file:", &path)) {
		remove_all(path);
		safe_create_leading_directories_const(path);
		write_text(path, "untracked\n");
	} else if (skip_prefix(what, "remove:", &path)) {
		remove_all(path);
	} else if (skip_prefix(what, "dir:", &path)) {
		char *file = xstrfmt("%s/untracked", path);

		remove_all(path);
		safe_create_leading_directories_const(file);
		write_text(file, "untracked\n");
		free(file);
	} else if (skip_prefix(what, "emptydir:", &path)) {
		remove_all(path);
		safe_create_leading_directories_const(path);
		mkdir(path, 0777);
	} else if (skip_prefix(what, "link:", &path)) {
		remove_all(path);
		safe_create_leading_directories_const(path);
		/* where there are no links, it is absent, always */
		if (symlink("../outside", path))
			return;
	} else if (skip_prefix(what, "mode:", &path)) {
		if (!lstat(path, &st) && S_ISREG(st.st_mode))
			chmod(path, st.st_mode ^ 0111);
	} else if (starts_with(what, "touch:") || !strcmp(what, "refresh")) {
		; /* afterwards */
	} else if (!strcmp(what, "write-all")) {
		for_each_child(".", write_into, NULL);
	} else if (!strcmp(what, "remove-all")) {
		remove_everything();
	} else if (!strcmp(what, "remove-index")) {
		unlink(".git/index");
	} else {
		die("unknown change '%s'", what);
	}
}

/* Another time, so that it may have been changed. */
static void touch(const char *what)
{
	struct utimbuf times = { SOME_TIME - 1000, SOME_TIME - 1000 };
	const char *path;
	struct stat st;

	if (skip_prefix(what, "touch:", &path) && !lstat(path, &st) &&
	    S_ISREG(st.st_mode) && utime(path, &times))
		die_errno("cannot set time of '%s'", path);
}

static void read_contents(const char *path, const struct stat *st,
			  struct strbuf *contents)
{
	strbuf_reset(contents);
	if (S_ISLNK(st->st_mode) ?
	    strbuf_readlink(contents, path, st->st_size) :
	    strbuf_read_file(contents, path, st->st_size) < 0)
		die_errno("cannot read '%s'", path);
}

static void set_time(const char *path, const struct stat *st, time_t when)
{
	if (st->st_mtime == when)
		return;
	if (S_ISLNK(st->st_mode)) {
#if defined(AT_SYMLINK_NOFOLLOW) && defined(UTIME_NOW)
		struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

		if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
			die_errno("cannot set time of '%s'", path);
#endif
	} else {
		struct utimbuf times = { .actime = when, .modtime = when };

		if (utime(path, &times))
			die_errno("cannot set time of '%s'", path);
	}
}

/*
 * Give everything a time in the past, which depends on the contents of a file:
 * none is racily clean, and one that was changed has another time than before.
 * The others are not touched.
 */
static void age(const char *path, const char *name, const struct stat *st,
		void *data)
{
	time_t when = SOME_TIME;

	if (!strcmp(name, ".git"))
		return;
	if (S_ISDIR(st->st_mode)) {
		for_each_child(path, age, data);
	} else {
		struct strbuf contents = STRBUF_INIT;

		read_contents(path, st, &contents);
		when += hash_of(contents.buf, contents.len) % 100000;
		strbuf_release(&contents);
	}
	set_time(path, st, when);
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
	struct stat_data now;
	char *path = xstrfmt("%s/%s", worktree, ce->name);
	struct stat st;

	if (S_ISGITLINK(ce->ce_mode)) {
		/* a directory; when it was filled is not Git's business */
		match = "any";
	} else if (!memcmp(sd, &zero, sizeof(zero))) {
		match = "none";
	} else if (lstat(path, &st)) {
		match = "no file";
	} else {
		fill_stat_data(&now, &st);
		if (!memcmp(&sd->sd_mtime, &now.sd_mtime, sizeof(now.sd_mtime)) &&
		    sd->sd_ino == now.sd_ino)
			match = sd->sd_size && sd->sd_size != now.sd_size ?
				"wrong size" : "file";
	}
	printf("entry %06o %s %d flags=%x uid=%u gid=%u stat=%s %s\n",
	       ce->ce_mode, oid_to_hex(&ce->oid), ce_stage(ce),
	       ce->ce_flags & (CE_VALID | CE_EXTENDED_FLAGS),
	       sd->sd_uid, sd->sd_gid, match, ce->name);
	free(path);
}

/* Show what Git knows of a working tree: .git is <worktree>/.git. */
static void show_git(const char *git, const char *worktree)
{
	struct index_state istate = INDEX_STATE_INIT(the_repository);
	struct string_list names = STRING_LIST_INIT_DUP;
	struct string_list_item *item;
	struct strbuf sb = STRBUF_INIT;
	struct stat st;
	char *index, *head;

	if (lstat(git, &st))
		die_errno("cannot lstat '%s'", git);
	if (S_ISREG(st.st_mode)) {
		const char *dir;

		if (strbuf_read_file(&sb, git, 0) < 0)
			die_errno("cannot read '%s'", git);
		strbuf_rtrim(&sb);
		if (!skip_prefix(sb.buf, "gitdir: ", &dir))
			die("'%s' is not a gitfile", git);
		show_git(dir, worktree);
		strbuf_release(&sb);
		return;
	}

	/* leftovers, like locks, would be among these */
	list_directory(git, &names);
	for_each_string_list_item(item, &names)
		printf("git %s\n", item->string);
	head = xstrfmt("%s/HEAD", git);
	if (strbuf_read_file(&sb, head, 0) > 0)
		printf("HEAD %s", sb.buf);
	index = xstrfmt("%s/index", git);
	read_index_from(&istate, index, git);
	for (unsigned int i = 0; i < istate.cache_nr; i++)
		show_entry(istate.cache[i], worktree);

	discard_index(&istate);
	free(index);
	free(head);
	string_list_clear(&names, 0);
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
		show_tree(path);
	} else {
		read_contents(path, st, &contents);
		if (starts_with(name, TEMPORARY)) {
			add_temporary(&dir->temporaries, st, &contents);
			unlink(path);
		} else if (S_ISLNK(st->st_mode))
			printf("link %s -> %s\n", path, contents.buf);
		else
			printf("file %o %d links, %d bytes, %016"PRIx64" %s\n",
			       (int)st->st_mode & 07777, (int)st->st_nlink,
			       (int)contents.len,
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

static void refresh(void)
{
	struct lock_file lock = LOCK_INIT;

	repo_hold_locked_index(the_repository, &lock, LOCK_DIE_ON_ERROR);
	repo_read_index(the_repository);
	refresh_index(the_repository->index, REFRESH_QUIET | REFRESH_UNMERGED,
		      NULL, NULL, NULL);
	/* even if nothing has changed, lest that depends on the time */
	if (write_locked_index(the_repository->index, &lock, COMMIT_LOCK))
		die("cannot write the index");
}

/* The set of the lines of a file. */
static void show_lines(const char *file)
{
	struct string_list lines = STRING_LIST_INIT_DUP;
	struct string_list_item *item;
	struct strbuf sb = STRBUF_INIT;
	const char *slash = strrchr(file, '/');
	const char *basename = slash ? slash + 1 : file;

	if (strbuf_read_file(&sb, file, 0) < 0)
		die_errno("cannot read '%s'", file);
	hide_random_names(&sb);
	string_list_split(&lines, sb.buf, '\n', -1);
	string_list_sort(&lines);
	string_list_remove_duplicates(&lines, 0);
	for_each_string_list_item(item, &lines)
		if (*item->string)
			printf("%s: %s\n", basename, item->string);
	string_list_clear(&lines, 0);
	strbuf_release(&sb);
}

int cmd__worktree_state(int argc, const char **argv)
{
	if (argc < 3)
		usage(usage_string);
	setup_git_directory();
	git_config(git_default_config, NULL);
	if (!strcmp(argv[1], "change")) {
		for (int i = 2; i < argc; i++)
			change(argv[i]);
		for_each_child(".", age, NULL);
		for (int i = 2; i < argc; i++)
			touch(argv[i]);
		if (!strcmp(argv[argc - 1], "refresh"))
			refresh();
	} else if (!strcmp(argv[1], "show")) {
		for (int i = 3; i < argc; i++)
			show_lines(argv[i]);
		show_tree(argv[2]);
		for_each_child(argv[2], age, NULL);
		refresh();
	} else {
		usage(usage_string);
	}
	return 0;
}
