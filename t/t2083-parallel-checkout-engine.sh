#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='engine of parallel checkout, through the commands that use it

Whatever the number of workers, and whatever becomes of them, the files, the
index, the exit code and the set of messages are those of a checkout without
any.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"
. "$TEST_DIRECTORY/lib-encoding.sh"

TRASH=$(pwd)

# Numbers of workers, beside 1, which stands for none. Under valgrind, each
# process takes a second to start.
if test -n "$GIT_VALGRIND"
then
	SOME_WORKERS=2
	MORE_WORKERS=2
else
	SOME_WORKERS="2 16"
	MORE_WORKERS="2 4 16"
fi

# new_repo <name> [<source>]: without a working tree, borrowing from "repo"
new_repo () {
	rm -rf "$1" &&
	git clone -q --shared --no-checkout "${2:-repo}" "$1" &&
	git -C "$1" branch -q two origin/two
}

# with_workers <n> <git command and arguments>
#
# Run git with this many workers, however few entries there are. What it did is
# in the file trace.event of the test directory, and what it said in stderr.
with_workers () {
	workers=$1 &&
	shift &&
	rm -f "$TRASH/trace.event" &&
	GIT_TRACE2_EVENT="$TRASH/trace.event" git \
		-c checkout.workers=$workers \
		-c checkout.thresholdForParallelism=0 "$@" 2>"$TRASH/stderr"
	code=$? &&
	cat "$TRASH/stderr" >&2 &&
	return $code
}

# stat_of <key>: a number that the main process traced
stat_of () {
	sed -n "s|.*\"category\":\"pcheckout\",\"key\":\"$1\",\"value\":\"\([0-9]*\)\".*|\1|p" \
		"$TRASH/trace.event"
}

sum () {
	total=0 &&
	while read n
	do
		total=$(($total + $n)) || return 1
	done &&
	echo $total
}

# Is the working tree what HEAD says, to the last byte? And does the index have
# the right stat data? Files that are not tracked do not count.
verify_worktree () {
	git -C "$1" diff-files >"$TRASH/diff-files.out" &&
	test_must_be_empty "$TRASH/diff-files.out" &&
	git -C "$1" status --porcelain -uno >"$TRASH/status.out" &&
	test_must_be_empty "$TRASH/status.out" &&
	git -C "$1" ls-files >"$TRASH/tracked" &&
	(
		cd "$1" &&
		GIT_INDEX_FILE="$TRASH/verify.index" &&
		export GIT_INDEX_FILE &&
		rm -f "$GIT_INDEX_FILE" &&
		git update-index --add --stdin <"$TRASH/tracked" &&
		git write-tree >"$TRASH/actual.tree" &&
		git rev-parse HEAD^{tree} >"$TRASH/expect.tree"
	) &&
	test_cmp expect.tree actual.tree
}

# Give all files a time of the past, so that none of them is racily clean.
age_files () {
	(
		cd "$1" &&
		git ls-files -z | xargs -0 test-tool chmtime =-100 &&
		git update-index --refresh
	)
}

# compare_with_sequential <name> <function>
#
# Call the function in a new repository with 1, 2 and 16 workers (in $w, to be
# used with with_workers, once). Exit codes, messages and files must be the same.
compare_with_sequential () {
	name=$1 &&
	for w in 1 $SOME_WORKERS
	do
		new_repo $name-$w &&
		{
			(cd $name-$w && $2)
			echo $? >$name-$w.code
		} &&
		sort stderr >$name-$w.err &&
		git -C $name-$w ls-files -s >$name-$w.index &&
		rm -rf $name-$w/.git || return 1
	done &&
	for w in $SOME_WORKERS
	do
		test_cmp $name-1.code $name-$w.code &&
		test_cmp $name-1.err $name-$w.err &&
		test_cmp $name-1.index $name-$w.index &&
		diff -r $name-1 $name-$w || return 1
	done
}

# print_history <n>: a fast-import stream of two commits, with directories d10
# to d<n>.
print_history () {
	cat <<-EOF &&
	commit refs/heads/one
	committer C O Mitter <committer@example.com> 1112354055 +0200
	data 0

	EOF
	for d in $(test_seq 10 $1)
	do
		case $d in
		?[037]) dir=d$d/sub/dir ;;
		*) dir=d$d ;;
		esac &&
		for f in $(test_seq 10 42)
		do
			case $f in
			?5) mode=100755 ;;
			*) mode=100644 ;;
			esac &&
			printf "M $mode inline $dir/f$f\ndata <<E\n$d $f\nE\n" ||
				return 1
		done
	done &&
	printf "M 100644 inline d20/empty\ndata 0\n\n" &&
	printf "M 100644 inline d20/big\ndata 300000\n" &&
	test-tool genrandom big 300000 &&
	printf "M 100644 inline d30/zeros\ndata 200000\n" &&
	test-tool genzeros 200000 &&
	printf "\nM 100644 inline top\ndata <<E\none\nE\n" &&
	cat <<-EOF &&
	commit refs/heads/two
	committer C O Mitter <committer@example.com> 1112354055 +0200
	data 0

	from refs/heads/one
	EOF
	for d in $(test_seq 10 $1)
	do
		case $d in
		?[037]) dir=d$d/sub/dir ;;
		*) dir=d$d ;;
		esac &&
		for f in 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42
		do
			printf "M 100644 inline $dir/f$f\ndata <<E\ntwo: $d $f\nE\n" ||
				return 1
		done &&
		printf "M 100755 inline $dir/f12\ndata <<E\n$d 12\nE\n" &&
		printf "M 100644 inline $dir/new\ndata <<E\nnew: $d\nE\n" &&
		printf "D $dir/f11\n" || return 1
	done
}

test_expect_success 'setup' '
	git init repo &&
	print_history 69 >stream &&
	git -C repo fast-import --quiet <stream &&
	git -C repo symbolic-ref HEAD refs/heads/one &&
	git init few &&
	print_history 21 | git -C few fast-import --quiet &&
	git -C few symbolic-ref HEAD refs/heads/one &&
	git -C repo ls-tree -r one >one.tree &&
	GIT_INDEX_FILE=index git -C repo read-tree one &&
	GIT_INDEX_FILE=index git -C repo ls-files -s >one.index &&
	git -C repo ls-tree -r two >two.tree &&
	git -C repo ls-tree -r -l one | sed "s/.* \([0-9]*\)	.*/\1/" | sum >one.bytes &&
	mkdir outside
'

for w in 1 $MORE_WORKERS
do
	test_expect_success "checkout, switch and back ($w workers)" '
		new_repo tree &&
		if test $w -gt 1
		then
			expect_workers=$w &&
			cp one.bytes expect.bytes
		else
			expect_workers=0 &&
			echo 0 >expect.bytes
		fi &&

		with_workers $w -C tree checkout -f one &&
		verify_worktree tree &&
		stat_of workers >actual &&
		echo $expect_workers >expect &&
		test_cmp expect actual &&
		stat_of bytes >actual &&
		test_cmp expect.bytes actual &&

		with_workers $w -C tree checkout two &&
		verify_worktree tree &&
		stat_of workers >actual &&
		test_cmp expect actual &&
		with_workers $w -C tree checkout one &&
		verify_worktree tree &&

		git -C tree ls-files -s >actual &&
		test_cmp one.index actual
	'

	test_expect_success "reset --hard, restore and checkout-index ($w workers)" '
		rm -r tree/d2? tree/d3?/f* tree/top &&
		with_workers $w -C tree reset --hard &&
		verify_worktree tree &&

		rm -r tree/d4? &&
		with_workers $w -C tree restore . &&
		verify_worktree tree &&

		rm -r tree/d4? tree/d30/sub &&
		with_workers $w -C tree checkout -- d30 d40 &&
		with_workers $w -C tree checkout-index -u --all &&
		verify_worktree tree &&

		rm -r tree/d5? &&
		git -C tree ls-files -- "d5*" >list &&
		with_workers $w -C tree checkout-index -u --stdin <list &&
		verify_worktree tree
	'

	test_expect_success "clone ($w workers)" '
		rm -rf clone &&
		with_workers $w clone repo clone &&
		verify_worktree clone
	'
done

