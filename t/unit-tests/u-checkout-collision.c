/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "parallel-checkout/collision.h"

static struct collision_set set;

void test_checkout_collision__initialize(void)
{
	collision_init(&set);
}

void test_checkout_collision__cleanup(void)
{
	collision_release(&set);
}

/* Does "path" collide with what is in the set? */
#define COLLIDES(path) cl_assert(collision_found(&set, path))
#define DIFFERS(path) cl_assert(!collision_found(&set, path))

void test_checkout_collision__same_file(void)
{
	collision_add(&set, "dir/File");
	COLLIDES("dir/File");
	COLLIDES("DIR/fILE");
	DIFFERS("dir/file2");
	DIFFERS("dir/fil");
	DIFFERS("dirfile");
	DIFFERS("file");
}

void test_checkout_collision__leading_directories(void)
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

void test_checkout_collision__other_characters(void)
{
	collision_add(&set, "m\303\244rz");
	COLLIDES("M\303\244RZ");
	DIFFERS("m\303\204rz");
	DIFFERS("ma\314\210rz");
}

void test_checkout_collision__spelling(void)
{
	struct spelling_set dirs;

	spelling_init(&dirs);
	cl_assert(!spelling_differs(&dirs, "File"));
	cl_assert(!spelling_differs(&dirs, "file"));
	cl_assert(!spelling_differs(&dirs, "Dir/file"));
	cl_assert(!spelling_differs(&dirs, "Dir/sub/file"));
	cl_assert(!spelling_differs(&dirs, "FILE/x"));
	cl_assert(spelling_differs(&dirs, "dir/file"));
	cl_assert(spelling_differs(&dirs, "dir/file2"));
	cl_assert(spelling_differs(&dirs, "dir/new/file"));
	cl_assert(spelling_differs(&dirs, "Dir/SUB/x/file"));
	cl_assert(!spelling_differs(&dirs, "Dir/file2"));
	cl_assert(!spelling_differs(&dirs, "Dir/sub/file2"));
	cl_assert(!spelling_differs(&dirs, "other"));
	spelling_release(&dirs);
}
