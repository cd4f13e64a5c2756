#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='objects inflated whole by libdeflate, or stepwise by zlib

What is read, and what is said about damage, must not depend on it. So most
tests here do the same thing twice, the second time without libdeflate, and
compare. Built without USE_LIBDEFLATE, that is true of itself; then these are
tests of zlib alone.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

# To damage each byte takes half a minute, and under valgrind half a day.
if test -n "$GIT_VALGRIND"
then
	every=13
elif test_have_prereq EXPENSIVE
then
	every=1
else
	every=7
fi

test_lazy_prereq LIBDEFLATE 'test -n "$USE_LIBDEFLATE"'

# Run a command as it is and without libdeflate. Its output, left in out, must
# be the same, and so must its messages, left in err with a last line that
# gives the exit code.
same_either_way () {
	{ "$@" >out 2>err; echo "exit $?" >>err; } &&
	{
		GIT_TEST_WHOLE_INFLATE=false "$@" >out.zlib 2>err.zlib
		echo "exit $?" >>err.zlib
	} &&
	test_cmp_bin out.zlib out &&
	test_cmp err.zlib err
}

# Run a command; say which inflations were tried ("<size> done" or
# "<size> refused") in the file tried.
try () {
	rm -f trace &&
	GIT_TRACE_WHOLE_INFLATE="$PWD/trace" "$@" >/dev/null &&
	if test -f trace
	then
		sed -e "s/^.* \([0-9]* [a-z]*\)$/\1/" trace
	fi >tried
}

# Make a copy of a file where the byte at an offset (from 0) is a given octal
# number.
set_byte () {
	cat "$1" >"$2" &&
	printf "\\$4" | dd of="$2" bs=1 seek="$3" conv=notrunc 2>/dev/null
}

loose_path () {
	echo "$1/objects/$(test_oid_to_path "$2")"
}

# Look at a damaged loose object, the only one in the repository "damaged". Of
# one whose header cannot be parsed, the base uses the size that it does not
# have, so what happens next is anything but the same each time.
same_damage () {
	same_either_way git -C damaged fsck --full &&
	cat err >>messages &&
	if ! grep "unable to parse header" err
	then
		same_either_way git -C damaged cat-file blob $1 &&
		# this one does not stream
		same_either_way git -C damaged grep -e 1 $1
	fi
}

test_expect_success 'setup' '
	git init repo &&
	(
		cd repo &&
		>empty &&
		echo hello >small &&
		test_seq 1 20000 >medium &&
		# compressed larger than the smallest window of a pack
		test-tool genrandom seed 100000 >random &&
		mkdir dir &&
		cp small dir/copy &&
		git add . &&
		git commit -m one &&
		# deltas
		test_seq 2 20001 >medium &&
		echo world >>random &&
		git commit -a -m two &&
		git tag -a -m message tag
	) &&
	git clone --bare --no-local repo packed &&
	git -C packed repack -adf &&
	git init --bare loose &&
	git -C loose unpack-objects <"$(echo packed/objects/pack/*.pack)" &&
	git -C repo rev-parse HEAD >head &&
	git -C loose update-ref HEAD "$(cat head)" &&
	git -C packed rev-list --objects --no-object-names --all >objects
'

test_expect_success LIBDEFLATE 'packed objects and deltas are inflated whole' '
	try git -C packed cat-file --batch <objects &&
	grep done tried >done &&
	test_line_count -ge $(wc -l <objects) done &&
	! grep refused tried
'

test_expect_success LIBDEFLATE 'loose objects are inflated whole' '
	try git -C loose archive HEAD &&
	# with their headers
	grep "^13 done" tried &&
	grep "^100018 done" tried &&
	! grep refused tried
'

test_expect_success 'nothing is inflated whole where that is turned off' '
	(
		GIT_TEST_WHOLE_INFLATE=false &&
		export GIT_TEST_WHOLE_INFLATE &&
		try git -C packed cat-file --batch <objects &&
		test_must_be_empty tried &&
		try git -C loose archive HEAD &&
		test_must_be_empty tried
	)
'

for repo in packed loose
do
	test_expect_success "what is read from $repo objects" '
		same_either_way git -C $repo cat-file --batch-all-objects \
			--batch --unordered &&
		same_either_way git -C $repo log -p --raw HEAD &&
		same_either_way git -C $repo archive HEAD &&
		same_either_way git -C $repo grep --threads=4 9 HEAD &&
		same_either_way git -C $repo fsck --full --strict &&
		test_grep "^exit 0" err
	'

	test_expect_success "checkout from $repo objects" '
		test_when_finished "rm -rf tree" &&
		mkdir tree &&
		git -C $repo --work-tree="$PWD/tree" checkout -f HEAD -- . &&
		diff -r -x .git repo tree
	'
