#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='the fsmonitor hook and the index of workspaces

contrib/workspace has two programs that "git workspace" lives by. Most of what
they do shows with an upper layer that is made up, and needs no mount; in the
end there are overlays that root has mounted.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh

PROGRAMS="$GIT_BUILD_DIR/contrib/workspace"

if test "$(uname -s)" != Linux
then
	skip_all='workspaces need Linux'
	test_done
fi
if ! "${MAKE:-make}" -C "$PROGRAMS" all >make.out 2>&1
then
	cat make.out
	error "contrib/workspace does not compile"
fi

test_lazy_prereq XATTR '
	>file &&
	set_xattr file user.overlay.opaque y
'

test_lazy_prereq WHITEOUT '
	mknod whiteout c 0 0
'

# usage: set_xattr <path> <name> <value>
set_xattr () {
	if command -v setfattr >/dev/null
	then
		setfattr -n "$2" -v "$3" "$1"
	else
		python3 -c "import os, sys
os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())" "$@"
	fi
}

# usage: hook [<token>]
#
# Leaves what the hook says in actual, a line for each name, sorted, without
# doubles, and the token in token.
hook () {
	(
		cd ws &&
		"$PROGRAMS/git-workspace-fsmonitor" ../state 2 \
			"${1-$TOKEN}" >../out
	) &&
	tr "\0" "\n" <out >lines &&
	sed 1q lines >token &&
	sed 1d lines | sort -u >actual
}

