#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='slowfs, the file system that other tests measure with

The tests of parallel checkout believe what slowfs counts, and that it fails
where it is told to. Here it has to earn that.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-slowfs.sh"
require_slowfs

# usage: test_counts <directory> <<expected lines of the control file
test_counts () {
	cat >expect &&
	sed -e "s/^/^/" -e "s/ .*/ /" expect >names &&
	grep -f names "$1/.slowfs" >actual &&
	test_cmp expect actual
}

test_expect_success 'shows what is behind it' '
	slowfs_mount mnt &&
	echo one >mnt/one &&
	ln mnt/one mnt/two &&
	ln -s one mnt/three &&
	mkdir mnt/dir &&
	mv mnt/two mnt/dir/two &&
	echo more >>mnt/dir/two &&
	test_write_lines one more >expect &&
	test_cmp expect mnt.backing/one &&
	test_cmp expect mnt/three &&
	test_cmp expect mnt/dir/two &&
	ls mnt >actual &&
	test_write_lines dir one three >expect &&
	test_cmp expect actual &&
	ls -i mnt >actual &&
	ls -i mnt.backing >expect &&
	test_cmp expect actual
'

test_expect_success SYMLINKS,POSIXPERM 'modes and the umask' '
	(
		umask 027 &&
		>mnt/plain &&
		mkdir mnt/private
	) &&
	>mnt/exec &&
	chmod 755 mnt/exec &&
	test_write_lines -rw-r----- -rwxr-xr-x drwxr-x--- >expect &&
	ls -ld mnt/plain mnt/exec mnt/private >out &&
	sed -e "s/^\(..........\).*/\1/" out | sort >actual &&
	test_cmp expect actual
'

test_expect_success 'the control file is hidden and refuses nonsense' '
	ls -A mnt >actual &&
	! grep slowfs actual &&
	test_path_is_missing mnt.backing/.slowfs &&
	for command in bogus "fault create" "fault creat:EIO:1" \
		"fault create:EFOO:1" "fault create:EIO:0" "latency x" \
		"latency write=-1" "one-arm maybe"
	do
		! slowfs_control mnt "$command" || return 1
	done
'

test_expect_success 'each request is counted' '
	slowfs_control mnt reset &&
	mkdir mnt/count &&
	>mnt/count/file &&
	echo x >>mnt/count/file &&
	test_path_is_missing mnt/count/absent &&
	rm mnt/count/file &&
	rmdir mnt/count &&
	test_counts mnt <<-\EOF
	mkdir 1
	unlink 1
	rmdir 1
	create 1
	open 1
	write 1
	EOF
'

test_expect_success 'one look-up for a component, and reset' '
	mkdir mnt/count &&
	slowfs_control mnt reset &&
	test_path_is_missing mnt/count/absent &&
	test_path_is_missing mnt/count/absent &&
	# twice the directory, twice the file, each time -e asks
	echo 4 >expect &&
	slowfs_count mnt lookup >actual &&
	test_cmp expect actual
'

# usage: three_lookups; three at a time, leaves the most that waited in "actual"
three_lookups () {
	slowfs_control mnt reset "latency lookup=2000000" &&
	{ test -e mnt/absent-1 & } &&
	{ test -e mnt/absent-2 & } &&
	test_path_is_missing mnt/absent-3 &&
	wait &&
	slowfs_control mnt "latency 0" &&
	slowfs_count mnt peak >actual
}

test_expect_success 'requests wait side by side' '
	three_lookups &&
	echo 3 >expect &&
	test_cmp expect actual
'

test_expect_success 'requests wait one after the other on a disk with one arm' '
	slowfs_control mnt "one-arm on" &&
	three_lookups &&
	slowfs_control mnt "one-arm off" &&
	echo 1 >expect &&
	test_cmp expect actual
'

test_expect_success 'look-ups and reads of a directory, one at a time if so asked' '
	mkdir -p serial.backing/a serial.backing/b &&
	slowfs_mount serial --serial-lookups --entry-timeout=60 &&
	ls serial/a serial/b &&
	slowfs_control serial reset "latency lookup+readdir=300000" &&
	{ test -e serial/a/1 & } &&
	{ test -e serial/a/2 & } &&
	{ ls serial/a & } &&
	test_path_is_missing serial/a/3 &&
	wait &&
	echo 1 >expect &&
	slowfs_count serial peak >actual &&
	test_cmp expect actual
'