test_expect_success 'trace2 of the main process and its workers' '
	for w in $MORE_WORKERS
	do
		new_repo traced &&
		with_workers $w -C traced checkout -f one &&
		test_region pcheckout main trace.event &&
		grep "region_enter.*\"category\":\"pcheckout\",\"label\":\"worker\"" \
			trace.event >actual &&
		test_line_count = $w actual &&

		total=$(wc -l <one.tree) &&
		echo $w >expect &&
		stat_of workers >actual &&
		test_cmp expect actual &&
		echo $total >expect &&
		stat_of entries >actual &&
		test_cmp expect actual &&
		stat_of worker/entries >numbers &&
		test_line_count = $w numbers &&
		sum <numbers >actual &&
		test_cmp expect actual &&
		stat_of bytes >actual &&
		test_cmp one.bytes actual &&
		echo 0 >expect &&
		for zero in collided declined lost_workers
		do
			stat_of $zero >actual &&
			test_cmp expect actual || return 1
		done &&
		stat_of worker/waited_us >actual &&
		test_line_count = $w actual &&
		stat_of waited_us >actual &&
		test_line_count = 1 actual || return 1
	done
'

test_expect_success 'trace2 has all that the documentation speaks of' '
	new_repo documented &&
	with_workers 2 -C documented checkout -f one &&
	for key in workers batches entries removals bytes collided declined \
		lost_workers busy_us waited_us
	do
		stat_of $key >actual &&
		test_line_count = 1 actual || return 1
	done &&
	for key in entries busy_us waited_us
	do
		stat_of worker/$key >actual &&
		test_line_count = 2 actual || return 1
	done &&
	grep "child_start.*checkout--worker" trace.event >actual &&
	test_line_count = 2 actual &&

	# The batches, and the workers, add up to the whole.
	grep "region_leave.*\"category\":\"pcheckout\",\"label\":\"batch\"" \
		trace.event >actual &&
	test_line_count = $(stat_of batches) actual &&
	stat_of entries >expect &&
	stat_of worker/entries | sum >actual &&
	test_cmp expect actual
'

# The size of a batch depends on the speed of the machine, but it has to be
# terribly slow to come near to one.
test_expect_success 'entries come in batches' '
	new_repo batches &&
	with_workers 2 -C batches checkout -f one &&
	if test -z "$GIT_VALGRIND"
	then
		test $(($(stat_of batches) * 2)) -lt $(stat_of entries)
	fi &&
	test $(stat_of batches) -gt 2
'

test_expect_success 'workers write while entries are still being queued' '
	new_repo early &&
	git -C early read-tree one &&
	git -C early ls-files | grep -v big >names &&
	first=$(head -n 1 names) &&
	rm -f was-there &&
	{
		cat names &&
		for i in $(test_seq 60)
		do
			if test -f "early/$first"
			then
				>was-there &&
				break
			fi &&
			sleep 1 || return 1
		done
	} | git -C early -c checkout.workers=2 checkout-index --stdin &&
	test_path_is_file was-there
'

# usage: is_sequential <why> <git command>...: with a number of workers
is_sequential () {
	why=$1 &&
	shift &&
	with_workers ${w:-2} "$@" &&
	test_region pcheckout main trace.event &&
	test_grep "\"key\":\"sequential\",\"value\":\"$why\"" trace.event &&
	for key in workers entries bytes
	do
		stat_of $key >actual &&
		echo 0 >expect &&
		test_cmp expect actual || return 1
	done
}

test_expect_success 'a sequential checkout has no workers, and says why' '
	new_repo traced &&
	w=1 is_sequential "checkout.workers is 1" -C traced checkout -f one &&
	verify_worktree traced &&
	w= is_sequential "only files that exist are written" \
		-C traced checkout-index -n -f --all &&
	GIT_TEST_PARALLEL_CHECKOUT=false &&
	export GIT_TEST_PARALLEL_CHECKOUT &&
	test_when_finished "unset GIT_TEST_PARALLEL_CHECKOUT" &&
	w= is_sequential "a test says so" -C traced checkout two &&
	verify_worktree traced
'

test_expect_success 'workers replace files that are unmodified' '
	for w in $SOME_WORKERS
	do
		new_repo switch &&
		git -C switch checkout -q -f one &&
		age_files switch &&
		with_workers $w -C switch checkout two &&
		verify_worktree switch &&
		echo 0 >expect &&
		stat_of collided >actual &&
		test_cmp expect actual &&
		git -C repo diff --diff-filter=AM --name-only one two >changed &&
		wc -l <changed | tr -d " " >expect &&
		stat_of entries >actual &&
		test_cmp expect actual || return 1
	done
'

test_expect_success 'workers replace files by those of another tree' '
	for w in $SOME_WORKERS
	do
		new_repo other-tree &&
		git -C other-tree checkout -q -f one &&
		age_files other-tree &&
		with_workers $w -C other-tree checkout two -- . &&
		git -C other-tree diff --exit-code &&
		git -C other-tree diff --exit-code --cached \
			--diff-filter=a two &&
		echo 0 >expect &&
		stat_of collided >actual &&
		test_cmp expect actual &&
		git -C repo diff --diff-filter=AM --name-only one two >changed &&
		wc -l <changed | tr -d " " >expect &&
		stat_of entries >actual &&
		test_cmp expect actual || return 1
	done
'

# "git reset --hard" does not refresh the index first, so that the index does
# not know about the files as they are now.
test_expect_success 'touched and dirty files collide' '
	for w in $SOME_WORKERS
	do
		new_repo touched &&
		git -C touched checkout -q -f one &&
		age_files touched &&
		(
			cd touched &&
			test-tool chmtime =-50 d11/f10 d11/f14 &&
			echo dirty >d12/f10 &&
			rm d12/f14 &&
			rm -r d14 &&
			chmod +x d15/f10 &&
			rm d15/f14 &&
			mkdir d15/f14 &&
			>d15/f14/file
		) &&
		with_workers $w -C touched reset --hard two &&
		verify_worktree touched &&
		test_path_is_file touched/d15/f14 &&
		if test_have_prereq POSIXPERM
		then
			echo 5
		else
			echo 4
		fi >expect &&
		stat_of collided >actual &&
		test_cmp expect actual || return 1
	done
'

# racy_files <dir>: the time of the index is not later than that of the files
racy_files () {
	git -C "$1" ls-files -z | (cd "$1" && xargs -0 test-tool chmtime =+100) &&
	git -C "$1" update-index --refresh
}

test_expect_success 'files of a moment ago are replaced at once' '
	for w in $SOME_WORKERS
	do
		new_repo touched &&
		git -C touched checkout -q -f one &&
		racy_files touched &&
		with_workers $w -C touched checkout two &&
		verify_worktree touched &&
		echo 0 >expect &&
		stat_of collided >actual &&
		test_cmp expect actual &&

		rm -rf touched &&
		git clone -q --shared repo touched &&
		git -C touched checkout -q -f one &&
		with_workers $w -C touched reset --hard origin/two &&
		verify_worktree touched &&
		stat_of collided >actual &&
		test_cmp expect actual || return 1
	done
'

# The file has the size and the times that the index knows, but for a ctime that
# does not count.
edit_unseen () {
	time=$(test-tool chmtime --get "$1/d11/f10") &&
	tr "0-8" "1-9" <"$1/d11/f10" >edited &&
	! test_cmp "$1/d11/f10" edited >/dev/null &&
	cat edited >"$1/d11/f10" &&
	test-tool chmtime =$time "$1/d11/f10"
}

# edit_and <code> <command>...: what is the exit code?
edit_and () {
	expect_code=$1 &&
	shift &&
	new_repo touched &&
	git -C touched config core.trustCTime false &&
	git -C touched checkout -q -f one &&
	racy_files touched &&
	edit_unseen touched &&
	test_expect_code $expect_code git -c checkout.workers=$w \
		-c checkout.thresholdForParallelism=0 -C touched "$@"
}

test_expect_success 'what was edited a moment ago stays without force' '
	for w in 1 $SOME_WORKERS
	do
		edit_and 1 checkout two 2>err &&
		test_grep "d11/f10" err &&
		test_cmp edited touched/d11/f10 &&
		test "$(git -C touched rev-parse HEAD)" = "$(git -C touched rev-parse origin/one)" &&
		edit_and 0 reset --hard two &&
		verify_worktree touched || return 1
	done
'

test_expect_success 'many collisions' '
	for w in 1 $SOME_WORKERS
	do
		new_repo many &&
		git -C many checkout -q -f one &&
		rm many/.git/index &&
		(
			cd many &&
			for f in d*/f1*
			do
				echo dirty >$f || return 1
			done
		) &&
		with_workers $w -C many checkout -f one &&
		verify_worktree many &&
		if test $w -gt 1
		then
			test $(stat_of collided) -gt 1000
		fi || return 1
	done
'

entries_assumed_unchanged () {
	git checkout -q -f one &&
	git ls-files -z | xargs -0 test-tool chmtime =-100 &&
	git update-index --refresh &&
	git update-index --assume-unchanged d10/sub/dir/f10 d11/f10 d11/f14 &&
	echo dirty >d11/f10 &&
	rm d11/f14 &&
	with_workers $w checkout two
}

