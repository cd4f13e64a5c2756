#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='directories that are read ahead while looking for untracked files

Whether threads read them must not make a difference to anybody but the clock.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

if ! test_have_prereq PTHREADS
then
	skip_all='no threads'
	test_done
fi

sane_unset GIT_TEST_DIR_AHEAD GIT_TEST_UNTRACKED_CACHE \
	GIT_FORCE_UNTRACKED_CACHE GIT_TEST_FSMONITOR GIT_TEST_SPLIT_INDEX

# What is printed, and the exit code.
run_git () {
	git "$@" >out 2>&1
	echo "exit $?" >>out
}

# usage: same_with_threads [-C <dir>] <git arguments>
# "trace" then is that of the run with threads.
same_with_threads () {
	run_git -c core.preloadIndex=false "$@" &&
	mv out expect &&
	rm -f trace &&
	(
		GIT_TEST_DIR_AHEAD=1 GIT_TRACE2_EVENT="$PWD/trace" &&
		export GIT_TEST_DIR_AHEAD GIT_TRACE2_EVENT &&
		run_git "$@"
	) &&
	mv out actual &&
	test_cmp expect actual
}

test_threads () {
	test_grep '"key":"read-ahead/threads"' trace
}

test_no_threads () {
	test_grep ! '"key":"read-ahead/threads"' trace
}

# The commands that look for untracked files, each in other ways.
same_answers () {
	for args in "status --porcelain" "status --porcelain -uall" \
		"status --porcelain --ignored" \
		"status --porcelain -uall --ignored=traditional" \
		"status --porcelain --ignored=matching" \
		"status --porcelain -uno" \
		"status --porcelain -- tracked untracked/d*" \
		"ls-files -o" "ls-files -o --exclude-standard" \
		"ls-files -o --directory --exclude-standard" \
		"ls-files -o --directory --no-empty-directory" \
		"ls-files -o -i --exclude-standard" \
		"ls-files -o --exclude-per-directory=.gitignore" \
		"ls-files -o --exclude-per-directory=sub/.gitignore" \
		"ls-files -o --exclude=*.o tracked" "ls-files -k" \
		"clean -n -d" "clean -n -d -x" "clean -n -d -X" \
		"clean -n -d -f -f" "clean -n -d -e kept" \
		"add -n -A" "add -n ." "add -n tracked/*" \
		"add -n tracked/ignored" "grep --untracked --threads=1 -c ." \
		"check-ignore -v tracked/ignored/x untracked/a"
	do
		same_with_threads -C "${1-work}" $args || return 1
	done
}

test_expect_success 'setup' '
	git init work &&
	(
		cd work &&
		mkdir -p tracked/a/b/c tracked/d/e tracked/f "tracked/ with space" &&
		for d in tracked tracked/a tracked/a/b tracked/a/b/c tracked/d/e \
			tracked/f "tracked/ with space"
		do
			echo 1 >"$d/file" || return 1
		done &&
		test_write_lines "*.o" /ignored/ >.gitignore &&
		test_write_lines "!kept.o" "ignored" >tracked/.gitignore &&
		test_write_lines "x*" >tracked/a/.gitignore &&
		git add . &&
		for d in $(test_seq 12)
		do
			mkdir tracked/f/$d && echo 1 >tracked/f/$d/file || return 1
		done &&
		git add tracked/f &&
		echo 1 >tracked/d/late &&
		mkdir tracked/d/ignored && echo 1 >tracked/d/ignored/but-tracked &&
		git add -f tracked/d/ignored &&
		git commit -m tree &&

		echo "!xyz" >tracked/a/b/.gitignore &&
		for f in 1.o xyz x1 new "o p"
		do
			echo $f >"$f" && echo $f >"tracked/a/$f" &&
			echo $f >"tracked/a/b/$f" || return 1
		done &&
		mkdir -p ignored/deep tracked/ignored tracked/d/ignored/deep \
			untracked/a untracked/d/e empty/empty only-ignored/d \
			kept/d nested/d tracked/nested/d not-nested/.git &&
		for d in ignored ignored/deep tracked/ignored \
			tracked/d/ignored/deep untracked/d untracked/d/e kept/d
		do
			echo 2 >"$d/x" || return 1
		done &&
		echo 3 >only-ignored/d/3.o && echo 4 >only-ignored/kept.o &&
		echo 5 >not-nested/file &&
		git init nested && echo 6 >nested/d/file &&
		git init tracked/nested && echo 7 >tracked/nested/d/file &&
		test_commit -C nested one
	)
'

