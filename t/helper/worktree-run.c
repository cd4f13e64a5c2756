/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run a command in a working tree in circumstances that it may not expect, for
 * a limited time.
 */
#include "git-compat-util.h"
#include "strbuf.h"
#include "worktree-state.h"
#include "wrapper.h"

#ifdef GIT_WINDOWS_NATIVE

void run_in_worktree(const char *dir UNUSED, int argc UNUSED,
		     const char **argv UNUSED)
{
	die("random cases need fork() and limits");
}

#else

#define SECONDS 20
#define GRACE_MS 3000

struct circumstances {
	int close;		/* a descriptor, or -1 */
	int ignore;		/* a signal, or 0 */
	unsigned long files, size, processes;	/* limits, or 0 */
	int removed_directory;
};

static pid_t child;

static void kill_child(int sig UNUSED)
{
	kill(-child, SIGKILL);
}

static void limit(int resource, unsigned long to)
{
	struct rlimit limits = { .rlim_cur = to, .rlim_max = to };

	if (to && setrlimit(resource, &limits))
		die_errno("cannot set a limit");
}

static void open_as(const char *dir, const char *name, int flags, int as)
{
	char *path = xstrfmt("%s/%s", dir, name);
	int fd = open(path, flags, 0666);

	if (fd < 0 || dup2(fd, as) < 0)
		die_errno("cannot open '%s'", path);
	if (fd != as)
		close(fd);
	free(path);
}

static void enter(const struct circumstances *how, const char *where)
{
	if (how->removed_directory) {
		if (mkdir("../removed", 0777) || chdir("../removed") ||
		    rmdir("../removed"))
			die_errno("cannot remove the current directory");
	} else if (chdir(where)) {
		; /* the repository, then */
	}
}

static void NORETURN execute(const struct circumstances *how, const char *dir,
			     const char **argv)
{
	setpgid(0, 0);
	open_as(dir, "stdin", O_RDONLY, 0);
	open_as(dir, "out", O_WRONLY | O_CREAT | O_TRUNC, 1);
	open_as(dir, "err", O_WRONLY | O_CREAT | O_TRUNC, 2);
	enter(how, argv[0]);
	if (how->ignore)
		signal(how->ignore, SIG_IGN);
	limit(RLIMIT_NOFILE, how->files);
	limit(RLIMIT_FSIZE, how->size << 10);
	limit(RLIMIT_NPROC, how->processes);
	if (how->close >= 0)
		close(how->close);
	execvp(argv[1], (char **)argv + 1);
	_exit(127);
}

static int skip_option(struct circumstances *how, const char *arg)
{
	const char *value;

	if (skip_prefix(arg, "--close=", &value))
		how->close = atoi(value);
	else if (skip_prefix(arg, "--ignore=", &value))
		how->ignore = !strcmp(value, "PIPE") ? SIGPIPE :
			!strcmp(value, "XFSZ") ? SIGXFSZ : SIGCHLD;
	else if (skip_prefix(arg, "--files=", &value))
		how->files = atoi(value);
	else if (skip_prefix(arg, "--size=", &value))
		how->size = atoi(value);
	else if (skip_prefix(arg, "--processes=", &value))
		how->processes = atoi(value);
	else if (!strcmp(arg, "--removed-directory"))
		how->removed_directory = 1;
	else
		return 0;
	return 1;
}

/* What it has started ends soon after it, if at all. */
static int wait_for_group(void)
{
	for (int i = 0; i < GRACE_MS; i++) {
		if (kill(-child, 0))
			return 0;
		sleep_millisec(1);
	}
	kill(-child, SIGKILL);
	return 1;
}

void run_in_worktree(const char *dir, int argc, const char **argv)
{
	struct circumstances how = { .close = -1 };
	struct strbuf url = STRBUF_INIT;
	int status, code, left;
	char *path = xstrfmt("%s/code", dir);

	for (; argc && skip_option(&how, *argv); argc--, argv++)
		; /* next */
	strbuf_addf(&url, "file://%s/%s", dir, "work/repo");
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "FILE_URL"))
			argv[i] = url.buf;

	child = fork();
	if (child < 0)
		die_errno("cannot fork");
	if (!child)
		execute(&how, dir, argv);
	setpgid(child, child);
	signal(SIGALRM, kill_child);
	alarm(SECONDS);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			die_errno("cannot wait");
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!alarm(0))
		code = 124; /* as timeout(1) */
	left = wait_for_group();
	write_file(path, "%d%s", code, left ? "\nprocesses are left" : "");
	strbuf_release(&url);
	free(path);
}

#endif
