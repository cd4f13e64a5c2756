#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='checkout while a directory is swapped for a symbolic link

Another process puts a symbolic link to a place outside in the place of a
directory and takes it away again, thousands of times, while Git writes or
removes files below it. Nothing outside is written, changed or removed.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-checkout-race.sh"

test_races 1

test_done
