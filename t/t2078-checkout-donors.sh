#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='files that share the blocks of those of another working tree

What is written is the same as without: no byte of a file that is not the blob
may get into another working tree, whatever its donor has or does.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-faulty-calls.sh"

sane_unset GIT_TEST_CHECKOUT_WORKERS

TRASH=$(pwd)

# FICLONE on any file system; see t/helper/fake-reflink.c
test_lazy_prereq FAKE_REFLINK '
	"${CC:-cc}" -shared -fPIC -o "$TRASH/fake-reflink.so" \
		"$TEST_DIRECTORY/helper/fake-reflink.c" &&
	fake copy git version >out 2>&1 &&
	! grep "ld[.]so" out
'

# fake <how> <command>...: run that with FICLONE that works like that
fake () {
	(
		FAKE_REFLINK=$1 &&
		# a path with blanks would be several
		LD_LIBRARY_PATH=$TRASH${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} &&
		LD_PRELOAD="fake-reflink.so $LD_PRELOAD" &&
		export FAKE_REFLINK LD_LIBRARY_PATH LD_PRELOAD &&
		shift &&
		"$@"
	)
}

# listed <dir> [<option>...]: what a checkout there is told of other working
# trees; their paths go to "donors", and their files to "listed"
listed () {
	dir=$1 &&
	shift &&
	git -C "$dir" "$@" checkout--worker --protocol=6 --list-donors \
		>list 2>err &&
	tr "\0" "\n" <list >lines &&
	sed -n "s/^donor //p" <lines >donors &&
	sed "/^donor /d" <lines >listed
}

# lists <dir>: the files that this donor should list
lists () {
	git -C "$1" ls-files -s | sed -n "s/^100[0-9]* \(.*\) 0	/\1 /p"
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
	)
'

# The working tree "main" is the donor, and "other" belongs to it.
new_main () {
	rm -rf main new other named &&
	cp -R repo main
}

new_other () {
	git -C main worktree add -q --detach ../other
}

test_expect_success 'a list has the regular files of an index, in order' '
	new_main &&
	new_other &&
	listed other &&
	echo "$TRASH/main" >expect &&
	test_cmp expect donors &&
	lists main >expect &&
	test_line_count = 5 expect &&
	test_cmp expect listed
'

test_expect_success 'nobody is a donor of itself' '
	new_main &&
	listed main &&
	test_must_be_empty donors &&
	test_must_be_empty listed
'

test_expect_success 'what is not there in full is not listed' '
	new_main &&
	new_other &&
	(
		cd main &&
		git update-index --skip-worktree dir/deep/file &&
		git ls-files -s script | sed "s/ 0	/ 2	/" >stages &&
		git rm -q --cached script &&
		git update-index --index-info <stages
	) &&
	listed other &&
	lists main | grep -v deep >expect &&
	test_line_count = 3 expect &&
	test_cmp expect listed
'

test_expect_success 'two donors are listed one after the other' '
	new_main &&
	new_other &&
	git -C main worktree add -q --detach ../new &&
	echo changed >other/big &&
	echo only >other/only &&
	git -C other add big only &&
	git -C main rm -q --cached script &&
	listed new &&
	printf "%s\n" "$TRASH/main" "$TRASH/other" >expect &&
	test_cmp expect donors &&
	{
		echo "donor $TRASH/main" &&
		lists main &&
		echo "donor $TRASH/other" &&
		lists other
	} >expect &&
	test_cmp expect lines
'

test_expect_success 'not more than two donors are listed' '
	new_main &&
	for i in 1 2 3
	do
		git -C main worktree add -q --detach ../donor-$i || return 1
	done &&
	listed donor-3 &&
	test_line_count = 2 donors &&
	rm -rf donor-1 donor-2 donor-3
'

test_expect_success 'all forms of an index will do' '
	for how in "--index-version 2" "--index-version 3" \
		"--index-version 4" --split-index
	do
		new_main &&
		new_other &&
		git -C main update-index $how &&
		listed other &&
		lists main >expect &&
		test_cmp expect listed || return 1
	done
'

test_expect_success 'a sparse index is read as it is' '
	new_main &&
	new_other &&
	git -C main update-index -q --refresh &&
	git -C main sparse-checkout set --cone --sparse-index nothing &&
	git -C main ls-files --sparse >actual &&
	grep "^dir/$" actual &&
	listed other &&
	lists repo | grep -v "dir/" >expect &&
	test_cmp expect listed
