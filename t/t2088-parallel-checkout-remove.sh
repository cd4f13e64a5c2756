#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout: files that workers remove, links they make

What is removed, what is left, and what is said about it must be the same as
with one worker, where entry.c does it.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"
. "$TEST_DIRECTORY/lib-broken-worker.sh"

# usage: workers_git <n> <git arguments>
# What it says is in err, and the trace of the main process in trace.
workers_git () {
	workers=$1 &&
	shift &&
	rm -f "$TRASH_DIRECTORY/trace" &&
	GIT_TRACE2_EVENT="$TRASH_DIRECTORY/trace" git \
		-c checkout.workers=$workers \
		-c checkout.thresholdForParallelism=0 \
		"$@" 2>"$TRASH_DIRECTORY/err"
}

# usage: traced <key> <value>
traced () {
	test_grep "\"category\":\"pcheckout\",\"key\":\"$1\",\"value\":\"$2\"" \
		"$TRASH_DIRECTORY/trace"
}

# usage: fresh <dir>
fresh () {
	rm -rf "$1" &&
	git clone -q files "$1"
}

test_expect_success 'setup' '
	git init files &&
	(
		cd files &&
		mkdir -p a/b/c a/d e/f/g/h/i keep &&
		for i in $(test_seq 40)
		do
			for d in . a a/b a/b/c a/d e/f/g/h/i
			do
				echo "$d $i" >$d/f$i || return 1
			done || return 1
		done &&
		echo stays >keep/stays &&
		echo goes >keep/goes &&
		git add . &&
		git commit -q -m full &&
		git rm -rfq a e keep/goes "f*" &&
		git commit -q -m few &&
		git branch few &&
		git reset -q --hard HEAD^
	)
'

for workers in 1 2 5
do
	test_expect_success "files and directories are gone, workers=$workers" '
		fresh gone &&
		workers_git $workers -C gone switch -q --detach origin/few &&
		test_must_be_empty err &&
		find gone -name .git -prune -o -print | sort >actual &&
		cat >expect <<-\EOF &&
		gone
		gone/keep
		gone/keep/stays
		EOF
		test_cmp expect actual &&
		git -C gone status --porcelain >status &&
		test_must_be_empty status &&
		if test $workers != 1
		then
			# 241 files, 9 directories, and one that is not empty;
			# two of them may be tried before what is in there is gone
			traced workers $workers &&
			traced removals "25[1-4]" &&
			traced lost_workers 0
		fi
	'

	test_expect_success "progress counts removed files, workers=$workers" '
		fresh progress &&
		test_env GIT_PROGRESS_DELAY=0 workers_git $workers -C progress \
			switch --progress --detach origin/few &&
		tr "\015" "\012" <err >lines &&
		test_grep "^Updating files: *[1-9][0-9]*% ([1-9][0-9]*/241)" lines &&
		test_grep "^Updating files: 100% (241/241), done\." lines
	'

	test_expect_success "what is not tracked stays, workers=$workers" '
		fresh untracked &&
		echo mine >untracked/a/b/mine &&
		mkdir untracked/e/f/empty &&
		workers_git $workers -C untracked switch -q --detach origin/few &&
		test_must_be_empty err &&
		(cd untracked && find a e | sort) >actual &&
		cat >expect <<-\EOF &&
		a
		a/b
		a/b/mine
		e
		e/f
		e/f/empty
		EOF
		test_cmp expect actual
	'

	test_expect_success "changed files are not removed, workers=$workers" '
		fresh changed &&
		echo changed >changed/a/d/f7 &&
		test_must_fail git -C changed -c checkout.workers=$workers \
			-c checkout.thresholdForParallelism=0 \
			switch -q --detach origin/few 2>err &&
		test_grep "a/d/f7" err &&
		git -C changed diff --name-only >actual &&
		echo a/d/f7 >expect &&
		test_cmp expect actual &&
		workers_git $workers -C changed reset -q --hard origin/few &&
		test_path_is_missing changed/a
	'

	test_expect_success SANITY "what cannot be removed is reported, workers=$workers" '
		fresh denied &&
		chmod a-w denied/a/b &&
		test_when_finished "chmod u+w denied/a/b" &&
		workers_git $workers -C denied switch -q --detach origin/few &&
		sort err >actual &&
		for i in $(test_seq 40)
		do
			echo "warning: unable to unlink '\''a/b/f$i'\'': Permission denied" ||
				return 1
		done >unsorted &&
		sort unsorted >expect &&
		test_cmp expect actual &&
		test_path_is_file denied/a/b/f1 &&
		test_path_is_missing denied/a/b/c/f1 &&
		test_path_is_missing denied/a/d
	'

	test_expect_success SYMLINKS "nothing is removed through a link, workers=$workers" '
		fresh links &&
		mkdir outside &&
		test_when_finished "rm -rf outside" &&
		mv links/a/b outside/b &&
		ln -s ../../outside/b links/a/b &&
		workers_git $workers -C links reset -q --hard origin/few &&
		test_path_is_file outside/b/f1 &&
		test_path_is_file outside/b/c/f40 &&
		test -h links/a/b &&
		test_path_is_missing links/a/d
	'

	test_expect_success "the current directory stays, workers=$workers" '
		fresh cwd &&
		(
			cd cwd/e/f/g &&
			workers_git $workers switch -q --detach origin/few
		) &&
		test_path_is_dir cwd/e/f/g &&
		test_path_is_missing cwd/e/f/g/h &&
		test_path_is_missing cwd/a
	'

	test_expect_success "sparse-checkout, workers=$workers" '
		fresh sparse &&
		workers_git $workers -C sparse sparse-checkout set keep &&
		test_path_is_missing sparse/a &&
		test_path_is_missing sparse/e &&
		test_path_is_file sparse/f1 &&
		workers_git $workers -C sparse sparse-checkout disable &&
		git -C sparse status --porcelain >status &&
		test_must_be_empty status &&
		test_path_is_file sparse/e/f/g/h/i/f40
	'
