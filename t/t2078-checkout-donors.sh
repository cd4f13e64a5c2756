#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='files that share the blocks of those of another working tree

What is written is the same as without: no byte of a file that is not the blob
may get into another working tree, whatever happens to its donor.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

sane_unset GIT_TEST_CHECKOUT_WORKERS GIT_TEST_CHECKOUT_REFLINK

TRASH=$(pwd)

# settle <dir>: what its index has was not changed in the second of the index
settle () {
	test-tool chmtime =+5 "$(git -C "$1" rev-parse --path-format=absolute \
		--git-path index)"
}

# age <dir>: and no file in there is young
age () {
	find "$1" -name .git -prune -o -type f -print | tr "\n" "\0" |
	xargs -0 test-tool chmtime =-1000 >/dev/null &&
	git -C "$1" update-index -q --refresh &&
	settle "$1"
}

# listed: what the current directory would lend, in the file "listed"
listed () {
	git checkout--worker --protocol=4 \
		--list-donor=$(test_oid algo) >"$TRASH/frames" 2>"$TRASH/err" &&
	test-tool checkout-wire list <"$TRASH/frames" >"$TRASH/files" &&
	cut -f2 <"$TRASH/files" >"$TRASH/listed"
}

# an index need not have the fractions of a second
without_ctime () {
	sed "s/ ctime=\([0-9]*\)[.][0-9]* dev=[0-9]*/ ctime=\1/"
}

test_expect_success 'setup' '
	git init -q repo &&
	(
		cd repo &&
		mkdir -p dir/deep &&
		test_seq 1 2000 >big &&
		test_seq 1 1000 >dir/file &&
		test_seq 2 1000 >dir/deep/file &&
		test_seq 3 1000 >script &&
		chmod +x script &&
		>empty &&
		test_ln_s_add file dir/link &&
		git add . &&
		test_tick &&
		git commit -q -m base
	) &&
	sed -n 1,5p repo/big >expect &&
	git -C repo ls-files -s big dir/file dir/deep/file script >modes
'

test_expect_success 'a list has the regular files, in order, with stat data' '
	cp -R repo list &&
	age list &&
	(
		cd list &&
		listed &&
		sort ../listed >../sorted &&
		test_cmp ../sorted ../listed &&
		git ls-files -s | sed -n "/^100/s/ 0	/	/p" |
		grep -v empty >../expect &&
		sed "s/ size=[^	]*//" <../files >../actual &&
		test_cmp ../expect ../actual &&
		test-tool checkout-wire stat big | without_ctime >../expect &&
		sed -n "s/^[0-9]* [0-9a-f]*\\( .*\\)	big$/\\1/p" <../files |
		without_ctime >../actual &&
		test_cmp ../expect ../actual
	)
'

test_expect_success 'a list has no file that may differ from its blob' '
	(
		cd list &&
		>new &&
		echo changed >intended &&
		git add -N intended &&
		git update-index --assume-unchanged dir/file &&
		git update-index --skip-worktree dir/deep/file &&
		settle . &&
		listed &&
		printf "%s\n" big script >../expect &&
		test_cmp ../expect ../listed &&

		git update-index --no-assume-unchanged dir/file &&
		git update-index --no-skip-worktree dir/deep/file &&
		git ls-files -s script |
		sed "s/ 0	/ 2	/" >../stages &&
		git rm -q --cached script intended &&
		git update-index --index-info <../stages &&
		settle . &&
		listed &&
		printf "%s\n" big dir/deep/file dir/file >../expect &&
		test_cmp ../expect ../listed
	)
'

test_expect_success 'a list has no file that is converted, or may have been' '
	rm -rf list &&
	cp -R repo list &&
	age list &&
	(
		cd list &&
		for attr in ident eol=crlf working-tree-encoding=UTF-16 \
			filter=defined filter=undefined
		do
			echo "dir/** $attr" >.gitattributes &&
			test_config filter.defined.smudge cat &&
			listed &&
			printf "%s\n" big script >../expect &&
			test_cmp ../expect ../listed || return 1
		done &&
		for attr in text -text -filter eol=lf
		do
			echo "dir/** $attr" >.gitattributes &&
			listed &&
			test_line_count = 4 ../listed || return 1
		done
	)