'

test_expect_success 'the index of a donor of another hash algorithm is not read' '
	case $(test_oid algo) in
	sha1) other_algo=sha256 ;;
	*) other_algo=sha1 ;;
	esac &&
	new_main &&
	git init -q --object-format=$other_algo named &&
	cp -R repo/big named &&
	git -C named add . &&
	listed main -c checkout.reflinkFrom="$TRASH/named" &&
	test_must_be_empty donors
'

test_expect_success 'checkout.reflinkFrom comes first, if it is a working tree' '
	new_main &&
	new_other &&
	cp -R repo named &&
	listed other -c checkout.reflinkFrom="$TRASH/named" &&
	printf "%s\n" "$TRASH/named" "$TRASH/main" >expect &&
	test_cmp expect donors &&
	for bad in named/dir named/big nothing other
	do
		listed other -c checkout.reflinkFrom="$TRASH/$bad" &&
		echo "$TRASH/main" >expect &&
		test_cmp expect donors || return 1
	done
'

test_expect_success 'the origin of a clone is a donor' '
	new_main &&
	for url in "$TRASH/main" "$TRASH/main/.git"
	do
		rm -rf new &&
		git clone -q "$url" new &&
		listed new &&
		echo "$TRASH/main" >expect &&
		test_cmp expect donors || return 1
	done
'

test_lazy_prereq CHOWN '
	>file &&
	test "$(id -u)" = 0 &&
	sane_unset SUDO_UID &&
	chown 12345 file
'

test_expect_success CHOWN 'what belongs to somebody else is no donor, named or not' '
	sane_unset SUDO_UID &&
	new_main &&
	new_other &&
	git -C main worktree add -q --detach ../new &&
	# that of "new" is found by main, whose files are ours
	for what in other other/.git main/.git/worktrees/other/index \
		main/.git/worktrees/other
	do
		chown 12345 "$what" &&
		listed new &&
		chown 0 "$what" &&
		echo "$TRASH/main" >expect &&
		test_cmp expect donors || return 1
	done &&
	git -C other update-index --split-index &&
	shared=$(echo main/.git/worktrees/other/sharedindex.*) &&
	chown 12345 "$shared" &&
	listed new -c checkout.reflinkFrom="$TRASH/other" &&
	lists main >expect &&
	test_cmp expect listed &&
	chown 0 "$shared" &&
	listed new -c checkout.reflinkFrom="$TRASH/other" &&
	{
		lists other &&
		lists main
	} >expect &&
	test_cmp expect listed &&
	cp -R repo named &&
	chown -R 12345 named &&
	git clone -q --no-checkout main new2 &&
	git -C new2 config remote.origin.url "$TRASH/named" &&
	listed new2 &&
	test_must_be_empty donors &&
	listed new2 -c checkout.reflinkFrom="$TRASH/named" &&
	test_must_be_empty donors
'

test_expect_success PIPE,CHOWN 'nothing is read of what belongs to somebody else' '
	sane_unset SUDO_UID &&
	rm -rf named &&
	cp -R repo named &&
	rm named/.git/config &&
	mkfifo named/.git/config &&
	chown 12345 named &&
	listed main -c checkout.reflinkFrom="$TRASH/named" &&
	test_path_is_file donors &&
	chown 0 named &&
	for what in config commondir index
	do
		rm -rf named &&
		cp -R repo named &&
		rm -f named/.git/$what &&
		mkfifo named/.git/$what &&
		chown 12345 named/.git/$what &&
		listed main -c checkout.reflinkFrom="$TRASH/named" &&
		test_path_is_file donors || return 1
	done &&
	rm -rf named &&
	cp -R repo named &&
	cp named/.git/index theirs &&
	chown 12345 theirs &&
	ln -sf "$TRASH/theirs" named/.git/index &&
	listed main -c checkout.reflinkFrom="$TRASH/named" &&
	! grep named donors
'

# tell <path> <donor>: a worker is to write the blob of repo/big at the path in
# "out"; the donor of that number may have it
tell () {
	printf "1 100644 %s donor=%s\t%s\n" \
		"$(git -C repo rev-parse :big)" "$2" "$1" >lines &&
	GIT_DIR=repo/.git test-tool checkout-wire encode <lines >frames
}

