/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-lib.h"
#include "absent-dirs.h"

static void t_cover(void)
{
	struct absent_dirs dirs = ABSENT_DIRS_INIT;

	/* One look will tell; there is nothing to be gained. */
	check_int(absent_dirs_cover(&dirs, "file"), ==, 0);
	check_int(absent_dirs_cover(&dirs, "none/file"), ==, 0);
	check_int(absent_dirs_cover(&dirs, "there/file"), ==, 0);

	check_int(absent_dirs_cover(&dirs, "none/sub/file"), ==, 1);
	check_int(absent_dirs_cover(&dirs, "none/sub/sub/file"), ==, 1);
	check_int(absent_dirs_cover(&dirs, "none/file"), ==, 1);
	check_int(absent_dirs_cover(&dirs, "nonesuch/file"), ==, 0);

	check_int(absent_dirs_cover(&dirs, "there/none/file"), ==, 0);
	check_int(absent_dirs_cover(&dirs, "there/none/sub/file"), ==, 1);
	check_int(absent_dirs_cover(&dirs, "there/sub/file"), ==, 0);
	check_int(absent_dirs_cover(&dirs, "there/sub/sub/file"), ==, 0);
	check_int(absent_dirs_cover(&dirs, "there/sub/none/x/file"), ==, 1);
	absent_dirs_clear(&dirs);
}

/* What was absent is remembered to have been. */
static void t_memory(void)
{
	struct absent_dirs dirs = ABSENT_DIRS_INIT;

	check_int(absent_dirs_cover(&dirs, "later/sub/file"), ==, 1);
	check_int(mkdir("later", 0777), ==, 0);
	check_int(absent_dirs_cover(&dirs, "later/sub/file"), ==, 1);
	absent_dirs_clear(&dirs);
	check_int(absent_dirs_cover(&dirs, "later/sub/file"), ==, 0);
	absent_dirs_clear(&dirs);
}

int cmd_main(int argc UNUSED, const char **argv UNUSED)
{
	char dir[] = "t-absent-dirs.XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) || mkdir("there", 0777) ||
	    mkdir("there/sub", 0777))
		die_errno("cannot make directories to look at");

	TEST(t_cover(), "paths below absent directories");
	TEST(t_memory(), "a directory that is made later");

	if (rmdir("there/sub") || rmdir("there") ||
	    rmdir("later") || chdir("..") || rmdir(dir))
		die_errno("cannot remove directories");
	return test_done();
}
