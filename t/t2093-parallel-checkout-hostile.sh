#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout of trees that nobody should have made

Names that are not allowed, that do not fit, or that mean something to somebody,
and what the working tree has in their place. Whatever becomes of them does not
depend on the number of workers, and none of it is outside the working tree.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"

if ! find . -maxdepth 0 -printf "" 2>/dev/null
then
	skip_all='skipping tests of hostile trees, find has no -printf'
	test_done
fi

test_expect_success 'setup' '
	git init repo &&
	mkdir outside &&
	echo outside >outside/file &&
	blob=$(echo content | git -C repo hash-object -w --stdin) &&
	evil=$(printf "%s" "$(pwd)/outside" |
		git -C repo hash-object -w --stdin) &&
	up=$(printf ../outside | git -C repo hash-object -w --stdin) &&
	commit=$(git -C repo commit-tree -m empty \
		$(git -C repo mktree </dev/null))
'

# usage: in_new_tree <name> <workers> <git command>...
#
# Runs it in an empty working tree <name>/tree of the repository, with an index
# of its own, with the umask $mask. Leaves <name>.err, <name>.code and <name>.list.
mask=$(umask)
in_new_tree () {
	local name="$1" workers="$2" &&
	shift 2 &&
	rm -rf "$name" &&
	mkdir -p "$name/tree" &&
	if test -d before
	then
		cp -pPR before/. "$name/tree"
	fi &&
	in_tree "$name" "$workers" "$@"
}

in_tree () {
	local name="$1" workers="$2" &&
	shift 2 &&
	(
		GIT_DIR="$(pwd)/repo/.git" &&
		GIT_WORK_TREE="$(pwd)/$name/tree" &&
		GIT_INDEX_FILE="$(pwd)/$name/index" &&
		export GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE &&
		cd "$name/tree" &&
		umask $mask &&
		{
			git -c checkout.workers="$workers" \
				-c checkout.thresholdForParallelism=0 \
				$config "$@" >../../raw.out 2>../../raw
			echo $? >../../"$name.code"
		}
	) &&
	sed -e "s,$(pwd)/$name/,,g" raw | sort >"$name.err" &&
	look_at "$name/tree" >"$name.list"
}

# Kinds, modes and contents; names are any bytes but NUL.
look_at () {
	(
		LC_ALL=C &&
		export LC_ALL &&
		cd "$1" &&
		{
			find . -mindepth 1 ! -type f -printf "%p %y %m %l\n" &&
			find . -type f -printf "%p %m %n %s\n" &&
			find . -type f -print0 | sort -z | xargs -0 cat
		} | sort
	)
}

more="2 16"

# usage: same_for_all <git command>...
#
# It does the same for 1, 2 and 16 workers, and nothing outside. What it does is
# in one.list, one.err and one.code.
#
# Attributes are looked up before directories are made, so that of one that cannot
# be entered nothing is said.
same_for_all () {
	in_new_tree one 1 "$@" &&
	sed "/^warning: unable to access .*gitattributes/d" one.err >err &&
	mv err one.err &&
	for workers in $more
	do
		in_new_tree many $workers "$@" &&
		test_cmp one.code many.code &&
		test_cmp one.err many.err &&
		test_cmp_bin one.list many.list || return 1
	done &&
	ls -A outside one many | sed "/^index/d" >actual &&
	cat >expect <<-\EOF &&
	many:
	tree

	one:
	tree

	outside:
	file
	EOF
	test_cmp expect actual &&
	echo outside >expect &&
	test_cmp expect outside/file
}

# usage: raw_tree [<mode> <name in printf notation> <oid>]...
#
# Prints the name of a tree with these entries, whatever they are.
raw_tree () {
	while test $# != 0
	do
		printf "%s $2\0" "$1" &&
		printf "$(echo "$3" | sed "s/../\\\\x&/g" | hex_to_octal)" &&
		shift 3 || return 1
	done >tree.raw &&
	git -C repo hash-object -t tree -w --literally --stdin <tree.raw
}

hex_to_octal () {
	perl -pe "s/\\\\x(..)/sprintf(\"\\\\%03o\", hex \$1)/ge"
}