# usage: hook_says [<name>...]
hook_says () {
	hook &&
	test_grep "^$TOKEN:" token &&
	{ test $# = 0 || printf "%s\n" "$@"; } | sort >expect &&
	test_cmp expect actual
}

# It knows nothing, and the next answer will not be better, by the token.
hook_knows_nothing () {
	hook "$@" &&
	echo git-workspace:unknown >expect &&
	test_cmp expect token &&
	echo / >expect &&
	test_cmp expect actual
}

# An empty upper layer, and the index of the base.
start () {
	rm -rf state/upper ws &&
	mkdir state/upper ws &&
	echo "gitdir: $PWD/gitdir" >state/upper/.git &&
	cp state/upper/.git ws/.git &&
	rm -rf gitdir &&
	mkdir gitdir &&
	"$PROGRAMS/git-workspace-index" base ws gitdir/index &&
	cp base/sharedindex.* gitdir/
}

# usage: in_index <git arguments>
#
# Changes that index.
in_index () {
	GIT_INDEX_FILE="$PWD/gitdir/index" git -C repo "$@"
}

test_expect_success 'setup' '
	git init repo &&
	mkdir -p repo/dir/sub repo/other &&
	for path in file dir/file dir/sub/file other/file other/more
	do
		echo "$path" >"repo/$path" || return 1
	done &&
	git -C repo add -A &&
	git -C repo commit -m one &&
	# No other shared index, unless we want one.
	git -C repo config splitIndex.maxPercentChange 100 &&
	COMMIT=$(git -C repo rev-parse HEAD) &&
	TOKEN=git-workspace:$COMMIT:random &&
	mkdir base state &&
	echo "$TOKEN" >base/token &&
	ln -s ../base state/base &&
	echo none >state/kind
'

test_expect_success 'hook of a base' '
	program="$PROGRAMS/git-workspace-fsmonitor" &&
	"$program" --base "$TOKEN" 2 1234567 >out &&
	printf "%s\0/\0" "$TOKEN" >expect &&
	test_cmp_bin expect out &&
	"$program" --base "$TOKEN" 2 "$TOKEN" >out &&
	printf "%s\0" "$TOKEN" >expect &&
	test_cmp_bin expect out
'

test_expect_success 'a base is made' '
	git -C repo worktree add --no-checkout --detach ../base/tree &&
	git -C base/tree reset --hard &&
	sleep 2 &&
	hook="\"$PROGRAMS/git-workspace-fsmonitor\" --base $TOKEN" &&
	(
		cd base/tree &&
		set -- -c core.fsmonitor="$hook" -c core.untrackedCache=true \
			-c core.splitIndex=true &&
		git "$@" update-index --split-index --untracked-cache \
			--fsmonitor &&
		git "$@" status &&
		git "$@" status &&
		git "$@" ls-files -f >../../actual &&
		gitdir=$(git rev-parse --git-dir) &&
		mv "$gitdir/index" "$gitdir"/sharedindex.* ../ &&
		rm .git
	) &&
	test_line_count = 5 actual &&
	! grep -v "^h " actual &&
	git -C repo worktree prune
'

test_expect_success 'the index of a workspace' '
	start &&
	git -C repo worktree add --no-checkout --detach ../new &&
	gitdir=$(git -C new rev-parse --git-dir) &&
	"$PROGRAMS/git-workspace-index" base new "$gitdir/index" &&
	cp base/sharedindex.* "$gitdir/" &&
	cp new/.git state/upper/.git &&
	git -C new fsck &&
	test_config -C repo extensions.worktreeConfig true &&
	git -C new config --worktree core.untrackedCache true &&
	git -C new config --worktree core.fsmonitor \
		"\"$PROGRAMS/git-workspace-fsmonitor\" \"$PWD/state\"" &&

	# There are no files; Git does not even look.
	GIT_TRACE2_PERF="$PWD/trace" git --no-optional-locks -C new \
		status --porcelain >actual &&
	test_must_be_empty actual &&
	grep "refresh/sum_lstat:0" trace &&

	# The hook tells of the top folder, always; no other is opened.
	grep "opendir:1$" trace &&
	grep "node-creation:0$" trace &&

	git -C new update-index --force-write-index &&
	git -C new fsck &&
	git -C new -c core.fsmonitor=false status --porcelain >actual &&
	test_line_count = 5 actual &&
	rm -r new &&
	git -C repo worktree prune
'

test_expect_success 'the index: bases that are not good' '
	program="$PROGRAMS/git-workspace-index" &&
	! "$program" base &&
	! "$program" nowhere ws gitdir/index 2>err &&
	test_grep "not a base" err &&
	! "$program" base nowhere gitdir/index &&
	! "$program" base ws nowhere/index &&

	cp -r base bad &&
	test_when_finished "rm -rf bad" &&
	echo "git-workspace:1234:random" >bad/token &&
	! "$program" bad ws out.index &&
	cp base/token bad/token &&

	# Not split, or an entry of the shared index that is not there.
	rm -f unsplit &&
	GIT_INDEX_FILE="$PWD/unsplit" git -C repo read-tree HEAD &&
	cp unsplit bad/index &&
	! "$program" bad ws out.index &&
	start &&
	in_index -c core.fsmonitor=false rm --cached file &&
	cp gitdir/index bad/index &&
	! "$program" bad ws out.index 2>err &&
	test_grep "index is broken" err &&

	size=$(wc -c <base/index) &&
	for i in $(test_seq 1 40)
	do
		test_copy_bytes $((size * i / 41)) <base/index >bad/index &&
		! "$program" bad ws out.index || return 1
	done &&
	test_path_is_missing out.index
'

test_expect_success 'an upper layer with nothing' '
	start &&
	hook_says .git-workspace
'

test_expect_success 'the token' '
	start &&
	hook &&
	mv token own &&
	test_grep "^$TOKEN:" own &&
	test_write_lines .git-workspace >expect &&
	test_cmp expect actual &&
	hook "$(cat own)" &&
	test_cmp own token &&
	test_cmp expect actual &&

	# Of no kind, of another base, of an upper layer that is no more.
	echo / >expect &&
	for token in 1234567 "$TOKEN." git-workspace:unknown \
		"git-workspace:$COMMIT:another"
	do
		hook "$token" &&
		test_cmp own token &&
		test_cmp expect actual || return 1
	done &&
	start &&
	hook "$(cat own)" &&
	test_grep "^$TOKEN:" token &&
	! test_cmp own token &&
	test_cmp expect actual
'

test_expect_success 'files in folders that the base has' '
	start &&
	mkdir -p state/upper/dir/sub &&
	>state/upper/dir/new &&
	>state/upper/dir/sub/file &&
	hook_says .git-workspace dir/.git-workspace dir/new \
		dir/sub/.git-workspace dir/sub/file
'

test_expect_success 'a folder that the base does not have' '
	start &&
	mkdir -p state/upper/dir/new/deep state/upper/.github &&
	>state/upper/dir/new/file &&
	hook_says .git-workspace .github .github/ .github/.git-workspace \
		dir/.git-workspace dir/new dir/new/ dir/new/.git-workspace
'

test_expect_success 'a folder where the base has a file, and the reverse' '
	start &&
	mkdir state/upper/file &&
	>state/upper/dir &&
	hook_says .git-workspace dir file file/ file/.git-workspace
'

test_expect_success 'deletions and folders as fuse-overlayfs marks them' '
	start &&
	mkdir -p state/upper/dir/sub state/upper/other &&
	>state/upper/.wh.file &&
	>state/upper/dir/.wh..wh..opq &&
	>state/upper/other/.wh.file &&
	hook_says .git-workspace .wh.file file \
		dir dir/ dir/.git-workspace dir/sub/.git-workspace \
		other/.git-workspace other/.wh.file other/file
'

test_expect_success WHITEOUT 'deletions as the kernel marks them' '
	start &&
	mkdir state/upper/dir &&
	mknod state/upper/file c 0 0 &&
	mknod state/upper/dir/sub c 0 0 &&
	hook_says .git-workspace file dir/.git-workspace dir/sub
'

for xattr in user.overlay.opaque user.fuseoverlayfs.opaque
do
	test_expect_success XATTR "folders with $xattr" '
		start &&
		mkdir -p state/upper/dir/sub &&
		>state/upper/dir/sub/new &&
		set_xattr state/upper/dir $xattr y &&
		hook_says .git-workspace dir dir/ dir/.git-workspace \
			dir/sub/.git-workspace
	'
done

test_expect_success XATTR 'a folder that shows another one of the base' '
	start &&
	mkdir -p state/upper/dir state/upper/other &&
	set_xattr state/upper/dir user.overlay.redirect /other &&
	hook_says .git-workspace other/.git-workspace \
		dir dir/ dir/.git-workspace dir/sub/.git-workspace
'

test_expect_success 'folders of the untracked cache are told, no others' '
	start &&
	mkdir -p state/upper/dir/sub/sub state/upper/dir/more state/upper/new &&
	>state/upper/dir/.wh..wh..opq &&
	hook_says .git-workspace dir dir/ dir/.git-workspace \
		dir/sub/.git-workspace new new/ new/.git-workspace &&
	in_index -c core.fsmonitor=false update-index --no-untracked-cache &&
	hook_says .git-workspace dir dir/ dir/.git-workspace \
		new new/ new/.git-workspace
'

test_expect_success XATTR 'the top cannot be another folder' '
	start &&
	set_xattr state/upper user.overlay.opaque y &&
	hook_knows_nothing
'

test_expect_success 'what is in a .git does not matter' '
	start &&
	git init state/upper/dir/nested &&
	hook_says .git-workspace dir/.git-workspace \
		dir/nested dir/nested/ dir/nested/.git-workspace
'

test_expect_success 'names that Git does not take for its untracked cache' '
	ignored=$(printf ".g\342\200\214it") &&
	for name in .GIT .git. ".git " "git~1" "GIT~1 ." ".Git:x" "$ignored"
	do
		start &&
		mkdir "state/upper/$name" &&
		hook_knows_nothing || return 1
	done &&
	for name in .gitx "git~2" gi .g .github "git~1x"
	do
		start &&
		mkdir "state/upper/$name" &&
		hook_says .git-workspace \
			"$name" "$name/" "$name/.git-workspace" || return 1
	done
'

test_expect_success PERL_TEST_HELPERS 'long names and deep folders' '
	start &&
	long=$(printf "%0250d" 1) &&
	mkdir -p state/upper/$long/$long/$long &&
	hook_says .git-workspace $long $long/ $long/.git-workspace &&

	# Too long for a path: not even Git gets there.
	mkdir state/upper/dir &&
	perl -e "for my \$top (qw(state/upper/dir base/tree/dir)) {
		chdir q($PWD) and chdir \$top or die;
		for (1..20) { mkdir q($long); chdir q($long) or die }
	}" &&
	test_when_finished "rm -rf base/tree/dir/0*" &&
	hook_knows_nothing
