#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='racily clean files and nanoseconds

A file with the mtime of the index, in seconds, is compared by content, unless
nanoseconds prove that it is unchanged, which they do if Git has written it
itself. A clean filter that keeps a record shows which files were compared.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

# The index is looked into.
GIT_TEST_SPLIT_INDEX=false
export GIT_TEST_SPLIT_INDEX

test_lazy_prereq NANOSECONDS '
	>file &&
	touch -d "2020-01-01 00:00:00.123456789" file &&
	test "$(stat -c %y file | cut -d" " -f2)" = 00:00:00.123456789
'

if ! test_have_prereq NANOSECONDS
then
	skip_all='touch, stat or the file system know no nanoseconds'
	test_done
fi

# usage: touch_ns <path> <seconds> <nanoseconds>
touch_ns () {
	touch -d "@$2.$(printf "%09d" "$3")" "$1"
}

# usage: write_file <command>...
#
# Write "file", with the content of HEAD, by the command. Sets $sec and $nsec to
# its time, and leaves some nanoseconds to either end of the second.
write_file () {
	nsec=0 &&
	while test "$nsec" -lt 10 || test "$nsec" -gt 900000000
	do
		rm -f file &&
		"$@" &&
		time=$(stat -c %.9Y file) &&
		sec=${time%.*} &&
		nsec=$(expr "1${time#*.}" - 1000000000) || return 1
	done
}

# "file" has been written by Git, and its stat data are in the index.
fresh () {
	write_file git checkout-index -f -u file
}

write_one () {
	echo one >file
}

# usage: fresh_of_others <git-command>...
#
# The same, but somebody else has written it, and Git takes the stat data.
fresh_of_others () {
	write_file write_one &&
	git "$@"
}

# As if Git had written the file and found the time that it has now. Its entry
# is the first one; behind a header of 12 bytes and the seconds come the
# nanoseconds of the ctime.
own_ctime () {
	time=$(stat -c %.9Z file) &&
	ctime=$(expr "1${time#*.}" - 1000000000) &&
	for shift in 24 16 8 0
	do
		printf "\\$(printf %03o $((($ctime >> $shift) & 255)))" || return 1
	done >bytes &&
	dd if=bytes of=.git/index bs=1 seek=16 conv=notrunc
}

# usage: index_at <nanoseconds after the time of "file">
index_at () {
	touch_ns .git/index $sec $(($nsec + $1))
}

# usage: test_status (clean|M) [read|not-read]
#
# Whether "file" is shown as modified, and whether its content was compared.
test_status () {
	rm -f compared &&
	git --no-optional-locks status --porcelain -uno >status &&
	case "$1" in
	M) echo " M file" >expect ;;
	clean) >expect ;;
	esac &&
	test_cmp expect status &&
	case "$2" in
	read) test_path_is_file compared ;;
	not-read) test_path_is_missing compared ;;
	esac
}

test_expect_success 'setup' '
	write_script clean <<-\EOF &&
	echo "$1" >>compared
	cat
	EOF
	git config filter.record.clean "./clean %f" &&
	echo "file filter=record" >.git/info/attributes &&
	echo one >file &&
	git add file &&
	git commit -m one
'

test_expect_success 'index is newer by nanoseconds: not compared' '
	fresh &&
	index_at 1 &&
	test_status clean not-read
'

# Somebody may be writing it while its stat data are taken.
for command in "add file" "update-index file" "update-index --refresh"
do
	test_expect_success "file that only \"$command\" has seen: compared" '
		fresh_of_others $command &&
		index_at 1 &&
		test_status clean read &&

		# but for who has written it, nanoseconds would prove it
		own_ctime &&
		touch_ns .git/index $sec 999999999 &&
		test_status clean not-read
	'
done

test_expect_success 'index is of the same nanosecond: compared' '
	fresh &&
	index_at 0 &&
	test_status clean read
'

test_expect_success 'index is older by nanoseconds: compared' '
	fresh &&
	index_at -1 &&
	test_status clean read
'

test_expect_success 'index is older by a second: compared' '
	fresh &&
	touch_ns .git/index $(($sec - 1)) $nsec &&
	test_status clean read
'

test_expect_success 'no nanoseconds in the file: compared' '
	fresh &&
	touch_ns file $sec 0 &&
	git update-index --refresh &&
	own_ctime &&
	touch_ns .git/index $sec 999999999 &&
	test_status clean read
'

test_expect_success 'no nanoseconds in the index: compared' '
	fresh &&
	touch_ns .git/index $sec 0 &&
	test_status clean read
'

test_expect_success 'file lost its nanoseconds: compared, and clean' '
	fresh &&
	index_at 1 &&
	touch_ns file $sec 0 &&
	git config core.trustctime false &&
	test_when_finished "git config --unset core.trustctime" &&
	test_status clean read
'

test_expect_success 'mtime before the index, but ctime after it: compared' '
	fresh &&
	touch_ns file $sec 1 &&
	git update-index --refresh &&
	own_ctime &&
	touch_ns .git/index $sec 2 &&
	test_status clean read
'

test_expect_success 'change of the same size in the same second is seen' '
	fresh &&
	index_at 1 &&
	echo two >file &&
	touch_ns file $sec $(($nsec + 5)) &&
	test_status M
'

test_expect_success 'change whose mtime was set back is seen' '
	fresh &&
	index_at 1 &&
	echo two >file &&
	touch_ns file $sec $nsec &&
	git config core.trustctime false &&
	test_when_finished "git config --unset core.trustctime" &&
	test_status M read
'

test_expect_success 'writing the index keeps a change visible' '
	test_config core.trustctime false &&
	fresh &&
	index_at 1 &&
	echo two >file &&
	touch_ns file $sec $(($nsec + 5)) &&
	test_commit other &&
	touch_ns .git/index $(($sec + 9)) 5 &&
	test_status M
'

test_expect_success 'writing the index does not compare what is proved' '
	fresh &&
	index_at 1 &&
	rm -f compared &&
	echo more >other.t &&
	git add other.t &&
	test_path_is_missing compared &&
	git reset -q --hard
'

# With an index from the end of its second, all files of that second are
# compared in seconds, and are older in nanoseconds.
for workers in 1 2
do
	test_expect_success "first status after a checkout, workers=$workers" '
		test_when_finished "rm -rf many" &&
		git init many &&
		(
			cd many &&
			for i in $(test_seq 1 200)
			do
				mkdir d$i && echo $i >d$i/file || return 1
			done &&
			git add . &&
			git commit -q -m many &&
			rm -rf d* .git/index &&
			git -c checkout.workers=$workers checkout -q -f HEAD &&
			second=$(stat -c %y .git/index | cut -d. -f1) &&
			zone=$(stat -c %y .git/index | cut -d" " -f3) &&
			touch -d "$second.999999999 $zone" .git/index &&
			git config filter.record.clean "../clean %f" &&
			echo "* filter=record" >.git/info/attributes &&
			git --no-optional-locks status --porcelain >status &&
			test_grep ! "^ M" status &&
			test_path_is_missing compared &&

			# and the record works
			second=$(stat -c %y d1/file | cut -d. -f1) &&
			touch -d "$second.000000000 $zone" .git/index &&
			git --no-optional-locks status --porcelain &&
			test_path_is_file compared
		)
	'
done

test_done