test_expect_success 'assume-unchanged files' '
	compare_with_sequential assume entries_assumed_unchanged
'

dirty_and_untracked () {
	git checkout -q -f one &&
	echo dirty >d11/f10 &&
	echo dirty >d12/f13 &&
	echo untracked >d14/new &&
	echo untracked >d15/untracked &&
	with_workers $w checkout $force two
}

test_expect_success 'dirty and untracked files are not overwritten' '
	force= &&
	compare_with_sequential dirty dirty_and_untracked &&
	echo 1 >expect &&
	test_cmp expect dirty-2.code &&
	test_grep "would be overwritten" dirty-2.err &&
	echo dirty >expect &&
	test_cmp expect dirty-2/d11/f10 &&
	echo untracked >expect &&
	test_cmp expect dirty-2/d14/new
'

test_expect_success 'dirty and untracked files, with force' '
	force=-f &&
	compare_with_sequential dirty dirty_and_untracked &&
	echo 0 >expect &&
	test_cmp expect dirty-2.code &&
	echo "two: 11 10" >expect &&
	test_cmp expect dirty-2/d11/f10 &&
	echo "new: 14" >expect &&
	test_cmp expect dirty-2/d14/new &&
	echo untracked >expect &&
	test_cmp expect dirty-2/d15/untracked
'

index_over_files () {
	git read-tree one &&
	mkdir -p d11 d12/f10 d14 &&
	echo untracked >d11/f10 &&
	echo untracked >d12/f10/file &&
	echo untracked >d13 &&
	echo untracked >d14/untracked &&
	with_workers $w checkout-index $options --all
}

test_expect_success 'checkout-index over existing files' '
	options= &&
	rm -f die.index &&
	index_over_existing () {
		git read-tree one &&
		mkdir -p d11 d12/f10 &&
		echo untracked >d11/f10 &&
		with_workers $w checkout-index --all
	} &&
	compare_with_sequential existing index_over_existing &&
	echo 1 >expect &&
	test_cmp expect existing-2.code &&
	cat >expect <<-\EOF &&
	d11/f10 already exists, no checkout
	d12/f10 already exists, no checkout
	EOF
	test_cmp expect existing-2.err &&
	echo untracked >expect &&
	test_cmp expect existing-2/d11/f10 &&
	test_path_is_dir existing-2/d12/f10 &&
	git -C repo ls-tree -r --name-only one >expect &&
	(cd existing-2 && find d* top -type f) | sort >actual &&
	echo d12/f10 >>actual &&
	sort expect >expect.sorted &&
	sort actual >actual.sorted &&
	test_cmp expect.sorted actual.sorted
'

test_expect_success 'checkout-index --quiet over existing files' '
	options=--quiet &&
	index_over_existing_quiet () {
		git read-tree one &&
		mkdir -p d11 d12/f10 &&
		echo untracked >d11/f10 &&
		with_workers $w checkout-index --quiet --all
	} &&
	compare_with_sequential quiet index_over_existing_quiet &&
	echo 1 >expect &&
	test_cmp expect quiet-2.code &&
	test_must_be_empty quiet-2.err
'

test_expect_success 'checkout-index --force over existing files' '
	options="--force -u" &&
	compare_with_sequential forced index_over_files &&
	echo 0 >expect &&
	test_cmp expect forced-2.code &&
	test_must_be_empty forced-2.err &&
	test_path_is_file forced-2/d12/f10 &&
	test_path_is_dir forced-2/d13 &&
	test_path_is_file forced-2/d14/untracked
'

same_path_twice () {
	git read-tree one &&
	with_workers $w checkout-index d11/f10 d11/f12 d11/f10 d11/f13
}

test_expect_success 'checkout-index of the same path twice' '
	compare_with_sequential twice same_path_twice &&
	echo 1 >expect &&
	test_cmp expect twice-2.code &&
	echo "d11/f10 already exists, no checkout" >expect &&
	test_cmp expect twice-2.err
'

test_expect_success 'directories become files, and files directories' '
	git init df &&
	(
		cd df &&
		cat >stream <<-EOF &&
		commit refs/heads/dirs
		committer C O Mitter <committer@example.com> 1112354055 +0200
		data 0

		EOF
		for d in $(test_seq 100 180)
		do
			printf "M 100644 inline $d/a\ndata <<E\n$d a\nE\n" &&
			printf "M 100644 inline $d/b/c\ndata <<E\n$d b c\nE\n" ||
				return 1
		done >>stream &&
		cat >>stream <<-EOF &&
		commit refs/heads/files
		committer C O Mitter <committer@example.com> 1112354055 +0200
		data 0

		EOF
		for d in $(test_seq 100 180)
		do
			printf "M 100644 inline $d\ndata <<E\n$d\nE\n" || return 1
		done >>stream &&
		git fast-import --quiet <stream &&
		rm stream
	) &&
	for w in 1 $SOME_WORKERS
	do
		with_workers $w -C df checkout -f dirs &&
		verify_worktree df &&
		with_workers $w -C df checkout files &&
		verify_worktree df &&
		with_workers $w -C df checkout dirs &&
		verify_worktree df &&

		# and when it is not the index that says so
		rm -rf df/1?? &&
		for d in $(test_seq 100 180)
		do
			echo untracked >df/$d || return 1
		done &&
		with_workers $w -C df reset --hard &&
		verify_worktree df &&
		git -C df checkout -q files &&
		rm -rf df/1?? &&
		for d in $(test_seq 100 180)
		do
			mkdir -p df/$d/sub &&
			echo untracked >df/$d/sub/file || return 1
		done &&
		with_workers $w -C df reset --hard &&
		verify_worktree df || return 1
	done
'

