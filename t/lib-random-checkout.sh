# SPDX-License-Identifier: GPL-2.0-only
#
# Random cases, for tests that compare ours with a reference. Each is made up from
# a seed by "test-tool checkout-random", is run once with the reference,
# sequentially, and then with settings of ours: 1, 2, 3 and 16 workers, "auto"
# (nothing is set), and "auto0" (as auto, but workers start at once). All that
# "test-tool worktree-state" shows has to be the same; where both die, it need not.
#
# A script calls common_config, for its .gitconfig, and then run_cases. It may
# set case_options, for "test-tool checkout-random", and define prepare_case ().
#
# Variables:
#  - GIT_TEST_RANDOM_SEED is the seed of the first case (default: 1, or a new one
#    in CI),
#  - GIT_TEST_RANDOM_CASES says how many there are, with one seed after another
#    (default: 25),
#  - GIT_TEST_RANDOM_SETTINGS are the settings to try (default: three of them, as
#    the seed says),
#  - GIT_TEST_RANDOM_DROP are numbers of elements to leave out of the case; see
#    "test-tool checkout-random",
#  - GIT_TEST_REFERENCE_GIT is a directory with a git that was built there, which
#    is the reference. Without it, that is our own without the engine of parallel
#    checkout.
#
# To see what a case does, look at the files "setup" and "script" of its test: the
# directory "work" is as it was at the end, for each setting in work.<setting>, and
# what was seen in log.<setting>. They stay if something differs, or with --debug.

unset GIT_TEST_CHECKOUT_WORKERS

# no progress, however long it takes
GIT_PROGRESS_DELAY=100000
export GIT_PROGRESS_DELAY

first_seed=${GIT_TEST_RANDOM_SEED:-1}
cases=${GIT_TEST_RANDOM_CASES:-25}
TRASH=$(pwd)
OURS=$GIT_EXEC_PATH
GIT_TEST_REFERENCE_GIT=${GIT_TEST_REFERENCE_GIT:-$OURS}
TOOL=$GIT_BUILD_DIR/t/helper/test-tool$X
export GIT_TEST_REFERENCE_GIT GIT_BUILD_DIR TOOL
case_options=

# Called when the files of a case are in $CASE, and their variables set.
prepare_case () {
	:
}

# common_config: what each case finds in the user's configuration
common_config () {
	cat >.gitconfig <<-EOF
	[user]
		name = C O Mitter
		email = committer@example.com
	[gc]
		auto = 0
	[maintenance]
		auto = false
	[format]
		signature =
	[advice]
		detachedHead = false
	[protocol "file"]
		allow = always
	[checkout]
		reflink = true
	EOF
}

# environment_of <directory of git> <setting>: for what follows
environment_of () {
	GIT_EXEC_PATH=$1 &&
	PATH=$1:$PATH &&
	GIT_TEST_PARALLEL_CHECKOUT=true &&
	case $2 in
	reference)
		GIT_TEST_CHECKOUT_WORKERS=1 &&
		GIT_TEST_PARALLEL_CHECKOUT=false
		;;
	auto)
		unset GIT_TEST_CHECKOUT_WORKERS
		;;
	auto0)
		GIT_TEST_CHECKOUT_WORKERS=auto
		;;
	*)
		GIT_TEST_CHECKOUT_WORKERS=$2
		;;
	esac &&
	if test -n "$GIT_TEST_CHECKOUT_WORKERS"
	then
		export GIT_TEST_CHECKOUT_WORKERS
	fi &&
	export GIT_EXEC_PATH PATH GIT_TEST_PARALLEL_CHECKOUT
}

# The functions of the files that "test-tool checkout-random" writes. Those of
# the script are called in the working tree.

# hook <name> <shell code>: in the repository that is set up
hook () {
	mkdir -p repo/.git/hooks &&
	printf "#!/bin/sh\n%s\n" "$2" >"repo/.git/hooks/$1" &&
	chmod +x "repo/.git/hooks/$1"
}

