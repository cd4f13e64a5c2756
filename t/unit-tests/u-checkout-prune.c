/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit-test.h"
#include "parallel-checkout/prune.h"
#include "setup.h"
#include "strbuf.h"
#include "string-list.h"

static void check_level(struct prune_list *list, const char *expect)
{
	struct string_list names = STRING_LIST_INIT_NODUP;
	struct strbuf got = STRBUF_INIT;
	struct strset level;
	struct hashmap_iter iter;
	struct strmap_entry *entry;

	cl_assert_equal_i(prune_take_level(list, &level), 0);
	strset_for_each_entry(&level, &iter, entry)
		string_list_append(&names, entry->key);
	string_list_sort(&names);
	for (size_t i = 0; i < names.nr; i++)
		strbuf_addf(&got, "%s%s", i ? " " : "", names.items[i].string);
	cl_assert_equal_s(got.buf, expect);
	string_list_clear(&names, 0);
	strbuf_release(&got);
	strset_clear(&level);
}

void test_checkout_prune__levels(void)
{
	struct prune_list list = PRUNE_LIST_INIT;
	struct strset level;

	cl_assert_equal_i(prune_take_level(&list, &level), -1);
	prune_add_parent(&list, "top");
	prune_add_parent(&list, "a/b/c/file");
	prune_add_parent(&list, "a/b/c/other");
	prune_add_parent(&list, "a/file");
	prune_add_parent(&list, "b/d/e/file");
	check_level(&list, "a/b/c b/d/e");
	/* one of them was removed */
	prune_add_parent(&list, "b/d/e");
	check_level(&list, "b/d");
	check_level(&list, "a");
	cl_assert_equal_i(prune_take_level(&list, &level), -1);
}

void test_checkout_prune__original_cwd(void)
{
	struct prune_list list = PRUNE_LIST_INIT;
	struct strset level;

	startup_info->original_cwd = "a/b";
	prune_add_parent(&list, "a/b/file");
	prune_add_parent(&list, "a/bb/file");
	prune_add_parent(&list, "a/b/c/file");
	startup_info->original_cwd = NULL;
	check_level(&list, "a/b/c");
	check_level(&list, "a/bb");
	cl_assert_equal_i(prune_take_level(&list, &level), -1);
}
