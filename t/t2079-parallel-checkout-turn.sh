#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout: each entry is handled as at its turn

What decides how an entry is written (attributes, drivers, .gitmodules,
configuration) is what the sequential code would see at that turn, and what runs
beside it (filters, submodules) sees no old version of a file that comes before.

Each test is done with one worker, with two, with a number that is found out, and
with one that is found out at once.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-broken-worker.sh"

unset GIT_TEST_CHECKOUT_WORKERS

# usage: each_setting [<prerequisite>] <title> <code>
#
# The code runs git as "$GIT", a command with its arguments, which is to be
# split. It has an empty directory of its own.
each_setting () {
	prereq=
	if test $# = 3
	then
		prereq=$1
		shift
	fi
	for setting in 1 2 auto now
	do
		case $setting in
		1) options='-c checkout.workers=1' ;;
		2) options='-c checkout.workers=2 -c checkout.thresholdForParallelism=0' ;;
		auto) options='-c checkout.workers=auto' ;;
		now) options='-c checkout.workers=auto -c checkout.thresholdForParallelism=0' ;;
		esac
		GIT="git $options"
		GIT_FAULTY="faulty_git $options"
		code=$2
		test_expect_success $prereq "$1 ($setting)" '
			rm -rf case &&
			mkdir case &&
			(cd case && eval "$code")
		'
	done
}

test_expect_success 'setup: configuration' '
	git config --global filter.x.required true &&
	git config --global protocol.file.allow always
'

# usage: init_repo <branch>
init_repo () {
	git init -q -b "$1" repo
}

# Make a checkout take long: these come first.
add_large_files () {
	for i in 1 2 3 4
	do
		test-tool genrandom "$1$i" 3000000 >repo/.a$i || return 1
	done
}

# usage: commit <message>; of all files in repo
commit () {
	git -C repo -c filter.x.required=false add -A &&
	git -C repo -c filter.x.required=false commit -q -m "$1"
}

#
# attributes
#

each_setting 'attributes are not read through a tracked link' '
	init_repo link &&
	mkdir repo/b &&
	echo "* text eol=crlf" >repo/b/.gitattributes &&
	ln -s b repo/a &&
	commit link &&
	rm repo/a &&
	mkdir repo/a &&
	echo x >repo/a/f &&
	git -C repo checkout -q -b dir 2>/dev/null &&
	commit dir &&
	git -C repo checkout -q link &&
	$GIT -C repo checkout -q dir -- a &&
	echo x >expect &&
	test_cmp_bin expect repo/a/f
'

for command in 'checkout -f' 'reset --hard' 'checkout -- a' 'restore a' \
	'checkout-index -f -a' 'checkout-index -f -a --prefix=./' \
	'read-tree -u --reset HEAD'
do
	code='
		init_repo main &&
		mkdir outside repo/a repo/d &&
		for i in $(test_seq 150)
		do
			echo "x$i" >repo/a/f$i || return 1
		done &&
		echo x >repo/d/f &&
		commit files &&
		echo "* filter=up" >outside/.gitattributes &&
		git -C repo config filter.up.smudge "tr a-z A-Z" &&
		rm -rf repo/a &&
		ln -s ../outside repo/a &&
		$GIT -C repo '$command' &&
		echo x150 >expect &&
		test_cmp expect repo/a/f150 &&
		git -C repo diff --exit-code &&
		echo .gitattributes >expect &&
		ls -A outside >actual &&
		test_cmp expect actual
	'
	each_setting "no filter is chosen outside of the tree: $command" "$code"
done

each_setting 'core.attributesFile comes first and is tracked' '
	init_repo one &&
	echo "*.txt text" >repo/attrs &&
	printf "x\ny\n" >repo/f.txt &&
	commit one &&
	git -C repo checkout -q -b two &&
	echo "*.txt text eol=crlf" >repo/attrs &&
	printf "x\nz\n" >repo/f.txt &&
	commit two &&
	git -C repo checkout -q one &&
	git -C repo config core.attributesFile "$(pwd)/repo/attrs" &&
	$GIT -C repo checkout -q two &&
	$GIT -C repo checkout -q one &&
	# at its turn, when attributes are asked for first, it is not there
	printf "x\ny\n" >expect &&
	test_cmp_bin expect repo/f.txt
