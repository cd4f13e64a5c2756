#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='commands that write files of a partial clone fetch in batches'

. ./test-lib.sh

# make_files <text>: 20 files in two directories that have attributes
make_files () {
	mkdir -p dir/one dir/two other &&
	for i in $(test_seq 10)
	do
		test_seq $i $((i + 30)) >dir/one/f$i &&
		echo "$1 one $i" >>dir/one/f$i &&
		test_seq $i $((i + 30)) >dir/two/f$i &&
		echo "$1 two $i" >>dir/two/f$i || return 1
	done &&
	echo "*.txt text" >dir/.gitattributes &&
	echo "*.bin binary" >dir/one/.gitattributes &&
	echo "* -text" >.gitattributes &&
	echo other >other/file
}

test_expect_success 'setup' '
	git config --global maintenance.auto false &&
	git init -b main origin &&
	(
		cd origin &&
		git config uploadpack.allowFilter true &&
		git config uploadpack.allowAnySHA1InWant true &&
		make_files first &&
		git add . &&
		git commit -m one &&
		git tag one &&
		git checkout -b side &&
		make_files side &&
		git add . &&
		git commit -m side &&
		git tag side &&
		git diff --full-index --binary one side >../side.diff &&
		git checkout main &&
		echo two >top &&
		git add top &&
		git commit -m two
	)
'

# partial <name>: a new clone without blobs and files, with an index
partial () {
	rm -rf "$1" &&
	git clone -q --no-checkout --filter=blob:none "file://$(pwd)/origin" "$1" &&
	git -C "$1" read-tree HEAD
}

# fetches <number> <command>...: so many fetches are made for it
fetches () {
	local number="$1" &&
	shift &&
	rm -f "$TRASH_DIRECTORY/trace" &&
	(
		GIT_TRACE2_EVENT="$TRASH_DIRECTORY/trace" &&
		export GIT_TRACE2_EVENT &&
		"$@"
	) &&
	{
		grep "\"event\":\"child_start\".*fetch.negotiationAlgorithm=noop" \
			"$TRASH_DIRECTORY/trace" >"$TRASH_DIRECTORY/fetched" || :
	} &&
	test_line_count = "$number" "$TRASH_DIRECTORY/fetched"
}

for workers in '' 1 2
do
	test_expect_success "${workers:-no} workers: configuration" '
		test_unconfig --global checkout.workers &&
		if test -n "$workers"
		then
			git config --global checkout.workers $workers &&
			git config --global checkout.thresholdForParallelism 0
		fi
	'

	while read -r name command
	do
		test_expect_success "${workers:-no} workers: $name" '
			partial clone &&
			(
				cd clone &&
				fetches 1 $command &&
				test_cmp ../origin/dir/one/f1 dir/one/f1 &&
				test_cmp ../origin/dir/two/f10 dir/two/f10
			)
		'
	done <<-\EOF
	tree git checkout HEAD -- dir
	index git checkout -- dir
	restore git restore dir
	restore-source git restore --source=HEAD --staged --worktree dir
	checkout-index git checkout-index --all
	paths git checkout-index dir/one/f1 dir/one/f2 dir/two/f1 dir/two/f10
	EOF
done

test_expect_success 'no configuration again' '
	test_unconfig --global checkout.workers &&
	test_unconfig --global checkout.thresholdForParallelism
'

test_expect_success 'checkout-index --stdin' '
	partial clone &&
	git -C clone ls-files >list &&
	fetches 1 git -C clone checkout-index --stdin <list &&
	test_cmp origin/dir/two/f10 clone/dir/two/f10 &&
	partial clone &&
	tr "\n" "\0" <list >list.z &&
	fetches 1 git -C clone checkout-index -z --stdin <list.z &&
	test_cmp origin/dir/two/f10 clone/dir/two/f10
'

test_expect_success 'checkout-index: a path that is an error is one at its turn' '
	for path in /nonexistent/x/y ../outside
	do
		partial clone &&
		test_expect_code 128 git -C clone checkout-index \
			dir/one/f1 $path dir/one/f2 &&
		test_cmp origin/dir/one/f1 clone/dir/one/f1 &&
		test_must_fail env GIT_NO_LAZY_FETCH=1 \
			git -C clone cat-file -e HEAD:dir/one/f2 || return 1
	done
'

