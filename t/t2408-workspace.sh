#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='git workspace: worktrees that are overlays of a shared base

The hook that tells Git what an overlay has changed is tested by t2409. With
GIT_TEST_LONG, as root, all of this runs three times: with the overlay of the
kernel, as an ordinary user with fuse-overlayfs, and as root of a user namespace.
'

# Mounts that are made here, and a /dev/fuse that everybody may open, shall be
# seen by nobody else, and go with us.
if test -z "$WORKSPACE_TEST" && test "$(id -u)" = 0 &&
   unshare -m true 2>/dev/null
then
	WORKSPACE_TEST=root
	export WORKSPACE_TEST
	exec unshare -m "${TEST_SHELL_PATH:-/bin/sh}" "$0" "$@"
fi

. ./test-lib.sh

SOURCE="$GIT_BUILD_DIR/contrib/workspace"
PATH="$SOURCE:$PATH"

if test "$(uname -s)" != Linux
then
	skip_all='git workspace is for Linux'
	test_done
fi
if ! "${MAKE:-make}" -C "$SOURCE" all >make.out 2>&1
then
	cat make.out
	error "contrib/workspace does not compile"
fi

# usage: unmount <path>: as it is after a reboot
unmount () {
	case "$(stat -f -c %T "$1")" in
	fuse*) fusermount3 -u "$1" ;;
	*) umount "$1" ;;
	esac
}

unmount_all () {
	local path &&
	sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - \(overlay\|fuse.fuse-overlayfs\) .*/\1/p' \
		/proc/self/mountinfo | grep -F "$(printf %s "$TRASH_DIRECTORY" | sed 's/ /\\040/g')/" >mounts
	while read -r path
	do
		unmount "$(printf '%b' "$path")" ||
		umount -l "$(printf '%b' "$path")" ||
		fusermount3 -u -z "$(printf '%b' "$path")" || return 1
	done <mounts
}
test_atexit 'unmount_all >/dev/null 2>&1 || :'

# usage: test_fails <code> <text of the message> <command>...
test_fails () {
	local code="$1" text="$2" &&
	shift 2 &&
	test_expect_code "$code" "$@" 2>"$TRASH_DIRECTORY/err" &&
	test_grep "$text" "$TRASH_DIRECTORY/err"
}

# usage: test_clean <workspace> [<commit>]: it is what a worktree would be
test_clean () {
	git -C "$1" status --porcelain >actual.status &&
	test_must_be_empty actual.status &&
	git -C "$1" -c core.fsmonitor=false -c core.untrackedCache=false \
		status --porcelain >actual.status &&
	test_must_be_empty actual.status &&
	if test -n "$2"
	then
		git rev-parse "$2" >expect.head &&
		git -C "$1" rev-parse HEAD >actual.head &&
		test_cmp expect.head actual.head &&
		rm -rf expect.tree &&
		mkdir expect.tree &&
		git archive "$2" | tar -C expect.tree -xf - &&
		diff -r --no-dereference -x .git expect.tree "$1"
	fi
}

# usage: test_gone <path> <id>: nothing is left
test_gone () {
	test_path_is_missing "$1" &&
	test_path_is_missing ".git/worktrees/$2" &&
	test_path_is_missing ".git/workspace/trees/$2" &&
	ls -A .git/workspace/trash >trash &&
	test_must_be_empty trash &&
	find .git/workspace/bases -path "*/users/*:$2.*" >users &&
	test_must_be_empty users
}

test_expect_success 'setup' '
	git config --global maintenance.auto false &&
	mkdir -p sub/deep other &&
	for i in 1 2 3 4 5 6 7 8 9
	do
		echo $i >file$i &&
		echo $i >sub/file$i &&
		echo $i >sub/deep/file$i &&
		echo $i >other/file$i || return 1
	done &&
	chmod +x file1 &&
	ln -s file1 link &&
	echo ignored >.gitignore &&
	git add . &&
	test_tick &&
	git commit -m one &&
	git branch one &&
	echo changed >sub/file1 &&
	git rm -q other/file2 &&
	echo added >added &&
	git add . &&
	test_tick &&
	git commit -m two
'

# Can it be done here at all?
if ! git workspace add -q probe one >probe.out 2>&1 &&
   grep -q "cannot mount an overlay" probe.out
then
	sed "s/^/# /" probe.out
	skip_all="git workspace: no overlay can be mounted here"
	test_done
fi
KIND=$(cat .git/workspace/trees/probe/kind 2>/dev/null)
say "# kind: $KIND"
test_set_prereq "KIND_$(echo $KIND | tr a-z A-Z)"
test_lazy_prereq ROOT_OWNS 'test "$WORKSPACE_TEST" = root && chown 1234 .'
test_lazy_prereq FUSER 'command -v fuser'
test_lazy_prereq TMPFS '
	mkdir tmpfs &&
	mount -t tmpfs tmpfs tmpfs &&
	umount tmpfs
'

test_expect_success 'what was made in silence is right' '
	test_must_be_empty probe.out &&
	test_clean probe one &&
	git workspace remove probe &&
	test_gone probe probe &&
	git workspace base remove one &&
	ls .git/workspace/bases >bases &&
	test_write_lines lock >expect &&
	test_cmp expect bases
'

test_expect_success 'add makes a base, and says so' '
	git workspace add ws >out 2>err &&
	test_grep "Making a base of $(git rev-parse HEAD)" err &&
	test_grep "HEAD is now at $(git rev-parse --short HEAD) two" out &&
	test_clean ws HEAD &&
	echo refs/heads/ws >expect &&
	git -C ws symbolic-ref HEAD >actual &&
	test_cmp expect actual
'

test_expect_success 'the next one uses it' '
	git workspace add ws2 2>err &&
	test_grep ! "base" err &&
	test_clean ws2 HEAD &&
	# all entries are in the shared half of its index
	test-tool dump-split-index .git/workspace/bases/*/index >out &&
	test_grep "^replacements:\$" out &&
	du -sk .git/worktrees/ws2 .git/workspace/trees/ws2 >out &&
	awk "{ sum += \$1 } END { exit sum > 200 }" out
'

# usage: looked_at <what>: as the trace of git status has it
looked_at () {
	sed -n "s/.*\"key\":\"$1\",\"value\":\"\([0-9]*\)\".*/\1/p" trace |
	awk '{ sum += $1 } END { print sum + 0 }'
}

test_expect_success 'the first status looks at no file and no folder' '
	git workspace add --detach fresh &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C fresh status &&
	echo 0 >expect &&
	looked_at "[a-z]*/sum_lstat" >actual &&
	test_cmp expect actual &&
	looked_at opendir >actual &&
	echo 1 >expect &&
	test_cmp expect actual &&
	looked_at sum_scan >actual &&
	echo 0 >expect &&
	test_cmp expect actual
'

test_expect_success 'status after edits is that of a worktree' '
	git worktree add --detach plain &&
	for dir in plain fresh
	do
		(
			cd $dir &&
			echo new >new &&
			mkdir -p sub/more/and &&
			echo new >sub/more/and/new &&
			echo edit >>file2 &&
			chmod -x file1 &&
			rm sub/file2 link &&
			mv other sub/moved &&
			if ! test_have_prereq KIND_FUSE
			then
				# where fuse-overlayfs 1.10 gets lost
				rm -r sub/deep &&
				mkdir sub/deep &&
				echo again >sub/deep/file1
			fi &&
			mv file3 file4 &&
			echo ignored >ignored
		) || return 1
	done &&
	git -C plain status --porcelain --ignored >expect &&
	test_line_count -gt 10 expect &&
	git -C fresh status --porcelain --ignored >actual &&
	test_cmp expect actual &&
	git -C plain add -A &&
	git -C fresh add -A &&
	git -C plain write-tree >expect &&
	git -C fresh write-tree >actual &&
	test_cmp expect actual &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C fresh status &&
	test "$(looked_at "[a-z]*/sum_lstat")" -lt 30
'

test_expect_success 'the base has not changed' '
	rm -rf expect.tree &&
	mkdir expect.tree &&
	git archive HEAD | tar -C expect.tree -xf - &&
	diff -r --no-dereference expect.tree \
		.git/workspace/bases/$(git rev-parse HEAD)/tree
'

test_expect_success 'another commit is reached as usual' '
	git -C fresh reset --hard one &&
	git -C fresh clean -fdx &&
	test_clean fresh one &&
	git -C fresh switch --detach master &&
	test_clean fresh master &&
	git workspace remove fresh &&
	test_gone fresh fresh
'

test_expect_success 'add knows the options of git worktree add' '
	git workspace add -b topic a one &&
	test_clean a one &&
	git rev-parse one >expect &&
	git rev-parse topic >actual &&
	test_cmp expect actual &&
	git workspace remove a &&
	git workspace add -B topic a HEAD &&
	test_clean a HEAD &&
	git workspace remove a &&
	git workspace add a topic &&
	echo refs/heads/topic >expect &&
	git -C a symbolic-ref HEAD >actual &&
	test_cmp expect actual &&
	git workspace remove a &&
	git workspace add -d a &&
	test_must_fail git -C a symbolic-ref HEAD &&
	git workspace remove a &&
	git workspace add -q -f a master >out 2>&1 &&
	test_must_be_empty out &&
	git workspace remove a &&
	git update-ref refs/remotes/origin/theirs one &&
	git config remote.origin.url . &&
	git config remote.origin.fetch "+refs/heads/*:refs/remotes/origin/*" &&
	test_when_finished "git config --remove-section remote.origin" &&
	git workspace add a theirs &&
	test_clean a one &&
	echo refs/heads/theirs >expect &&
	git -C a symbolic-ref HEAD >actual &&
	test_cmp expect actual &&
	git workspace remove a &&
	test_gone a a