# work <how> [<option>...]: it does
work () {
	how=$1 &&
	shift &&
	rm -rf out &&
	mkdir out &&
	(
		cd repo &&
		fake $how git checkout--worker --protocol=6 --root=../out "$@" \
			<../frames >../answer 2>../err &&
		test_must_be_empty ../err &&
		test-tool checkout-wire decode <../answer >../actual
	)
}

cloned () {
	test_write_lines "1 written" "cloned 1 $(($(wc -c <repo/big)))" >expect &&
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

test_expect_success FAKE_REFLINK 'a worker clones the file that it is told of' '
	new_donor &&
	tell big 1 &&
	work copy --donor=../donor &&
	cloned &&
	mkdir donor/sub &&
	cp donor/big donor/sub/big &&
	tell sub/big 2 &&
	work copy --donor=../nothing --donor=../donor &&
	cloned sub/big
'

test_expect_success PRELOAD_FAULTS 'a creation that is interrupted is done again' '
	new_donor &&
	oid=$(git -C repo rev-parse :big) &&
	printf "1 100644 $oid\tbig1\n2 100644 $oid donor=1\tbig\n" |
		test-tool checkout-wire encode >frames &&
	rm -rf out &&
	mkdir out &&
	test_env FAULTS_NTH=2 with_faults create git -C repo checkout--worker \
		--protocol=6 --root=../out --donor=../donor <frames >answer &&
	test-tool checkout-wire decode <answer >actual &&
	test_line_count = 1 faults &&
	test_grep "^2 written" actual &&
	test_cmp_bin repo/big out/big
'

test_expect_success FAKE_REFLINK 'it clones nothing of a donor that it does not know' '
	new_donor &&
	tell big 2 &&
	work copy --donor=../donor &&
	written &&
	tell big 1 &&
	work copy --donor=../nothing &&
	written &&
	work copy &&
	written
'

test_expect_success FAKE_REFLINK 'what was not cloned as it should be is written' '
	new_donor &&
	tell big 1 &&
	for how in short zero other fail unsupported
	do
		FAKE_REFLINK_LOG="$TRASH/log" &&
		export FAKE_REFLINK_LOG &&
		test_when_finished "sane_unset FAKE_REFLINK_LOG" &&
		rm -f log &&
		work $how --donor=../donor &&
		written &&
		test_line_count = 1 log || return 1
	done
'

test_expect_success FAKE_REFLINK 'who cannot clone is not asked again' '
	new_donor &&
	test_when_finished "sane_unset FAKE_REFLINK_LOG" &&
	FAKE_REFLINK_LOG="$TRASH/log" &&
	export FAKE_REFLINK_LOG &&
	rm -f log &&
	cp donor/big donor/second &&
	{
		tell second 1 &&
		cat frames &&
		tell big 1 &&
		cat frames
	} >two &&
	mv two frames &&
	work unsupported --donor=../donor &&
	test_line_count = 1 log &&
	test_cmp_bin repo/big out/second
'

test_expect_success FAKE_REFLINK,PRELOAD_FAULTS 'a creation that is interrupted is done again' '
	new_donor &&
	cp donor/big donor/second &&
	printf "%d 100644 $(git -C repo rev-parse :big) donor=1\t%s\n" \
		1 big 2 second >lines &&
	GIT_DIR=repo/.git test-tool checkout-wire encode <lines >frames &&
	(
		FAULTS_NTH=2 &&
		export FAULTS_NTH &&
		with_faults create work copy --donor=../donor
	) &&
	test_line_count = 1 faults &&
	size=$(($(wc -c <repo/big))) &&
	test_write_lines "1 written" "2 written" "cloned 2 $((2 * $size))" \
		>expect &&
	test_cmp expect actual
'

test_expect_success FAKE_REFLINK 'no worker clones what is not the blob' '
	for what in content size longer link missing dir
	do
		new_donor &&
		tell big 1 &&
		case $what in
		content) tr 1 2 <repo/big >donor/big ;;
		size) : >donor/big ;;
		longer) echo more >>donor/big ;;
		link) mv donor/big donor/other && ln -s other donor/big ;;
		missing) rm donor/big ;;
		dir) rm donor/big && mkdir donor/big ;;
		esac &&
		work copy --donor=../donor &&
		written || return 1
	done
'

