# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of system calls that fail in rare ways; see helper/preload-faults.c.
# They need the prerequisite PRELOAD_FAULTS, or SECCOMP for calls that are forbidden
# by ./forbid-call; see helper/forbid-call.c.
#
# shellcheck disable=SC2016 # for the shell that runs a prerequisite

# usage: compile_helper <file in t/helper> <output> [<argument of the compiler>...]
compile_helper () {
	helper_source=$TEST_DIRECTORY/helper/$1 helper_output=$2 &&
	shift 2 &&
	"${CC:-cc}" "$@" -o "$helper_output" "$helper_source"
}

# usage: with_faults <fault> <command>...
#
# Leaves a list of the files that were chosen in "faults", at the top of the trash
# directory. (LD_PRELOAD takes no path that has a space in it.)
with_faults () {
	rm -f "$TRASH_DIRECTORY/faults" &&
	(
		FAULTS=$1 FAULTS_LOG=$TRASH_DIRECTORY/faults &&
		LD_LIBRARY_PATH=$TRASH_DIRECTORY:$LD_LIBRARY_PATH &&
		LD_PRELOAD=preload-faults.so &&
		export FAULTS FAULTS_LOG LD_LIBRARY_PATH LD_PRELOAD &&
		shift &&
		"$@"
	)
}

# Sanitizers and static programs have functions of their own.
test_lazy_prereq PRELOAD_FAULTS '
	compile_helper preload-faults.c "$TRASH_DIRECTORY/preload-faults.so" \
		-shared -fPIC -ldl &&
	with_faults none git version &&
	grep loaded "$TRASH_DIRECTORY/faults"
'

# There is a compiler, and a process may restrict itself.
test_lazy_prereq SECCOMP '
	compile_helper forbid-call.c "$TRASH_DIRECTORY/forbid-call" &&
	"$TRASH_DIRECTORY/forbid-call" EPERM openat2 true
'