'

each_setting 'the attributes of the user are a link to a tracked file' '
	init_repo one &&
	echo "*.txt text" >repo/attrs &&
	printf "x\ny\n" >repo/f.txt &&
	commit one &&
	git -C repo checkout -q -b two &&
	echo "*.txt text eol=crlf" >repo/attrs &&
	printf "x\nz\n" >repo/f.txt &&
	commit two &&
	git -C repo checkout -q one &&
	mkdir -p home/git &&
	ln -s ../../repo/attrs home/git/attributes &&
	XDG_CONFIG_HOME="$(pwd)/home" &&
	export XDG_CONFIG_HOME &&
	$GIT -C repo checkout -q two &&
	$GIT -C repo checkout -q one &&
	printf "x\ny\n" >expect &&
	test_cmp_bin expect repo/f.txt
'

each_setting 'info/attributes is a link to a tracked file' '
	init_repo one &&
	echo "*.txt text" >repo/attrs &&
	printf "x\ny\n" >repo/f.txt &&
	commit one &&
	git -C repo checkout -q -b two &&
	echo "*.txt text eol=crlf" >repo/attrs &&
	printf "x\nz\n" >repo/f.txt &&
	commit two &&
	mkdir -p repo/.git/info &&
	ln -sf ../../attrs repo/.git/info/attributes &&
	$GIT -C repo checkout -q one &&
	printf "x\ny\n" >expect &&
	test_cmp_bin expect repo/f.txt
'

each_setting 'a tracked link leads to core.attributesFile' '
	init_repo one &&
	mkdir repo/d1 repo/d2 &&
	echo "*.txt text" >repo/d1/attrs &&
	echo "*.txt text eol=crlf" >repo/d2/attrs &&
	ln -s d1 repo/a-link &&
	printf "x\ny\n" >repo/f.txt &&
	commit one &&
	git -C repo checkout -q -b two &&
	ln -sfn d2 repo/a-link &&
	printf "x\nz\n" >repo/f.txt &&
	commit two &&
	git -C repo checkout -q one &&
	git -C repo config core.attributesFile "$(pwd)/repo/a-link/attrs" &&
	$GIT -C repo checkout -q two &&
	printf "x\r\nz\r\n" >expect &&
	test_cmp_bin expect repo/f.txt
'

for in_the_way in link file
do
	# With core.attributesFile in a directory that is not one yet, that of the
	# first entry in it makes it one, and the file is not there by then.
	each_setting "a $in_the_way is in the way of core.attributesFile" '
		init_repo one &&
		mkdir repo/d t &&
		echo x >repo/d/aa &&
		echo "* text" >repo/d/attrs &&
		echo x >repo/z &&
		commit one &&
		echo "* text eol=crlf" >t/attrs &&
		rm -r repo/d repo/z &&
		case '$in_the_way' in
		link) ln -s ../t repo/d && attrs=repo/d/attrs ;;
		file) cp t/attrs repo/d && attrs=repo/d ;;
		esac &&
		git -C repo config core.attributesFile "$(pwd)/$attrs" &&
		$GIT -C repo checkout -- . &&
		echo x >expect &&
		test_cmp_bin expect repo/d/aa &&
		test_cmp_bin expect repo/z
	'
done

each_setting 'a .gitattributes file is in the way of a directory' '
	init_repo one &&
	mkdir -p repo/d/.gitattributes &&
	echo f >repo/d/.gitattributes/f &&
	echo x >repo/d/x &&
	commit one &&
	rm -r repo/d/.gitattributes repo/d/x &&
	echo "* text eol=crlf" >repo/d/.gitattributes &&
	$GIT -C repo checkout -f -- . &&
	echo x >expect &&
	test_cmp_bin expect repo/d/x
'