'

test_expect_success 'a folder that cannot be read' '
	start &&
	mkdir state/upper/dir &&
	chmod 0 state/upper/dir &&
	test_when_finished "chmod 700 state/upper/dir" &&
	if test_have_prereq SANITY
	then
		hook_knows_nothing
	else
		hook_says .git-workspace dir/.git-workspace
	fi
'

test_expect_success 'many files in the upper layer' '
	start &&
	mkdir state/upper/dir &&
	for i in $(test_seq 1 1000)
	do
		echo dir/$i &&
		>state/upper/dir/$i || return 1
	done >names &&
	hook_says .git-workspace dir/.git-workspace $(cat names)
'

# What is in the index, but in no layer. Git would believe that it is there.

# usage: add_entries <path>...
add_entries () {
	local oid path &&
	oid=$(git hash-object repo/file) &&
	for path
	do
		printf "100644 %s 0\t%s\n" "$oid" "$path" || return 1
	done | in_index -c core.fsmonitor=false update-index --index-info
}

for version in 2 3 4
do
	test_expect_success "names in an index of version $version" '
		start &&
		in_index -c core.fsmonitor=false update-index \
			--no-split-index --index-version $version &&
		add_entries gone dir/gone dir/gone2 zzz/gone upper &&
		if test $version = 3
		then
			>repo/intent &&
			in_index -c core.fsmonitor=false add -N intent &&
			rm repo/intent &&
			set intent
		else
			set --
		fi &&
		echo $version >expect &&
		in_index update-index --show-index-version >actual &&
		test_cmp expect actual &&
		>state/upper/upper &&
		hook_says .git-workspace dir/gone dir/gone2 gone upper \
			zzz/gone "$@"
	'

	test_expect_success "names in a split index of version $version" '
		start &&
		in_index -c core.fsmonitor=false update-index \
			--index-version $version &&
		add_entries gone dir/gone dir/gone2 zzz/gone &&
		hook_says .git-workspace dir/gone dir/gone2 gone zzz/gone
	'
