/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open a base, and the few helpers that both programs need; see base.h.
 */
#define _GNU_SOURCE
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_PREFIX "git-workspace:"
#define TOKEN_LIMIT 4096

void *grow(void *data, size_t size)
{
	data = realloc(data, size);
	if (!data) {
		fputs("git-workspace: out of memory\n", stderr);
		exit(1);
	}
	return data;
}

char *read_small_file(int dir, const char *path, size_t limit, size_t *len)
{
	/* It might be a FIFO. */
	int fd = openat(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *data;
	ssize_t n = 0;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return NULL;
	}
	data = grow(NULL, limit + 2);
	*len = 0;
	while (*len <= limit &&
	       (n = read(fd, data + *len, limit + 1 - *len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		*len += n;
	}
	close(fd);
	if (*len > limit || n < 0) {
		free(data);
		return NULL;
	}
	data[*len] = '\0';
	return data;
}

int write_fully(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

/*
 * The commit in the token tells the hash that the repository uses, which an
 * index does not.
 */
static int parse_token(struct base *base, size_t len)
{
	size_t digits;

	if (len && base->token[len - 1] == '\n')
		base->token[--len] = '\0';
	if (strlen(base->token) != len ||
	    strncmp(base->token, TOKEN_PREFIX, strlen(TOKEN_PREFIX)))
		return -1;
	digits = strspn(base->token + strlen(TOKEN_PREFIX),
			"0123456789abcdef");
	if ((digits != 40 && digits != 64) ||
	    base->token[strlen(TOKEN_PREFIX) + digits] != ':')
		return -1;
	base->hash_size = digits / 2;
	return 0;
}

int base_open(struct base *base, int dir, const char *path)
{
	size_t len;

	base->token = NULL;
	base->fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (base->fd < 0)
		return -1;
	base->token = read_small_file(base->fd, "token", TOKEN_LIMIT, &len);
	if (!base->token || parse_token(base, len)) {
		base_close(base);
		return -1;
	}
	return 0;
}

void base_close(struct base *base)
{
	close(base->fd);
	free(base->token);
	base->token = NULL;
}
