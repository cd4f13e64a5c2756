/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "absent-dirs.h"

void test_absent_dirs__initialize(void)
{
	cl_must_pass(mkdir("there", 0777));
	cl_must_pass(mkdir("there/sub", 0777));
}

void test_absent_dirs__cleanup(void)
{
	rmdir("there/sub");
	rmdir("there");
	rmdir("later");
}

void test_absent_dirs__cover(void)
{
	struct absent_dirs dirs = ABSENT_DIRS_INIT;

	/* One look will tell; there is nothing to be gained. */
	cl_assert_equal_i(absent_dirs_cover(&dirs, "file"), 0);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "none/file"), 0);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/file"), 0);

	cl_assert_equal_i(absent_dirs_cover(&dirs, "none/sub/file"), 1);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "none/sub/sub/file"), 1);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "none/file"), 1);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "nonesuch/file"), 0);

	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/none/file"), 0);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/none/sub/file"), 1);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/sub/file"), 0);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/sub/sub/file"), 0);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "there/sub/none/x/file"), 1);
	absent_dirs_clear(&dirs);
}

/* What was absent is remembered to have been. */
void test_absent_dirs__memory(void)
{
	struct absent_dirs dirs = ABSENT_DIRS_INIT;

	cl_assert_equal_i(absent_dirs_cover(&dirs, "later/sub/file"), 1);
	cl_must_pass(mkdir("later", 0777));
	cl_assert_equal_i(absent_dirs_cover(&dirs, "later/sub/file"), 1);
	absent_dirs_clear(&dirs);
	cl_assert_equal_i(absent_dirs_cover(&dirs, "later/sub/file"), 0);
	absent_dirs_clear(&dirs);
}