# Where leases are known to hold, only the donor's file is read, and the clone not:
# of a donor that has the blob, "other" is then taken for it, which nobody can make
# it unless the lease is refused or asked back.
test_lazy_prereq LEASES '
	cd "$TRASH" &&
	new_donor &&
	tell big 1 &&
	FAKE_REFLINK_LEASES=1 &&
	export FAKE_REFLINK_LEASES &&
	work other --donor=../donor &&
	test_grep cloned actual
'

test_expect_success FAKE_REFLINK,LEASES 'no worker clones what is not the blob, with a lease' '
	new_donor &&
	tell big 1 &&
	test_when_finished "sane_unset FAKE_REFLINK_LEASES" &&
	FAKE_REFLINK_LEASES=1 &&
	export FAKE_REFLINK_LEASES &&
	work copy --donor=../donor &&
	cloned &&
	for how in short fail unsupported
	do
		work $how --donor=../donor &&
		written || return 1
	done &&
	tr 1 2 <repo/big >donor/big &&
	work copy --donor=../donor &&
	written
'

test_expect_success FAKE_REFLINK,LEASES 'a lease that is not had, or not to the end, proves nothing' '
	new_donor &&
	tell big 1 &&
	test_when_finished "sane_unset FAKE_REFLINK_LEASES" &&
	FAKE_REFLINK_LEASES=1 &&
	export FAKE_REFLINK_LEASES &&
	work opened --donor=../donor &&
	written &&
	(
		exec 7>>donor/big &&
		work other --donor=../donor 7>&-
	) &&
	written
'

test_expect_success FAKE_REFLINK 'what has the bytes is cloned, whatever its times' '
	new_donor &&
	test-tool chmtime =-5 donor/big &&
	tell big 1 &&
	work copy --donor=../donor &&
	cloned
'

test_expect_success FAKE_REFLINK 'no worker goes through a symbolic link in a donor' '
	new_donor &&
	mkdir donor/real &&
	cp donor/big donor/real/big &&
	ln -s real donor/sub &&
	tell sub/big 1 &&
	work copy --donor=../donor &&
	written sub/big
'

test_expect_success FAKE_REFLINK,PIPE 'no worker waits for a pipe in a donor' '
	new_donor &&
	rm donor/big &&
	mkfifo donor/big &&
	tell big 1 &&
	work copy --donor=../donor &&
	written
'

test_expect_success FAKE_REFLINK 'a missing blob is not cloned' '
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

# From here on, whole checkouts.

# run_faked <how> <command>...: with a trace, and with workers
run_faked () {
	how=$1 &&
	shift &&
	rm -f "$TRASH/trace" &&
	fake $how env GIT_TRACE2_EVENT="$TRASH/trace" \
		GIT_TRACE2_EVENT_NESTING=10 "$@" 2>"$TRASH/err"
}

