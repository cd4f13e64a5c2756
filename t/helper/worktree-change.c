/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Change a working tree behind Git's back.
 */
#define USE_THE_REPOSITORY_VARIABLE
#include "git-compat-util.h"
#include "hex.h"
#include "object-file.h"
#include "object-name.h"
#include "path.h"
#include "repository.h"
#include "string-list.h"
#include "worktree-state.h"
#include "wrapper.h"
#include "write-or-die.h"

#define SOME_TIME 1112354055

/*
 * In the order of names, and whatever the modes are: what is left must not
 * depend on the order in which files were made.
 */
static void remove_all(const char *path);

static void remove_child(const char *path, const char *name UNUSED,
			 const struct stat *st UNUSED, void *data UNUSED)
{
	remove_all(path);
}

static void remove_all(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		chmod(path, 0777);
		for_each_child(path, remove_child, NULL);
		rmdir(path);
	} else {
		unlink(path);
	}
}

/* What cannot be written because of what is in the way is not written. */
static void write_text(const char *path, const char *text)
{
	struct stat st;
	int fd;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		return;
	write_or_die(fd, text, strlen(text));
	close(fd);
}

static void make_parents(const char *path)
{
	safe_create_leading_directories_const(the_repository, path);
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

static void remove_but_git(const char *path, const char *name,
			   const struct stat *st UNUSED, void *data UNUSED)
{
	if (strcmp(name, ".git"))
		remove_all(path);
}

/* Where there are no links, it is absent, always. */
static void put_link(const char *path, const char *target)
{
	struct strbuf sb = STRBUF_INIT;

	for (const char *p = path; (p = strchr(p, '/')); p++)
		strbuf_addstr(&sb, "../");
	strbuf_addstr(&sb, target);
	remove_all(path);
	make_parents(path);
	if (symlink(sb.buf, path))
		; /* too bad */
	strbuf_release(&sb);
}

/* Another byte, but the same size and the same time. */
static void write_same_size(const char *path)
{
	struct utimbuf times;
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return;
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return;
	write_or_die(fd, "#", 1);
	close(fd);
	times.actime = times.modtime = st.st_mtime;
	if (utime(path, &times))
		die_errno("cannot set time of '%s'", path);
}

/* Make a loose object a broken one, or no longer there. */
static void damage_object(const char *name, int remove)
{
	struct object_id oid;
	struct strbuf path = STRBUF_INIT;

	if (!repo_get_oid(the_repository, name, &oid)) {
		const char *hex = oid_to_hex(&oid);

		strbuf_addf(&path, ".git/objects/%.2s/%s", hex, hex + 2);
		if (!unlink(path.buf) && !remove)
			write_text(path.buf, "x\001broken");
		strbuf_release(&path);
	}
}

static void put_under(const char *path, const char *name)
{
	char *file = xstrfmt("%s/%s", path, name);

	remove_all(path);
	make_parents(file);
	write_text(file, "untracked\n");
	free(file);
}

static void change_mode(const char *path, int is_dir, unsigned int mode)
{
	struct stat st;

	if (!lstat(path, &st) && (is_dir ? S_ISDIR(st.st_mode) :
				  S_ISREG(st.st_mode)) && chmod(path, mode))
		die_errno("cannot change '%s'", path);
}

/* Put something else in the place of a path. Returns whether it has. */
static int replace_path(const char *what)
{
	const char *path;

	if (skip_prefix(what, "file:", &path)) {
		remove_all(path);
		make_parents(path);
		write_text(path, "untracked\n");
	} else if (skip_prefix(what, "remove:", &path)) {
		remove_all(path);
	} else if (skip_prefix(what, "dir:", &path)) {
		put_under(path, "untracked");
	} else if (skip_prefix(what, "emptydir:", &path)) {
		remove_all(path);
		make_parents(path);
		mkdir(path, 0777);
	} else if (skip_prefix(what, "link:", &path)) {
		put_link(path, "../outside");
	} else if (skip_prefix(what, "linkdir:", &path)) {
		put_link(path, "b");
	} else if (skip_prefix(what, "linkout:", &path)) {
		put_link(path, "../outdir");
	} else if (skip_prefix(what, "dangling:", &path)) {
		put_link(path, "../nothing");
	} else if (skip_prefix(what, "fifo:", &path)) {
		/* whoever opens one waits, and some names are opened always */
		if (strstr(path, ".git") || strstr(path, "attrs"))
			return 1;
		remove_all(path);
		mkfifo(path, 0666);
	} else {
		return 0;
	}
	return 1;
}

/* Change the whole working tree. Returns whether it has. */
static int change_everything(const char *what)
{
	if (!strcmp(what, "write-all"))
		for_each_child(".", write_into, NULL);
	else if (!strcmp(what, "remove-all"))
		for_each_child(".", remove_but_git, NULL);
	else if (!strcmp(what, "remove-index"))
		unlink(".git/index");
	else
		return 0;
	return 1;
}

void change_worktree(const char *what)
{
	const char *path;
	struct stat st;

	if (replace_path(what) || change_everything(what))
		return;
	if (skip_prefix(what, "write:", &path)) {
		/* also through a link, which is somebody else's file then */
		write_text(path, "dirty\n");
	} else if (skip_prefix(what, "append:", &path)) {
		int fd = lstat(path, &st) || !S_ISREG(st.st_mode) ? -1 :
			open(path, O_WRONLY | O_APPEND);

		if (fd >= 0) {
			write_or_die(fd, "more\n", 5);
			close(fd);
		}
	} else if (skip_prefix(what, "attributes:", &path)) {
		write_text(path, "* text eol=crlf\n*.id ident\n");
	} else if (skip_prefix(what, "mode:", &path)) {
		if (!lstat(path, &st))
			change_mode(path, 0, (st.st_mode & 07777) ^ 0111);
	} else if (skip_prefix(what, "unreadable:", &path)) {
		change_mode(path, 0, 0);
	} else if (skip_prefix(what, "readonly:", &path)) {
		change_mode(path, 1, 0555);
	} else if (skip_prefix(what, "nodir:", &path)) {
		change_mode(path, 1, 0);
	} else if (skip_prefix(what, "owner:", &path)) {
		if (lchown(path, 65534, 65534))
			; /* only root can */
	} else if (skip_prefix(what, "corrupt:", &path)) {
		damage_object(path, 0);
	} else if (skip_prefix(what, "missing:", &path)) {
		damage_object(path, 1);
	} else if (!starts_with(what, "touch:") &&
		   !starts_with(what, "same:") &&
		   strcmp(what, "refresh") && strcmp(what, "racy-index")) {
		die("unknown change '%s'", what);
	}
}

void change_times(const char *what)
{
	struct utimbuf times = { SOME_TIME - 1000, SOME_TIME - 1000 };
	const char *path;
	struct stat st;

	if (skip_prefix(what, "touch:", &path) && !lstat(path, &st) &&
	    S_ISREG(st.st_mode) && utime(path, &times))
		die_errno("cannot set time of '%s'", path);
	else if (skip_prefix(what, "same:", &path))
		write_same_size(path);
	else if (!strcmp(what, "racy-index"))
		utime(".git/index", &times);
}

static void set_time(const char *path, const struct stat *st, time_t when)
{
	if (st->st_mtime == when)
		return;
	if (S_ISLNK(st->st_mode)) {
#if defined(AT_SYMLINK_NOFOLLOW) && defined(UTIME_NOW)
		struct timespec times[2] = { { .tv_sec = when },
					     { .tv_sec = when } };

		if (utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW))
			die_errno("cannot set time of '%s'", path);
#endif
	} else {
		struct utimbuf times = { .actime = when, .modtime = when };

		if (utime(path, &times))
			die_errno("cannot set time of '%s'", path);
	}
}

static void age(const char *path, const char *name, const struct stat *st,
		void *data UNUSED)
{
	time_t when = SOME_TIME;

	if (!strcmp(name, ".git") || ends_with(name, ".git"))
		return;
	if (S_ISDIR(st->st_mode)) {
		age_all(path);
	} else {
		struct strbuf contents = STRBUF_INIT;

		if (!read_contents(path, st, &contents))
			when += hash_of(contents.buf, contents.len) % 100000;
		strbuf_release(&contents);
	}
	set_time(path, st, when);
}

void age_all(const char *path)
{
	for_each_child(path, age, NULL);
}