done

test_expect_success 'a file becomes a directory, and the reverse' '
	fresh df &&
	(
		cd df &&
		git switch -q -c other &&
		git rm -rfq a e &&
		for i in $(test_seq 40)
		do
			rm f$i &&
			mkdir f$i &&
			echo "below $i" >f$i/file || return 1
		done &&
		echo file >a &&
		echo file >e &&
		git add . &&
		git commit -q -m other
	) &&
	for w in 1 2 5
	do
		workers_git $w -C df switch -q master &&
		git -C df status --porcelain >status &&
		test_must_be_empty status &&
		test_path_is_file df/f1 &&
		workers_git $w -C df switch -q other &&
		git -C df status --porcelain >status &&
		test_must_be_empty status &&
		test_path_is_file df/a &&
		test_path_is_file df/f40/file || return 1
	done
'

test_expect_success 'a removed submodule among removed files' '
	test_when_finished "rm -rf super sub" &&
	git init -q sub &&
	test_commit -C sub one &&
	git clone -q files super &&
	(
		cd super &&
		git -c protocol.file.allow=always submodule --quiet add ../sub a/sub &&
		git commit -q -m sub &&
		for w in 1 2
		do
			workers_git $w -c submodule.recurse=true \
				switch -q --detach origin/few &&
			test_path_is_missing a &&
			workers_git $w -c submodule.recurse=true switch -q master &&
			test_path_is_file a/sub/one.t || return 1
		done
	)
'

# The first worker that is asked for dies when it is given something.
test_expect_success 'workers that are lost while they remove' '
	setup_broken_worker &&
	for w in 2 3
	do
		fresh lost &&
		break_worker "dd bs=1 count=1 >/dev/null 2>&1; exit 1" &&
		faulty_git -C lost \
			-c checkout.workers=$w -c checkout.thresholdForParallelism=0 \
			switch -q --detach origin/few 2>err &&
		echo "warning: a checkout worker has ended early; its files are written again" >expect &&
		test_cmp expect err &&
		find lost -name .git -prune -o -type f -print >actual &&
		echo lost/keep/stays >expect &&
		test_cmp expect actual &&
		test_path_is_missing lost/a &&
		test_path_is_missing lost/e || return 1
	done
'

test_expect_success SYMLINKS 'links are made by workers' '
	fresh made &&
	(
		cd made &&
		for i in $(test_seq 30)
		do
			mkdir -p l$i &&
			ln -s "to $i" l$i/link &&
			ln -s ../f$i l$i/good || return 1
		done &&
		git add . &&
		git commit -q -m links
	) &&
	for w in 1 2 5
	do
		rm -rf made/l* &&
		workers_git $w -C made checkout -f -q &&
		if test $w != 1
		then
			traced entries 60 &&
			traced declined 0
		fi &&
		git -C made diff-files --exit-code &&
		test "$(test_readlink made/l7/link)" = "to 7" &&
		test_cmp made/f7 made/l7/good || return 1
	done
'

test_expect_success SYMLINKS 'a link that cannot be made is reported as ever' '
	rm -rf bad &&
	git init bad &&
	target=$(test-tool genzeros 5000 | tr "\000" x | git -C bad hash-object -w --stdin) &&
	empty=$(git -C bad hash-object -w --stdin </dev/null) &&
	fine=$(echo fine | git -C bad hash-object -w --stdin) &&
	git -C bad update-index --add --index-info <<-EOF &&
	120000 $target	d/long
	120000 $empty	d/empty
	100644 $fine	d/fine
	100644 $fine	fine
	EOF
	for w in 1 2
	do
		rm -rf bad/d bad/fine &&
		test_expect_code 1 workers_git $w -C bad checkout-index -f --all &&
		test_path_is_file bad/d/fine &&
		sort err >err.$w || return 1
	done &&
	test_line_count = 2 err.1 &&
	test_cmp err.1 err.2
