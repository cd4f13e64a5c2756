# shellcheck shell=sh disable=SC2154 # set by who sources it
# SPDX-License-Identifier: GPL-2.0-only
#
# What the tests of scripts share: each is a function, and they print TAP. Sourced,
# never run; also in chroots, so it rests on nothing else. Who sources it sets
#
#   tap_out=FILE       where the output of a test goes, which is shown if it fails
#   tap_dir=FOLDER     where a test begins

tap_count=0
tap_failed=0

# check <description> <function> [<argument>...]
check () {
	tap_count=$((tap_count + 1))
	tap_what=$1
	shift
	# not as the condition of an "if": that would switch set -e off
	set +e
	(
		set -e
		cd "$tap_dir"
		"$@"
	) >"$tap_out" 2>&1
	tap_result=$?
	set -e
	if test "$tap_result" = 0
	then
		echo "ok $tap_count - $tap_what"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count - $tap_what"
		tail -n 60 "$tap_out" | sed 's/^/# /'
	fi
}

# skip <description> <reason>
skip () {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# not <command>...: it fails; a "!" would not end a function
not () {
	if "$@"
	then
		echo "did not fail: $*"
		return 1
	fi
}

# two_workers_wrote <trace>: GIT_TRACE2_EVENT of a checkout, with GIT_TRACE2_EVENT_NESTING
# of 10, since the default leaves these out; none was lost, and not the main process
# alone has written the files
two_workers_wrote () {
	for is in '"key":"workers","value":"2"' '"key":"batches","value":"[1-9]' \
		'"key":"lost_workers","value":"0"'
	do
		grep "\"category\":\"pcheckout\",$is" "$1" || {
			echo "not in the trace: $is"
			return 1
		}
	done
}

# The end of the script: its exit code tells whether one has failed.
tap_end () {
	echo "1..$tap_count"
	test "$tap_failed" = 0
}
