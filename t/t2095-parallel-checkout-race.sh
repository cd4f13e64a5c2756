#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout while a directory is swapped for a link

As t2028, with several workers and with one: neither of them writes through the
link, and both meet it.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-checkout-race.sh"

has_met_the_link () {
	test_grep "\"key\":\"collision/" trace
}

for workers in 1 2
do
	test_races $workers has_met_the_link
done

test_done
