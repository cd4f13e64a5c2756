#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='status and others that are not given the threads they want

They compare the index with the files, and read directories, in threads. Each
answer has to be that of a command without any.
'

. ./test-lib.sh
. "$TEST_DIRECTORY/lib-preload-threads.sh"
. "$TEST_DIRECTORY/lib-faulty-calls.sh"

test_expect_success 'setup' '
	git init repo &&
	for i in $(test_seq 40)
	do
		mkdir -p repo/$i/sub &&
		echo $i >repo/$i/file &&
		echo $i >repo/$i/sub/file || return 1
	done &&
	# enough for eight threads
	for i in $(test_seq 4000)
	do
		>repo/f$i || return 1
	done &&
	git -C repo add . &&
	git -C repo commit -q -m files &&
	for i in 2 9 16 23 30 37
	do
		echo ignored >repo/$i/.gitignore &&
		echo changed >repo/$i/sub/file &&
		>repo/$i/ignored &&
		>repo/$i/new || return 1
	done &&
	test-tool -C repo chmtime -20 .git/index
'

# usage: same_answers <limit>
same_answers () {
	for command in "status --porcelain -uall --ignored" "clean -n -d -x" \
		"diff-files --name-only" "ls-files -o --exclude-standard"
	do
		git -C repo -c core.preloadIndex=false --no-optional-locks \
			$command >expect &&
		with_threads $1 env GIT_TEST_DIR_AHEAD=1 \
			git -C repo --no-optional-locks $command >actual &&
		test_cmp expect actual || return 1
	done
}

test_expect_success 'threads are used' '
	with_threads THREADS_REFUSE=0 git -C repo --no-optional-locks \
		status --porcelain &&
	read most refused <threads &&
	test "$most" -gt 2 &&
	with_threads THREADS_REFUSE=0 env GIT_TEST_DIR_AHEAD=1 \
		git -C repo ls-files -o &&
	read most refused <threads &&
	test "$most" -gt 2
'

test_expect_success 'any number of them' '
	for max in 0 1 2 5 20
	do
		same_answers THREADS_AT_ONCE=$max || return 1
	done
'

test_expect_success 'one is refused, whichever it is' '
	for i in $(test_seq 20)
	do
		same_answers THREADS_REFUSE=$i || return 1
	done
'

# A file system may keep lists of directories for longer than what is in them.
test_expect_success PRELOAD_FAULTS 'a list that lacks an ignore file' '
	for command in "status --porcelain -uall --ignored" "clean -n -d"
	do
		git -C repo -c core.preloadIndex=false --no-optional-locks \
			$command >all &&
		grep -v "\.gitignore$" all >expect &&
		with_faults hide env GIT_TEST_DIR_AHEAD=1 \
			git -C repo --no-optional-locks $command >actual &&
		test_cmp expect actual &&
		grep hidden faults || return 1
	done
'

test_done