'

test_expect_success SYMLINKS 'what is in the place of a link' '
	for w in 1 2
	do
		rm -rf made/l1/link made/l2/link made/l3 &&
		echo file >made/l1/link &&
		mkdir -p made/l2/link/dir &&
		>made/l2/link/dir/file &&
		echo file >made/l3 &&
		workers_git $w -C made checkout -f -q &&
		git -C made status --porcelain >status &&
		test_must_be_empty status || return 1
	done
'

# The file may decide how the others are written, tracked or not.
test_expect_success 'untracked .gitattributes in directories that are there' '
	for w in 1 2
	do
		fresh attr &&
		rm attr/a/b/f* attr/a/b/c/f* &&
		rm -r attr/e &&
		echo "f* eol=crlf" >attr/a/b/.gitattributes &&
		workers_git $w -C attr checkout -f -q &&
		printf "a/b 1\r\n" >expect &&
		test_cmp_bin expect attr/a/b/f1 &&
		printf "a/b/c 1\r\n" >expect &&
		test_cmp_bin expect attr/a/b/c/f1 &&
		printf "e/f/g/h/i 1\n" >expect &&
		test_cmp_bin expect attr/e/f/g/h/i/f1 || return 1
	done
'

# Workers that are started after that cannot read it any more.
for workers in 1 2 auto
do
	test_expect_success "a file that configuration includes is removed, workers=$workers" '
		rm -rf config &&
		git init -q config &&
		(
			cd config &&
			printf "[core]\n\tuseReplaceRefs = false\n" >.gitconfig &&
			git add .gitconfig &&
			git commit -q -m one &&
			git tag one &&
			git rm -q .gitconfig &&
			for i in 1 2 3 4
			do
				test-tool genrandom $i 3000000 >.a$i || return 1
			done &&
			for i in $(test_seq 300)
			do
				echo $i >f$i || return 1
			done &&
			git add . &&
			git commit -q -m two &&
			git tag two &&
			git replace $(git rev-parse :f9 :f10) &&
			git checkout -q one &&
			git config include.path ../.gitconfig
		) &&
		workers_git $workers -C config checkout -q two &&
		echo 9 >expect &&
		test_cmp expect config/f9
	'
done

# An entry can be up to date without anybody having looked at its path. What is
# not tracked there must not be lost.
# usage: setup_unseen
# HEAD has an entry that "two" has not.
setup_unseen () {
	rm -rf unseen &&
	git init -q unseen &&
	(
		cd unseen &&
		echo one >file &&
		echo one >other &&
		git add . &&
		git commit -q -m one &&
		git tag one &&
		git rm -q file &&
		git commit -q -m two &&
		git tag two &&
		git checkout -q one
	)
}

# usage: check_unseen
# What nobody knows to be at the path of that entry stays there.
check_unseen () {
	rm unseen/file &&
	mkdir unseen/file &&
	echo precious >unseen/file/untracked &&
	test_must_fail git -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=0 -C unseen \
		checkout two 2>err &&
	test_grep "would lose untracked files" err &&
	test_path_is_file unseen/file/untracked &&
	(cd unseen && test_cmp_rev one HEAD)
}

for flag in assume-unchanged skip-worktree
do
	test_expect_success "a directory at the path of an entry with $flag" '
		setup_unseen &&
		git -C unseen update-index --$flag file &&
		check_unseen
	'
done

test_expect_success 'a directory at a path that fsmonitor has not told of' '
	setup_unseen &&
	test_hook -C unseen --setup fsmonitor-test <<-\EOF &&
	printf "last_update_token\0"
	EOF
	git -C unseen config core.fsmonitor .git/hooks/fsmonitor-test &&
	git -C unseen config core.fsmonitorHookVersion 2 &&
	git -C unseen update-index --fsmonitor &&
	git -C unseen status &&
	git -C unseen ls-files -f file >actual &&
	echo "h file" >expect &&
	test_cmp expect actual &&
	check_unseen
'

# What is excluded is asked for each path that goes, with what that says of the
# file of patterns, although it is known that there is no directory.
test_expect_success SYMLINKS 'a .gitignore that is a link is warned of' '
	for w in 1 2
	do
		setup_unseen &&
		(
			cd unseen &&
			mkdir dir &&
			echo one >dir/file &&
			git add dir &&
			git commit -q -m dir &&
			ln -s file dir/.gitignore &&
			test-tool chmtime =-100 other file dir/file &&
			git update-index --refresh &&
			git -c checkout.workers=$w \
				-c checkout.thresholdForParallelism=0 \
				checkout one 2>err &&
			test_path_is_missing dir/file &&
			test_grep "unable to access .dir/.gitignore." err
		) || return 1
	done
'

test_done