test_expect_success 'look-ups in different directories still go side by side' '
	slowfs_control serial reset "latency lookup=2000000" &&
	{ test -e serial/a/1 & } &&
	test_path_is_missing serial/b/1 &&
	wait &&
	echo 2 >expect &&
	slowfs_count serial peak >actual &&
	test_cmp expect actual
'

# usage: try <name>...; writes what could be written to the file "actual"
try () {
	>actual &&
	for name
	do
		if echo 1234567890 >"mnt/$name"
		then
			echo "$name" >>actual
		fi 2>>errors || return 1
	done
}

test_expect_success 'the Nth request fails, once' '
	slowfs_control mnt reset "fault create:ENOSPC:2" &&
	rm -f errors &&
	try a b c d &&
	slowfs_control mnt "fault none" &&
	test_write_lines a c d >expect &&
	test_cmp expect actual &&
	test_path_is_missing mnt/b &&
	test_counts mnt <<-\EOF
	create 4
	faults 1
	EOF
'

test_expect_success 'the Nth and all that follow fail' '
	rm -f mnt/[a-d] errors &&
	slowfs_control mnt "fault create:EIO:3+" &&
	try a b c d &&
	slowfs_control mnt "fault none" &&
	test_write_lines a b >expect &&
	test_cmp expect actual
'

test_expect_success 'every Nth fails' '
	rm -f mnt/[a-d] errors &&
	slowfs_control mnt "fault create:EIO:%2" &&
	try a b c d &&
	slowfs_control mnt "fault none" &&
	test_write_lines a c >expect &&
	test_cmp expect actual
'

test_expect_success 'only paths that match fail' '
	mkdir mnt/sub &&
	rm -f mnt/[a-d] errors &&
	slowfs_control mnt "fault create:EIO:1+:sub/*" &&
	try a sub/a b sub/b &&
	slowfs_control mnt "fault none" "fault create:EIO:1+:*.c" &&
	test_write_lines a b >expect &&
	test_cmp expect actual &&
	try c sub/c.c d.c sub/d &&
	slowfs_control mnt "fault none" &&
	test_write_lines c sub/d >expect &&
	test_cmp expect actual
'

test_expect_success 'errors at write, close, mkdir and unlink' '
	rm -rf mnt/[a-d] mnt/sub errors &&
	slowfs_control mnt "fault write:EDQUOT:1" &&
	try a b &&
	test_write_lines b >expect &&
	test_cmp expect actual &&
	slowfs_control mnt "fault none" "fault mkdir+unlink:EROFS:1+" &&
	! mkdir mnt/sub &&
	! rm mnt/b &&
	test_path_is_file mnt/b &&
	slowfs_control mnt "fault none" "fault flush:EIO:1+" &&
	! cp mnt/b mnt/c &&
	slowfs_control mnt "fault none"
'

test_expect_success 'a short write is finished by who cares' '
	rm -f mnt/[a-d] &&
	slowfs_control mnt reset "fault write:short=3:1" &&
	test-tool genrandom seed 100 >random &&
	cat random >mnt/a &&
	slowfs_control mnt "fault none" &&
	test_cmp_bin random mnt.backing/a &&
	test_counts mnt <<-\EOF
	write 2
	faults 1
	EOF
'

test_expect_success 'names that differ in case are the same' '
	slowfs_mount ci --icase &&
	>ci/a &&
	test -f ci/A &&
	! ln -s target ci/A &&
	! mkdir ci/A &&
	(
		set -C &&
		! >ci/A
	) &&
	mkdir ci/Dir &&
	>ci/dIR/File &&
	ls ci ci/DIR >actual &&
	cat >expect <<-\EOF &&
	ci:
	Dir
	a

	ci/DIR:
	File
	EOF
	test_cmp expect actual &&
	rm ci/DIR/FILE &&
	rmdir ci/dir &&
	test_path_is_missing ci/Dir &&
	>ci/b &&
	mv ci/B ci/A &&
	echo a >expect &&
	ls ci.backing >actual &&
	test_cmp expect actual
'

test_expect_success 'a checkout on it' '
	test_commit_bulk --filename="d%s/file" --contents="content %s" 20 &&
	git worktree add --no-checkout mnt/worktree &&
	slowfs_control mnt reset &&
	git -C mnt/worktree checkout -f &&
	git -C mnt/worktree status --porcelain >actual &&
	test_must_be_empty actual &&
	slowfs_count mnt create >count &&
	test 20 -le "$(cat count)"
'

test_expect_success 'unmounts' '
	slowfs_unmount mnt &&
	test_dir_is_empty mnt &&
	test_path_is_file mnt.backing/one
'

test_done
