#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout where names that differ in case are the same

What is in the working tree in the end, and which paths a clone reports, does
not depend on the number of workers nor on their luck.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"

if ! test_have_prereq SLOWFS,SYMLINKS
then
	skip_all='skipping tests on slowfs, libfuse missing or mounting forbidden'
	test_done
fi

# usage: entries <mode> <path>...: what update-index takes, each with its name
# in another spelling as its content
entries () {
	local mode="$1" path oid &&
	shift &&
	for path
	do
		oid=$(printf "%s." "$path" | git hash-object -w --stdin) &&
		printf "%s %s\t%s\n" "$mode" "$oid" "$path" || return 1
	done
}

# usage: list <directory>: names, kinds and contents
list () {
	(
		cd "$1" &&
		find . -path ./.git -prune -o -print | sort |
		while read -r path
		do
			if test -h "$path"
			then
				echo "$path -> $(readlink "$path")"
			elif test -f "$path"
			then
				echo "$path: $(cat "$path")"
			else
				echo "$path/"
			fi
		done
	)
}

# usage: clone_and_look <name> <workers>: leaves <name>.list and <name>.err
clone_and_look () {
	rm -rf "icase/$1" &&
	GIT_PROGRESS_DELAY=1000 git -c checkout.workers="$2" -c checkout.thresholdForParallelism=0 \
		clone repo "icase/$1" 2>"$1.raw" &&
	sed -e "s/'$1'/clone/" -e "s/icase.$1/clone/" "$1.raw" >"$1.err" &&
	list "icase/$1" >"$1.list" &&
	git -C "icase/$1" ls-files -s >"$1.index"
}

test_expect_success 'setup' '
	slowfs_mount icase --icase &&
	git init repo &&
	test_commit -C repo first
'

# usage: test_same_as_sequential <title> <<entries
#
# Compares what the entries become with one worker and with several. The order
# in which files of a directory are created is up to luck, but a worker can be
# made to come late to a directory: each spelling is looked up late in turn.
test_same_as_sequential () {
	cat >"entries for $1" &&
	test_expect_success "$1" '
		git -C repo read-tree HEAD &&
		while read -r mode path
		do
			(cd repo && entries "$mode" "$path") || return 1
		done <"entries for '"$1"'" >index-info &&
		git -C repo update-index --index-info <index-info &&
		git -C repo commit -q -m "colliding entries" &&

		slowfs_control icase "fault none" &&
		clone_and_look one 1 &&
		sed -e "s/^[0-9]* //" -e "s,/.*,," "entries for '"$1"'" |
			sort -u >late &&
		while read -r name
		do
			slowfs_control icase "fault none" \
				"fault lookup:delay=5000:%1:many/$name" &&
			for workers in 2 8
			do
				clone_and_look many $workers &&
				test_cmp one.index many.index &&
				test_cmp one.err many.err &&
				test_cmp one.list many.list || return 1
			done
		done <late &&
		git -C repo reset -q --hard HEAD^
	'
}

test_same_as_sequential 'files of the same name' <<\EOF
100644 FILE_X
100644 FILE_x
100644 file_X
100644 file_x
100644 other
EOF

test_same_as_sequential 'files of the same name in directories of the same name' <<\EOF
100644 D/FILE
100644 D/file
100644 D/one
100644 d/FILE
100644 d/file
100644 d/two
EOF

test_same_as_sequential 'directories of the same name, without a collision' <<\EOF
100644 Dir1/FILE
100644 Dir2/sub/FILE
100644 Dir3/FILE
100644 Dir4/Sub/FILE
100644 Dir5/FILE
100644 Dir6/FILE
100644 dir1/x
100644 dir2/Sub/x
100644 dir3/sub/x
100644 dir4/x
100644 dir5/x
100644 dir6/x
EOF

test_same_as_sequential 'a file, then a directory' <<\EOF
100644 A
100644 a/b
100644 a/c
100644 b/A
EOF

test_same_as_sequential 'a directory, then a file' <<\EOF
100644 A/b
100644 A/c/d
100644 a
EOF

test_same_as_sequential 'a link, then a directory' <<\EOF
120000 D
100644 d/x
100644 e/y
EOF

test_same_as_sequential 'a directory, then a link' <<\EOF
100644 D/x
120000 d
100644 e/y
EOF

test_same_as_sequential 'a link and a file' <<\EOF
100644 D/F
120000 D/f
100755 d/F
120000 d/f
EOF

test_same_as_sequential 'more than the main process writes by itself' <<EOF
$(printf "100644 D/file%s\n" $(test_seq 120))
$(printf "100644 d/File%s\n" $(test_seq 120))
EOF

test_done