change () {
	"$TOOL" worktree-state change "$@" </dev/null
}

# lines <line>...: standard input of the command that is run next
lines () {
	printf "%s\n" "$@" >"$CASE/stdin"
}

# run [<option>...] <directory> <command>...
run () {
	>"$CASE/told" &&
	"$TOOL" worktree-state run "$CASE" "$@" </dev/null &&
	>"$CASE/stdin"
}

# A repository with the branches, and nothing checked out.
make_repository () {
	git init -q --template= --object-format=$hash --ref-format=$refs -b one "$1" &&
	git -C "$1" config fastimport.unpackLimit $unpack &&
	git -C "$1" -c core.protectNTFS=false -c core.protectHFS=false \
		fast-import --quiet <"$CASE/stream"
}

clone_repository () {
	make_repository remote.git &&
	git -C remote.git config uploadpack.allowFilter true &&
	git clone -q --template= --no-checkout "$@" repo &&
	git -C repo branch -q two origin/two &&
	git -C repo branch -q three origin/three
}

# Where a case starts. Paths in it are those that it has later.
make_template () {
	mkdir work work/outdir work/outdir/in &&
	cd work &&
	echo outside >outside &&
	echo one >outdir/f1.t &&
	echo two >outdir/f2 &&
	case $source in
	0)
		make_repository repo
		;;
	1)
		clone_repository --filter=blob:none "file://$PWD/remote.git"
		;;
	2)
		clone_repository --depth=1 --no-single-branch "file://$PWD/remote.git"
		;;
	3)
		clone_repository --shared "$PWD/remote.git"
		;;
	esac &&
	mkdir -p repo/.git/info repo/.git/hooks &&
	. "$CASE/setup" &&
	if test $populate = 1
	then
		for branch in two three one
		do
			git -C repo checkout -f -q --recurse-submodules $branch
			git -C repo submodule update -q --init
			: either may fail
		done >/dev/null 2>&1
	fi &&
	cat "$CASE/config" >>repo/.git/config &&
	cd .. &&
	mv work template
}

remove () {
	test -e "$1" || return 0
	rm -rf "$@" 2>/dev/null ||
	{
		chmod -R u+rwx "$@" &&
		rm -rf "$@"
	}
}

# without_warnings <setting>
without_warnings () {
	case $1 in
	2|3|16)
		sed -e "/^err: error: cannot fork() for checkout--worker: /d" \
			-e "/^err: error: cannot create standard .* pipe for checkout--worker: /d" \
			-e "/^err: warning: could start only [0-9]* of [0-9]* checkout workers; this takes longer$/d"
		;;
	*)
		cat
		;;
	esac
}

# How deep a walk comes with few descriptors depends on how many are open by then,
# and so does whether it comes to its end.
without_depth () {
	sed -e "/^err: warning: could not open directory .*: Too many open files\$/d" \
		-e "/^err: warning: unable to access .*: Too many open files\$/d"
}

# "checkout-index --temp" of the base tells the name of a file that it has removed,
# as the blob could not be read.
without_lost_files () {
	awk '
		function tell(   i, path) {
			for (i = 1; i <= nr; i++) {
				path = substr(line[i], index(line[i], "\t") + 1)
				if (line[i] !~ /^out: \.merge_file_/ || !(path in lost))
					print line[i]
			}
			nr = 0
			delete lost
		}
		/^# / { tell() }
		{ line[++nr] = $0 }
		sub(/^err: error: unable to read sha1 file of /, "") {
			sub(/ \([0-9a-f]*\)$/, "")
			lost[$0]
		}
		END { tell() }
	'
}

# run_script <setting> <directory of git>
run_script () {
	remove "$CASE/work" &&
	remove "$CASE/work.$1" &&
	cp -R "$CASE/template" "$CASE/work" &&
	>"$CASE/stdin" &&
	(
		environment_of "$2" $1 &&
		umask $mask &&
		cd "$CASE/work/repo" &&
		. "$CASE/script"
	) 2>&1 </dev/null | without_warnings $1 | without_depth |
	without_lost_files >"$CASE/log.$1"
	mv "$CASE/work" "$CASE/work.$1"
}

