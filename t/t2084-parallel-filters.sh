#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='external filters in parallel

A driver with filter.<driver>.parallel is run by the workers. What is written,
what it is asked and told, and what comes out of its failures is as if it was not.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"
. "$TEST_DIRECTORY/lib-broken-worker.sh"
. "$TEST_DIRECTORY/lib-faulty-calls.sh"

sane_unset GIT_TEST_CHECKOUT_WORKERS GIT_TEST_FILTER_PARALLEL

TRASH=$(pwd)
TOOL=$GIT_BUILD_DIR/t/helper/test-tool$X
FILTER="exec \"$TOOL\" checkout-filter"

# driver <name> <key> <value>: configuration of all repositories
driver () {
	git config --global "filter.$1.$2" "$3"
}

# parallel <value> <driver>...
parallel () {
	value=$1 &&
	shift &&
	for name
	do
		driver $name parallel $value || return 1
	done
}

default_drivers () {
	driver one clean "$FILTER --name=one clean %f" &&
	driver one smudge "$FILTER --name=one smudge %f" &&
	driver process process "$FILTER --name=process process" &&
	driver late process "$FILTER --name=late --delay=\"*\" process" &&
	for name in one process late
	do
		driver $name required false || return 1
	done &&
	parallel true one process late
}

# test_driver <driver> <key> <value>: for this test alone
test_driver () {
	test_when_finished default_drivers &&
	driver "$@"
}

# check_out <workers> <command>...
#
# Run git in a new clone of "repo", "out". What it did is in trace, what the
# filters were asked in told, and what it said in err. With "auto", nothing
# is set.
check_out () {
	rm -rf out trace log &&
	git clone -q --shared --no-checkout repo out &&
	check_out_again "$@"
}

# The same in what is there.
check_out_again () {
	options="-c checkout.workers=$1" &&
	if test "$1" != auto
	then
		options="$options -c checkout.thresholdForParallelism=0"
	fi &&
	shift &&
	rm -f trace log &&
	GIT_TRACE2_EVENT="$TRASH/trace" GIT_TEST_FILTER_LOG="$TRASH/log" \
		git -C out $options "$@" 2>err
	code=$? &&
	if test -f log
	then
		sort -u log >told
	else
		>told
	fi &&
	return $code
}

# started <pattern>: how many times a process did that has a command like this
started () {
	grep -c "\"event\":\"child_start\".*$1" trace || :
}

# by_workers <pattern>: the same, by workers (which have a parent in their name)
by_workers () {
	grep -c "\"event\":\"child_start\",\"sid\":\"[^\"]*/.*$1" trace || :
}

# how_many <key>: a number of the main process
how_many () {
	sed -n "s|.*\"category\":\"pcheckout\",\"key\":\"$1\",\"value\":\"\([0-9]*\)\".*|\1|p" trace
}

# same_files: as the sequential checkout made them, and the index says so
same_files () {
	git diff --no-index --exit-code --stat expect.files out.files &&
	test_cmp expect.told told
}

# keep_files <name>: of "out", without its repository
keep_files () {
	rm -rf $1.files &&
	cp -R out $1.files &&
	rm -rf $1.files/.git
}

# as_sequential <command>...: for each number of workers in $numbers, 1 first
#
# Exit code, and messages but for how often and in which order they come. And files,
# unless it dies: then it depends on the moment which of them are there.
numbers='1 2 5 auto'
as_sequential () {
	for n in $numbers
	do
		rm -f code &&
		check_out $n "$@"
		echo $? >code.$n &&
		keep_files $n &&
		sort -u err >err.$n &&
		cp told told.$n &&
		test_cmp code.1 code.$n &&
		test_cmp err.1 err.$n &&
		if ! grep "^fatal: " err.1
		then
			git diff --no-index --exit-code 1.files $n.files
		fi || return 1
	done
}

test_expect_success 'setup' '
	git config --global maintenance.auto false &&
	default_drivers &&
	git init -q -b main repo &&
	(
		cd repo &&
		cat >.gitattributes <<-\EOF &&
		*.one filter=one
		*.process filter=process
		*.late filter=late
		*.crlf text eol=crlf ident filter=process
		EOF
		mkdir dir &&
		for i in $(test_seq 1 30)
		do
			echo "one $i" >dir/$i.one &&
			echo "process $i" >dir/$i.process &&
			printf "crlf %s\n\$Id\$\n" $i >dir/$i.crlf &&
			echo "late $i" >dir/$i.late &&
			echo "plain $i" >dir/$i || return 1
		done &&
		git add . &&
		git commit -q -m files
	) &&
	check_out 1 checkout -q main &&
	keep_files expect &&
	cp told expect.told
'

