#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='index-pack with objects inflated whole and hashed in threads

What it writes, and what it says about damage, must depend neither on that nor
on the number of threads. So each pack here is indexed in several ways, with
threads that get one object at a time, and the results are compared with those
of one thread and zlib alone.
'

. ./test-lib.sh

if ! test_have_prereq PTHREADS
then
	skip_all='there are no threads'
	test_done
fi

# Run index-pack in a new repository "to", or in a copy of $from, in one of
# several ways. What comes out of it is put into the folder "got.<way>": all
# files that index-pack left, its output, messages and exit code. $config is
# put before the name of the command.
from=
config=
index_in_way () {
	way=$1 && shift &&
	rm -rf to got.$way &&
	if test -n "$from"
	then
		cp -R "$from" to
	else
		cp -R empty.git to
	fi &&
	mkdir got.$way &&
	(
		GIT_TEST_WHOLE_INFLATE=true &&
		GIT_TEST_PACK_HASHER_BATCH=1 &&
		GIT_TEST_KEPT_DELTAS=25000000 &&
		threads=4 &&
		case $way in
		plain)
			GIT_TEST_WHOLE_INFLATE=false
			GIT_TEST_KEPT_DELTAS=0
			threads=1
			;;
		whole)
			threads=1
			;;
		few)
			GIT_TEST_KEPT_DELTAS=700
			;;
		threads)
			GIT_TEST_WHOLE_INFLATE=false
			;;
		batches)
			GIT_TEST_PACK_HASHER_BATCH=1000000
			;;
		esac &&
		export GIT_TEST_WHOLE_INFLATE GIT_TEST_PACK_HASHER_BATCH &&
		export GIT_TEST_KEPT_DELTAS &&
		git -C to $config -c pack.threads=$threads index-pack "$@" \
			>got.$way/out 2>got.$way/err
		echo $? >got.$way/exit
	) &&
	# names of temporary files are random
	(
		cd to/objects &&
		find . -type f | sed "s/\(tmp_[a-z]*_\).*/\1/" | sort
	) >got.$way/files &&
	mkdir got.$way/pack &&
	find to/objects/pack -name "pack-*" -exec cp {} got.$way/pack ";"
}

# Index the pack given as standard input in all ways (or those in $ways), and
# compare.
ways="whole threads both few batches"
same_index () {
	cat >input &&
	index_in_way plain "$@" <input &&
	for w in $ways
	do
		index_in_way $w "$@" <input &&
		diff -r got.plain got.$w || return 1
	done
}

# The same, and it must work.
good_index () {
	same_index "$@" &&
	echo 0 >expect &&
	test_cmp expect got.plain/exit &&
	ls got.plain/pack >list &&
	grep "\.idx$" list &&
	grep "\.rev$" list
}

set_byte () {
	cat "$1" >"$2" &&
	printf "\\$4" | dd of="$2" bs=1 seek="$3" conv=notrunc 2>/dev/null
}

test_expect_success 'setup' '
	git config --global maintenance.auto false &&
	git init repo &&
	(
		cd repo &&
		test_seq 1 2000 >long &&
		test-tool genrandom seed 100000 >random &&
		# does not fit into the buffer when compressed
		test-tool genrandom big 5000000 >big &&
		test_seq 1 700000 >big-but-shrinks &&
		>empty &&
		mkdir dir &&
		cp long dir/copy &&
		git add . &&
		git commit -m one &&
		git tag -a -m message tag &&
		i=0 &&
		while test $i -lt 60
		do
			i=$(($i + 1)) &&
			test_seq $i $((2000 + $i)) >long &&
			echo $i >small-$i &&
			git add . &&
			git commit -q -m $i || return 1
		done
	) &&
	git -C repo rev-list --objects --no-object-names --all >objects &&
	git init --bare --template= --object-format=$(test_oid algo) empty.git
'

pack () {
	git -C repo pack-objects --stdout "$@"
}

for options in \
	"--window=0" \
	"--depth=50 --delta-base-offset" \
	"--depth=50 --no-reuse-delta" \
	"--depth=5 --window=100 --delta-base-offset --no-reuse-delta" \
	"--compression=0 --no-reuse-object" \
	"--compression=9 --no-reuse-object"
do
	test_expect_success "pack-objects $options" '
		pack $options <objects >x.pack &&
		good_index --stdin <x.pack
	'
done

# The deltas that lead to a base are needed once more then, and kept no more.
test_expect_success 'bases that do not fit into the cache are made again' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	config="-c core.deltaBaseCacheLimit=1" &&
	test_when_finished "config=" &&
	good_index --stdin <x.pack
'

# usage: traced <absolute path of the trace> <function> <its arguments>...
traced () {
	(
		GIT_TRACE2_EVENT=$1 &&
		export GIT_TRACE2_EVENT &&
		shift &&
		"$@"
	)
}

