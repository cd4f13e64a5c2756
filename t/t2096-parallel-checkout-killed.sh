#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout whose processes are stopped or killed

A worker that is stopped is waited for. A main process that
is killed leaves no worker behind, and no file that claims to be what it is not.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"
. "$TEST_DIRECTORY/lib-broken-worker.sh"
. "$TEST_DIRECTORY/lib-slowfs.sh"

if test_have_prereq MINGW || test_have_prereq CYGWIN
then
	skip_all='skipping tests of signals, there are none here'
	test_done
fi

test_expect_success 'setup' '
	setup_broken_worker &&
	setup_files
'

# A shell without job control starts jobs with SIGINT ignored; Perl mends that.
#
# usage: start <first worker does> <workers>: a checkout in "one"; sets $main
start () {
	rm -rf one err &&
	git clone -q -n files one &&
	break_worker "$1" &&
	{
		GIT_EXEC_PATH="$TRASH_DIRECTORY/fake" \
			"$PERL_PATH" -e "\$SIG{INT} = \"DEFAULT\"; exec @ARGV or die" \
			"$GIT_BUILD_DIR/git" -C one -c checkout.workers=$2 \
			-c checkout.thresholdForParallelism=0 \
			checkout -q -f HEAD 2>err &
		main=$!
	}
}

# Where nobody says so, the first one is believed to be, soon.
#
# usage: is_one_stopped; sets $pid
is_one_stopped () {
	for pid in $(cat pids 2>/dev/null)
	do
		! test -r /proc/$$/status ||
		grep -q "^State:.*T" /proc/$pid/status 2>/dev/null || continue
		return 0
	done
	return 1
}

hangs () {
	wait_until is_one_stopped
}

# usage: waits_for_worker: nobody is killed, and nothing is said
waits_for_worker () {
	hangs &&
	sleep 2 &&
	kill -0 $pid &&
	kill -0 $main &&
	kill -CONT $pid &&
	wait $main &&
	test_must_be_empty err &&
	git -C one status --porcelain >status &&
	test_must_be_empty status
}

test_expect_success 'a worker that stops answering' '
	start "kill -STOP \$\$" 2 &&
	test_when_finished "kill -CONT \$(cat pids) $main 2>/dev/null || :" &&
	waits_for_worker
'

test_expect_success 'a worker that does not end' '
	start "\"$GIT_BUILD_DIR/git\" \"\$@\"; kill -STOP \$\$; exit" 2 &&
	test_when_finished "kill -CONT \$(cat pids) $main 2>/dev/null || :" &&
	waits_for_worker
'

for signal in INT TERM HUP KILL
do
	test_expect_success PERL "SIG$signal while a worker hangs" '
		start "kill -STOP \$\$" 2 &&
		test_when_finished "kill -CONT \$(cat pids) 2>/dev/null || :" &&
		hangs &&
		kill -$signal $main &&
		! wait $main &&
		# otherwise, it was killed
		if test $signal = KILL
		then
			kill -CONT $pid
		fi &&
		wait_until has_ended $(cat pids) &&
		if test $signal = KILL
		then
			rm one/.git/index.lock
		fi &&
		test_path_is_missing one/.git/index.lock &&
		git -C one reset -q --hard &&
		git -C one status --porcelain >status &&
		test_must_be_empty status
	'
done

# What Git says is clean is what it says. The working tree is in slow/tree.
no_false_claims () {
	git -C one update-index -q --refresh
	git -C one diff-files --name-only >dirty &&
	git -C one ls-files -s | sed "s/^[0-9]* \([0-9a-f]*\) 0	/\1 /" >claims &&
	while read -r oid path
	do
		grep "^$path$" dirty >/dev/null ||
		test $oid = "$(git hash-object "slow/tree/$path")" || return 1
	done <claims
}

test_expect_success SLOWFS 'setup of a slow file system' '
	slowfs_mount slow --entry-timeout=0 --attr-timeout=0 &&
	(
		cd files &&
		git tag first &&
		for i in $(test_seq 1 300)
		do
			echo "other content $i" >file$i || return 1
		done &&
		git commit -q -a -m second &&
		git tag second
	)
'