test_expect_success 'without a word, the main process runs all filters' '
	parallel false one process late &&
	check_out 4 checkout -q main &&
	keep_files out &&
	same_files &&
	test $(how_many workers) = 4 &&
	test $(by_workers checkout-filter) = 0 &&
	test $(started "name=[a-z]* .*process\"") = 2
'

# What has come by then when a command is met for the first time is for the main
# process, if there are no workers yet.
test_expect_success 'with it, workers run them' '
	parallel true one process late &&
	for n in 2 5
	do
		check_out $n checkout -q main &&
		keep_files out &&
		same_files &&
		test $(started "name=one smudge") = 30 &&
		test $(by_workers "name=one smudge") -ge 28 &&
		test $(by_workers "name=[a-z]* .*process\"") -ge 2 &&
		test $(by_workers "name=[a-z]* .*process\"") -le $((2 * n)) &&
		# those of the main process
		test $(started "name=[a-z]* .*process\"") -le $((2 * n + 2)) &&
		test $(how_many delayed) -ge 28 &&
		test $(how_many declined) = 0 &&
		git -C out status --porcelain >actual &&
		test_must_be_empty actual || return 1
	done
'

test_expect_success 'it comes from the configuration alone' '
	test_when_finished "parallel true process" &&
	git config --global --unset filter.process.parallel &&
	check_out 2 checkout -q main &&
	test $(by_workers "name=process process") = 0 &&
	git config --file repo/.lfsconfig filter.process.parallel true &&
	git -C repo add .lfsconfig &&
	git -C repo commit -q -m config &&
	check_out 2 checkout -q main &&
	test $(by_workers "name=process process") = 0 &&
	git -C repo reset -q --hard HEAD^ &&
	driver process parallel perhaps &&
	rm out/dir/1.process &&
	test_must_fail git -C out checkout -f main 2>err &&
	test_grep "bad boolean config value .perhaps. for .filter.process.parallel." err
'

test_expect_success 'with "auto", there are workers for many, and none for few' '
	check_out auto checkout -q main &&
	keep_files out &&
	same_files &&
	if test_have_prereq PTHREADS && test $(nproc 2>/dev/null || echo 1) -gt 1
	then
		test $(by_workers "name=one smudge") -gt 0
	fi &&
	rm out/dir/1.one out/dir/2.one &&
	check_out_again auto checkout -q -f &&
	test $(started "name=one smudge") = 2 &&
	test $(started checkout--worker) = 0
'

test_expect_success 'one file with a filter keeps no others from workers' '
	git init -q plain &&
	test_when_finished "rm -rf plain" &&
	echo "*.one filter=one" >plain/.gitattributes &&
	test_write_lines one two >plain/a.one &&
	for i in $(test_seq 100)
	do
		test-tool genrandom $i 400000 >plain/f$i || return 1
	done &&
	git -C plain add . &&
	git -C plain commit -q -m plain &&
	rm plain/f* plain/a.one &&
	rm -f trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" git -C plain \
		-c checkout.workers=auto checkout -q -f &&
	git -C plain diff-files --exit-code &&
	if test_have_prereq PTHREADS && test $(nproc 2>/dev/null || echo 1) -gt 1
	then
		test $(started checkout--worker) -gt 0
	fi
'

test_expect_success ULIMIT_FILE_DESCRIPTORS 'workers leave descriptors to filters of the main process' '
	test_when_finished "parallel true one process late" &&
	parallel false one process late &&
	for n in 1 20
	do
		(
			ulimit -n 48 &&
			check_out $n checkout -q main
		) &&
		keep_files $n &&
		grep -v "could start only" err | sort >err.$n || return 1
	done &&
	test_cmp err.1 err.20 &&
	git diff --no-index --exit-code 1.files 20.files
'