# check_out <number> git <arguments>...
#
# Run that in main, to make the working tree "new", where so many files are to
# be clones, with another number of workers each time.
check_out () {
	number=$1 &&
	shift &&
	for workers in 2 auto
	do
		rm -rf new &&
		git -C main worktree prune &&
		(
			cd main &&
			run_faked copy env GIT_TEST_CHECKOUT_WORKERS=$workers \
				"$@"
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

add_new="git -c checkout.reflink=true worktree add --detach ../new"

test_expect_success FAKE_REFLINK 'a working tree is cloned from the main one' '
	new_main &&
	check_out 4 $add_new &&
	grep "\"cloned_bytes\",\"value\":\"[1-9]" trace
'

test_expect_success 'checkout.reflink: what it may be' '
	new_main &&
	for value in true false auto force yes 0
	do
		git -C main -c checkout.reflink=$value \
			checkout-index -f big || return 1
	done &&
	test_expect_code 128 git -C main -c checkout.reflink=some \
		checkout-index -f big 2>err &&
	test_grep "bad value .some. for .checkout.reflink.: neither a boolean nor .force." err &&
	rm -f trace &&
	test_expect_code 128 env GIT_TRACE="$TRASH/trace" \
		git -c checkout.reflink=some clone -q --no-local main bad 2>err &&
	test_grep "bad value .some. for .checkout.reflink." err &&
	test_grep ! upload-pack trace
'

test_expect_success FAKE_REFLINK 'auto is the same as true, and false as nothing' '
	new_main &&
	check_out 4 git -c checkout.reflink=auto worktree add --detach ../new &&
	check_out 0 git -c checkout.reflink=false worktree add --detach ../new &&
	test_grep ! list-donors trace &&
	check_out 0 git worktree add --detach ../new &&
	test_grep ! list-donors trace
'

test_expect_success FAKE_REFLINK 'only file systems that are known to be sound, unless forced' '
	new_main &&
	test_when_finished "sane_unset FAKE_REFLINK_FS" &&
	for type in 58465342 9123683e ca451a4e 7461636f
	do
		FAKE_REFLINK_FS=$type &&
		export FAKE_REFLINK_FS &&
		check_out 4 $add_new || return 1
	done &&
	FAKE_REFLINK_FS=2fc12fc1 &&	# ZFS
	check_out 0 $add_new &&
	test_grep ! list-donors trace &&
	check_out 4 git -c checkout.reflink=force worktree add --detach ../new
'

test_expect_success FAKE_REFLINK 'a file system that clones a part only' '
	new_main &&
	for how in short zero other fail unsupported
	do
		rm -rf new &&
		git -C main worktree prune &&
		run_faked $how env GIT_TEST_CHECKOUT_WORKERS=2 \
			git -C main -c checkout.reflink=true \
			worktree add --detach ../new &&
		is_as_in_head 0 || return 1
	done
'

test_expect_success FAKE_REFLINK,POSIXPERM 'modes are those of an ordinary checkout' '
	new_main &&
	chmod 600 main/big &&
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

test_expect_success FAKE_REFLINK 'what was changed in the donor is not cloned' '
	new_main &&
	echo dirty >main/dir/file &&
	check_out 3 $add_new &&
	mtime=$(test-tool chmtime --get main/big) &&
	tr 1 2 <main/big >changed &&
	cat changed >main/big &&
	test-tool chmtime =$mtime main/big &&
	check_out 2 $add_new &&
	rm main/script &&
	check_out 1 $add_new &&
	rm -rf main/dir &&
	ln -s ../repo/dir main/dir &&
	check_out 0 $add_new
'

test_expect_success FAKE_REFLINK 'an index that lies is not believed' '
	new_main &&
	git -C main ls-files -s big >entry &&
	tr 1 2 <repo/big >main/big &&
	read -r mode oid rest <entry &&
	git -C main update-index --cacheinfo "$mode,$oid,big" &&
	git -C main update-index --assume-unchanged big &&
	check_out 3 $add_new
'

test_expect_success FAKE_REFLINK 'bytes that other attributes have made are not cloned' '
	new_main &&
	(
		cd main &&
		git config filter.up.smudge "tr 1-4 5-8" &&
		git config filter.up.clean "tr 5-8 1-4" &&
		git branch plain &&
		echo "big filter=up" >.gitattributes &&
		git add .gitattributes &&
		git commit -q -m filtered &&
		rm big &&
		git checkout -q -- big &&
		test_grep 5 big &&
		git checkout -q plain
	) &&
	check_out 3 $add_new plain &&
	rm -f tree-* &&
	git -C main checkout -q - &&
	echo "* filter=up" >main/.gitattributes &&
	git -C main commit -q -a -m all &&
	rm -rf main/dir main/big main/script main/.gitattributes &&
	git -C main -c checkout.workers=1 checkout -q -f HEAD -- . &&
	check_out 0 $add_new plain
'

test_expect_success FAKE_REFLINK 'what is converted here is not cloned' '
	new_main &&
	echo "dir/* text eol=crlf" >main/.git/info/attributes &&
	(
		# then it is not as in an ordinary clone
		is_as_in_head () {
			count_cloned "$1" &&
			tr -d "\015" <new/dir/file >actual &&
			test_cmp repo/dir/file actual &&
			! test_cmp_bin repo/dir/file new/dir/file
		} &&
		check_out 3 $add_new
	)
'

test_expect_success FAKE_REFLINK 'other blobs than the donor has are written, other modes set' '
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
	check_out 3 $add_new HEAD^
'

test_expect_success FAKE_REFLINK 'of two donors, each gives what it has' '
	new_main &&
	new_other &&
	git -C main rm -q --cached big script &&
	check_out 4 $add_new &&
	rm other/big &&
	check_out 3 $add_new
'

test_expect_success FAKE_REFLINK 'a donor whose index cannot be read is none' '
	new_main &&
	printf "DIRC garbage" >main/.git/index &&
	check_out 0 $add_new &&
	rm main/.git/index &&
	check_out 0 $add_new
'

test_expect_success FAKE_REFLINK,SANITY 'what cannot be read is written' '
	new_main &&
	test_when_finished "chmod 755 main/dir; chmod 644 main/big" &&
	chmod a-r main/big &&
	chmod 0 main/dir &&
	check_out 1 $add_new
'

test_expect_success FAKE_REFLINK 'a clone of a working tree beside it is cloned' '
	for url in main "$TRASH/main/.git"
	do
		new_main &&
		run_faked copy env GIT_TEST_CHECKOUT_WORKERS=2 \
			git -c checkout.reflink=true clone -q "$url" new &&
		is_as_in_head 4 || return 1
	done
'

test_expect_success FAKE_REFLINK 'working trees of a bare repository' '
	new_main &&
	rm -rf bare.git one &&
	git clone -q --bare repo bare.git &&
	git -C bare.git worktree add -q --detach ../one &&
	run_faked copy env GIT_TEST_CHECKOUT_WORKERS=2 \
		git -C bare.git -c checkout.reflink=true \
		worktree add -q --detach ../new &&
	is_as_in_head 4
'

# in_new <number> <arguments>...: run git in "new", which has a donor, and
# where nothing is racily clean
in_new () {
	number=$1 &&
	shift &&
	test-tool chmtime =+5 "$(git -C new rev-parse \
		--path-format=absolute --git-path index)" &&
	run_faked copy env GIT_TEST_CHECKOUT_WORKERS=2 \
		git -C new -c checkout.reflink=true "$@" &&
	count_cloned $number
}

test_expect_success FAKE_REFLINK 'switch, reset, restore and checkout clone, too' '
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
	rm -r new/big new/dir &&
	in_new 3 restore . &&
	is_as_in_head 3 &&
	rm -r new/script new/dir &&
	in_new 3 checkout -q HEAD -- . &&
	is_as_in_head 3
'

test_expect_success FAKE_REFLINK 'checkout-index clones below a prefix that is a directory' '
	new_main &&
	git -C main worktree add -q -b new ../new &&
	in_new 4 checkout-index --all --prefix=out/ &&
	test_cmp_bin repo/dir/file new/out/dir/file &&
	in_new 0 checkout-index --all --prefix=out- &&
	test_cmp_bin repo/dir/file new/out-dir/file
'

test_expect_success FAKE_REFLINK 'a few files alone are no reason to ask anybody' '
	new_main &&
	new_other &&
	rm other/big &&
	run_faked copy git -C other -c checkout.workers=1 \
		-c checkout.reflink=true checkout-index -a &&
	test_cmp_bin repo/big other/big &&
	test_grep ! list-donors trace
'

test_expect_success FAKE_REFLINK 'a blob that is missing is an error' '
	new_main &&
	oid=$(git -C main rev-parse :big) &&
	rm -f main/.git/objects/$(test_oid_to_path $oid) &&
	fake copy test_must_fail env GIT_TEST_CHECKOUT_WORKERS=2 \
		git -C main -c checkout.reflink=true \
		worktree add --detach ../new 2>err &&
	test_grep "$oid" err &&
	test_path_is_missing new/big
'

test_expect_success 'no monitor is asked about a donor' '
	new_main &&
	write_script monitor <<-EOF &&
	>"$TRASH/asked"
	printf "token\\0"
	EOF
	git -C main config core.fsmonitor "$SQ$TRASH/monitor$SQ" &&
	git -C main update-index --fsmonitor &&
	git -C main worktree add -q --no-checkout --detach ../other &&
	rm -f asked &&
	listed other &&
	test_path_is_missing asked &&
	lists main >expect &&
	test_cmp expect listed
'

# usage: reset_main [<command>...]: while the lister has to wait
reset_main () {
	rm -f main/dir/file &&
	run_faked copy "$@" env GIT_TEST_CHECKOUT_WORKERS=2 \
		git -C main -c checkout.reflink=true reset -q --hard &&
	grep list-donors trace &&
	test_cmp repo/dir/file main/dir/file
}

test_expect_success FAKE_REFLINK,PIPE 'donors that cannot be found at once are not waited for long' '
	new_main &&
	mkdir -p main/.git/worktrees/pipe &&
	mkfifo main/.git/worktrees/pipe/gitdir &&
	reset_main
'

test_expect_success FAKE_REFLINK,PIPE 'nor are those whose index cannot be read' '
	new_main &&
	new_other &&
	rm main/.git/worktrees/other/index &&
	mkfifo main/.git/worktrees/other/index &&
	reset_main
'

test_expect_success FAKE_REFLINK,PIPE,PERL 'nor are they if SIGALRM is blocked' '
	new_main &&
	mkdir -p main/.git/worktrees/pipe &&
	mkfifo main/.git/worktrees/pipe/gitdir &&
	reset_main "$PERL_PATH" -e "
		use POSIX;
		sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGALRM));
		exec @ARGV;
	"
