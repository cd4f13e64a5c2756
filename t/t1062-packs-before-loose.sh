#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='packs of all sources are asked before loose objects of any'

. ./test-lib.sh

test_lazy_prereq STRACE '
	strace -f -o out git version && grep execve out
'

test_expect_success 'setup' '
	git init origin &&
	(
		cd origin &&
		for i in $(test_seq 100)
		do
			test_seq $i $((i + 20)) >f$i || return 1
		done &&
		git add . &&
		git commit -m one &&
		git tag one &&
		for i in $(test_seq 100)
		do
			echo two >>f$i || return 1
		done &&
		git commit -a -m two &&
		git repack -a -d
	) &&
	git clone --shared --no-checkout origin shared
'

# A copy that cannot be read, where the base would look before it asks the
# pack of the alternate.
test_expect_success 'a packed object is read without a look at loose ones' '
	blob=$(git -C origin rev-parse HEAD:f7) &&
	loose=shared/.git/objects/$(test_oid_to_path $blob) &&
	test_when_finished "rm -rf $(dirname $loose)" &&
	mkdir -p "$(dirname $loose)" &&
	echo garbage >$loose &&
	git -C shared cat-file blob $blob >actual 2>err &&
	test_cmp origin/f7 actual &&
	test_must_be_empty err &&
	git -C shared checkout -q HEAD -- f7 2>err &&
	test_cmp origin/f7 shared/f7 &&
	test_must_be_empty err
'

test_expect_success 'loose objects of an alternate, and of the repository, are found' '
	theirs=$(echo theirs | git -C origin hash-object -w --stdin) &&
	ours=$(echo ours | git -C shared hash-object -w --stdin) &&
	echo theirs >expect &&
	git -C shared cat-file blob $theirs >actual &&
	test_cmp expect actual &&
	echo ours >expect &&
	git -C shared cat-file blob $ours >actual &&
	test_cmp expect actual &&
	test_must_fail git -C shared cat-file -e $(test_oid deadbeef)
'

test_expect_success 'a corrupt copy in a pack, a good one elsewhere' '
	test_when_finished "rm -rf bad good borrower" &&
	git clone -q --bare --no-hardlinks origin bad &&
	git clone -q --shared --no-checkout bad borrower &&
	blob=$(git -C origin rev-parse HEAD:f9) &&
	git init -q good &&
	git -C good hash-object -w --stdin <origin/f9 &&
	loose=$(test_oid_to_path $blob) &&
	mkdir -p borrower/.git/objects/$(dirname $loose) &&
	cp good/.git/objects/$loose borrower/.git/objects/$loose &&
	pack=$(ls bad/objects/pack/*.pack) &&
	chmod u+w $pack &&
	git show-index --object-format=$(test_oid algo) \
		<"${pack%.pack}.idx" >index &&
	offset=$(sed -n "s/^\([0-9]*\) $blob.*/\1/p" index) &&
	printf "\377\377\377\377" |
	dd of="$pack" bs=1 seek=$((offset + 3)) conv=notrunc &&
	git -C borrower cat-file blob $blob >actual &&
	test_cmp origin/f9 actual &&
	git -C borrower -c core.bigFileThreshold=1 cat-file blob $blob >actual &&
	test_cmp origin/f9 actual
'

test_expect_success PIPE 'an object that is packed meanwhile is found' '
	test_when_finished "rm -rf moved borrower" &&
	git init moved &&
	echo one | git -C moved hash-object -w --stdin >one &&
	echo two | git -C moved hash-object -w --stdin >two &&
	git clone -q --shared --no-checkout moved borrower &&
	mkfifo in out &&
	{
		git -C borrower cat-file --batch-check <in >out &
	} &&
	exec 8>in 9<out &&
	cat one >&8 &&
	read -r line <&9 &&
	echo "$(cat one) blob 4" >expect &&
	echo "$line" >actual &&
	test_cmp expect actual &&
	git -C moved pack-objects .git/objects/pack/pack <two &&
	git -C moved prune-packed &&
	cat two >&8 &&
	read -r line <&9 &&
	exec 8>&- 9<&- &&
	echo "$(cat two) blob 4" >expect &&
	echo "$line" >actual &&
	test_cmp expect actual
'

for workers in 1 2
do
	test_expect_success STRACE,!SANITIZE_LEAK "$workers workers: few looks for loose objects" '
		rm -rf shared/.git/index shared/f* traces &&
		mkdir traces &&
		strace -ff -o traces/t git -C shared -c checkout.workers=$workers \
			-c checkout.thresholdForParallelism=0 checkout -q -f HEAD &&
		{
			cat traces/* |
			grep "objects/[0-9a-f][0-9a-f]/" >looks || :
		} &&
		test_line_count -lt 5 looks
	'
done

test_done
