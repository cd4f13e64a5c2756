#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='the number of checkout workers, if nobody says how many

Where time decides, tests use a file system that is so slow that there is no
doubt, or so few files that there is none either.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY"/lib-parallel-checkout.sh
. "$TEST_DIRECTORY"/lib-slowfs.sh
. "$TEST_DIRECTORY"/lib-broken-worker.sh

# Set for the tests themselves, not for what they test.

# usage: workers_used <directory for the files> <git command that writes them>...
#
# Print what the trace says about the number of workers, in one line each time
# that it has changed.
workers_used () {
	local tree="$1" &&
	shift &&
	rm -rf "${tree:?}"/* trace &&
	test_env GIT_TRACE2_EVENT="$PWD/trace" "$@" &&
	sed -n "s/.*\"key\":\"workers\/used\",\"value\":\"\([^\"]*\)\".*/\1/p" \
		trace
}

no_worker_used () {
	workers_used "$@" >used &&
	test_must_be_empty used &&
	test_grep ! "checkout--worker" trace
}

test_expect_success 'setup' '
	setup_broken_worker &&
	git init repo &&
	mkdir repo/dir &&
	for i in $(test_seq 1 150)
	do
		echo "file $i" >repo/dir/$i || return 1
	done &&
	git -C repo add . &&
	test_tick &&
	git -C repo commit -m files &&
	git -C repo rev-parse HEAD^{tree} >tree &&
	mkdir few &&
	git -C repo ls-files -s dir/1 dir/10 dir/100 >entries
'

checkout_index () {
	git -C repo checkout-index -a -f --prefix="$PWD/out/" &&
	test_path_is_file out/dir/150
}

# On a busy machine even these may take long once in a while.
test_expect_success 'few files on a fast disk need no worker' '
	GIT_INDEX_FILE="$PWD/index.few" git -C repo update-index \
		--add --index-info <entries &&
	for try in 1 2 3 4 5
	do
		workers_used few env GIT_INDEX_FILE="$PWD/index.few" \
			git -C repo checkout-index -a -f --prefix="$PWD/few/" >used &&
		test_path_is_file few/dir/100 || return 1
		test -s used || break
	done &&
	test_must_be_empty used &&
	test_grep ! "checkout--worker" trace
'

# dir/100 and others are only there if they have been written.
test_expect_success SLOWFS 'setup: a slow file system' '
	slowfs_mount out --latency=1000
'

test_expect_success SLOWFS 'what takes long is given to workers' '
	workers_used out checkout_index >used &&
	test_grep -E "^[1-9][0-9]*: the main process has (waited|been busy)" used &&
	diff -r repo/dir out/dir
'

test_expect_success SLOWFS 'auto can be asked for' '
	test_config -C repo checkout.workers auto &&
	workers_used out checkout_index >used &&
	test_grep -E "^[1-9][0-9]*: the main process has (waited|been busy)" used
'

test_expect_success SLOWFS 'a number is obeyed' '
	test_config -C repo checkout.workers 3 &&
	workers_used out checkout_index >used &&
	echo "3: configured" >expect &&
	test_cmp expect used &&

	test_config -C repo checkout.workers 1 &&
	no_worker_used out checkout_index
'

test_expect_success SLOWFS 'so is a threshold' '
	test_config -C repo checkout.workers auto &&
	test_config -C repo checkout.thresholdForParallelism 151 &&
	no_worker_used out checkout_index &&

	test_config -C repo checkout.thresholdForParallelism 150 &&
	test_config -C repo checkout.workers 2 &&
	workers_used out checkout_index >used &&
	echo "2: configured" >expect &&
	test_cmp expect used
'

# For images and CI systems, where no file has the configuration.
test_expect_success SLOWFS 'the environment overrides the configuration' '
	test_config -C repo checkout.workers 3 &&
	(
		GIT_CONFIG_COUNT=1 &&
		GIT_CONFIG_KEY_0=checkout.workers &&
		GIT_CONFIG_VALUE_0=2 &&
		export GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 &&
		workers_used out checkout_index >used &&
		echo "2: configured" >expect &&
		test_cmp expect used &&

		GIT_CONFIG_VALUE_0=auto &&
		workers_used out checkout_index >used &&
		test_grep -E "the main process has (waited|been busy)" used &&

		GIT_CONFIG_VALUE_0=1 &&
		no_worker_used out checkout_index
	)
'

# Workers wait for each other here, so their number is taken back, most
# often to one. That must not be one of those that were lost, which most of the
# first ones are here.
test_expect_success SLOWFS 'a lost worker is not one of few' '
	test_when_finished "slowfs_control out \"one-arm off\" \"latency 1000\"" &&
	git init many &&
	for i in $(test_seq 900)
	do
		echo "file $i" >many/$i || return 1
	done &&
	git -C many add . &&
	slowfs_control out "one-arm on" "latency 400" &&
	break_worker "
		rmdir \"$TRASH_DIRECTORY/broken\"
		for i in $(test_seq 24 | tr "\012" " ")
		do
			mkdir \"$TRASH_DIRECTORY/lost.\$i\" 2>/dev/null && exit 1
		done" &&
	faulty_git -C many checkout-index -a --prefix="$PWD/out/many/" &&
	test_path_is_dir lost.1 &&
	rm -rf many/.git &&
	diff -r many out/many
