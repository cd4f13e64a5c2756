/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-lib.h"
#include "parallel-checkout/collision.h"

static struct collision_set set;

/* Does "path" collide with what is in the set? */
#define COLLIDES(path) check(collision_found(&set, path))
#define DIFFERS(path) check(!collision_found(&set, path))

static void t_same_file(void)
{
	collision_add(&set, "dir/File");
	COLLIDES("dir/File");
	COLLIDES("DIR/fILE");
	DIFFERS("dir/file2");
	DIFFERS("dir/fil");
	DIFFERS("dirfile");
	DIFFERS("file");
}

static void t_leading_directories(void)
{
	collision_add(&set, "a/b/c");
	COLLIDES("A");
	COLLIDES("a/B");
	COLLIDES("a/b/C");
	COLLIDES("A/b/c/d");
	COLLIDES("a/b/C/d/e");
	DIFFERS("a/b/d");
	DIFFERS("a/c");
	DIFFERS("a/bb");
	DIFFERS("b/c");
}

static void t_other_characters(void)
{
	collision_add(&set, "m\303\244rz");
	COLLIDES("M\303\244RZ");
	DIFFERS("m\303\204rz");
	DIFFERS("ma\314\210rz");
}

static void t_spelling(void)
{
	struct spelling_set dirs;

	spelling_init(&dirs);
	check(!spelling_differs(&dirs, "File"));
	check(!spelling_differs(&dirs, "file"));
	check(!spelling_differs(&dirs, "Dir/file"));
	check(!spelling_differs(&dirs, "Dir/sub/file"));
	check(!spelling_differs(&dirs, "FILE/x"));
	check(spelling_differs(&dirs, "dir/file"));
	check(spelling_differs(&dirs, "dir/file2"));
	check(spelling_differs(&dirs, "dir/new/file"));
	check(spelling_differs(&dirs, "Dir/SUB/x/file"));
	check(!spelling_differs(&dirs, "Dir/file2"));
	check(!spelling_differs(&dirs, "Dir/sub/file2"));
	check(!spelling_differs(&dirs, "other"));
	spelling_release(&dirs);
}

static void run(void (*test)(void))
{
	collision_init(&set);
	test();
	collision_release(&set);
}

int cmd_main(int argc UNUSED, const char **argv UNUSED)
{
	TEST(run(t_same_file), "names that differ in case collide");
	TEST(run(t_leading_directories), "a file collides with a directory");
	TEST(run(t_other_characters), "other characters are compared as they are");
	TEST(t_spelling(), "directories and their first spelling");
	return test_done();
}