'

test_expect_success 'add fails as git worktree add does, and leaves nothing' '
	mkdir full empty &&
	echo 1 >full/file &&
	for args in "-b topic b" "b no-such-commit" "full" "b master" \
		"-b topic2 b no-such" "-b b..b b"
	do
		code=0 &&
		{ git worktree add $args 2>expect || code=$?; } &&
		test $code != 0 &&
		test_expect_code $code git workspace add $args 2>actual &&
		tail -n 1 expect >expect.last &&
		tail -n 1 actual >actual.last &&
		test_cmp expect.last actual.last &&
		test_path_is_missing b &&
		test_path_is_missing .git/worktrees/b || return 1
	done &&
	test_must_fail git workspace add -b new b one --base=nope &&
	test_must_fail git rev-parse --verify new &&
	test_expect_code 129 git workspace add &&
	test_expect_code 129 git workspace add --frobnicate b &&
	test_expect_code 129 git workspace add a b c &&
	test_expect_code 129 git workspace add b -b &&
	test_expect_code 129 git workspace frobnicate &&
	test_expect_code 129 git workspace &&
	test_expect_code 129 git workspace base frobnicate &&
	git workspace add --detach empty &&
	test_clean empty HEAD &&
	git workspace remove empty
'

test_expect_success 'a branch that was made goes if add fails' '
	git rev-parse HEAD >before &&
	(
		PATH="$PWD/broken:$PATH" &&
		mkdir broken &&
		write_script broken/mount <<-\EOF &&
		exit 1
		EOF
		cp broken/mount broken/fuse-overlayfs &&
		test_fails 128 "cannot mount an overlay" \
			git workspace add -b none b
	) &&
	test_gone b b &&
	test_must_fail git rev-parse --verify none &&
	git workspace add -b none b &&
	git workspace remove b
'

test_expect_success 'what is missing is said' '
	(
		mkdir -p nothing &&
		PATH="$PWD/nothing:$PATH" &&
		git config workspace.kind fuse &&
		write_script nothing/fuse-overlayfs <<-\EOF &&
		echo "fuse: device not found" >&2
		exit 1
		EOF
		test_fails 128 "device not found\|/dev/fuse" \
			git workspace add --detach b
	) &&
	test_gone b b &&
	mkdir only &&
	for program in git sed cat mkdir ln rm mv flock readlink chmod rmdir \
		find stat cp sync sort timeout test sh dirname basename uname grep tr
	do
		ln -s "$(command -v $program)" only/ || return 1
	done &&
	(
		PATH="$SOURCE:$PWD/only" &&
		test_fails 128 "package fuse-overlayfs" \
			git workspace add --detach b
	) &&
	test_gone b b &&
	git config workspace.kind sometimes &&
	test_fails 128 "neither overlay nor" git workspace add --detach b &&
	git config --unset workspace.kind
'

test_expect_success 'the nearest base is used' '
	test_when_finished "git checkout -q master" &&
	git checkout -q -b later &&
	for i in 1 2 3
	do
		echo $i >sub/deep/later &&
		git add sub &&
		test_tick &&
		git commit -q -m "later $i" || return 1
	done &&
	git workspace base add one &&
	git workspace add --detach near 2>err >out &&
	test_grep "Using the base of $(git rev-parse master), which is 3 commits apart" err &&
	test_grep "HEAD is now at $(git rev-parse --short later)" out &&
	test_clean near later &&
	git workspace remove near &&
	git config workspace.nearest 2 &&
	test_when_finished "git config --unset workspace.nearest" &&
	git workspace add --detach near 2>err &&
	test_grep "Making a base of $(git rev-parse later)" err &&
	test_clean near later &&
	git workspace remove near &&
	git workspace base remove later &&
	git workspace add --detach --base one near later &&
	test_clean near later &&
	git workspace list >out &&
	test_grep "near .* on $(git rev-parse one | cut -c1-10)" out &&
	git workspace remove near &&
	test_gone near near &&
	git workspace base remove one
'

test_expect_success 'post-checkout runs as with git worktree add' '
	test_hook post-checkout <<-\EOF &&
	echo "$@" "$(pwd)" "$(git rev-parse --show-toplevel)" >>"$HOME/hook.out"
	git status --porcelain >>"$HOME/hook.out"
	test ! -e "$HOME/fail"
	EOF
	git worktree add --detach hooked &&
	git worktree remove hooked &&
	mv hook.out expect &&
	git workspace add --detach hooked &&
	test_cmp expect hook.out &&
	git workspace remove hooked &&
	>fail &&
	test_expect_code 1 git worktree add --detach hooked &&
	git worktree remove hooked &&
	test_expect_code 1 git workspace add --detach hooked &&
	rm fail &&
	test_clean hooked HEAD &&
	git workspace remove hooked
'

test_expect_success 'paths with special characters' '
	mkdir "s p,a:c\\e" &&
	name="s p,a:c\\e/w \"x\" '\''y'\'' \$(z);" &&
	git workspace add --detach "$name" &&
	test_clean "$name" HEAD &&
	echo edit >>"$name/file1" &&
	git -C "$name" status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git workspace list >out &&
	test_grep -F "$name" out &&
	unmount "$name" &&
	git workspace mount "$name" &&
	git -C "$name" status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace remove -f "$name" &&
	test_path_is_missing "$name" &&
	test_fails 128 newline git workspace add --detach "new
line" &&
	test_path_is_missing "new
line" &&
	if test_have_prereq KIND_FUSE
	then
		test_fails 128 "cannot have a colon" git workspace add --detach \
			--upper-dir "$PWD/u:" colon &&
		dir="s p,a c\\e"
	else
		dir="s p,a:c\\e"
	fi &&
	git init -q "$dir/r \"x'\''" &&
	(
		cd "$dir/r \"x'\''" &&
		test_commit first &&
		git workspace add --base-dir "../b, \"1\"" --upper-dir "../u," \
			--detach ../w &&
		test_clean ../w HEAD &&
		echo edit >>../w/first.t &&
		git -C ../w status --porcelain >actual &&
		echo " M first.t" >expect &&
		test_cmp expect actual &&
		unmount ../w &&
		git workspace mount --all &&
		git -C ../w status --porcelain >actual &&
		test_cmp expect actual &&
		ls "../b, \"1\"" >bases &&
		test_grep "^$(git rev-parse HEAD)" bases &&
		ls ../u, >layers &&
		test_line_count = 1 layers &&
		git workspace remove -f ../w &&
		ls ../u, >layers &&
		test_must_be_empty layers
	)
'

# usage: refused <text>: git workspace remove of ws2 says that, and does nothing
refused () {
	test_fails 128 "$1" git workspace remove ws2 &&
	test -e ws2/file1 &&
	git -C ws2 status &&
	test_path_is_missing .git/workspace/trees/ws2/removing
}

test_expect_success 'remove refuses what would be lost' '
	echo edit >>ws2/file1 &&
	refused "contains modified or untracked files, use --force to delete it" &&
	git -C ws2 add file1 &&
	refused "contains modified or untracked files, use --force to delete it" &&
	git -C ws2 reset --hard &&
	rm ws2/sub/deep/file1 &&
	refused "contains modified" &&
	git -C ws2 reset --hard &&
	mkdir ws2/sub/untracked &&
	>ws2/sub/untracked/file &&
	refused "contains modified" &&
	rm -r ws2/sub/untracked &&
	git -C ws2 switch --detach &&
	git -C ws2 commit --allow-empty -m lonely &&
	refused "which no branch or tag has" &&
	git -C ws2 tag lonely &&
	git -C ws2 switch -c work &&
	git -C ws2 commit --allow-empty -m x &&
	git -C ws2 bisect start &&
	refused "BISECT_LOG" &&
	git -C ws2 bisect reset &&
	test_must_fail git -C ws2 rebase -x false HEAD~1 &&
	refused "rebase-merge" &&
	git -C ws2 rebase --abort &&
	test_must_fail git workspace remove nowhere &&
	test_fails 128 "is not a workspace" git workspace remove . &&
	test_fails 128 "is not a workspace" git workspace remove plain
'

test_expect_success 'remove refuses submodules' '
	git init -q upstream &&
	test_commit -C upstream inner &&
	git -C ws2 -c protocol.file.allow=always submodule add "$PWD/upstream" mod &&
	git -C ws2 commit -m submodule &&
	refused "working trees containing submodules" &&
	git workspace remove --force ws2 &&
	test_gone ws2 ws2
'

test_expect_success 'remove refuses what somebody has open' '
	git workspace add --detach ws2 &&
	(
		exec 5<ws2/file1 &&
		refused "cannot unmount" &&
		if test_have_prereq FUSER
		then
			test_grep "in use by process [0-9]* (" "$TRASH_DIRECTORY/err"
		fi &&
		test_fails 128 "cannot unmount" git workspace remove --force ws2 &&
		test_clean ws2
	) &&
	(
		cd ws2 &&
		test_fails 128 "cannot unmount" git workspace remove .
	) &&
	git workspace remove ws2 &&
	test_gone ws2 ws2
'

test_expect_success 'an unmounted workspace says what it is' '
	echo edit >>ws/file1 &&
	echo new >ws/new &&
	rm ws/file2 &&
	mv ws/sub/deep ws/sub/depth &&
	git -C ws status --porcelain >expect &&
	test_line_count -gt 4 expect &&
	unmount ws &&
	test_must_fail git -C ws status 2>err &&
	test_grep "run-git-workspace-mount" err &&
	git workspace list >out &&
	test_grep "/ws .*not mounted" out &&
	git worktree prune &&
	git gc --quiet --prune=now &&
	git workspace prune &&
	git workspace mount ws &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace mount ws &&
	git workspace mount --all &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual
'

test_expect_success 'all are mounted after a reboot' '
	git workspace add --detach other-ws &&
	echo edit >>other-ws/file3 &&
	unmount_all &&
	rm -r other-ws &&
	git workspace mount --all &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual &&
	git -C other-ws status --porcelain >actual &&
	echo " M file3" >expect.other &&
	test_cmp expect.other actual &&
	git workspace remove --force other-ws
'

test_expect_success 'nothing is mounted over files' '
	unmount ws &&
	echo precious >ws/precious &&
	test_fails 128 "written while it was not mounted" \
		git workspace mount ws &&
	test_fails 1 "written while it was not mounted" \
		git workspace mount --all &&
	test_fails 128 "written while it was not mounted" \
		git workspace remove ws &&
	git workspace prune &&
	echo precious >expect.precious &&
	test_cmp expect.precious ws/precious &&
	rm ws/precious &&
	git workspace mount --all &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual
'

test_expect_success 'remove --force leaves files that are not of the workspace' '
	git workspace add --detach ws2 &&
	unmount ws2 &&
	echo precious >ws2/precious &&
	git workspace remove --force ws2 2>err &&
	test_grep "is not empty" err &&
	test_cmp expect.precious ws2/precious &&
	rm -r ws2 &&
	test_gone ws2 ws2
'

test_expect_success 'remove mounts it, to see what there is' '
	unmount ws &&
	test_fails 128 "contains modified" git workspace remove ws &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual
'

test_expect_success 'a base that is lost' '
	base=.git/workspace/bases/$(git rev-parse HEAD) &&
	unmount ws &&
	mv $base lost &&
	test_fails 128 "the base of .* is not there" git workspace mount ws &&
	test_grep "kept in .*workspace/trees/ws/upper" err &&
	test_fails 1 "the base of .* is not there" git workspace mount --all &&
	test_fails 128 "the base of .* is not there" git workspace remove ws &&
	git workspace list >out &&
	test_grep "base is missing" out &&
	git workspace prune &&
	echo edit >expect.edit &&
	tail -n 1 .git/workspace/trees/ws/upper/file1 >actual &&
	test_cmp expect.edit actual &&
	mv lost $base &&
	git workspace mount ws &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual
'

test_expect_success 'a base that was made again' '
	unmount ws &&
	rm -rf .git/workspace/bases/$(git rev-parse HEAD) &&
	git workspace base add &&
	git workspace mount ws &&
	git -C ws status --porcelain >actual &&
	test_cmp expect actual &&
	git -C ws reset --hard &&
	git -C ws clean -fdx &&
	test_clean ws HEAD
'

# The clock of the repository is an hour ahead, where the layer is elsewhere.
for where in beside elsewhere
do
	test_expect_success "remove keeps what is written after it has looked, layer $where" '
		if test $where = elsewhere
		then
			layer="--upper-dir=$PWD/layers"
		else
			layer=
		fi &&
		git workspace add -q --detach ${layer:+"$layer"} late &&
		mkdir -p writing &&
		for name in umount fusermount3
		do
			write_script writing/$name <<-EOF || return 1
			touch -c -d "+1 hour" "$PWD/.git/workspace/trees/late"/checked*
			echo late >"$PWD/late/file"
			exec $(command -v $name) "\$@"
			EOF
		done &&
		if test $where = beside
		then
			for name in writing/*
			do
				sed /^touch/d $name >without &&
				cat without >$name || return 1
			done
		fi &&
		(
			PATH="$PWD/writing:$PATH" &&
			test_fails 128 "was written to meanwhile" \
				git workspace remove late
		) &&
		git workspace mount late &&
		echo late >expect &&
		test_cmp expect late/file &&
		rm late/file &&
		git workspace remove late &&
		test_path_is_missing .git/workspace/trees/late &&
		if test -e layers
		then
			ls layers >actual &&
			test_must_be_empty actual
		fi
	'
done

test_expect_success 'base list, and remove while in use' '
	git workspace base list >out &&
	test_grep "bases/$(git rev-parse HEAD)  1 users" out &&
	git workspace base list --porcelain >out &&
	test_grep "^base $PWD/.git/workspace/bases/$(git rev-parse HEAD)\$" out &&
	test_grep "^user $PWD/.git/workspace/trees/ws\$" out &&
	test_fails 128 "is in use by" git workspace base remove HEAD &&
	test_fails 128 "is in use by" git workspace base remove --force HEAD &&
	test_clean ws HEAD &&
	unmount ws &&
	test_fails 128 "is in use by" git workspace base remove HEAD &&
	git workspace mount ws &&
	test_fails 128 "there is no base of" git workspace base remove one &&
	test_fails 128 "not a commit" git workspace base remove ../x &&
	test_fails 128 "not a commit" git workspace base add nope
'

test_expect_success 'two repositories, one base' '
	git clone -q . clone &&
	git config --global workspace.baseDir "$PWD/common" &&
	test_when_finished "git config --global --unset workspace.baseDir" &&
	git workspace base add &&
	git workspace add --detach one-ws 2>err &&
	git -C clone workspace add --detach ../two-ws 2>err &&
	test_grep ! "Making" err &&
	test_clean one-ws HEAD &&
	test_clean two-ws HEAD &&
	echo one >>one-ws/file1 &&
	echo two >>two-ws/file2 &&
	git -C one-ws status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git -C two-ws status --porcelain >actual &&
	echo " M file2" >expect &&
	test_cmp expect actual &&
	git workspace base list >out &&
	test_grep "2 users" out &&
	git workspace remove --force one-ws &&
	test_fails 128 "clone/.git/workspace/trees/two-ws" \
		git workspace base remove HEAD &&
	ln -s /somewhere common/$(git rev-parse HEAD)/users/elsewhere:x &&
	git -C clone workspace remove --force ../two-ws &&
	test_fails 128 "elsewhere:/somewhere" git workspace base remove HEAD &&
	git workspace base remove --force HEAD &&
	ls -A common >out &&
	test_write_lines lock >expect &&
	test_cmp expect out
'

test_expect_success 'a user that is gone does not count' '
	git workspace base add one &&
	users=.git/workspace/bases/$(git rev-parse one)/users &&
	host=$(cat /proc/sys/kernel/hostname) &&
	ln -s "$PWD/.git/workspace/trees/no" $users/$host:x &&
	git workspace prune &&
	find $users -type l >out &&
	test_must_be_empty out &&
	ln -s "$PWD/.git/workspace/trees/no" $users/$host:x &&
	git workspace base remove one
'

test_expect_success 'a user whose repository is not there counts' '
	test_when_finished "git config --global --unset workspace.baseDir" &&
	git config --global workspace.baseDir "$PWD/common" &&
	git -C clone workspace add --detach ../two-ws &&
	echo edit >>two-ws/file1 &&
	unmount two-ws &&
	mv clone away &&
	git workspace prune &&
	test_fails 128 "  ?:$PWD/clone/.git/workspace/trees/two-ws" \
		git workspace base remove HEAD &&
	mv away clone &&
	git -C clone workspace mount --all &&
	git -C two-ws status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git -C clone workspace remove --force ../two-ws &&
	users=common/$(git rev-parse HEAD)/users &&
	host=$(cat /proc/sys/kernel/hostname) &&
	ln -s /no/such/trees/x $users/$host:x &&
	>$users/empty &&
	mkfifo $users/$host:pipe &&
	ln -s nowhere "$users/$host:link$(printf "\033")" &&
	test_fails 128 "  ?:/no/such/trees/x" git workspace base remove HEAD &&
	test_grep "  empty:.*users/empty" err &&
	test_grep "  $host:.*users/$host:pipe" err &&
	test_grep "  $host:.*users/$host:link?" err &&
	git workspace base remove --force HEAD
'

test_expect_success 'folders of others among the bases' '
	oid=$(git rev-parse one) &&
	dir="$PWD/mixed" &&
	git workspace base add -q --base-dir "$dir" one &&
	other=$(git rev-parse HEAD) &&
	mkdir -p mixed/tool/users mixed/.making-x/users mixed/.removed-x \
		mixed/.removed-$oid mixed/.removed-$oid.x mixed/$other/users &&
	>mixed/tool/users/file &&
	>mixed/tool/removing &&
	find mixed | sort >expect &&
	git workspace prune -v --base-dir "$dir" >out &&
	test_must_be_empty out &&
	git workspace base list --base-dir "$dir" >out &&
	test_line_count = 1 out &&
	test_fails 128 "not a commit" \
		git workspace base remove -f --base-dir "$dir" tool &&
	test_fails 128 "there is no base" \
		git workspace base remove -f --base-dir "$dir" HEAD &&
	find mixed | sort >actual &&
	test_cmp expect actual
'

# usage: until_waiting <file>: until it has the message of one that waits
until_waiting () {
	local round=0 &&
	until grep -s "waiting for another" "$1"
	do
		sleep 0.1 &&
		round=$((round + 1)) &&
		test $round -lt 300 || return 1
	done
}

# usage: waits_for <lock> <check> <arguments of git workspace>: it waits while that is
# locked, and then succeeds; meanwhile, the check is made
waits_for () {
	local lock="$1" check="$2" &&
	shift 2 &&
	(
		exec 5<>".git/workspace/$lock" &&
		flock 5 &&
		rm -f late.err &&
		{ git workspace "$@" >late.out 2>late.err 5<&- & } &&
		pid=$! &&
		until_waiting late.err &&
		eval "$check" &&
		exec 5<&- &&
		wait $pid &&
		wait
	)
}

test_expect_success 'a base is not removed while somebody comes' '
	git workspace base add -q one &&
	waits_for bases/lock "test_path_is_missing .git/workspace/trees/late/user" \
		add --detach late one &&
	test_clean late one &&
	git workspace remove late &&
	git workspace base remove one
'

# Git reads all worktrees when it adds one, and dies of one that has files
# without content, as they are for a moment.
test_expect_success 'one at a time' '
	git workspace base add -q one &&
	mkdir half &&
	echo "$PWD/half/.git" >half/gitdir &&
	>half/commondir &&
	cp -R half .git/worktrees/half &&
	test_must_fail git worktree list &&
	git workspace list &&
	waits_for lock "rm -r .git/worktrees/half" add --detach late one &&
	test_clean late one &&
	for command in "mount late" "mount --all" prune "base add HEAD" \
		"remove late" "base remove one"
	do
		waits_for lock : $command || return 1
	done &&
	test_gone late late
'

test_expect_success 'one that is being made is not half made' '
	git workspace base add -q one &&
	waits_for bases/lock "
		test_path_is_file .git/workspace/trees/late/making &&
		rm -f remove.err &&
		{ git workspace remove late >remove.err 2>&1 5<&- & } &&
		until_waiting remove.err &&
		test_path_is_file .git/workspace/trees/late/making
	" add --detach late one &&
	test_grep ! fatal remove.err &&
	test_gone late late &&
	# and of one that was emptied before its folder was removed
	mkdir .git/workspace/trees/late &&
	git workspace add -q --detach late one &&
	git workspace remove late &&
	git workspace base remove one
'

test_expect_success 'prune leaves a base alone that is being removed' '
	git workspace base add -q one &&
	base=.git/workspace/bases/$(git rev-parse one) &&
	mv $base/complete $base/removing &&
	(
		exec 5<>.git/workspace/bases/lock &&
		flock 5 &&
		git workspace prune -v >out 5<&- &&
		test_must_be_empty out &&
		test_path_is_file $base/removing
	) &&
	git workspace prune -v >out &&
	test_grep "half removed" out &&
	test_path_is_missing $base
'

test_expect_success 'a lock that cannot be opened' '
	mv .git/workspace/lock kept.lock &&
	ln -s none/lock .git/workspace/lock &&
	test_fails 128 "cannot write .*/workspace/lock" \
		git workspace add --detach late one &&
	mv kept.lock .git/workspace/lock &&
	test_gone late late
