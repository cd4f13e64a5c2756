# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of commands that are refused threads; see helper/preload-threads.c.
# Where that cannot be, all tests of the script are skipped.

# usage: with_threads <variable>=<value> <command>...
#
# Run a command with THREADS_AT_ONCE or THREADS_REFUSE. Afterwards, the file
# "threads" has a line for each process: how many threads it had at once, and
# how many it was refused. (LD_PRELOAD takes no path that has a space in it.)
with_threads () {
	threads_variable=$1 &&
	shift &&
	rm -f threads &&
	env "$threads_variable" THREADS_LOG="$PWD/threads" \
		LD_LIBRARY_PATH="$TRASH_DIRECTORY:$LD_LIBRARY_PATH" \
		LD_PRELOAD=preload-threads.so "$@"
}

# Sanitizers and static programs have functions of their own.
test_lazy_prereq PRELOAD_THREADS '
	test_have_prereq PTHREADS &&
	"${CC:-cc}" -shared -fPIC -o "$TRASH_DIRECTORY/preload-threads.so" \
		"$TEST_DIRECTORY/helper/preload-threads.c" -ldl -lpthread &&
	git init repo &&
	echo line >repo/file &&
	git -C repo add file &&
	with_threads THREADS_AT_ONCE=2 git -C repo grep --threads=2 line &&
	echo "2 0" >expect &&
	test_cmp expect threads
'

if ! test_have_prereq PRELOAD_THREADS
then
	skip_all='no library that refuses threads can be built and preloaded'
	test_done
fi
