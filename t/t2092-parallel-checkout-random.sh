#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout against the sequential one, at random

Each case is a repository, its configuration and some operations, made up from a
seed. It is run once with the reference, sequentially, and then with settings of
ours: 1, 2, 3 and 16 workers, "auto" (nothing is set), and "auto0" (as auto, but
workers start at once). After each operation the exit code, the messages, the
working tree and all that is beside it (types, modes, contents, empty
directories), the index with its stages, flags and stat data, references and the
other files in .git, and what the status command of the reference says, have to
be the same.

What may differ, and is not compared:
 - the order of messages, and how often a line is repeated: a file that cannot be
   converted is mentioned each time somebody tries,
 - inodes and times; but whether those in the index, and the size, are the ones
   of the file is compared,
 - the random names of "checkout-index --temp", and objects,
 - what is said of attribute files by a command that cannot write all files, as
   they are asked before that is known,
 - the names that "checkout-index --temp" tells of blobs that cannot be read,
 - that workers cannot be started, where a number of them was asked for,
 - where both die (exit code 128 or a signal, or "fatal:" from a child), what has
   been written until then, and which of several reasons it was. The case ends
   if that differs.

Filters read files that come earlier in the index only: what they see of later
ones depends on when they run.

lib-random-checkout.sh says which variables there are, and where to look if
something differs.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY"/lib-random-checkout.sh

test_expect_success 'setup' '
	common_config &&
	cat >>.gitconfig <<-EOF
	[filter "turn"]
		clean = tr a-z b-za
		smudge = tr b-za a-z
	[filter "bad"]
		clean = cat
		smudge = false
	[filter "dies"]
		# as much as it is told before it has to answer
		process = dd bs=1 count=40 >/dev/null 2>&1
	[filter "required"]
		required = true
	[filter "noisy"]
		smudge = "echo noise about %f >&2; cat"
		clean = cat
	[filter "picky"]
		smudge = "case %f in *f[13]*) exit 1;; esac; cat"
		clean = cat
	[filter "must"]
		required = true
		smudge = "case %f in *f[0134]*) exit 1;; esac; cat"
		clean = cat
	[filter "reads"]
		smudge = "case %f in [a-zA-Z]*) cat .version 2>&1;; esac; cat"
		clean = "sed s/x/x/"
	[filter "lists"]
		smudge = "case %f in [b-z]*) test -L a || ls a 2>&1;; esac; cat"
		clean = cat
	[filter "serve"]
		process = "\"$TOOL\" rot13-filter --log=\"$TRASH/filter.log\" clean smudge"
	[filter "late"]
		process = "\"$TOOL\" rot13-filter --always-delay --log=\"$TRASH/filter.log\" clean smudge delay"
	EOF
'

run_cases

test_done
