# shellcheck shell=sh disable=SC2034 # the variables are for who sources this
# SPDX-License-Identifier: GPL-2.0-only
#
# What the scripts beside this file share: where things are, how an error
# looks, how the pin is read, and a `git` that depends on nobody's
# configuration. Sourced, never run; the caller has set -e.

prog=$(basename "$0")

say () {
	printf '%s: %s\n' "$prog" "$*" >&2
}

die () {
	printf '%s: error: %s\n' "$prog" "$*" >&2
	exit 1
}

# What is on or not there. The scripts ask whether it is empty, and FORCE=0 is
# how people say no.
for switch in FORCE BASE_ANY NO_LIBDEFLATE COMPILE TEST QUICK NODOC NO_STRIP
do
	value=
	eval "value=\$$switch"
	case $value in
	0|[Nn]o|NO|[Ff]alse|[Oo]ff) unset "$switch" ;;
	esac
done
case ${JOBS:-1} in
*[!0-9]*|0*) die "JOBS='$JOBS': a number from 1 up is wanted" ;;
esac

# need_root: or exit code 3, of what makes chroots where none can be made
need_root () {
	test "$(id -u)" = 0 || {
		say "error: a chroot is made as root; try it with sudo"
		exit 3
	}
}

# make_dir <variable> <folder>: the folder that the variable chooses
make_dir () {
	if ! mkdir -p "$2" 2>/dev/null || ! test -w "$2"
	then
		die "cannot write to the folder '$2'
  choose another one: make $1=/path"
	fi
}

top=$(cd "$(dirname "$0")/.." && pwd)

# Which base. make asks scripts/base if it was told none; else it is the main one.
bases=$(sed -e '/^#/d' -e '/^$/d' "$top/base/list" | tr '\n' ' ')
bases=${bases% }
main_base=${bases%% *}
BASE=${BASE:-$main_base}
case " $bases " in
*" $BASE "*) ;;
*) die "BASE='$BASE': there is no such base here (there are: $bases)" ;;
esac
base=$top/base/$BASE