test_expect_success SYMLINKS 'setup: symbolic links' '
	(
		cd work &&
		ln -s tracked link &&
		mkdir odd1 odd2 odd3 &&
		echo "*" >ignore-all &&
		ln -s ../ignore-all odd1/.gitignore &&
		echo 1 >odd1/file &&
		mkdir odd2/.gitignore &&
		echo 1 >odd2/file &&
		ln -s . odd3/loop
	)
'

test_expect_success 'same answers' '
	same_answers &&
	same_with_threads -C work status &&
	test_threads &&
	test_grep "read-ahead/directories" trace
'

test_expect_success 'same answers in a subdirectory' '
	same_with_threads -C work/tracked status --porcelain . &&
	test_threads &&
	same_with_threads -C work/tracked/a status --porcelain . &&
	same_with_threads -C work/tracked/a ls-files -o --exclude-standard &&
	same_with_threads -C work/tracked clean -n -d -x &&
	same_with_threads -C work/tracked/a add -n .
'

test_expect_success 'tracked files of ignored directories' '
	git -C work ls-files -i -c --exclude-standard >actual &&
	test_grep ignored/but-tracked actual &&
	same_with_threads -C work ls-files -i -c --exclude-standard
'

test_expect_success SANITY 'unreadable directories and ignore files' '
	test_when_finished "chmod 755 work/tracked/f work/untracked/d &&
		chmod 644 work/tracked/a/b/.gitignore" &&
	chmod 0 work/tracked/f work/untracked/d work/tracked/a/b/.gitignore &&
	same_answers &&
	git -C work status --porcelain -uall 2>err &&
	test_grep "could not open directory .tracked/f/" err
'

test_expect_success SYMLINKS 'an odd ignore file where the walk begins' '
	test_when_finished "git -C work reset -q" &&
	git -C work add odd1/file &&
	same_with_threads -C work/odd1 status --porcelain . &&
	test_grep "unable to access" expect
'

test_expect_success SYMLINKS 'a symbolic link in place of a tracked directory' '
	test_when_finished "rm work/tracked/a && mv moved work/tracked/a" &&
	mv work/tracked/a moved &&
	ln -s "$PWD/moved" work/tracked/a &&
	same_answers
'

test_expect_success 'a tracked directory is missing, another one is a file' '
	test_when_finished "rm work/tracked/a && mv moved work/tracked/a &&
		mv missing work/tracked/d" &&
	mv work/tracked/a moved &&
	>work/tracked/a &&
	mv work/tracked/d missing &&
	same_answers
'

test_expect_success 'a large ignore file' '
	test_when_finished "rm work/tracked/d/.gitignore" &&
	test-tool genzeros 4200000 >work/tracked/d/.gitignore &&
	test_write_lines "" late >>work/tracked/d/.gitignore &&
	>work/tracked/d/untracked &&
	test_when_finished "rm work/tracked/d/untracked" &&
	same_with_threads -C work status --porcelain -uall
'

test_expect_success PIPE,SYMLINKS 'an ignore file that is no file' '
	test_when_finished "rm -r work/tracked/pipe" &&
	mkdir work/tracked/pipe &&
	echo 1 >work/tracked/pipe/file &&
	git -C work add tracked/pipe &&
	test_when_finished "git -C work reset -q" &&
	mkfifo work/tracked/pipe/.gitignore &&
	# neither asks for what is ignored there
	same_with_threads -C work status --porcelain -- tracked/pipe/file
'

test_expect_success ULIMIT_FILE_DESCRIPTORS 'hardly any file descriptors' '
	(
		ulimit -n 16 &&
		same_with_threads -C work status --porcelain -uall &&
		same_with_threads -C work clean -n -d -x
	)
'

test_expect_success 'pathspecs with attributes' '
	test_when_finished "rm work/.gitattributes" &&
	echo "new some" >work/.gitattributes &&
	same_with_threads -C work ls-files -o ":(attr:some)" &&
	test_grep tracked/a/new actual &&
	test_threads
'

# usage: uc_counters <trace>
uc_counters () {
	sed -n -e "s/.*\"category\":\"read_directory\",\"key\":\"\([^\"]*\)\",\"value\":\"\([^\"]*\)\".*/\1 \2/p" "$1"
}

# usage: same_caches <git arguments>
# From the same index, with threads and without. Its time says what is racy.
same_caches () {
	cp -p work/.git/index index.before &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$PWD/trace" \
		git -C work -c core.preloadIndex=false "$@" >expect &&
	uc_counters trace >expect.counters &&
	(cd work && test-tool dump-untracked-cache) >expect.cache &&
	cp -p index.before work/.git/index &&
	rm trace &&
	GIT_TEST_DIR_AHEAD=1 GIT_TRACE2_EVENT="$PWD/trace" \
		git -C work "$@" >actual &&
	uc_counters trace >actual.counters &&
	(cd work && test-tool dump-untracked-cache) >actual.cache &&
	test_cmp expect actual &&
	test_cmp expect.counters actual.counters &&
	test_grep opendir actual.counters &&
	test_cmp expect.cache actual.cache
}

