#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='SHA-1 with the instructions of the processor

Digests and the detection of collisions have to be those of sha1dc, with each back
end that this machine has. What the back ends prove is tested in u-sha1-screen.c.
'

. ./test-lib.sh

if ! test-tool sha1-is-sha1dc
then
	skip_all='SHA-1 is not that of sha1dc'
	test_done
fi

shattered="$TEST_DIRECTORY/t0013/shattered-1.pdf"

test_expect_success 'an unknown back end is an error' '
	test_must_fail env GIT_TEST_SHA1=none test-tool sha1-screen name 2>err &&
	test_grep "there is no .none. here" err
'

if test_have_prereq EXPENSIVE
then
	messages=1000000
else
	messages=50000
fi

had=
for backend in sha1dc sse4.1 avx2 neon
do
	GIT_TEST_SHA1=$backend test-tool sha1-screen name >/dev/null 2>&1 ||
	continue
	had="$had $backend"

	test_expect_success "$backend: what is asked for is used" '
		echo $backend >expect &&
		GIT_TEST_SHA1=$backend test-tool sha1-screen name >actual &&
		test_cmp expect actual
	'

	test_expect_success "$backend: messages of all lengths, in random parts" '
		GIT_TEST_SHA1=$backend test-tool sha1-screen random $messages
	'

	test_expect_success PTHREADS "$backend: somebody writes to what is hashed" '
		GIT_TEST_SHA1=$backend test-tool sha1-screen race 3000
	'

	test_expect_success "$backend: no bytes at all" '
		echo da39a3ee5e6b4b0d3255bfef95601890afd80709 >expect &&
		GIT_TEST_SHA1=$backend test-tool sha1-screen hash 1 \
			</dev/null >actual &&
		test_cmp expect actual
	'

	# The blocks that collide are the fourth and the fifth one. With the
	# header of an object in front of them, they would not.
	for size in 1 63 64 65 200 256 257 511 1000 8192 500000
	do
		for skip in 0 3
		do
			test_expect_success "$backend: SHAttered, $size bytes at a time, $skip off" '
				test_must_fail env GIT_TEST_SHA1=$backend \
					test-tool sha1-screen hash $size $skip \
					<"$shattered" 2>err &&
				test_grep "SHA-1 appears to be part of a collision attack: 38762cf7f55934b34d179ae6a4c80cadccbb7f0a" err
			'
		done
	done

	test_expect_success "$backend: the blocks that collide are the last ones" '
		for len in 320 321 375 376 383 384 385
		do
			test_copy_bytes $len <"$shattered" >start &&
			test_must_fail env GIT_TEST_SHA1=$backend \
				test-tool sha1-screen hash 100 <start 2>err &&
			test_grep "collision attack" err || return 1
		done
	'

	test_expect_success "$backend: what comes before them is no attack" '
		for len in 192 250 255
		do
			test_copy_bytes $len <"$shattered" >start &&
			GIT_TEST_SHA1=sha1dc test-tool sha1-screen hash 256 \
				<start >expect &&
			GIT_TEST_SHA1=$backend test-tool sha1-screen hash 256 \
				<start >actual &&
			test_cmp expect actual || return 1
		done
	'

	test_expect_success EXPENSIVE "$backend: more than 4 GB" '
		test-tool genzeros 4400000000 |
		GIT_TEST_SHA1=sha1dc test-tool sha1-screen hash 1000000 >expect &&
		test-tool genzeros 4400000000 |
		GIT_TEST_SHA1=$backend test-tool sha1-screen hash 1000001 >actual &&
		test_cmp expect actual
	'
done

case $had in
' sha1dc') ;;
*) test_set_prereq SHA1_SCREEN ;;
esac

test_expect_success SHA1_SCREEN 'without being asked, a back end is used' '
	for value in "" none
	do
		(
			GIT_TEST_SHA1=$value &&
			if test "$value" = none
			then
				sane_unset GIT_TEST_SHA1
			else
				export GIT_TEST_SHA1
			fi &&
			test-tool sha1-screen name >actual
		) &&
		name=$(cat actual) &&
		test "$name" != sha1dc &&
		case "$had " in
		*" $name "*) ;;
		*) false ;;
		esac || return 1
	done
'

# sha1dc finds out, if it is given the block: each of a group of each size, and
# those at the end of a message.
test_expect_success SHA1_SCREEN 'blocks that are not proven harmless go to sha1dc' '
	for n in 1 2 3 4 5 6 7 8
	do
		i=0 &&
		while test $i -lt $n
		do
			echo $n $i $((64 * $n)) &&
			i=$(($i + 1)) || return 1
		done || return 1
	done >cases &&
	echo "1 0 0" >>cases &&
	echo "2 0 60" >>cases &&
	echo "2 1 60" >>cases &&
	while read n i size
	do
		test_must_fail test-tool sha1-screen lie $n $i $size 2>err &&
		test_grep "sha1dc and .liar. do not agree" err || return 1
	done <cases &&
	test-tool sha1-screen lie 8 0 64
'

test_done