for options in "-c checkout.workers=1" ""
do
	test_expect_success "directories are moved while the main process writes ($options)" '
		rm -rf case &&
		git init case &&
		(
			cd case &&
			mkdir d &&
			echo a >d/a &&
			echo b >d/b.f &&
			echo c >d/c &&
			echo "*.f filter=moves" >.gitattributes &&
			git add . &&
			git commit -q -m files &&
			rm -r d &&
			git $options \
				-c filter.moves.smudge="mv d d2 && mkdir d && cat" \
				reset -q --hard &&
			test_path_is_file d/c &&
			rm -r d d2 &&
			{
				echo d/a &&
				sleep 1 &&
				mv d d2 &&
				echo d/c
			} | git $options checkout-index --stdin &&
			test_path_is_file d/c
		)
	'

	test_expect_success "a merge driver moves the directory ($options)" '
		rm -rf case moved &&
		git init case &&
		(
			cd case &&
			mkdir d &&
			for f in a b c
			do
				echo $f >d/$f || return 1
			done &&
			echo "d/b merge=moves" >.gitattributes &&
			git add . &&
			git commit -q -m files &&
			test_when_finished "rm -rf moved" &&
			for stage in 1 2 3
			do
				oid=$(echo $stage | git hash-object -w --stdin) &&
				echo "100644 $oid $stage	d/b" || return 1
			done >stages &&
			git rm -q --cached d/b &&
			git update-index --index-info <stages &&
			rm -r d &&
			git $options -c merge.moves.driver="mv d ../moved; mkdir d" \
				checkout -m -- . &&
			test_path_is_file d/b &&
			test_path_is_file d/c &&
			test_path_is_missing ../moved/b &&
			test_path_is_missing ../moved/c
		)
	'

	test_expect_success "a clean filter moves the directory ($options)" '
		rm -rf case moved &&
		git init case &&
		(
			cd case &&
			mkdir d &&
			for f in a b c
			do
				echo $f >d/$f || return 1
			done &&
			echo "d/b filter=moves" >.gitattributes &&
			git add . &&
			git commit -q -m files &&
			test-tool chmtime =+86400 d/b &&
			git update-index --refresh &&
			rm d/a d/c &&
			git $options \
				-c filter.moves.clean="cat; mv d ../moved; mkdir d" \
				checkout-index -f -a &&
			test_path_is_file ../moved/a &&
			test_path_is_file d/c &&
			test_path_is_missing ../moved/c
		)
	'

	test_expect_success "a submodule moves the directory ($options)" '
		rm -rf case moved &&
		git init case &&
		git init case/d/m &&
		(
			cd case &&
			echo "f filter=moves" >d/m/.gitattributes &&
			echo f >d/m/f &&
			git -C d/m add . &&
			git -C d/m commit -q -m files &&
			git submodule add ./d/m d/m &&
			git submodule absorbgitdirs &&
			echo a >d/a &&
			echo z >d/z &&
			git add . &&
			git commit -q -m files &&
			rm d/a d/z d/m/f &&
			write_script .git/move <<-EOF &&
			mv "$(pwd)/d" "$(pwd)/../moved" &&
			mkdir "$(pwd)/d" &&
			cp -R "$(pwd)/../moved/m" "$(pwd)/d/m"
			EOF
			git -C d/m config filter.moves.smudge \
				"cat; \"$(pwd)/.git/move\"" &&
			git $options checkout --recurse-submodules -f HEAD -- . &&
			test_path_is_file d/z &&
			test_path_is_missing ../moved/z
		)
	'

	test_expect_success ULIMIT_FILE_DESCRIPTORS "descriptors are left to entry.c ($options)" '
		rm -rf case &&
		git init case &&
		(
			cd case &&
			deep=$(printf "%s/" $(test_seq 14)) &&
			mkdir -p $deep &&
			echo 1 >${deep}1 &&
			echo x >${deep}x &&
			git add . &&
			git commit -q -m files &&
			rm -r 1 &&
			mkdir -p ${deep}x/$deep &&
			(ulimit -n 32 && git $options reset -q --hard) &&
			test_path_is_file ${deep}x
		)
	'