'

test_expect_success 'a list has no file that is racily clean' '
	rm -rf list &&
	cp -R repo list &&
	age list &&
	(
		cd list &&
		echo 123456789 >big &&
		git add big &&
		test-tool chmtime =+1000 big &&
		git update-index -q --refresh &&
		settle . &&
		listed &&
		test_grep ! big ../listed &&
		test_grep script ../listed
	)
'

test_expect_success 'a list has nothing of the second of its index' '
	rm -rf list &&
	cp -R repo list &&
	age list &&
	(
		cd list &&
		git ls-files --debug big >../debug &&
		ctime=$(sed -n "s/^ *ctime: \([0-9]*\):.*/\1/p" <../debug) &&
		test-tool chmtime =$((ctime + 1)) .git/index &&
		listed &&
		test_grep big ../listed &&
		if grep "ctime: [0-9]*:0$" ../debug
		then
			test-tool chmtime =$ctime .git/index &&
			listed &&
			test_grep ! big ../listed
		fi
	)
'

test_expect_success 'a list has no file of a blob that is replaced' '
	rm -rf list &&
	cp -R repo list &&
	age list &&
	(
		cd list &&
		git replace $(git rev-parse :big) $(git rev-parse :script) &&
		listed &&
		test_grep ! big ../listed &&
		test_grep script ../listed
	)
'

test_expect_success 'other repositories than expected are refused' '
	(
		cd list &&
		test_expect_code 128 git checkout--worker --protocol=4 \
			--list-donor=md5 >out 2>err &&
		test_grep "the hash algorithm is .$(test_oid algo)., not .md5." err &&
		test_must_be_empty out
	)
'

test_expect_success 'no file system monitor is asked for a list' '
	rm -rf list &&
	cp -R repo list &&
	age list &&
	(
		cd list &&
		write_script ../monitor <<-EOF &&
		>"$TRASH/asked"
		printf "token\\0"
		EOF
		git config core.fsmonitor "$SQ$TRASH/monitor$SQ" &&
		git update-index --fsmonitor &&
		settle . &&
		rm -f ../asked &&
		listed &&
		test_line_count = 4 ../listed &&
		test_path_is_missing ../asked &&
		git status &&
		test_path_is_file ../asked
	)
'

# tell <path> <donor>: a worker is to write the blob of repo/big at the path in
# "out"; the donor of that number has the file that is at the path there now
tell () {
	printf "1 100644 %s donor=%s:donor/%s\t%s\n" \
		"$(git -C repo rev-parse :big)" "$2" "$1" "$1" >lines &&
	GIT_DIR=repo/.git test-tool checkout-wire encode <lines >frames
}

# work <simulation> [<option>...]: it does
work () {
	simulation=$1 &&
	shift &&
	rm -rf out &&
	mkdir out &&
	(
		cd repo &&
		GIT_TEST_CHECKOUT_REFLINK=$simulation \
		git checkout--worker --protocol=4 --root=../out "$@" \
			<../frames >../answer 2>../err &&
		test_must_be_empty ../err &&
		test-tool checkout-wire decode <../answer >../actual
	)
}

cloned () {
	echo "1 written cloned=$(($(wc -c <repo/big)))" >expect &&
	test_cmp expect actual &&
	test_cmp_bin repo/big "out/${1:-big}"
}

written () {
	echo "1 written" >expect &&
	test_cmp expect actual &&
	test_cmp_bin repo/big "out/${1:-big}"
}

new_donor () {
	rm -rf donor &&
	cp -R repo donor
}