'

test_expect_success 'called by a relative path' '
	ln -s "$SOURCE" programs &&
	programs/git-workspace add -q --detach late &&
	test_clean late HEAD &&
	programs/git-workspace mount late &&
	programs/git-workspace remove late &&
	test_gone late late
'

test_expect_success 'git worktree leaves workspaces alone' '
	test_fails 128 "it is a workspace: see .git workspace" \
		git worktree remove ws &&
	test_fails 128 "it is a workspace: see .git workspace" \
		git worktree move ws elsewhere &&
	unmount ws &&
	git worktree prune --expire=now &&
	git workspace mount ws &&
	test_clean ws HEAD
'

test_expect_success 'a plain worktree made in a workspace sees its own files' '
	git -C ws worktree add --detach ../plain2 &&
	git -C plain2 status &&
	echo edit >>plain2/file1 &&
	>plain2/sub/new &&
	git -C plain2 status --porcelain >actual &&
	test_write_lines " M file1" "?? sub/new" >expect &&
	test_cmp expect actual &&
	echo edit >>plain2/file2 &&
	git -C plain2 status --porcelain >actual &&
	test_write_lines " M file1" " M file2" "?? sub/new" >expect &&
	test_cmp expect actual &&
	git worktree remove --force plain2
'

test_expect_success 'a workspace made in a workspace' '
	git -C ws workspace add --detach ../inner &&
	echo edit >>inner/file1 &&
	git -C inner status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	test_clean ws HEAD &&
	git -C ws workspace remove --force ../inner
'

test_expect_success 'a bare repository, and one with core.worktree' '
	git clone -q --bare . bare.git &&
	git -C bare.git workspace add --detach ../of-bare &&
	test_clean of-bare HEAD &&
	echo true >expect &&
	git -C bare.git rev-parse --is-bare-repository >actual &&
	test_cmp expect actual &&
	git -C bare.git workspace remove ../of-bare &&
	git init -q --separate-git-dir=far.git far &&
	test_commit -C far first &&
	git -C far config core.worktree "$PWD/far" &&
	git -C far workspace add --detach ../of-far &&
	git -C of-far rev-parse --show-toplevel >actual &&
	echo "$PWD/of-far" >expect &&
	test_cmp expect actual &&
	git --git-dir=far.git rev-parse --show-toplevel >actual &&
	echo "$PWD/far" >expect &&
	test_cmp expect actual &&
	git -C far workspace remove ../of-far
'

test_expect_success 'a sparse worktree gets a workspace with all files' '
	git clone -q . sparse &&
	git -C sparse sparse-checkout set sub &&
	test_path_is_missing sparse/other &&
	git -C sparse workspace add --detach ../of-sparse &&
	test_clean of-sparse HEAD &&
	git -C sparse workspace remove ../of-sparse
'

test_expect_success 'sha256, reftable, and settings that stand in the way' '
	git init -q --object-format=sha256 --ref-format=reftable newer &&
	test_commit -C newer first &&
	git -C newer config core.splitIndex false &&
	git -C newer config core.untrackedCache false &&
	git -C newer config core.fsmonitor false &&
	git -C newer config status.showUntrackedFiles all &&
	git -C newer config index.version 4 &&
	git -C newer workspace add ../of-newer &&
	git -C of-newer status --porcelain >actual &&
	test_must_be_empty actual &&
	mkdir of-newer/dir &&
	>of-newer/dir/new &&
	echo edit >>of-newer/first.t &&
	git -C of-newer status --porcelain >actual &&
	test_write_lines " M first.t" "?? dir/new" >expect &&
	test_cmp expect actual &&
	git -C newer workspace remove -f ../of-newer
'

test_expect_success 'list --porcelain' '
	git workspace list --porcelain >actual &&
	cat >expect <<-EOF &&
	workspace $PWD/ws
	HEAD $(git rev-parse HEAD)
	branch refs/heads/ws
	base $PWD/.git/workspace/bases/$(git rev-parse HEAD)
	kind $KIND
	state mounted
	upper $PWD/.git/workspace/trees/ws/upper

	EOF
	test_cmp expect actual &&
	test_expect_code 129 git workspace list --nonsense
'

test_expect_success KIND_FUSE 'a fuse-overlayfs that was killed' '
	echo edit >>ws/file1 &&
	sync -f ws/file1 &&
	pkill -KILL -f "^fuse-overlayfs .*$PWD/ws\$" &&
	while ls ws/. >/dev/null 2>&1
	do
		sleep 0.1 || return 1
	done &&
	test_must_fail git -C ws status &&
	git workspace list >out &&
	test_grep "not answering" out &&
	git workspace mount ws &&
	git -C ws status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git -C ws reset --hard
'

# usage: at_once <git command>...: for many/1 to many/20
at_once () {
	local i &&
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
	do
		{ git "$@" many/$i >many.$i 2>&1 || echo $i >>many.failed; } &
	done
	wait
	cat many.[0-9]* >&2 &&
	test_path_is_missing many.failed
}

test_expect_success 'twenty at once, and no base yet' '
	git workspace remove ws &&
	git workspace base remove HEAD &&
	at_once workspace add --detach &&
	grep "Making a base" many.[0-9]* >out &&
	test_line_count = 1 out &&
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
	do
		echo $i >>many/$i/file$((i % 9 + 1)) || return 1
	done &&
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
	do
		echo " M file$((i % 9 + 1))" >expect &&
		git -C many/$i status --porcelain >actual &&
		test_cmp expect actual || return 1
	done &&
	at_once workspace remove --force &&
	ls .git/workspace/trees .git/workspace/trash many >out &&
	test_grep ! "[0-9]" out
'

# usage: wait_for_group <id>: until none of its processes runs any more: what has
# been killed may have files and folders open for a while
wait_for_group () {
	local round=0 &&
	while cat /proc/[0-9]*/stat 2>/dev/null | sed "s/^.*) //" |
		awk -v group="$1" '$3 == group && $1 !~ /[ZX]/ { found = 1 }
			END { exit !found }'
	do
		sleep 0.05
		round=$((round + 1))
		test $round -lt 1000 || return 1
	done
}

test_expect_success 'setup: programs that kill who calls them' '
	mkdir steps &&
	for program in git sed cat mkdir ln rm mv flock readlink chmod rmdir \
		find stat cp sync mount umount fusermount3 fuse-overlayfs grep ls
	do
		path=$(command -v $program) || continue
		write_script steps/$program <<-EOF || return 1
		read -r count <"\$STEPS"
		echo \$((count + 1)) >"\$STEPS"
		test "\$count" != "\$KILL_AT" || kill -KILL 0
		exec "$path" "\$@"
		EOF
	done
'

