# SPDX-License-Identifier: GPL-2.0-only
# A repository in which a directory is swapped for a symbolic link while Git
# writes or removes files below it, and a place outside to look at.
#
# Sourced by a test script after test-lib.sh. Ends it, as one that is skipped,
# where there can be no such race or no protection.

if ! test_have_prereq SYMLINKS || ! test-tool checkout-race --has-openat
then
	skip_all='skipping tests of races, no openat() or no symbolic links'
	test_done
fi

if ! find . -maxdepth 0 -printf "" 2>/dev/null
then
	skip_all='skipping tests of races, find has no -printf'
	test_done
fi

# Or they would be started whatever race() says.
sane_unset GIT_TEST_CHECKOUT_WORKERS

ROUNDS=20

# Some of the names are there outside, too, so that there is something to be
# replaced and to be removed, and something to be added.
test_expect_success 'setup' '
	git init repo &&
	(
		cd repo &&
		echo base >base &&
		git add base &&
		git commit -q -m base &&
		git tag without &&
		for dir in a/b/c a/b/d a/b a/e
		do
			mkdir -p $dir &&
			for i in $(test_seq 1 60)
			do
				echo "one $dir $i" >$dir/file$i || return 1
			done
		done &&
		ln -s file1 a/b/c/link &&
		git add . &&
		git commit -q -m one &&
		git tag one &&
		for file in $(git ls-files "a/b/*[0-9]")
		do
			echo "two $file" >$file || return 1
		done &&
		git rm -q --cached -r a/b/d &&
		git commit -q -a -m two &&
		git tag two &&
		git checkout -q -f without
	) &&
	mkdir -p outside/c outside/d &&
	for dir in c d .
	do
		for i in 1 3 5 20 40 59
		do
			echo "outside $dir $i" >outside/$dir/file$i || return 1
		done
	done &&
	echo secret >outside/secret
'

# All that there is to see outside, but for the time of the last access.
look_outside () {
	find outside -printf "%p %y %i %m %s %T@ %C@ %l\n" | sort
}

# usage: race <workers> <git command>...
#
# Runs it again and again, each time after "prepare", while a/b is swapped for a
# link to a place outside. What happens to the working tree does not matter.
# Leaves a trace of all that in "trace".
race () {
	local workers="$1" racer &&
	shift &&
	rm -rf stop trace spare && mkdir spare &&
	look_outside >expect &&
	{
		test-tool checkout-race --stop=stop repo/a/b \
			"$(pwd)/outside" spare/link >counts &
		racer=$!
	} &&
	test_when_finished "touch stop; wait $racer || :" &&
	for round in $(test_seq $ROUNDS)
	do
		prepare >out 2>&1 || :
		test_might_fail env GIT_TRACE2_EVENT="$(pwd)/trace" \
			git -C repo -c checkout.workers="$workers" \
			-c checkout.thresholdForParallelism=0 \
			"$@" >out 2>&1 &&
		rm -f repo/.git/index.lock || return 1
	done &&
	touch stop &&
	wait $racer &&
	look_outside >actual &&
	swaps=$(sed -n "s/^swaps //p" counts) &&
	say "$swaps swaps" &&
	test_cmp expect actual &&
	test $swaps -gt 100
}

# usage: test_races <workers> [<check>]
#
# Once some commands that write have been through this, the check is run.
test_races () {
	local workers="$1" check="${2-:}"

	test_expect_success "checkout-index, workers=$workers" '
		prepare () {
			git -C repo read-tree one
		} &&
		race $workers checkout-index -f -a -q &&
		$check
	'

	test_expect_success "read-tree of everything, workers=$workers" '
		prepare () {
			git -C repo read-tree --empty
		} &&
		race $workers read-tree --reset -u one &&
		$check
	'

	test_expect_success "switch, workers=$workers" '
		prepare () {
			case "$(git -C repo rev-parse HEAD)" in
			$(git -C repo rev-parse one))
				git -C repo tag -f to two ;;
			*)
				git -C repo tag -f to one ;;
			esac
		} &&
		race $workers checkout -q -f to &&
		$check
	'

	test_expect_success "removal, workers=$workers" '
		prepare () {
			git -C repo -c checkout.workers=$workers \
				read-tree --reset -u one
		} &&
		race $workers read-tree --reset -u without
	'

	test_expect_success 'what is left can be checked out' '
		git -C repo reset -q --hard one &&
		git -C repo status --porcelain >status &&
		test_must_be_empty status
	'
}