test_expect_success 'a worker clones the file that it is told of' '
	new_donor &&
	tell big 1 &&
	work copy --donor=../donor &&
	cloned &&
	test_when_finished "rm -rf donor/sub" &&
	mkdir donor/sub &&
	cp donor/big donor/sub/big &&
	tell sub/big 2 &&
	work copy --donor=../nothing --donor=../donor &&
	cloned sub/big
'

test_expect_success 'it clones nothing of a donor that it does not know' '
	tell big 2 &&
	work copy --donor=../donor &&
	written &&
	tell big 1 &&
	work copy --donor=../nothing &&
	written &&
	work copy &&
	written
'

test_expect_success 'what changes while it is cloned is not used' '
	new_donor &&
	tell big 1 &&
	work torn --donor=../donor &&
	written
'

test_expect_success 'what fails to be cloned is written' '
	new_donor &&
	tell big 1 &&
	work fail --donor=../donor &&
	written
'

test_expect_success 'no worker clones what is not the file any more' '
	for what in content time size link missing dir mode
	do
		new_donor &&
		tell big 1 &&
		case $what in
		content) echo 9 >donor/big ;;
		time) test-tool chmtime =-5 donor/big ;;
		size) : >donor/big ;;
		link) mv donor/big donor/other && ln -s other donor/big ;;
		missing) rm donor/big ;;
		dir) rm donor/big && mkdir donor/big ;;
		mode) chmod +x donor/big ;;
		esac &&
		work copy --donor=../donor &&
		written || return 1
	done
'

test_expect_success 'no worker clones a file of another size than the blob' '
	new_donor &&
	echo more >>donor/big &&
	tell big 1 &&
	work copy --donor=../donor &&
	written
'

test_expect_success 'no worker goes through a symbolic link in a donor' '
	new_donor &&
	mkdir donor/real &&
	cp donor/big donor/real/big &&
	ln -s real donor/sub &&
	tell sub/big 1 &&
	work copy --donor=../donor &&
	written sub/big
'

test_expect_success PIPE 'no worker waits for a pipe in a donor' '
	new_donor &&
	rm donor/big &&
	mkfifo donor/big &&
	tell big 1 &&
	work copy --donor=../donor &&
	written
'

test_expect_success 'a blob that is replaced is not cloned' '
	new_donor &&
	tell big 1 &&
	test_when_finished "git -C repo replace -d $(git -C repo rev-parse :big)" &&
	other=$(tr 1 2 <repo/big | git -C repo hash-object -w --stdin) &&
	git -C repo replace $(git -C repo rev-parse :big) $other &&
	work copy --donor=../donor &&
	echo "1 written" >expect &&
	test_cmp expect actual &&
	tr 1 2 <repo/big >expect &&
	test_cmp expect out/big
'

test_expect_success 'a missing blob is not cloned' '
	new_donor &&
	tell big 1 &&
	oid=$(git -C repo rev-parse :big) &&
	blob=repo/.git/objects/$(test_oid_to_path $oid) &&
	test_when_finished "mv saved $blob" &&
	mv $blob saved &&
	work copy --donor=../donor &&
	echo "1 declined" >expect &&
	test_cmp expect actual &&
	test_path_is_missing out/big
'

# From here on, whole checkouts. The donor is the working tree of "main".

new_main () {
	if test -d main
	then
		git -C main worktree prune
	fi &&
	rm -rf main new other &&
	cp -R repo main &&
	age main
}

# check_out <number> [<variable>=<value>...] git <arguments>...
#
# Run that in main, to make the working tree "new", where so many files are to
# be clones, with another number of workers each time.
check_out () {
	number=$1 &&
	shift &&
	for workers in 1 2 auto
	do
		rm -rf new trace &&
		git -C main worktree prune &&
		(
			cd main &&
			env GIT_TEST_CHECKOUT_WORKERS=$workers \
				GIT_TEST_CHECKOUT_REFLINK=copy \
				GIT_TRACE2_EVENT="$TRASH/trace" \
				GIT_TRACE2_EVENT_NESTING=10 "$@" 2>../err
		) &&
		is_as_in_head "$number" || return 1
	done
}