for signal in INT TERM HUP KILL
do
	test_expect_success SLOWFS,PERL "SIG$signal while workers write" '
		test_when_finished "rm -rf slow/*" &&
		slowfs_control slow "latency 0" &&
		rm -rf one slow/tree &&
		git clone -q -n files one &&
		mkdir slow/tree &&
		git -C one config core.worktree "$(pwd)/slow/tree" &&
		git -C one checkout -q -f first &&
		break_worker : &&
		slowfs_control slow "latency create=40000" &&
		{
			GIT_EXEC_PATH="$TRASH_DIRECTORY/fake" "$PERL_PATH" -e "
				\$SIG{INT} = \"DEFAULT\";
				exec @ARGV or die;
			" "$GIT_BUILD_DIR/git" -C one -c checkout.workers=2 \
				-c checkout.thresholdForParallelism=0 \
				checkout -q -f second 2>err &
			main=$!
		} &&
		# one of the first, so that there is time for the signal
		wait_until grep -q "^other" slow/tree/file11 2>/dev/null &&
		kill -$signal $main &&
		! wait $main &&
		wait_until has_ended $(cat pids) &&
		slowfs_control slow "latency 0" &&
		grep -l "^other" slow/tree/file* >written &&
		test_line_count -lt 300 written &&
		if test $signal = KILL
		then
			rm one/.git/index.lock
		fi &&
		test_path_is_missing one/.git/index.lock &&
		no_false_claims &&
		test_file_not_empty dirty &&
		git -C one reset -q --hard &&
		git -C one status --porcelain >status &&
		test_must_be_empty status
	'
done

# The handle that a worker writes through belongs to the old directory. It must
# not be used for what is written later, or Git would say that files are there
# which are elsewhere.
test_expect_success SLOWFS 'a directory is moved away' '
	test_when_finished "rm -rf slow/* elsewhere" &&
	slowfs_control slow "latency 0" &&
	rm -rf one &&
	git init -q one &&
	mkdir -p slow/tree one/dir &&
	for i in $(test_seq 1000 1300)
	do
		echo "content $i" >one/dir/file$i || return 1
	done &&
	git -C one add . &&
	git -C one commit -q -m files &&
	git -C one config core.worktree "$(pwd)/slow/tree" &&
	slowfs_control slow "latency create=20000" &&
	{
		git -C one -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			checkout -q -f HEAD 2>err &
		main=$!
	} &&
	wait_until test -s slow/tree/dir/file1040 &&
	mv slow/tree/dir slow/moved &&
	slowfs_control slow "latency 0" &&
	wait $main &&
	test_path_is_file slow/tree/dir/file1300 &&
	no_false_claims &&
	test_file_not_empty dirty &&
	git -C one reset -q --hard &&
	git -C one status --porcelain >status &&
	test_must_be_empty status
'

removals_begun () {
	test $(slowfs_count slow rmdir) -ge 2
}

# The file system has removed the directory, and who asked for it is gone before
# it hears of that. Whoever asks again finds nothing there.
test_expect_success SLOWFS 'workers that are killed while they remove directories' '
	test_when_finished "rm -rf slow/*" &&
	slowfs_control slow "latency 0" &&
	rm -rf one &&
	git init -q one &&
	(
		cd one &&
		for d in a/b/c a/d e/f/g/h/i keep
		do
			mkdir -p $d &&
			for i in $(test_seq 40)
			do
				echo "$d $i" >$d/f$i || return 1
			done || return 1
		done &&
		echo stays >keep/stays &&
		git add . &&
		git commit -q -m full &&
		git rm -rfq a e "keep/f*" &&
		git commit -q -m few &&
		git branch few &&
		git reset -q --hard HEAD^
	) &&
	mkdir slow/tree &&
	git -C one config core.worktree "$(pwd)/slow/tree" &&
	git -C one checkout -q -f &&
	break_worker : &&
	slowfs_control slow reset "latency rmdir=2000000" &&
	{
		faulty_git -C one -c checkout.workers=3 \
			-c checkout.thresholdForParallelism=0 \
			switch -q --detach few 2>err &
	} &&
	main=$! &&
	test_when_finished "kill $main $(cat pids) 2>/dev/null || :" &&
	wait_until removals_begun &&
	kill -KILL $(cat pids) &&
	slowfs_control slow "latency 0" &&
	wait $main &&
	find slow/tree | sort >actual &&
	cat >expect <<-\EOF &&
	slow/tree
	slow/tree/keep
	slow/tree/keep/stays
	EOF
	test_cmp expect actual
'

test_done