# usage: deltas_kept <way>; the pack is x.pack
deltas_kept () {
	traced "$PWD/event.$1" index_in_way $1 --stdin <x.pack &&
	sed -n "s/.*deltas.kept\",\"value\":\"\([0-9]*\)\".*/\1/p" event.$1
}

test_expect_success 'deltas are kept, as many as there is room for' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	git index-pack -o x.idx x.pack &&
	git verify-pack -v x.idx >verbose &&
	all=$(grep -c " [0-9]* $OID_REGEX\$" verbose) &&
	test 10 -lt $all &&
	test 0 = $(deltas_kept plain) &&
	test $all = $(deltas_kept whole) &&
	test $all = $(deltas_kept both) &&
	few=$(deltas_kept few) &&
	test 0 -lt $few &&
	test $few -lt $all
'

test_expect_success 'options' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	ways=both &&
	for options in --strict --fsck-objects "--keep=why" "--promisor=why" \
		--check-self-contained-and-connected --rev-index \
		"--index-version=1" "--max-input-size=100000000" \
		"--strict --fsck-objects --keep"
	do
		good_index --stdin $options <x.pack || return 1
	done &&
	same_index --stdin --no-rev-index <x.pack &&
	same_index --stdin --max-input-size=200000 <x.pack &&
	test_grep "exceeds maximum allowed size" got.plain/err
'

# How many deltas are resolved when it is looked at depends on the threads, and
# the throughput is hoped to.
test_expect_success 'progress' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	for i in plain whole threads both batches
	do
		index_in_way $i --stdin -v <x.pack &&
		tr "\015" "\012" <got.$i/err |
		sed -e "s/ | [0-9.]* [KM]iB\/s//" \
			-e "/ [0-9]*% /{/done/!d;}" >progress.$i &&
		test_cmp progress.plain progress.$i || return 1
	done &&
	grep "^Receiving objects: 100%.*done" progress.plain &&
	grep "^Resolving deltas: 100%.*done" progress.plain
'

test_expect_success 'index-pack of a file, and verify-pack' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	ways="whole threads both batches" &&
	for i in plain $ways
	do
		index_in_way $i -o "$PWD/$i.idx" "$PWD/x.pack" &&
		test_cmp_bin plain.idx $i.idx &&
		cp x.pack v.pack &&
		cp -f $i.idx v.idx &&
		index_in_way $i --verify-stat "$PWD/v.pack" &&
		diff -r got.plain got.$i || return 1
	done
'

test_expect_success 'a pipe, in pieces' '
	pack --depth=50 --delta-base-offset <objects >x.pack &&
	index_in_way plain --stdin <x.pack &&
	for i in whole threads both batches
	do
		# dd gives pieces that are no multiple of anything
		dd if=x.pack bs=7777 2>/dev/null |
		index_in_way $i --stdin &&
		diff -r got.plain got.$i || return 1
	done
'

test_expect_success 'what follows the pack' '
	pack --depth=50 <objects >x.pack &&
	{ cat x.pack && echo "more of it"; } >y.pack &&
	cat y.pack | index_in_way plain --stdin &&
	cat y.pack | index_in_way both --stdin &&
	diff -r got.plain got.both &&
	test_grep "more of it" got.both/out &&
	same_index --stdin <y.pack &&
	test_grep "pack has junk at the end" got.plain/err
'

test_expect_success 'many small packs' '
	# what users get, and what is hardest; also for what comes below
	ways="both batches" &&
	n=$(wc -l <objects) &&
	i=1 &&
	while test $i -le $n
	do
		test_when_finished "rm -f part" &&
		sed -n -e "$i,$(($i + 8))p" objects >part &&
		pack --delta-base-offset <part >x.pack &&
		good_index --stdin <x.pack || return 1
		i=$(($i + 9))
	done
'

test_expect_success 'a pack without objects' '
	pack </dev/null >x.pack &&
	good_index --stdin <x.pack
'

test_expect_success 'core.bigFileThreshold' '
	pack --depth=50 <objects >x.pack &&
	for size in 1 5k 150k
	do
		config="-c core.bigFileThreshold=$size" &&
		good_index --stdin <x.pack || return 1
	done
'
config=

test_expect_success 'thin packs' '
	test_when_finished "from=" &&
	git init --bare old &&
	git -C repo push ../old HEAD~20:refs/heads/main &&
	printf "%s\n" HEAD ^HEAD~20 |
	git -C repo pack-objects --thin --stdout --revs >x.pack &&
	from=old &&
	same_index --stdin --fix-thin <x.pack &&
	grep ^0 got.plain/exit &&
	same_index --stdin --fix-thin --strict --keep <x.pack &&
	grep ^0 got.plain/exit &&
	# without what it needs
	from= &&
	same_index --stdin --fix-thin <x.pack &&
	test_grep "unresolved delta" got.plain/err