# the working tree "new" has what its HEAD has, and so many clones in it
is_as_in_head () {
	count_cloned "$1" &&
	git -C new status --porcelain >actual &&
	test_must_be_empty actual &&
	oid=$(git -C new rev-parse HEAD) &&
	if ! test -f "tree-$oid"
	then
		rm -rf plain &&
		git clone -q --no-local --no-checkout main plain &&
		git -C plain checkout -q --detach "$oid" &&
		show_tree plain >"tree-$oid"
	fi &&
	show_tree new >actual &&
	test_cmp "tree-$oid" actual
}

count_cloned () {
	echo "$1" >expect &&
	sed -n "s/.*\"cloned_files\",\"value\":\"\([0-9]*\)\".*/\1/p" trace |
	awk "{ n += \$1 } END { print n + 0 }" >actual &&
	test_cmp expect actual
}

show_tree () {
	(
		cd "$1" &&
		find . -name .git -prune -o ! -type d -print | sort >../names &&
		git hash-object --no-filters --stdin-paths <../names &&
		while read -r name
		do
			ls -l "$name" | sed "s/ .* -> / -> /; s/ .*//" || return 1
		done <../names
	)
}

add_new="git worktree add --detach ../new"

test_expect_success 'a working tree is cloned from the main one' '
	new_main &&
	check_out 4 $add_new &&
	grep "\"cloned_bytes\",\"value\":\"[1-9]" trace
'

test_expect_success 'checkout.reflink: what it may be' '
	sane_unset GIT_TEST_CHECKOUT_REFLINK &&
	for value in true false auto yes 0
	do
		git -C main -c checkout.reflink=$value \
			checkout-index -f big || return 1
	done &&
	test_expect_code 128 git -C main -c checkout.reflink=some \
		checkout-index -f big 2>err &&
	test_grep "bad value .some. for .checkout.reflink.: neither a boolean nor .auto." err
'

test_expect_success POSIXPERM 'modes are those of an ordinary checkout' '
	new_main &&
	chmod 600 main/big &&
	# an index that has all of ctime need not compare all of it
	test-tool chmtime =-999 main/big &&
	git -C main update-index -q --refresh &&
	settle main &&
	(
		umask 027 &&
		rm -f tree-* &&
		check_out 4 $add_new
	) &&
	rm tree-* &&
	test_modebits new/big >actual &&
	echo "-rw-r-----" >expect &&
	test_cmp expect actual &&
	test_modebits new/script >actual &&
	echo "-rwxr-x---" >expect &&
	test_cmp expect actual
'

test_expect_success 'what was changed in the donor is not cloned' '
	new_main &&
	echo dirty >main/dir/file &&
	check_out 3 $add_new &&
	echo 9 >main/big &&
	test-tool chmtime =-1000 main/big &&
	check_out 2 $add_new &&
	rm main/script &&
	check_out 1 $add_new &&
	rm -rf main/dir &&
	ln -s ../repo/dir main/dir &&
	check_out 0 $add_new
'

test_expect_success 'what looks as if it was not changed is not cloned' '
	new_main &&
	sleep 1 &&	# an index has ctime in seconds
	mtime=$(test-tool chmtime --get main/big) &&
	tr 1 2 <main/big >changed &&
	cat changed >main/big &&
	test-tool chmtime =$mtime main/big &&
	check_out 3 $add_new &&
	cp changed main/changed &&
	mv main/changed main/big &&
	test-tool chmtime =$mtime main/big &&
	check_out 3 $add_new
'

test_expect_success 'other blobs and modes than the donor has' '
	new_main &&
	(
		cd main &&
		tr 1 2 <big >other &&
		mv other big &&
		test_chmod +x dir/file &&
		chmod +x dir/file &&
		git add . &&
		git commit -q -m other
	) &&
	age main &&
	check_out 2 $add_new HEAD^