# usage: kill_at <n> <arguments of git workspace>: kills it, with all that it has
# started, when it starts its n-th program; false if there are fewer
kill_at () {
	local at="$1" code=0 pid &&
	shift &&
	echo 1 >step || return 1
	STEPS="$PWD/step" KILL_AT="$at" PATH="$PWD/steps:$PATH" \
		setsid "$SOURCE/git-workspace" "$@" >killed.out 2>&1 &
	pid=$!
	wait "$pid" 2>/dev/null || code=$?
	wait_for_group "$pid" &&
	test "$code" = 137
}

# usage: test_nothing_left: of a workspace named k
test_nothing_left () {
	test_gone k k &&
	ls -A .git/worktrees .git/workspace/bases >left &&
	test_grep ! "^k\|^tree\|^\.making\|^\.removed" left &&
	test_grep ! "/k " /proc/self/mountinfo
}

test_expect_success 'kill -9 at any step of add' '
	git workspace base add &&
	i=1 &&
	while kill_at $i add --detach k
	do
		git workspace prune &&
		if test -d k
		then
			# it was made
			git -C k reset -q --hard &&
			test_clean k HEAD &&
			git workspace remove k
		fi &&
		test_nothing_left &&
		i=$((i + 1)) || return 1
	done &&
	test $i -gt 20 &&
	test_clean k HEAD &&
	git workspace remove k
'

test_expect_success 'kill -9 at any step of making a base' '
	git workspace base remove HEAD &&
	i=1 &&
	while kill_at $i base add
	do
		case $((i % 4)) in
		1) git workspace prune ;;
		esac &&
		git workspace add -q --detach k &&
		test_clean k HEAD &&
		git workspace remove k &&
		test_nothing_left &&
		git workspace base remove HEAD &&
		i=$((i + 2)) || return 1
	done &&
	test $i -gt 10
'

test_expect_success 'the same with relative paths' '
	test_config worktree.useRelativePaths true &&
	git workspace base remove HEAD &&
	i=1 &&
	while kill_at $i base add &&
		! test -f .git/workspace/bases/.making-*/tree/.git
	do
		i=$((i + 1)) || return 1
	done &&
	test -f .git/workspace/bases/.making-*/tree/.git &&
	git workspace base add &&
	git workspace add -q --detach k &&
	test_clean k HEAD &&
	git workspace remove k &&
	test_nothing_left
'

test_expect_success 'kill -9 at any step of remove' '
	i=1 &&
	git workspace add -q --detach k &&
	while kill_at $i remove k
	do
		case $((i % 3)) in
		0) git workspace prune ;;
		1) git workspace mount k || : ;;
		esac &&
		if git workspace list | grep "/k "
		then
			git workspace remove k
		fi &&
		git workspace prune &&
		test_nothing_left &&
		git workspace add -q --detach k &&
		i=$((i + 1)) || return 1
	done &&
	test $i -gt 15 &&
	test_nothing_left
'

# usage: deaf_workspace <text> <arguments>: no "git config" with that text can read
deaf_workspace () {
	DEAF_TO="$1" &&
	export DEAF_TO &&
	shift &&
	PATH="$TRASH_DIRECTORY/deaf:$PATH" "$SOURCE/git-workspace" "$@"
}

test_expect_success 'a setting that cannot be read is not taken for unset' '
	mkdir deaf &&
	write_script deaf/git <<-EOF &&
	case "\$1 \$*" in
	"config "*"\$DEAF_TO"*)
		echo "fatal: cannot read" >&2
		exit 128 ;;
	esac
	exec "$(command -v git)" "\$@"
	EOF
	git init quiet &&
	test_commit -C quiet one &&
	cp quiet/.git/config config.before &&
	for text in "^(workspace" core.bare core.worktree
	do
		(
			cd quiet &&
			test_expect_code 128 \
				deaf_workspace "$text" add --detach ../k 2>../err
		) &&
		test_grep "cannot read the configuration" err &&
		test_path_is_missing k &&
		test_path_is_missing quiet/.git/worktrees/k &&
		test_cmp config.before quiet/.git/config || return 1
	done &&
	git -C quiet config extensions.worktreeConfig true &&
	git -C quiet config --worktree a.b c &&
	(
		cd quiet &&
		test_expect_code 128 \
			deaf_workspace core.bare add --detach ../k 2>../err
	) &&
	test_grep "cannot read the configuration" err &&
	test_path_is_missing k &&
	test_path_is_missing quiet/.git/worktrees/k
'

test_expect_success 'one that is half made goes' '
	git worktree add --no-checkout --detach --lock \
		--reason "it is a workspace: see ${SQ}git workspace${SQ}" k &&
	git workspace prune -v >out &&
	test_grep "/k.: it was half made" out &&
	test_nothing_left &&
	git worktree add --no-checkout --detach --lock \
		--reason "it is a workspace: see ${SQ}git workspace${SQ}" k &&
	echo precious >k/precious &&
	git workspace prune 2>err &&
	test_grep "has files: it is kept" err &&
	git worktree remove -f -f k
'

test_expect_success 'a base that goes while it is looked at' '
	git workspace base add -q &&
	base=.git/workspace/bases/$(git rev-parse HEAD) &&
	mkdir racy &&
	write_script racy/ln <<-EOF &&
	rm -f "$PWD/$base/complete"
	exec $(command -v ln) "\$@"
	EOF
	(
		PATH="$PWD/racy:$PATH" &&
		test_fails 128 "was removed meanwhile" \
			git workspace add --detach k
	) &&
	>$base/complete &&
	test_nothing_left
'

test_expect_success 'one that is half removed goes' '
	for how in "prune" "remove k" "remove --force k"
	do
		git workspace add -q --detach k &&
		unmount k &&
		>.git/workspace/trees/k/removing &&
		git workspace list >out &&
		test_grep "half removed" out &&
		test_fails 128 "half removed" git workspace mount k &&
		git workspace $how &&
		test_nothing_left || return 1
	done
'

test_expect_success 'kill -9 of remove --force: all or nothing' '
	i=1 intact=0 gone=0 &&
	echo " M file1" >expect &&
	while
		git workspace add -q --detach k &&
		echo edit >>k/file1 &&
		kill_at $i remove --force k
	do
		git workspace prune &&
		if test -d .git/workspace/trees/k
		then
			git workspace mount k &&
			git -C k status --porcelain >actual &&
			test_cmp expect actual &&
			git workspace remove --force k &&
			intact=$((intact + 1))
		else
			gone=$((gone + 1))
		fi &&
		test_nothing_left &&
		i=$((i + 1)) || return 1
	done &&
	test_nothing_left &&
	test $intact -gt 3 &&
	test $gone -gt 3
'

# As if a file could not be deleted, or the machine had stopped meanwhile.
test_expect_success 'nothing that Git takes for a worktree is left by halves' '
	mkdir deletes-half &&
	write_script deletes-half/rm <<-EOF &&
	for last
	do
		:
	done
	case \$last in
	*/worktrees/*|*/trash/worktree.*)
		test ! -d "\$last" || { $(command -v rm) -f "\$last/HEAD"; exit 1; } ;;
	esac
	exec $(command -v rm) "\$@"
	EOF
	git worktree list >before &&
	git workspace add -q --detach k &&
	(
		PATH="$PWD/deletes-half:$PATH" &&
		{ git workspace remove k || :; }
	) &&
	git worktree list >after &&
	test_cmp before after &&
	test_path_is_missing .git/worktrees/k &&
	git workspace prune &&
	test_nothing_left &&
	ls -A .git/workspace/trash >left &&
	test_must_be_empty left
'

test_expect_success 'kill -9 of base remove' '
	git workspace base add -q &&
	base=.git/workspace/bases/$(git rev-parse HEAD) &&
	cp -pPR $base saved &&
	i=1 &&
	while kill_at $i base remove HEAD
	do
		git workspace prune &&
		test_nothing_left &&
		rm -rf $base &&
		cp -pPR saved $base &&
		i=$((i + 1)) || return 1
	done &&
	test $i -gt 5 &&
	test_path_is_missing $base &&
	git workspace base add -q &&
	git workspace add -q --detach k &&
	i=1 &&
	while kill_at $i base remove HEAD
	do
		git workspace prune &&
		test_clean k HEAD &&
		test_path_is_file $base/complete &&
		i=$((i + 1)) || return 1
	done &&
	test $i -gt 5 &&
	test_path_is_file $base/complete &&
	git workspace remove k
'

test_expect_success 'the id of a workspace that is gone is given away' '
	mkdir away &&
	for how in removing making
	do
		# killed after the worktree was gone
		git workspace add -q --detach k &&
		unmount k &&
		rm -rf .git/worktrees/k k &&
		>.git/workspace/trees/k/$how &&
		git worktree add --detach away/k &&
		test_path_is_file .git/worktrees/k/HEAD &&
		git workspace prune &&
		test_path_is_missing .git/workspace/trees/k &&
		test_clean away/k HEAD &&
		git worktree remove away/k &&

		# at the same path
		git workspace add -q --detach k &&
		unmount k &&
		rm -rf .git/worktrees/k k &&
		>.git/workspace/trees/k/$how &&
		git worktree add --detach --lock \
			--reason "it is a workspace: see ${SQ}git workspace${SQ}" k &&
		git workspace prune 2>err &&
		test_path_is_missing .git/workspace/trees/k &&
		test_clean k HEAD &&
		git worktree remove -f -f k || return 1
	done &&
	git workspace add -q --detach k &&
	unmount k &&
	rm -rf .git/worktrees/k k &&
	git worktree add --detach away/k &&
	echo edit >>away/k/file1 &&
	test_fails 128 "is gone from the repository" git workspace mount k &&
	git workspace remove --force k &&
	git -C away/k status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git worktree remove --force away/k
'