done

for workers in 0 1 2
do
	test_expect_success "what is only said once is said (checkout.workers=$workers)" '
		rm -rf case &&
		git init case &&
		(
			cd case &&
			test_commit x &&
			rm x.t &&
			mkdir -p .git/refs/replace &&
			git rev-parse HEAD >.git/refs/replace/badname &&
			echo /nowhere >.git/objects/info/alternates &&
			git -c checkout.workers=$workers checkout-index -a 2>err &&
			test_grep "bad replace ref name: badname" err &&
			test_grep "object directory /nowhere does not exist" err
		)
	'

	test_expect_success "a loose blob is streamed if there is no memory (checkout.workers=$workers)" '
		rm -rf case &&
		git init case &&
		(
			cd case &&
			test-tool genrandom x 12000000 >large &&
			git add large &&
			mv large expect &&
			GIT_ALLOC_LIMIT=4m git -c checkout.workers=$workers \
				checkout-index -a &&
			test_cmp_bin expect large
		)
	'
done

each_setting 'core.attributesFile is below --prefix' '
	init_repo main &&
	mkdir repo/sub &&
	echo "*.txt text eol=crlf" >repo/sub/attrs &&
	echo "*.txt text" >repo/attrs &&
	printf "x\n" >repo/f.txt &&
	git -C repo add attrs f.txt &&
	git -C repo config core.attributesFile "$(pwd)/repo/sub/attrs" &&
	$GIT -C repo checkout-index -f -a --prefix=sub/ &&
	# at its turn, when attributes are asked for first, it is not there
	printf "x\n" >expect &&
	test_cmp_bin expect repo/sub/f.txt
'

each_setting 'a .gitattributes that is corrupt in a pack is reported' '
	init_repo main &&
	{
		echo "*.txt text" &&
		test-tool genrandom attributes 1000 | tr -dc a-z | sed "s/^/# /"
	} >repo/.gitattributes &&
	echo x >repo/f.txt &&
	commit one &&
	git -C repo repack -q -a -d &&
	blob=$(git -C repo rev-parse HEAD:.gitattributes) &&
	pack=$(ls repo/.git/objects/pack/pack-*.pack) &&
	at=$(git verify-pack -v "${pack%.pack}.idx" |
		sed -n "s/^$blob .* \([0-9]*\)$/\1/p") &&
	chmod u+w "$pack" &&
	printf "\377\377\377\377" |
		dd of="$pack" bs=1 seek=$((at + 2)) conv=notrunc 2>/dev/null &&
	rm repo/.gitattributes repo/f.txt &&
	test_must_fail $GIT -C repo checkout -q -f 2>err &&
	test_grep "^error: inflate: data stream error" err
'

each_setting 'a .gitattributes whose path is too long is warned of' '
	init_repo main &&
	dir=$(printf "%0200d/" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20) &&
	dir=$dir$(printf "%062d" 0) &&
	(
		cd repo &&
		blob=$(echo x | git hash-object -w --stdin) &&
		printf "100644 %s\t%s/f\n" $blob $dir |
			git update-index --index-info &&
		git commit -q -m long &&
		$GIT checkout -q -f 2>../err
	) &&
	# reports of that length are cut off
	test_grep "^warning: unable to access .0" err &&
	test_line_count = 1 err
'

#
# submodules
#

test_expect_success 'setup: a submodule' '
	git init -q -b main sub &&
	echo s >sub/s.txt &&
	git -C sub add . &&
	git -C sub commit -q -m sub &&
	git init -q -b one super &&
	(
		cd super &&
		for i in 1 2 3 4 5
		do
			echo $i >.f$i || return 1
		done &&
		git submodule --quiet add ../sub aaa &&
		git add . &&
		git commit -q -m one &&
		git branch broken &&
		git checkout -q -b two &&
		git submodule --quiet add ../sub new &&
		git commit -q -m two &&
		git checkout -q --recurse-submodules one &&
		git config submodule.recurse true
	) &&
	cp -R super pristine