test_expect_success SYMLINKS 'checkout-index --prefix: below a link' '
	partial clone &&
	git -C clone checkout-index --all --prefix=../files/ &&
	test_when_finished "rm -rf files link" &&
	ln -s files link &&
	partial clone &&
	fetches 0 test_must_fail \
		git -C clone checkout-index --all --prefix=../link/ 2>err &&
	test_grep "already exists" err
'

test_expect_success PIPE 'checkout-index --stdin does not wait for another line' '
	partial clone &&
	rm -f in &&
	mkfifo in &&
	{
		git -C clone checkout-index --stdin <in &
	} &&
	pid=$! &&
	exec 8>in &&
	echo dir/one/f1 >&8 &&
	for i in $(test_seq 100)
	do
		if test -f clone/dir/one/f1
		then
			break
		fi &&
		sleep 0.1 || return 1
	done &&
	test_path_is_file clone/dir/one/f1 &&
	echo dir/one/f2 >&8 &&
	exec 8>&- &&
	wait $pid &&
	test_path_is_file clone/dir/one/f2
'

test_expect_success 'checkout-index --stdin: last line without an end, bad quoting' '
	partial clone &&
	printf "dir/one/f1\ndir/one/f2" | git -C clone checkout-index --stdin &&
	test_path_is_file clone/dir/one/f2 &&
	printf "dir/one/f3\n\"dir/one/f4\ndir/one/f5\n" >list &&
	test_must_fail git -C clone checkout-index --stdin <list 2>err &&
	test_grep "line is badly quoted" err &&
	test_path_is_file clone/dir/one/f3 &&
	test_path_is_missing clone/dir/one/f5
'

test_expect_success '--temp' '
	partial clone &&
	fetches 1 git -C clone checkout-index --temp --all >out &&
	git -C origin ls-files >list &&
	test_line_count = $(wc -l <list) out
'

# conflicts: a clone in which all files of dir are unmerged
conflicts () {
	partial clone &&
	git -C clone read-tree main &&
	git -C clone ls-tree -r main:dir >tree &&
	{
		sed "s,^\\(.*\\) blob \\([^	]*\\)	,\\1 \\2 1	dir/," tree &&
		sed "s,^\\(.*\\) blob \\([^	]*\\)	,\\1 \\2 2	dir/," tree &&
		git -C origin ls-tree -r side:dir >tree.side &&
		sed "s,^\\(.*\\) blob \\([^	]*\\)	,\\1 \\2 3	dir/," tree.side
	} >entries &&
	{
		git -C clone ls-files dir | sed "s/^/0 $ZERO_OID	/" &&
		cat entries
	} | git -C clone update-index --index-info
}

test_expect_success 'unmerged entries' '
	conflicts &&
	fetches 1 git -C clone checkout --theirs -- dir &&
	git -C origin show side:dir/one/f3 >expect &&
	test_cmp expect clone/dir/one/f3 &&
	conflicts &&
	fetches 1 git -C clone checkout --ours -- dir &&
	git -C origin show main:dir/one/f3 >expect &&
	test_cmp expect clone/dir/one/f3 &&
	conflicts &&
	fetches 1 git -C clone checkout -m -- dir &&
	conflicts &&
	fetches 1 git -C clone checkout-index --all --stage=all >out &&
	conflicts &&
	fetches 1 git -C clone checkout-index --all --stage=3
'

test_expect_success 'what is up to date is not fetched' '
	partial clone &&
	git -C clone checkout-index --all -u &&
	partial again &&
	(
		cd clone &&
		"$TAR" cf - dir other top .gitattributes
	) | (
		cd again &&
		"$TAR" xf - &&
		git update-index --refresh &&
		echo changed >dir/one/f1 &&
		fetches 1 git checkout -- . &&
		test_cmp ../clone/dir/one/f1 dir/one/f1 &&
		git rev-list --objects --missing=print --no-object-names \
			HEAD >all &&
		git rev-parse HEAD:dir/one/f1 HEAD:dir/one/f2 >blobs &&
		sed -n 1p blobs >fetched &&
		sed -n "2s/^/?/p" blobs >missing &&
		grep -F -f fetched all >actual &&
		test_cmp fetched actual &&
		grep -F -f missing all
	)
'

test_expect_success 'attributes that are missing come with the files' '
	partial clone &&
	echo "dir/one/f5 eol=crlf text" >>origin/.gitattributes &&
	git -C origin commit -q -a -m attributes &&
	test_when_finished "git -C origin reset -q --hard HEAD^" &&
	partial clone &&
	fetches 1 git -C clone checkout-index dir/one/f5 dir/one/f6 &&
	tr -d "\\015" <clone/dir/one/f5 >actual &&
	test_cmp origin/dir/one/f5 actual &&
	! test_cmp_bin actual clone/dir/one/f5