test_expect_success 'a state without anything in it, or with less' '
	mkdir .git/workspace/trees/k &&
	git workspace prune &&
	test_path_is_missing .git/workspace/trees/k &&
	git workspace add -q --detach k &&
	echo edit >>k/file1 &&
	unmount k &&
	mv .git/workspace/trees/k/kind kind &&
	>.git/workspace/trees/k/kind &&
	test_fails 128 "write overlay, userxattr or fuse" git workspace mount k &&
	mv kind .git/workspace/trees/k/ &&
	>.git/workspace/trees/k/path &&
	git workspace prune &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	git workspace remove --force k &&
	test_nothing_left
'

test_expect_success 'the folder above is renamed' '
	mkdir above &&
	git workspace add -q --detach above/k &&
	mv above renamed &&
	echo edit >>renamed/k/file1 &&
	test_fails 1 "mounted \(on\|by\)" git workspace mount --all &&
	test_fails 128 "mounted \(on\|by\)" git workspace remove above/k &&
	test_fails 128 "mounted \(on\|by\)" \
		git workspace remove --force above/k &&
	git workspace prune &&
	git -C renamed/k status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	rm -rf above &&
	mv renamed above &&
	git workspace mount --all &&
	git -C above/k status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace remove --force above/k &&
	test_nothing_left
'

test_lazy_prereq MOUNT_NS 'unshare -m true'

# usage: start_other: a process in another mount namespace
start_other () {
	rm -f other.pid &&
	{ unshare -m sh -c "echo \$\$ >other.new && mv other.new other.pid &&
		exec sleep 1000" >/dev/null 2>&1 & } &&
	until test -f other.pid
	do
		sleep 0.1
	done &&
	other=$(cat other.pid) &&
	test_when_finished "kill $other 2>/dev/null || :"
}

stop_other () {
	kill "$other" &&
	while test -e "/proc/$other/ns/mnt" && readlink "/proc/$other/ns/mnt"
	do
		sleep 0.1
	done
}

test_expect_success MOUNT_NS 'another mount namespace' '
	git workspace add -q --detach k &&
	echo edit >>k/file1 &&
	echo " M file1" >expect &&
	start_other &&
	if ! test_have_prereq KIND_FUSE
	then
		test_fails 128 "is mounted on .*/k. (as process" \
			git workspace remove --force k
	fi &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual &&
	unmount k &&
	test_fails 128 "mounted \(on\|by\)" git workspace mount k &&
	test_fails 128 "mounted \(on\|by\)" git workspace remove --force k &&
	test_fails 128 "mounted \(on\|by\)" git workspace remove k &&
	>.git/workspace/trees/k/removing &&
	git workspace prune 2>err &&
	test_grep "cannot unmount" err &&
	rm .git/workspace/trees/k/removing &&
	stop_other &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace remove --force k &&
	test_nothing_left
'

test_expect_success '.git is deleted while it is mounted' '
	git workspace add -q --detach k &&
	grep "/k " /proc/self/mountinfo >expect &&
	rm k/.git &&
	>k/new &&
	git workspace mount k &&
	grep "/k " /proc/self/mountinfo >actual &&
	test_cmp expect actual &&
	git -C k status --porcelain >actual &&
	echo "?? new" >expect &&
	test_cmp expect actual &&
	git workspace remove --force k
'

test_expect_success 'another repository where the workspace is' '
	git workspace add -q --detach k &&
	rm k/.git &&
	git init -q k &&
	git -C k add . &&
	git -C k commit -q -m precious &&
	test_fails 128 "is not that of the workspace" git workspace remove k &&
	git -C k log --format=%s >actual &&
	echo precious >expect &&
	test_cmp expect actual &&
	unmount k &&
	git workspace mount k 2>err &&
	test_grep "was replaced" err &&
	git -C k log --format=%s >actual &&
	test_cmp expect actual &&
	git workspace remove --force k &&
	test_nothing_left
'

test_expect_success 'another repository where the workspace is not mounted' '
	git workspace add -q --detach k &&
	unmount k &&
	rm k/.git &&
	git init -q k &&
	test_fails 128 "written while it was not mounted" git workspace mount k &&
	>.git/workspace/trees/k/removing &&
	git workspace prune 2>err &&
	test_grep "is not empty" err &&
	git -C k rev-parse --git-dir &&
	test_path_is_missing .git/workspace/trees/k &&
	rm -rf k &&
	test_nothing_left
'

test_expect_success 'remove sees untracked files where status does not' '
	test_config status.showUntrackedFiles no &&
	git workspace add -q --detach k &&
	>k/new &&
	test_fails 128 "contains modified" git workspace remove k &&
	test_path_is_file k/new &&
	git workspace remove --force k
'

test_expect_success 'a half-made one with a commit that nobody else has' '
	git worktree add --no-checkout --detach --lock \
		--reason "it is a workspace: see ${SQ}git workspace${SQ}" k &&
	git -C k commit -q --allow-empty -m lonely &&
	rm k/.git &&
	git workspace prune 2>err &&
	test_grep "which no branch or tag has, so it is kept" err &&
	test_path_is_file .git/worktrees/k/HEAD &&
	rm -rf .git/worktrees/k k
'

test_expect_success 'the repository is moved' '
	git clone -q . moving &&
	git workspace base add -q --base-dir "$PWD/common" &&
	users=common/$(git rev-parse HEAD)/users &&
	git -C moving workspace add -q --base-dir ../common \
		--upper-dir "$PWD/layers" --detach ../far1 &&
	git -C moving -c worktree.useRelativePaths workspace add -q \
		--base-dir ../common --detach ../far2 &&
	for far in far1 far2
	do
		echo edit >>$far/file1 &&
		unmount $far || return 1
	done &&
	echo " M file1" >expect &&
	mv moving moved &&
	git -C moved workspace mount --all &&
	ls $users >out &&
	test_line_count = 2 out &&
	for far in far1 far2
	do
		git -C $far status --porcelain >actual &&
		test_cmp expect actual &&
		readlink $users/* >links &&
		test_grep "moved/.git/workspace/trees/$far" links &&
		git -C moved worktree list >out &&
		test_grep "/$far " out || return 1
	done &&

	# while it is mounted
	mv moved moving &&
	git -C moving workspace mount --all &&
	readlink $users/* >links &&
	test_grep "moving/.git/workspace/trees/far1" links &&
	for far in far1 far2
	do
		git -C $far status --porcelain >actual &&
		test_cmp expect actual || return 1
	done &&

	# Git thinks that it has to repair something
	unmount far1 &&
	test_might_fail git -C moving worktree repair ../far1 &&
	test_grep "/worktrees/far1" far1/.git &&
	git -C moving workspace mount --all &&
	git -C far1 status --porcelain >actual &&
	test_cmp expect actual &&
	test_fails 128 "moving/.git/workspace/trees/far1" \
		git workspace base remove --base-dir "$PWD/common" HEAD
'

test_expect_success 'the repository is copied' '
	cp -pPR moving copied &&
	test_fails 128 "of which this is a copy" \
		git -C copied workspace mount ../far1 &&
	test_fails 128 "of which this is a copy" \
		git -C copied workspace remove --force ../far1 &&
	git -C far1 status --porcelain >actual &&
	test_cmp expect actual &&
	unmount far1 &&
	test_fails 128 "is that of .*/moving/" \
		git -C copied workspace mount ../far1 &&
	git -C copied workspace remove --force ../far1 2>err &&
	test_grep "is not known to be of this workspace alone" err &&
	git -C moving workspace mount ../far1 &&
	git -C far1 status --porcelain >actual &&
	test_cmp expect actual &&
	readlink $users/* >links &&
	test_grep "moving/.git/workspace/trees/far1" links &&
	rm -rf copied
'

test_expect_success 'a link to the upper layer that was changed' '
	mkdir -p precious/upper &&
	>precious/upper/file &&
	unmount far1 &&
	link=$(readlink moving/.git/workspace/trees/far1/upper) &&
	ln -sfn "$PWD/precious/upper" moving/.git/workspace/trees/far1/upper &&
	test_fails 128 "is not that of" git -C moving workspace mount ../far1 &&
	git -C moving workspace remove --force ../far1 2>err &&
	test_grep "was left" err &&
	test_path_is_file precious/upper/file &&
	test_path_is_dir "$link" &&
	git -C moving workspace remove --force ../far2 &&
	git workspace base remove --base-dir "$PWD/common" HEAD
'

test_expect_success TMPFS 'a base on another file system' '
	mkdir tmpfs &&
	mount -t tmpfs -o mode=755 tmpfs tmpfs &&
	test_when_finished "umount -l tmpfs" &&
	git workspace add -q --base-dir "$PWD/tmpfs" --detach k &&
	find .git/worktrees/k -type l >out &&
	test_must_be_empty out &&
	echo edit >>k/file1 &&
	git -C k add file1 &&
	unmount k &&
	rm -rf tmpfs/$(git rev-parse HEAD) &&
	git gc --quiet &&
	git fsck &&
	git workspace base add -q --base-dir "$PWD/tmpfs" &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	echo "M  file1" >expect &&
	test_cmp expect actual &&
	git workspace remove --force k &&
	test_nothing_left
'

test_expect_success 'what fails within leaves with 128, and a branch as it was' '
	git branch -f -q reset-me one &&
	(
		PATH="$PWD/failing:$PATH" &&
		mkdir failing &&
		write_script failing/sync <<-\EOF &&
		exit 1
		EOF
		test_expect_code 128 git workspace add -q -B reset-me k HEAD &&
		test_expect_code 128 git workspace add -q -B not-yet k HEAD
	) &&
	test_cmp_rev one reset-me &&
	test_must_fail git rev-parse --verify not-yet &&
	test_nothing_left &&
	test_config workspace.baseDir "$PWD/common" &&
	test_config workspace.upperDir layers &&
	test_fails 128 "workspace.upperDir: .layers. is no absolute path" \
		git workspace add --detach k
'

test_expect_success 'a base that cannot be written to disk is none' '
	oid=$(git commit-tree -m unwritten HEAD^{tree}) &&
	(
		PATH="$PWD/no-syncfs:$PATH" &&
		mkdir no-syncfs &&
		write_script no-syncfs/sync <<-\EOF &&
		test "$1" != -f
		EOF
		test_expect_code 128 git workspace base add -q $oid
	) &&
	test_path_is_missing .git/workspace/bases/$oid &&
	test_nothing_left
'

test_expect_success 'what stays mounted when add fails is said' '
	(
		PATH="$PWD/no-umount:$PATH" &&
		mkdir no-umount &&
		write_script no-umount/umount <<-\EOF &&
		echo busy >&2
		exit 1
		EOF
		cp no-umount/umount no-umount/fusermount3 &&
		write_script no-umount/rm <<-EOF &&
		case "\$*" in
		*/making) exit 1 ;;
		esac
		exec "$(command -v rm)" "\$@"
		EOF
		test_fails 128 "cannot unmount .*/k.: busy; unmount it, then run" \
			git workspace add -q --detach k
	) &&
	unmount k &&
	git workspace prune &&
	test_nothing_left