'

each_setting 'submodules see the new .gitmodules' '
	cp -R ../pristine super &&
	rm super/.f* &&
	$GIT -C super checkout -q two -- . &&
	echo s >expect &&
	test_cmp expect super/new/s.txt
'

each_setting 'a broken .gitmodules is repaired before it is read' '
	cp -R ../pristine super &&
	rm super/.f* &&
	echo "[broken" >super/.gitmodules &&
	$GIT -C super checkout -q two -- . &&
	git -C super diff --exit-code --ignore-submodules=all two &&
	echo s >expect &&
	test_cmp expect super/new/s.txt
'

#
# filters
#

each_setting 'a filter sees new versions of what comes before' '
	init_repo one &&
	echo "z.txt filter=v" >repo/.gitattributes &&
	echo V1 >repo/b-version &&
	echo z1 >repo/z.txt &&
	add_large_files one &&
	commit one &&
	git -C repo checkout -q -b two &&
	echo V2 >repo/b-version &&
	echo z2 >repo/z.txt &&
	add_large_files two &&
	commit two &&
	git -C repo config filter.v.smudge "cat b-version -" &&
	git -C repo config filter.v.clean "tail -n 1" &&
	printf "V2\nz2\n" >expect &&
	$GIT -C repo checkout -q one &&
	$GIT -C repo checkout -q two &&
	test_cmp expect repo/z.txt &&
	$GIT -C repo checkout -q one &&
	$GIT -C repo checkout -q two -- . &&
	test_cmp expect repo/z.txt
'

