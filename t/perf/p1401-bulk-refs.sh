#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Creating, deleting and verifying many refs in one transaction, also where many
# have been deleted before, and clone and fetch of them.
#
# GIT_PERF_BULK_REFS says how many (default: 10000). Git 2.55 takes minutes for
# more than that with the reftable backend. No step is let run for longer than
# GIT_PERF_BULK_REFS_LIMIT seconds (default: 200), where timeout(1) exists; what
# reaches the limit shows up with that time.

test_description='Tests performance of many refs at a time'

. ./perf-lib.sh

test_perf_fresh_repo

: "${GIT_PERF_BULK_REFS:=10000}"
: "${GIT_PERF_BULK_REFS_LIMIT:=200}"
export GIT_PERF_BULK_REFS_LIMIT

# Each step is measured in a copy of the repository that the steps before it
# have left, so that it can be repeated. Usage: from <repo>
test_expect_success 'setup' '
	write_script limited <<-\EOF &&
	if ! type timeout >/dev/null 2>&1
	then
		exec git "$@"
	fi
	ret=0
	timeout "$GIT_PERF_BULK_REFS_LIMIT" git "$@" || ret=$?
	test $ret -eq 124 || exit $ret
	EOF
	write_script from <<-\EOF &&
	rm -rf repo && cp -R "$1" repo
	EOF

	test_commit --no-tag base &&
	oid=$(git rev-parse HEAD) &&
	awk -v n="$GIT_PERF_BULK_REFS" "BEGIN {
		split(\"heads remotes/one remotes/two tags\", dir, \" \")
		for (i = 0; i < n; i++)
			printf \"refs/%s/topic-%06d\n\", dir[i % 4 + 1], i
	}" >names &&
	sed "s/.*/create & $oid/" <names >create &&
	sed "s/.*/delete &/" <names >delete &&
	sed "s/.*/verify & $oid/" <names >verify &&
	awk "NR % 2" create >create.half &&
	awk "NR % 2" delete >delete.half &&

	git clone --bare --ref-format=files . source &&
	git -C source update-ref --stdin <create &&
	git -C source pack-refs --all &&

	for format in files reftable
	do
		git clone --bare --ref-format=$format . $format.empty &&
		cp -R $format.empty $format.full &&
		git -C $format.full update-ref --stdin <create &&
		cp -R $format.full $format.half &&
		git -C $format.half update-ref --stdin <delete.half &&
		cp -R $format.full $format.deleted &&
		git -C $format.deleted update-ref --stdin <delete || return 1
	done
'

for format in files reftable
do
	test_perf "$format: create" --setup "./from $format.empty" '
		./limited -C repo update-ref --stdin <create
	'

	test_perf "$format: verify" --setup "./from $format.full" '
		./limited -C repo update-ref --stdin <verify
	'

	test_perf "$format: delete" --setup "./from $format.full" '
		./limited -C repo update-ref --stdin <delete
	'

	test_perf "$format: create after all were deleted" \
		--setup "./from $format.deleted" '
		./limited -C repo update-ref --stdin <create
	'

	test_perf "$format: create after every second was deleted" \
		--setup "./from $format.half" '
		./limited -C repo update-ref --stdin <create.half
	'

	test_perf "$format: update one ref of many" \
		--setup "./from $format.full" '
		./limited -C repo update-ref refs/heads/new HEAD
	'

	test_perf "$format: clone" --setup "rm -rf repo" "
		./limited clone --quiet --mirror --no-local \
			--ref-format=$format source repo
	"

	test_perf "$format: fetch" --setup "./from $format.empty" '
		./limited -C repo fetch --quiet ../source "refs/*:refs/copy/*"
	'
done

test_done