# What the hook of fsmonitor says, if it is asked.
changed () {
	printf "%s\0" "$@" >work/.git/changed
}

for fsmonitor in false true
do
	test_expect_success "untracked cache, fsmonitor=$fsmonitor" '
		test_when_finished "git -C work config --unset core.untrackedCache;
			git -C work update-index --no-untracked-cache;
			git -C work config --unset core.fsmonitor || :" &&
		git -C work config core.untrackedCache true &&
		if test $fsmonitor = true
		then
			write_script work/.git/hook <<-\EOS &&
			printf "token\0"
			cat .git/changed
			EOS
			git -C work config core.fsmonitor .git/hook &&
			git -C work config core.fsmonitorHookVersion 2
		fi &&
		changed / &&
		git -C work update-index --untracked-cache &&
		same_caches status --porcelain &&
		test_threads &&
		find work -name .git -prune -o -type d -print >dirs &&
		while read d
		do
			test-tool chmtime =-60 "$d" || return 1
		done <dirs &&
		git -C work status --porcelain &&
		git -C work status --porcelain &&
		>work/.git/changed &&
		same_caches status --porcelain &&
		# with fsmonitor, there is nothing to look at
		{ test $fsmonitor = true || test_threads; } &&
		echo new >work/tracked/a/b/another &&
		changed tracked/a/b/another &&
		same_caches status --porcelain &&
		test_grep another actual &&
		rm work/tracked/a/b/another &&
		echo "b*" >>work/tracked/a/.gitignore &&
		changed tracked/a/b/another tracked/a/.gitignore &&
		same_caches status --porcelain &&
		git -C work checkout tracked/a/.gitignore &&
		same_caches status --porcelain &&
		rm -r work/untracked/d &&
		changed untracked/d untracked/d/ untracked/d/x untracked/ &&
		same_caches status --porcelain &&
		mkdir -p work/untracked/d/e &&
		echo 2 >work/untracked/d/x && echo 2 >work/untracked/d/e/x &&
		same_caches status --porcelain &&
		same_with_threads -C work status --porcelain -uall
	'
done

test_expect_success PIPE 'an ignore file that became a pipe, in what is ignored by now' '
	git init pipe &&
	mkdir pipe/a &&
	echo x >pipe/a/.gitignore &&
	echo y >pipe/.gitignore &&
	git -C pipe add . &&
	# is there anything to be ignored? else the file is not read at all
	>pipe/a/untracked &&
	git -C pipe config core.untrackedCache true &&
	git -C pipe update-index --untracked-cache &&
	test-tool chmtime =-60 pipe pipe/a &&
	git -C pipe status --porcelain &&
	git -C pipe status --porcelain &&
	rm pipe/a/.gitignore &&
	mkfifo pipe/a/.gitignore &&
	echo a/ >>pipe/.gitignore &&
	GIT_TEST_DIR_AHEAD=1 git -C pipe status --porcelain >actual &&
	test_grep "a/.gitignore" actual
'

test_expect_success 'sparse index' '
	test_when_finished "git -C work sparse-checkout disable" &&
	git -C work sparse-checkout set --cone --sparse-index tracked/a &&
	mkdir -p work/tracked/f && echo 1 >work/tracked/f/untracked &&
	same_answers &&
	rm -r work/tracked/f
'

test_expect_success 'submodules are looked at in turn' '
	test_when_finished "git -C work reset -q --hard" &&
	git -C work -c protocol.file.allow=always submodule add \
		"$PWD/work/nested" sub &&
	echo 1 >work/sub/untracked &&
	same_with_threads -C work status --porcelain &&
	test_threads &&
	git -C work rm -q -f .gitmodules sub &&
	rm -rf work/sub work/.gitmodules
'

test_expect_success 'what is in memory is not read ahead' '
	git -C work status --porcelain >expect &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C work status --porcelain >actual &&
	test_cmp expect actual &&
	test_no_threads
'

test_expect_success 'nor is anything with core.preloadIndex=false' '
	rm -f trace &&
	GIT_TEST_DIR_AHEAD=1 GIT_TRACE2_EVENT="$PWD/trace" \
		git -C work -c core.preloadIndex=false status --porcelain &&
	test_no_threads
'

test_done