'

test_expect_success 'no maintenance is started while there are locks' '
	git clone -q --bare . promisor.git &&
	git -C promisor.git config uploadpack.allowFilter true &&
	git clone -q -n --filter=blob:none "file://$PWD/promisor.git" partial &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C partial workspace base add -q HEAD &&
	grep "child_start.*\"fetch\"" trace &&
	test_grep ! "\"maintenance\"" trace &&
	rm -rf partial promisor.git
'

test_expect_success 'prune keeps what was written in a half-made workspace' '
	git workspace add -q --detach k &&
	>.git/workspace/trees/k/making &&
	echo edit >>k/file1 &&
	git workspace prune 2>err &&
	test_grep "is kept" err &&
	git -C k status --porcelain >actual &&
	echo " M file1" >expect &&
	test_cmp expect actual &&
	>.git/workspace/trees/k/making &&
	unmount k &&
	test_fails 128 "half made" git workspace mount k &&
	git workspace prune 2>err &&
	test_grep "is kept" err &&
	test_path_is_file .git/workspace/trees/k/upper/file1 &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual
'

test_expect_success 'prune keeps the files of a worktree that is gone' '
	unmount k &&
	git worktree unlock k &&
	rm -r k &&
	git worktree prune --expire=now &&
	test_path_is_missing .git/worktrees/k &&
	git workspace prune 2>err &&
	test_grep "are kept in" err &&
	test_path_is_file .git/workspace/trees/k/upper/file1 &&
	test_fails 128 "is gone from the repository" git workspace mount k &&
	test_fails 128 "what is left of an earlier workspace" \
		git workspace add --detach k &&
	test_path_is_missing k &&
	test_path_is_file .git/workspace/trees/k/upper/file1 &&
	git workspace remove --force k &&
	test_nothing_left
'

test_expect_success 'prune --dry-run only tells' '
	git workspace add -q --detach k &&
	>.git/workspace/trees/k/making &&
	git workspace prune -n >out &&
	test_grep "Removing .*/k.: it was half made" out &&
	test_clean k HEAD &&
	git workspace prune -v >out &&
	test_grep "Removing .*/k.: it was half made" out &&
	test_nothing_left
'

# usage: fill <file>: until the disk is full
fill () {
	! dd if=/dev/zero of="$1" bs=1k 2>/dev/null
}

test_expect_success TMPFS 'a disk that is full' '
	mkdir disk &&
	mount -t tmpfs -o size=500k tmpfs disk &&
	test_when_finished "umount -l disk" &&
	git init -q disk/r &&
	(
		cd disk/r &&
		mkdir sub &&
		test-tool genrandom x 60000 >sub/large &&
		git add sub &&
		git commit -q -m large &&
		fill ../ballast &&
		for free in 0 4 12 20 32 40 64 80 100
		do
			size=$(stat -c %s ../ballast) &&
			truncate -s $((size - free * 1024)) ../ballast &&
			if git workspace add --detach ../w 2>../../err
			then
				git workspace remove ../w &&
				git workspace base remove HEAD
			fi &&
			git workspace prune &&
			test_path_is_missing ../w &&
			mkdir -p .git/worktrees &&
			find .git/worktrees .git/workspace/trees \
				.git/workspace/trash -mindepth 1 >../../left &&
			test_must_be_empty ../../left &&
			rm -f ../ballast &&
			fill ../ballast &&
			git fsck || exit 1
		done &&
		rm ../ballast &&
		git workspace add --detach ../w &&
		git workspace add --detach ../v &&
		git workspace add --detach ../u &&
		echo before >../w/before &&
		>../u/file &&
		fill ../w/ballast &&
		git workspace remove ../v &&
		test_path_is_missing ../v &&
		fill ../w/ballast2 &&
		test_fails 128 "contains modified" git workspace remove ../u &&
		git workspace remove --force ../u &&
		test_path_is_missing ../u &&
		rm ../w/ballast2 &&
		git --no-optional-locks -C ../w status --porcelain \
			>"$TRASH_DIRECTORY/actual" &&
		test_write_lines "?? ballast" "?? before" >"$TRASH_DIRECTORY/expect" &&
		test_cmp "$TRASH_DIRECTORY/expect" "$TRASH_DIRECTORY/actual" &&
		unmount ../w &&
		{ git workspace mount ../w || :; } &&
		git workspace prune &&
		{ rm ../w/ballast || rm .git/workspace/trees/w/upper/ballast; } &&
		git workspace mount ../w &&
		test_write_lines before >"$TRASH_DIRECTORY/expect" &&
		test_cmp "$TRASH_DIRECTORY/expect" ../w/before &&
		git workspace remove --force ../w
	)
'

# As root, all of it once more as other users; these write to the same place.
if test "$WORKSPACE_TEST" = root
then
	NESTED="$TRASH_DIRECTORY/nested"
	mkdir -p "$NESTED" &&
	chmod 1777 "$NESTED"

	# usage: nested <name> <command>...: runs all tests with it
	nested () {
		local name="$1" &&
		shift &&
		rm -rf "$NESTED/$name" &&
		mkdir -p "$NESTED/$name" &&
		chmod 1777 "$NESTED/$name" &&
		(
			cd "$TEST_DIRECTORY" &&
			WORKSPACE_TEST=$name \
			HOME="$NESTED/$name" \
			TEST_OUTPUT_DIRECTORY="$NESTED/$name" \
			"$@" "${TEST_SHELL_PATH:-/bin/sh}" ./t2408-workspace.sh \
				--root="$NESTED/$name" --verbose \
				>"$NESTED/$name.out" 2>&1
		)
		tail -n 300 "$NESTED/$name.out" &&
		grep "^not ok" "$NESTED/$name.out"
		grep "^# kind: $name\$" "$NESTED/$name.out" &&
		grep "^# passed all" "$NESTED/$name.out"
	}

	test_lazy_prereq ORDINARY '
		command -v setpriv && command -v fuse-overlayfs &&
		command -v fusermount3 && test -c /dev/fuse &&
		mkdir dev && mount -t tmpfs -o mode=755 tmpfs dev &&
		mknod dev/fuse c 10 229 && chmod 666 dev/fuse &&
		mount --bind dev/fuse /dev/fuse &&
		umount -l dev &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			test -x "$GIT_BUILD_DIR/git" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			test -x "$TRASH_DIRECTORY" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			sh -c "exec 3<>/dev/fuse"
	'
	test_lazy_prereq USERNS 'unshare -Urm true'

	test_expect_success ORDINARY,EXPENSIVE 'all of it as an ordinary user' '
		nested fuse setpriv --reuid=65534 --regid=65534 --clear-groups
	'

	test_expect_success ORDINARY 'a base of another user' '
		mkdir -p "$NESTED/foreign" &&
		chmod 1777 "$NESTED/foreign" &&
		(
			umask 022 &&
			git workspace base add --base-dir "$PWD/shared" one
		) &&
		git bundle create "$NESTED/bundle" master one &&
		chmod 644 "$NESTED/bundle" &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		env HOME="$NESTED/foreign" "$TEST_SHELL_PATH" -e -c "
			cd \"\$HOME\"
			git clone -q ../bundle -b one repo 2>err
			cd repo
			git workspace add --base-dir \"$PWD/shared\" --detach ../tree one
			git -C ../tree status --porcelain
			for round in 1 2 3
			do
				echo edit >>../tree/file\$round
				git -C ../tree add file\$round
			done
			mkdir ../tree/new
			>../tree/new/file
			chmod +x ../tree/file4
			git -C ../tree status --porcelain
			git -C ../tree -c core.fsmonitor=false status --porcelain
			git -C ../tree reset -q --hard
			rm -r ../tree/new
			git -C ../tree status --porcelain
		" >actual 2>foreign.err &&
		test_write_lines "M  file1" "M  file2" "M  file3" " M file4" \
			"?? new/" >once &&
		sed -n "/^HEAD is/p" actual >expect &&
		cat once once >>expect &&
		test_cmp expect actual &&
		test_grep ! "freshen\|warning\|Making" foreign.err &&
		test_fails 128 "in use by" git workspace base remove \
			--base-dir "$PWD/shared" one &&
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		env HOME="$NESTED/foreign" git -C "$NESTED/foreign/repo" \
			workspace remove ../tree &&
		git workspace base remove --base-dir "$PWD/shared" one
	'

	test_expect_success USERNS,EXPENSIVE 'all of it as root of a user namespace' '
		nested userxattr setpriv --reuid=65534 --regid=65534 \
			--clear-groups unshare -Urm
	'
