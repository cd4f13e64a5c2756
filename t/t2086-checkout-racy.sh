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

index_at () {
	touch -d "2020-01-01 00:00:$1" .git/index
}

file_at () {
	touch -d "2020-01-01 00:00:$1" file
}

# The status of "file", and whether its content was compared, as in "M read"
test_status () {
	rm -f compared &&
	git --no-optional-locks status --porcelain -uno >status &&
	{
		if test -s status
		then
			sed -e "s/^ //" -e "s/ file$//" status
		else
			echo clean
		fi &&
		if test -e compared
		then
			echo read
		else
			echo not-read
		fi
	} >actual &&
	echo "$@" | tr " " "\n" >expect &&
	test_cmp expect actual
}

# "file" as in HEAD with the mtime given first, in an index of the second time
fresh () {
	echo one >file &&
	file_at "$1" &&
	git update-index --refresh &&
	index_at "$2"
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
	fresh 01.100000001 01.100000002 &&
	test_status clean not-read
'

test_expect_success 'index is of the same nanosecond: compared' '
	fresh 01.100000001 01.100000001 &&
	test_status clean read
'

test_expect_success 'index is older by nanoseconds: compared' '
	fresh 01.100000001 01.100000000 &&
	test_status clean read
'

test_expect_success 'index is older by a second: compared' '
	fresh 02.100000001 01.100000002 &&
	test_status clean read
'

test_expect_success 'no nanoseconds in the file: compared' '
	fresh 01.000000000 01.100000000 &&
	test_status clean read
'

test_expect_success 'no nanoseconds in the index: compared' '
	fresh 01.100000000 01.000000000 &&
	test_status clean read
'

test_expect_success 'file lost its nanoseconds: compared, and clean' '
	fresh 01.100000001 01.200000000 &&
	file_at 01.000000000 &&
	test_status clean read
'

test_expect_success 'change of the same size in the same second is seen' '
	fresh 01.100000001 01.200000000 &&
	echo two >file &&
	file_at 01.300000000 &&
	test_status M read
'

test_expect_success 'change whose mtime was set back is seen' '
	fresh 01.100000001 01.200000000 &&
	echo two >file &&
	file_at 01.100000001 &&
	test_status M read
'

test_expect_success 'writing the index keeps a change visible' '
	fresh 01.100000001 01.200000000 &&
	echo two >file &&
	file_at 01.300000000 &&
	test_commit other &&
	index_at 09.100000000 &&
	test_status M read
'

test_expect_success 'writing the index does not compare what is proved' '
	fresh 01.100000001 01.200000000 &&
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
			touch -d "$second.000000000 $zone" .git/index &&
			git --no-optional-locks status --porcelain &&
			test_path_is_file compared
		)
	'
done

test_done