'

test_expect_success 'apply' '
	partial clone &&
	fetches 1 git -C clone apply --cached ../side.diff &&
	git -C origin rev-parse side:dir >expect &&
	git -C clone write-tree >tree &&
	git -C clone rev-parse "$(cat tree):dir" >actual &&
	test_cmp expect actual &&
	partial clone &&
	git -C clone checkout -q side -- dir &&
	git -C clone read-tree HEAD &&
	git -C clone checkout-index -a -f -u &&
	fetches 0 git -C clone apply --index ../side.diff &&
	partial clone &&
	git -C clone reset -q --hard &&
	fetches 0 git -C clone apply --3way ../side.diff
'

test_expect_success 'apply --cached does not read attributes' '
	partial clone &&
	git -C clone apply --cached ../side.diff &&
	test_must_fail env GIT_NO_LAZY_FETCH=1 \
		git -C clone cat-file -e HEAD:dir/.gitattributes
'

# One fetch of what is in the index, and two that fail for what is nowhere.
test_expect_success 'apply --3way: a patch that was made of something else' '
	partial again &&
	foreign=$(echo foreign | git hash-object --stdin) &&
	old=$(git -C again rev-parse HEAD:dir/one/f1) &&
	sed "s/^index $old/index $foreign/" side.diff >foreign.diff &&
	! test_cmp side.diff foreign.diff &&
	fetches 3 git -C again apply --cached --3way ../foreign.diff
'

test_expect_success 'what is to be removed is not fetched' '
	partial clone &&
	(
		cd clone &&
		git checkout -q HEAD -- top &&
		fetches 0 git restore --source=HEAD:other --worktree dir
	)
'

test_expect_success 'a replaced blob is not fetched' '
	partial clone &&
	old=$(git -C clone rev-parse HEAD:other/file) &&
	new=$(echo replacement | git -C clone hash-object -w --stdin) &&
	# "git replace" would fetch it
	git -C clone update-ref refs/replace/$old $new &&
	git -C clone checkout HEAD -- other dir &&
	echo replacement >expect &&
	test_cmp expect clone/other/file &&
	test_must_fail env GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 \
		git -C clone cat-file -e $old
'

test_expect_success 'bad configuration is found before anything is fetched' '
	partial clone &&
	fetches 0 test_must_fail git -C clone -c checkout.workers=many \
		checkout -- dir
'

test_expect_success 'GIT_NO_LAZY_FETCH' '
	partial clone &&
	test_must_fail env GIT_NO_LAZY_FETCH=1 GIT_TRACE2_EVENT="$(pwd)/trace" \
		git -C clone checkout HEAD -- dir 2>err &&
	test_grep "unable to read sha1 file of dir/one/f1" err &&
	test_grep ! fetch.negotiationAlgorithm trace
'

# The same fails as without batches, and what comes before it is written.
test_expect_success 'a blob that the remote does not have' '
	partial clone &&
	git clone -q --bare origin lossy.git &&
	git -C lossy.git config uploadpack.allowFilter true &&
	git -C lossy.git config uploadpack.allowAnySHA1InWant true &&
	blob=$(git -C lossy.git rev-parse main:dir/two/f1) &&
	rm lossy.git/objects/$(test_oid_to_path $blob) &&
	git -C clone remote set-url origin "file://$(pwd)/lossy.git" &&
	test_must_fail git -C clone checkout HEAD -- dir 2>err &&
	test_grep "could not fetch $blob from promisor remote" err &&
	test_cmp origin/dir/one/f1 clone/dir/one/f1 &&
	test_path_is_missing clone/dir/two/f2 &&
	test_path_is_missing clone/.git/index.lock
'

test_expect_success 'a remote that is gone' '
	partial clone &&
	git -C clone checkout HEAD -- dir/one &&
	rm -rf clone/dir &&
	git -C clone remote set-url origin "file://$(pwd)/nowhere" &&
	test_expect_code 128 git -C clone checkout HEAD -- dir 2>err &&
	test_grep "could not fetch .* from promisor remote" err &&
	test_cmp origin/dir/one/f1 clone/dir/one/f1 &&
	test_path_is_missing clone/.git/index.lock
'

test_done
