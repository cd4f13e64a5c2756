#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='index-pack that is not given the threads that it wants'

. ./test-lib.sh
. "$TEST_DIRECTORY/lib-preload-threads.sh"

# Threads get one object at a time, so that there is work for all of them.
GIT_TEST_PACK_HASHER_BATCH=1
export GIT_TEST_PACK_HASHER_BATCH

# usage: index_pack <pack> <threads> <limit>
#
# Afterwards, the folder "got" has the index, or "failed", and what was said.
index_pack () {
	rm -rf got to &&
	mkdir got &&
	git init -q --bare to &&
	if ! with_threads "$3" git -C to -c pack.threads=$2 index-pack \
		--stdin --strict <$1.pack >got/out 2>got/err
	then
		>got/failed
	fi &&
	find to/objects/pack -name "pack-*" -exec cp {} got ";"
}

test_expect_success 'setup' '
	git init repo &&
	(
		cd repo &&
		for i in $(test_seq 30)
		do
			test_seq $i 200 >long &&
			test_seq 1000 $((1200 + $i)) >other &&
			echo $i >small-$i &&
			git add . &&
			git commit -q -m $i || exit 1
		done
	) &&
	git -C repo rev-list --objects --no-object-names --all >objects &&
	git -C repo pack-objects --stdout --depth=5 <objects >good.pack &&
	# the last delta, in front of the checksums of the stream and the pack
	size=$(test_file_size good.pack) &&
	cp good.pack bad.pack &&
	printf "\\175" |
	dd of=bad.pack bs=1 conv=notrunc seek=$(($size - $(test_oid rawsz) - 1)) &&
	for pack in good bad
	do
		index_pack $pack 1 THREADS_REFUSE=0 &&
		mv got $pack || return 1
	done &&
	test_path_is_missing good/failed &&
	test_path_is_file bad/failed &&
	test_grep inflate bad/err
'

for n in 1 2 3 8
do
	test_expect_success "$n threads: at most so many beside the main one" '
		index_pack good $n THREADS_REFUSE=0 &&
		diff -r good got &&
		read most refused <threads &&
		test "$most" -le $n
	'

	test_expect_success "$n threads: any number of them" '
		for pack in good bad
		do
			for max in $(test_seq 0 $n)
			do
				index_pack $pack $n THREADS_AT_ONCE=$max &&
				diff -r $pack got || return 1
			done || return 1
		done
	'

	test_expect_success "$n threads: one is refused, whichever it is" '
		for pack in good bad
		do
			refused=1 &&
			i=0 &&
			while test $refused = 1
			do
				i=$(($i + 1)) &&
				index_pack $pack $n THREADS_REFUSE=$i &&
				diff -r $pack got &&
				read most refused <threads || return 1
			done || return 1
		done
	'
done

# Sanitizers need more of it than anybody limits.
test_lazy_prereq ULIMIT_ADDRESS_SPACE '
	(ulimit -v 4000000 && test "$(ulimit -v)" = 4000000 && git version)
'

test_expect_success ULIMIT_ADDRESS_SPACE 'threads hash unless the address space is limited' '
	git -C repo pack-objects --stdout --window=0 --no-reuse-delta \
		<objects >whole.pack &&
	index_pack whole 3 THREADS_REFUSE=0 &&
	test_path_is_missing got/failed &&
	test_grep "^[12] 0" threads &&
	(ulimit -v 4000000 && index_pack whole 3 THREADS_REFUSE=0) &&
	test_path_is_missing got/failed &&
	test_grep "^0 0" threads
'

# usage: deltas_kept
#
# Tell how many deltas of good.pack the first pass keeps for the second.
deltas_kept () {
	rm -f trace &&
	GIT_TRACE2_EVENT="$PWD/trace" git -C to index-pack --stdin \
		<good.pack >/dev/null &&
	sed -n "s/.*deltas.kept\",\"value\":\"\([0-9]*\)\".*/\1/p" trace
}

test_expect_success ULIMIT_ADDRESS_SPACE 'deltas are kept, but not then' '
	test 0 -lt $(deltas_kept) &&
	test 0 = $(ulimit -v 4000000 && deltas_kept)
'

test_done