done

test_expect_success 'names in an index that is split from another' '
	start &&
	in_index -c core.fsmonitor=false update-index --no-split-index &&
	add_entries gone dir/gone &&
	in_index -c core.fsmonitor=false update-index --split-index &&
	ls repo/.git/sharedindex.* &&
	mv repo/.git/sharedindex.* gitdir/ &&
	cp gitdir/index saved &&
	hook_says .git-workspace dir/gone gone &&
	mv gitdir/sharedindex.* . &&
	hook_knows_nothing &&
	mv sharedindex.* gitdir/ &&
	hook_says .git-workspace dir/gone gone
'

# usage: differ
#
# Makes entries that the base has otherwise: another mode, another object, none.
differ () {
	in_index -c core.fsmonitor=false rm --cached other/file &&
	printf "%s 0\t%s\n" "100755 $(git hash-object repo/file)" file \
		"100644 $(git hash-object repo/file)" dir/sub/file |
	in_index -c core.fsmonitor=false update-index --index-info
}

# The upper layer should have them. If it has not, the overlay shows the base's.
test_expect_success 'entries that replace some of the base, and deleted ones' '
	start &&
	differ &&
	test-tool dump-split-index gitdir/index >dump &&
	test_grep "^replacements: ." dump &&
	test_grep "^deletions: ." dump &&
	hook_says .git-workspace dir/sub/file file other/file &&
	mkdir -p state/upper/dir/sub &&
	>state/upper/dir/sub/file &&
	>state/upper/file &&
	>state/upper/other &&
	hook_says .git-workspace dir/.git-workspace dir/sub/.git-workspace \
		dir/sub/file file other other/file
'

test_expect_success 'the same in an index that is not split, or from another' '
	start &&
	in_index -c core.fsmonitor=false update-index --no-split-index &&
	differ &&
	hook_says .git-workspace dir/sub/file file other/file &&
	in_index -c core.fsmonitor=false update-index --split-index &&
	mv repo/.git/sharedindex.* gitdir/ &&
	hook_says .git-workspace dir/sub/file file other/file
'

test_expect_success 'entries that only have other stat data are not told' '
	start &&
	in_index -c core.fsmonitor=false update-index --refresh &&
	test-tool dump-split-index gitdir/index >dump &&
	test_grep "^replacements: ." dump &&
	hook_says .git-workspace &&
	differ &&
	in_index -c core.fsmonitor=false read-tree HEAD &&
	hook_says .git-workspace
'