reference () {
	run_script reference "$GIT_TEST_REFERENCE_GIT"
}

# same_logs <name>: those of the reference and of another run
#
# Where both have died, the rest is of no interest. Of "stash apply" that is only
# known by what it did not do, as those who run it do not show what it says.
same_logs () {
	cmp "$CASE/log.reference" "$CASE/log.$1" >/dev/null ||
	awk -v damage="$(grep -c -e corrupt: -e missing: "$CASE/script")" "
		# up to the line with the next command, and that
		function block(file,  text, line) {
			while ((getline line <file) > 0) {
				text = text \"\\n\" line
				if (line ~ /^# /)
					break
			}
			if (text ~ /\\nerr: error: unable to (unlink|create) /)
				gsub(/\\nerr: [^\\n]* not allowed: [^\\n]*/, \"\", text)
			return text
		}
		function died(text) {
			return text ~ /\\n(code: (128|129|1[3-9][0-9])|err: fatal: .*)\\n/ ||
				(damage && text ~ /\\nerr: Your local changes are stashed/)
		}
		BEGIN {
			for (;;) {
				a = block(ARGV[1])
				b = block(ARGV[2])
				if (a != b)
					exit !(died(a) && died(b))
				if (a == \"\")
					exit 0
			}
		}" "$CASE/log.reference" "$CASE/log.$1"
}

# same_as_reference <setting>
#
# What follows from the contents of a file and its attributes may not be what
# is in the index. Such a file is modified if Git looks at it, and that it does
# if the file has the second of the index. So a command that writes both, and
# then looks, may do one or the other where a second ends, which on a busy machine
# is nearly anywhere: more tries.
same_as_reference () {
	for i in 1 2 3 4 5 6 7 8
	do
		same_logs $1 && return 0
		run_script $1 "$OURS" &&
		reference || return 1
	done
	same_logs $1 && return 0
	echo "seed $seed, setting $1: differs, see $CASE" &&
	diff -u "$CASE/log.reference" "$CASE/log.$1"
}

# Has the reference crashed, did it take too long, did it find a defect of its own
# (which depends on the time), or is it one that we have mended: it loses the exit
# code of a filter because SIGCHLD is ignored, or leaves a part of a file that it
# could not write, and does not say why?
is_useless () {
	grep -e "died of signal" -e "^code: 1[34][0-9]$" -e "^code: 124$" \
		-e "^err: error: cache-tree for path .* does not match" \
		-e "^err: error: waitpid for .* failed: No child processes" \
		-e "^err: error: unable to write file " \
		"$CASE/log.reference"
}

# run_case <seed>
run_case () {
	CASE=$TRASH/case.$1 &&
	remove "$CASE" &&
	mkdir -p "$CASE" &&
	"$TOOL" checkout-random $case_options $1 "$CASE" $GIT_TEST_RANDOM_DROP &&
	. "$CASE/vars" &&
	prepare_case &&
	(
		cd "$CASE" &&
		environment_of "$GIT_TEST_REFERENCE_GIT" reference &&
		make_template
	) &&
	reference &&
	if is_useless
	then
		say "the reference is of no use" &&
		remove "$CASE" &&
		return 0
	fi &&
	bad= &&
	for setting in ${GIT_TEST_RANDOM_SETTINGS:-$settings}
	do
		run_script $setting "$OURS" &&
		same_as_reference $setting || bad=$setting
	done &&
	test -z "$bad" &&
	if test -z "$debug"
	then
		remove "$CASE"
	fi
}

# Tests that are the cases.
run_cases () {
	for seed in $(test_seq $first_seed $((first_seed + cases - 1)))
	do
		test_expect_success "seed $seed" '
			run_case $seed
		'
	done
}