test_expect_success SYMLINKS 'symbolic links in the place of leading directories' '
	for w in 1 $SOME_WORKERS
	do
		new_repo leading &&
		git -C leading checkout -q -f one &&
		(
			cd leading &&
			rm -r d11 d20/* d30/sub &&
			rmdir d20 &&
			ln -s ../outside d11 &&
			ln -s ../outside d20 &&
			ln -s ../../outside d30/sub
		) &&
		with_workers $w -C leading checkout -f two &&
		test_dir_is_empty outside &&
		verify_worktree leading &&

		rm -r leading/d11 leading/d33/sub &&
		ln -s ../outside leading/d11 &&
		ln -s ../../outside leading/d33/sub &&
		with_workers $w -C leading checkout-index -u -f --all &&
		test_dir_is_empty outside &&
		verify_worktree leading || return 1
	done
'

test_expect_success SYMLINKS 'symbolic links and files trade places' '
	git init links &&
	(
		cd links &&
		for i in $(test_seq 100 150)
		do
			echo $i >a$i &&
			ln -s target$i b$i || return 1
		done &&
		git add . &&
		git commit -q -m 1 &&
		git tag 1 &&
		rm a* b* &&
		for i in $(test_seq 100 150)
		do
			echo $i >b$i &&
			ln -s target$i a$i || return 1
		done &&
		git add . &&
		git commit -q -m 2 &&
		git tag 2
	) &&
	for w in 1 $SOME_WORKERS
	do
		age_links=$(cd links && ls) &&
		with_workers $w -C links checkout -q 1 &&
		verify_worktree links &&
		with_workers $w -C links checkout -q 2 &&
		verify_worktree links &&
		test -h links/a100 &&
		test_path_is_file links/b100 || return 1
	done &&
	ls links >actual &&
	test_line_count = 102 actual
'

test_expect_success 'setup repository of loose objects' '
	git init loose &&
	(
		cd loose &&
		pack=$(ls ../repo/.git/objects/pack/*.pack) &&
		git unpack-objects -q <$pack &&
		git update-ref refs/heads/one $(git -C ../repo rev-parse one) &&
		git symbolic-ref HEAD refs/heads/one
	)
'

# The messages that entry.c has for it, and no other.
test_expect_success 'missing blobs' '
	for path in d11/f11 d20/big d69/f42
	do
		oid=$(git -C loose rev-parse one:$path) &&
		rm loose/.git/objects/$(test_oid_to_path $oid) &&
		echo "error: unable to read sha1 file of $path ($oid)" || return 1
	done >messages &&
	sort messages >expect &&
	git -C repo ls-tree -r --name-only one |
		grep -v -x -e d11/f11 -e d20/big -e d69/f42 >files.expect &&
	for w in 1 $SOME_WORKERS
	do
		find loose -mindepth 1 -maxdepth 1 ! -name .git \
			-exec rm -rf {} + &&
		rm -f loose/.git/index &&
		git -C loose read-tree one &&
		test_expect_code 1 with_workers $w -C loose \
			checkout-index -u --all &&
		sort stderr >actual &&
		test_cmp expect actual &&
		(cd loose && find d* top -type f) | sort >actual &&
		test_cmp files.expect actual &&

		# the same, by paths
		rm -r loose/d1? loose/d20 loose/d69 &&
		git -C loose ls-files >paths &&
		test_expect_code 1 with_workers $w -C loose \
			checkout-index --force --stdin <paths &&
		sort stderr >actual &&
		test_cmp expect actual &&
		(cd loose && find d* top -type f) | sort >actual &&
		test_cmp files.expect actual &&

		rm -r loose/d1? loose/d20 loose/d69 &&
		{
			with_workers $w -C loose checkout .
			echo $? >code.$w
		} &&
		grep ^error: stderr | sort >actual &&
		test_cmp expect actual &&
		(cd loose && find d* top -type f) | sort >actual &&
		test_cmp files.expect actual || return 1
	done &&
	! grep -x 0 code.1 &&
	test_cmp code.1 code.2 &&
	test_cmp code.1 code.16
'

# entry.c dies of it, so that it is said once, whoever finds it first.
test_expect_success 'corrupt loose blob' '
	for path in d11/f11 d20/big d69/f42
	do
		git -C repo show one:$path |
			git -C loose hash-object -w --stdin || return 1
	done &&
	git -C loose fsck --connectivity-only &&
	oid=$(git -C loose rev-parse one:d20/big) &&
	obj=loose/.git/objects/$(test_oid_to_path $oid) &&
	chmod +w $obj &&
	test_copy_bytes 1000 <$obj >short &&
	cp short $obj &&
	for w in 1 $SOME_WORKERS
	do
		find loose -mindepth 1 -maxdepth 1 ! -name .git \
			-exec rm -rf {} + &&
		git -C loose read-tree one &&
		test_expect_code 128 with_workers $w -C loose \
			checkout-index -u --all &&
		cp stderr err.$w &&
		test_grep "^fatal: loose object $oid .* is corrupt" err.$w &&
		test_path_is_missing loose/.git/index.lock &&
		test_path_is_missing loose/d20/big || return 1
	done &&
	test_cmp err.1 err.2 &&
	test_cmp err.1 err.16
'

test_expect_success 'corrupt packed blob' '
	rm -rf packed &&
	git clone -q --no-checkout --no-local --no-hardlinks repo packed &&
	pack=$(echo packed/.git/objects/pack/*.pack) &&
	oid=$(git -C packed rev-parse origin/one:d20/big) &&
	offset=$(git show-index <${pack%.pack}.idx |
		sed -n "s/^\([0-9]*\) $oid.*/\1/p") &&
	chmod +w $pack &&
	printf "\0\0\0\0\0\0\0\0\0\0" |
		dd of=$pack bs=1 seek=$(($offset + 50000)) conv=notrunc &&
	for w in 1 $SOME_WORKERS
	do
		find packed -mindepth 1 -maxdepth 1 ! -name .git \
			-exec rm -rf {} + &&
		git -C packed read-tree origin/one &&
		{
			with_workers $w -C packed checkout-index -u --all
			echo $? >code.$w
		} &&
		cp stderr err.$w &&
		test_path_is_missing packed/.git/index.lock || return 1
	done &&
	test_cmp code.1 code.2 &&
	test_cmp code.1 code.16 &&
	test_cmp err.1 err.2 &&
	test_cmp err.1 err.16
'

# A try that fails silently must not take the words from who tries again.
test_expect_success 'corrupt packed delta' '
	rm -rf delta &&
	git init delta &&
	test_seq 2000 >delta/a &&
	test_seq 1990 >delta/b &&
	git -C delta add . &&
	git -C delta commit -q -m delta &&
	git -C delta repack -adf &&
	pack=$(echo delta/.git/objects/pack/*.pack) &&
	git verify-pack -v $pack >objects &&
	# <oid> blob <size> <size in pack> <offset> 1 <base>
	end=$(awk "\$6 == 1 && \$2 == \"blob\" { print \$4 + \$5 }" objects) &&
	oid=$(awk "\$6 == 1 && \$2 == \"blob\" { print \$1 }" objects) &&
	chmod +w $pack &&
	printf "\0\0\0\0" |
		dd of=$pack bs=1 seek=$(($end - 4)) conv=notrunc &&
	cat >expect <<-EOF &&
	error: inflate: data stream error (incorrect data check)
	error: failed to unpack compressed delta at offset X from $pack
	fatal: packed object $oid (stored in $pack) is corrupt
	EOF
	for w in 1 2
	do
		rm -f delta/a delta/b delta/.git/index.lock &&
		test_expect_code 128 with_workers $w -C delta \
			checkout -f HEAD &&
		sed -e "s/offset [0-9]*/offset X/" \
			-e "s|[^ ]*objects/pack|delta/.git/objects/pack|" \
			stderr >actual &&
		test_cmp expect actual || return 1
	done
'

# There are two implementations of it, which do not agree on everything.
test_expect_success 'ident is expanded as by entry.c' '
	rm -rf ident &&
	git init ident &&
	printf "%s\n" "\$\$Id\$" "\$Id\$" "\$Id: old \$" "\$Id:no" >ident/proto &&
	for i in $(test_seq 10)
	do
		cp ident/proto ident/f$i.t &&
		cp ident/proto ident/f$i.auto || return 1
	done &&
	rm ident/proto &&
	git -C ident add . &&
	test_write_lines "*.t ident" "*.auto text=auto ident" \
		>ident/.gitattributes &&
	git -C ident add .gitattributes &&
	git -C ident commit -q -m ident &&
	oid=$(git -C ident rev-parse HEAD:f1.t) &&
	printf "%s\n" "\$\$Id\$" "\$Id: $oid \$" "\$Id: $oid \$" "\$Id:no" >expect &&
	rm ident/f* &&
	GIT_TEST_PARALLEL_CHECKOUT=false git -C ident checkout -f HEAD &&
	test_cmp expect ident/f1.t &&
	cp ident/f1.auto expect.auto &&
	! test_cmp expect expect.auto &&
	for w in 1 2
	do
		rm ident/f* &&
		echo dirty >ident/f3.t &&
		with_workers $w -C ident checkout -f HEAD &&
		for i in $(test_seq 10)
		do
			test_cmp expect ident/f$i.t &&
			test_cmp expect.auto ident/f$i.auto || return 1
		done || return 1
	done
'

test_expect_success 'setup encodings' '
	git init encodings &&
	(
		cd encodings &&
		for d in $(test_seq 10 49)
		do
			mkdir -p $d/sub &&
			case $d in
			?0) echo "*.txt text working-tree-encoding=UTF-16LE" ;;
			?1) echo "*.txt text working-tree-encoding=UTF-16BE" ;;
			?2) echo "*.txt text working-tree-encoding=ISO-8859-1" ;;
			?3) echo "*.txt text working-tree-encoding=UTF-32LE" ;;
			*)  echo "*.txt text eol=lf" ;;
			esac >$d/.gitattributes &&
			for f in a b c sub/d
			do
				echo "$d $f" >$d/$f.txt || return 1
			done || return 1
		done &&
		git -c core.attributesFile=/dev/null add . 2>/dev/null ||
			: the encodings do not fit &&
		git ls-files -s >/dev/null &&
		for d in $(test_seq 10 49)
		do
			for f in a b c sub/d
			do
				oid=$(echo "$d $f" | git hash-object -w --stdin) &&
				printf "100644 $oid\t$d/$f.txt\n" || return 1
			done || return 1
		done >info &&
		git add -f "*/.gitattributes" &&
		git update-index --add --index-info <info &&
		rm info &&
		git commit -q -m encodings &&
		rm -rf ??
	)
'

# Attributes are read directory by directory, and dropped when another
# directory is entered. What was queued must not refer to them.
test_expect_success 'encodings of attributes files in subdirectories' '
	for w in 1 $SOME_WORKERS
	do
		rm -rf encodings/?? &&
		with_workers $w -C encodings reset --hard &&
		for d in $(test_seq 10 49)
		do
			case $d in
			?0) encoding=UTF-16LE ;;
			?1) encoding=UTF-16BE ;;
			?2) encoding=ISO-8859-1 ;;
			?3) encoding=UTF-32LE ;;
			*)  encoding=UTF-8 ;;
			esac &&
			for f in a b c sub/d
			do
				echo "$d $f" | iconv -f UTF-8 -t $encoding >expect.txt &&
				test_cmp_bin expect.txt encodings/$d/$f.txt ||
					return 1
			done || return 1
		done || return 1
	done
