#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# How many records the reftable backend reads for an operation, and that it
# finds the same conflicts as the files backend, when many refs are created
# where many have been deleted.

test_description='reftable: many refs, created where many were deleted

Deleted refs stay in the tables as tombstones until these are compacted. The
tests here count records by means of a trace2 counter, so they do not depend on
the speed of the machine.'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

# Usage: new_repo <dir> [<format>]
#
# Create a bare repository, with a commit whose ID is put into $OID.
new_repo () {
	git init --quiet --bare --ref-format="${2:-reftable}" "$1" &&
	OID=$(git -C "$1" commit-tree -m msg $(git -C "$1" mktree </dev/null))
}

# Usage: names <count>
#
# Print names that are spread over four namespaces, but sorted in none.
names () {
	awk -v n="$1" 'BEGIN {
		split("heads remotes/one remotes/two tags", dir, " ")
		for (i = 0; i < n; i++)
			printf "refs/%s/topic-%06d\n", dir[i % 4 + 1], i
	}'
}

# Usage: records <command>...
#
# Print the number of records that the command reads from reftables. What it
# prints itself is left in "out".
records () {
	rm -f trace.event &&
	GIT_TRACE2_EVENT="$(pwd)/trace.event" "$@" >out &&
	sed -n "s/.*\"name\":\"records_read\",\"count\":\([0-9]*\).*/\1/p" \
		trace.event >count &&
	test_line_count = 1 count &&
	cat count
}

# Usage: prepare <dir> <count>
#
# Create <count> refs and delete them again.
prepare () {
	new_repo "$1" &&
	names $2 >names &&
	sed "s/.*/create & $OID/" <names >create &&
	sed "s/.*/delete &/" <names >delete &&
	git -C "$1" update-ref --stdin <create &&
	git -C "$1" update-ref --stdin <delete
}

test_expect_success 'creating refs does not walk over deleted refs' '
	test_when_finished "rm -rf repo" &&
	prepare repo 800 &&
	records git -C repo update-ref --stdin <create >actual &&
	test "$(cat actual)" -lt 8000 &&
	git -C repo for-each-ref --format="%(refname)" >actual &&
	sort names >expect &&
	test_cmp expect actual
'

test_expect_success 'the number of records grows with the number of refs' '
	test_when_finished "rm -rf small large" &&
	prepare small 200 &&
	records git -C small update-ref --stdin <create >nr.small &&
	prepare large 800 &&
	records git -C large update-ref --stdin <create >nr.large &&
	test "$(cat nr.large)" -le $((5 * $(cat nr.small)))
'

test_expect_success 'verifying and deleting do not walk over deleted refs' '
	test_when_finished "rm -rf repo" &&
	prepare repo 800 &&
	awk "NR % 2" create >half &&
	git -C repo update-ref --stdin <half &&
	sed "s/create \(.*\) .*/verify \1 $OID/" <half >verify &&
	records git -C repo update-ref --stdin <verify >actual &&
	test "$(cat actual)" -lt 2000 &&
	sed "s/create \(.*\) .*/delete \1/" <half >delete &&
	records git -C repo update-ref --stdin <delete >actual &&
	test "$(cat actual)" -lt 2000 &&
	git -C repo for-each-ref >actual &&
	test_must_be_empty actual &&
	sed "s/create \(.*\) .*/verify \1 $ZERO_OID/" <create >verify &&
	records git -C repo update-ref --stdin <verify >actual &&
	test "$(cat actual)" -lt 8000
'

test_expect_success 'one ref among many deleted refs' '
	test_when_finished "rm -rf repo" &&
	prepare repo 800 &&
	records git -C repo update-ref refs/heads/topic-000002-new $OID >actual &&
	test "$(cat actual)" -lt 100 &&
	records git -C repo rev-parse --verify refs/heads/topic-000002-new >actual &&
	test "$(cat actual)" -lt 100 &&
	records test_must_fail git -C repo show-ref --exists refs/heads/a >actual &&
	test "$(cat actual)" -lt 100 &&
	records git -C repo for-each-ref refs/heads/topic-000004/ >actual &&
	test "$(cat actual)" -lt 100 &&
	records git -C repo update-ref -d refs/heads/topic-000002-new >actual &&
	test "$(cat actual)" -lt 50
'

test_expect_success 'renaming refs does not walk over deleted refs' '
	test_when_finished "rm -rf repo" &&
	prepare repo 800 &&
	git -C repo update-ref refs/heads/aaa $OID &&
	git -C repo symbolic-ref HEAD refs/heads/main &&
	records git -C repo branch -m aaa aab >actual &&
	test "$(cat actual)" -lt 200 &&
	records git -C repo branch -c aab aac >actual &&
	test "$(cat actual)" -lt 200
'

