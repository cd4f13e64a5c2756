#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Every test is run with each number of workers in GIT_PERF_CHECKOUT_WORKERS,
# a list separated by spaces; it is "1 2" where nothing is said.

test_description='speed of writing a working tree, by number of workers'

. ./perf-lib.sh

test_perf_large_repo

: "${GIT_PERF_CHECKOUT_WORKERS:=1 2}"

# The working tree is a folder of its own beside .git, so that it can be removed
# between rounds; the tests stay in the folder above it.

empty_worktree () {
	rm -rf work &&
	mkdir work &&
	rm -f .git/index
}

# A file of the same second as the index is compared by content.  How many
# there are is a matter of luck; an index from the future has none of them.
full_worktree () {
	empty_worktree &&
	git --work-tree=work checkout -q -f --detach p2080-one &&
	test-tool chmtime +2 .git/index
}

only_index () {
	empty_worktree &&
	git read-tree p2080-one
}

partial_worktree () {
	full_worktree &&
	git --work-tree=work ls-files -z |
	perl -0ne 'chomp; unlink "work/$_" unless $. % 10'
}

no_clone () {
	rm -rf clone
}

test_expect_success 'set up a second revision' '
	git config maintenance.auto false &&
	git tag -f p2080-one HEAD &&
	git ls-tree -r p2080-one >one &&

	# Of 100 files, 15 get the content of the one before them, 3 are
	# removed, and 3 appear under a second name.
	cat >second.awk <<-\EOF &&
	BEGIN { FS = OFS = "\t" }
	{ split($1, meta, " ") }
	meta[1] !~ /^100/ { print; next }
	{ n++; share = n % 100; last = blob; blob = meta[3] }
	share < 3 { next }
	share < 18 && last { print meta[1] " blob " last, $2; next }
	share >= 18 && share < 21 { print $1, "p2080-added/" n }
	{ print }
	EOF
	awk -f second.awk one >two &&
	GIT_INDEX_FILE=two.index git update-index --index-info <two &&
	tree=$(GIT_INDEX_FILE=two.index git write-tree) &&
	commit=$(git commit-tree -m "second revision" -p p2080-one $tree) &&
	git tag -f p2080-two $commit &&

	git diff-tree -r --name-status --no-renames \
		p2080-one p2080-two >changes &&
	test_grep "^M" changes &&
	test_grep "^D" changes &&
	test_grep "^A" changes
'

for workers in $GIT_PERF_CHECKOUT_WORKERS
do
	# The tests run in a shell of their own.
	export workers

	test_perf "full checkout, workers=$workers" \
		--setup empty_worktree '
		git -c checkout.workers=$workers --work-tree=work \
			checkout -q -f --detach p2080-one
	'

	test_perf "clone --local, workers=$workers" --setup no_clone '
		git -c checkout.workers=$workers clone -q --local . clone
	'

	test_expect_success "remove the clone, workers=$workers" '
		no_clone
	'

	test_perf "switch between revisions, workers=$workers" \
		--setup full_worktree '
		git -c checkout.workers=$workers --work-tree=work \
			checkout -q --detach p2080-two
	'

	test_perf "checkout-index --all, workers=$workers" \
		--setup only_index '
		git -c checkout.workers=$workers --work-tree=work \
			checkout-index --all
	'

	test_perf "reset --hard of a partial worktree, workers=$workers" \
		--setup partial_worktree '
		git -c checkout.workers=$workers --work-tree=work \
			reset -q --hard
	'
done

test_done
