#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='directories are read ahead where that has to wait

What threads must not change is in t7065.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

if ! test_have_prereq PTHREADS
then
	skip_all='no threads'
	test_done
fi

sane_unset GIT_TEST_DIR_AHEAD GIT_TEST_UNTRACKED_CACHE \
	GIT_FORCE_UNTRACKED_CACHE GIT_TEST_FSMONITOR GIT_TEST_SPLIT_INDEX

# usage: count_ops <name> <git arguments>
# What Git says goes to <name>.out, the number of directories that it opened to
# <name>.opendir, and how many operations waited at once to <name>.peak.
count_ops () {
	slowfs_control work reset &&
	rm -f trace &&
	out=$1 &&
	shift &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C work "$@" >$out.out &&
	slowfs_count work opendir >$out.opendir &&
	slowfs_count work peak >$out.peak
}

test_threads () {
	test_grep '"key":"read-ahead/threads"' trace
}

# usage: setup_work <directory below which there are 20 others>
setup_work () {
	rm -rf work.backing &&
	git init -q work.backing &&
	(
		cd work.backing &&
		mkdir -p $1 &&
		for d in $(test_seq 20)
		do
			mkdir $1/$d && echo 1 >$1/$d/file || return 1
		done &&
		echo ignored >.gitignore &&
		git add . &&
		git commit -q -m tree &&
		mkdir -p ignored/d $1/1/ignored/d $1/2/untracked/d &&
		echo 1 >$1/2/untracked/d/file &&
		echo 1 >$1/3/untracked
	) &&
	slowfs_mount work --latency=2000 --entry-timeout=60 \
		--attr-timeout=60 &&
	git -C work -c core.preloadIndex=false status --porcelain >/dev/null
}

# In the second, there is only one directory to go on with after the first few.
for where in . 1/2/3/4
do
	# Nothing is read more often than one after the other, and what is
	# ignored is not looked into.
	test_expect_success "threads where somebody has to wait, $where" '
		setup_work $where &&
		for args in "status --porcelain" "ls-files -o --exclude-standard" \
			"clean -n -d" "add -n -A"
		do
			count_ops expect -c core.preloadIndex=false $args &&
			test 1 = $(cat expect.peak) &&
			count_ops actual $args &&
			test_cmp expect.out actual.out &&
			test_cmp expect.opendir actual.opendir &&
			test 4 -le $(cat actual.peak) &&
			test_threads || return 1
		done &&
		slowfs_unmount work
	'
done

test_expect_success 'directories that the untracked cache has are not read' '
	setup_work 1/2/3/4 &&
	slowfs_unmount work &&
	git -C work.backing config core.untrackedCache true &&
	find work.backing -name .git -prune -o -type d -print >dirs &&
	while read d
	do
		test-tool chmtime =-60 "$d" || return 1
	done <dirs &&
	slowfs_mount work --latency=2000 --entry-timeout=0 --attr-timeout=0 &&
	git -C work status --porcelain &&
	git -C work status --porcelain &&
	count_ops expect -c core.preloadIndex=false status --porcelain &&
	count_ops actual status --porcelain &&
	test_threads &&
	test_cmp expect.out actual.out &&
	test_cmp expect.opendir actual.opendir &&
	test 3 -gt $(cat actual.opendir) &&
	>work/1/2/3/4/5/another &&
	count_ops actual status --porcelain &&
	test_grep 5/another actual.out &&
	slowfs_unmount work
'

test_expect_success 'a cached directory that has changed keeps its ignore file' '
	setup_work . &&
	slowfs_unmount work &&
	mkdir -p work.backing/ignored/1 work.backing/ignored/2/3 &&
	git -C work.backing config core.untrackedCache true &&
	git -C work.backing config status.showUntrackedFiles all &&
	find work.backing -name .git -prune -o -type d -print >dirs &&
	while read d
	do
		test-tool chmtime =-60 "$d" || return 1
	done <dirs &&
	slowfs_mount work --latency=2000 --entry-timeout=0 --attr-timeout=0 &&
	git -C work status --porcelain &&
	git -C work status --porcelain &&
	cp -p work/.git/index index.before &&
	>work/new &&
	count_ops expect -c core.preloadIndex=false status --porcelain &&
	cp -p index.before work/.git/index &&
	count_ops actual status --porcelain &&
	test_threads &&
	test_cmp expect.out actual.out &&
	test_cmp expect.opendir actual.opendir &&
	slowfs_unmount work
'

test_done