test_expect_success 'deleted reflogs are not walked over' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo config core.logAllRefUpdates always &&
	names 800 >names &&
	sed "s/.*/create & $OID/" <names >create &&
	sed "s/.*/delete &/" <names >delete &&
	git -C repo update-ref --stdin <create &&
	git -C repo update-ref --stdin <delete &&

	# The first ref is followed by nothing but deleted log records.
	git -C repo update-ref refs/a/first $OID &&
	records git -C repo reflog exists refs/a/first >actual &&
	test "$(cat actual)" -lt 20 &&
	records test_must_fail git -C repo reflog exists refs/a/none >actual &&
	test "$(cat actual)" -lt 20 &&
	records git -C repo reflog show refs/a/first >actual &&
	test "$(cat actual)" -lt 100 &&
	test_line_count = 1 out &&
	records git -C repo reflog expire --expire=now refs/a/first >actual &&
	test "$(cat actual)" -lt 100 &&
	records git -C repo update-ref --stdin <create >actual &&
	test "$(cat actual)" -lt 16000 &&
	records git -C repo update-ref --stdin <delete >actual &&
	test "$(cat actual)" -lt 16000 &&
	git -C repo config core.logAllRefUpdates false &&
	records git -C repo update-ref --stdin <create >actual &&
	test "$(cat actual)" -lt 16000
'

test_expect_success 'many tables do not change what is found' '
	test_when_finished "rm -rf repo" &&
	(
		GIT_TEST_REFTABLE_AUTOCOMPACTION=false &&
		export GIT_TEST_REFTABLE_AUTOCOMPACTION &&
		new_repo repo &&
		names 400 >names &&
		sed "s/.*/create & $OID/" <names >create &&
		sed "s/.*/delete &/" <names >delete &&
		for round in 1 2 3 4
		do
			awk "NR % 4 == $round % 4" create >part &&
			git -C repo update-ref --stdin <part &&
			awk "NR % 8 == $round % 4" delete >part &&
			git -C repo update-ref --stdin <part || return 1
		done &&
		test_line_count = 9 repo/reftable/tables.list &&
		git -C repo for-each-ref --format="delete %(refname)" >part &&
		records git -C repo update-ref --stdin <part >actual &&
		test "$(cat actual)" -lt 16000 &&
		records git -C repo update-ref --stdin <create >actual &&
		test "$(cat actual)" -lt 16000 &&
		git -C repo for-each-ref --format="%(refname)" >actual &&
		sort names >expect &&
		test_cmp expect actual
	)
'

# Usage: same_outcome <<input
#
# Run the same transaction in a reftable repository and in one that uses the
# files backend. Both have seen the same deletions. The outcome must be the
# same, and so must be the reason that is given for a conflict: the files
# backend merely puts "cannot lock ref" before it, and of two refs that are in
# conflict with each other, either may come first. It is left in "err".
same_outcome () {
	cat >input &&
	for format in files reftable
	do
		if git -C $format update-ref --stdin <input >out 2>err
		then
			echo ok >result.$format
		else
			sed -e "s/^fatal: //" -e "s/^cannot lock ref .[^:]*: //" \
				<err |
			awk "/^cannot process/ && \$3 > \$5 {
				first = \$5; \$5 = \$3; \$3 = first
			} { print }" >result.$format
		fi &&
		git -C $format for-each-ref --format="%(refname)" \
			>refs.$format || return 1
	done &&
	test_cmp result.files result.reftable &&
	test_cmp refs.files refs.reftable
}

test_expect_success 'set up the same history for both backends' '
	for format in files reftable
	do
		new_repo $format $format &&
		names 80 | sed "s/.*/create & $OID/" >create &&
		names 80 | sed "s/.*/delete &/" >delete &&
		{
			echo create refs/heads/dir/a $OID &&
			echo create refs/heads/dir/b $OID &&
			echo create refs/heads/dir-c $OID &&
			echo create refs/heads/live/a $OID &&
			echo create refs/heads/live-b $OID &&
			echo create refs/heads/live.c $OID
		} >more &&
		git -C $format update-ref --stdin <create &&
		git -C $format update-ref --stdin <more &&
		grep -v live more | sed "s/create \(.*\) .*/delete \1/" >>delete &&
		git -C $format update-ref --stdin <delete || return 1
	done
'

test_expect_success 'a deleted ref is no conflict' '
	same_outcome <<-EOF &&
	create refs/heads/dir $OID
	create refs/heads/topic-000000/below $OID
	create refs/heads/topic-000004 $OID
	EOF
	test "$(cat result.reftable)" = ok
'

test_expect_success 'an existing ref is a conflict, above and below' '
	same_outcome <<-EOF &&
	create refs/heads/new $OID
	create refs/heads/live-b/below $OID
	EOF
	test "$(cat result.reftable)" = "${SQ}refs/heads/live-b${SQ} exists; cannot create ${SQ}refs/heads/live-b/below${SQ}" &&
	same_outcome <<-EOF &&
	create refs/heads/new $OID
	create refs/heads/live $OID
	EOF
	test "$(cat result.reftable)" = "${SQ}refs/heads/live/a${SQ} exists; cannot create ${SQ}refs/heads/live${SQ}"
'