'

test_expect_success 'of two donors, each gives what it has' '
	new_main &&
	git -C main worktree add -q --detach ../other &&
	age other &&
	git -C main rm -q --cached big script &&
	settle main &&
	check_out 4 $add_new &&
	rm other/big &&
	check_out 3 $add_new &&
	git -C main worktree remove --force ../other
'

test_expect_success 'not more than two donors are asked' '
	new_main &&
	for i in 1 2 3
	do
		git -C main worktree add -q --detach ../donor-$i || return 1
	done &&
	check_out 4 $add_new &&
	grep "\"child_start\".*--list-donor" trace >listers &&
	test_line_count = 2 listers &&
	rm -rf donor-1 donor-2 donor-3
'

test_expect_success 'checkout.reflinkFrom names another donor' '
	new_main &&
	cp -R repo named &&
	age named &&
	rm main/big &&
	check_out 4 git -c checkout.reflinkFrom="$TRASH/named" \
		worktree add --detach ../new &&
	for bad in named/dir named/big nothing .
	do
		check_out 3 git -c checkout.reflinkFrom="$TRASH/$bad" \
			worktree add --detach ../new || return 1
	done
'

test_expect_success 'a bad checkout.reflinkFrom is an error' '
	test_must_fail env GIT_TEST_CHECKOUT_REFLINK=copy \
		git -C main -c checkout.reflinkFrom checkout-index -f big 2>err &&
	test_grep "checkout.reflinkFrom" err
'

test_expect_success 'a donor of another hash algorithm is none' '
	test_when_finished "rm -rf named" &&
	rm -rf named &&
	case $(test_oid algo) in
	sha1) other_algo=sha256 ;;
	*) other_algo=sha1 ;;
	esac &&
	git init -q --object-format=$other_algo named &&
	cp -R repo/big repo/script repo/dir named &&
	git -C named add . &&
	age named &&
	new_main &&
	rm -r main/big main/dir &&
	check_out 1 git -c checkout.reflinkFrom="$TRASH/named" \
		worktree add --detach ../new
'

test_expect_success 'a donor whose index cannot be read is none' '
	new_main &&
	git -C main worktree add -q --detach ../other &&
	age other &&
	rm -f main/big &&
	printf "DIRC garbage" >main/.git/index &&
	check_out 4 $add_new &&
	rm main/.git/index &&
	check_out 4 $add_new &&
	git -C main worktree remove --force ../other
'

test_expect_success SANITY 'what cannot be read is written' '
	new_main &&
	test_when_finished "chmod 755 main/dir; chmod 644 main/big" &&
	chmod a-r main/big &&
	git -C main update-index -q --refresh &&
	chmod 0 main/dir &&
	settle main &&
	check_out 1 $add_new
'

test_expect_success 'all forms of an index will do' '
	for how in "--index-version 2" "--index-version 3" \
		"--index-version 4" --split-index
	do
		new_main &&
		git -C main update-index $how &&
		settle main &&
		check_out 4 $add_new || return 1
	done
'

test_expect_success 'a sparse donor gives what it has' '
	new_main &&
	git -C main worktree add -q --detach ../other &&
	git -C main rm -q -r --cached . &&
	git -C other sparse-checkout set --cone --sparse-index dir/deep &&
	age other &&
	check_out 4 $add_new &&
	git -C other sparse-checkout set --cone --sparse-index nothing &&
	age other &&
	git -C other ls-files --sparse >actual &&
	grep "^dir/$" actual &&
	check_out 2 $add_new &&
	git -C main worktree remove --force ../other
'

test_expect_success 'a donor that is being checked out gives what is there' '
	new_main &&
	git -C main worktree add -q --no-checkout --detach ../other &&
	check_out 4 $add_new &&
	rm -rf main/dir main/big &&
	cp repo/big other/big &&
	cp main/.git/index "$(git -C other rev-parse --git-path index)" &&
	check_out 1 $add_new &&
	git -C main worktree remove --force ../other
