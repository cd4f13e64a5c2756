#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='checkout where something stands between Git and the kernel

PRoot, which answers some system calls by itself, among them those that ask for
the current directory; a sandbox that forbids calls; and file systems that say
that a call was interrupted. Files are those that they should be, and others are
left alone.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-faulty-calls.sh"

# Or they would be started whatever the configuration says.
sane_unset GIT_TEST_CHECKOUT_WORKERS

# It cannot do without ptrace().
test_lazy_prereq PROOT '
	proot -r / true
'

test_have_prereq PROOT || say 'no proot: what is behind it is not tested'
test_have_prereq SECCOMP ||
	say 'no compiler or no seccomp: calls that are forbidden are not tested'

test_expect_success 'setup' '
	git init repo &&
	(
		cd repo &&
		for dir in a a/b a/b/c d e
		do
			mkdir $dir &&
			for i in $(test_seq 1 10)
			do
				echo "one $dir $i" >$dir/$i || return 1
			done
		done &&
		git add . &&
		git commit -q -m one &&
		git tag one &&
		for file in a/b/* d/*
		do
			test -d $file || echo two $file >$file || return 1
		done &&
		git rm -q -r e &&
		echo new >a/new &&
		git add . &&
		git commit -q -m two &&
		git tag two
	)
'

# The directories of another working tree, with files of the same names.
make_other () {
	rm -rf other &&
	mkdir -p other/a/b/c other/d other/e &&
	for file in $(git -C repo ls-tree -r --name-only one)
	do
		echo precious >other/$file || return 1
	done &&
	(cd other && find . -type f -exec cat {} + | sort | uniq -c) >before &&
	find other | sort >>before
}

check_other () {
	(cd other && find . -type f -exec cat {} + | sort | uniq -c) >after &&
	find other | sort >>after &&
	test_cmp before after
}

# usage: behind_proot <command in clone>
#
# PRoot is started in the other working tree; to change the directory is its own
# affair from then on.
behind_proot () {
	(
		cd other &&
		proot -r / "$SHELL_PATH" -c "cd ../clone && $1"
	)
}

# usage: test_behind_proot <configuration> <from> <to> <command>...
#
# The clone is at <from>, and then as <to> is.
test_behind_proot () {
	local config="$1" from="$2" to="$3" &&
	shift 3 &&
	for command
	do
		rm -rf clone &&
		git clone -q repo clone &&
		git -C clone checkout -q --detach $from &&
		make_other &&
		behind_proot "git $config $command" &&
		check_other &&
		git -C clone diff --exit-code $to -- &&
		git -C clone ls-files -o >untracked &&
		test_must_be_empty untracked || return 1
	done
}

for config in '' '-c checkout.workers=1' \
	'-c checkout.workers=2 -c checkout.thresholdForParallelism=0'
do
	test_expect_success PROOT "PRoot, files change and are removed, ${config:-nothing set}" '
		test_behind_proot "$config" one two "checkout -q two" \
			"reset -q --hard two" "merge -q --ff-only two"
	'

	test_expect_success PROOT "PRoot, files come back, ${config:-nothing set}" '
		test_behind_proot "$config" two one "switch -q --detach one" \
			"checkout -q --no-overlay one -- ." "checkout -q -f one"
	'

	test_expect_success PROOT "PRoot, filters and -C, ${config:-nothing set}" '
		test_config_global filter.tr.smudge "tr a-z A-Z" &&
		test_config_global filter.tr.clean "tr A-Z a-z" &&
		test_config_global core.attributesFile "$(pwd)/attributes" &&
		echo "* filter=tr" >attributes &&
		rm -rf clone &&
		git clone -q repo clone &&
		rm -r clone/a clone/d &&
		make_other &&
		(
			cd other &&
			proot -r / git -C ../clone $config checkout -q -f
		) &&
		check_other &&
		echo TWO A/B/1 >expect &&
		test_cmp expect clone/a/b/1 &&
		git -C clone status --porcelain >actual &&
		test_must_be_empty actual
	'

	for error in EPERM ENOENT ENOSYS kill
	do
		test_expect_success SECCOMP "openat2() forbidden, $error, ${config:-nothing set}" '
			rm -rf clone &&
			git clone -q repo clone &&
			./forbid-call $error openat2 \
				git -C clone $config checkout -q one &&
			git -C clone diff --exit-code one --
		'
	done
done

for config in '' '-c checkout.workers=1'
do
	# Not a word about "already exists", nor about paths that collide.
	for fault in create early
	do
		test_expect_success PRELOAD_FAULTS "$fault: creations that are interrupted, ${config:-nothing set}" '
			rm -rf clone &&
			test_env FAULTS_NTH=3 with_faults $fault \
				git $config clone -q repo clone 2>err &&
			test_line_count -gt 5 faults &&
			test_must_be_empty err &&
			git -C clone diff --exit-code two -- &&
			rm -r clone/a clone/d &&
			test_env FAULTS_NTH=3 with_faults $fault \
				git -C clone $config checkout-index -a 2>err &&
			test_line_count -gt 5 faults &&
			test_must_be_empty err &&
			git -C clone diff --exit-code two --
		'
	done
done

# As a filter may do; with that, entries come one after another.
for put in 'mkdir d' 'ln -s moved d'
do
	test_expect_success SYMLINKS "a directory is moved away, and then: $put" '
		rm -rf clone &&
		git clone -q repo clone &&
		write_script move <<-EOF &&
		if test "\$1" = d/4 && test ! -e moved
		then
			mv d moved && $put
		fi
		cat
		EOF
		test_config_global filter.move.smudge "\"$(pwd)/move\" %f" &&
		test_config_global filter.move.clean cat &&
		echo "d/* filter=move" >clone/.git/info/attributes &&
		rm clone/d/* &&
		test_might_fail git -C clone -c checkout.workers=1 checkout-index -a &&
		ls clone/moved >actual &&
		printf "%s\n" 1 10 2 3 >expect &&
		test_cmp expect actual
	'
done

# What is there may be of somebody else.
test_expect_success PRELOAD_FAULTS 'creations that are always interrupted are an error' '
	rm -rf clone &&
	git clone -q repo clone &&
	rm -r clone/d &&
	test_when_finished "rm -rf clone" &&
	with_faults create test_must_fail git -C clone checkout-index -a 2>err &&
	test_grep "^error: unable to create file d/1: " err &&
	test_path_is_missing clone/d/1
'

test_expect_success PRELOAD_FAULTS 'a file of somebody else is left alone' '
	rm -rf clone &&
	git clone -q repo clone &&
	rm -r clone/d &&
	test_when_finished "rm -rf clone" &&
	with_faults other test_must_fail git -C clone checkout-index -a 2>err &&
	test_grep "^error: unable to create file d/1: " err &&
	echo other >expect &&
	test_cmp expect clone/d/1
'

# Each look in turn, until there are no more.
test_expect_success PRELOAD_FAULTS 'a directory that cannot be looked at, for once' '
	git clone -q repo looked &&
	n=0 &&
	while
		n=$(($n + 1)) &&
		git -C looked checkout -q -f one &&
		{
			FAULTS_NTH=$n with_faults lookup \
				git -C looked checkout -q two 2>err
			code=$?
		} &&
		grep lookup faults
	do
		test $code -le 128 &&
		test_path_is_missing looked/.git/index.lock &&
		git -C looked checkout -q -f two &&
		git -C looked status --porcelain -uno >actual &&
		test_must_be_empty actual || return 1
	done &&
	test $n -gt 5
'

test_done