test_expect_success 'two refs of a transaction are a conflict' '
	same_outcome <<-EOF &&
	create refs/heads/x-y $OID
	create refs/heads/x/z $OID
	create refs/heads/x $OID
	EOF
	both="cannot process ${SQ}refs/heads/x${SQ} and ${SQ}refs/heads/x/z${SQ}" &&
	grep "$both at the same time" result.reftable &&
	same_outcome <<-EOF &&
	create refs/heads/x $OID
	create refs/heads/x-y $OID
	create refs/heads/x/z $OID
	EOF
	grep "$both at the same time" result.reftable
'

test_expect_success 'deleting a ref does not make room in the same transaction' '
	same_outcome <<-EOF &&
	delete refs/heads/live/a $OID
	create refs/heads/live $OID
	EOF
	grep "exists; cannot create ${SQ}refs/heads/live${SQ}" result.reftable &&
	same_outcome <<-EOF &&
	delete refs/heads/live-b $OID
	create refs/heads/live-b/c $OID
	EOF
	grep "exists; cannot create ${SQ}refs/heads/live-b/c${SQ}" result.reftable
'

test_expect_success 'deleted refs are nothing for fsck' '
	git init --ref-format=reftable deleted &&
	test_commit -C deleted one &&
	git -C deleted branch gone &&
	GIT_TEST_REFTABLE_AUTOCOMPACTION=false git -C deleted branch -d gone &&
	git -C deleted refs verify 2>err &&
	test_must_be_empty err &&
	git -C deleted fsck
'

test_expect_success 'the first problem of a transaction is the one reported' '
	same_outcome <<-EOF &&
	create refs/heads/zzz/below $OID
	create refs/heads/live-b/below $OID
	create refs/heads/dir/below $OID
	create refs/heads/live $OID
	EOF
	grep "cannot create ${SQ}refs/heads/live-b/below${SQ}" result.reftable &&
	same_outcome <<-EOF &&
	create refs/heads/live.c/below $OID
	create refs/heads/live-b/below $OID
	EOF
	grep "cannot create ${SQ}refs/heads/live.c/below${SQ}" result.reftable &&
	same_outcome <<-EOF &&
	create refs/heads/live-b $OID
	create refs/heads/dir/below $OID
	EOF
	grep "reference already exists" result.reftable
'

test_expect_success 'a symref brings its target into the transaction' '
	git -C files symbolic-ref refs/heads/sym refs/heads/target &&
	git -C reftable symbolic-ref refs/heads/sym refs/heads/target &&
	same_outcome <<-EOF &&
	update refs/heads/sym $OID
	create refs/heads/target/below $OID
	EOF
	grep "cannot process" result.reftable &&
	same_outcome <<-EOF &&
	create refs/heads/target/below $OID
	update refs/heads/sym $OID
	EOF
	grep "cannot process" result.reftable &&
	same_outcome <<-EOF &&
	update refs/heads/sym $OID
	create refs/heads/other $OID
	EOF
	git -C reftable rev-parse --verify refs/heads/target
'

test_expect_success 'worktrees: names that are local to one of them' '
	test_when_finished "rm -rf main linked" &&
	git init --ref-format=reftable main &&
	test_commit -C main one &&
	git -C main worktree add ../linked &&
	oid=$(git -C main rev-parse HEAD) &&
	git -C linked update-ref refs/bisect/bad $oid &&
	cat >input <<-EOF &&
	create refs/heads/new $oid
	create refs/bisect $oid
	EOF
	test_must_fail git -C linked update-ref --stdin <input 2>err &&
	test_grep "${SQ}refs/bisect/bad${SQ} exists; cannot create ${SQ}refs/bisect${SQ}" err &&
	cat >input <<-EOF &&
	create refs/heads/new $oid
	create refs/bisect/bad/below $oid
	EOF
	test_must_fail git -C linked update-ref --stdin <input 2>err &&
	test_grep "${SQ}refs/bisect/bad${SQ} exists; cannot create" err &&
	git -C main update-ref --stdin <<-EOF &&
	create refs/heads/new $oid
	create refs/bisect/bad/below $oid
	EOF
	git -C linked update-ref --stdin <<-EOF &&
	create refs/heads/new2 $oid
	create refs/bisect/good $oid
	EOF
	git -C linked for-each-ref --format="%(refname)" refs/bisect/ refs/heads/new2 >actual &&
	cat >expect <<-\EOF &&
	refs/bisect/bad
	refs/bisect/good
	refs/heads/new2
	EOF
	test_cmp expect actual
'

test_expect_success 'reflog of a worktree whose refs cannot be read' '
	test_when_finished "rm -rf broken linked" &&
	git init --ref-format=reftable broken &&
	test_commit -C broken one &&
	git -C broken worktree add ../linked &&
	git -C broken reflog exists worktrees/linked/HEAD &&
	echo bogus.ref >broken/.git/worktrees/linked/reftable/tables.list &&
	test_must_fail git -C broken reflog exists worktrees/linked/HEAD
'

test_done
