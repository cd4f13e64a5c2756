/* SPDX-License-Identifier: GPL-2.0-only */
#include "test-lib.h"
#include "parallel-checkout/collision.h"

static struct collision_set set;

static void t_same_file(void)
{
	collision_add(&set, "dir/File");
	check(collision_found(&set, "dir/File", 0));
	check(collision_found(&set, "DIR/fILE", 0));
	check(!collision_found(&set, "dir/file2", 0));
	check(!collision_found(&set, "dir/fil", 0));
	check(!collision_found(&set, "dirfile", 0));
	check(!collision_found(&set, "file", 0));
}

static void t_members(void)
{
	collision_add(&set, "a");
	check(!collision_found(&set, "a", 1));
	collision_add(&set, "A");
	check(collision_found(&set, "a", 1));
	check(collision_found(&set, "A", 1));
}

static void t_leading_directories(void)
{
	collision_add(&set, "a/b/c");
	check(collision_found(&set, "A", 0));
	check(collision_found(&set, "a/B", 0));
	check(collision_found(&set, "a/b/C", 0));
	check(collision_found(&set, "A/b/c/d", 0));
	check(collision_found(&set, "a/b/C/d/e", 0));
	check(!collision_found(&set, "a/b/d", 0));
	check(!collision_found(&set, "a/c", 0));
	check(!collision_found(&set, "a/bb", 0));
	check(!collision_found(&set, "b/c", 0));
	check(!collision_found(&set, "a/b/c", 1));
}

static void t_other_characters(void)
{
	/* a with diaeresis: composed, decomposed and in upper case */
	collision_add(&set, "m\303\244rz-1/x");
	check(collision_found(&set, "ma\314\210rz-1/x", 0));
	check(collision_found(&set, "M\303\204RZ-1/X", 0));
	check(!collision_found(&set, "m\303\244rz-2/x", 0));
	check(!collision_found(&set, "m\303\244rz-1/y", 0));
	check(!collision_found(&set, "marz-1/x", 0));
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
	TEST(run(t_members), "a path does not collide with itself");
	TEST(run(t_leading_directories), "a file collides with a directory");
	TEST(run(t_other_characters), "characters that may be folded or ignored");
	TEST(t_spelling(), "directories and their first spelling");
	return test_done();
}