test_expect_success 'many entries, and bitmaps of all sorts' '
	start &&
	test_when_finished "rm -f state/base; ln -s ../base state/base" &&
	mkdir many many/tree &&
	cp base/token many/ &&
	one=$(git hash-object repo/file) &&
	two=$(git hash-object repo/dir/file) &&
	test_seq 10001 13000 >numbers &&
	sed "s/.*/100644 $one 0	&/" numbers >all &&
	rm gitdir/index &&
	in_index update-index --index-info <all &&
	in_index -c core.splitIndex=true update-index --split-index &&
	mv repo/.git/sharedindex.* many/ &&
	cp many/sharedindex.* gitdir/ &&
	mv gitdir/index many/index &&
	rm state/base &&
	ln -s ../many state/base &&
	for some in 1p "\$p" 63,66p 1,64p 65,1000p "1~63p;1~2p" "1~7p;70,999p" p
	do
		sed -n "$some" numbers | sort -u >changed &&
		sed "s/.*/100644 $two 0	&/" changed >info &&
		sed "s/.*/0 $ZERO_OID 0	&/" changed >removed &&
		for how in info removed
		do
			cp many/index gitdir/index &&
			in_index update-index --index-info <$how &&
			hook_says .git-workspace $(cat changed) || return 1
		done || return 1
	done
'

test_expect_success 'bitmaps that are broken' '
	start &&
	differ &&
	cp gitdir/index saved &&
	size=$(wc -c <saved) &&
	rawsz=$(test_oid rawsz) &&
	for at in $(test_seq 0 64)
	do
		cp saved gitdir/index &&
		printf "\377" | dd of=gitdir/index bs=1 conv=notrunc \
			seek=$((size - rawsz - 1 - at)) 2>/dev/null &&
		hook || return 1
	done
'

test_expect_success 'names below a folder that is told are not told again' '
	start &&
	in_index -c core.fsmonitor=false update-index --no-split-index &&
	add_entries new/gone new/sub/gone newer &&
	mkdir -p state/upper/new &&
	hook_says .git-workspace new new/ new/.git-workspace newer
'

test_expect_success 'a file of the index is a folder now, and the reverse' '
	start &&
	add_entries gone was/folder &&
	mkdir state/upper/gone &&
	>state/upper/was &&
	hook_says .git-workspace gone gone/ gone/.git-workspace was was/folder
'

test_expect_success 'conflicts' '
	start &&
	oid=$(git hash-object repo/file) &&
	for stage in 1 2 3
	do
		printf "100644 %s $stage\tgone\n" "$oid" || return 1
	done |
	in_index -c core.fsmonitor=false update-index --index-info &&
	hook_says .git-workspace gone
'

test_expect_success 'names that are longer than an index can tell' '
	for n in 4094 4095 4096 5000
	do
		long=$(printf "%0${n}d" 1) &&
		for version in 2 4
		do
			start &&
			in_index -c core.fsmonitor=false update-index \
				--no-split-index --index-version $version &&
			add_entries "$long" zzz &&
			hook_says .git-workspace "$long" zzz || return 1
		done
	done
'

test_expect_success 'the index that Git names' '
	start &&
	cp gitdir/index kept &&
	add_entries gone &&
	mv gitdir/index other.index &&
	mv kept gitdir/index &&
	hook_says .git-workspace &&
	(
		GIT_INDEX_FILE="$PWD/other.index" &&
		export GIT_INDEX_FILE &&
		hook_says .git-workspace gone
	) &&
	mkdir other.gitdir &&
	mv other.index other.gitdir/index &&
	cp base/sharedindex.* other.gitdir/ &&
	(
		GIT_DIR="$PWD/other.gitdir" &&
		export GIT_DIR &&
		hook_says .git-workspace gone
	)
'

test_expect_success 'no index, and such as we do not know' '
	start &&
	rm gitdir/index &&
	hook_knows_nothing &&

	start &&
	printf "%0100d\n" 1 >gitdir/index &&
	hook_knows_nothing &&

	# Extensions: one may ignore "ABCD", but not "abcd", nor that an index
	# is sparse.
	start &&
	test_copy_bytes $(($(wc -c <base/index) - $(test_oid rawsz))) \
		<base/index >head &&
	{ cat head && printf "ABCD\0\0\0\0" &&
	  printf "%0$(test_oid rawsz)d" 0; } >gitdir/index &&
	hook_says .git-workspace &&
	for name in abcd sdir
	do
		{ cat head && printf "$name\0\0\0\0" &&
		  printf "%0$(test_oid rawsz)d" 0; } >gitdir/index &&
		hook_knows_nothing || return 1
	done
'

test_expect_success 'an index that has been cut off' '
	start &&
	add_entries gone &&
	cp gitdir/index saved &&
	# within the first entry: what ends with an extension is not cut off
	for i in $(test_seq 0 21)
	do
		test_copy_bytes $((4 * i)) <saved >gitdir/index &&
		hook &&
		echo / >expect &&
		test_cmp expect actual || return 1
	done
'