'

for config in "" "-c checkout.thresholdForParallelism=10"
do
	test_expect_success SLOWFS,PIPE "names that come one by one are written one by one $config" '
		rm -rf out/* names &&
		mkfifo names &&
		{
			git -C repo $config checkout-index --stdin -f \
				--prefix="$PWD/out/" <names &
		} &&
		pid=$! &&
		test_when_finished "kill $pid 2>/dev/null || :" &&
		exec 8>names &&
		for i in $(test_seq 40)
		do
			echo dir/$i >&8 &&
			n=0 &&
			until test -s out/dir/$i
			do
				n=$(($n + 1)) &&
				test $n -lt 300 &&
				sleep 0.02 || return 1
			done || return 1
		done &&
		exec 8>&- &&
		wait $pid &&
		ls out/dir >files &&
		test_line_count = 40 files
	'
done

test_expect_success SLOWFS 'removing files takes long, too' '
	git -C repo commit-tree -m empty $(git -C repo mktree </dev/null) >empty &&
	git clone --no-checkout -s repo out/clone &&
	git -C out/clone -c checkout.workers=16 checkout -q &&
	GIT_TRACE2_EVENT="$PWD/trace" \
		git -C out/clone checkout -q --detach $(cat empty) &&
	test_grep "\"workers/used\",\"value\":\"[1-9]" trace &&
	test_grep "\"removals\",\"value\":\"\{0,1\}[1-9]" trace &&
	ls out/clone >actual &&
	test_must_be_empty actual
'

test_expect_success 'the default can be forced on tests' '
	GIT_TEST_CHECKOUT_WORKERS=auto &&
	export GIT_TEST_CHECKOUT_WORKERS &&
	test_when_finished "unset GIT_TEST_CHECKOUT_WORKERS" &&
	git clone -s repo forced &&
	git -C forced status --porcelain >actual &&
	test_must_be_empty actual &&
	diff -r repo/dir forced/dir
'

for value in two 2x 1.5 "" 99999999999999999999
do
	case $value in
	9*) reason="out of range" ;;
	*) reason="neither a number nor .auto." ;;
	esac
	test_expect_success "checkout.workers=$value is no number" '
		test_expect_code 128 git -C repo -c "checkout.workers=$value" \
			checkout -f 2>err &&
		test_grep "bad value .$value. for .checkout.workers.: $reason" err
	'
done

test_expect_success 'where the bad value stands is named' '
	test_config -C repo checkout.workers many &&
	test_expect_code 128 git -C repo checkout -f 2>err &&
	test_grep "bad config variable .checkout.workers. in file .*config" err
'

test_expect_success 'checkout.workers without a value' '
	test_must_fail git -C repo -c checkout.workers checkout -f 2>err &&
	test_grep "missing value for .checkout.workers." err
'

test_expect_success 'GIT_TEST_CHECKOUT_WORKERS that is no number' '
	test_must_fail env GIT_TEST_CHECKOUT_WORKERS=many \
		git -C repo checkout -f 2>err &&
	test_grep "bad value .many. for .GIT_TEST_CHECKOUT_WORKERS.: neither a number" err
'

# What is counted are files that have been written. Bytes are those of workers, and
# of what is written after them.
test_expect_success SLOWFS 'progress has files, bytes and bytes per second' '
	for workers in auto 1 4
	do
		rm -rf out/clone &&
		git clone --no-checkout -s repo out/clone &&
		GIT_PROGRESS_DELAY=0 git -C out/clone \
			-c checkout.workers=$workers checkout --progress 2>err &&
		tr "\015" "\012" <err >lines &&
		tail -n 1 lines >last &&
		case $workers in
		1)
			bytes=
			;;
		*)
			bytes="[0-9.]* \(bytes\|KiB\)" &&
			bytes=", $bytes | $bytes/s"
			;;
		esac &&
		test_grep "^Updating files: 100% (150/150)$bytes, done\." last ||
			return 1
	done
'

test_expect_success 'progress shows filters that take their time' '
	test_config_global filter.late.process \
		"test-tool rot13-filter --always-delay --log=\"$PWD/log\" clean smudge delay" &&
	git init late &&
	echo "*.late filter=late" >late/.gitattributes &&
	for i in $(test_seq 20)
	do
		echo "$i" >late/$i.late &&
		echo "$i" >late/$i || return 1
	done &&
	git -C late add . &&
	git -C late commit -q -m late &&
	for workers in auto 1 4
	do
		rm -f late/*.late late/[0-9] &&
		GIT_PROGRESS_DELAY=0 git -C late -c checkout.workers=$workers \
			checkout -f --progress 2>err &&
		tr "\015" "\012" <err >lines &&
		test_grep "^Updating files: 100% (29/29).*, done\." lines &&
		test_grep "^Filtering content: 100% (20/20).*, done\." lines &&
		git -C late diff --exit-code || return 1
	done
'

test_done
