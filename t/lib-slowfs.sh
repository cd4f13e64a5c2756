# SPDX-License-Identifier: GPL-2.0-only
# Mounts slowfs, the file system in contrib/slowfs: slow,
# countable, breakable, and ignoring case where asked to. "slowfs --help" lists
# its options and the commands of its control file.
#
# Sourced by a test script after test-lib.sh. Tests that use it bear the
# prerequisite SLOWFS, which is met where libfuse and its headers are installed
# and this user may mount; a script that is nothing without it calls
# require_slowfs. Nothing here may be called in a subshell.

SLOWFS_SOURCE="$GIT_BUILD_DIR/contrib/slowfs"
SLOWFS="$SLOWFS_SOURCE/slowfs"

# Mounts are recognized by the control file, which is not in the backing.
test_lazy_prereq SLOWFS '
	test -c /dev/fuse &&
	"${MAKE:-make}" -C "$SLOWFS_SOURCE" all &&
	mkdir backing mountpoint &&
	"$SLOWFS" --owner=$$ backing mountpoint &&
	test -f mountpoint/.slowfs &&
	slowfs_unmount mountpoint
'

# usage: require_slowfs
#
# Ends the script, as one that is skipped, where slowfs cannot be mounted.
require_slowfs () {
	test_have_prereq SLOWFS && return
	if ! test -c /dev/fuse
	then
		skip_all="no slowfs: there is no /dev/fuse"
	elif ! test -r /dev/fuse || ! test -w /dev/fuse
	then
		skip_all="no slowfs: this user may not open /dev/fuse"
	elif ! test -x "$SLOWFS"
	then
		skip_all="no slowfs: it does not compile without libfuse and its headers"
	else
		skip_all="no slowfs: it cannot be mounted"
	fi
	test_done
}

# usage: slowfs_mount <directory> [<slowfs option>...]
#
# Shows <directory>.backing at <directory>; both are made where they are
# missing. Ends with the script, however that ends.
slowfs_mount () {
	local dir &&
	mkdir -p "$1" "$1.backing" &&
	dir="$(cd "$1" && pwd)" &&
	shift &&
	"$SLOWFS" --owner=$$ "$@" "$dir.backing" "$dir" &&
	test_atexit "slowfs_unmount \"$dir\""
}

# usage: slowfs_unmount <directory>
#
# Does nothing if it is not mounted (any more), and does not mind processes
# that still work there, nor slowfs having died.
slowfs_unmount () {
	{
		umount -l "$1" ||
		fusermount3 -u -z "$1" ||
		! test -e "$1/.slowfs"
	} 2>/dev/null
}

# usage: slowfs_control <directory> <command>...
#
# Each argument is one command: "reset", "latency <spec>", "fault <spec>",
# "fault none", "one-arm on|off".
slowfs_control () {
	local dir="$1" &&
	shift &&
	printf "%s\n" "$@" >"$dir/.slowfs"
}

# usage: slowfs_count <directory> <counter>
#
# Prints how often an operation (or "total", "faults", "peak") was counted
# since the mount or the last reset.
slowfs_count () {
	sed -n "s/^$2 //p" "$1/.slowfs"
}
