#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='git checkout--worker, without a main process

The worker is given frames by hand, and what it answers and leaves behind is
compared with what the frames say. What it cannot do as it was told it has to
leave alone: nothing is written outside the root or in the place of a file that
is not the expected one, and nothing is said.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-encoding.sh"

# item <id> <path> [<oid> [<mode> [<option>...]]]
#
# Print a line for "test-tool checkout-wire encode".
item () {
	item_id=$1 &&
	item_path=$2 &&
	item_oid=${3:-$hello} &&
	item_mode=${4:-100644} &&
	if test $# -gt 4
	then
		shift 4
	else
		shift $#
	fi &&
	printf "%s" "$item_id $item_mode $item_oid" &&
	for item_option
	do
		printf " %s" "$item_option" || return 1
	done &&
	printf "\t%s\n" "$item_path"
}

# encode [<option>...] <lines
#
# Make frames of them in the file "frames".
encode () {
	test-tool checkout-wire encode "$@" >frames
}

# worker [<option>...]
#
# Have a worker work on "frames", and decode what it answers to "actual". It
# must not say anything.
worker () {
	git checkout--worker --protocol=6 "$@" <frames >answer 2>err &&
	test_must_be_empty err &&
	test-tool checkout-wire decode <answer >actual
}

# Same for a single item: work_on <item's arguments>
work_on () {
	item "$@" | encode &&
	worker
}

# expect <status>: the only item, with id 1, got this status.
expect () {
	echo "1 $1" >expect &&
	test_cmp expect actual
}

# bad_input <message> [<option>...]
#
# The worker ends with an error, of which a line has the message, and with
# nothing else on its standard error.
bad_input () {
	message=$1 &&
	shift &&
	test_expect_code 128 git checkout--worker --protocol=6 "$@" \
		<frames >answer 2>err &&
	echo "error: $message" >expect.err &&
	test_cmp expect.err err
}

test_expect_success 'setup' '
	hello=$(echo hello | git hash-object -w --stdin) &&
	other=$(echo other | git hash-object -w --stdin) &&
	empty=$(git hash-object -w --stdin </dev/null) &&
	echo hello >hello &&
	echo other >other &&
	mkdir outside &&
	echo precious >outside/precious
'

test_expect_success 'files, directories, and results in the order of the items' '
	{
		item 7 order/a/b/c &&
		item 3 order/a/x $other &&
		item 4294967295 order/empty $empty &&
		item 0 order/a/b/d $other &&
		item 5 "order/sp  ace/	tab" &&
		item 4 top
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	7 written
	3 written
	4294967295 written
	0 written
	5 written
	4 written
	EOF
	test_cmp expect actual &&
	test_cmp hello order/a/b/c &&
	test_cmp other order/a/x &&
	test_must_be_empty order/empty &&
	test_cmp other order/a/b/d &&
	test_cmp hello "order/sp  ace/	tab" &&
	test_cmp hello top
'

test_expect_success 'directories whose names begin alike' '
	n=0 &&
	for path in a/b/x ab/x a/bc/x a/b/y ab/b/x a-/x a/x abc x/ab a/b/c/d/x \
		a/b/cd/x a/b/c/x
	do
		n=$(($n + 1)) &&
		item $n alike/$path || return 1
	done >lines &&
	encode <lines &&
	worker &&
	! grep -v written actual &&
	sed "s/.*	//" lines | sort >expect &&
	find alike -type f >files &&
	sort files >actual &&
	test_cmp expect actual
'

test_expect_success 'one frame of results for each frame of items' '
	{
		item 1 split/a &&
		item 2 split/b $other &&
		item 3 split/c $empty &&
		item 4 split/d
	} >lines &&
	for split in 1 2 3 4
	do
		rm -rf split &&
		encode --split=$split <lines &&
		git checkout--worker --protocol=6 <frames >answer &&
		test-tool checkout-wire decode --batches <answer >actual &&
		sed "s/ written//" actual >got &&
		case $split in
		1) echo batch 6, 1, batch 6, 2, batch 0, 3, batch 6, 4 ;;
		2) echo batch 12, 1, 2, batch 6, 3, 4 ;;
		3) echo batch 12, 1, 2, 3, batch 6, 4 ;;
		4) echo batch 18, 1, 2, 3, 4 ;;
		esac >line &&
		sed "s/, /\\n/g" line >expect &&
		test_cmp expect got || return 1
	done
'

test_expect_success 'frame without items is answered' '
	echo | encode &&
	git checkout--worker --protocol=6 <frames >answer &&
	test-tool checkout-wire decode --batches <answer >actual &&
	echo "batch 0" >expect &&
	test_cmp expect actual
'

test_expect_success '--stat answers with the stat data of the files' '
	{
		item 1 stat/a &&
		item 2 stat/b $other 100755 &&
		item 3 stat/missing $(test_oid deadbeef) &&
		item 4 stat/empty $empty
	} | encode &&
	worker --stat &&
	{
		printf "1 written" &&
		test-tool checkout-wire stat stat/a &&
		printf "2 written" &&
		test-tool checkout-wire stat stat/b &&
		echo "3 declined" &&
		printf "4 written" &&
		test-tool checkout-wire stat stat/empty
	} >expect &&
	test_cmp expect actual &&
	grep "size=6 " actual &&
	grep "size=0 " actual
'

test_expect_success 'nothing to do' '
	git checkout--worker --protocol=6 </dev/null >answer 2>err &&
	test_must_be_empty answer &&
	test_must_be_empty err
'

