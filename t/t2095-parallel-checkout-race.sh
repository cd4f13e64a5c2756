#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout while a directory is swapped for a link

As t2028, with workers: they do not write through the link, and they meet it.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-checkout-race.sh"

has_met_the_link () {
	test_grep "\"key\":\"collision/" trace
}

test_races 2 has_met_the_link

test_done
