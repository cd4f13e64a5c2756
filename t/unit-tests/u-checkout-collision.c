/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "parallel-checkout/collision.h"

static struct collision_set set;

void test_checkout_collision__initialize(void)
{
	collision_init(&set, 1);
}

void test_checkout_collision__cleanup(void)
{
	collision_release(&set);
}

/* Does the path collide with what was added before? It is added, too. */
#define COLLIDES(path) cl_assert(collision_add(&set, path))
#define DIFFERS(path) cl_assert(!collision_add(&set, path))

void test_checkout_collision__same_file(void)
{
	DIFFERS("File");
	DIFFERS("dir/File");
	COLLIDES("dir/File");
	COLLIDES("dir/fILE");
	COLLIDES("DIR/File");
	DIFFERS("DIR/file2");
	DIFFERS("DIR/fil");
	DIFFERS("dirfile");
	COLLIDES("file");
}

void test_checkout_collision__leading_directories(void)
{
	DIFFERS("a/b/c");
	COLLIDES("A");
	COLLIDES("a/B");
	COLLIDES("a/b/d");
	DIFFERS("x/y");
	DIFFERS("x/z/y");
	COLLIDES("x/z/y/d");
	COLLIDES("x/z/Y/d/e");
	DIFFERS("x/zz");
	DIFFERS("z/y");
}

void test_checkout_collision__other_characters(void)
{
	DIFFERS("m\303\244rz");
	COLLIDES("M\303\244RZ");
	DIFFERS("m\303\204rz");
	DIFFERS("ma\314\210rz");
}

void test_checkout_collision__case_matters(void)
{
	collision_release(&set);
	collision_init(&set, 0);
	DIFFERS("dir/File");
	DIFFERS("dir/file");
	DIFFERS("Dir/file");
	COLLIDES("dir/file");
	COLLIDES("dir/File/x");
	COLLIDES("Dir");
}

void test_checkout_collision__spelling_of_directories(void)
{
	DIFFERS("Dir/one");
	DIFFERS("Dir/sub/one");
	DIFFERS("dirs/one");
	COLLIDES("dir/two");
	DIFFERS("dir/three");
	COLLIDES("dir/sub/two");
	DIFFERS("dir/sub/three");
	DIFFERS("dir/new/one");
	COLLIDES("Dir/four");
	COLLIDES("Dir/SUB/four");
	DIFFERS("Dir/SUB/x/four");
}
