#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='checkout to a file system on which operations fail

A file that cannot be written is named once, with the reason, and is not there
afterwards, not even a part of it. All other files are written. None of that
depends on the number of workers.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

test_expect_success 'setup' '
	slowfs_mount slow &&
	git init repo &&
	(
		cd repo &&
		mkdir -p a/b c/d &&
		for i in $(test_seq 1 40)
		do
			echo "content $i" >file$i &&
			cp file$i a/b/file$i &&
			cp file$i c/d/file$i || return 1
		done &&
		test-tool genrandom seed 300000 >a/large &&
		git add . &&
		git commit -q -m files &&
		git ls-files >../all
	) &&
	cp -R repo modified &&
	rm -rf modified/.git &&
	for path in $(cat all)
	do
		echo "and more" >>modified/$path || return 1
	done &&
	slow=$(pwd)/slow
'

# usage: checkout_on_slow <workers> <fault>... -- <git command>...
#
# Leaves the exit code in "code", messages in "err", and the files in "found".
# Before, the files in "existing" are there, if that is a directory.
checkout_on_slow () {
	local workers="$1" faults= &&
	shift &&
	while test "$1" != --
	do
		faults="$faults fault=$1" &&
		shift
	done &&
	shift &&
	slowfs_control slow "fault none" &&
	rm -rf slow/worktree repo/.git/index &&
	mkdir slow/worktree &&
	if test -d existing
	then
		cp -R existing/. slow/worktree
	fi &&
	git -C repo read-tree HEAD &&
	for fault in $faults
	do
		slowfs_control slow "fault ${fault#fault=}" || return 1
	done &&
	{
		GIT_DIR="$(pwd)/repo/.git" git -C slow/worktree \
			-c core.bare=false -c core.worktree="$slow/worktree" \
			-c checkout.workers="$workers" \
			-c checkout.thresholdForParallelism=0 \
			"$@" 2>raw
		echo $? >code
	} &&
	slowfs_control slow "fault none" &&
	sort raw >err &&
	(cd slow/worktree && find . -type f) | sed "s,^\./,," | sort >found &&
	test_path_is_missing repo/.git/index.lock
}

# usage: only_missing <path> <text>
#
# Everything but this path has been written; one line says so, and why.
only_missing () {
	grep -v "^$1\$" all | sort >expect &&
	test_cmp expect found &&
	grep "$1" err >lines &&
	test_line_count = 1 lines &&
	grep "^error: .* $1: $2\$" lines
}

# usage: test_fault <operations> <errno> <text> <path>
#
# The path cannot be written because of an error in these operations.
test_fault () {
	local op="$1" errno="$2" text="$3" path="$4" workers
	for workers in 1 2 8
	do
		test_expect_success "$op of $path: $errno, workers=$workers" '
			checkout_on_slow $workers \
				"$op:$errno:%1:worktree/$path" -- \
				checkout-index -a -u -f &&
			echo 1 >expect.code &&
			test_cmp expect.code code &&
			only_missing "$path" "$text" &&

			checkout_on_slow $workers \
				"$op:$errno:%1:worktree/$path" -- \
				checkout -q -f HEAD &&
			only_missing "$path" "$text" &&
			git -C repo --work-tree="$slow/worktree" \
				status --porcelain >status &&
			echo " D $path" >expect.status &&
			test_cmp expect.status status
		'

		test_expect_success "$op of $path, which exists: $errno, workers=$workers" '
			test_when_finished "rm -rf existing" &&
			cp -R modified existing &&
			checkout_on_slow $workers \
				"$op:$errno:%1:worktree/$path" -- \
				checkout-index -a -u -f &&
			echo 1 >expect.code &&
			test_cmp expect.code code &&
			only_missing "$path" "$text"
		'
	done
}

test_fault create EACCES 'Permission denied' file7
test_fault create ENOSPC 'No space left on device' a/b/file12
test_fault write ENOSPC 'No space left on device' file1
test_fault write EDQUOT 'Disk quota exceeded' c/d/file40
test_fault write EIO 'Input/output error' a/large
test_fault flush EIO 'Input/output error' a/b/file3
test_fault flush ENOSPC 'No space left on device' c/d/file9

for workers in 1 2 8
do
	test_expect_success "a disk that is full from some point on, workers=$workers" '
		checkout_on_slow $workers "write:ENOSPC:50+" -- \
			checkout-index -a -u -f &&
		echo 1 >expect.code &&
		test_cmp expect.code code &&
		find slow/worktree -type f -empty >empty &&
		test_must_be_empty empty &&
		sed -n "s/^error: unable to write file \(.*\): No space.*/\1/p" \
			err | sort >failed &&
		test_line_count -gt 60 failed &&
		sort found failed >both &&
		sort all >expect &&
		test_cmp expect both
	'

	test_expect_success "short writes are continued, workers=$workers" '
		checkout_on_slow $workers "write:short=5:%1" -- \
			checkout-index -a -u -f &&
		test_must_be_empty err &&
		git -C repo --work-tree="$slow/worktree" \
			status --porcelain >status &&
		test_must_be_empty status
	'
done

for workers in 1 2
do
	# Once by a worker, if there are any, and once more to say why not.
	test_expect_success "on a full disk, each file is tried that often, workers=$workers" '
		slowfs_control slow reset &&
		checkout_on_slow $workers "write:ENOSPC:1+" -- \
			checkout-index -a -u &&
		test_must_be_empty found &&
		files=$(wc -l <all | tr -d " ") &&
		test_line_count = $files err &&
		test $(slowfs_count slow write) = $(($files * $workers))
	'
done

test_done
