#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='parallel checkout among other processes, and with lost workers

What other processes hold on to, workers that are lost beside others that are
not, and files that decide how the ones after them are written.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY/lib-parallel-checkout.sh"
. "$TEST_DIRECTORY/lib-broken-worker.sh"
. "$TEST_DIRECTORY/lib-faulty-calls.sh"

test_expect_success 'setup' '
	setup_broken_worker &&
	setup_files
'

# usage: trace_value <key> <file>
trace_value () {
	sed -n "s/.*\"category\":\"pcheckout\",\"key\":\"$1\",\"value\":\"\([0-9]*\)\".*/\1/p" "$2"
}

test_expect_success 'a process filter does not keep the workers alive' '
	test_config_global filter.rot13.process \
		"test-tool rot13-filter --log=\"$TRASH_DIRECTORY/log\" clean smudge" &&
	test_config_global filter.rot13.required true &&
	cp -R files filtered &&
	(
		cd filtered &&
		echo "*.z filter=rot13" >.gitattributes &&
		echo text >z.z &&
		git add . &&
		git commit -q -m filtered &&
		rm -f file* z.z &&
		git -c checkout.workers=4 checkout-index --all &&
		git diff --exit-code &&
		git ls-files -s z.z &&
		echo text >expect &&
		test_cmp expect z.z
	)
'

test_expect_success 'setup answers' '
	test-tool checkout-wire answer --late 0 written >late &&
	test-tool checkout-wire answer 0 delayed >delayed
'

for how in 'exit 1' 'kill -9 $$' \
	'printf "no frame, this"; cat >/dev/null; exit' \
	'printf "no frame, this"; exec sleep 1000' \
	'cat ../late; cat >/dev/null; exit' \
	'exec <&-; sleep 1; exit'
do
	test_expect_success "one worker of four does: $how" '
		test_when_finished "rm -rf one" &&
		git clone -q -n files one &&
		break_worker "$how" &&
		test_env GIT_TRACE2_EVENT="$(pwd)/trace" faulty_git -C one \
			-c checkout.workers=4 checkout -q -f HEAD 2>err &&
		test_grep "worker has ended early" err >warnings &&
		test_line_count = 1 warnings &&
		trace_value lost_workers trace >actual &&
		echo 1 >expect &&
		test_cmp expect actual &&
		rm trace &&
		git -C one status --porcelain >status &&
		test_must_be_empty status
	'
done

# Of two files, the first worker is given the first one.
test_expect_success 'what cannot be delayed is not, whatever a worker says' '
	test_when_finished "rm -rf two trace" &&
	git init -q two &&
	echo one >two/one &&
	echo two >two/two &&
	git -C two add . &&
	rm two/one two/two &&
	break_worker "cat \"$TRASH_DIRECTORY/delayed\"
		cat >/dev/null; exit" &&
	test_env GIT_TRACE2_EVENT="$(pwd)/trace" faulty_git -C two \
		-c checkout.workers=2 -c checkout.thresholdForParallelism=0 \
		checkout-index -u --all &&
	trace_value lost_workers trace >actual &&
	echo 1 >expect &&
	test_cmp expect actual &&
	git -C two diff-files --exit-code
'

test_expect_success 'what a lost worker has written is no collision' '
	test_when_finished "rm -rf clone" &&
	# it writes its files, but cannot write its answer
	break_worker "\"$GIT_BUILD_DIR/git\" \"\$@\" 1</dev/null; exit 1" &&
	faulty_git -c checkout.workers=2 clone -q files clone 2>err &&
	test_grep "ended early" err &&
	test_grep ! "have collided" err &&
	git -C clone status --porcelain >status &&
	test_must_be_empty status
'

# Without -f, what is there is left alone, unless a lost worker has left it.
test_expect_success SYMLINKS,!MINGW,!CYGWIN 'what a lost worker has left is replaced without -f' '
	test_when_finished "rm -rf left" &&
	git clone -q files left &&
	(
		cd left &&
		for i in $(test_seq 1 60)
		do
			ln -s file$i a-link$i || return 1
		done &&
		git add . &&
		rm file* a-link*
	) &&
	break_worker "\"$GIT_BUILD_DIR/git\" \"\$@\" 1</dev/null; exit 1" &&
	faulty_git -C left -c checkout.workers=2 checkout-index -u -a 2>err &&
	test_grep "ended early" err &&
	test_grep ! "already exists" err &&
	git -C left diff-files --exit-code
