# SPDX-License-Identifier: GPL-2.0-only
# A "git" whose first worker is broken, and something to check out with it.
#
# Sourced by a test script after test-lib.sh.

# usage: setup_broken_worker
#
# Makes fake/git, which is the real one but for the first "checkout--worker"
# after each break_worker. All workers add their process ID to "pids".
setup_broken_worker () {
	mkdir fake &&
	write_script fake/git <<-EOF
	if test "\$1" = checkout--worker
	then
		echo \$\$ >>"$TRASH_DIRECTORY/pids"
		if mkdir "$TRASH_DIRECTORY/broken" 2>/dev/null
		then
			. "$TRASH_DIRECTORY/break"
		fi
	fi
	exec "$GIT_BUILD_DIR/git" "\$@"
	EOF
}

# usage: setup_files
#
# Makes a repository "files" with one commit of 300 files. Its objects stay loose:
# no maintenance packs them, which may begin at 100.
setup_files () {
	git init files &&
	git -C files config maintenance.auto false &&
	(
		cd files &&
		for i in $(test_seq 1 300)
		do
			echo "content $i" >file$i || return 1
		done &&
		git add . &&
		git commit -q -m files
	)
}

# usage: break_worker <shell commands>
#
# The next first worker runs them; what it does not exit in is done well.
break_worker () {
	rm -rf "$TRASH_DIRECTORY/broken" "$TRASH_DIRECTORY/pids" &&
	printf "%s\n" "$1" >"$TRASH_DIRECTORY/break"
}

# usage: faulty_git <git arguments>
faulty_git () {
	GIT_EXEC_PATH="$TRASH_DIRECTORY/fake" "$GIT_BUILD_DIR/git" "$@"
}

# usage: wait_until <command>...: at most some twenty seconds
wait_until () {
	local i=0 &&
	until "$@"
	do
		i=$(($i + 1)) &&
		test $i -lt 400 &&
		sleep 0.05 || return 1
	done
}

# usage: is_gone <pid>...: have they ended, and been waited for?
is_gone () {
	for pid
	do
		! kill -0 $pid 2>/dev/null || return 1
	done
}

# usage: has_ended <pid>...: or are they zombies that somebody else has to reap?
has_ended () {
	for pid
	do
		is_gone $pid ||
		grep -q "^State:.*Z" /proc/$pid/status 2>/dev/null || return 1
	done
}