'

test_expect_success 'objects that are there already' '
	test_when_finished "from=" &&
	git init --bare old &&
	pack <objects >x.pack &&
	git -C old index-pack --stdin <x.pack &&
	pack --window=0 <objects >y.pack &&
	from=old &&
	good_index --stdin <y.pack &&
	config="-c core.bigFileThreshold=5k" &&
	good_index --stdin <y.pack
'
config=

# An object that is there has the name of one in the pack, and other content of
# the same type and size: what a collision of the hash looks like.
test_expect_success 'collisions with objects that are there already' '
	test_when_finished "from=" &&
	git init collide &&
	(
		cd collide &&
		test_seq 1001 3000 >one &&
		test_seq 2001 4000 >two &&
		sed "s/2999/3333/" one >similar &&
		echo small >small &&
		git hash-object -w one two similar small
	) >names &&
	{ read one && read two && read similar && read small; } <names &&
	git -C collide pack-objects --stdout --depth=5 <names >x.pack &&
	git index-pack -o x.idx x.pack &&
	git verify-pack -v x.idx >verbose &&
	test_grep "chain length = 1" verbose &&
	loose=$(test_oid_to_path $two) &&
	for oid in $one $similar
	do
		rm -rf old &&
		git init --bare old &&
		mkdir -p old/objects/$(dirname $(test_oid_to_path $oid)) &&
		cp collide/.git/objects/$loose \
			old/objects/$(test_oid_to_path $oid) &&
		from=old &&
		for threshold in 1k 1m
		do
			config="-c core.bigFileThreshold=$threshold" &&
			same_index --stdin <x.pack &&
			echo 128 >expect &&
			test_cmp expect got.plain/exit &&
			test_grep "COLLISION FOUND WITH $oid" got.plain/err &&
			test_must_fail git -C old cat-file -e $small || return 1
		done || return 1
	done
'
config=

test_expect_success 'promisor packs of a partial clone' '
	git -C repo config uploadpack.allowFilter true &&
	# the same pack each time
	git -C repo config pack.threads 1 &&
	for i in plain both
	do
		whole=true threads=2 &&
		if test $i = plain
		then
			whole=false threads=1
		fi &&
		GIT_TEST_WHOLE_INFLATE=$whole GIT_TEST_PACK_HASHER_BATCH=1 \
			git -c pack.threads=$threads clone --bare \
			--filter=blob:none "file://$PWD/repo" partial.$i &&
		(cd partial.$i/objects/pack && ls && cat *.idx *.promisor) \
			>promisor.$i || return 1
	done &&
	grep "\.promisor" promisor.plain &&
	test_cmp_bin promisor.plain promisor.both
'

test_expect_success 'the other hash algorithm' '
	case $(test_oid algo) in
	sha1) other=sha256 ;;
	*) other=sha1 ;;
	esac &&
	git init --bare --object-format=$other other &&
	for i in 1 2 3 100 20000
	do
		test_seq $i | git -C other hash-object -w --stdin || return 1
	done >list &&
	git -C other pack-objects --stdout <list >x.pack &&
	for i in 1 2
	do
		rm -rf to.$i &&
		git init --bare --object-format=$other to.$i &&
		GIT_TEST_PACK_HASHER_BATCH=1 git -C to.$i -c pack.threads=$i \
			index-pack --stdin <x.pack || return 1
	done &&
	GIT_DIR=to.2 git cat-file --batch-check <list &&
	diff -r to.1 to.2
'

# A few objects, among them deltas; small enough to try each byte.
test_expect_success 'setup: a pack to damage' '
	git init tiny &&
	(
		cd tiny &&
		test_seq 1 60 >file &&
		git add file &&
		git commit -m one &&
		test_seq 2 61 >file &&
		git commit -a -m two
	) &&
	git -C tiny rev-list --objects --no-object-names --all >tiny.list &&
	git -C tiny pack-objects --stdout --delta-base-offset --depth=5 \
		<tiny.list >tiny.pack &&
	size=$(test_file_size tiny.pack)
'