'

# What was absent for one commit may be there for the next.
test_expect_success 'absent attributes files are forgotten after a checkout' '
	git init rebase &&
	(
		cd rebase &&
		mkdir d &&
		echo 0 >d/file &&
		git add . &&
		test_commit base &&
		for i in 1 2
		do
			echo $i >d/file &&
			git commit -q -a -m $i || return 1
		done &&
		git checkout -q -b onto base &&
		test_commit other &&
		git checkout -q - &&
		git rebase --exec "echo \"* text eol=crlf\" >d/.gitattributes" onto &&
		printf "2\r\n" >expect &&
		test_cmp_bin expect d/file
	)
'

test_expect_success 'failed encoding is reported once' '
	git init failing &&
	(
		cd failing &&
		echo "*.bad working-tree-encoding=UTF-16" >.gitattributes &&
		git add .gitattributes &&
		bad=$(printf "\377\376\377\n" | git hash-object -w --stdin) &&
		for i in 1 2 3
		do
			printf "100644 $bad\t$i.bad\n" || return 1
		done | git update-index --index-info &&
		git commit -q -m bad
	) &&
	printf "\377\376\377\n" >expect.bad &&
	for w in 1 2
	do
		rm -f failing/*.bad &&
		with_workers $w -C failing checkout-index --all --force &&
		sort stderr >actual.$w &&
		test_line_count = 3 actual.$w &&
		for i in 1 2 3
		do
			grep "failed to encode .$i.bad. from UTF-8 to UTF-16" stderr >one &&
			test_line_count = 1 one &&
			test_cmp_bin expect.bad failing/$i.bad || return 1
		done || return 1
	done &&
	test_cmp actual.1 actual.2
'

for w in 1 $SOME_WORKERS
do
	test_expect_success "checkout-index --prefix ($w workers)" '
		new_repo prefix &&
		git -C prefix read-tree one &&
		git -C prefix checkout-index --all &&
		mkdir expect.dir &&
		test_when_finished "rm -rf expect.dir" &&
		mv prefix/d* prefix/top expect.dir/ &&

		mkdir prefix/dir &&
		with_workers $w -C prefix checkout-index --all --prefix=dir/ &&
		diff -r expect.dir prefix/dir &&

		with_workers $w -C prefix checkout-index --all \
			--prefix=deep/missing/dir/ &&
		test_must_be_empty stderr &&
		diff -r expect.dir prefix/deep/missing/dir &&

		with_workers $w -C prefix checkout-index --all \
			--prefix="$TRASH/prefix/absolute/" &&
		diff -r expect.dir prefix/absolute &&

		with_workers $w -C prefix checkout-index --all --prefix=name- &&
		for i in d11 d13 d69 top
		do
			diff -r expect.dir/$i prefix/name-$i || return 1
		done &&

		with_workers $w -C prefix checkout-index --all --prefix=sub/name- &&
		diff -r expect.dir/d13 prefix/sub/name-d13 &&

		(
			cd prefix &&
			mkdir subdir &&
			cd subdir &&
			with_workers $w checkout-index --prefix=from-sub/ ../top &&
			test_path_is_file ../from-sub/top
		) &&

		with_workers $w -C prefix checkout-index --all --prefix=../out/ &&
		test_must_be_empty stderr &&
		diff -r expect.dir out &&
		rm -r out &&

		git -C prefix diff-files --diff-filter=M >actual &&
		test_must_be_empty actual
	'

	test_expect_success SYMLINKS "checkout-index --prefix with symbolic links ($w workers)" '
		new_repo prefix &&
		git -C prefix read-tree one &&
		(
			cd prefix &&
			mkdir real real2 &&
			ln -s real link &&
			ln -s ../real2 real/inner &&

			# those of the prefix are followed
			with_workers $w checkout-index --prefix=link/ --all &&
			test -h link &&
			test_path_is_file real/d13/sub/dir/f10 &&
			with_workers $w checkout-index --prefix=link/inner/ --all &&
			test_path_is_file real2/d13/sub/dir/f10 &&

			# but not those that come after it
			rm -r real2/* &&
			ln -s ../../outside real2/d11 &&
			ln -s ../outside other-d11 &&
			with_workers $w checkout-index --force \
				--prefix=link/inner/ --all &&
			test_path_is_dir real2/d11 &&
			! test -h real2/d11 &&
			with_workers $w checkout-index --force \
				--prefix=other- --all &&
			! test -h other-d11 &&
			test_path_is_file other-d11/f10 &&
			test_dir_is_empty ../outside
		)
	'
done

prefix_is_a_file () {
	git read-tree one &&
	echo file >file &&
	with_workers $w checkout-index --all --prefix=file/
}

test_expect_success '--prefix of a file' '
	compare_with_sequential prefixfile prefix_is_a_file &&
	echo 128 >expect &&
	test_cmp expect prefixfile-2.code &&
	test_line_count = 1 prefixfile-2.err
'

test_expect_success 'checkout-index --temp' '
	new_repo temp &&
	git -C temp read-tree one &&
	with_workers 2 -C temp checkout-index --temp -- d11/f10 d11/f13 top >out &&
	test_line_count = 3 out &&
	while read file path
	do
		git -C temp show one:$path >expect &&
		test_cmp expect temp/$file || return 1
	done <out &&
	test_path_is_missing temp/d11
'

test_expect_success 'checkout-index --stage' '
	for w in 1 $SOME_WORKERS
	do
		rm -rf stages &&
		git init -q stages &&
		(
			cd stages &&
			for s in 1 2 3
			do
				oid=$(echo $s | git hash-object -w --stdin) &&
				for p in a b dir/c dir/d
				do
					printf "100644 $oid $s\t$p\n" || return 1
				done || return 1
			done >info &&
			git update-index --index-info <info &&

			with_workers $w checkout-index --stage=all --all >out &&
			test_line_count = 4 out &&
			sed -n "s/	dir\/d//p" out >temps &&
			read one two three <temps &&
			cat $one $two $three >actual &&
			test_write_lines 1 2 3 >expect &&
			test_cmp expect actual &&
			test_path_is_missing a &&

			for s in 1 2 3
			do
				rm -rf a b dir &&
				with_workers $w checkout-index --stage=$s --all &&
				echo $s >expect &&
				for p in a b dir/c dir/d
				do
					test_cmp expect $p || return 1
				done || return 1
			done &&
			test_expect_code 1 git checkout-index a 2>err &&
			test_grep "is unmerged" err
		) || return 1
	done
'

test_expect_success 'checkout-index --no-create' '
	for w in 1 $SOME_WORKERS
	do
		new_repo nocreate &&
		(
			cd nocreate &&
			git read-tree one &&
			mkdir d11 &&
			echo old >d11/f10 &&
			echo old >d11/f12 &&
			echo old >top &&
			with_workers $w checkout-index -n -f -u --all &&
			git show one:d11/f10 >../expect &&
			test_cmp ../expect d11/f10 &&
			git show one:top >../expect &&
			test_cmp ../expect top &&
			find . -path ./.git -prune -o -type f -print |
				sort >../actual &&
			cat >../expect <<-\EOF &&
			./d11/f10
			./d11/f12
			./top
			EOF
			test_cmp ../expect ../actual
		) || return 1
	done
'

test_expect_success 'checkout-index without --index leaves the index alone' '
	for w in 1 2
	do
		new_repo noindex &&
		git -C noindex read-tree one &&
		cp noindex/.git/index index.before &&
		with_workers $w -C noindex checkout-index --all &&
		test_cmp_bin index.before noindex/.git/index &&
		with_workers $w -C noindex checkout-index -f -u --all &&
		! cmp index.before noindex/.git/index &&
		verify_worktree noindex || return 1
	done
'

test_expect_success POSIXPERM 'core.fileMode=false' '
	for w in 1 2
	do
		new_repo nomode &&
		git -C nomode config core.fileMode false &&
		with_workers $w -C nomode checkout -f one &&
		chmod +x nomode/d11/f10 nomode/d11/f12 &&
		chmod -x nomode/d11/f15 &&
		git -C nomode ls-files -z | (cd nomode && xargs -0 test-tool chmtime =-100) &&
		git -C nomode update-index --refresh &&
		with_workers $w -C nomode checkout two &&
		echo 0 >expect &&
		stat_of collided >actual &&
		test_cmp expect actual &&
		git -C nomode status --porcelain >actual &&
		test_must_be_empty actual &&
		git -C nomode show two:d11/f10 >expect &&
		test_cmp expect nomode/d11/f10 || return 1
	done
'

test_expect_success 'core.symlinks=false' '
	for w in 1 $SOME_WORKERS
	do
		new_repo nolinks &&
		(
			cd nolinks &&
			git config core.symlinks false &&
			git read-tree one &&
			oid=$(printf target | git hash-object -w --stdin) &&
			for i in $(test_seq 10 40)
			do
				printf "120000 $oid\td$i/link\n" || return 1
			done | git update-index --add --index-info &&
			with_workers $w checkout-index -u --all &&
			printf target >expect &&
			for i in $(test_seq 10 40)
			do
				! test -h d$i/link &&
				test_cmp expect d$i/link || return 1
			done &&
			git commit -q -m links &&

			# and these are replaced by files, and back
			with_workers $w checkout -q two &&
			test_path_is_missing d10/link &&
			oid=$(echo file | git hash-object -w --stdin) &&
			for i in $(test_seq 10 40)
			do
				printf "100644 $oid\td$i/link\n" || return 1
			done | git update-index --add --index-info &&
			git commit -q -m files &&
			git reset -q --hard &&
			with_workers $w checkout -q one &&
			test_cmp expect d10/link &&
			with_workers $w checkout -q two &&
			echo file >expect &&
			test_cmp expect d10/link &&
			git status --porcelain >../status &&
			echo "?? expect" >../status.expect &&
			test_cmp ../status.expect ../status
		) || return 1
	done
'

test_expect_success POSIXPERM 'umask' '
	for w in 1 $SOME_WORKERS
	do
		new_repo umask &&
		(
			umask 077 &&
			with_workers $w -C umask checkout -f one
		) &&
		verify_worktree umask &&
		find umask/d* umask/top -perm -0001 -o -perm -0010 \
			-o -perm -0004 -o -perm -0040 >actual &&
		test_must_be_empty actual &&
		find umask/d* -type f -perm -0100 >actual &&
		git -C umask ls-files -s | grep ^100755 >expect &&
		test_line_count = $(wc -l <expect) actual || return 1
	done
'

# An index of the second in which the file was written, as late in it as can
# be. Whatever is in that second is racily clean.
# usage: age_index_like <path>
age_index_like () {
	second=$(test-tool chmtime --get "$1") &&
	{
		touch -d "@$second.999999999" .git/index ||
		test-tool chmtime =$second .git/index
	}
}

# usage: is_modified <path>
is_modified () {
	echo " M $1" >"$TRASH/expect" &&
	git --no-optional-locks status --porcelain -uno >"$TRASH/actual" &&
	test_cmp "$TRASH/expect" "$TRASH/actual"
}

test_expect_success 'setup files that may be racily clean' '
	git init -q racy-source &&
	(
		cd racy-source &&
		printf "one\r\n" >crlf &&
		echo one >file &&
		git add . &&
		git commit -q -m one
	)
'

# racy_checkout <workers>: files and index of it are of the same second
racy_checkout () {
	rm -rf racy &&
	git clone -q --no-checkout racy-source racy &&
	with_workers $1 -C racy checkout -f HEAD
}

test_expect_success 'an edit in the second of a checkout is seen' '
	for w in 1 $SOME_WORKERS
	do
		racy_checkout $w &&
		(
			cd racy &&
			git config core.trustctime false &&
			second=$(test-tool chmtime --get file) &&
			echo two >file &&
			test-tool chmtime =$second file &&
			age_index_like file &&
			is_modified file
		) || return 1
	done
'

test_expect_success 'a file that would be converted otherwise is seen' '
	for w in 1 $SOME_WORKERS
	do
		racy_checkout $w &&
		(
			cd racy &&
			echo "crlf text" >.git/info/attributes &&
			age_index_like crlf &&
			is_modified crlf &&

			# and when the index has been written later
			git update-index --chmod=+x file &&
			git update-index --chmod=-x file &&
			test-tool chmtime =+100 .git/index &&
			is_modified crlf
		) || return 1
	done
'

# A filter of a file that is only looked at, and complaints about its attribute
# files, come when entry.c has found that its content counts.
test_expect_success 'attributes of a file that stays are not asked for' '
	for w in 1 $SOME_WORKERS
	do
		racy_checkout $w &&
		echo "* -bad!" >racy/.gitattributes &&
		second=$(test-tool chmtime --get racy/file) &&
		echo longer >racy/file &&
		test-tool chmtime =$second racy/file racy/.git/index &&
		test_must_fail git -c checkout.workers=$w \
			-c checkout.thresholdForParallelism=0 -C racy \
			checkout-index file 2>err &&
		echo "file already exists, no checkout" >expect &&
		test_cmp expect err || return 1
	done
'

test_expect_success 'SHA-256' '
	git init --object-format=sha256 sha256 &&
	git -C sha256 fast-import --quiet <stream &&
	for w in 1 $SOME_WORKERS
	do
		with_workers $w -C sha256 checkout -f one &&
		verify_worktree sha256 &&
		with_workers $w -C sha256 checkout -f two &&
		verify_worktree sha256 || return 1
	done
'

test_expect_success 'number of workers' '
	new_repo count &&
	git -C count read-tree one &&
	(
		cd count &&
		rm -f "$TRASH"/list &&
		git ls-files | grep -v big >../paths &&

		# workers threshold entries expected
		while read w t n expected
		do
			rm -rf d* top &&
			head -n $n ../paths >../some &&
			test_checkout_workers $expected git \
				-c checkout.workers=$w \
				-c checkout.thresholdForParallelism=$t \
				checkout-index --stdin <../some || return 1
		done <<-\EOF
		1 0 500 0
		2 0 0 0
		2 0 1 0
		2 0 2 2
		4 0 2 2
		4 0 3 3
		16 0 5 5
		16 0 15 15
		2 1 1 0
		2 100 99 0
		2 100 100 2
		2 -1 2 2
		4 100 99 0
		4 200 199 0
		4 200 200 4
		16 100 500 16
		16 501 500 0
		16 0 511 16
		16 0 513 16
		EOF
	)
'

# What comes before it is too little, and written by then.
test_expect_success 'number of workers, with a .gitattributes file among the first' '
	git init turn &&
	(
		cd turn &&
		for f in .a .b $(test_seq 100)
		do
			echo $f >$f || return 1
		done &&
		echo "* -text" >.gitattributes &&
		git add . &&
		git commit -q -m files &&
		rm -f .a .b .gitattributes * &&
		test_checkout_workers 4 git -c checkout.workers=4 \
			-c checkout.thresholdForParallelism=0 checkout -- . &&
		git diff --exit-code &&
		rm -f .a .b .gitattributes * &&
		test_checkout_workers 103 git -c checkout.workers=2147483647 \
			-c checkout.thresholdForParallelism=0 checkout -- . &&
		git diff --exit-code
	)
'

test_expect_success 'GIT_TEST_CHECKOUT_WORKERS' '
	new_repo count &&
	git -C count read-tree one &&
	(
		cd count &&
		test_checkout_workers 3 env GIT_TEST_CHECKOUT_WORKERS=3 \
			git -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=1000 \
			checkout-index d11/f10 d11/f11 d11/f12 d11/f13 &&
		test_checkout_workers 0 env GIT_TEST_CHECKOUT_WORKERS=1 \
			git -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			checkout-index d12/f10 d12/f11 d12/f12 d12/f13
	)
'

test_expect_success 'zero or less is the number of cores' '
	new_repo count &&
	cores=$(test-tool online-cpus) &&
	if test $cores -lt 2
	then
		cores=0
	fi &&
	for w in 0 -1
	do
		git -C count read-tree one &&
		rm -rf count/d* count/top &&
		test_checkout_workers $cores git -C count -c checkout.workers=$w \
			-c checkout.thresholdForParallelism=0 \
			checkout-index --all || return 1
	done
'

test_expect_success 'progress counts to the end' '
	for w in 1 $SOME_WORKERS
	do
		new_repo progress &&
		echo untracked >progress/top &&
		mkdir progress/d11 &&
		echo untracked >progress/d11/f10 &&
		test_env GIT_PROGRESS_DELAY=0 with_workers $w -C progress \
			checkout -f --progress one &&
		total=$(wc -l <one.tree | tr -d " ") &&
		tr "\r" "\n" <stderr >lines &&
		rate= &&
		if test $w -gt 1
		then
			rate=", .*/s"
		fi &&
		test_grep "Updating files: 100% ($total/$total)$rate, done" lines &&
		sed -n "s/^Updating files: *[0-9]*% (\([0-9]*\)\/.*/\1/p" lines >numbers &&
		sort -n numbers >sorted &&
		test_cmp sorted numbers || return 1
	done