fi

test_expect_success MOUNT_NS 'a name that is no text, in another mount namespace' '
	name=$(printf "no\\377text") &&
	mkdir "$name" &&
	git workspace add -q --detach "$name" &&
	start_other &&
	unmount "$name" &&
	test_fails 128 "mounted \(on\|by\)" \
		env LC_ALL=C.UTF-8 git workspace mount "$name" &&
	stop_other &&
	git workspace remove --force "$name"
'

test_expect_success 'a folder above that became a link' '
	mkdir disk1 disk2 &&
	git workspace add -q --detach disk1/linked &&
	echo changed >disk1/linked/new &&
	unmount disk1/linked &&
	mv disk1/linked disk2/ &&
	rmdir disk1 &&
	ln -s disk2 disk1 &&
	git workspace mount disk1/linked &&
	test_path_is_file disk2/linked/new &&
	echo "?? new" >expect &&
	git -C disk1/linked status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace remove --force disk2/linked &&
	test_path_is_missing disk2/linked &&
	rm disk1
'

test_expect_success 'a .git that was not written, since the disk was full' '
	git workspace add -q --detach emptied &&
	unmount emptied &&
	>emptied/.git &&
	git workspace mount emptied &&
	test_clean emptied &&
	git workspace remove emptied
'

test_expect_success 'from within one that is not mounted' '
	git workspace add -q --detach within &&
	unmount within &&
	(
		cd within &&
		git workspace list >../list &&
		test_grep within ../list &&
		git workspace mount .
	) &&
	test_clean within &&
	git workspace remove within
'

test_expect_success 'not where bases are, and a base of no commit' '
	test_fails 128 "in which bases or layers are kept" \
		git workspace add .git/workspace/bases/inside &&
	test_fails 128 "not a commit: .nosuch" \
		git workspace add --base nosuch absent &&
	test_path_is_missing absent
'

# usage: not_safe <text>: the base of one in trust/bases is not used, for that
not_safe () {
	test_fails 128 "is not safe to use: $1" git workspace add \
		--base-dir "$PWD/trust/bases" --detach k one &&
	test_grep "workspace.trustedBaseDir .*/trust/bases" err &&
	test_gone k k
}

test_expect_success 'a base that others can change is not used' '
	mkdir -p trust &&
	chmod 755 trust &&
	dir="$PWD/trust/bases" &&
	(
		umask 0 &&
		git workspace base add -q --base-dir "$dir" one
	) &&
	base=trust/bases/$(git rev-parse one) &&
	for what in trust trust/bases $base $base/tree $base/index \
		$base/token $base/sharedindex.*
	do
		chmod o+w $what &&
		not_safe "others can write to it: .$PWD/$what." &&
		chmod o-w $what || return 1
	done &&
	chmod 1777 trust/bases &&
	not_safe "others can write to it: .$dir." &&
	for command in "base add HEAD" "base remove one" prune
	do
		test_fails 128 "is not safe" \
			git workspace $command --base-dir "$dir" || return 1
	done &&
	git workspace base list --base-dir "$dir" &&
	chmod 755 trust/bases &&
	chmod 1777 trust &&
	git workspace add -q --base-dir "$dir" --detach k one &&
	unmount k &&
	chmod o+w $base &&
	test_fails 128 "is not safe to use: others" git workspace mount k &&
	test_config workspace.trustedBaseDir "$dir" &&
	git workspace mount k &&
	test_clean k one &&
	git workspace remove k
'

test_expect_success 'a base that others may read has no file they can change' '
	find trust/bases ! -type l ! -path "*/users" -perm /022 >out &&
	base=trust/bases/$(git rev-parse one) &&
	echo $base >expect &&
	test_cmp expect out &&
	chmod o-w $base
'

test_expect_success ROOT_OWNS 'a base of another user is not used' '
	base=trust/bases/$(git rev-parse one) &&
	for what in trust $base $base/tree $base/index
	do
		chown 1234 $what &&
		not_safe "it belongs to user 1234: .$PWD/$what." &&
		chown 0 $what || return 1
	done &&
	chgrp 1234 $base &&
	chmod g+w $base &&
	not_safe "others can write to it: .$PWD/$base." &&

	# Nor could that be hidden by a link.
	mv trust/bases trust/elsewhere &&
	ln -s elsewhere/../elsewhere trust/bases &&
	test_fails 128 "others can write to it: .$PWD/trust/elsewhere" \
		git workspace add --base-dir trust/bases --detach k one &&
	rm trust/bases &&
	mv trust/elsewhere trust/bases &&
	chgrp 0 $base &&
	chmod g-w $base &&

	# one with a repository that Git believes for its owner
	git clone -q . theirs &&
	chown -R 1234 theirs trust/bases &&
	test_config_global safe.directory "*" &&
	git -C theirs workspace add -q --base-dir "$PWD/trust/bases" \
		--detach ../k origin/one &&
	test_clean k one &&
	git -C theirs workspace remove ../k &&
	chown -R 0 trust/bases &&
	git workspace base remove --base-dir "$PWD/trust/bases" one
'

test_expect_success 'nothing of the environment reaches what is made' '
	test_when_finished "git workspace base remove --base-dir \"$PWD/env\" one" &&
	test_hook post-checkout <<-\EOF &&
	for name in $(git rev-parse --local-env-vars)
	do
		eval "value=\${$name-unset}"
		echo $name=$value
	done >"$HOME/env.out"
	EOF
	GIT_OBJECT_DIRECTORY="$PWD/.git/objects" \
	GIT_ALTERNATE_OBJECT_DIRECTORIES="$PWD/none" \
	GIT_NO_REPLACE_OBJECTS=1 GIT_REPLACE_REF_BASE=refs/x \
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c \
		git -c core.eol=crlf -c core.autocrlf=true workspace add -q \
		--base-dir "$PWD/env" --detach k one &&
	test_grep "^GIT_OBJECT_DIRECTORY=unset\$" env.out &&
	sed -e "/=unset\$/d" -e "/^GIT_\(DIR\|PREFIX\)=/d" env.out >out &&
	test_must_be_empty out &&
	test_clean k one &&
	git workspace remove k
'

test_expect_success PIPE 'a .git that would never answer' '
	mkdir pipe &&
	mkfifo pipe/.git &&
	(
		cd pipe &&
		test_fails 128 "not a regular file" timeout 20 git workspace list
	)
'

test_expect_success 'a repository that Git does not believe' '
	git workspace add -q --detach k &&
	unmount k &&
	(
		cd k &&
		GIT_TEST_ASSUME_DIFFERENT_OWNER=1 &&
		export GIT_TEST_ASSUME_DIFFERENT_OWNER &&
		test_fails 128 "dubious ownership" git workspace list
	) &&
	git workspace mount k &&
	git workspace remove k
'

test_expect_success 'files without content, as a power failure leaves them' '
	git workspace add -q --detach k &&
	echo edit >>k/file1 &&
	echo " M file1" >expect &&
	unmount k &&
	>.git/workspace/trees/k/upper/.git &&
	>.git/workspace/not-mounted/config &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual &&
	unmount k &&
	test_must_fail git -C k status 2>err &&
	test_grep "run-git-workspace-mount" err &&

	# "making" was there before all else was on disk, and is again
	>.git/workspace/trees/k/making &&
	git workspace prune &&
	git workspace mount k &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual &&
	git workspace remove --force k &&

	git worktree add --no-checkout --detach --lock \
		--reason "it is a workspace: see ${SQ}git workspace${SQ}" k &&
	>.git/worktrees/k/gitdir &&
	git workspace prune &&
	rm -r k &&
	test_nothing_left
'

test_expect_success 'killed while it gave worktrees configuration of their own' '
	git clone -q --bare . killed.git &&
	git -C killed.git config --file config.worktree core.bare true &&
	git -C killed.git config extensions.worktreeConfig true &&
	git -C killed.git config core.bare true &&
	git -C killed.git workspace add -q --detach ../k &&
	test_clean k HEAD &&
	test_must_fail git config --file killed.git/config core.bare &&
	git -C killed.git rev-parse --is-bare-repository >actual &&
	echo true >expect &&
	test_cmp expect actual &&
	git -C killed.git workspace remove ../k
'

test_expect_success 'what is missing in the upper layer is seen' '
	git workspace add -q --detach k &&
	echo mine >k/sub/file1 &&
	rm k/other/file1 &&
	git -C k add -A &&
	git -C k commit -q -m mine &&
	git -C k tag mine &&
	git -C k status --porcelain >actual &&
	test_must_be_empty actual &&
	unmount k &&
	rm .git/workspace/trees/k/upper/sub/file1 \
		.git/workspace/trees/k/upper/other/* &&
	git workspace mount k &&
	test_write_lines " M sub/file1" "?? other/file1" >expect &&
	git -C k status --porcelain >actual &&
	test_cmp expect actual &&
	test_fails 128 "contains modified" git workspace remove k &&
	git -C k reset -q --hard &&
	git -C k clean -q -f &&
	test_clean k mine &&
	git workspace remove k &&
	git tag -d mine
'

test_done