'

test_expect_success 'what is converted here or there is not cloned' '
	new_main &&
	(
		cd main &&
		echo "dir/* text eol=crlf" >.git/info/attributes
	) &&
	(
		# then it is not as in an ordinary clone
		is_as_in_head () {
			count_cloned "$1" &&
			tr -d "\015" <new/dir/file >actual &&
			test_cmp repo/dir/file actual &&
			! test_cmp_bin repo/dir/file new/dir/file
		} &&
		check_out 3 $add_new
	) &&
	rm main/.git/info/attributes &&
	echo "dir/** ident" >main/.gitattributes &&
	check_out 2 $add_new &&
	rm main/.gitattributes &&
	check_out 4 $add_new
'

test_expect_success 'attributes of the command are not those of the donor' '
	new_main &&
	echo "dir/* working-tree-encoding=UTF-16LE" >main/.gitattributes &&
	git -C main add .gitattributes &&
	git -C main commit -q -m attributes &&
	age main &&
	oid=$(git -C main rev-parse HEAD^) &&
	check_out 3 git --attr-source=$oid worktree add --detach ../new $oid
'

test_expect_success 'a clone of a working tree beside it is cloned' '
	new_main &&
	rm -rf new trace &&
	GIT_TEST_CHECKOUT_REFLINK=copy GIT_TRACE2_EVENT="$TRASH/trace" \
		GIT_TRACE2_EVENT_NESTING=10 git clone -q main new &&
	is_as_in_head 4 &&
	rm -rf new trace &&
	GIT_TEST_CHECKOUT_REFLINK=copy GIT_TRACE2_EVENT="$TRASH/trace" \
		GIT_TRACE2_EVENT_NESTING=10 git clone -q "$TRASH/main/.git" new &&
	is_as_in_head 4
'

test_expect_success 'working trees of a bare repository' '
	rm -rf bare.git one new trace &&
	git clone -q --bare repo bare.git &&
	git -C bare.git worktree add -q --detach ../one &&
	age one &&
	GIT_TEST_CHECKOUT_REFLINK=copy GIT_TRACE2_EVENT="$TRASH/trace" \
		GIT_TRACE2_EVENT_NESTING=10 \
		git -C bare.git worktree add -q --detach ../new &&
	is_as_in_head 4
'

# in_new <number> <arguments>...: run git in "new", which has a donor
in_new () {
	number=$1 &&
	shift &&
	rm -f trace &&
	GIT_TEST_CHECKOUT_REFLINK=copy GIT_TRACE2_EVENT="$TRASH/trace" \
		GIT_TRACE2_EVENT_NESTING=10 git -C new "$@" &&
	count_cloned $number
}

test_expect_success 'switch, reset, restore and checkout clone, too' '
	new_main &&
	git -C main worktree add -q -b new ../new &&
	(
		cd new &&
		git rm -q -r dir &&
		echo other >big &&
		git add big &&
		git commit -q -m other
	) &&
	in_new 3 switch -q --detach HEAD^ &&
	is_as_in_head 3 &&
	git -C new switch -q - &&
	in_new 3 reset -q --hard HEAD^ &&
	is_as_in_head 3 &&
	rm new/big &&
	in_new 1 restore big &&
	is_as_in_head 1 &&
	echo more >>new/script &&
	in_new 1 checkout -q HEAD -- . &&
	is_as_in_head 1
'

test_expect_success 'checkout-index clones below a prefix that is a directory' '
	new_main &&
	git -C main worktree add -q -b new ../new &&
	in_new 4 checkout-index --all --prefix=out/ &&
	test_cmp_bin repo/dir/file new/out/dir/file &&
	in_new 0 checkout-index --all --prefix=out- &&
	test_cmp_bin repo/dir/file new/out-dir/file
'