'

# Put a git into the exec path that misbehaves when it is run as a worker:
# what it does instead is read from stdin. $REAL is the true git.
fake_worker () {
	REAL=$(command -v git) &&
	mkdir -p fake &&
	{
		echo "#!$SHELL_PATH" &&
		echo "REAL=\"$REAL\"" &&
		echo "TRASH=\"$TRASH\"" &&
		cat <<-\EOF &&
		for arg
		do
			test checkout--worker = "$arg" && worker=1
		done
		test -n "$worker" || exec "$REAL" "$@"
		EOF
		cat
	} >fake/git.new &&
	chmod +x fake/git.new &&
	mv fake/git.new fake/git
}

# check_warnings <n>: on stderr there is a warning that n workers were lost, and
# nothing else but that they were killed, and a hint if none has done anything.
check_warnings () {
	case $1 in
	0) ;;
	1) echo "warning: a checkout worker has ended early; its files are written again" ;;
	*) echo "warning: $1 checkout workers have ended early; their files are written again" ;;
	esac >expect.lost &&
	sed -n "/^warning: .* ended early/p" stderr >lost &&
	test_cmp expect.lost lost &&
	sed -e "/^warning: .* ended early/d" \
		-e "/^hint: no worker has done anything; is .git. in .* of this version/d" \
		-e "/^error: checkout--worker died of signal/d" stderr >others &&
	test_must_be_empty others
}

