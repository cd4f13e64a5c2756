#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='filters in parallel checkout against the sequential one, at random

The cases are those of t2092, but most files have a filter, and the drivers are of
all kinds: one-shot commands and processes, which delay some files or all, fail on
some, break the protocol, or are missing; required or not; and parallel or not,
by filter.<driver>.parallel or, in a third of the cases, all by
GIT_TEST_FILTER_PARALLEL. Besides what t2092 compares, what the filters were told
for each smudged file has to be the same: its path, ref=, treeish=, blob= and
can-delay=, its contents, the current directory, the repository, the working tree
and GIT_PREFIX.

What may differ, and is not compared, besides what t2092 says:
 - how often and in which order a filter was told the same, and said the same, and
   how many of its processes there were,
 - what filters see of other files. The driver "reads" looks at a file that comes
   earlier in the index, and is never parallel,
 - requests to clean a file: they depend on what Git finds racily clean,
 - what follows if a filter asks for no more files (status "abort"), or ends while
   it still has delayed ones: this depends on what else its process was given. So no
   driver does the former, and the latter only when it is asked for the list of
   these files, which is then in vain for all of them,
 - where both die, what filters were told.

lib-random-checkout.sh says which variables there are, and where to look if
something differs. The file "drivers" of a case has its filters.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY"/lib-random-checkout.sh

case_options=--filters

prepare_case () {
	cp "$CASE/drivers" "$TRASH/drivers" &&
	GIT_TEST_FILTER_PARALLEL=$filter_parallel &&
	GIT_TEST_FILTER_LOG=$CASE/told &&
	export GIT_TEST_FILTER_PARALLEL GIT_TEST_FILTER_LOG
}

test_expect_success 'setup' '
	common_config &&
	cat >>.gitconfig <<-\EOF
	[include]
		path = drivers
	EOF
'

run_cases

test_done