test_expect_success '--root' '
	mkdir root &&
	item 1 dir/file | encode &&
	worker --root=root &&
	expect written &&
	test_cmp hello root/dir/file &&
	rm -r root/dir &&
	worker --root=root/ &&
	expect written &&
	test_cmp hello root/dir/file &&
	worker --root="$(pwd)/root" &&
	expect collided
'

test_expect_success SYMLINKS '--root can be a symbolic link' '
	mkdir real &&
	ln -s real link &&
	item 1 dir/file | encode &&
	worker --root=link &&
	expect written &&
	test_path_is_file real/dir/file &&
	rm -r real/dir &&
	worker --root=link/ &&
	expect written &&
	test_path_is_file real/dir/file &&
	test -h link
'

test_expect_success '--root has to exist' '
	item 1 dir/file | encode &&
	test_expect_code 128 git checkout--worker --protocol=6 --root=missing \
		<frames >answer 2>err &&
	test_grep "^fatal: cannot open directory .missing.:" err &&
	test_line_count = 1 err &&
	test_must_be_empty answer &&
	test_path_is_missing missing &&
	test_must_fail git checkout--worker --protocol=6 --root=hello \
		<frames 2>err &&
	test_grep "^fatal: cannot open directory .hello.:" err
'

test_expect_success 'filters are run by a worker that is told so' '
	write_script upper <<-\EOF &&
	echo "$GIT_PREFIX" >&2
	tr a-z A-Z
	EOF
	item 1 filtered $hello 100644 filter=./upper | encode &&
	worker &&
	expect declined &&
	test_path_is_missing filtered &&
	git checkout--worker --protocol=6 --filters --git-prefix=some/ \
		<frames >answer 2>err &&
	test-tool checkout-wire decode <answer >actual &&
	expect written &&
	echo HELLO >expect.file &&
	test_cmp expect.file filtered &&
	echo some/ >expect.err &&
	test_cmp expect.err err
'

test_expect_success 'the commit that filters are told has to be one' '
	test_expect_code 128 git checkout--worker --protocol=6 --filters \
		--treeish=HEAD <frames >answer 2>err &&
	echo "fatal: malformed object name ${SQ}HEAD${SQ}" >expect &&
	test_cmp expect err &&
	test_must_be_empty answer
'

test_expect_success 'a filter that fails is for others to report' '
	write_script fails <<-\EOF &&
	cat
	exit 1
	EOF
	item 1 failed $hello 100644 filter=./fails | encode &&
	worker --filters &&
	expect unfiltered &&
	test_path_is_missing failed &&
	item 1 failed $hello 100644 process=./no-such-filter | encode &&
	git checkout--worker --protocol=6 --filters <frames >answer 2>err &&
	test-tool checkout-wire decode <answer >actual &&
	expect unfiltered &&
	test_grep ! "^error" err
'

test_expect_success 'after one that is required, nothing is filtered' '
	for i in 1 2 3 4
	do
		echo old >old$i || return 1
	done &&
	{
		item 1 old1 $hello 100644 filter=./upper old=100644:old1 &&
		item 2 old2 $hello 100644 filter=./fails required old=100644:old2 &&
		item 3 old3 $hello 100644 filter=./upper old=100644:old3 &&
		item 4 old4 $hello 100644 old=100644:old4
	} | encode &&
	git checkout--worker --protocol=6 --filters <frames >answer 2>err &&
	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 written
	2 unfiltered
	3 declined
	4 written
	EOF
	test_cmp expect actual &&
	test_path_is_missing old2 &&
	echo old >expect &&
	test_cmp expect old3 &&
	test_cmp hello old4
'

test_expect_success 'setup of a filter that delays' '
	write_script late <<-EOF
	exec "$GIT_BUILD_DIR/t/helper/test-tool$X" checkout-filter --name=late \\
		--delay="late*" --fail="late*never" --list=\${LIST:-missing} \\
		--log-lists process
	EOF
'

test_expect_success 'what is delayed is answered when it is asked for' '
	{
		item 1 late1 $hello 100644 delay=./late &&
		item 2 late2 $other 100755 delay=./late encoding=UTF-16 &&
		item 3 soon $hello 100644 delay=./late &&
		item 4 late3 $hello 100644 process=./late
	} | encode --collect &&
	GIT_TEST_FILTER_LOG=$PWD/told LIST=one git checkout--worker \
		--protocol=6 --filters <frames >answer 2>err &&
	test_must_be_empty err &&
	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 delayed
	2 delayed
	3 written
	4 written
	late 1 written
	late 2 written
	EOF
	test_cmp expect actual &&
	test_cmp soon late1 &&
	test_cmp soon late3 &&
	! test_cmp soon late2 &&
	test_path_is_file late2 &&
	# and once more, when there is nothing left
	grep -c "list.*holds" told >count &&
	echo 3 >expect &&
	test_cmp expect count
'

test_expect_success 'what nobody asks for is forgotten' '
	rm -f told late1 &&
	item 1 late1 $hello 100644 delay=./late | encode &&
	GIT_TEST_FILTER_LOG=$PWD/told git checkout--worker \
		--protocol=6 --filters <frames >answer 2>err &&
	test-tool checkout-wire decode <answer >actual &&
	expect delayed &&
	test_path_is_missing late1 &&
	test_grep ! "list" told
'

