/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * usage: forbid-call <errno> <system call>[,<system call>...] <command>...
 *
 * Run a command in a sandbox, as of a container, in which these system calls
 * fail with that error ("kill": who makes them is killed). Built by the tests
 * that need it, on Linux. Exits with 126 if there is no such sandbox.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

static int add_call(struct sock_filter *filter, const char *name,
		    unsigned int action)
{
	static const struct {
		const char *name;
		unsigned int nr;
	} calls[] = {
		{ "openat2", SYS_openat2 },
#ifdef SYS_poll
		{ "poll", SYS_poll },
#endif
#ifdef SYS_ppoll
		{ "ppoll", SYS_ppoll },
#endif
	};
	const struct sock_filter is_call[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, name))
			continue;
		memcpy(filter, is_call, sizeof(is_call));
		filter[0].k = calls[i].nr;
		return 2;
	}
	return 0;
}

static int forbid(char *names, unsigned int action)
{
	struct sock_filter filter[16] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
	};
	const struct sock_filter allow =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = filter };

	for (char *name = strtok(names, ",");
	     name && program.len < 13; name = strtok(NULL, ","))
		program.len += add_call(filter + program.len, name, action);
	filter[program.len++] = allow;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static unsigned int parse_action(const char *name)
{
	static const struct {
		const char *name;
		int nr;
	} errors[] = {
		{ "EPERM", EPERM }, { "ENOENT", ENOENT }, { "ENOSYS", ENOSYS },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, name))
			return SECCOMP_RET_ERRNO | errors[i].nr;
	return SECCOMP_RET_KILL_PROCESS;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr,
			"usage: forbid-call <errno> <call> <command>\n");
		return 129;
	}
	if (forbid(argv[2], parse_action(argv[1]))) {
		perror("seccomp");
		return 126;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 127;
}