test_expect_success 'another worktree' '
	start &&
	mv ws/.git ws.git &&
	hook_knows_nothing &&
	echo "gitdir: $PWD/elsewhere" >ws/.git &&
	hook_knows_nothing &&
	mv ws.git ws/.git &&
	hook_says .git-workspace
'

test_expect_success PIPE 'what would never answer' '
	echo / >expect &&
	for where in ws/.git state/kind base/token gitdir/index
	do
		start &&
		mv $where kept &&
		mkfifo $where &&
		(
			cd ws &&
			timeout 20 "$PROGRAMS/git-workspace-fsmonitor" \
				../state 2 "$TOKEN" >../out
		) &&
		tr "\0" "\n" <out | sed 1d >actual &&
		test_cmp expect actual &&
		rm $where &&
		mv kept $where || return 1
	done
'

test_expect_success 'what is no overlay, nor FUSE' '
	start &&
	test_when_finished "echo none >state/kind; rm -f state/path" &&
	echo "$PWD/ws" >state/path &&
	for kind in overlay userxattr fuse
	do
		echo $kind >state/kind &&
		hook_knows_nothing || return 1
	done
'

test_expect_success 'a state that is not complete' '
	start &&
	for name in base kind upper base/token base/tree
	do
		mv state/$name gone &&
		hook_knows_nothing &&
		mv gone state/$name || return 1
	done &&
	hook_says .git-workspace
'

test_expect_success 'protocols that we do not speak' '
	! "$PROGRAMS/git-workspace-fsmonitor" state 1 123 &&
	! "$PROGRAMS/git-workspace-fsmonitor" state 3 "$TOKEN" &&
	! "$PROGRAMS/git-workspace-fsmonitor" state
'

test_expect_success NOT_ROOT 'an overlay of root, seen by another' '
	start &&
	test_when_finished "echo none >state/kind" &&
	echo overlay >state/kind &&
	hook_knows_nothing
'

# With overlays.

test_lazy_prereq OVERLAY '
	mkdir lower upper work merged &&
	mount -t overlay overlay -o \
		lowerdir=lower,upperdir=upper,workdir=work,redirect_dir=on \
		merged &&
	umount merged
'

# usage: mount_workspace <options>
mount_workspace () {
	mount -t overlay overlay -o \
		"lowerdir=base/tree,upperdir=real/upper,workdir=real/work,$1" \
		mounted
}

# The hook, and none: the same.
check () {
	(
		cd mounted &&
		for mode in all normal
		do
			git --no-optional-locks -c core.fsmonitor=false \
				-c core.untrackedCache=false status \
				--porcelain=v2 -u$mode >../expect &&
			git status --porcelain=v2 -u$mode >../actual &&
			test_cmp ../expect ../actual &&
			git status --porcelain=v2 -u$mode >../actual &&
			test_cmp ../expect ../actual || exit 1
		done
	)
}

