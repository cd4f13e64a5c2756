#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='attributes of a checkout into directories that are absent

Nothing is looked for below them. That must not change which attributes a file
gets.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

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

# usage: use_attributes <work>
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
	files_with_crlf "$1" >"$1.switched" &&
	(
		cd "$1" &&
		rm -r d?* &&
		mkdir -p d22/sub &&
		echo "* text eol=crlf" >d22/sub/.gitattributes &&
		git checkout -- "d*"
	) &&
	files_with_crlf "$1" >"$1.restored" &&
	(
		cd "$1" &&
		test_must_fail git merge origin/theirs &&
		rm -r d9 &&
		git checkout --theirs -- d9
	) &&
	files_with_crlf "$1" >"$1.theirs"
}

for workers in 1 2
do
	test_expect_success "attributes, checkout.workers=$workers" '
		test_config_global checkout.workers $workers &&
		test_config_global checkout.thresholdForParallelism 0 &&
		rm -rf work &&
		use_attributes work &&
		test_write_lines d1/sub/file d20/file d20/sub/file d21/sub/file \
			d61/file d8/sub/file d9/file d9/sub/file >expect &&
		test_cmp expect work.switched &&
		test_write_lines d1/sub/file d22/sub/file d61/file d8/sub/file \
			d9/file d9/sub/file >expect &&
		test_cmp expect work.restored &&
		test_cmp expect work.theirs
	'
done

test_done
