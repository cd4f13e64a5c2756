#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout where names that differ in case are the same

Unless a number of workers is configured, the command is sequential, so what is
in the working tree in the end, and which paths a clone reports, is as ever. With
a number, which one stays is up to luck, but it stays whole, a clone reports that
there are others, and what does not collide is all there. With GIT_TEST_LONG, each
spelling is late for two workers, too, and there are more tries.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

if ! test_have_prereq SYMLINKS
then
	skip_all='no symbolic links'
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

GIT_PROGRESS_DELAY=1000
export GIT_PROGRESS_DELAY

if test_have_prereq EXPENSIVE
then
	late_workers='2 8'
	tries='1 auto 2 8 2 8'
else
	late_workers=8
	tries='1 auto 2 8'
fi

# usage: clone_and_look <name> <workers> [<option>...]
#
# Leaves <name>.list, <name>.err and <name>.index.
clone_and_look () {
	local name="$1" workers="$2" &&
	shift 2 &&
	clone_with "$name" -c checkout.workers="$workers" \
		-c checkout.thresholdForParallelism=0 "$@"
}

clone_with () {
	local name="$1" &&
	rm -rf "icase/$1" trace &&
	shift &&
	GIT_TRACE2_EVENT="$(pwd)/trace" \
		git "$@" clone repo "icase/$name" 2>"$name.raw" &&
	set -- "$name" &&
	sed -e "s/'$1'/clone/" -e "s/icase.$1/clone/" "$1.raw" >"$1.err" &&
	list "icase/$1" >"$1.list" &&
	git -C "icase/$1" ls-files -s >"$1.index"
}

# usage: is_sequential; was what left the trace sequential, because of the names?
is_sequential () {
	test_grep "\"key\":\"sequential\",\"value\":\"core.ignoreCase is set\"" trace
}

fold () {
	tr "A-Z" "a-z" <"$1" | sort -u
}

# usage: is_sound <name>
#
# Is each file one of the entries, whole? Their contents are their names.
is_sound () {
	fold $1.list |
	sed -e "/\/$/d" -e "s,^\./\(out/\)*,," -e "/^first\.t: /d" \
		-e "s/ -> /: /" >"$1.files" &&
	test_file_not_empty $1.files &&
	sed "s/^\([^:]*\): .*/\1: \1./" $1.files >$1.expect &&
	test_cmp $1.expect $1.files
}

test_expect_success 'setup' '
	slowfs_mount icase --icase &&
	git init repo &&
	test_commit -C repo first
'

# usage: commit_entries <file>: a commit of the entries in the file, on HEAD
commit_entries () {
	git -C repo read-tree HEAD &&
	while read -r mode path
	do
		(cd repo && entries "$mode" "$path") || return 1
	done <"$1" >index-info &&
	git -C repo update-index --index-info <index-info &&
	git -C repo commit -q -m "colliding entries"
}

# usage: test_same_as_sequential <title> [all] <<entries
#
# Compares what the entries become with one worker and with a number that is
# found out. Then with several: the order in which files of a directory are
# created is up to luck, but a worker can be made to come late to a directory:
# each spelling is looked up late in turn. With "all", no two entries are the
# same file.
test_same_as_sequential () {
	all=${2:-some} &&
	cat >"entries for $1" &&
	test_expect_success "$1" '
		test_when_finished "git -C repo reset -q --hard first" &&
		commit_entries "entries for '"$1"'" &&
		slowfs_control icase "fault none" &&
		clone_and_look one 1 &&
		has_'$all' one &&
		for threshold in 0 100
		do
			clone_with many -c checkout.workers=auto \
				-c checkout.thresholdForParallelism=$threshold &&
			is_sequential &&
			test_cmp one.index many.index &&
			test_cmp one.err many.err &&
			test_cmp one.list many.list || return 1
		done &&
		sed -e "s/^[0-9]* //" -e "s,/.*,," "entries for '"$1"'" |
			sort -u >late &&
		while read -r name
		do
			slowfs_control icase "fault none" \
				"fault lookup:delay=5000:%1:many/$name" &&
			for workers in $late_workers
			do
				clone_and_look many $workers &&
				test_cmp one.index many.index &&
				is_sound many &&
				has_'$all' many || return 1
			done
		done <late &&
		slowfs_control icase "fault none" &&

		# where stat data does not tell one file from another
		for workers in 2 8
		do
			clone_and_look many $workers -c core.checkStat=minimal \
				-c core.trustctime=false &&
			is_sound many &&
			has_'$all' many || return 1
		done &&

		# queued, but too few for workers
		clone_with many -c checkout.workers=4 &&
		is_sound many &&
		has_'$all' many
	'
}

# There is no loss, ...
has_all () {
	fold one.list >expect &&
	fold $1.list >actual &&
	test_cmp expect actual &&
	test_grep ! "have collided" $1.err
}

