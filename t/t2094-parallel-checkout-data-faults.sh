#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout from an object store that is damaged

Messages, exit code, and what is written do not depend on the number of workers,
and no part of a file is left.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"

# The victim is in the middle of what the others are.
test_expect_success 'setup' '
	git config --global maintenance.auto false &&
	git init good &&
	(
		cd good &&
		mkdir a b c &&
		for i in $(test_seq 10 60)
		do
			echo "a $i" >a/file$i &&
			echo "b $i" >b/file$i &&
			echo "c $i" >c/file$i || return 1
		done &&
		# two that are a delta of each other, and one that is none
		test_seq 3000 >b/delta1 &&
		test_seq 2990 >b/delta2 &&
		test-tool genrandom victim 20000 >b/victim &&
		git add . &&
		git commit -q -m files &&
		git repack -q -adf &&
		git ls-files -s | sed "s/.* \([0-9a-f]*\) 0	/\1 /" >../objects
	) &&
	git verify-pack -v good/.git/objects/pack/*.idx >packed &&
	victim=$(git -C good rev-parse :b/victim) &&
	delta=$(awk "\$6 == 1 && \$2 == \"blob\" { print \$1 }" packed) &&
	base=$(awk "\$6 == 1 && \$2 == \"blob\" { print \$7 }" packed) &&
	test -n "$delta" &&
	test_grep "$delta b/delta" objects &&
	test_grep "$base b/delta" objects
'

# usage: offset_of <object>: where it is in the pack, and in "next" where it ends
offset_of () {
	offset=$(awk "\$1 == \"$1\" && NF > 4 { print \$5 }" packed) &&
	next=$(awk "\$1 == \"$1\" && NF > 4 { print \$4 + \$5 }" packed)
}

# Whatever is in "bad" is as it should be. The list of it is read from stdin.
whole_files () {
	while read -r path
	do
		test_cmp "good.tree/$path" "bad/$path" || return 1
	done
}

# usage: same_from_damaged [-u] <git command>...
#
# From the repository "bad" to an empty working tree, with 1, 2 and 16 workers.
# Leaves code.1, err.1, and list.1. With "-u", messages may come more than once.
same_from_damaged () {
	unique= &&
	if test "$1" = -u
	then
		unique=-u &&
		shift
	fi &&
	for workers in 1 2 16
	do
		find bad -mindepth 1 -maxdepth 1 ! -name .git \
			-exec rm -rf {} + &&
		rm -f bad/.git/index &&
		if test "$1" = checkout-index
		then
			git -C bad read-tree HEAD
		fi &&
		{
			git -C bad -c checkout.workers=$workers \
				-c checkout.thresholdForParallelism=0 \
				"$@" 2>raw
			echo $? >code.$workers
		} &&
		sort $unique raw >err.$workers &&
		test_path_is_missing bad/.git/index.lock &&
		(
			cd bad &&
			find . -path ./.git -prune -o -type f -print | sort
		) >list.$workers &&
		whole_files <list.$workers || return 1
	done &&
	for workers in 2 16
	do
		test_cmp code.1 code.$workers &&
		test_cmp err.1 err.$workers || return 1
	done
}

# These paths are not there.
none_of () {
	for workers in 1 2 16
	do
		for path
		do
			test_grep ! "^./$path$" list.$workers || return 1
		done
	done
}

# All that is not named is there. Only where the base does not die, which is to
# say, goes on after the first that it cannot read.
all_but () {
	(cd good.tree && find . -type f | sort) >expect &&
	for path
	do
		grep -v "^./$path$" expect >expect.less &&
		mv expect.less expect || return 1
	done &&
	for workers in 1 2 16
	do
		test_cmp expect list.$workers || return 1
	done
}

new_bad () {
	rm -rf bad &&
	cp -R good bad &&
	find bad -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + &&
	rm -f bad/.git/index &&
	pack=$(echo bad/.git/objects/pack/*.pack) &&
	chmod -R +w bad/.git/objects &&
	rm -f bad/.git/objects/pack/*.rev
}

# Its objects become loose ones that can be written to.
unpack_bad () {
	(
		cd bad &&
		mv .git/objects/pack/*.pack .git/old.pack &&
		rm -f .git/objects/pack/* &&
		git unpack-objects -q <.git/old.pack &&
		rm .git/old.pack &&
		chmod -R +w .git/objects
	)
}

# usage: overwrite <offset> <bytes in printf notation>
overwrite () {
	printf "$2" | dd of="$pack" bs=1 seek=$1 conv=notrunc
}

test_expect_success 'the tree as it should be' '
	cp -R good good.tree &&
	rm -rf good.tree/.git
'

# usage: test_damage <title> <paths that cannot be written> <how to damage bad>
test_damage () {
	local title="$1" paths="$2" damage="$3"
	for command in "checkout-index -u -a" "checkout -f HEAD" \
		"read-tree --reset -u HEAD"
	do
		test_expect_success "$title, $command" '
			new_bad &&
			eval "$damage" &&
			same_from_damaged $command &&
			test_grep ! "^0$" code.1 &&
			eval "none_of $paths" &&
			if ! grep "^fatal: " err.1
			then
				eval "all_but $paths"
			fi &&
			test_grep ! "worker" err.2
		'
	done
}

test_damage 'corrupt content in the pack' b/victim '
	offset_of $victim &&
	overwrite $(($offset + 10000)) "\0\0\0\0\0\0\0\0"
'

# entry.c streams such a blob.
test_damage 'corrupt content of a file with an ident' b/victim '
	offset_of $victim &&
	overwrite $(($offset + 10000)) "\0\0\0\0\0\0\0\0" &&
	echo "b/victim ident" >bad/.git/info/attributes
'

test_damage 'corrupt loose object of a file with an ident' b/victim '
	unpack_bad &&
	printf "\0\0\0\0\0\0\0\0" |
	dd of=bad/.git/objects/$(test_oid_to_path $victim) \
		bs=1 seek=10000 conv=notrunc &&
	echo "b/victim ident" >bad/.git/info/attributes
'

test_damage 'corrupt checksum of the content' b/victim '
	offset_of $victim &&
	overwrite $(($next - 3)) "\0\1\2"
'

# The type and four bits of the size are in the first byte.
test_damage 'the header says a size that is too small' b/victim '
	offset_of $victim &&
	byte=$(dd if="$pack" bs=1 skip=$(($offset + 1)) count=1 2>/dev/null |
		od -An -tu1) &&
	overwrite $(($offset + 1)) "\\$(printf %o $(($byte - 1)))"
'

test_damage 'the header says a size that is too large' b/victim '
	offset_of $victim &&
	byte=$(dd if="$pack" bs=1 skip=$(($offset + 1)) count=1 2>/dev/null |
		od -An -tu1) &&
	overwrite $(($offset + 1)) "\\$(printf %o $(($byte + 1)))"
'

test_damage 'the header says a type that there is not' b/victim '
	offset_of $victim &&
	overwrite $offset "\320"
'

test_damage 'the header says that it is a tree' b/victim '
	offset_of $victim &&
	byte=$(dd if="$pack" bs=1 skip=$offset count=1 2>/dev/null |
		od -An -tu1) &&
	overwrite $offset "\\$(printf %o $(($byte - 16)))"
'

test_damage 'the base of a delta is corrupt' 'b/delta1 b/delta2' '
	offset_of $base &&
	overwrite $(($offset + 1000)) "\0\0\0\0\0\0\0\0"
'

test_damage 'a delta is corrupt' '$(sed -n "s/^$delta //p" objects)' '
	offset_of $delta &&
	overwrite $(($offset + 6)) "\0\0\0\0"
'

test_damage 'a delta says a base that is none' \
	'$(sed -n "s/^$delta //p" objects)' '
	offset_of $delta &&
	size=1 &&
	while test $(dd if="$pack" bs=1 skip=$(($offset + $size - 1)) count=1 \
			2>/dev/null | od -An -tu1) -ge 128
	do
		size=$(($size + 1))
	done &&
	overwrite $(($offset + $size)) "\3"
'

test_damage 'a missing object' b/victim '
	unpack_bad &&
	rm bad/.git/objects/$(test_oid_to_path $victim)
'

test_damage 'an empty object' b/victim '
	unpack_bad &&
	>bad/.git/objects/$(test_oid_to_path $victim)
'

test_damage 'a blob that is a tree' b/victim '
	oid=$(git -C good rev-parse HEAD:a) &&
	git -C good ls-tree HEAD:b >entries &&
	sub=$(sed "s/$victim/$oid/" entries | sed "s/^040000/100644/" |
		git -C bad hash-object -t blob -w --stdin) &&
	perl -e "
		while (<STDIN>) {
			/^(\d+) \w+ (\w+)\t(.*)/ or die;
			my \$oid = \$2 eq \"$victim\" ? \"$oid\" : \$2;
			print \"\$1 \$3\0\", pack(\"H*\", \$oid);
		}
	" <entries >tree.raw &&
	sub=$(git -C bad hash-object -t tree -w --literally --stdin <tree.raw) &&
	top=$(git -C bad ls-tree HEAD |
		sed "s/\([0-9a-f]*\)	b$/$sub	b/" | git -C bad mktree) &&
	commit=$(git -C bad commit-tree -m bad $top) &&
	git -C bad update-ref --no-deref HEAD $commit
'

# Not the one with the commit and the trees.
test_expect_success 'truncated pack' '
	new_bad &&
	unpack_bad &&
	(
		cd bad &&
		sed -n "s, b/.*,,p" ../objects >blobs &&
		git pack-objects -q .git/objects/pack/pack <blobs &&
		git prune-packed &&
		chmod +w .git/objects/pack/*.pack
	) &&
	pack=$(echo bad/.git/objects/pack/*.pack) &&
	test_copy_bytes $(($(wc -c <"$pack") - 500)) <"$pack" >short &&
	mv short "$pack" &&
	for command in "checkout-index -u -a" "checkout -f HEAD" \
		"read-tree --reset -u HEAD"
	do
		same_from_damaged $command &&
		test_grep ! "^0$" code.1 &&
		test_grep "unable to read sha1 file of b/victim" err.1 &&
		all_but "b/.*" || return 1
	done
'

test_expect_success 'objects that a promisor does not have either' '
	git -C good config uploadpack.allowFilter true &&
	git -C good config uploadpack.allowAnySHA1InWant true &&
	rm -rf bad origin &&
	cp -R good origin &&
	git clone -q -n --no-local --filter=blob:none origin bad &&
	rm -rf origin &&
	for command in "checkout-index -u -a" "checkout -f HEAD"
	do
		# All are fetched at once, and then each.
		same_from_damaged -u $command &&
		test_grep ! "^0$" code.1 &&
		for workers in 1 2 16
		do
			test_must_be_empty list.$workers || return 1
		done || return 1
	done
'

test_done