# Each base has a build folder of its own.
default_build=$top/build
test "$BASE" = "$main_base" || default_build=$top/build-$BASE
build=${BUILD:-$default_build}
case $build in
/*) ;;
*) build=$(pwd)/$build ;;
esac
# make would take such a path for two
case $build in
*[[:space:]]*)
	die "the build folder's path has a space: '$build'
  name another one: make BUILD=/path" ;;
esac
if real=$(cd "$build" 2>/dev/null && pwd -P)
then
	case $(cd "$top" && pwd -P)/ in
	"${real%/}"/*)
		die "BUILD='$BUILD': that folder holds this project; name one for the build" ;;
	esac
fi
cache=${CACHE:-$top/.cache}
case $cache in
/*) ;;
*) cache=$(pwd)/$cache ;;
esac
# for the scripts that a script starts, from wherever it is then
export BASE BUILD="$build" CACHE="$cache"
tree=$build/git

# The system's git is used for the work on build/git: it must see neither the
# repository that this script was started from nor any personal settings, or
# commit ids and patches would differ from machine to machine.
# shellcheck disable=SC2046 # one variable name a line, no spaces
unset $(git rev-parse --local-env-vars 2>/dev/null) 2>/dev/null || :
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1
export LC_ALL=C TZ=UTC

# upstream's t7800 takes an empty one for a folder
test -n "$TMPDIR" || unset TMPDIR
test -z "$TMPDIR" || { test -d "$TMPDIR" && test -w "$TMPDIR"; } ||
die "TMPDIR='$TMPDIR': no folder to write to"

# pin_get <name>: the value that base/$BASE/pin gives to <name>.
pin_get () {
	sed -n "s/^$1 //p" "$top/base/$BASE/pin" | grep . ||
	die "base/$BASE/pin has no line '$1'"
}

# fetch's exit code if no source has the base
no_source=3

sha256_of () {
	sha256sum <"$1" | cut -d' ' -f1
}

# The branch of build/git that holds the series, and the names of the two
# commits that bound what scripts/assemble made last.
branch=series
ref_base=refs/heads/base
ref_made=refs/assembled

# commit_base <repository> <version> <sum of its tarball>: prints the id of the pristine
# base as a commit of what is in the repository's index, the same everywhere.
commit_base () {
	GIT_AUTHOR_NAME='Git' GIT_AUTHOR_EMAIL='git@vger.kernel.org' \
	GIT_COMMITTER_NAME='Git' GIT_COMMITTER_EMAIL='git@vger.kernel.org' \
	GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' \
	GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' \
	git -C "$1" commit-tree "$(git -C "$1" write-tree)" -m "Git $2, the pristine base

Unpacked from a release tarball with SHA-256
$3"
}

# unpack_base <tarball> <folder> <version>: the pristine base. A snapshot, unlike a
# release, does not say which version it is.
unpack_base () {
	tar -xf "$1" -C "$2" --strip-components=1 --no-same-owner
	test -f "$2/version" || echo "$3" >"$2/version"
}

# git in build/git
tgit () {
	git -C "$tree" "$@"
}

# Whether a path of this repository belongs to the project itself. Every other
# path is a file of ours that is laid over the base at the same place.
is_project_path () {
	case $1 in
	.*|build|build*/*|base/*|scripts/*) return 0 ;;
	contrib/parallel-checkout/timeline) return 1 ;;	# for users of Git
	contrib/workspace/bench|contrib/workspace/README-bench.md|Documentation/technical/how-this-is-tested.adoc) return 0 ;;
	contrib/parallel-checkout/*|contrib/bulk-refs/*|contrib/ci/*|contrib/clone/*|contrib/donors/*|contrib/faults/*|contrib/filters/*|contrib/partial/*|contrib/status/*)
		return 0 ;;
	Makefile|*.md) case $1 in */*) return 1 ;; esac; return 0 ;;
	COPYING*|LICENSES/*) return 0 ;;
	esac
	return 1
}

# Where files of ours can lie: folders of the base, those that the series names,
# and at the top the files that it names; new ones there are known by their
# endings. Everything else here is somebody's own, a prefix to install in or the
# output of a program for example. Prints "|name|name|...|".
own_places () {
	{
		series_steps | tr ' ' '\n' | sed -e '/\.patch$/d' -e 's,/.*,,'
		test ! -d "$tree/.git" ||
		tgit ls-tree -d --name-only "$ref_base" 2>/dev/null || :
	} | sort -u | awk 'BEGIN { ORS = "|"; print "" } { print }'
}

# The files of ours at their places here, one path a line, sorted. What .gitignore
# names is left out: leavings of editors and of patch, and what is compiled here.
# An empty repository on the side tells, since there may be none here (a tarball).
files_here () (
	places=$(own_places)
	empty=$(mktemp -d)
	trap 'rm -rf "$empty"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
	git init -q --bare --template= "$empty"
	git -C "$top" --git-dir="$empty" --work-tree="$top" \
		-c core.excludesFile=/dev/null -c core.quotePath=false \
		ls-files --others --exclude-standard >"$empty/list"
	sort "$empty/list" |
	while IFS= read -r f
	do
		case $f in
		t/README.coverage) continue ;;	# of no step
		*/*) ;;
		.*) continue ;;
		*.[ch]|*.sh|*.perl) printf '%s\n' "$f"; continue ;;
		esac
		case $places in *"|${f%%/*}|"*) ;; *) continue ;; esac
		test -d "$top/$f" && test ! -L "$top/$f" && continue
		is_project_path "$f" || printf '%s\n' "$f"
	done
)

# Those of them that this base has: not those of base/*/without.
files_shared () {
	files_here |
	if test -f "$base/without"
	then
		grep -vFx -f "$base/without" || :
	else
		cat
	fi
}

# What this base needs changed in them, if anything: it is made for the main one.
ours_patch=$base/ours.patch