# faulty <workers> <number that are lost>
faulty () {
	new_repo faulty few &&
	with_workers $1 --exec-path="$TRASH/fake" -C faulty \
		checkout -f -q one &&
	verify_worktree faulty &&
	check_warnings $2 &&
	stat_of lost_workers >actual &&
	echo $2 >expect &&
	test_cmp expect actual &&

	# by which some files are replaced, and others made
	with_workers $1 --exec-path="$TRASH/fake" -C faulty \
		checkout -q two &&
	verify_worktree faulty &&
	# one that has nothing to do when it ends is not missed
	check_warnings $(stat_of lost_workers)
}

test_expect_success 'fake worker that works' '
	fake_worker <<-\EOF &&
	exec "$REAL" "$@"
	EOF
	faulty 2 0
'

test_expect_success 'workers that end at once' '
	fake_worker <<-\EOF &&
	exit 0
	EOF
	faulty 1 0 &&
	faulty 2 2 &&
	faulty 16 16 &&
	fake_worker <<-\EOF &&
	exit 1
	EOF
	faulty 2 2
'

test_expect_success 'workers that are killed at once' '
	fake_worker <<-\EOF &&
	kill -9 $$
	EOF
	faulty 2 2 &&
	faulty 4 4
'

# With dd(1), the true worker sees only a part of its input.
test_expect_success 'workers that are killed after some results' '
	fake_worker <<-\EOF &&
	dd bs=1 count=3000 2>/dev/null | "$REAL" "$@" 2>/dev/null
	kill -9 $$
	EOF
	faulty 2 2 &&
	faulty 4 4
'

# The true worker is killed when it has written the files of a batch, and we
# only get a part of its answer.
test_expect_success 'workers that are killed before all results are sent' '
	for answer in 0 7 200
	do
		fake_worker <<-EOF &&
		exec 3<&0 2>/dev/null
		"\$REAL" "\$@" <&3 >"\$TRASH/answer.\$\$" &
		until test -s "\$TRASH/answer.\$\$"
		do
			:
		done
		kill -9 \$!
		wait \$!
		dd bs=1 count=$answer <"\$TRASH/answer.\$\$"
		kill -9 \$\$
		EOF
		faulty 2 2 &&
		faulty 4 4 || return 1
	done
'

test_expect_success 'workers that are killed at any moment' '
	for delay in 0 0.01 0.02 0.03 0.05 0.1
	do
		fake_worker <<-EOF &&
		{ sleep $delay; kill -9 \$\$ 2>/dev/null; } >/dev/null 2>&1 &
		exec "\$REAL" "\$@"
		EOF
		new_repo faulty few &&
		with_workers 4 --exec-path="$TRASH/fake" -C faulty \
			checkout -f -q one &&
		verify_worktree faulty &&
		check_warnings $(stat_of lost_workers) &&
		with_workers 4 --exec-path="$TRASH/fake" -C faulty \
			checkout -q two &&
		verify_worktree faulty &&
		check_warnings $(stat_of lost_workers) || return 1
	done
'

test_expect_success 'one worker of two is lost' '
	for how in "exit 1" "kill -9 \$\$" \
		"dd bs=1 count=3000 2>/dev/null | \"\$REAL\" \"\$@\" 2>/dev/null; exit 1"
	do
		fake_worker <<-EOF &&
		if mkdir "\$TRASH/first" 2>/dev/null
		then
			$how
			exit
		fi
		exec "\$REAL" "\$@"
		EOF
		rm -rf first faulty &&
		new_repo faulty few &&
		with_workers 2 --exec-path="$TRASH/fake" -C faulty \
			checkout -f -q one &&
		verify_worktree faulty &&

		# one that ends late may find that there is nothing left to do
		case $how in
		dd*)
			check_warnings $(stat_of lost_workers)
			;;
		*)
			check_warnings 1
			;;
		esac || return 1
	done
'

test_expect_success 'workers that send garbage' '
	fake_worker <<-\EOF &&
	echo "this is not a frame of anything"
	cat >/dev/null
	EOF
	faulty 2 2 &&

	fake_worker <<-\EOF &&
	dd bs=1 count=3000 2>/dev/null | "$REAL" "$@" 2>/dev/null
	echo "garbage after some results"
	cat >/dev/null
	EOF
	faulty 2 2
'

test_expect_success 'workers that send a truncated frame' '
	fake_worker <<-\EOF &&
	printf "\0\0\0\100RESL"
	EOF
	faulty 2 2
'

test_expect_success 'workers that send an oversized frame' '
	fake_worker <<-\EOF &&
	printf "\177\377\377\377RESL"
	cat >/dev/null
	EOF
	faulty 2 2
'

test_expect_success 'workers that send back what they got' '
	fake_worker <<-\EOF &&
	cat
	EOF
	faulty 2 2
'

test_expect_success 'workers that answer for other entries' '
	test-tool checkout-wire answer 4294967280 written >"$TRASH/bad" &&
	fake_worker <<-\EOF &&
	cat "$TRASH/bad"
	cat >/dev/null
	EOF
	faulty 2 2 &&

	# the same twice, which is right the first time for one of the workers
	test-tool checkout-wire answer 0 declined 0 declined >"$TRASH/bad" &&
	faulty 2 2
'

test_expect_success 'workers that answer a batch only in part' '
	test-tool checkout-wire answer >"$TRASH/bad" &&
	fake_worker <<-\EOF &&
	cat "$TRASH/bad"
	cat >/dev/null
	EOF
	faulty 2 2
'

# Valgrind does not survive an execve() that fails late.
test -n "$GIT_VALGRIND" || test_set_prereq LATE_EXEC_ERROR

test_expect_success LATE_EXEC_ERROR 'workers that cannot be executed' '
	rm -rf fake &&
	mkdir fake &&
	echo "#!$TRASH/no/such/interpreter" >fake/git &&
	chmod +x fake/git &&
	for w in 2 4
	do
		new_repo faulty few &&
		with_workers $w --exec-path="$TRASH/fake" -C faulty \
			checkout -f -q one &&
		verify_worktree faulty &&
		grep ^warning: stderr >actual &&
		echo "warning: could start only 0 of $w checkout workers; this takes longer" >expect &&
		test_cmp expect actual || return 1
	done
'

# There seems to be room for 34 workers, of which half cannot be had.
test_expect_success ULIMIT_FILE_DESCRIPTORS,PERL_TEST_HELPERS 'descriptors run out while workers are started' '
	new_repo faulty few &&
	(
		ulimit -n 100 &&
		perl -e "\$^F = 100; open(\$fds[\$_], q(<), q(/dev/null)) for 1..60; exec @ARGV" \
			git -C faulty -c checkout.workers=34 \
			-c checkout.thresholdForParallelism=0 \
			checkout -f -q one 2>err
	) &&
	verify_worktree faulty &&
	test_grep "could start only 0 of 34 checkout workers" err
'

# A worker that has written some files and is killed before it says so.
test_expect_success 'setup worker that does not answer' '
	fake_worker <<-\EOF
	exec 3<&0 2>/dev/null
	"$REAL" "$@" <&3 >"$TRASH/answer.$$" &
	until test -s "$TRASH/answer.$$"
	do
		:
	done
	kill -9 $!
	wait $!
	exit 1
	EOF
