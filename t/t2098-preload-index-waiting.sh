#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='preload of the index: more threads where these wait

They must find what one thread finds, in a small repository and in a large one.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

sane_unset GIT_TEST_PRELOAD_INDEX

# usage: same_answers [<the same directory, but fast>]
# What git says in "work" must not depend on the preload. Leaves a trace.
same_answers () {
	for args in "status --porcelain" "diff-files" \
		"diff --name-status -- d1 d3/1*"
	do
		rm -f trace &&
		git -C "${1-work}" -c core.preloadIndex=false $args >expect &&
		GIT_TRACE2_EVENT="$PWD/trace" git -C work $args >actual &&
		test_cmp expect actual || return 1
	done
}

# usage: traced_threads <number>
traced_threads () {
	test_grep "\"key\":\"preload/threads\",\"value\":\"$1\"" trace
}

# What a preload must not miss: content, absence, links.
spoil () {
	echo changed >d1/10 &&
	echo 8 >d1/9 &&
	rm d2/7 &&
	rm -r d3 &&
	mkdir elsewhere &&
	cp d4/* elsewhere &&
	rm -r d4 &&
	ln -s elsewhere d4
}

for nr in 100 1500
do
	test_expect_success "setup: $nr files" '
		rm -rf work.backing &&
		git init work.backing &&
		(
			cd work.backing &&
			for d in $(test_seq 10)
			do
				mkdir d$d &&
				for i in $(test_seq $(($nr / 10)))
				do
					echo $i >d$d/$i || return 1
				done || return 1
			done &&
			git add . &&
			git commit -q -m files &&
			test-tool chmtime =-10 .git/index d*/*  &&
			git update-index --refresh
		)
	'

	test_expect_success PTHREADS "$nr files: threads, and the same answers" '
		slowfs_mount "$PWD/work" --latency=lookup+getattr=5000 \
			--entry-timeout=0 --attr-timeout=0 &&
		slowfs_control work reset &&
		git -C work status --porcelain >actual &&
		test_must_be_empty actual &&
		peak=$(slowfs_count work peak) &&
		test $peak -ge 4 &&
		if test $nr = 1500
		then
			test $peak -ge 40
		fi &&

		(cd work && spoil) &&
		same_answers work.backing &&
		slowfs_unmount work
	'
done

# The files have just been written, so nobody has to wait for them, but for a
# processor, if the machine is busy: more tries.
test_expect_success PTHREADS 'no more threads where nobody has to wait' '
	rm -rf work &&
	mv work.backing work &&
	git -C work checkout -f &&
	git -C work clean -q -f -d &&
	(cd work && spoil) &&
	for try in 1 2 3 4 5
	do
		same_answers || return 1
		! traced_threads 3 || break
	done &&
	traced_threads 3
'

# The files of one directory are looked up one after the other, and there are
# ten directories. To give each a thread of its own needs no more look-ups, but
# where two threads come to a directory at once.
test_expect_success SLOWFS,PTHREADS 'a directory for each thread where look-ups are serial' '
	git -C work checkout -f &&
	git -C work clean -q -f -d &&
	test-tool -C work chmtime =-10 .git/index d*/* &&
	git -C work update-index --refresh &&
	mv work work.backing &&
	slowfs_mount work --serial-lookups --entry-timeout=60 --attr-timeout=60 &&
	git -C work -c core.preloadIndex=false diff-files &&
	alone=$(slowfs_count work lookup) &&
	slowfs_unmount work &&

	slowfs_mount work --serial-lookups --entry-timeout=60 \
		--attr-timeout=60 --latency=lookup=5000 &&
	git -C work diff-files >diff &&
	test_must_be_empty diff &&
	together=$(slowfs_count work lookup) &&
	test $together -ge $alone &&
	test $together -le $((alone + 10)) &&
	peak=$(slowfs_count work peak) &&
	test $peak -ge 8 &&
	slowfs_unmount work
'

test_expect_success SLOWFS,PTHREADS 'the same answers where look-ups are serial' '
	(cd work.backing && spoil) &&
	slowfs_mount work --serial-lookups --latency=lookup+getattr=2000 &&
	same_answers work.backing &&
	traced_threads "[1-6][0-9]" &&
	slowfs_unmount work
'

test_done