# index_in_way() for a repository that has no packs, with less effort.
index_damaged () {
	case $1 in
	plain) whole=false threads=1 ;;
	both) whole=true threads=3 ;;
	esac &&
	rm -f damaged.git/objects/pack/* &&
	{
		GIT_TEST_WHOLE_INFLATE=$whole GIT_TEST_PACK_HASHER_BATCH=1 \
		git -C damaged.git -c pack.threads=$threads \
			index-pack --stdin --fsck-objects <x.pack >raw 2>&1
		echo "exit $?" >>raw
	} &&
	# a sanitizer has something to say about the memory for 4 billion objects
	sed "/^==[0-9]*==/d" raw >out.$1 &&
	for file in damaged.git/objects/pack/*
	do
		echo "${file%_??????}" >>out.$1 || return 1
	done
}

# To damage each byte takes half a minute.
every=7
if test_have_prereq EXPENSIVE
then
	every=1
fi

test_expect_success 'a wrong byte, at many positions' '
	test_when_finished "rm -rf damaged.git" &&
	cp -R empty.git damaged.git &&
	>messages &&
	n=0 &&
	while test $n -lt $size
	do
		set_byte tiny.pack x.pack $n 125 &&
		index_damaged plain &&
		index_damaged both &&
		test_cmp out.plain out.both &&
		cat out.plain >>messages &&
		n=$(($n + $every)) || return 1
	done &&
	grep "inflate: data stream error" messages &&
	grep "pack is corrupted (SHA1 mismatch)" messages &&
	grep "pack/tmp_pack$" messages
'

test_expect_success 'a pack that is cut, at many positions' '
	test_when_finished "rm -rf damaged.git" &&
	cp -R empty.git damaged.git &&
	n=0 &&
	while test $n -lt $size
	do
		test_copy_bytes $n <tiny.pack >x.pack &&
		index_damaged plain &&
		index_damaged both &&
		test_cmp out.plain out.both &&
		test_grep "early EOF" out.plain &&
		n=$(($n + $every)) || return 1
	done
'

# Otherwise a small pack may become large before that is noticed.
test_expect_success 'nothing behind the limit of the size is inflated' '
	git init limit &&
	test-tool genrandom limit 20000 >limit/random &&
	git -C limit hash-object -w random >list &&
	git -C limit pack-objects --stdout <list >x.pack &&
	size=$(test_file_size x.pack) &&
	# the last byte of the checksum of the stream
	set_byte x.pack y.pack $(($size - $(test_oid rawsz) - 1)) 0 &&
	ways="whole threads both" &&
	for threshold in 1k 1m
	do
		test_config_global core.bigFileThreshold $threshold &&
		echo "fatal: pack exceeds maximum allowed size (5.86 KiB)" >expect &&
		same_index --stdin --max-input-size=6000 <y.pack &&
		test_cmp expect got.plain/err &&
		same_index --stdin --max-input-size=$size <y.pack &&
		test_grep "inflate" got.plain/err &&
		same_index --stdin --max-input-size=$size <x.pack &&
		echo 0 >expect &&
		test_cmp expect got.plain/exit || return 1
	done
'

# Without deltas, there is nothing for them to do.
test_expect_success 'more threads than anybody has' '
	for threads in 65 10000000 268435457 2147483647
	do
		rm -rf to &&
		cp -R empty.git to &&
		git -C to index-pack --stdin --threads=$threads <x.pack ||
		return 1
	done
'

test_expect_success 'order of complaints: an object, then the stream' '
	git init bad &&
	(
		cd bad &&
		tree=$(git mktree </dev/null) &&
		printf "tree %s\nauthor\ncommitter\n\nx\n" $tree |
		git hash-object -t commit --literally -w --stdin &&
		test_seq 1 100 | git hash-object -w --stdin
	) >list &&
	git -C bad pack-objects --window=0 --stdout <list >x.pack &&
	size=$(test_file_size x.pack) &&
	# in the stream of the blob, behind the commit
	set_byte x.pack y.pack $(($size - 60)) 125 &&
	set_byte y.pack z.pack $(($size - 50)) 125 &&
	ways="whole threads both" &&
	same_index --stdin <z.pack &&
	test_grep "inflate" got.plain/err &&
	same_index --stdin --fsck-objects <z.pack &&
	test_grep ! "inflate" got.plain/err &&
	test_grep "fsck error in packed object" got.plain/err &&
	same_index --stdin --fsck-objects=missingEmail=warn <z.pack &&
	test_copy_bytes $(($size - 60)) <x.pack >y.pack &&
	same_index --stdin --fsck-objects <y.pack &&
	test_grep ! "early EOF" got.plain/err
'

test_expect_success 'warnings come in the order of the pack' '
	git init warn &&
	(
		cd warn &&
		for i in 1 2 3 4 5 6 7 8
		do
			printf "object %s\ntype blob\ntag t$i\n\nno tagger\n" \
				$(echo $i | git hash-object -w --stdin) |
			git hash-object -t tag --literally -w --stdin || exit 1
		done
	) >list &&
	git -C warn pack-objects --window=0 --stdout <list >x.pack &&
	same_index --stdin --fsck-objects <x.pack &&
	grep missingTaggerEntry got.plain/err >warnings &&
	test_line_count = 8 warnings
'

test_done