each_setting 'a filter sees what workers could not write' '
	init_repo main &&
	mkdir repo/b &&
	echo "z.txt filter=v" >repo/.gitattributes &&
	for i in $(test_seq 300)
	do
		echo V$i >repo/b/f$i || return 1
	done &&
	echo z >repo/z.txt &&
	commit files &&
	git -C repo config filter.v.smudge "cat b/f1 b/f300 -" &&
	git -C repo config filter.v.clean "tail -n 1" &&
	rm -rf repo/* &&
	>repo/b &&
	test_env GIT_TRACE2_EVENT="$(pwd)/trace" $GIT -C repo checkout -q -f &&
	printf "V1\nV300\nz\n" >expect &&
	test_cmp expect repo/z.txt &&
	git -C repo diff --exit-code &&
	case $setting in
	2|now)
		test_grep "\"key\":\"collided\",\"value\":\"300\"" trace &&
		! grep "\"key\":\"workers\",\"value\":\"0\"" trace
		;;
	esac
'

each_setting 'a clean filter sees new versions, too' '
	init_repo main &&
	echo "z.txt filter=v" >repo/.gitattributes &&
	echo V1 >repo/b-version &&
	echo z >repo/z.txt &&
	commit files &&
	git -C repo config filter.v.smudge "sed \"s/^/\$(cat b-version) /\"" &&
	git -C repo config filter.v.clean "sed \"s/^\$(cat b-version) //\"" &&
	rm repo/z.txt &&
	git -C repo checkout -q -- z.txt &&
	echo V2 >repo/b-version &&
	echo "V2 z" >repo/z.txt &&
	# now z.txt is racily clean
	test-tool chmtime =-100 repo/z.txt &&
	git -C repo update-index z.txt &&
	test-tool chmtime =-200 repo/.git/index &&
	$GIT -C repo checkout -q -- . &&
	echo "V1 z" >expect &&
	test_cmp expect repo/z.txt
'

each_setting 'a file that has no stage 2 is removed at its turn' '
	init_repo main &&
	add_large_files &&
	for i in $(test_seq 150)
	do
		echo $i >repo/b$i || return 1
	done &&
	echo base >repo/m &&
	echo base >repo/n &&
	commit base &&
	git -C repo checkout -q -b side &&
	echo side >repo/m &&
	echo side >repo/n &&
	commit side &&
	git -C repo checkout -q main &&
	git -C repo rm -q m n &&
	git -C repo commit -q -m gone &&
	test_must_fail git -C repo merge side &&
	rm repo/.a? repo/b* &&
	$GIT -C repo restore --ours . &&
	test_path_is_missing repo/m &&
	test_path_is_missing repo/n &&
	test_path_is_missing repo/.git/index.lock &&
	git -C repo diff --name-only --diff-filter=M >actual &&
	test_must_be_empty actual &&
	git -C repo diff --name-only --diff-filter=D >actual &&
	test_must_be_empty actual
'

each_setting 'a merge driver sees what comes before' '
	init_repo main &&
	add_large_files &&
	for i in $(test_seq 150)
	do
		echo $i >repo/b$i || return 1
	done &&
	echo base >repo/m &&
	commit base &&
	git -C repo checkout -q -b side &&
	echo side >repo/m &&
	commit side &&
	git -C repo checkout -q main &&
	echo main >repo/m &&
	commit main &&
	test_must_fail git -C repo merge side &&
	mkdir -p repo/.git/info &&
	echo "m merge=count" >repo/.git/info/attributes &&
	git -C repo config merge.count.driver "ls b* >%A" &&
	(cd repo && ls b*) >expect &&
	rm repo/.a? repo/b* &&
	$GIT -C repo checkout -q -m -- . &&
	test_cmp expect repo/m
'

each_setting 'a required driver without a command' '
	init_repo main &&
	echo "f filter=x" >repo/.gitattributes &&
	echo x >repo/f &&
	commit files &&
	$GIT clone -q repo clone &&
	echo x >expect &&
	test_cmp expect clone/f &&
	rm clone/f &&
	$GIT -C clone checkout -q -- . &&
	test_cmp expect clone/f
'

each_setting 'the same, where the blob cannot be streamed' '
	init_repo main &&
	echo "f filter=x text=auto eol=crlf" >repo/.gitattributes &&
	echo x >repo/f &&
	commit files &&
	rm repo/f &&
	test_expect_code 128 $GIT -C repo checkout -q -- . 2>err &&
	echo "fatal: f: smudge filter x failed" >expect &&
	test_cmp expect err
'

#
# configuration
#

each_setting 'configuration that is included from a tracked file' '
	init_repo one &&
	echo "*.txt text=auto" >repo/.gitattributes &&
	printf "[core]\n\teol = lf\n" >repo/.gitconfig &&
	commit one &&
	git -C repo checkout -q -b two &&
	printf "[core]\n\teol = crlf\n" >repo/.gitconfig &&
	mkdir repo/z &&
	for i in $(test_seq 300)
	do
		echo "$i" >repo/z/f$i.txt || return 1
	done &&
	add_large_files two &&
	commit two &&
	git -C repo checkout -q one &&
	git -C repo config include.path ../.gitconfig &&
	$GIT -C repo checkout -q two &&
	! grep -l "$(printf "\r")" repo/z/*
'

each_setting 'such a file becomes broken' '
	init_repo one &&
	>repo/.gitconfig &&
	commit one &&
	git -C repo checkout -q -b two &&
	echo bad >repo/.gitconfig &&
	for i in $(test_seq 300)
	do
		echo "$i" >repo/f$i || return 1
	done &&
	add_large_files two &&
	commit two &&
	git -C repo checkout -q one &&
	git -C repo config include.path ../.gitconfig &&
	$GIT -C repo checkout -q two 2>err &&
	test_must_be_empty err &&
	git -C repo config --file .git/config --unset include.path &&
	git -C repo diff --exit-code two
'

each_setting 'files of configuration that cannot be, and are not read' '
	init_repo main &&
	mkdir repo/d &&
	echo a >repo/a &&
	echo b >repo/d/b &&
	commit one &&
	rm -r repo/a repo/d &&
	git -C repo config includeIf.gitdir:/nowhere/.path "~no-such-user/file" &&
	GIT_ATTR_NOSYSTEM=0 $GIT -C repo checkout -q -f 2>err &&
	test_must_be_empty err &&
	git -C repo diff --exit-code HEAD
'

#
# processes
#

test_expect_success 'setup: broken workers' '
	setup_broken_worker &&
	setup_files
'

each_setting 'workers that read broken configuration are not heard' '
	git clone -q -n ../files files &&
	break_worker "echo bad >>\"$(pwd)/files/.git/include\"" &&
	>files/.git/include &&
	git -C files config include.path include &&
	$GIT_FAULTY -C files checkout -q -f HEAD 2>err &&
	test_grep ! "bad config" err &&
	test_grep ! "include" err &&
	case $setting in
	2|now) test -s ../pids ;;
	esac &&
	rm files/.git/include &&
	git -C files diff --exit-code
'

# usage: with_none <what is run instead of a worker> <workers>
with_none () {
	rm -rf one tried &&
	git clone -q -n files one &&
	mkdir -p fake-none &&
	write_script fake-none/git <<-EOF &&
	if test "\$1" = checkout--worker
	then
		>"$TRASH_DIRECTORY/tried"
		$1
	fi
	exec "$GIT_BUILD_DIR/git" "\$@"
	EOF
	GIT_EXEC_PATH="$TRASH_DIRECTORY/fake-none" "$GIT_BUILD_DIR/git" -C one \
		-c checkout.workers=$2 -c checkout.thresholdForParallelism=0 \
		checkout -q -f HEAD 2>err &&
	test_path_is_file tried &&
	git -C one diff --exit-code HEAD
}

test_expect_success 'with auto, workers that cannot be had are no message' '
	with_none "exit 128" auto &&
	test_must_be_empty err &&
	with_none "exit 128" 2 &&
	test_grep "ended early" err
'

# One that does not know the command, or an option, or speaks another protocol
for how in "exit 1" "exit 129" 'set -- "$@" --protocol=1'
do
	test_expect_success "with auto, workers of another Git are one: $how" '
		with_none "$how" auto &&
		test_grep "^warning: .* ended early" err &&
		test_grep "^hint: .* is .git. in .*fake-none. of this version?" err
	'
done

# root is not limited
test_lazy_prereq ULIMIT_PROCESSES '
	prlimit --nproc=1 true &&
	! prlimit --nproc=1 sh -c "(true; true)" 2>/dev/null
'

test_expect_success ULIMIT_PROCESSES 'with auto, neither are processes that cannot be had' '
	rm -rf one &&
	git clone -q -n files one &&
	prlimit --nproc=1 git -C one -c checkout.workers=auto \
		-c checkout.thresholdForParallelism=0 checkout -q -f HEAD 2>err &&
	test_must_be_empty err &&
	git -C one diff --exit-code HEAD
'

each_setting 'blobs of files that are to be removed are not fetched' '
	init_repo main &&
	for i in $(test_seq 10)
	do
		echo $i >repo/f$i || return 1
	done &&
	commit one &&
	echo z >repo/z &&
	commit two &&
	git -C repo config uploadpack.allowFilter true &&
	git clone -q --filter=blob:none "file://$(pwd)/repo" clone &&
	git -C clone checkout -q HEAD~1 &&
	rm -rf clone/.git/objects/pack/*.bak repo clone/f* &&
	git -C clone reset -q main &&
	$GIT -C clone restore --source=HEAD~1 -- . &&
	test_path_is_file clone/f10 &&
	test_path_is_missing clone/z
'

each_setting 'a blob cannot be fetched: filters before it have run' '
	init_repo main &&
	for i in 1 2 3
	do
		echo $i >repo/b$i || return 1
	done &&
	echo c >repo/c.x &&
	test-tool genrandom m 1000 >repo/m &&
	commit files &&
	git -C repo config uploadpack.allowFilter true &&
	git -C repo config uploadpack.allowAnySHA1InWant true &&
	git clone -q --no-checkout --filter=blob:limit=100 \
		"file://$(pwd)/repo" clone &&
	mkdir -p clone/.git/info &&
	echo "*.x filter=x" >clone/.git/info/attributes &&
	git -C clone config filter.x.smudge "tr c d" &&
	git -C clone config remote.origin.url "file://$(pwd)/none" &&
	git -C clone read-tree HEAD &&
	test_must_fail $GIT -C clone checkout-index -f -a 2>err &&
	echo d >expect &&
	test_cmp expect clone/c.x &&
	test_path_is_missing clone/m
'

each_setting 'SIGCHLD is ignored' '
	git clone -q -n ../files files &&
	(
		trap "" CHLD &&
		$GIT -C files checkout -q -f HEAD 2>err
	) &&
	test_must_be_empty err &&
	git -C files diff --exit-code HEAD
'

each_setting 'a filter removes the directory that files go to' '
	init_repo main &&
	echo a >repo/a &&
	echo "a filter=removes" >repo/.gitattributes &&
	commit one &&
	git -C repo config filter.removes.smudge "rm -r out; cat" &&
	test_must_fail $GIT -C repo checkout-index --prefix=out/ a 2>err &&
	echo "error: unable to create file out/a: No such file or directory" \
		>expect &&
	test_cmp expect err &&
	test_path_is_missing repo/out
'

test_lazy_prereq ULIMIT_FILE_SIZE '
	(ulimit -f 8 && test-tool genrandom a 1000 >small)
'

test_have_prereq ULIMIT_FILE_SIZE &&
each_setting 'a limit on the size of files' '
	init_repo main &&
	for i in $(test_seq 200)
	do
		echo $i >repo/f$i || return 1
	done &&
	test-tool genrandom a 100000 >repo/z &&
	commit files &&
	rm repo/[fz]* &&
	{ ( ulimit -f 8 && exec $GIT -C repo checkout-index -q -a >out 2>err ); code=$?; } &&
	test $code -ne 0 &&
	test_grep ! "died of signal" err &&
	test_grep ! "ended early" err &&
	echo 200 >expect &&
	test_cmp expect repo/f200
'

# A limit for the shell itself, too: it is one more process.
each_setting 'a deep path, and few descriptors' '
	init_repo main &&
	(
		cd repo &&
		dir=$(printf "%d/" $(test_seq 60)) &&
		blob=$(echo x | git hash-object -w --stdin) &&
		for f in ${dir}f ${dir}g 1/2/3/h
		do
			printf "100644 %s\t%s\n" $blob $f || return 1
		done | git update-index --index-info &&
		( ulimit -n 48 && $GIT checkout-index -a ) 2>err &&
		test_must_be_empty err &&
		rm err &&
		git diff --exit-code &&
		test_path_is_file ${dir}g &&
		git commit -q -m deep &&
		git rm -q -r --cached . &&
		git commit -q -m none &&
		rm -r 1 &&
		( ulimit -n 48 && $GIT checkout -q HEAD^ ) 2>../err &&
		test_must_be_empty ../err &&
		test_path_is_file ${dir}g &&
		( ulimit -n 48 && $GIT checkout -q -f HEAD^{tree} -- . ) &&
		ln -s nowhere link &&
		rm ${dir}f &&
		ln -s nowhere ${dir}f &&
		( ulimit -n 48 && $GIT reset -q --hard ) &&
		test_path_is_file ${dir}f
	)
'

test_lazy_prereq PRLIMIT_FILES '
	prlimit --nofile=64 true
'

# With the lock of the index, three descriptors are left at first, which are enough.
# Workers that cannot be had for want of pipes take none of them.
each_setting PRLIMIT_FILES 'hardly any descriptors' '
	init_repo main &&
	mkdir repo/d &&
	for i in $(test_seq 200)
	do
		echo $i >repo/d/$i || return 1
	done &&
	git -C repo add . &&
	for limit in 7 8 9 10 11
	do
		rm -r repo/d &&
		prlimit --nofile=$limit "$GIT_BUILD_DIR/git" ${GIT#git} \
			-C repo checkout-index -q -u -a \
			2>err 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &&
		git -C repo diff --exit-code &&
		! grep -e unable -e attributes err || return 1
	done
'

test_done