'

test_expect_success 'no collisions are reported when a clone loses its workers' '
	rm -rf clone &&
	with_workers 2 --exec-path="$TRASH/fake" clone -q few clone &&
	verify_worktree clone &&
	check_warnings 2
'

# Without --force, what exists is left alone, but for what a lost worker left.
test_expect_success 'checkout-index without --force and lost workers' '
	new_repo faulty few &&
	git -C faulty read-tree one &&
	with_workers 2 --exec-path="$TRASH/fake" -C faulty \
		checkout-index -u --all &&
	verify_worktree faulty &&
	check_warnings 2 &&

	new_repo faulty few &&
	git -C faulty read-tree one &&
	git -C faulty ls-files >files &&
	first=$(head -n 1 files) &&
	last=$(tail -n 1 files) &&
	mkdir -p "faulty/$(dirname "$first")" &&
	echo mine >"faulty/$first" &&
	echo "$last" >>files &&
	test_expect_code 1 with_workers 2 --exec-path="$TRASH/fake" -C faulty \
		checkout-index --stdin <files &&
	echo mine >expect &&
	test_cmp expect "faulty/$first" &&
	grep -v -e ^warning: -e ^hint: stderr >actual &&
	cat >expect <<-EOF &&
	$first already exists, no checkout
	$last already exists, no checkout
	EOF
	test_cmp expect actual &&
	git -C faulty update-index -q --refresh &&
	git -C faulty diff-files --name-only >actual &&
	echo "$first" >expect &&
	test_cmp expect actual
'

test_expect_success 'commands from a subdirectory and with --work-tree' '
	new_repo elsewhere &&
	mkdir work &&
	with_workers 2 --git-dir=elsewhere/.git --work-tree=work checkout -f one &&
	test_path_is_file work/d69/f42 &&
	test_path_is_missing elsewhere/d69 &&
	git --git-dir=elsewhere/.git --work-tree=work diff-files >actual &&
	test_must_be_empty actual &&

	new_repo elsewhere &&
	git -C elsewhere checkout -q -f one &&
	rm -r elsewhere/d13/sub/dir elsewhere/d1[124] &&
	(
		cd elsewhere/d13/sub &&
		with_workers 2 checkout . &&
		with_workers 2 checkout ../../d14
	) &&
	test_path_is_file elsewhere/d13/sub/dir/f10 &&
	test_path_is_missing elsewhere/d11 &&
	with_workers 2 -C elsewhere/d20 reset --hard &&
	verify_worktree elsewhere
'

# usage: same_eol <setup> <git arguments>...
#
# Files of the repository "eol" have the same line ends, whoever writes them.
# <setup> is run in the directory of each run, where the result is "out".
same_eol () {
	local setup="$1" dir &&
	shift &&
	for n in 1 2
	do
		dir=$TRASH/eol.$n &&
		rm -rf "$dir" &&
		mkdir "$dir" &&
		(
			cd "$dir" &&
			eval "$setup" &&
			with_workers $n "$@" &&
			rm -rf out/.git
		) || return 1
	done &&
	diff -r eol.1/out eol.2/out
}

# Once as all others, and for the text to be converted.
test_expect_success 'setup: a configuration that workers do not see' '
	git init -q -b main eol &&
	echo "* text=auto" >eol/.gitattributes &&
	for i in $(test_seq 200)
	do
		echo $i >eol/f$i || return 1
	done &&
	git -C eol add . &&
	git -C eol commit -q -m files &&
	cat >crlf.config <<-\EOF
	[core]
		eol = crlf
	EOF
'

test_expect_success 'line ends of a configuration that is named by a relative path' '
	GIT_CONFIG_GLOBAL=./config &&
	export GIT_CONFIG_GLOBAL &&
	test_when_finished "sane_unset GIT_CONFIG_GLOBAL" &&
	same_eol "cp ../crlf.config config" clone -q ../eol out &&
	printf "1\r\n" >expect &&
	test_cmp expect eol.2/out/f1
'

# It is read when HEAD is at "topic", and detached when files are written.
test_expect_success 'line ends of a configuration for a branch that is left' '
	test_config_global includeIf.onbranch:topic.path "$TRASH/crlf.config" &&
	same_eol "git clone -q -n ../eol out && git -C out checkout -q -b topic &&
		git -C out commit -q --allow-empty -m empty &&
		git -C out rm -q -r . && git -C out commit -q -m removed &&
		git -C out revert --no-edit HEAD" \
		-C out rebase -q --no-ff --keep-empty HEAD~3
'

test_expect_success 'a blob that is replaced' '
	new=$(echo new | git -C eol hash-object -w --stdin) &&
	git -C eol replace $(git -C eol rev-parse main:f7) $new &&
	test_when_finished "git -C eol replace -d $(git -C eol rev-parse main:f7)" &&
	same_eol "git clone -q -n --shared ../eol out &&
		git -C out fetch -q origin refs/replace/*:refs/replace/*" \
		-C out checkout -q -f main &&
	echo new >expect &&
	test_cmp expect eol.2/out/f7
'

test_expect_success 'replacements that go round, of files that are up to date' '
	git init -q round &&
	test_commit -C round one &&
	test_commit -C round two &&
	test-tool chmtime =-60 round/one.t round/two.t &&
	git -C round update-index --refresh &&
	one=$(git -C round rev-parse HEAD:one.t) &&
	two=$(git -C round rev-parse HEAD:two.t) &&
	git -C round replace $one $two &&
	git -C round replace $two $one &&
	for mtime in -30 -120
	do
		# one that is up to date, and one that is racily clean
		test-tool chmtime =$mtime round/.git/index &&
		for n in 1 2
		do
			with_workers $n -C round checkout-index -a -f ||
			return 1
		done || return 1
	done
'

# It is no attribute file then, and until it is found out, there is the old one.
test_expect_success EXPENSIVE 'an attribute file that is too large' '
	git init -q odd &&
	mkdir odd/d &&
	echo "*.txt eol=crlf" >odd/d/.gitattributes &&
	echo old >odd/d/file.txt &&
	git -C odd add . &&
	git -C odd commit -q -m old &&
	git -C odd branch old &&
	test-tool genzeros 104857600 >odd/d/.gitattributes &&
	echo new >odd/d/file.txt &&
	git -C odd add . &&
	git -C odd commit -q -m new &&
	git -C odd branch new &&
	for n in 1 2
	do
		git -C odd reset -q --hard old &&
		with_workers $n -C odd reset -q --hard new &&
		git -C odd hash-object --no-filters d/file.txt >eol.$n.oid || return 1
	done &&
	test_cmp eol.1.oid eol.2.oid
'

test_expect_success 'checkout-index writes attribute files of others' '
	git init -q dotted &&
	(
		cd dotted &&
		mkdir sub &&
		echo "* eol=crlf" >gitattributes &&
		for i in $(test_seq 40)
		do
			echo $i >sub/x$i || return 1
		done &&
		git add . &&
		git commit -q -m files
	) &&
	for removed in nothing sub
	do
		for n in 1 2
		do
			rm -rf eol.$n &&
			git clone -q dotted eol.$n &&
			rm -rf eol.$n/$removed &&
			with_workers $n -C eol.$n \
				checkout-index -a -f --prefix=sub/. &&
			rm -rf eol.$n/.git || return 1
		done &&
		diff -r eol.1 eol.2 || return 1
	done &&
	with_workers 2 -C dotted checkout-index -a -f --prefix=out/ &&
	test "$(stat_of workers)" = 2
'

# usage: refuses <expected message> <argument of git clone>...
#
# It does, before it asks the other side for anything.
refuses () {
	local message="$1" &&
	shift &&
	rm -f trace &&
	test_expect_code 128 env GIT_TRACE="$TRASH/trace" git clone "$@" mistyped mistyped-clone 2>err &&
	test_grep "$message" err &&
	test_grep ! upload-pack trace &&
	test_path_is_missing mistyped-clone
}

test_expect_success 'a bad number of workers is found before a clone begins' '
	git init -q mistyped &&
	test_commit -C mistyped file &&
	refuses "bad value .few. for .checkout.workers." \
		--no-local -c checkout.workers=few &&
	refuses "bad numeric config value .2x. for .checkout.thresholdForParallelism." \
		--no-local -c checkout.workers=2 -c checkout.thresholdForParallelism=2x &&
	test_config_global checkout.workers few &&
	refuses "bad value .few. for .checkout.workers." --no-local &&
	git clone -q --no-local --no-checkout mistyped mistyped-clone &&
	git clone -q --no-local --bare mistyped mistyped.git
'

test_done
