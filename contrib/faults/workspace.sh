#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: workspace.sh add|mount|remove|prune
#
# One of the scenarios of "faults", run in a repository: "git workspace" with that
# verb on ../ws. Calls fail in its processes only, not in those that make what it
# needs. Mounts are those of a mount namespace that goes with this command, as if
# the machine were switched off. Prints what "git workspace" has made, so that it can be
# compared, and "problem: ..." for what it must not leave.

if test -z "$FAULTY_PRELOAD"
then
	FAULTY_PRELOAD=${LD_PRELOAD:-none}
	export FAULTY_PRELOAD
	unset LD_PRELOAD
	if test "$(id -u)" = 0
	then
		exec unshare -m sh "$0" "$@"
	fi
	exec unshare -rm sh "$0" "$@"
fi

faulty () {
	if test "$FAULTY_PRELOAD" = none
	then
		git workspace "$@"
	else
		LD_PRELOAD=$FAULTY_PRELOAD git workspace "$@"
	fi
}

# What is left of a run before is used, or removed as the manual says.
present () {
	if test -e ../ws/.git
	then
		git workspace mount ../ws || exit
	else
		git workspace prune &&
		git workspace add -q --detach ../ws two || exit
	fi
}

absent () {
	git workspace prune || exit
	test ! -e ../ws/.git || git workspace remove --force ../ws || exit
}

# It was made, and only what comes after that has failed.
whole () {
	test "$(git -C ../ws rev-parse HEAD)" = "$(git rev-parse two)" &&
	git -C ../ws diff --quiet HEAD
}

shown () {
	(
		cd ../ws || exit
		git rev-parse HEAD
		git status --porcelain
		find . -name .git -prune -o -type f -print | sort | xargs sha1sum
	)
}

listed () {
	{
		git workspace list
		git workspace base list
	} | sed "s,${PWD%/*},TOP,g"
}

# A file system in user space would outlive the namespace.
trap 'umount ../ws 2>/dev/null' EXIT
case $1 in
add)
	absent
	faulty add -q --detach ../ws two || {
		code=$?
		test ! -e ../ws || whole || echo "problem: left: ws"
		exit $code
	}
	shown
	;;
mount)
	present
	echo changed >../ws/a/f1
	umount ../ws
	faulty mount ../ws || exit
	shown
	;;
remove)
	present
	faulty remove ../ws || {
		code=$?
		# It can still be used.
		if test -e ../ws/.git
		then
			git workspace mount ../ws >/dev/null &&
			git -C ../ws diff --quiet HEAD ||
			echo "problem: broken: ws"
		fi
		exit $code
	}
	test ! -e ../ws || echo "problem: left: ws"
	listed
	;;
prune)
	# one that was killed while it was made
	if ! test -e ../bin
	then
		mkdir ../bin
		printf '#!/bin/sh\nkill -9 0\n' >../bin/mount
		chmod +x ../bin/mount
		PATH=$PWD/../bin:$PATH setsid -w \
			git workspace add -q --detach ../ws two
	fi
	faulty prune || exit
	test ! -e ../ws || echo "problem: left: ws"
	listed
	;;
esac
