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
		echo new >d9/sub/new-file &&
		mkdir -p d62/sub &&
		echo new >d62/sub/file &&
		echo "* eol=crlf" >d62/sub/.gitattributes &&
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
# one, which is not written. These are commands that update the working tree
# from the index, which is when absent directories are remembered. Leaves in
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
		git reset -q --hard
	) &&
	files_with_crlf "$1" >"$1.restored" &&
	(
		cd "$1" &&
		test_must_fail git merge origin/theirs
	) &&
	files_with_crlf "$1" >"$1.merged" &&
	(
		cd "$1" &&
		git reset -q --hard &&
		rm -r d9 &&
		git read-tree -m --aggressive -u origin/old HEAD origin/theirs &&
		git ls-files -u >../unmerged &&
		test_line_count = 2 ../unmerged
	) &&
	files_with_crlf "$1" >"$1.unmerged"
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
		test_write_lines d1/sub/file d22/sub/file d61/file \
			d62/sub/file d8/sub/file d9/file d9/sub/file \
			d9/sub/new-file >expect &&
		test_cmp expect work.merged &&
		test_write_lines d1/sub/file d22/sub/file d61/file \
			d62/sub/file d8/sub/file d9/sub/new-file >expect &&
		test_cmp expect work.unmerged
	'
done

# A filter shows it that makes an attribute file while Git is about to write
# another file there. It is not looked for, since d was absent when attributes
# were first looked up; what comes before is written by then, by entry.c.
test_expect_success 'nothing is looked for below a directory that was absent' '
	test_when_finished "rm -rf filter" &&
	git init filter &&
	(
		cd filter &&
		write_script attributes-in-e <<-\EOF &&
		mkdir -p d/e &&
		echo "* text eol=crlf" >d/e/.gitattributes &&
		cat
		EOF
		git config filter.attributes.smudge ./attributes-in-e &&
		mkdir -p d/a d/e &&
		echo "/d/a/file filter=attributes" >.gitattributes &&
		echo a >d/a/file &&
		echo e >d/e/file &&
		git add .gitattributes d &&
		git commit -q -m files &&
		echo e >expect &&

		rm -r d &&
		git -c checkout.workers=2 reset -q --hard &&
		test_path_is_file d/e/.gitattributes &&
		test_cmp expect d/e/file &&

		# and the attribute file is one
		rm -r d/a d/e/file &&
		git -c checkout.workers=2 reset -q --hard &&
		printf "e\r\n" >expect &&
		test_cmp expect d/e/file
	)
'

# Of "d" itself we may complain before it is known that nothing can be written.
test_expect_success SANITY 'what is in a directory that cannot be entered is not told of' '
	test_when_finished "chmod u+x closed/d" &&
	git init closed &&
	mkdir -p closed/d/e &&
	echo file >closed/d/e/file &&
	git -C closed add d &&
	git -C closed commit -q -m files &&
	rm closed/d/e/file &&
	chmod a-x closed/d &&
	for workers in 1 2
	do
		test_must_fail git -C closed -c checkout.workers=$workers \
			-c checkout.thresholdForParallelism=0 \
			checkout -f HEAD 2>err &&
		sed "/unable to access .d\/.gitattributes/d" err >err.$workers ||
		return 1
	done &&
	test_grep "^fatal: cannot create directory at .d/e." err.1 &&
	test_cmp err.1 err.2
'

test_done