test_expect_success 'a command for each file counts as six files' '
	check_out 1 checkout -q main &&
	rm -f out/dir/*.one trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" git -C out -c checkout.workers=2 checkout -q -f &&
	test $(by_workers "name=one smudge") = 30 &&
	rm -f out/dir/*.one trace &&
	GIT_TRACE2_EVENT="$TRASH/trace" git -C out -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=200 checkout -q -f &&
	test $(started "name=one smudge") = 30 &&
	test $(started checkout--worker) = 0
'

test_expect_success 'in a subdirectory, with a tree-ish, without a ref' '
	for n in 1 3
	do
		check_out 1 checkout -q main &&
		rm -rf out/dir/* &&
		check_out_again $n -C dir checkout HEAD^{tree} -- . &&
		keep_files $n &&
		cp told told.$n || return 1
	done &&
	git diff --no-index --exit-code 1.files 3.files &&
	test_cmp told.1 told.3 &&
	test_grep "GIT_PREFIX=dir/" told.3 &&
	test_grep "can-delay=1" told.3
'

test_expect_success 'checkout-index can not delay, and knows prefixes' '
	for n in 1 3
	do
		check_out 1 checkout -q main &&
		check_out_again $n checkout-index -a --prefix=to/ &&
		keep_files $n &&
		cp told told.$n &&
		test $n = 1 || test $(by_workers "name=one smudge") = 30 &&
		check_out_again $n checkout-index -a --prefix=to/x- &&
		keep_files $n.x &&
		cp told told.$n.x || return 1
	done &&
	git diff --no-index --exit-code 1.files 3.files &&
	git diff --no-index --exit-code 1.x.files 3.x.files &&
	test_cmp told.1 told.3 &&
	test_cmp told.1.x told.3.x &&
	test_grep ! can-delay told.3 &&
	test $(by_workers "name=one smudge") = 0
'

test_expect_success 'a filter does not see the old file' '
	test_driver one smudge \
		"test ! -e %f || echo %f >>\"$TRASH/seen\"; cat" &&
	rm -f seen &&
	check_out 1 checkout -q main &&
	for i in $(test_seq 1 30)
	do
		echo old >out/dir/$i.one || return 1
	done &&
	test-tool chmtime =-60 out/dir/*.one &&
	git -C out commit -q -a -m old &&
	check_out_again 3 checkout -q main^ &&
	test $(by_workers "cat") = 30 &&
	test_path_is_missing seen
'

# What goes wrong: the driver, what is to be said, and its options.
test_have_prereq EXPENSIVE || numbers='1 5'
while read driver message wrong
do
	for required in false true
	do
		test_expect_success "$driver: $wrong, required=$required" '
			test_driver $driver required $required &&
			if test $driver = one
			then
				test_driver one smudge \
					"$FILTER --name=one $wrong smudge %f"
			else
				test_driver $driver process \
					"$FILTER --name=$driver $wrong process"
			fi &&
			as_sequential checkout -q main &&
			{ test $message = nothing || test_grep "$message" err.1; }
		'
	done
done <<-\EOF
one failed --fail=dir/1*.one --how=error
one failed --fail=dir/1*.one --how=die
one failed --fail=dir/*.one --how=cut
one noise --fail=dir/2*.one --how=noise
process nothing --fail=dir/1*.process --how=error
process nothing --fail=dir/*.process --how=late
process failed --fail=dir/1*.process --how=unknown
process failed --fail=dir/1*.process --how=cut
process failed --fail=dir/7.process --how=die
process noise --fail=dir/7.process --how=noise
process garb --start=garbage
process nothing --start=none
process nothing --can=clean
late nothing --delay=*.late --fail=dir/1*.late --how=error
late failed --delay=dir/2*.late --fail=dir/1*.late --how=cut
process nothing --fail=dir/*5.process --how=late
late nothing --delay=*.late --list=one
late filtered --delay=*.late --list=missing --fail=dir/1*.late
late signaled --delay=*.late --list=invalid
late hung --delay=*.late --list=die
late filtered --delay=*.late --list=error
late signaled --delay=*.late --list=late-invalid
late hung --delay=*.late --list=late-die
late nothing --delay=*.late --list=late-error
late signaled --delay=dir/7.late --list=late-invalid
EOF
numbers='1 2 5 auto'

# A switch says so and goes on, as it does without workers; a clone fails.
for wrong in invalid error late-invalid late-die late-error
do
	test_expect_success "a clone fails with --list=$wrong" '
		test_driver late process \
			"$FILTER --name=late --delay=*.late --list=$wrong process" &&
		for n in 1 2 5
		do
			rm -rf out &&
			test_expect_code 128 git -c checkout.workers=$n \
				-c checkout.thresholdForParallelism=0 \
				clone -q --shared repo out 2>err &&
			sort -u err >err.$n &&
			keep_files $n &&
			test_cmp err.1 err.$n &&
			git diff --no-index --exit-code 1.files $n.files ||
			return 1
		done
	'
done

# A filter that holds what was delayed ends when it is asked for one of them. What
# it has held is nobody's, and a new one must not be asked for it: it would take
# the nothing that it gets then for the content.
test_expect_success 'a required filter ends when it is asked for what it has delayed' '
	test_driver late required true &&
	test_driver late process \
		"$FILTER --name=late --delay=\"*\" --fail=dir/15.late --how=die process" &&
	as_sequential checkout -q main &&
	test_grep "^fatal: dir/15.late: smudge filter late failed" err.auto &&
	for n in 2 5 auto
	do
		find $n.files -name "*.late" -size 0 >empty &&
		test_must_be_empty empty || return 1
	done
'

# The sequential code ends at the first one.
test_expect_success 'a required filter that fails leaves old files' '
	test_when_finished "git -C repo reset -q --hard HEAD^" &&
	for i in $(test_seq 100)
	do
		echo "more $i" >repo/$i.one || return 1
	done &&
	git -C repo add . &&
	git -C repo commit -q -m more &&
	check_out 1 checkout -q main &&
	for i in $(test_seq 100)
	do
		echo "old $i" >out/$i.one || return 1
	done &&
	test-tool chmtime =-60 out/*.one &&
	git -C out commit -q -a -m old &&
	test_driver one required true &&
	test_driver one smudge "echo failing >&2; exit 1" &&
	test_expect_code 128 git -C out -c checkout.workers=3 \
		-c checkout.thresholdForParallelism=0 checkout -q HEAD^ 2>err &&
	grep "^failing" err >asked &&
	test_line_count -le 4 asked &&
	grep -l "^old" out/*.one >old &&
	test_line_count -ge 96 old
'

test_expect_success 'a required filter that fails when nothing else is in flight' '
	mkdir fake &&
	write_script fake/git <<-EOF &&
	if test "\$1" = checkout--worker
	then
		# the first answers all that it has at once, the others never
		mkdir "$TRASH/first" 2>/dev/null || exit 1
		"$GIT_BUILD_DIR/git" "\$@" | { sleep 1; exec cat; }
		exit
	fi
	exec "$GIT_BUILD_DIR/git" "\$@"
	EOF
	test_driver one required true &&
	test_driver one smudge "exit 1" &&
	git init -q only &&
	(
		cd only &&
		echo "*.one filter=one" >.gitattributes &&
		for i in $(test_seq 40)
		do
			echo $i >$i.one || return 1
		done &&
		git -c filter.one.clean=cat add . &&
		git commit -q -m one
	) &&
	rm -rf out first &&
	git clone -q --no-checkout only out &&
	test_expect_code 128 env GIT_EXEC_PATH="$TRASH/fake" \
		"$GIT_BUILD_DIR/git" -C out -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=0 \
		checkout -q HEAD 2>err &&
	test_grep "smudge filter one failed" err
'

test_expect_success 'a filter that gives up is asked in each worker' '
	test_driver process process \
		"$FILTER --name=process --fail=dir/1.process --how=abort process" &&
	for n in 1 2 5
	do
		check_out $n checkout -q main &&
		test_must_be_empty err &&
		git -C repo show main:dir/1.process >expect &&
		test_cmp expect out/dir/1.process || return 1
	done
'

test_expect_success 'a blob that is large is for the main process' '
	check_out 3 -c core.bigFileThreshold=4 checkout -q main &&
	keep_files out &&
	same_files &&
	test $(by_workers "name=one smudge") = 0 &&
	test $(how_many declined) -ge 30
'

test_expect_success 'who has no file to filter sees nothing of workers' '
	git init -q plain &&
	for i in $(test_seq 30)
	do
		echo $i >plain/$i || return 1
	done &&
	git -C plain add . &&
	git -C plain commit -q -m plain &&
	test_config_global core.fsyncObjectFiles true &&
	for n in 1 4
	do
		rm plain/[1-9]* &&
		git -C plain -c checkout.workers=$n \
			-c checkout.thresholdForParallelism=0 checkout -q -f 2>err.$n ||
		return 1
	done &&
	test_cmp err.1 err.4
'

# Workers do not have it, so that it is for the main process.
test_expect_success 'in a partial clone, what was fetched is filtered' '
	rm -rf out &&
	git -C repo config uploadpack.allowFilter true &&
	git -C repo config uploadpack.allowAnySHA1InWant true &&
	git clone -q --no-checkout --filter=blob:none "file://$TRASH/repo" out &&
	check_out_again 3 checkout -q HEAD -- . &&
	keep_files out &&
	git diff --no-index --exit-code expect.files out.files &&
	test $(started "name=one smudge") = 30
'

test_expect_success 'a command that is missing, or is none' '
	test_driver one smudge no-such-command &&
	test_driver process process "no-such-command-either" &&
	as_sequential checkout -q main &&
	test_driver one smudge "" &&
	test_driver process process "" &&
	as_sequential checkout -q main
'

test_expect_success 'a command of many words is not for workers' '
	test_driver one smudge \
		"$(printf ": %8000s" x); $FILTER --name=one smudge %f" &&
	check_out 2 checkout -q main &&
	keep_files out &&
	same_files &&
	test $(started "name=one smudge") = 30 &&
	test $(by_workers "name=one smudge") = 0
'

test_expect_success 'what is to be read when a filter starts is there' '
	write_script serve <<-EOF &&
	test -f .config || echo "too early" >>"$TRASH/early"
	exec "$TOOL" checkout-filter --name=process process
	EOF
	test_driver process process "\"$TRASH/serve\"" &&
	test_when_finished "git -C repo reset -q --hard HEAD^" &&
	test-tool genrandom seed 3000000 >repo/.config &&
	git -C repo add .config &&
	git -C repo commit -q -m config &&
	rm -f early &&
	for n in 2 5 auto
	do
		check_out $n checkout -q main || return 1
	done &&
	test_path_is_missing early
'

test_expect_success 'the same blob is given to a filter for each path' '
	test_when_finished "git -C repo reset -q --hard HEAD^" &&
	for i in 1 2 3 4
	do
		cp repo/dir/1.late repo/z$i.late &&
		cp repo/dir/1.one repo/z$i.one || return 1
	done &&
	git -C repo add . &&
	git -C repo commit -q -m copies &&
	check_out 1 checkout -q main &&
	keep_files 1 &&
	cp told told.1 &&
	check_out 4 checkout -q main &&
	keep_files 4 &&
	git diff --no-index --exit-code 1.files 4.files &&
	test_cmp told.1 told
'

test_expect_success 'other files are in the way' '
	test_when_finished "git -C repo reset -q --hard HEAD^" &&
	for i in $(test_seq 60)
	do
		echo "a $i" >repo/a$i.one &&
		echo "b $i" >repo/b$i.one || return 1
	done &&
	git -C repo add . &&
	git -C repo commit -q -m more &&
	rm -rf out &&
	git clone -q --shared --no-checkout repo out &&
	cp repo/[ab]*.one out/ &&
	check_out_again 3 checkout -q -f main &&
	keep_files out &&
	test $(started "name=one smudge .[ab]") = 120 &&
	check_out 1 checkout -q main &&
	keep_files 1 &&
	git diff --no-index --exit-code 1.files out.files
'

# All that comes before such a file is written before it, but for what is delayed.
test_expect_success 'many files of attributes, while others are delayed' '
	git -C repo checkout -q -b attributes &&
	for i in $(test_seq 1 120)
	do
		mkdir repo/dir/$i.dir &&
		echo "*.new filter=late number=$i" >repo/dir/$i.dir/.gitattributes &&
		echo "new $i" >repo/dir/$i.dir/a.new &&
		echo same >repo/dir/$i.dir/b.new || return 1
	done &&
	git -C repo add . &&
	git -C repo commit -q -m attributes &&
	git -C repo checkout -q main &&
	as_sequential checkout -q origin/attributes -- . &&
	for n in 2 5
	do
		test_cmp told.1 told.$n || return 1
	done
'

test_expect_success 'progress tells what is delayed' '
	for n in 1 3
	do
		check_out 1 checkout -q main &&
		rm -rf out/dir &&
		(
			GIT_PROGRESS_DELAY=0 &&
			export GIT_PROGRESS_DELAY &&
			check_out_again $n checkout -f --progress
		) &&
		tr "\r" "\n" <err >lines &&
		test_grep "Filtering content: 100% (30/30), .* done" lines || return 1
	done
'

# Without threads, the parent of a filter is another process.
test_expect_success PTHREADS 'a worker is killed while its filter runs' '
	write_script kill-once <<-EOF &&
	# the worker is the parent of the shell that runs this, and has sent all
	mkdir "$TRASH/killed" 2>/dev/null || exit 0
	cat >/dev/null
	kill -9 \$1
	exit 1
	EOF
	test_driver one smudge \
		"\"$TRASH/kill-once\" \$PPID || exit; $FILTER --name=one smudge %f" &&
	rm -rf killed &&
	check_out 3 checkout -q main &&
	keep_files out &&
	same_files &&
	test_path_is_dir killed &&
	test $(how_many lost_workers) = 1 &&
	test_grep "a checkout worker has ended early" err
'

test_expect_success 'a worker is killed that holds what was delayed' '
	write_script serve <<-EOF &&
	# the worker is the parent of this shell
	if mkdir "$TRASH/killed" 2>/dev/null
	then
		"$TOOL" checkout-filter --name=late --delay="*" --list=die process
		kill -9 \$PPID
	else
		exec "$TOOL" checkout-filter --name=late --delay="*" process
	fi
	EOF
	test_driver late process "exec \"$TRASH/serve\"" &&
	parallel false one process &&
	rm -rf killed &&
	check_out 3 checkout -q main &&
	keep_files out &&
	git diff --no-index --exit-code expect.files out.files &&
	test_path_is_dir killed &&
	test $(how_many lost_workers) = 1
'

test_expect_success 'no filter stays behind when the main process is killed' '
	write_script serve <<-EOF &&
	echo \$\$ >>"$TRASH/pids"
	exec "$TOOL" checkout-filter --name=process process
	EOF
	test_driver process process "exec \"$TRASH/serve\"" &&
	test_driver one smudge "sleep 1; cat" &&
	rm -rf out pids &&
	git clone -q --shared --no-checkout repo out &&
	{
		git -C out -c checkout.workers=3 \
			-c checkout.thresholdForParallelism=0 checkout -q main &
	} &&
	main=$! &&
	wait_until test -s pids &&
	kill -9 $main &&
	{
		wait $main || :
	} &&
	wait_until has_ended $(cat pids)
'

test_expect_success 'nor does it begin to fetch then what it has delayed' '
	test_driver late process \
		"$FILTER --name=late --delay=\"*\" --log-lists process" &&
	test_driver one parallel false &&
	test_driver one smudge "echo \$PPID >>\"$TRASH/serial\"; sleep 3; cat" &&
	rm -rf out serial log &&
	git clone -q --shared --no-checkout repo out &&
	{
		GIT_TEST_FILTER_LOG="$TRASH/log" git -C out -c checkout.workers=3 \
			-c checkout.thresholdForParallelism=0 checkout -q main &
	} &&
	main=$! &&
	wait_until test -s serial &&
	kill -9 $main &&
	{
		wait $main || :
	} &&
	sleep 1 &&
	test_grep "late dir.*can-delay" log &&
	test_grep ! "list.*holds" log
'

test_lazy_prereq LFS 'git lfs version'

test_expect_success LFS 'git-lfs' '
	rm -rf lfs &&
	git init -q lfs &&
	(
		cd lfs &&
		git config filter.lfs.process "git-lfs filter-process" &&
		git config filter.lfs.smudge "git-lfs smudge -- %f" &&
		git config filter.lfs.clean "git-lfs clean -- %f" &&
		git config filter.lfs.required true &&
		echo "*.bin filter=lfs -text" >.gitattributes &&
		for i in $(test_seq 1 40)
		do
			test-tool genrandom $i 5000 >$i.bin || return 1
		done &&
		cp 1.bin copy.bin &&
		git add . &&
		git commit -q -m lfs &&
		cksum *.bin >../expect
	) &&
	for n in 1 2 auto
	do
		rm lfs/*.bin &&
		rm -f trace &&
		GIT_TRACE2_EVENT="$TRASH/trace" git -C lfs -c filter.lfs.parallel=true \
			-c checkout.workers=$n -c checkout.thresholdForParallelism=0 \
			checkout -q -f &&
		(cd lfs && cksum *.bin) >actual &&
		test_cmp expect actual || return 1
	done
'

#
# the end of the command
#

# usage: write_hold <what it does on SIGTERM>
#
# A filter that waits for the file "go", and says in "held" who it is.
write_hold () {
	write_script hold.sh <<-EOF
	trap "$1" TERM
	echo \$\$ >>"$TRASH/held"
	until test -e "$TRASH/go"
	do
		sleep 0.1
	done
	cat
	EOF
}

# Nothing is checked out in "out".
clone_holding () {
	rm -rf out held go &&
	break_worker : &&
	git clone -q --no-checkout holding out &&
	git -C out read-tree HEAD
}

# usage: start_held; sets $main
#
# A checkout in "out" whose workers have got stuck in filters.
start_held () {
	{
		GIT_EXEC_PATH="$TRASH/fake" "$GIT_BUILD_DIR/git" -C out \
			-c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			checkout -q -f HEAD 2>err &
	} &&
	main=$! &&
	wait_until test -s held
}

if ! test_have_prereq MINGW
then
	test_set_prereq SIGNALS
fi

test_expect_success SIGNALS 'setup: filters that wait' '
	rm -rf fake &&
	setup_broken_worker &&
	driver hold smudge "exec \"$TRASH/hold.sh\"" &&
	driver hold parallel true &&
	git init -q holding &&
	(
		cd holding &&
		echo "*.hold filter=hold" >.gitattributes &&
		mkdir d &&
		for i in 1 2 3 4 5 6
		do
			echo $i >d/$i.hold || return 1
		done &&
		for i in $(test_seq 600)
		do
			echo $i >f$i || return 1
		done &&
		mkdir z &&
		echo z >z/z &&
		git add . &&
		git commit -q -m files
	)
'

for signal in TERM HUP
do
	test_expect_success SIGNALS "SIG$signal: workers and their filters have ended" '
		test_when_finished ">\"$TRASH/go\"" &&
		write_hold "sleep 0.5; exit 1" &&
		clone_holding &&
	start_held &&
		kill -$signal $main &&
		! wait $main &&
		is_gone $(cat pids held) &&
		test_path_is_missing out/d/1.hold
	'
done

test_expect_success SIGNALS 'a filter that does not end is killed' '
	test_when_finished ">\"$TRASH/go\"" &&
	write_hold "" &&
	clone_holding &&
	start_held &&
	kill $main &&
	! wait $main &&
	is_gone $(cat pids held) &&
	test_path_is_missing out/d/1.hold
'

# usage: list_out
list_out () {
	find out -path out/.git -prune -o -print | sort
}

# The main process waits for the attributes of z/z, and dies of them.
test_expect_success PIPE 'die(): workers and filters that wait have ended' '
	test_when_finished ">\"$TRASH/go\"" &&
	write_hold "sleep 0.5; exit 1" &&
	clone_holding &&
	mkdir out/z &&
	mkfifo out/z/.gitattributes &&
	test_when_finished "kill \$main \$writer 2>/dev/null || :" &&
	start_held &&
	{
		echo "z working-tree-encoding" >out/z/.gitattributes &
	} &&
	writer=$! &&
	test_expect_code 128 wait $main &&
	is_gone $(cat pids held) &&
	test_grep "^fatal: .* no valid working-tree-encodings" err &&
	list_out >before &&
	>go &&
	sleep 1 &&
	list_out >after &&
	test_cmp before after &&
	test_path_is_missing out/d/1.hold &&
	test_path_is_missing out/z/z
'

# It waits for the end of its filter, when the main process dies of another one.
test_expect_success SIGNALS 'die(): a filter that goes on after the end of its pipe' '
	write_script linger.sh <<-EOF &&
	echo \$\$ >>"$TRASH/held"
	"$TOOL" checkout-filter --name=linger process
	exec sleep 60
	EOF
	test_when_finished "rm -rf two" &&
	driver linger process "exec \"$TRASH/linger.sh\"" &&
	driver linger clean cat &&
	driver linger parallel true &&
	driver fails smudge false &&
	git init -q two &&
	(
		cd two &&
		{
			echo "*.linger filter=linger" &&
			echo "*.fails filter=fails"
		} >.gitattributes &&
		for i in $(test_seq 20)
		do
			echo $i >$i.linger || return 1
		done &&
		echo z >z.fails &&
		git -c filter.linger.process= add . &&
		git -c filter.linger.process= commit -q -m files &&
		rm *.linger z.fails
	) &&
	rm -f held &&
	break_worker : &&
	test_expect_code 128 faulty_git -C two -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=0 \
		-c filter.fails.required=true checkout -q -f HEAD 2>err &&
	test_file_not_empty held &&
	is_gone $(cat pids held)
'

# usage: die_late <workers>; die of an attribute when filters run. One of each
# worker may have been started before the message, and find it.
die_late () {
	rm -f started two/[ampq]* two/zz &&
	{
		git -C two -c checkout.workers=$1 \
			-c checkout.thresholdForParallelism=0 \
			checkout -q -f HEAD 2>err &
	} &&
	main=$! &&
	wait_until test -s started &&
	{
		echo >two/z/.gitattributes &
	} &&
	writer=$! &&
	test_expect_code 128 wait $main &&
	test_line_count = 1 err &&
	test_grep "no valid working-tree-encodings" err &&
	cp started now &&
	sleep 1 &&
	test_cmp now started &&
	test $(grep -c fatal started) -le $1
}

# usage: init_late <attributes>; each file of tardy is slow.
init_late () {
	write_script late.sh <<-EOF &&
	echo "\$(cat "$TRASH/err")" >>"$TRASH/started"
	sleep 0.2
	cat
	EOF
	driver tardy parallel true &&
	driver tardy smudge "\"$TRASH/late.sh\"" &&
	git init -q two &&
	(
		cd two &&
		mkdir z &&
		for i in $(test_seq 40)
		do
			echo $i >p$i.one || return 1
		done &&
		for i in $(test_seq 200)
		do
			echo $i >a$i &&
			echo $i >q$i || return 1
		done &&
		echo main >main &&
		echo z >z/z &&
		echo zz >zz &&
		git add . &&
		git commit -q -m files &&
		rm z/z &&
		cat >.git/info/attributes <<-\EOF &&
		*.one filter=tardy
		main filter=linger
		zz working-tree-encoding
		EOF
		mkfifo z/.gitattributes
	)
}

test_expect_success PIPE 'die(): no filter is started after the message' '
	test_when_finished "kill \$main \$writer 2>/dev/null || :; rm -rf two" &&
	init_late &&
	driver linger process "" &&
	for workers in 1 2 4
	do
		die_late $workers || return 1
	done
'

# The filter of the main process goes on when its input ends. No other one is to
# be started until it has ended.
test_expect_success PIPE 'die(): no filter is started while that of the main process ends' '
	test_when_finished "kill \$main \$writer 2>/dev/null || :; rm -rf two" &&
	init_late &&
	write_script linger.sh <<-EOF &&
	"$TOOL" checkout-filter --name=linger process
	exec sleep 3
	EOF
	driver linger process "exec \"$TRASH/linger.sh\"" &&
	driver linger parallel false &&
	test_when_finished "driver linger parallel true" &&
	die_late 2 &&
	test_path_is_file two/main
'

test_expect_success SIGNALS 'a filter that goes on does not hold up the command' '
	test_when_finished ">\"$TRASH/go\"; rm -rf two" &&
	write_script linger.sh <<-EOF &&
	"$TOOL" checkout-filter --name=linger process
	until test -e "$TRASH/go"
	do
		sleep 0.1
	done
	echo >"$TRASH/ended"
	EOF
	rm -f go ended &&
	git init -q two &&
	for i in $(test_seq 20)
	do
		echo $i >two/$i.linger || return 1
	done &&
	git -C two add . &&
	git -C two commit -q -m files &&
	echo "*.linger filter=linger" >two/.git/info/attributes &&
	rm two/*.linger two/.git/index &&
	{
		git -C two -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			reset -q --hard 2>err &
	} &&
	main=$! &&
	wait_until test -e two/.git/index &&
	kill -0 $main &&
	test_path_is_missing ended &&
	>go &&
	wait $main &&
	test_path_is_file ended &&
	test_must_be_empty err
'

# Two forks are for the workers, of which one has something that is delayed. The
# filter of the other one is not killed.
test_expect_success PRELOAD_FAULTS 'an idle worker gives way while another one holds something' '
	test_when_finished "rm -rf two" &&
	write_script linger.sh <<-EOF &&
	echo >>"$TRASH/started"
	"$TOOL" checkout-filter --name=linger process
	echo >>"$TRASH/ended"
	EOF
	rm -f started ended &&
	git init -q two &&
	for i in $(test_seq 200)
	do
		echo $i >two/$i.plain &&
		echo $i >two/a$i.linger || return 1
	done &&
	echo late >two/a.late &&
	echo upper >two/z.upper &&
	git -C two add . &&
	git -C two commit -q -m files &&
	cat >two/.git/info/attributes <<-\EOF &&
	*.late filter=late
	*.linger filter=linger
	*.upper filter=upper
	EOF
	test_config_global filter.upper.smudge "tr a-z A-Z" &&
	rm two/*.* two/.git/index &&
	test_env FAULTS_NTH=3 with_faults fork \
		git -C two -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=0 reset -q --hard 2>err &&
	test_grep "^fork" faults &&
	test_must_be_empty err &&
	echo UPPER >expect &&
	test_cmp expect two/z.upper &&
	test -s two/a.late &&
	test_cmp started ended
'

test_expect_success SIGNALS 'a filter that stops answering and goes on is reported at once' '
	test_when_finished "rm -rf two" &&
	write_script linger.sh <<-EOF &&
	"$TOOL" checkout-filter --name=linger --delay="*" --list=die process
	exec >/dev/null
	until test -e "$TRASH/go"
	do
		sleep 0.1
	done
	EOF
	rm -f go &&
	git init -q two &&
	for i in $(test_seq 20)
	do
		echo $i >two/$i.linger || return 1
	done &&
	git -C two add . &&
	git -C two commit -q -m files &&
	echo "*.linger filter=linger" >two/.git/info/attributes &&
	rm two/*.linger &&
	{
		git -C two -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			checkout -q -f 2>err &
	} &&
	main=$! &&
	wait_until test -s err &&
	>go &&
	! wait $main &&
	test_grep "hung up" err &&
	test_grep ! worker err &&
	test_grep ! signal err
'

# usage: kill_main; and remove all that it has made
kill_main () {
	kill -KILL $main &&
	! wait $main &&
	find out -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +
}

if test "$(uname -s)" = Linux
then
	test_set_prereq LINUX
fi

test_expect_success LINUX 'SIGKILL: workers and their filters are told' '
	write_hold "sleep 0.2; exit 1" &&
	clone_holding &&
	start_held &&
	kill_main &&
	wait_until has_ended $(cat pids held) &&
	find out -mindepth 1 -maxdepth 1 ! -name .git >left &&
	test_must_be_empty left
'

# That is not about who has started the shell that has started the worker.
test_expect_success SIGNALS 'SIGKILL: workers see it after a filter has run' '
	write_script fake/git <<-EOF &&
	if test "\$1" = checkout--worker
	then
		"$GIT_BUILD_DIR/git" "\$@"
		exit
	fi
	exec "$GIT_BUILD_DIR/git" "\$@"
	EOF
	test_when_finished ">\"$TRASH/go\"" &&
	write_hold "" &&
	clone_holding &&
	start_held &&
	kill_main &&
	>go &&
	wait_until has_ended $(cat held) &&
	sleep 1 &&
	find out -mindepth 1 -maxdepth 1 ! -name .git >left &&
	test_must_be_empty left
'

test_done