# ... or it is reported.
has_some () {
	test_grep "have collided" $1.err
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

test_same_as_sequential 'directories of the same name, without a collision' all <<\EOF
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

test_same_as_sequential 'three files, then a directory' <<\EOF
100644 FILE
100644 File
100644 fILE
100644 file/x
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

test_same_as_sequential 'many files' <<EOF
$(printf "100644 D/file%s\n" $(test_seq 120))
$(printf "100644 d/File%s\n" $(test_seq 120))
EOF

# usage: in_worktree <name> <workers> <git command>...
#
# Runs it in the working tree icase/<name>. Leaves <name>.code, <name>.err and
# <name>.list.
in_worktree () {
	local name="$1" workers="$2" &&
	shift 2 &&
	{
		rm -f trace &&
		GIT_TRACE2_EVENT="$(pwd)/trace" git -C "icase/$name" \
			-c checkout.workers="$workers" \
			-c checkout.thresholdForParallelism=0 "$@" 2>"$name.err"
		echo $? >"$name.code"
	} &&
	list "icase/$name" >"$name.list"
}

# usage: test_same_in_worktree <title> <prepare> <git command>... <<entries
#
# The same, with a command in a working tree that <prepare> has changed.
test_same_in_worktree () {
	local title="$1" prepare="$2" &&
	shift 2 &&
	args="$*" &&
	cat >"entries for $title" &&
	test_expect_success "$title" '
		test_when_finished "git -C repo reset -q --hard first" &&
		slowfs_control icase "fault none" &&
		commit_entries "entries for '"$title"'" &&
		for workers in $tries
		do
			name=many &&
			if test $workers = 1
			then
				name=one
			fi &&
			clone_with $name -c checkout.workers=1 &&
			( cd icase/$name && '"$prepare"' ) &&
			in_worktree $name $workers '"$args"' &&
			case $workers in
			auto)
				is_sequential &&
				test_cmp one.code $name.code &&
				test_cmp one.err $name.err &&
				test_cmp one.list $name.list
				;;
			*)
				is_sound $name
				;;
			esac || return 1
		done
	'
}

test_same_in_worktree 'checkout of paths, one of which is up to date' : \
	checkout -- . <<\EOF
100644 FILE
100644 File
100644 file
100644 other
EOF

test_same_in_worktree 'checkout of paths after a change' \
	'echo user >file' checkout -- . <<\EOF
100644 FILE
100644 file
EOF

test_same_in_worktree 'checkout-index -f' 'rm -f FILE first.t' checkout-index -a -f <<\EOF
100644 FILE
100644 file
100644 D/FILE
100644 d/file
EOF

test_same_in_worktree 'checkout-index -f -u' 'rm -f FILE first.t' \
	checkout-index -a -f -u <<\EOF
100644 FILE
100644 file
100644 D/FILE
100644 d/file
EOF

test_same_in_worktree 'checkout-index without -f' 'rm -rf *' \
	checkout-index -a <<\EOF
100644 FILE
100644 file
100644 D/FILE
100644 d/file
EOF

test_same_in_worktree 'checkout-index --prefix' : \
	checkout-index -a --prefix=out/ <<\EOF
100644 FILE
100644 file
100644 D/FILE
100644 d/file
EOF

test_same_in_worktree 'checkout-index of paths' 'rm -rf *' \
	checkout-index -f D/a d/FILE D/file <<\EOF
100644 D/a
100644 D/file
100644 d/FILE
EOF

test_same_in_worktree 'entries that workers do not write, among many' \
	'rm -rf * && mkdir -p .git/info &&
	echo "FILE filter=cat" >.git/info/attributes &&
	git config filter.cat.smudge cat' \
	-c advice.all=false -c core.ignoreCase=true read-tree -u --reset HEAD <<EOF
$(printf "100644 0%s\n" $(test_seq 100 250))
100644 FILE
120000 file
EOF

test_same_in_worktree 'a switch onto files that are there' \
	'git rm -q --cached -r . && rm -rf D e && mkdir -p E' \
	checkout -q -f HEAD <<\EOF
100644 D/FILE
100644 D/file
100644 E/x
100644 FILE
100644 e/y
100644 file
EOF

# An attribute file that colliding names share is written before it is asked for.
for workers in 1 2
do
	test_expect_success "attributes in another spelling, checkout.workers=$workers" '
		test_when_finished "slowfs_unmount slow" &&
		rm -rf slow.backing &&
		slowfs_mount slow --icase &&
		git init slow/work &&
		(
			cd slow/work &&
			git config checkout.workers $workers &&
			git config checkout.thresholdForParallelism 0 &&
			attr=$(echo "* text eol=crlf" | git hash-object -w --stdin) &&
			file=$(echo text | git hash-object -w --stdin) &&
			for d in $(test_seq 30)
			do
				echo "100644 $attr	D$d/.gitattributes" &&
				echo "100644 $file	d$d/file" &&
				echo "100644 $file	d$d/sub/file" &&
				echo "100644 $file	x$d/A/sub/file" &&
				echo "100644 $attr	x$d/D/.gitattributes" &&
				echo "100644 $file	x$d/d/file" || return 1
			done | git update-index --index-info &&
			git checkout -- . &&
			git commit -q -m collisions
		) &&
		git -c checkout.workers=$workers \
			-c checkout.thresholdForParallelism=0 \
			clone -q slow/work slow/clone &&
		printf "text\r\n" >expect &&
		for d in $(test_seq 30)
		do
			for dir in work clone
			do
				test_cmp_bin expect slow.backing/$dir/D$d/file &&
				test_cmp_bin expect slow.backing/$dir/D$d/sub/file &&
				test_cmp_bin expect slow.backing/$dir/x$d/D/file ||
				return 1
			done
		done
	'
done

test_done
