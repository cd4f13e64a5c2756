#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Renaming many refs one after the other, as `git remote rename` does, and how
# often the files backend writes the packed-refs file for it.

test_description='files backend: renaming many refs'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

# Usage: new_repo <dir>
#
# Create a repository with a remote "one" that has packed refs, loose refs, refs
# that are both, and some with a reflog.
new_repo () {
	git init --quiet --ref-format=files "$1" &&
	(
		cd "$1" &&
		test_commit --no-tag first &&
		test_commit --no-tag second &&
		git config remote.one.url nowhere &&
		git config remote.one.fetch "+refs/heads/*:refs/remotes/one/*" &&
		for i in 1 2 3 4 5 6 7 8
		do
			echo "create refs/remotes/one/dir/b$i HEAD~1" || return 1
		done >in &&
		echo "create refs/remotes/other/b HEAD" >>in &&
		git update-ref --stdin <in &&
		git reflog delete refs/remotes/one/dir/b1@{0} &&
		git pack-refs --all &&
		git update-ref refs/remotes/one/dir/b2 HEAD &&
		git update-ref refs/remotes/one/loose HEAD &&
		git symbolic-ref refs/remotes/one/HEAD refs/remotes/one/dir/b1 &&
		rm in
	)
}

test_expect_success 'all refs are renamed with their values and reflogs' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo for-each-ref \
		--format="%(refname) %(objectname) %(symref)" >before &&
	git -C repo reflog show --format="%H %gs" refs/remotes/one/dir/b2 >log &&
	git -C repo remote rename one two &&
	sed "s,/one/,/two/,g" before | sort >expect &&
	git -C repo for-each-ref \
		--format="%(refname) %(objectname) %(symref)" >actual &&
	test_cmp expect actual &&
	git -C repo reflog show --format="%H %gs" refs/remotes/two/dir/b2 >actual &&
	sed 1d actual >actual.old &&
	test_cmp log actual.old &&
	test_path_is_missing repo/.git/refs/remotes/one &&
	test_path_is_missing repo/.git/logs/refs/remotes/one &&
	test_path_is_missing repo/.git/packed-refs.lock &&
	git -C repo fsck
'

test_expect_success 'packed-refs is not written for every ref' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	test_hook -C repo reference-transaction <<-\EOF &&
	grep -c refs/remotes/one/ "$(git rev-parse --git-dir)"/packed-refs >>sizes ||
	:
	EOF
	git -C repo remote rename one two &&
	sort -u repo/sizes >actual &&
	# all of them, then b2, which is loose, too, then none
	printf "%s\n" 0 1 8 >expect &&
	test_cmp expect actual
'

test_expect_success 'a loose ref with a newer value is not overwritten' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo rev-parse HEAD >expect &&
	git -C repo remote rename one two &&
	git -C repo rev-parse refs/remotes/two/dir/b2 >actual &&
	test_cmp expect actual
'

# That is what "git pack-refs" does after it has unlocked packed-refs.
test_expect_success 'a packed ref whose loose ref is pruned is not lost' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		refs/remotes/one/dir/ | sed "s,/one/,/two/," >expect &&
	mkdir -p repo/.git/refs/remotes/one/dir &&
	git -C repo rev-parse refs/remotes/one/dir/b3 >loose &&
	mv loose repo/.git/refs/remotes/one/dir/b3 &&
	test_hook -C repo reference-transaction <<-\EOF &&
	if test "$1" = committed && mkdir "$GIT_DIR/pruned" 2>/dev/null
	then
		rm "$GIT_DIR/refs/remotes/one/dir/b3"
	fi
	EOF
	git -C repo remote rename one two &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		refs/remotes/two/dir/ >actual &&
	test_cmp expect actual
'

test_expect_success 'nothing is lost when packed-refs is locked' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		"refs/remotes/one/dir/" >expect &&
	>repo/.git/packed-refs.lock &&
	test_must_fail git -C repo -c core.packedRefsTimeout=0 \
		remote rename one two 2>err &&
	test_grep "packed-refs.lock" err &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		"refs/remotes/one/dir/" >actual &&
	test_cmp expect actual
'

test_expect_success 'a hook that forbids the removal does not lose a ref' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		"refs/remotes/one/dir/" >expect &&
	test_hook -C repo reference-transaction <<-\EOF &&
	! grep refs/remotes/one/dir/b3
	EOF
	test_must_fail git -C repo remote rename one two &&
	git -C repo for-each-ref --format="%(objectname) %(refname)" \
		"refs/remotes/one/dir/" >actual &&
	test_cmp expect actual &&
	test_path_is_missing repo/.git/packed-refs.lock
'

test_expect_success 'conflicts with other refs are reported as before' '
	test_when_finished "rm -rf repo" &&
	new_repo repo &&
	git -C repo branch dir/a HEAD &&
	git -C repo branch plain HEAD &&
	for packed in "" all
	do
		if test -n "$packed"
		then
			git -C repo pack-refs --all
		fi &&
		test_must_fail git -C repo branch -m plain dir 2>err &&
		test_grep "${SQ}refs/heads/dir/a${SQ} exists; cannot create ${SQ}refs/heads/dir${SQ}" err &&
		test_must_fail git -C repo branch -m dir/a plain/b 2>err &&
		test_grep "${SQ}refs/heads/plain${SQ} exists; cannot create ${SQ}refs/heads/plain/b${SQ}" err &&
		git -C repo branch -m plain plain/b &&
		git -C repo branch -m plain/b plain || return 1
	done &&
	# An empty directory that has been left behind is no conflict.
	mkdir -p repo/.git/refs/heads/empty/dir &&
	git -C repo branch -m plain empty &&
	git -C repo rev-parse --verify refs/heads/empty
'

test_done