for kind in overlay userxattr
do
	options=redirect_dir=on,metacopy=off
	test $kind = overlay || options=userxattr

	test_expect_success OVERLAY "$kind: a workspace" '
		mkdir -p real/upper real/work &&
		ln -s ../base real/base &&
		echo $kind >real/kind &&
		echo "$PWD/mounted" >real/path &&
		git -C repo worktree add --no-checkout --detach \
			../mounted $COMMIT &&
		gitdir=$(git -C mounted rev-parse --absolute-git-dir) &&
		mv mounted/.git real/upper/.git &&
		mount_workspace $options &&
		test_atexit "umount mounted || :" &&
		"$PROGRAMS/git-workspace-index" base mounted \
			"$gitdir/index" &&
		ln base/sharedindex.* "$gitdir/" &&
		git -C repo config extensions.worktreeConfig true &&
		git -C mounted config --worktree core.fsmonitor \
			"\"$PROGRAMS/git-workspace-fsmonitor\" \"$PWD/real\"" &&
		git -C mounted config --worktree core.untrackedCache true &&
		check &&
		test_must_be_empty actual
	'

	test_expect_success OVERLAY "$kind: edits" '
		echo new >mounted/dir/new &&
		echo more >>mounted/dir/file &&
		check &&
		test_line_count = 2 actual &&
		rm mounted/dir/sub/file &&
		check &&
		mkdir mounted/dir/sub/file &&
		echo x >mounted/dir/sub/file/x &&
		check &&
		rm -r mounted/dir/sub &&
		check &&
		mkdir mounted/dir/sub &&
		check
	'

	test_expect_success OVERLAY "$kind: what vanishes without a trace" '
		echo new >mounted/other/new &&
		git -C mounted add other/new &&
		check &&
		rm mounted/other/new &&
		check &&
		grep "^1 AD .*other/new" actual &&
		echo new >mounted/other/untracked &&
		check &&
		grep "other/untracked" actual &&
		rm mounted/other/untracked &&
		check &&
		! grep "other/untracked" actual
	'

	test_expect_success OVERLAY "$kind: the same with a full index" '
		git -C mounted update-index --no-split-index &&
		mkdir mounted/newdir &&
		echo new >mounted/newdir/new &&
		git -C mounted add newdir/new &&
		check &&
		rm -r mounted/newdir &&
		check &&
		grep "^1 AD .*newdir/new" actual
	'

	test_expect_success OVERLAY "$kind: reset, and mounted again" '
		git -C mounted stash -u &&
		check &&
		test_must_be_empty actual &&
		umount mounted &&
		mount_workspace $options &&
		check &&
		git -C mounted stash pop &&
		check &&
		git -C mounted reset --hard &&
		git -C mounted clean -f -d &&
		check &&
		test_must_be_empty actual
	'

	# Whoever restores a backup, or a power failure, may have it so.
	test_expect_success OVERLAY "$kind: what is missing in the upper layer" '
		echo mine >mounted/dir/file &&
		echo mine >mounted/other/new &&
		mkdir mounted/fresh &&
		echo mine >mounted/fresh/file &&
		rm mounted/other/more &&
		git -C mounted add -A &&
		git -C mounted commit -m mine &&
		mkdir mounted/dir/sub/untracked &&
		>mounted/dir/sub/untracked/file &&
		>mounted/other/untracked &&
		check &&
		git -C mounted status &&
		umount mounted &&
		cp -pPR real/upper real/saved &&
		rm -r real/upper/?* &&
		mount_workspace $options &&
		check &&
		test_write_lines dir/file fresh/file other/more other/new >expect &&
		sed "s/.* //" actual | sort >names &&
		test_cmp expect names &&
		umount mounted &&
		cp -pPR real/saved/other real/upper/ &&
		mount_workspace $options &&
		check &&
		git -C mounted reset --hard HEAD^ &&
		git -C mounted clean -f -d &&
		check &&
		test_must_be_empty actual
	'

	# What is changed in a copy is not in the upper layer.
	test_expect_success OVERLAY "$kind: a copy of all files" '
		cp -pPR mounted copied &&
		git -C mounted status --porcelain >actual &&
		test_must_be_empty actual &&
		echo edit >>copied/file &&
		>copied/new &&
		git --no-optional-locks -C copied status --porcelain >actual &&
		test_write_lines " M file" "?? new" >expect &&
		test_cmp expect actual &&
		cp -pPR copied mounted/dir/inner &&
		git --no-optional-locks -C mounted/dir/inner status \
			--porcelain >actual &&
		test_cmp expect actual &&
		rm -r copied mounted/dir/inner &&
		check &&
		test_must_be_empty actual
	'

	if test $kind = overlay
	then
		test_expect_success OVERLAY 'folders that are renamed' '
			mv mounted/dir mounted/moved &&
			check &&
			grep "^1 .D .*dir/sub/file" actual &&
			mv mounted/moved mounted/other/moved &&
			check &&
			git -C mounted add -A &&
			check &&
			mv mounted/other/moved/sub mounted/dir &&
			check &&
			mv mounted/other mounted/dir/ &&
			check &&
			git -C mounted reset --hard &&
			git -C mounted clean -f -d &&
			check &&
			test_must_be_empty actual
		'

		# Without extended attributes all is told to have changed.
		test_expect_success OVERLAY 'root without its capabilities' '
			gitdir=$(git -C mounted rev-parse --absolute-git-dir) &&
			cp "$gitdir/index" saved &&
			(
				cd mounted &&
				setpriv --bounding-set -sys_admin \
				"$PROGRAMS/git-workspace-fsmonitor" ../real 2 \
				"$TOKEN" >../out
			) &&
			printf "git-workspace:unknown\0/\0" >expect &&
			test_cmp_bin expect out
		'
	fi

	test_expect_success OVERLAY "$kind: end" '
		umount mounted &&
		rm -rf mounted real &&
		git -C repo worktree prune
	'
done

test_done