'

test_expect_success FAKE_REFLINK 'a donor whose path was cut is none' '
	new_main &&
	mkdir cut &&
	write_script cut/git <<-EOF &&
	case "\$*" in
	*--list-donors)
		printf "donor $TRASH/main"
		exec sleep 30 ;;
	esac
	exec "$GIT_BUILD_DIR/git" "\$@"
	EOF
	rm -f main/dir/file &&
	run_faked copy env GIT_TEST_CHECKOUT_WORKERS=2 \
		GIT_EXEC_PATH="$TRASH/cut" "$GIT_BUILD_DIR/git" -C main \
		-c checkout.reflink=true reset -q --hard &&
	grep list-donors trace &&
	test_grep ! "key.:.donor" trace &&
	test_cmp repo/dir/file main/dir/file
'

test_expect_success FAKE_REFLINK,ULIMIT_FILE_DESCRIPTORS 'few descriptors are enough' '
	new_main &&
	for n in 14 18 22 32
	do
		rm -rf new &&
		git -C main worktree prune &&
		(
			ulimit -n $n &&
			run_faked copy env GIT_TEST_CHECKOUT_WORKERS=2 \
				git -C main -c checkout.reflink=true \
				worktree add -q --detach ../new
		) &&
		git -C new diff --exit-code HEAD || return 1
	done
