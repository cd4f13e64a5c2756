#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Checkouts through a one-shot smudge command, and through a long-running filter
# process, with filter.<driver>.parallel set.
#
# Every test is run with each number of workers in GIT_PERF_CHECKOUT_WORKERS,
# a list separated by spaces, where "auto" stands for nothing set; it is
# "1 2 auto" where nothing is said. GIT_PERF_FILTER_FILES says how many files
# there are (default: 1000).

test_description='speed of writing files through filters, by number of workers'

. ./perf-lib.sh

test_perf_fresh_repo

: "${GIT_PERF_CHECKOUT_WORKERS:=1 2 auto}"
: "${GIT_PERF_FILTER_FILES:=1000}"

empty_worktree () {
	rm -rf work &&
	mkdir work &&
	rm -f .git/index
}

test_expect_success 'set up two branches, and the drivers' '
	awk -v n="$GIT_PERF_FILTER_FILES" "BEGIN {
		for (i = 0; i < n; i++) {
			print \"blob\nmark :\" i + 1 \"\ndata <<EOT\"
			for (j = 0; j < 100; j++)
				print \"line \" j \" of the text of file \" i
			print \"EOT\n\"
		}
		for (b = 0; b < 2; b++) {
			print \"commit refs/heads/\" (b ? \"process\" : \"smudge\")
			print \"committer A <a@example.com> 1112911993 +0000\"
			print \"data 0\"
			print \"M 100644 inline .gitattributes\ndata <<EOT\"
			print \"*.t filter=\" (b ? \"rot13\" : \"turn\") \"\nEOT\n\"
			for (i = 0; i < n; i++)
				printf \"M 100644 :%d d%d/f%d.t\n\", i + 1, i / 50, i
		}
	}" >import &&
	git fast-import --quiet <import &&
	git repack -adq &&

	git config filter.turn.smudge "tr a-z b-za" &&
	git config filter.turn.clean "tr b-za a-z" &&
	git config filter.rot13.process \
		"test-tool rot13-filter --log=\"$PWD/rot13.log\" clean smudge" &&
	for driver in turn rot13
	do
		git config filter.$driver.required true &&
		git config filter.$driver.parallel true || return 1
	done
'

for workers in $GIT_PERF_CHECKOUT_WORKERS
do
	# The tests run in a shell of their own.
	option=
	test "$workers" = auto || option="-c checkout.workers=$workers"
	export option

	for kind in smudge process
	do
		export kind
		test_perf "$kind, workers=$workers" --setup empty_worktree '
			git $option --work-tree=work checkout -q -f --detach $kind
		'

		test_expect_success "it was filtered ($kind, workers=$workers)" '
			case $kind in
			smudge)
				echo "mjof 0 pg uif ufyu pg gjmf 0"
				;;
			process)
				echo "yvar 0 bs gur grkg bs svyr 0"
				;;
			esac >expect &&
			head -n 1 work/d0/f0.t >actual &&
			test_cmp expect actual
		'
	done
done

test_done
