#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='speed of clone over a transport, and of its index-pack'

. ./perf-lib.sh

test_perf_large_repo

test_expect_success 'set up one pack' '
	git repack -ad &&
	PACK=$(ls "$PWD"/.git/objects/pack/*.pack | head -n1) &&
	test -f "$PACK" &&
	export PACK
'

no_clone () {
	rm -rf clone
}

new_repo () {
	rm -rf repo.git &&
	git init --bare repo.git
}

for threads in 1 2
do
	# The tests run in a shell of their own.
	export threads

	test_perf "index-pack --stdin, $threads threads" --setup new_repo '
		git -C repo.git -c pack.threads=$threads \
			index-pack --stdin <"$PACK"
	'

	test_perf "index-pack --stdin --strict, $threads threads" \
		--setup new_repo '
		git -C repo.git -c pack.threads=$threads \
			index-pack --stdin --strict <"$PACK"
	'
done

test_perf 'clone --no-local --bare' --setup no_clone '
	git clone -q --no-local --bare . clone
'

for workers in 1 2
do
	export workers

	test_perf "clone --no-local, workers=$workers" --setup no_clone '
		git -c checkout.workers=$workers clone -q --no-local . clone
	'
done

test_expect_success 'clean up' '
	rm -rf clone repo.git
'

test_done