test_expect_success 'what a filter never has is unfiltered in the end' '
	{
		item 1 late.never $hello 100644 delay=./late &&
		item 2 late.at-last $other 100644 delay=./late
	} | encode --collect &&
	worker --filters &&
	cat >expect <<-\EOF &&
	1 delayed
	2 delayed
	late 2 written
	late 1 unfiltered
	EOF
	test_cmp expect actual &&
	test_path_is_missing late.never &&
	test_path_is_file late.at-last
'

test_expect_success 'what a filter that has ended had is not asked of another' '
	write_script ends <<-EOF &&
	exec "$GIT_BUILD_DIR/t/helper/test-tool$X" checkout-filter --name=ends \\
		--delay="end*" --fail=end2 --how=die process
	EOF
	for i in 1 2 3 4
	do
		item $i end$i $hello 100644 delay=./ends || return 1
	done >lines &&
	encode --collect <lines &&
	worker --filters &&
	cat >expect <<-\EOF &&
	1 delayed
	2 delayed
	3 delayed
	4 delayed
	late 1 written
	late 2 unfiltered
	late 3 unfiltered
	late 4 unfiltered
	EOF
	test_cmp expect actual &&
	test_path_is_missing end3
'

test_expect_success 'other protocols are refused' '
	item 1 protocol | encode &&
	for option in --protocol=0 --protocol=1 --protocol=-1 --root=.
	do
		test_expect_code 129 git checkout--worker $option \
			<frames >answer 2>err &&
		test_grep "^fatal: checkout worker of protocol 6 was asked for" err &&
		test_line_count = 1 err &&
		test_must_be_empty answer || return 1
	done &&
	for option in --protocol= "--from-the-future --protocol=7" \
		"--protocol=6 argument"
	do
		test_expect_code 129 git checkout--worker $option \
			<frames >answer &&
		test_must_be_empty answer || return 1
	done &&
	test_path_is_missing protocol
'

test_expect_success SYMLINKS 'nothing is written through a symbolic link' '
	ln -s outside leading &&
	mkdir -p deep/er &&
	ln -s ../../outside deep/er/leading &&
	ln -s nowhere dangling &&
	ln -s . self &&
	ln -s loop loop &&
	{
		item 1 leading/file &&
		item 2 leading/dir/file &&
		item 3 deep/er/leading/file &&
		item 4 deep/er/leading/precious $hello 100644 \
			old=100644:outside/precious &&
		item 5 dangling/file &&
		item 6 self/file &&
		item 7 loop/file &&
		item 8 deep/er/fine
	} | encode --split=3 &&
	worker &&
	cat >expect <<-\EOF &&
	1 collided
	2 collided
	3 collided
	4 collided
	5 collided
	6 collided
	7 collided
	8 written
	EOF
	test_cmp expect actual &&
	test -h leading &&
	test -h deep/er/leading &&
	test -h dangling &&
	test_path_is_missing nowhere &&
	test_path_is_missing file &&
	echo precious >expect &&
	test_cmp expect outside/precious &&
	ls outside >actual &&
	test_cmp expect actual
'

# Without directory handles, what is known of leading directories is cached, as
# it is in the main process.
test_lazy_prereq OPENAT '
	test-tool checkout-wire has-openat
'

test_expect_success SYMLINKS,OPENAT,PIPE 'not even if it replaces a known directory' '
	mkfifo in out &&
	test_when_finished "rm -f in out" &&
	item 1 swap/a/first | encode && mv frames first &&
	item 2 swap/a/second | encode && mv frames second &&

	{ git checkout--worker --protocol=6 <in >out & } &&
	exec 8>in &&
	exec 9<out &&
	test_when_finished "exec 8>&- 9<&-" &&
	cat first >&8 &&
	test_copy_bytes 96 <&9 >answer &&

	mv swap/a swap/b &&
	mv swap moved &&
	mkdir swap &&
	ln -s ../outside swap/a &&
	cat second >&8 &&
	exec 8>&- &&
	cat <&9 >>answer &&
	wait &&

	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 written
	2 collided
	EOF
	test_cmp expect actual &&
	test_path_is_file moved/b/first &&
	test_path_is_missing moved/b/second &&
	test_path_is_missing outside/second
'

# A handle of a directory stays one wherever the directory goes.
test_expect_success PIPE 'a known directory that is moved out of the worktree' '
	mkdir worktree &&
	mkfifo in out &&
	test_when_finished "rm -f in out" &&
	item 1 goes/away/first | encode && mv frames first &&
	item 2 goes/away/second | encode && mv frames second &&

	{ git checkout--worker --protocol=6 --root=worktree <in >out & } &&
	exec 8>in &&
	exec 9<out &&
	test_when_finished "exec 8>&- 9<&-" &&
	cat first >&8 &&
	test_copy_bytes 96 <&9 >answer &&

	mv worktree/goes gone &&
	cat second >&8 &&
	exec 8>&- &&
	cat <&9 >>answer &&
	wait &&

	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 written
	2 written
	EOF
	test_cmp expect actual &&
	test_path_is_file worktree/goes/away/second &&
	test_path_is_missing gone/away/second
'