done

test_expect_success 'a stream that leaves the window of the pack' '
	# rounded up to two pages
	same_either_way git -C packed -c core.packedGitWindowSize=1 \
		cat-file --batch-all-objects --batch --unordered &&
	git -C packed cat-file --batch-all-objects --batch --unordered >expect &&
	test_cmp_bin expect out
'

test_expect_success LIBDEFLATE 'such a stream is left to zlib, others are not' '
	try git -C packed -c core.packedGitWindowSize=1 \
		cat-file --batch <objects &&
	grep "^1000[0-9]* refused" tried &&
	grep done tried
'

test_expect_success 'objects above core.bigFileThreshold' '
	for repo in packed loose
	do
		for size in 1 5 5000
		do
			same_either_way git -C $repo \
				-c core.bigFileThreshold=$size archive HEAD &&
			same_either_way git -C $repo \
				-c core.bigFileThreshold=$size grep 0 HEAD &&
			same_either_way git -C $repo \
				-c core.bigFileThreshold=$size fsck --full &&
			test_grep "^exit 0" err || return 1
		done || return 1
	done
'

test_expect_success 'setup: packs to damage' '
	git init tiny &&
	(
		cd tiny &&
		test_seq 1 60 >file &&
		git add file &&
		git commit -m one &&
		test_seq 2 61 >file &&
		git commit -a -m two
	) &&
	git clone --bare --no-local tiny tiny.git &&
	git -C tiny.git repack -adf --depth=5 &&
	git verify-pack -v tiny.git/objects/pack/*.idx >verbose &&
	grep "chain length = 1" verbose &&
	pack=$(echo tiny.git/objects/pack/*.pack) &&
	mv "$pack" tiny.pack
'

test_expect_success 'a pack with a wrong byte, at many positions' '
	pack=$(echo tiny.git/objects/pack/*.idx) &&
	pack=${pack%.idx}.pack &&
	test_when_finished "rm -f \"$pack\"" &&
	size=$(test_file_size tiny.pack) &&
	i=0 &&
	>messages &&
	while test $i -lt $size
	do
		set_byte tiny.pack "$pack" $i 125 &&
		same_either_way git -C tiny.git fsck --full &&
		cat err >>messages &&
		if test $(($i % 5)) = 0
		then
			same_either_way git -C tiny.git log -p
		fi &&
		i=$(($i + $every)) || return 1
	done &&
	# Some bytes may be the same as before, but not many, and zlib had
	# something to say about others.
	grep "^exit [1-9]" messages >bad &&
	test_line_count -gt $((($size - 10) / $every)) bad &&
	grep "inflate: data stream error" messages
'

test_expect_success 'a pack that is too short' '
	pack=$(echo tiny.git/objects/pack/*.idx) &&
	pack=${pack%.idx}.pack &&
	test_when_finished "rm -f \"$pack\"" &&
	i=$(test_file_size tiny.pack) &&
	while i=$(($i - 7 * $every)) && test $i -ge 0
	do
		test_copy_bytes $i <tiny.pack >"$pack" &&
		same_either_way git -C tiny.git log -p &&
		same_either_way git -C tiny.git fsck --full || return 1
	done
'

test_expect_success 'unpack-objects says the same about damage' '
	git init --bare empty.git &&
	size=$(test_file_size tiny.pack) &&
	n=0 &&
	while test $n -lt $size
	do
		set_byte tiny.pack x.pack $n 125 &&
		test_copy_bytes $n <tiny.pack >y.pack &&
		for pack in x y
		do
			for whole in false true
			do
				rm -rf to &&
				cp -R empty.git to &&
				{
					GIT_TEST_WHOLE_INFLATE=$whole \
					git -C to unpack-objects \
						<$pack.pack >out.$whole 2>&1
					echo $? >>out.$whole
				} &&
				(cd to && find objects -type f | sort) \
					>>out.$whole || return 1
			done &&
			test_cmp out.false out.true || return 1
		done &&
		n=$(($n + 5 * $every)) || return 1
	done
'

# Otherwise a small pack may become large before that is noticed.
test_expect_success 'unpack-objects inflates nothing behind the limit' '
	git init limit &&
	test-tool genrandom limit 20000 >limit/random &&
	git -C limit hash-object -w random >list &&
	git -C limit pack-objects --stdout <list >x.pack &&
	size=$(test_file_size x.pack) &&
	# the last byte of the checksum of the stream
	set_byte x.pack y.pack $(($size - $(test_oid rawsz) - 1)) 0 &&
	echo "fatal: pack exceeds maximum allowed size" >expect &&
	for threshold in 1k 1m
	do
		test_config_global core.bigFileThreshold $threshold &&
		for whole in false true
		do
			rm -rf to &&
			cp -R empty.git to &&
			test_expect_code 128 env GIT_TEST_WHOLE_INFLATE=$whole \
				git -C to unpack-objects -q \
				--max-input-size=6000 <y.pack 2>actual &&
			test_cmp expect actual &&
			git -C to unpack-objects -q --max-input-size=$size \
				<x.pack || return 1
		done || return 1
	done
'

# A pack entry does not end where the mapping of its pack does: an object of a
# size other than announced must be found out by its own stream.
test_expect_success 'a pack entry of another size than its header says' '
	git init --bare size.git &&
	blob=$(echo hello | git -C size.git hash-object -w --stdin) &&
	name=$(echo $blob | git -C size.git pack-objects -q objects/pack/pack) &&
	git -C size.git prune-packed &&
	pack=size.git/objects/pack/pack-$name.pack &&
	mv $pack size.pack &&
	test_when_finished "rm -f $pack" &&
	# the byte after the header of the pack: type 3 and size 6 in one
	set_byte size.pack $pack 12 066 &&
	test_cmp_bin size.pack $pack &&
	same_either_way git -C size.git cat-file blob $blob &&
	echo hello >expect &&
	test_cmp expect out &&
	for byte in 065 067
	do
		set_byte size.pack $pack 12 $byte &&
		same_either_way git -C size.git cat-file blob $blob &&
		test_grep ! "^exit 0" err || return 1
	done
'

test_expect_success 'a small loose object with a wrong byte, at many positions' '
	git init --bare damaged &&
	oid=$(test_seq 1 30 | git -C damaged hash-object -w --stdin) &&
	file=$(loose_path damaged $oid) &&
	mv $file good &&
	test_when_finished "rm -f $file" &&
	size=$(test_file_size good) &&
	i=0 &&
	>messages &&
	while test $i -lt $size
	do
		set_byte good $file $i 125 &&
		same_damage $oid &&
		i=$(($i + $every)) || return 1
	done &&
	grep "^exit [1-9]" messages >bad &&
	test_line_count -gt $((($size - 10) / $every)) bad &&
	grep "corrupt loose object" messages &&
	grep "inflate: data stream error" messages
'

test_expect_success 'loose objects that are cut, or have something at the end' '
	for lines in 0 30 10000
	do
		oid=$(test_seq 1 $lines |
		      git -C damaged hash-object -w --stdin) &&
		file=$(loose_path damaged $oid) &&
		mv -f $file good &&
		size=$(test_file_size good) &&
		for n in 1 2 4 5 8 $(($size / 2)) $(($size - 4)) $(($size - 1))
		do
			rm -f $file &&
			test_copy_bytes $n <good >$file &&
			same_damage $oid || return 1
		done &&
		cat good >$file &&
		printf "x" >>$file &&
		same_damage $oid &&
		same_either_way git -C damaged fsck --full &&
		echo "error: garbage at end of loose object ${SQ}$oid${SQ}" \
			>expect &&
		grep "garbage at end" err >actual &&
		test_cmp expect actual &&
		rm -f $file || return 1
	done
'

# "blob <size>", NUL and "hello", at level 0 of zlib.
test_expect_success 'loose objects whose header does not fit the content' '
	oid=$(echo header | git hash-object --stdin) &&
	file=$(loose_path damaged $oid) &&
	test_when_finished "rm -f $file" &&
	mkdir -p "$(dirname $file)" &&
	while read -r stream
	do
		rm -f $file &&
		printf "$stream" >$file &&
		same_damage $oid || return 1
	done <<-\EOF &&
	\170\001\001\014\000\363\377blob 4\000hello\031\243\004\010
	\170\001\001\015\000\362\377blob 05\000hello\034\352\004\071
	\170\001\001\014\000\363\377blob 6\000hello\031\261\004\012
	EOF
	rm $file &&
	printf "\170\001\001\014\000\363\377blob 5\000hello\031\252\004\011" \
		>$file &&
	same_damage $oid &&
	same_either_way git -C damaged cat-file blob $oid &&
	printf hello >expect &&
	test_cmp expect out
'

# Write a loose object: a header and what follows it, at level 0 of zlib.
write_loose () {
	perl -e '
		local $/;
		my $all = "$ARGV[0]\0" . <STDIN>;
		my ($a, $b) = (1, 0);
		for (unpack "C*", $all) {
			$a = ($a + $_) % 65521;
			$b = ($b + $a) % 65521;
		}
		print pack("C2 C v v", 0x78, 1, 1, length $all,
			   length($all) ^ 0xffff), $all, pack("n2", $b, $a);
	' "$1"
}

# What is not there must not be made up.
test_expect_success PERL 'a loose commit that is shorter than its header says' '
	oid=$(echo short | git hash-object --stdin) &&
	file=$(loose_path damaged $oid) &&
	test_when_finished "rm -f $file" &&
	mkdir -p "$(dirname $file)" &&
	who="A U Thor <a@example.com> 1112911993 +0000" &&
	{
		printf "tree %s\nauthor %s\ncommitter %s\n\n" \
			$(git -C damaged mktree </dev/null) "$who" "$who" &&
		printf "m%.0s" $(test_seq 400)
	} >long &&
	test_copy_bytes 390 <long | write_loose "commit 400" >$file &&
	test_must_fail git -C damaged show -s --format=%s $oid 2>err &&
	test_grep "corrupt loose object .$oid" err
'

# Who streams a blob takes what is there; who reads it in core finds out. Either
# is fine for a checkout, as long as nothing else gets into the file.
for size in 1 28892 28894 100000
do
	test_expect_success PERL "check out a blob of 28893 bytes that announces $size" '
		rm -rf size && git init size &&
		test_seq 1 6000 >content &&
		oid=$(git -C size hash-object -w --stdin <content) &&
		git -C size update-index --add --cacheinfo 100644,$oid,file &&
		file=$(loose_path size/.git $oid) &&
		rm -f $file &&
		write_loose "blob $size" <content >$file &&
		for attr in "-text" "text eol=lf" "filter=cat"
		do
			echo "file $attr" >size/.git/info/attributes &&
			for setting in checkout.workers=1 checkout.workers=2 \
				core.bigFileThreshold=1
			do
				rm -f size/file &&
				if MALLOC_PERTURB_=165 git -C size -c $setting \
					-c checkout.thresholdForParallelism=0 \
					-c filter.cat.smudge=cat \
					checkout-index file
				then
					test_cmp content size/file || return 1
				else
					test_path_is_missing size/file || return 1
				fi
			done || return 1
		done
	'
done

# Git before 2.50 tells of such objects what there is to tell.
test_expect_success PERL 'a loose object with an unknown and long type' '
	type=$(printf "%040d" 7) &&
	echo hello >content &&
	oid=$({ printf "$type 6\0" && cat content; } |
	      test-tool $(test_oid algo)) &&
	file=$(loose_path damaged $oid) &&
	test_when_finished "rm -f $file" &&
	mkdir -p "$(dirname $file)" &&
	write_loose "$type 6" <content >$file &&
	same_either_way git -C damaged cat-file -t --allow-unknown-type $oid &&
	if grep "^exit 0" err
	then
		echo $type >expect &&
		test_cmp expect out
	else
		test_grep "header for $oid too long" err
	fi &&
	same_either_way git -C damaged cat-file -t $oid &&
	test_grep ! "^exit 0" err &&
	same_either_way git -C damaged cat-file $type $oid &&
	test_grep ! "^exit 0" err &&
	same_either_way git -C damaged cat-file -p $oid &&
	test_grep ! "^exit 0" err &&
	same_either_way git -C damaged fsck --full &&
	test_grep "$oid" err &&
	test_grep ! "^exit 0" err
'

# A type that fits into the header but is none.
test_expect_success PERL 'a loose object with an unknown and short type' '
	echo hello >content &&
	oid=$({ printf "blub 6\0" && cat content; } |
	      test-tool $(test_oid algo)) &&
	file=$(loose_path damaged $oid) &&
	test_when_finished "rm -f $file" &&
	mkdir -p "$(dirname $file)" &&
	write_loose "blub 6" <content >$file &&
	same_either_way git -C damaged cat-file -p $oid &&
	test_grep ! "^exit 0" err &&
	same_damage $oid &&
	test_grep ! "^exit 0" err
'

test_done
