#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='attributes of a checkout, looked for ahead

Threads look where the working tree has no .gitattributes, if that takes long.
What they find must not change which attributes a file gets.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

# usage: write_files <content>
write_files () {
	for d in $(test_seq 60)
	do
		mkdir -p d$d/sub &&
		echo "$1" >d$d/file &&
		echo "$1" >d$d/sub/file || return 1
	done
}

test_expect_success 'setup' '
	git init files &&
	(
		cd files &&
		write_files old &&
		echo "* eol=crlf" >d7/.gitattributes &&
		echo "* eol=crlf" >d8/sub/.gitattributes &&
		git add . &&
		git commit -q -m old &&
		git branch old &&

		# an attribute file goes, others come
		git rm -q -f d7/.gitattributes &&
		write_files new &&
		mkdir d61 &&
		echo new >d61/file &&
		echo "* eol=crlf" >d61/.gitattributes &&
		echo "* eol=crlf" >d9/.gitattributes &&
		git add . &&
		git commit -q -m new &&
		git branch new &&

		git checkout -q -b theirs old &&
		echo "sub/* eol=crlf" >d9/.gitattributes &&
		git add . &&
		git commit -q -m theirs
	)
'

# usage: files_with_crlf <dir>
files_with_crlf () {
	(
		cd "$1" &&
		for f in $(git ls-files "*file" | sort -u)
		do
			if test_path_is_file "$f" >/dev/null &&
			   tr "\015" Q <"$f" | grep Q >/dev/null
			then
				echo "$f"
			fi
		done
	)
}

# usage: use_attributes <work> <the same, seen directly>
# Attributes from the index, from files that are not in it, and from an unmerged
# one, which is read from the index before it is written. Leaves in
# <work>.* which files had them.
use_attributes () {
	rm -rf git &&
	git clone -q -n --separate-git-dir=git files "$1" &&
	(
		cd "$1" &&
		git checkout -q origin/old &&
		echo "d1/sub/* text eol=crlf" >.gitattributes &&
		echo "* text eol=crlf" >d20/.gitattributes &&
		echo "* text eol=crlf" >d21/sub/.gitattributes &&
		git checkout -q origin/new
	) &&
	files_with_crlf "$2" >"$1.switched" &&
	(
		cd "$1" &&
		rm -r d?* &&
		mkdir -p d22/sub &&
		echo "* text eol=crlf" >d22/sub/.gitattributes &&
		git checkout -- "d*"
	) &&
	files_with_crlf "$2" >"$1.restored" &&
	(
		cd "$1" &&
		test_must_fail git merge origin/theirs &&
		rm -r d9 &&
		git checkout --theirs -- d9
	) &&
	files_with_crlf "$2" >"$1.theirs"
}

test_expect_success 'no waiting' '
	use_attributes local local &&
	test_write_lines d1/sub/file d20/file d20/sub/file d21/sub/file \
		d61/file d8/sub/file d9/file d9/sub/file >expect &&
	test_cmp expect local.switched &&
	test_write_lines d1/sub/file d22/sub/file d61/file d8/sub/file \
		d9/file d9/sub/file >expect &&
	test_cmp expect local.restored &&
	test_cmp expect local.theirs
'

for workers in 1 2
do
	test_expect_success "waiting, checkout.workers=$workers" '
		test_when_finished "slowfs_unmount slow" &&
		rm -rf slow.* &&
		slowfs_mount slow --latency=lookup=500 \
			--entry-timeout=0 --attr-timeout=0 &&
		test_config_global checkout.workers $workers &&
		use_attributes slow/work slow.backing/work &&
		for what in switched restored theirs
		do
			test_cmp local.$what slow.backing/work.$what || return 1
		done
	'
done

# Nothing else has threads here.
test_expect_success PTHREADS 'looks are made side by side' '
	test_when_finished "slowfs_unmount slow" &&
	rm -rf slow.backing &&
	git clone -q files slow.backing &&
	rm slow.backing/d*/file slow.backing/d*/sub/file &&
	slowfs_mount slow --latency=lookup=5000 \
		--entry-timeout=0 --attr-timeout=0 &&
	slowfs_control slow reset &&
	git -C slow -c core.preloadIndex=false -c checkout.workers=1 \
		checkout -- . &&
	peak=$(slowfs_count slow peak) &&
	test $peak -ge 4
'

# An attribute file that colliding names share is written before it is asked for.
for workers in 1 2
do
	test_expect_success "ignoring case, checkout.workers=$workers" '
		test_when_finished "slowfs_unmount slow" &&
		rm -rf slow.backing &&
		slowfs_mount slow --icase --latency=lookup=500 &&
		git init slow/work &&
		(
			cd slow/work &&
			git config checkout.workers $workers &&
			git config checkout.thresholdForParallelism 0 &&
			attr=$(echo "* text eol=crlf" | git hash-object -w --stdin) &&
			file=$(echo text | git hash-object -w --stdin) &&
			for d in $(test_seq 30)
			do
				echo "100644 $attr	D$d/.gitattributes" &&
				echo "100644 $file	d$d/file" &&
				echo "100644 $file	d$d/sub/file" || return 1
			done | git update-index --index-info &&
			git checkout -- . &&
			git commit -q -m collisions
		) &&
		for d in $(test_seq 30)
		do
			printf "text\r\n" >expect &&
			test_cmp_bin expect slow.backing/work/D$d/file &&
			test_cmp_bin expect slow.backing/work/D$d/sub/file || return 1
		done
	'
done

test_done