test_expect_success 'file in the place of a leading directory' '
	echo dirty >notdir &&
	mkdir sub &&
	echo dirty >sub/notdir &&
	{
		item 1 notdir/file &&
		item 2 sub/notdir/dir/file &&
		item 3 sub/fine
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 collided
	2 collided
	3 written
	EOF
	test_cmp expect actual &&
	echo dirty >expect &&
	test_cmp expect notdir &&
	test_cmp expect sub/notdir
'

test_expect_success 'what exists is left alone' '
	mkdir exists &&
	echo dirty >exists/file &&
	mkdir exists/emptydir exists/dir &&
	echo dirty >exists/dir/file &&
	{
		item 1 exists/file &&
		item 2 exists/emptydir &&
		item 3 exists/dir &&
		item 4 exists/dir/file &&
		item 5 exists/new
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 collided
	2 collided
	3 collided
	4 collided
	5 written
	EOF
	test_cmp expect actual &&
	echo dirty >expect &&
	test_cmp expect exists/file &&
	test_cmp expect exists/dir/file &&
	test_path_is_dir exists/emptydir
'

test_expect_success SYMLINKS 'symbolic links that exist are left alone' '
	ln -s outside/precious link-to-file &&
	ln -s outside link-to-dir &&
	ln -s outside/new link-to-nothing &&
	{
		item 1 link-to-file &&
		item 2 link-to-dir &&
		item 3 link-to-nothing
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 collided
	2 collided
	3 collided
	EOF
	test_cmp expect actual &&
	test -h link-to-file &&
	test -h link-to-dir &&
	test -h link-to-nothing &&
	test_path_is_missing outside/new &&
	echo precious >expect &&
	test_cmp expect outside/precious
'

test_expect_success 'same path twice' '
	{
		item 1 twice &&
		item 2 twice $other
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 written
	2 collided
	EOF
	test_cmp expect actual &&
	test_cmp hello twice
'

test_expect_success 'old file that is as expected is replaced' '
	echo old >old &&
	work_on 1 old $hello 100644 old=100644:old &&
	expect written &&
	test_cmp hello old
'

test_expect_success 'old file can be gone' '
	echo old >old-gone &&
	item 1 old-gone $hello 100644 old=100644:old-gone | encode &&
	rm old-gone &&
	worker &&
	expect written &&
	test_cmp hello old-gone
'

test_expect_success SYMLINKS 'old symbolic link that is as expected is replaced' '
	ln -s outside/precious old-link &&
	work_on 1 old-link $hello 100644 old=120000:old-link &&
	expect written &&
	test -f old-link && ! test -h old-link &&
	test_cmp hello old-link &&
	echo precious >expect &&
	test_cmp expect outside/precious
'

test_expect_success 'replaced file is a new one' '
	echo old >old-hardlink &&
	ln old-hardlink old-other-name &&
	work_on 1 old-hardlink $hello 100644 old=100644:old-hardlink &&
	expect written &&
	test_cmp hello old-hardlink &&
	echo old >expect &&
	test_cmp expect old-other-name
'

# old_differs <what> <prereq or ""> <command to change the file "old-differs">
old_differs () {
	test_expect_success $2 "old file that differs in $1 is left alone" '
		rm -rf old-differs &&
		echo old >old-differs &&
		test-tool chmtime =1000000000 old-differs &&
		item 1 old-differs $hello 100644 old=100644:old-differs |
			encode &&
		'"$3"' &&
		cp old-differs old-copy &&
		test-tool checkout-wire stat old-differs >old-stat &&
		worker &&
		expect collided &&
		test_cmp old-copy old-differs &&
		test-tool checkout-wire stat old-differs >new-stat &&
		test_cmp old-stat new-stat
	'
}

old_differs size "" 'echo more >>old-differs && test-tool chmtime =1000000000 old-differs'
old_differs mtime "" 'test-tool chmtime =1000000001 old-differs'
old_differs "executable bit" POSIXPERM 'chmod +x old-differs'
old_differs inode "" 'cp old-differs o && test-tool chmtime =1000000000 o && mv o old-differs'

test_expect_success 'executable bit is not compared where it means nothing' '
	test_config core.fileMode false &&
	test_config core.trustctime false &&
	echo old >old-exec &&
	item 1 old-exec $hello 100755 old=100755:old-exec | encode &&
	worker &&
	expect written
'

test_expect_success POSIXPERM 'old file with another mode than the index says' '
	echo old >old-mode &&
	work_on 1 old-mode $hello 100644 old=100755:old-mode &&
	expect collided &&
	echo old >expect &&
	test_cmp expect old-mode &&
	chmod +x old-mode &&
	work_on 1 old-mode $hello 100644 old=100755:old-mode &&
	expect written &&
	test_cmp hello old-mode &&
	! test -x old-mode
'

test_expect_success SYMLINKS 'old file that is of another type is left alone' '
	ln -s outside/precious old-type &&
	work_on 1 old-type $hello 100644 old=100644:old-type &&
	expect collided &&
	test -h old-type &&

	rm old-type &&
	echo old >old-type &&
	work_on 1 old-type $hello 100644 old=120000:old-type &&
	expect collided &&
	echo old >expect &&
	test_cmp expect old-type &&

	item 1 old-type $hello 100644 old=100644:old-type | encode &&
	rm old-type &&
	mkdir old-type &&
	worker &&
	expect collided &&
	test_path_is_dir old-type
'

test_expect_success 'directory is not an old file, whatever is said of it' '
	mkdir old-dir &&
	work_on 1 old-dir $hello 100644 old=040755:old-dir &&
	! grep written actual &&
	test_path_is_dir old-dir &&
	mkdir -p old-dots/dir &&
	work_on 1 old-dots/dir/.. $hello 100644 old=040755:old-dots &&
	! grep written actual &&
	test_path_is_dir old-dots/dir
'

test_expect_success 'what collides does not disturb what comes after them' '
	mkdir mixed &&
	echo dirty >mixed/a &&
	echo dirty >mixed/b &&
	echo clean >mixed/e &&
	echo dirty >mixed/h &&
	{
		item 1 mixed/a &&
		item 2 mixed/b &&
		item 3 mixed/c &&
		item 4 mixed/d/d &&
		item 5 mixed/a/file &&
		item 6 mixed/e $hello 100644 old=100644:mixed/e &&
		item 7 mixed/d/e &&
		item 8 mixed/h &&
		item 9 mixed/missing $(test_oid deadbeef) &&
		item 10 mixed/j
	} | encode --split=4 &&
	worker &&
	cat >expect <<-\EOF &&
	1 collided
	2 collided
	3 written
	4 written
	5 collided
	6 written
	7 written
	8 collided
	9 declined
	10 written
	EOF
	test_cmp expect actual &&
	for f in c d/d d/e e j
	do
		test_cmp hello mixed/$f || return 1
	done
'

test_expect_success 'no path leads out of the root' '
	mkdir -p jail/root &&
	(
		cd jail/root &&
		mkdir a &&
		ln -s .. a/up || : no symbolic links
	) &&
	{
		item 1 ../evil &&
		item 2 a/../../evil &&
		item 3 a/../evil &&
		item 4 ./evil &&
		item 5 a/./evil &&
		item 6 .. &&
		item 7 . &&
		item 8 a/.. &&
		item 9 a/. &&
		item 10 "$(pwd)/jail/evil/evil" &&
		item 11 "$(pwd)/jail/evil" &&
		item 12 a//evil &&
		item 13 a/ &&
		item 14 a/new/ &&
		item 15 new/../evil &&
		item 16 a/up/../evil &&
		item 17 a/fine
	} | encode &&
	worker --root=jail/root &&
	sed -n "s/ written//p" actual >got &&
	echo 17 >expect &&
	test_cmp expect got &&
	find jail -name "*evil*" >found &&
	test_must_be_empty found &&
	test_cmp hello jail/root/a/fine &&
	ls jail >actual &&
	echo root >expect &&
	test_cmp expect actual
'

test_expect_success 'missing blob' '
	{
		item 1 missing/a $(test_oid deadbeef) &&
		item 2 missing/b
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 declined
	2 written
	EOF
	test_cmp expect actual &&
	test_path_is_missing missing/a
'

test_expect_success 'missing blob leaves the old file' '
	echo old >old-missing &&
	work_on 1 old-missing $(test_oid deadbeef) 100644 old=100644:old-missing &&
	expect declined &&
	echo old >expect &&
	test_cmp expect old-missing
'

test_expect_success 'tree, commit or tag instead of a blob' '
	test_commit object &&
	git tag -a -m annotated annotated &&
	{
		item 1 object/tree $(git rev-parse HEAD^{tree}) &&
		item 2 object/commit $(git rev-parse HEAD) &&
		item 3 object/tag $(git rev-parse annotated)
	} | encode &&
	cat >expect <<-\EOF &&
	1 declined
	2 declined
	3 declined
	EOF
	worker &&
	test_cmp expect actual &&
	test_dir_is_empty object &&
	test_config core.bigFileThreshold 1 &&
	worker &&
	test_cmp expect actual &&
	test_dir_is_empty object
'

test_expect_success 'corrupt loose blob' '
	test_when_finished "rm -rf corrupt.git" &&
	git init corrupt &&
	(
		cd corrupt &&
		test-tool genrandom one 100000 >one &&
		blob=$(git hash-object -w one) &&
		rm one &&
		obj=.git/objects/$(test_oid_to_path $blob) &&
		chmod +w $obj &&

		# nothing of it can be read
		cp $obj good &&
		echo garbage >$obj &&
		work_on 1 file $blob &&
		expect declined &&
		test_path_is_missing file &&
		git -c core.bigFileThreshold=1 checkout--worker --protocol=6 \
			<frames >answer 2>err &&
		test_must_be_empty err &&
		test-tool checkout-wire decode <answer >actual &&
		expect declined &&
		test_path_is_missing file
	)
'

test_expect_success 'loose blob that is corrupt at its end' '
	git init corrupt-end &&
	(
		cd corrupt-end &&
		test-tool genrandom one 100000 >one &&
		blob=$(git hash-object -w one) &&
		rm one &&
		obj=.git/objects/$(test_oid_to_path $blob) &&
		chmod +w $obj &&
		test_copy_bytes 50000 <$obj >short &&
		cp short $obj &&
		{ item 1 file $blob && item 2 fine $blob; } | encode &&
		git -c core.bigFileThreshold=1 checkout--worker --protocol=6 \
			<frames >answer 2>err &&
		test_must_be_empty err &&
		test-tool checkout-wire decode <answer >actual &&
		cat >expect <<-\EOF &&
		1 declined
		2 declined
		EOF
		test_cmp expect actual &&
		test_path_is_missing file &&
		worker &&
		test_cmp expect actual &&
		test_path_is_missing file
	)
'

test_expect_success 'corrupt packed blob' '
	git init corrupt-pack &&
	(
		cd corrupt-pack &&
		test-tool genrandom one 100000 >one &&
		git add one &&
		git commit -m one &&
		blob=$(git rev-parse :one) &&
		rm one &&
		git repack -adq &&
		pack=$(echo .git/objects/pack/*.pack) &&
		chmod +w $pack &&
		printf "\0\0\0\0\0\0\0\0\0\0" |
			dd of=$pack bs=1 seek=50000 conv=notrunc &&
		{ item 1 file $blob && item 2 fine $hello; } | encode &&
		git hash-object -w --stdin <../hello &&
		cat >expect <<-\EOF &&
		1 declined
		2 written
		EOF
		worker &&
		test_cmp expect actual &&
		test_path_is_missing file &&
		rm fine &&
		test_config core.bigFileThreshold 1 &&
		worker &&
		test_cmp expect actual &&
		test_path_is_missing file
	)
'

test_expect_success 'conversions' '
	lf=$(printf "line\nline\n\$Id\$\n" | git hash-object -w --stdin) &&
	printf "line\r\nline\r\n\$Id\$\r\n" >crlf.expect &&
	printf "line\nline\n\$Id: $lf \$\n" >ident.expect &&
	printf "line\r\nline\r\n\$Id: $lf \$\r\n" >both.expect &&
	printf "hello\n" | write_utf16 >utf16.expect &&
	for threshold in 1m 1
	do
		git config core.bigFileThreshold $threshold &&
		rm -rf conv &&
		# 4 is CRLF_TEXT_CRLF, 7 is CRLF_AUTO_CRLF
		{
			item 1 conv/plain $lf &&
			item 2 conv/crlf $lf 100644 eol=crlf &&
			item 3 conv/auto $lf 100644 eol=auto-crlf &&
			item 4 conv/ident $lf 100644 ident &&
			item 5 conv/both $lf 100644 ident eol=crlf &&
			item 6 conv/utf16 $hello 100644 encoding=UTF-16
		} | encode &&
		worker &&
		for i in 1 2 3 4 5 6
		do
			echo "$i written" || return 1
		done >expect &&
		if test $threshold = 1
		then
			# what is large and cannot be streamed is left to the
			# main process, which has one at a time
			sed -e "/^[36] /s/written/declined/" expect >declined &&
			test_cmp declined actual &&
			git config --unset core.bigFileThreshold &&
			rm -rf conv &&
			worker
		fi &&
		test_cmp expect actual &&
		git cat-file blob $lf >plain.expect &&
		test_cmp_bin plain.expect conv/plain &&
		test_cmp_bin crlf.expect conv/crlf &&
		test_cmp_bin crlf.expect conv/auto &&
		test_cmp_bin ident.expect conv/ident &&
		test_cmp_bin both.expect conv/both &&
		test_cmp_bin utf16.expect conv/utf16 || return 1
	done
'

test_expect_success 'failed encoding is declined without a word' '
	bad=$(printf "\377\376\377\n" | git hash-object -w --stdin) &&
	echo old >encoding-old &&
	{
		item 1 encoding-fails $bad 100644 encoding=UTF-16 &&
		item 2 encoding-unknown $hello 100644 encoding=no-such-encoding &&
		item 3 encoding-old $bad 100644 encoding=UTF-16 \
			old=100644:encoding-old
	} | encode &&
	worker &&
	cat >expect <<-\EOF &&
	1 declined
	2 declined
	3 declined
	EOF
	test_cmp expect actual &&
	test_path_is_missing encoding-fails &&
	test_path_is_missing encoding-unknown &&
	echo old >expect &&
	test_cmp expect encoding-old
'

test_expect_success POSIXPERM 'umask and executable bit' '
	for umask in 022 077 002 000
	do
		rm -rf umask &&
		{ item 1 umask/d/file && item 2 umask/d/exec $hello 100755; } |
			encode &&
		(
			umask $umask &&
			worker &&
			mkdir umask/expect &&
			>umask/expect/file &&
			>umask/expect/exec &&
			chmod +x umask/expect/exec
		) &&
		ls -l umask/d | sed -n "s/^\(-.\{9\}\).*/\1/p" >got &&
		ls -l umask/expect | sed -n "s/^\(-.\{9\}\).*/\1/p" >expect &&
		test_line_count = 2 got &&
		test_cmp expect got &&
		ls -ld umask/d | cut -c 1-10 >got &&
		ls -ld umask/expect | cut -c 1-10 >expect &&
		test_cmp expect got || return 1
	done
'

# Blocks of zeros may become holes, at the start, in the middle, at the end,
# and a little off the borders of the blocks.
test_expect_success 'files with long runs of zeros' '
	mkdir zeros &&
	n=0 &&
	>lines &&
	for spec in 0:16384:0 0:16385:0 0:32768:0 0:32769:0 1:40000:0 0:40000:1 \
		1:100000:1 16383:50000:5 16384:16384:16384 16384:32768:1 \
		16385:32768:16385 0:1000000:0 100:1000000:100 0:1:0 5:16384:0 \
		16384:0:0 16385:0:0 40000:0:0
	do
		n=$(($n + 1)) &&
		head=${spec%%:*} &&
		rest=${spec#*:} &&
		{
			test-tool genrandom head $head &&
			test-tool genzeros ${rest%%:*} &&
			test-tool genrandom tail ${rest#*:}
		} >zeros/$n &&
		item $n zeros-out/$n $(git hash-object -w zeros/$n) >>lines ||
			return 1
	done &&
	for threshold in 512m 1
	do
		rm -rf zeros-out &&
		encode <lines &&
		test_config core.bigFileThreshold $threshold &&
		worker &&
		! grep -v written actual &&
		diff -r zeros zeros-out || return 1
	done
'

test_expect_success 'every byte value, and no newline at the end' '
	test-tool genrandom bytes 1000000 >bytes &&
	work_on 1 bytes-out $(git hash-object -w bytes) &&
	expect written &&
	test_cmp_bin bytes bytes-out
'

test_expect_success 'very deep directories' '
	deep=$(test_seq 300 | sed "s/.*/d/" | tr "\n" "/") &&
	{
		item 1 ${deep}a &&
		item 2 ${deep}b &&
		item 3 ${deep%d/d/}c &&
		item 4 ${deep}d/d/d/a &&
		item 5 d/a &&
		item 6 ${deep}e &&
		item 7 d/d/d/d/e/a &&
		item 8 ${deep}f
	} | encode --split=3 &&
	worker &&
	for i in 1 2 3 4 5 6 7 8
	do
		echo "$i written" || return 1
	done >expect &&
	test_cmp expect actual &&
	find d -type f >found &&
	test_line_count = 8 found &&
	test_cmp hello ${deep}f &&
	test_cmp hello ${deep}d/d/d/a &&
	rm -rf d
'

# Fewer than the parents that are kept open.
test_expect_success ULIMIT_FILE_DESCRIPTORS 'very deep directories with few descriptors' '
	deep=$(test_seq 300 | sed "s/.*/d/" | tr "\n" "/") &&
	{
		item 1 ${deep}a &&
		item 2 d/d/a &&
		item 3 ${deep}b
	} | encode &&
	(
		ulimit -n 20 &&
		worker
	) &&
	! grep -v written actual &&
	test_cmp hello ${deep}b &&
	rm -rf d
'

test_expect_success PIPE,OPENAT 'directory that disappears is made again' '
	mkfifo in out &&
	test_when_finished "rm -f in out" &&
	item 1 gone/a/first | encode && mv frames first &&
	item 2 gone/a/second | encode && mv frames second &&
	item 3 gone/a/third | encode && mv frames third &&

	{ git checkout--worker --protocol=6 <in >out & } &&
	exec 8>in &&
	exec 9<out &&
	test_when_finished "exec 8>&- 9<&-" &&
	cat first >&8 &&
	test_copy_bytes 96 <&9 >answer &&
	rm -r gone &&
	cat second >&8 &&
	test_copy_bytes 96 <&9 >>answer &&
	cat third >&8 &&
	exec 8>&- &&
	cat <&9 >>answer &&
	wait &&

	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 written
	2 written
	3 written
	EOF
	test_cmp expect actual &&
	test_cmp hello gone/a/second &&
	test_cmp hello gone/a/third
'

test_expect_success 'garbage instead of a frame' '
	echo "this is not a frame of anything" >frames &&
	bad_input "checkout worker received a malformed frame" &&
	test_must_be_empty answer &&
	test-tool genrandom garbage 100000 >frames &&
	bad_input "checkout worker received a malformed frame" &&
	test-tool genzeros 100 >frames &&
	bad_input "checkout worker received a frame of the wrong type"
'

test_expect_success 'frames before the garbage are answered' '
	{
		item 1 garbage/a &&
		item 2 garbage/b
	} | encode &&
	echo garbage >>frames &&
	bad_input "checkout worker received a malformed frame" &&
	test-tool checkout-wire decode <answer >actual &&
	cat >expect <<-\EOF &&
	1 written
	2 written
	EOF
	test_cmp expect actual
'

test_expect_success 'items that cannot be read' '
	test_expect_code 128 git checkout--worker --protocol=6 <. >answer 2>err &&
	test_grep "^error: unable to receive checkout items: " err &&
	test_line_count = 1 err &&
	test_must_be_empty answer
'

test_expect_success 'truncated frame' '
	item 1 truncated/a | encode &&
	mv frames whole &&
	size=$(test_file_size whole) &&
	for n in 1 4 7 8 9 $(($size - 1))
	do
		test_copy_bytes $n <whole >frames &&
		bad_input "checkout worker received a truncated frame" &&
		test_must_be_empty answer &&
		test_path_is_missing truncated || return 1
	done
'

test_expect_success 'frame of results is none of items' '
	item 1 resl | encode &&
	mv frames whole &&
	{
		test_copy_bytes 4 <whole &&
		printf RESL &&
		tail -c +9 whole
	} >frames &&
	bad_input "checkout worker received a frame of the wrong type" &&
	test_path_is_missing resl
'

test_expect_success 'oversized frame' '
	for length in "\\000\\020\\000\\001" "\\177\\377\\377\\377" \
		"\\377\\377\\377\\377"
	do
		{
			printf "${length}ITEM" &&
			test-tool genzeros 2000
		} >frames &&
		bad_input "checkout worker received a malformed frame" || return 1
	done
'

test_expect_success 'malformed items' '
	item 1 malformed | encode &&
	mv frames whole &&
	size=$(test_file_size whole) &&
	path_at=$(($size - 12)) &&

	# no path, one that begins another item, and one that does not end
	for path in "\\000alformed" "mal\\000\\000\\000xxxxxx" "malformedxxx"
	do
		{
			test_copy_bytes $path_at <whole &&
			printf "$path" &&
			test-tool genzeros 12
		} >longer &&
		test_copy_bytes $size <longer >frames &&
		bad_input "checkout worker received a malformed batch" &&
		test_must_be_empty answer || return 1
	done &&

	# an unusual mode, a gitlink
	for mode in 100664 160000
	do
		item 1 malformed $hello $mode | encode &&
		bad_input "checkout worker received a malformed batch" || return 1
	done &&
	test_path_is_missing malformed
'

test_expect_success 'every flipped bit is survived' '
	mkdir flip &&
	item 1 f | encode &&
	mv frames whole &&
	size=$(test_file_size whole) &&
	for i in $(test_seq 0 $(($size - 1)))
	do
		bit=$(($i % 8)) &&
		byte=$(test_copy_bytes $(($i + 1)) <whole | tail -c 1 |
			od -An -tu1 | tr -d " ") &&
		{
			test_copy_bytes $i <whole &&
			printf "\\$(printf "%03o" $(($byte ^ (1 << $bit))))" &&
			tail -c +$(($i + 2)) whole
		} >frames &&
		rm -rf flip/* &&
		code=0 &&
		git checkout--worker --protocol=6 --root=flip \
			<frames >answer 2>err || code=$? &&
		case $code in
		0)
			test_must_be_empty err &&
			test-tool checkout-wire decode <answer >actual
			;;
		128)
			test_line_count = 1 err &&
			test_grep "^error: checkout worker received" err
			;;
		*)
			echo "bit $bit of byte $i: exit code $code"
			false
			;;
		esac || return 1
	done
'

test_expect_success 'nobody listens, so nothing is written' '
	mkdir listened &&
	>listened/old &&
	{
		item 1 nobody &&
		item 2 nobody-made/a/b &&
		item 3 listened/old $hello 0
	} | encode &&
	{ sleep 1 && git checkout--worker --protocol=6 <frames || :; } | : &&
	test_path_is_missing nobody &&
	test_path_is_missing nobody-made &&
	test_path_is_file listened/old
'

# Have "frames" in the pipe "input", to which more might come: a worker that
# reads it does not end by itself.
open_input () {
	rm -f input &&
	mkfifo input &&
	exec 9<>input &&
	test_when_finished "exec 9>&-" &&
	cat frames >&9
}

test_expect_success PIPE 'a worker that is told to end leaves no part of a file' '
	test-tool genrandom large 40000000 >large &&
	large=$(git -c core.compression=0 hash-object -w large) &&
	item 1 ended $large | encode &&
	open_input &&
	{ git -c core.bigFileThreshold=1m checkout--worker --protocol=6 \
		<input >answer & } &&
	worker=$! &&
	i=0 &&
	until test -e ended || test $i = 100000
	do
		i=$(($i + 1)) || return 1
	done &&
	kill $worker &&
	! wait $worker &&
	if test -e ended
	then
		test_cmp_bin large ended
	fi
'

# It removes its file, then its filter keeps it waiting, and somebody else
# writes one of that name meanwhile. Not earlier: nobody can look at a file and
# remove it at once.
test_expect_success !MINGW,PIPE 'nor does it remove another file later' '
	write_script stays <<-EOF &&
	trap "" TERM
	"$GIT_BUILD_DIR/t/helper/test-tool$X" checkout-filter --name=stays process
	sleep 60
	EOF
	{
		item 1 stays.filtered $hello 100644 process=./stays &&
		item 2 replaced $large
	} | encode &&
	open_input &&
	{ git -c core.bigFileThreshold=1m checkout--worker --protocol=6 --filters \
		<input >answer & } &&
	worker=$! &&
	i=0 &&
	until test -e replaced || test $i = 100000
	do
		i=$(($i + 1)) || return 1
	done &&
	kill $worker &&
	until ! test -e replaced || test $i = 200000
	do
		i=$(($i + 1)) || return 1
	done &&
	cp other newer &&
	mv newer replaced &&
	! wait $worker &&
	test_cmp other replaced
'

test_expect_success !MINGW 'a signal that is ignored stays so for each filter' '
	write_script hups <<-\EOF &&
	kill -HUP $$
	cat
	EOF
	for i in 1 2 3
	do
		item $i hup$i $hello 100644 filter=./hups || return 1
	done | encode &&
	(
		trap "" HUP &&
		worker --filters
	) &&
	test_grep ! -v written actual
'

test_expect_success 'worker of a bare repository' '
	git init --bare bare.git &&
	item 1 file | encode &&
	test_must_fail git -C bare.git checkout--worker --protocol=6 <frames
'

test_expect_success 'other hash algorithm' '
	case $(test_oid algo) in
	sha1) algo=sha256 ;;
	*) algo=sha1 ;;
	esac &&
	git init --object-format=$algo other-hash &&
	item 1 file | encode &&
	cp frames other-hash/ &&
	(
		cd other-hash &&
		bad_input "checkout worker received a malformed batch" &&
		blob=$(git hash-object -w ../hello) &&
		work_on 1 dir/file $blob &&
		expect written &&
		test_cmp ../hello dir/file
	)
'

# traced <key>: the keys and numbers in trace.event; <key> is a basic pattern
traced () {
	sed -n "s|.*\"category\":\"pcheckout\",\"key\":\"\($1\)\",\"value\":\"\([0-9]*\)\".*|\1 \2|p" \
		trace.event
}

test_expect_success 'trace2' '
	mkdir trace &&
	echo dirty >trace/in-the-way &&
	{
		item 1 trace/a &&
		item 2 trace/in-the-way &&
		item 3 trace/in-the-way/file &&
		item 4 trace/b
	} | encode --split=2 &&
	GIT_TRACE2_EVENT="$(pwd)/trace.event" \
		git checkout--worker --protocol=6 <frames >answer &&
	test_region pcheckout worker trace.event &&
	grep "region_leave.*\"category\":\"pcheckout\",\"label\":\"batch\"" \
		trace.event >batches &&
	test_line_count = 2 batches &&
	test_trace2_data pcheckout worker/entries 4 <trace.event &&
	test_trace2_data pcheckout collision/basename trace/in-the-way <trace.event &&
	test_trace2_data pcheckout collision/dirname trace/in-the-way/file <trace.event &&

	for key in busy_us waited_us
	do
		traced worker/$key >actual &&
		test_line_count = 1 actual || return 1
	done
'

test_done
