/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files that share blocks; see reflink.h.
 */
#include "git-compat-util.h"
#include "copy.h"
#include "parallel-checkout/reflink.h"
#include "statinfo.h"
#ifdef __linux__
#include <sys/ioctl.h>
/* of linux/fs.h, which some C libraries do not get on with */
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif
#endif

static const char *simulation(void)
{
	static const char *value;
	static int known;

	if (!known) {
		value = getenv("GIT_TEST_CHECKOUT_REFLINK");
		known = 1;
	}
	return value && *value ? value : NULL;
}

int is_reflink_simulated(void)
{
	return !!simulation();
}

/* What was cloned last seems to be another file now. */
static int is_torn;

static int simulate(int to, int from)
{
	static const char junk[] = "these are not the bytes\n";

	if (!strcmp(simulation(), "copy"))
		return copy_fd(from, to) < 0 ||
			lseek(from, 0, SEEK_SET) < 0 ? -1 : 0;
	if (write_in_full(to, junk, strlen(junk)) < 0)
		return -1;
	if (!strcmp(simulation(), "torn")) {
		is_torn = 1;
		return 0;
	}
	if (strcmp(simulation(), "fail"))
		BUG("GIT_TEST_CHECKOUT_REFLINK='%s'", simulation());
	errno = EIO;
	return -1;
}

int can_reflink(const char *dir MAYBE_UNUSED)
{
	int ret = 0;

	if (simulation())
		return 1;
#if defined(__linux__) && defined(O_TMPFILE)
	{
		int to = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		int from = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (to >= 0 && from >= 0)
			ret = !ioctl(to, FICLONE, from);
		if (to >= 0)
			close(to);
		if (from >= 0)
			close(from);
	}
#endif
	return ret;
}

int reflink_file(int to, int from)
{
	if (simulation())
		return simulate(to, from);
#ifdef __linux__
	return ioctl(to, FICLONE, from);
#else
	errno = ENOSYS;
	return -1;
#endif
}

int is_reflink_unsupported(int err)
{
	return err == EOPNOTSUPP || err == ENOTTY || err == ENOSYS;
}

int is_file_of(int fd, const struct stat_data *sd, struct stat *st)
{
	struct stat_data now = { 0 };

	if (fstat(fd, st) || !S_ISREG(st->st_mode))
		return 0;
	if (is_torn) {
		is_torn = 0;
		return 0;
	}
	fill_stat_data(&now, st);
	now.sd_dev = sd->sd_dev;
	if (!sd->sd_ctime.nsec)
		now.sd_ctime.nsec = 0;
	return !memcmp(&now, sd, sizeof(now));
}