# The files of ours as they lie over this base, one path a line, sorted: those
# here, by the names that ours.patch gives them, and those of base/*/files, which
# no other base has.
our_files () {
	{
		files_shared | awk -v patch="$ours_patch" '
			BEGIN {
				while ((getline line <patch) > 0)
					if (sub(/^rename from /, "", line))
						from = line
					else if (sub(/^rename to /, "", line))
						to[from] = line
			}
			{ print ($0 in to) ? to[$0] : $0 }'
		test ! -d "$base/files" ||
		(cd "$base/files" && find . -type f | sed 's,^\./,,')
	} | sort
}

# add_files INDEX FOLDER: the files there that are named on stdin, into that index
# of build/git.
add_files () {
	(
		cd "$2" || exit
		cat >"$1.paths"
		while IFS= read -r f
		do
			if test -x "$f"
			then
				echo 100755
			else
				echo 100644
			fi
		done <"$1.paths" >"$1.modes"
		# shellcheck disable=SC2094 # two readers
		GIT_DIR=$tree/.git git hash-object -w --no-filters --stdin-paths \
			<"$1.paths" | paste -d' ' "$1.modes" - | paste - "$1.paths" |
		GIT_INDEX_FILE=$1 tgit update-index --add --index-info
		rm -f "$1.paths" "$1.modes"
	)
}

# lay_out INDEX: that index gets the files of ours as they lie over this base.
lay_out () {
	rm -f "$1"
	files_shared | add_files "$1" "$top" || return
	test ! -f "$ours_patch" ||
	GIT_INDEX_FILE=$1 tgit apply --cached --whitespace=nowarn "$ours_patch" ||
	return
	test ! -d "$base/files" ||
	(cd "$base/files" && find . -type f | sed 's,^\./,,') |
	add_files "$1" "$base/files"
}

# test_names: of the paths on stdin, those that are test scripts and suites of unit
# tests, one a line, as scripts/run-tests takes them.
test_names () {
	sed -n -e 's,^t/\(t[0-9][^/]*\.sh\)$,\1,p' \
		-e '/^t\/unit-tests\/u-[^/]*\.c$/ {
			s,^.*/u-,,
			s,\.c$,,
			y,-,_,
			s,^,unit-tests:,p
		}'
}

# Those that are ours.
our_tests () {
	our_files | test_names
}

# The lines of the series file that are steps.
series_steps () {
	sed -e 's/[[:space:]]*$//' -e '/^[[:space:]]*#/d' -e '/^$/d' "$base/series"
}

# Everything of this repository that build/git is made from, as "sum mode path"
# lines. scripts/assemble keeps the list of its last run beside the result. What is
# only for mails is not among it.
input_manifest () {
	(
		cd "$top" || exit 1
		{
			files_here
			find "${base#"$top"/}" -type f ! -path '*/cover-letter*' ! -name topics
		} | sort | while IFS= read -r f
		do
			printf '%s %s %s\n' "$(sha256_of "$f")" "$(stat -c %A "$f")" "$f"
		done
	)
}
made_from=$tree/.git/assembled-from

# If there is a build/git, git has to be able to work in it; otherwise all that
# is asked of it would look like an answer.
check_tree () {
	test -d "$tree/.git" || return 0
	why=$(tgit rev-parse --verify -q HEAD 2>&1 >/dev/null) && return
	case $why in
	*ownership*)
		die "'$tree' belongs to another user; run this as that user,
  or name another build folder: make BUILD=/path" ;;
	esac
	die "git cannot work in '$tree'${why:+: }$(printf '%s' "$why" | head -n 1)
  look at it, and remove it if nothing in there is needed"
}

# Prints what work build/git holds that would be lost with it, if any.
unexported () {
	if test "$(tgit symbolic-ref -q HEAD)" != "refs/heads/$branch"
	then
		echo "is not on its branch '$branch' (is a rebase under way?)"
	elif test -n "$(tgit status --porcelain --untracked-files=no)"
	then
		echo "has edits that are not committed"
	elif test "$(tgit rev-parse HEAD)" != "$(tgit rev-parse -q --verify "$ref_made")"
	then
		echo "is not what was assembled last: commits were made or dropped and not exported"
	fi
}