# Each is a name in the notation of printf, and a setting. None of them comes
# into the working tree, at the top or further down. The number of workers says
# little here: no entry gets as far.
for case in \
	'.. ' '. ' '.git ' '.GIT ' '.gIt ' \
	'git~1 core.protectNTFS=true' 'GIT~1 core.protectNTFS=true' \
	'.git\040 core.protectNTFS=true' '.git... core.protectNTFS=true' \
	'.git::$INDEX_ALLOCATION core.protectNTFS=true' \
	'.git\\foo core.protectNTFS=true' \
	'.g\342\200\214it core.protectHFS=true' \
	'\342\200\215.git core.protectHFS=true' \
	'.Git\357\273\277 core.protectHFS=true' \
	'.gi\342\200\252T core.protectHFS=true' \
	'/a ' '../outside/new ' 'a/../../outside/new ' \
	'.git/hooks/post-checkout '
do
	name=${case%% *}
	setting=${case#* }
	printf '%s' "$name" >name
	test_expect_success "name $(tr / : <name) $setting" '
		name=$(cat name) &&
		case $name in
		/*) name="$(pwd)/outside$name" ;;
		esac &&
		config="${setting:+-c $setting}" &&
		test_when_finished "config=; more=\"2 16\"" &&
		more=2 &&
		sub=$(raw_tree 100644 file "$blob") &&
		for mode in 120000 40000
		do
			case $mode in
			120000) oid=$evil ;;
			40000) oid=$sub ;;
			esac &&
			tree=$(raw_tree $mode "$name" $oid 100644 zzz $blob) &&
			top=$(raw_tree 40000 dir $tree 100644 zzz $blob) &&
			same_for_all read-tree --reset -u $top &&
			echo 128 >expect &&
			test_cmp expect one.code &&
			test_grep "invalid path" one.err &&
			test_must_be_empty one.list || return 1
		done &&
		same_for_all read-tree --reset -u $tree &&
		test_grep "^128$" one.code &&
		test_must_be_empty one.list
	'
done

# usage: entries for update-index --index-info; leaves tree
make_tree () {
	git -C repo read-tree --empty &&
	git -C repo update-index --index-info &&
	tree=$(git -C repo write-tree)
}

test_expect_success SYMLINKS 'a link, and a directory of the same name, unsorted and twice' '
	sub=$(raw_tree 100644 new "$blob") &&
	for link in $evil $up
	do
		for entries in "120000 d $link 40000 d $sub" \
			"40000 d $sub 120000 d $link" \
			"120000 d $link 100644 d $blob" \
			"120000 d $link 120000 d $link" \
			"100644 d $blob 40000 d $sub"
		do
			tree=$(raw_tree $entries 100644 zzz $blob) &&
			same_for_all read-tree --reset -u $tree || return 1
		done || return 1
	done
'

# Where case is ignored, t2090 looks at what is in the way of what. Where it is
# known, all of them are there, and core.ignoreCase does not make it unsafe.
test_expect_success SYMLINKS,!CASE_INSENSITIVE_FS 'links and directories in all spellings' '
	for spelling in ab aB Ab AB
	do
		printf "120000 %s\t%s\n" $evil $spelling &&
		for other in ab aB Ab AB
		do
			test $other = $spelling ||
			printf "100644 %s\t%s/new\n" $blob $other || return 1
		done >others &&
		cp others entries.$spelling || return 1
	done >links &&
	for spelling in ab aB Ab AB
	do
		{
			grep "	$spelling$" links &&
			cat entries.$spelling
		} >entries &&
		make_tree <entries &&
		for config in "-c core.ignoreCase=false" "-c core.ignoreCase=true"
		do
			same_for_all read-tree --reset -u $tree &&
			echo 0 >expect &&
			test_cmp expect one.code || return 1
		done || return 1
	done &&
	config=
'

test_expect_success SYMLINKS 'links where directories are to be' '
	test_when_finished "rm -rf before" &&
	mkdir before &&
	ln -s "$(pwd)/outside" before/a &&
	mkdir before/b &&
	ln -s "$(pwd)/outside" before/b/c &&
	for path in a/file a/new a/sub/new b/c/file b/c/new b/c/d/e b/d
	do
		printf "100644 %s\t%s\n" $blob $path || return 1
	done >entries &&
	make_tree <entries &&
	same_for_all read-tree --reset -u $tree &&
	echo 0 >expect &&
	test_cmp expect one.code &&
	test_path_is_file one/tree/a/sub/new &&

	# and once more, to be removed through a link
	for workers in 1 2 16
	do
		in_new_tree many $workers read-tree --reset -u $tree &&
		rm -rf many/tree/a many/tree/b/c &&
		ln -s "$(pwd)/outside" many/tree/a &&
		ln -s "$(pwd)/outside" many/tree/b/c &&
		in_tree many $workers read-tree --reset -u \
			$(git -C repo mktree </dev/null) &&
		echo outside >expect &&
		test_cmp expect outside/file || return 1
	done
'

test_expect_success 'a gitlink and a directory' '
	test_when_finished "rm -rf before" &&
	sub=$(raw_tree 100644 new "$blob") &&
	for entries in "160000 d $commit 40000 d $sub" \
		"40000 d $sub 160000 d $commit"
	do
		tree=$(raw_tree $entries 100644 zzz $blob) &&
		same_for_all read-tree --reset -u $tree || return 1
	done &&
	printf "160000 %s\td\n100644 %s\tz\n" $commit $blob >entries &&
	make_tree <entries &&
	mkdir -p before/d/e &&
	echo mine >before/d/e/mine &&
	same_for_all read-tree --reset -u $tree &&
	echo mine >expect &&
	test_cmp expect one/tree/d/e/mine &&
	test_cmp expect many/tree/d/e/mine &&
	rm -rf before/d &&
	echo file >before/d &&
	same_for_all read-tree --reset -u $tree &&
	rm before/d &&
	ln -s "$(pwd)/outside" before/d &&
	same_for_all read-tree --reset -u $tree
'

# What a hard link shares with others is not ours to be changed.
test_expect_success 'files with other names' '
	printf "100644 %s\t%s\n" $blob a/old $blob z >entries &&
	make_tree <entries &&
	old=$tree &&
	blob2=$(echo other | git -C repo hash-object -w --stdin) &&
	printf "100755 %s\t%s\n" $blob2 a/old $blob2 z >entries &&
	make_tree <entries &&
	for workers in 1 2 16
	do
		in_new_tree many $workers read-tree --reset -u $old &&
		test-tool chmtime =-100 many/tree/a/old many/tree/z &&
		in_tree many $workers update-index --refresh &&
		rm -rf other &&
		mkdir other &&
		ln many/tree/a/old other/old &&
		ln many/tree/z other/z &&
		in_tree many $workers update-index --refresh &&
		in_tree many $workers read-tree -m -u $old $tree &&
		echo 0 >expect &&
		test_cmp expect many.code &&
		echo other >expect &&
		test_cmp expect many/tree/a/old &&
		test_cmp expect many/tree/z &&
		echo content >expect &&
		test_cmp expect other/old &&
		test_cmp expect other/z &&
		in_tree many $workers read-tree --reset -u $old &&
		test_cmp expect many/tree/z &&
		test_cmp expect other/z || return 1
	done
'

test_expect_success POSIXPERM 'umask, and bits that no file gets' '
	printf "%s %s\t%s\n" 100644 $blob a/file 100755 $blob a/prog \
		100755 $blob prog >entries &&
	make_tree <entries &&
	test_when_finished "mask=$mask" &&
	for mask in 077 002 022 000 177
	do
		same_for_all read-tree --reset -u $tree &&
		printf "./prog %o\n" $((0777 & ~0$mask)) >expect &&
		sed -n "s,^\(./prog [0-7]*\) .*,\1,p" one.list >actual &&
		test_cmp expect actual || return 1
	done &&
	# no directory can be entered that was made with the last one
	if test_have_prereq SANITY
	then
		test_grep "unable to create file a/file" one.err
	fi &&
	tree=$(raw_tree 100777 all $blob 107755 setuid $blob 100600 z $blob) &&
	same_for_all read-tree --reset -u $tree &&
	find one many -type f -perm /7022 >actual &&
	test_must_be_empty actual
'

test_expect_success POSIXPERM 'setuid files that are replaced, and setgid directories' '
	test_when_finished "rm -rf before" &&
	mkdir -p before/a &&
	echo old >before/a/file &&
	echo old >before/prog &&
	chmod 6755 before/a/file before/prog &&
	chmod 2775 before/a &&
	printf "%s %s\t%s\n" 100644 $blob a/file 100755 $blob a/sub/prog \
		100755 $blob prog >entries &&
	make_tree <entries &&
	same_for_all read-tree --reset -u $tree &&
	find one many -type f -perm /6000 >actual &&
	test_must_be_empty actual
'

# Each alone, for Git dies of some, and after what comes first.
test_expect_success 'names of 255 bytes and of 256' '
	name=$(printf "%0250d" 0) &&
	for n in 00001 000001 0000001
	do
		for path in $name$n d/$name$n $name$n/x
		do
			printf "100644 %s\t%s\n" $blob $path $blob !ok >entries &&
			make_tree <entries &&
			same_for_all read-tree --reset -u $tree || return 1
		done || return 1
	done
'

# Each length around PATH_MAX, which is 4096 with the NUL. So that a message
# about one of them does not end the command, each comes alone as well.
test_expect_success 'long paths' '
	part=$(printf "%0200d/" 0) &&
	deep= &&
	for i in $(test_seq 20)
	do
		deep=$deep$part || return 1
	done &&
	: ${#deep} is 4020 &&
	for n in 60 74 75 76 77 90 200
	do
		path=$deep$(printf "%0${n}d" 0) &&
		printf "100644 %s\t%s\n" $blob $path $blob ok >entries &&
		make_tree <entries &&
		same_for_all read-tree --reset -u $tree &&
		if test $((${#deep} + n)) -ge 4096
		then
			# no call would take such a path later on
			test "$(cat one.code)" != 0
		fi &&
		same_for_all checkout-index -a || return 1
	done
'

# How many entries fit in a frame depends on the lengths of their paths. All
# lengths that the file system takes, in one go, and in this many directories.
test_expect_success 'paths of all lengths' '
	for n in $(test_seq 1 250)
	do
		printf "100644 $blob\t%0${n}d\n" 1 &&
		printf "100644 $blob\td%0${n}d/%0200d/%0200d/%0200d\n" $n 1 2 3 ||
		return 1
	done >entries &&
	make_tree <entries &&
	same_for_all read-tree --reset -u $tree &&
	echo 0 >expect &&
	test_cmp expect one.code &&
	find many/tree -type f >files &&
	test_line_count = 500 files
'

# No file system has such paths, and no message to a worker holds them.
test_expect_success 'paths as long as a frame' '
	part=$(printf "%0200d/" 0) &&
	perl -e "
		for my \$len (262143 - 10, 262143, 262144, 262145, 524288, 1048576) {
			my \$path = \"$part\" x (\$len / 201);
			\$path .= \"x\" x (\$len - length(\$path));
			\$path =~ s|/\$|x|;
			printf(\"100644 $blob\t%s\n\", \$path);
		}
		print \"100644 $blob\tzzz\n\";
	" >entries &&
	while read -r line
	do
		printf "%s\n" "$line" >entry &&
		git -C repo read-tree --empty &&
		git -C repo update-index --index-info <entry &&
		cp repo/.git/index long.index &&
		for workers in 1 2 16
		do
			rm -rf many &&
			mkdir -p many/tree &&
			cp long.index many/index &&
			in_tree many $workers checkout-index -a -f &&
			if test $workers = 1
			then
				mv many.code one.code &&
				mv many.err one.err &&
				mv many.list one.list
			else
				test_cmp one.code many.code &&
				test_cmp one.err many.err &&
				test_cmp one.list many.list
			fi || return 1
		done || return 1
	done <entries
'

test_expect_success FUNNYNAMES 'every byte in a name' '
	perl -e "
		for my \$c (1..46, 48..255) {
			my \$n = chr(\$c);
			\$n = \"dot\$n\" if \$n eq \".\";
			printf(\"100644 $blob\t%s\0\", \$n);
			printf(\"100644 $blob\ta%sb/%s%s%s\0\", \$n, \$n, \"x\", \$n);
		}
		print \"100644 $blob\t\", map({ chr } 1..46, 48..255), \"\0\";
		print \"100644 $blob\tinvalid \xc3\x28 \xff\xfe \xed\xa0\x80\0\";
		print \"100644 $blob\tnew\nline\nerror: not one\0\";
	" >entries &&
	git -C repo read-tree --empty &&
	git -C repo update-index -z --index-info <entries &&
	tree=$(git -C repo write-tree) &&
	config="-c core.protectNTFS=false" &&
	test_when_finished "config=" &&
	same_for_all read-tree --reset -u $tree &&
	echo 0 >expect &&
	test_cmp expect one.code &&
	find many/tree -type f -print0 | tr "\n\0" "?\n" >files &&
	test_line_count = 511 files
'

# usage: one_directory <number of entries>
one_directory () {
	perl -e "printf(\"100644 $blob\tdir/%06d\n\", \$_) for 1..$1" >entries &&
	make_tree <entries &&
	same_for_all read-tree --reset -u $tree &&
	echo 0 >expect &&
	test_cmp expect one.code &&
	ls many/tree/dir >files &&
	test_line_count = $1 files &&
	in_tree many 16 read-tree --reset -u \
		$(git -C repo mktree </dev/null) &&
	test_must_be_empty many.list
}

test_expect_success '5,000 entries in one directory' '
	one_directory 5000
'

test_expect_success EXPENSIVE '100,000 entries in one directory' '
	one_directory 100000
'

test_done