test_expect_success 'only to remove files is no reason to ask anybody' '
	new_main &&
	git -C main worktree add -q -b new ../new &&
	git -C new rm -q -r --cached . &&
	git -C new commit -q -m empty &&
	git -C new checkout -q -f HEAD^ &&
	rm -f trace &&
	GIT_TEST_CHECKOUT_WORKERS=2 GIT_TEST_CHECKOUT_REFLINK=copy \
		GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
		git -C new checkout -q new &&
	grep "checkout--worker" trace &&
	test_grep ! list-donor trace
'

test_expect_success 'a blob that is missing is an error' '
	new_main &&
	oid=$(git -C main rev-parse :big) &&
	rm -f main/.git/objects/$(test_oid_to_path $oid) &&
	for workers in 1 2
	do
		rm -rf new &&
		git -C main worktree prune &&
		test_must_fail env GIT_TEST_CHECKOUT_REFLINK=copy \
			GIT_TEST_CHECKOUT_WORKERS=$workers \
			git -C main worktree add --detach ../new 2>err &&
		test_grep "$oid" err &&
		test_path_is_missing new/big || return 1
	done
'

test_expect_success 'nothing is fetched into a donor, and no monitor asked' '
	rm -rf server partial &&
	cp -R repo server &&
	git -C server config uploadpack.allowFilter true &&
	git -C server config uploadpack.allowAnySHA1InWant true &&
	git clone -q --no-local --filter=blob:none server partial &&
	(
		cd partial &&
		echo "dir/* ident" >.gitattributes &&
		git add .gitattributes &&
		git commit -q -m attributes &&
		write_script ../monitor <<-EOF &&
		>"$TRASH/asked"
		printf "token\0"
		EOF
		write_script ../upload-pack <<-EOF &&
		>"$TRASH/fetched"
		exec git-upload-pack "\$@"
		EOF
		git config core.fsmonitor "$SQ$TRASH/monitor$SQ" &&
		git update-index --fsmonitor &&
		git config remote.origin.uploadpack "$SQ$TRASH/upload-pack$SQ" &&
		rm .gitattributes .git/objects/$(
			test_oid_to_path $(git rev-parse :.gitattributes)) &&
		rm -f ../asked ../fetched
	) &&
	age partial &&
	rm -f asked fetched &&
	new_main &&
	rm main/big &&
	check_out 4 git -c checkout.reflinkFrom="$TRASH/partial" \
		worktree add --detach ../new &&
	test_path_is_missing asked &&
	test_path_is_missing fetched
'

test_expect_success PIPE 'a donor that does not answer is not waited for long' '
	new_main &&
	rm -f main/.gitattributes &&
	mkfifo main/dir/.gitattributes &&
	rm -rf new &&
	GIT_TEST_CHECKOUT_REFLINK=copy \
		git -C main worktree add -q --detach ../new &&
	git -C new diff --exit-code HEAD &&
	rm main/dir/.gitattributes
'

test_expect_success ULIMIT_FILE_DESCRIPTORS 'few descriptors are enough' '
	new_main &&
	for n in 14 18 22 32
	do
		rm -rf new &&
		git -C main worktree prune &&
		(
			GIT_TEST_CHECKOUT_REFLINK=copy &&
			GIT_TEST_CHECKOUT_WORKERS=2 &&
			export GIT_TEST_CHECKOUT_REFLINK &&
			export GIT_TEST_CHECKOUT_WORKERS &&
			ulimit -n $n &&
			git -C main worktree add -q --detach ../new
		) &&
		git -C new diff --exit-code HEAD || return 1
	done
'

# What follows shares blocks in fact.

test_lazy_prereq XFS_IMAGE '
	test "$(id -u)" = 0 &&
	truncate -s 320M image &&
	mkfs.xfs -q image &&
	mkdir mnt &&
	mount -o loop image mnt &&
	umount mnt
'

