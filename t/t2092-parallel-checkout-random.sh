#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout against the sequential one, at random

Each case is a repository and some operations, made up from a seed. It is run
once with the sequential code and then with 1, 2, 3 and 16 workers. After each
operation the working trees (types, modes, contents, empty directories), the
index with its stages and stat data, the names in .git, the exit code and the
messages have to be the same.

What may differ, and is not compared:
 - the order of messages,
 - inodes and times; but whether those in the index, and the size, are the ones
   of the file is compared,
 - the random names of "checkout-index --temp",
 - how often a message is repeated: a file that cannot be converted is mentioned
   each time somebody tries,
 - what has been written when a command dies because it cannot make a directory,
   and which one that is. The sequential code stops there, while workers have
   already written what comes later. The case ends.

Variables:
 - GIT_TEST_RANDOM_SEED is the seed of the first case (default: 1),
 - GIT_TEST_RANDOM_CASES says how many there are, with one seed after another
   (default: 100),
 - GIT_TEST_REFERENCE_GIT is a directory with a git that was built there, whose
   sequential code is the reference. Without it, that is our own without the
   engine of parallel checkout.

To see what a case does, look at the file "script" of its test: the directory
"work" is as it was at the end, for each number of workers in work.<number>.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

unset GIT_TEST_CHECKOUT_WORKERS

# no progress, however long it takes
GIT_PROGRESS_DELAY=100000
export GIT_PROGRESS_DELAY

first_seed=${GIT_TEST_RANDOM_SEED:-1}
cases=${GIT_TEST_RANDOM_CASES:-100}
TRASH=$(pwd)
OURS=$GIT_EXEC_PATH
TOOL=$GIT_BUILD_DIR/t/helper/test-tool$X

# The functions of the scripts that "test-tool checkout-random" writes. They are
# called in the directory "work", where the working tree is "repo".

change () {
	(cd repo && "$TOOL" worktree-state change "$@")
}

# lines <line>...: standard input of the command that is run next
lines () {
	printf "%s\n" "$@" >"$CASE/stdin"
}

# Is that what the last command did, in the midst of its checkout?
died () {
	read code <"$CASE/code" &&
	test $code = 128 &&
	grep "^fatal: cannot create directory at" "$CASE/err" >/dev/null
}

# run <directory> <command>...
#
# No file is racily clean afterwards: whether one is depends on the time that
# things take, and Git looks at its contents then.
run () {
	dir=$1 &&
	shift &&
	(
		cd "repo/$dir" 2>/dev/null || cd repo || exit 1
		"$@" >"$CASE/out" 2>"$CASE/err" <"$CASE/stdin"
		echo $? >"$CASE/code"
	) &&
	>"$CASE/stdin" &&
	echo "# $*" &&
	if died
	then
		echo "died" &&
		exit 0
	fi &&
	(
		cd repo &&
		"$TOOL" worktree-state show .. \
			"$CASE/code" "$CASE/out" "$CASE/err"
	)
}

# run_script <name> <directory of git> <workers> <classic code?>
run_script () {
	rm -rf "$CASE/work" "$CASE/work.$1" &&
	mkdir "$CASE/work" &&
	cp -R "$CASE/template" "$CASE/work/repo" &&
	echo outside >"$CASE/work/outside" &&
	>"$CASE/stdin" &&
	(
		cd "$CASE/work" &&
		umask $mask &&
		GIT_EXEC_PATH=$2 &&
		PATH=$2:$PATH &&
		GIT_TEST_CHECKOUT_WORKERS=$3 &&
		GIT_TEST_CHECKOUT_CLASSIC=$4 &&
		GIT_TEST_RACY_NSEC=false &&
		export GIT_EXEC_PATH PATH GIT_TEST_CHECKOUT_WORKERS \
			GIT_TEST_CHECKOUT_CLASSIC GIT_TEST_RACY_NSEC &&
		. "$CASE/script"
	) >"$CASE/log.$1" &&
	mv "$CASE/work" "$CASE/work.$1"
}

reference () {
	run_script reference "${GIT_TEST_REFERENCE_GIT:-$OURS}" 1 true
}

# same_as_reference <name>
#
# What follows from the contents of a file and its attributes may not be what
# is in the index. Such a file is modified if Git looks at it, and that it does
# if the file has the second of the index. So a command that writes both, and
# then looks, may do one or the other where a second ends: one more try.
same_as_reference () {
	cmp "$CASE/log.reference" "$CASE/log.$1" >/dev/null && return 0
	run_script $1 "$OURS" $1 false &&
	reference &&
	test_cmp "$CASE/log.reference" "$CASE/log.$1"
}

# run_case <seed>
run_case () {
	CASE=$TRASH/case.$1 &&
	mkdir -p "$CASE/template" &&
	"$TOOL" checkout-random $1 "$CASE" &&
	. "$CASE/vars" &&
	git init -q --template= --object-format=$hash -b one "$CASE/template" &&
	cat "$CASE/config" "$TRASH/config" >>"$CASE/template/.git/config" &&
	git -C "$CASE/template" fast-import --quiet <"$CASE/stream" &&

	reference &&
	if grep -e "died of signal" -e "^code: 1[3-9][0-9]$" "$CASE/log.reference"
	then
		say "the reference has crashed" &&
		rm -rf "$CASE" &&
		return 0
	fi &&
	for w in 1 2 3 16
	do
		run_script $w "$OURS" $w false &&
		same_as_reference $w || return 1
	done &&
	rm -rf "$CASE"
}

test_expect_success 'setup' '
	cat >config <<-EOF
	[user]
		name = C O Mitter
		email = committer@example.com
	[gc]
		auto = 0
	[maintenance]
		auto = false
	[advice]
		detachedHead = false
	[filter "turn"]
		clean = tr a-z b-za
		smudge = tr b-za a-z
	[filter "bad"]
		clean = cat
		smudge = false
	[filter "serve"]
		process = "\"$TOOL\" rot13-filter --log=\"$TRASH/filter.log\" clean smudge"
	[filter "late"]
		process = "\"$TOOL\" rot13-filter --always-delay --log=\"$TRASH/filter.log\" clean smudge delay"
	EOF
'

for seed in $(test_seq $first_seed $((first_seed + cases - 1)))
do
	test_expect_success "seed $seed" '
		run_case $seed
	'
done

test_done