'

test_expect_success 'what somebody else has left is not' '
	test_when_finished "rm -rf left" &&
	git clone -q -n files left &&
	git -C left read-tree HEAD &&
	# among these are all that this worker is given
	break_worker "
		set -C
		for i in \$(\"$PERL_PATH\" -le \"print for 1..300\")
		do
			echo precious >\"$TRASH_DIRECTORY/left/file\$i\" &&
			echo file\$i
		done >\"$TRASH_DIRECTORY/made\" 2>/dev/null
		exit 1
	" &&
	rm -f made &&
	test_expect_code 1 faulty_git -C left -c checkout.workers=2 \
		checkout-index -u -a 2>err &&
	test_grep "ended early" err &&
	test_file_not_empty made &&
	echo precious >expect &&
	for file in $(cat made)
	do
		test_cmp expect left/$file &&
		test_grep "^$file already exists, no checkout" err || return 1
	done
'

# Those of a directory are read when its first file is looked at. When the files
# of other directories have been looked at, they are forgotten.
for workers in 1 2
do
	test_expect_success "attributes are those of the first look, workers=$workers" '
		test_when_finished "rm -rf first" &&
		git init first &&
		(
			cd first &&
			git config filter.upper.smudge "tr a-z A-Z" &&
			mkdir sub z &&
			: >sub/.gitattributes &&
			for i in $(test_seq 100 199)
			do
				echo "a $i" >sub/.before$i &&
				echo "f $i" >sub/f$i &&
				echo "z $i" >z/f$i || return 1
			done &&
			git add . &&
			git commit -q -m first &&
			echo "f* filter=upper" >sub/.gitattributes &&
			for file in sub/.b* sub/f* z/f*
			do
				echo changed >$file || return 1
			done &&
			git -c checkout.workers=$workers \
				-c checkout.thresholdForParallelism=0 \
				checkout -- . &&
			echo "F 100" >expect &&
			test_cmp expect sub/f100 &&
			echo "F 199" >expect &&
			test_cmp expect sub/f199 &&
			echo "z 199" >expect &&
			test_cmp expect z/f199
		)
	'
done

test_expect_success 'what a fetch leaves behind is not waited for' '
	test_when_finished "rm -rf partial" &&
	git -C files config uploadpack.allowFilter true &&
	git -C files config uploadpack.allowAnySHA1InWant true &&
	git clone -q -n --no-local --filter=blob:none files partial &&
	git -C partial read-tree HEAD &&
	write_script upload-pack <<-EOF &&
	sleep 60 </dev/null >/dev/null &
	echo \$! >>"$PWD/left"
	exec git upload-pack "\$@"
	EOF
	git -C partial config remote.origin.uploadpack "\"$PWD/upload-pack\"" &&
	git -C partial -c checkout.workers=2 \
		-c checkout.thresholdForParallelism=0 \
		checkout-index -f -u file1 file2 2>err &&
	kill $(cat left)
'

# All files are replaced, of which the promisor has lost one in the middle.
test_expect_success 'setup lossy promisor' '
	git init -q lossy &&
	git -C lossy config maintenance.auto false &&
	git -C lossy config uploadpack.allowFilter true &&
	git -C lossy config uploadpack.allowAnySHA1InWant true &&
	for version in old new
	do
		for i in $(test_seq 100 350)
		do
			echo "$version $i" >lossy/f$i || return 1
		done &&
		git -C lossy add . &&
		git -C lossy commit -q -m $version &&
		git -C lossy branch $version || return 1
	done &&
	git clone -q -n --no-local --filter=blob:none lossy partial &&
	git -C partial checkout -q origin/old &&
	lost=$(git -C lossy rev-parse new:f120) &&
	rm lossy/.git/objects/$(test_oid_to_path $lost)
'

# They are fetched one after the other, as they always were, if they cannot be had
# in one go.
for command in "checkout origin/new -- f11? f12?" "checkout origin/new -- ." \
	"restore --source=origin/new ."
do
	test_expect_success "$command: one blob cannot be fetched" '
		test_when_finished "rm -rf out out-*" &&
		for workers in 1 2 5
		do
			cp -R partial out &&
			test_expect_code 128 git -C out \
				-c checkout.workers=$workers \
				-c checkout.thresholdForParallelism=0 \
				$command 2>err &&
			# what others say depends on who is first
			grep "^error\|^fatal: could not" err >err-$workers &&
			test_grep "could not fetch $lost" err-$workers &&
			rm -rf out/.git &&
			mv out out-$workers &&
			test_cmp err-1 err-$workers &&
			git diff --no-index --exit-code out-1 out-$workers ||
			return 1
		done &&
		echo "new 119" >expect &&
		test_cmp expect out-1/f119 &&
		echo "old 121" >expect &&
		test_cmp expect out-1/f121
	'
done

for workers in 1 2
do
	test_expect_success "new .gitattributes apply to what follows, workers=$workers" '
		test_when_finished "rm -rf attr" &&
		git init attr &&
		(
			cd attr &&
			for i in $(test_seq 1 200)
			do
				echo "one $i" >f$i.txt || return 1
			done &&
			echo "*.txt -text" >.gitattributes &&
			git add . &&
			git commit -q -m one &&
			for i in $(test_seq 1 200)
			do
				echo "two $i" >f$i.txt || return 1
			done &&
			echo "*.txt text eol=crlf" >.gitattributes &&
			git add . &&
			git commit -q -m two &&
			git tag two &&
			git checkout -q -f HEAD^ &&

			git -c checkout.workers=$workers checkout two -- . &&
			printf "two 7\r\n" >expect &&
			test_cmp_bin expect f7.txt &&
			cat *.txt | tr -d "\r" >without &&
			cat *.txt >with &&
			test $(wc -c <with) = $(($(wc -c <without) + 200)) &&

			git checkout -q -f HEAD &&
			git read-tree two &&
			git -c checkout.workers=$workers checkout-index -f -a &&
			test_cmp_bin expect f7.txt
		)
	'

	test_expect_success "-n -f and a missing blob is an error, workers=$workers" '
		test_when_finished "rm -rf missing" &&
		cp -R files missing &&
		(
			cd missing &&
			for i in $(test_seq 1 300)
			do
				echo "other" >file$i || return 1
			done &&
			rm .git/objects/$(test_oid_to_path $(git rev-parse :file200)) &&
			test_must_fail git -c checkout.workers=$workers \
				checkout-index -n -f -a 2>err &&
			test_grep "unable to read sha1 file of file200" err &&
			echo "content 299" >expect &&
			test_cmp expect file299
		)
	'

	test_expect_success "all that is said about a corrupt object, workers=$workers" '
		test_when_finished "rm -rf corrupt" &&
		cp -R files corrupt &&
		(
			cd corrupt &&
			object=.git/objects/$(test_oid_to_path $(git rev-parse :file200)) &&
			chmod +w $object &&
			printf "not zlib data" >$object &&
			rm file* &&
			test_must_fail git -c checkout.workers=$workers \
				checkout-index -a 2>err &&
			test_grep "inflate: data stream error" err &&
			test_grep "^fatal: loose object .* is corrupt" err &&
			test_grep ! "worker" err &&
			echo "content 199" >expect &&
			test_cmp expect file199
		)
	'
done

# Not a word about "already exists", nor about paths that collide.
test_expect_success PRELOAD_FAULTS 'creations that are interrupted are done again' '
	test_when_finished "rm -rf interrupted" &&
	(
		FAULTS_NTH=7 &&
		export FAULTS_NTH &&
		with_faults create git -c checkout.workers=2 \
			clone -q files interrupted 2>err &&
		test_must_be_empty err &&
		git -C interrupted status --porcelain >status &&
		test_must_be_empty status &&
		rm interrupted/file* &&
		with_faults create git -C interrupted -c checkout.workers=2 \
			checkout-index -a 2>err &&
		test_must_be_empty err &&
		git -C interrupted diff --exit-code &&
		test_line_count -gt 10 faults
	)
'

test_expect_success PRELOAD_FAULTS,SYMLINKS 'a link made by a call that is interrupted is no collision' '
	test_when_finished "rm -rf links interrupted" &&
	git init -q links &&
	for i in $(test_seq 100)
	do
		ln -s target$i links/link$i || return 1
	done &&
	git -C links add . &&
	git -C links commit -q -m links &&
	(
		FAULTS_NTH=7 &&
		export FAULTS_NTH &&
		with_faults symlink git -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			clone -q links interrupted 2>err &&
		test_must_be_empty err &&
		git -C interrupted status --porcelain >status &&
		test_must_be_empty status &&
		rm interrupted/link* &&
		with_faults symlink git -C interrupted -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 \
			checkout-index -a 2>err &&
		test_must_be_empty err &&
		git -C interrupted diff --exit-code &&
		test_line_count -gt 10 faults
	)
'

test_expect_success PRELOAD_FAULTS 'a worker is interrupted in close()' '
	test_when_finished "rm -rf interrupted trace" &&
	with_faults close env GIT_TRACE2_EVENT="$(pwd)/trace" \
		git -c checkout.workers=2 clone -q files interrupted &&
	trace_value declined trace >actual &&
	echo 0 >expect &&
	test_cmp expect actual &&
	git -C interrupted status --porcelain >status &&
	test_must_be_empty status
'

# Nothing of that passes by itself; a moment ago, it worked.
test_expect_success PRELOAD_FAULTS 'where poll() fails later, workers are lost' '
	test_when_finished "rm -rf later" &&
	git clone -q -n files later &&
	test_env FAULTS_NTH=3 with_faults poll timeout 60 \
		git -C later -c checkout.workers=2 checkout -q -f 2>err &&
	test_grep "ended early" err &&
	git -C later status --porcelain >status &&
	test_must_be_empty status
'

# Two forks are for the workers.
test_expect_success PRELOAD_FAULTS 'workers give way to a filter of the main process' '
	test_when_finished "rm -rf room" &&
	test_config_global filter.upper.smudge "tr a-z A-Z" &&
	test_config_global filter.upper.clean "tr A-Z a-z" &&
	git init -q room &&
	(
		cd room &&
		echo "*.up filter=upper" >.gitattributes &&
		for i in $(test_seq 200)
		do
			echo $i >a$i || return 1
		done &&
		echo text >b.up &&
		echo text >c.up &&
		git add . &&
		git commit -q -m files &&
		rm -f a* *.up &&
		test_env FAULTS_NTH=3 with_faults fork \
			git -c checkout.workers=2 \
			-c checkout.thresholdForParallelism=0 checkout -q -f 2>err &&
		test_grep "^fork" "$TRASH_DIRECTORY/faults" &&
		test_must_be_empty err &&
		echo TEXT >expect &&
		test_cmp expect b.up &&
		test_cmp expect c.up &&
		git diff-files --exit-code
	)
'

test_expect_success PRELOAD_FAULTS 'a worker that nothing can be sent to is lost' '
	test_when_finished "rm -rf later" &&
	git clone -q -n files later &&
	with_faults pipe timeout 60 git -C later -c checkout.workers=2 checkout -q -f 2>err &&
	test_grep "ended early" err &&
	git -C later status --porcelain >status &&
	test_must_be_empty status
'

test_expect_success SECCOMP 'where poll() is forbidden, there are no workers' '
	test_when_finished "rm -rf alone trace" &&
	git clone -q -n files alone &&
	./forbid-call EPERM poll,ppoll env GIT_TRACE2_EVENT="$(pwd)/trace" \
		git -C alone -c checkout.workers=2 checkout -q -f 2>err &&
	test_grep "^error: cannot poll checkout workers: " err &&
	test_grep "could start only 0 of 2 checkout workers" err &&
	trace_value workers trace >actual &&
	echo 0 >expect &&
	test_cmp expect actual &&
	git -C alone status --porcelain >status &&
	test_must_be_empty status
'

# Enough files for workers to be wanted.
test_expect_success SECCOMP 'where poll() is forbidden, "auto" does not say so' '
	test_when_finished "rm -rf many" &&
	git init many &&
	blob=$(echo content | git -C many hash-object -w --stdin) &&
	for i in $(test_seq 4000)
	do
		printf "100644 $blob 0\tfile$i\n" || return 1
	done >list &&
	git -C many update-index --index-info <list &&
	./forbid-call EPERM poll,ppoll env GIT_TEST_CHECKOUT_WORKERS= \
		git -C many -c checkout.workers=auto checkout-index -a -u 2>err &&
	test_must_be_empty err &&
	git -C many diff-files --exit-code
'

test_done