test_expect_success XFS_IMAGE 'setup of a file system with shared blocks' '
	truncate -s 320M image &&
	mkfs.xfs -q image &&
	mkdir mnt &&
	mount -o loop image mnt &&
	test_atexit "umount mnt && rm image" &&
	git init -q mnt/main &&
	(
		cd mnt/main &&
		for i in $(test_seq 100)
		do
			test_seq $i 1200 >large$i &&
			echo $i >small$i || return 1
		done &&
		git add . &&
		git commit -q -m base
	) &&
	age mnt/main &&
	git -C mnt/main config checkout.reflink true &&
	git -C mnt/main config checkout.thresholdForParallelism 0
'

# share <name> <option>...: a new working tree
share () {
	name=$1 &&
	shift &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
		git -C mnt/main "$@" worktree add -q --detach ../$name &&
	git -C mnt/$name status --porcelain >actual &&
	test_must_be_empty actual &&
	git -C mnt/$name rm -q -r --cached . &&
	git -C mnt/$name add . &&
	git -C mnt/$name diff --cached --exit-code HEAD
}

test_expect_success XFS_IMAGE 'all files share blocks with checkout.reflink' '
	share workers -c checkout.workers=2 &&
	count_cloned 200 &&
	# one process needs some before it is worth it to ask another one
	share alone -c checkout.workers=1 &&
	count_cloned 137
'

test_expect_success XFS_IMAGE 'to write to a file leaves its donor alone' '
	cp mnt/main/large1 before &&
	for dir in workers alone
	do
		printf more >>mnt/$dir/large1 &&
		test_cmp before mnt/main/large1 || return 1
	done
'

test_expect_success XFS_IMAGE 'not if it is off, nor by default' '
	for value in false 0
	do
		share off-$value -c checkout.reflink=$value &&
		count_cloned 0 &&
		test_grep ! list-donor trace || return 1
	done &&
	git -C mnt/main config unset checkout.reflink &&
	share default &&
	count_cloned 0 &&
	test_grep ! list-donor trace
'

# at_most <number>: lists may come too late for some or all files
at_most () {
	test "$(sed -n "s/.*\"cloned_files\",\"value\":\"\([0-9]*\)\".*/\1/p" \
		trace | sort -n | tail -n 1)" -le "$1"
}

test_expect_success XFS_IMAGE 'auto shares blocks of large, old files at most' '
	git -C mnt/main config checkout.reflink auto &&
	share auto -c checkout.workers=2 &&
	at_most 100 &&
	test-tool chmtime =+1000 mnt/main/* &&
	git -C mnt/main update-index -q --refresh &&
	settle mnt/main &&
	share young -c checkout.workers=2 &&
	at_most 0
'

test_expect_success XFS_IMAGE 'auto shares what it is told of in time' '
	git init -q mnt/many &&
	(
		cd mnt/many &&
		test_seq 1200 >content &&
		blob=$(git hash-object -w content) &&
		test_seq 5000 | sed "s/.*/100644 $blob	file&/" |
		git update-index --index-info &&
		git commit -q -m many &&
		git reset -q --hard
	) &&
	age mnt/many &&
	for try in 1 2 3
	do
		rm -f trace &&
		GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
			git -C mnt/many -c checkout.workers=2 \
			-c checkout.reflink=auto \
			worktree add -q --detach ../many-$try &&
		test_grep "\"cloned_files\"" trace &&
		at_most 0 || return 0
	done &&
	false
'

test_expect_success XFS_IMAGE 'auto asks nobody for a few files' '
	rm mnt/auto/large1 mnt/auto/large2 &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
		git -C mnt/auto -c checkout.workers=2 checkout -q -f HEAD &&
	test_path_is_file mnt/auto/large2 &&
	test_grep ! list-donor trace
'

test_expect_success XFS_IMAGE 'no donor is on another file system' '
	rm -rf new trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
		git -C mnt/main -c checkout.reflink=true \
		worktree add -q --detach "$TRASH/new" &&
	count_cloned 0 &&
	test_grep ! list-donor trace
'

test_done
