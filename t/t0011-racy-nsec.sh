#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='racily clean files and nanoseconds

A file with the mtime of the index, in seconds, is compared by content, unless
nanoseconds prove that it is unchanged. A clean filter that keeps a record shows
which files were compared.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

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

# "file" with the content of HEAD, and its stat data in the index. Sets $sec and
# $nsec to its time, and leaves some nanoseconds to either end of the second.
fresh () {
	nsec=0 &&
	while test "$nsec" -lt 10 || test "$nsec" -gt 900000000
	do
		rm -f file &&
		echo one >file &&
		time=$(stat -c %.9Y file) &&
		sec=${time%.*} &&
		nsec=$(expr "1${time#*.}" - 1000000000) || return 1
	done &&
	git update-index --refresh
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