'

# What follows shares blocks in fact.

for fs in xfs btrfs
do
	image=IMAGE_$(echo $fs | tr "[:lower:]" "[:upper:]")

	test_lazy_prereq $image '
		test "$(id -u)" = 0 &&
		truncate -s 320M image &&
		mkfs.$fs -q image &&
		mkdir mnt &&
		mount -o loop image mnt &&
		umount mnt
	'

	test_expect_success $image "setup of $fs" '
		truncate -s 320M image-$fs &&
		mkfs.$fs -q image-$fs &&
		mkdir mnt-$fs &&
		mount -o loop image-$fs mnt-$fs &&
		test_atexit "umount \"$TRASH/mnt-$fs\"; rm -f \"$TRASH/image-$fs\"" &&
		git init -q mnt-$fs/main &&
		(
			cd mnt-$fs/main &&
			for i in $(test_seq 100)
			do
				test_seq $i 1200 >large$i &&
				echo $i >small$i || return 1
			done &&
			git add . &&
			git commit -q -m base &&
			git config checkout.reflink true &&
			git config checkout.thresholdForParallelism 0
		)
	'

	# share <name> <option>...: a new working tree
	share () {
		name=$1 &&
		shift &&
		rm -f trace &&
		GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
			git -C mnt-$fs/main "$@" \
			worktree add -q --detach ../$name &&
		git -C mnt-$fs/$name status --porcelain >actual &&
		test_must_be_empty actual &&
		git -C mnt-$fs/$name rm -q -r --cached . &&
		git -C mnt-$fs/$name add . &&
		git -C mnt-$fs/$name diff --cached --exit-code HEAD
	}

	test_expect_success $image "all files share blocks on $fs" '
		share workers -c checkout.workers=2 &&
		count_cloned 200
	'

	test_expect_success $image "to write to a file leaves its donor alone on $fs" '
		cp mnt-$fs/main/large1 before &&
		printf more >>mnt-$fs/workers/large1 &&
		test_cmp before mnt-$fs/main/large1
	'

	test_expect_success $image "no donor is on another file system than $fs" '
		rm -rf new trace &&
		GIT_TRACE2_EVENT="$TRASH/trace" GIT_TRACE2_EVENT_NESTING=10 \
			git -C mnt-$fs/main -c checkout.reflink=force \
			-c checkout.workers=2 \
			worktree add -q --detach "$TRASH/new" &&
		count_cloned 0 &&
		rm -rf new
	'
done

test_done
