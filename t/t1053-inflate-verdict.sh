#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only

test_description='what zlib refuses is refused by all who check objects

libdeflate inflates some deflate streams that zlib calls invalid. Those here are
made by hand; the unit test "whole_inflate" makes random ones.
'

TEST_PASSES_SANITIZE_LEAK=true
. ./test-lib.sh
. "$TEST_DIRECTORY"/lib-pack.sh

if ! test_have_prereq PERL
then
	skip_all='needs perl to make streams'
	test_done
fi

# Write a zlib stream of the given kind to a file. It begins with a stored block
# that has the given header of a loose object, unless that is empty, and where it
# says NUL, the beginning of the object, too. What follows that, inflated, is
# written to another file.
write_stream () {
	perl -e '
		use strict;
		my ($kind, $header, $stream, $content) = @ARGV;
		my ($bits, $data) = ("", "");

		sub number { # least significant bit first
			my ($n, $width) = @_;
			$bits .= reverse sprintf "%0${width}b", $n;
		}
		sub stored {
			my ($bytes) = @_;
			number(0, 8 - length($bits) % 8);
			number(length $bytes, 16);
			number(length($bytes) ^ 0xffff, 16);
			$bits .= unpack "b*", $bytes;
		}
		# the lengths of codes by symbol, and how many there are
		sub dynamic {
			my ($litlens, $nr_litlens, $dists, $nr_dists) = @_;
			$bits .= "101";
			number($nr_litlens - 257, 5);
			number($nr_dists - 1, 5);
			number(15, 4);
			number($_ < 3 ? 0 : 4, 3) for 0..18;
			$bits .= sprintf "%04b", $litlens->{$_} || 0
				for 0..$nr_litlens - 1;
			$bits .= sprintf "%04b", $dists->{$_} || 0
				for 0..$nr_dists - 1;
		}
		sub adler32 {
			my ($a, $b) = (1, 0);
			for (unpack "C*", $_[0]) {
				$a = ($a + $_) % 65521;
				$b = ($b + $a) % 65521;
			}
			return pack "n2", $b, $a;
		}

		$header .= "NUL" if $header ne "" && $header !~ /NUL/;
		$header =~ s/NUL/\0/;
		stored($header) if $header ne "";
		if ($kind =~ /^length-(28[567])/) {
			# fixed codes of "A", the length, a distance, the end
			$bits .= "110" . "01110001" .
				sprintf("%08b", 0xc0 + $1 - 280) .
				"00000" . "0000000";
			$data = "A" x 259;
		} elsif ($kind =~ /^distance-(29|30|31)/) {
			$data = "x" x 24577;
			stored($data);
			$bits .= "110" . "0000001" . sprintf("%05b", $1) .
				"0" x 13 . "0000000";
			$data .= "xxx";
		} elsif ($kind =~ /^(28[68])-lengths/) {
			dynamic({ 65 => 1, 256 => 2, $1 - 2 => 3, $1 - 1 => 3 },
				$1, { 0 => 1, 1 => 1 }, 2);
			$bits .= "0" x 50 . "10";
			$data = "A" x 50;
		} elsif ($kind =~ /^(30|32)-distances/) {
			my %dists = map { $_ => $_ < 32 - $1 ? 4 : 5 } 0..$1 - 1;
			dynamic({ 65 => 1, 256 => 1 }, 257, \%dists, $1);
			$bits .= "0" x 50 . "1";
			$data = "A" x 50;
		} elsif ($kind eq "other-half-of-distance") {
			dynamic({ 65 => 1, 256 => 2, 257 => 2 }, 258,
				{ 0 => 1 }, 1);
			$bits .= "0" . "11" . "1" . "10";
			$data = "AAAA";
		} elsif ($kind eq "other-half-of-end") {
			dynamic({ 256 => 1 }, 257, { 0 => 1 }, 1);
			$bits .= "1";
		} else {
			die "what is $kind?";
		}

		open my $out, ">", $stream or die;
		binmode $out;
		print $out "\x78\x9c", pack("b*", $bits), adler32("$header$data");
		close $out or die;
		open $out, ">", $content or die;
		print $out $data;
		close $out or die;
	' "$@"
}

# Write a pack of one blob whose content and stream are given, and its index, of
# version 1.
write_pack () {
	content=$1 stream=$2 pack=$3 &&
	size=$(test_file_size $content) &&
	{
		pack_header 1 &&
		# type 3, and a size of three bytes
		printf "\\$(printf %o $((0260 | $size & 15)))" &&
		printf "\\$(printf %o $((0200 | ($size >> 4) & 127)))" &&
		printf "\\$(printf %o $(($size >> 11)))" &&
		cat $stream
	} >$pack.pack &&
	pack_trailer $pack.pack &&
	oid=$(git hash-object $content) &&
	first=$(printf %d 0x$(echo $oid | cut -c1-2)) &&
	{
		for i in $(test_seq 0 255)
		do
			printf "\0\0\0\\$(($i >= $first))" || return 1
		done &&
		printf "\0\0\0\14" &&
		printf "$(echo $oid | hex2oct)" &&
		tail -c $(test_oid rawsz) $pack.pack
	} >$pack.idx &&
	pack_trailer $pack.idx
}

# Has the command the same to say without libdeflate? Its last line tells the
# exit code.
check () {
	for whole in true false
	do
		rm -rf to && git init -q --bare to &&
		{
			GIT_TEST_WHOLE_INFLATE=$whole "$@" >out.$whole 2>&1
			echo "exit $?" >>out.$whole
		} || return 1
	done &&
	test_cmp out.false out.true &&
	test_grep "$expect" out.true
}

in_pack () {
	git -C to "$@" <x.pack
}

for kind in length-285 distance-29 286-lengths 30-distances \
	length-286 length-287 distance-30 distance-31 \
	288-lengths 32-distances other-half-of-distance other-half-of-end
do
	case $kind in
	length-285|distance-29|286-lengths|30-distances)
		expect="^exit 0" accepted=is ;;
	*)
		expect="inflate: data stream error" accepted="is not" ;;
	esac

	test_expect_success "a pack with $kind $accepted accepted" '
		write_stream $kind "" stream content &&
		write_pack content stream x &&
		check in_pack index-pack --stdin --strict &&
		check in_pack index-pack --stdin --threads=1 &&
		check in_pack unpack-objects &&
		check in_pack unpack-objects -n
	'

	test_expect_success "fsck and verify-pack say so of $kind" '
		rm -rf store && git init -q --bare store &&
		cp x.pack store/objects/pack/pack-x.pack &&
		cp x.idx store/objects/pack/pack-x.idx &&
		check git -C store verify-pack objects/pack/pack-x.idx &&
		check git -C store fsck --no-dangling &&
		check git -C store -c core.bigFileThreshold=1 fsck --no-dangling
	'

	test_expect_success "fsck says so of $kind in a loose object" '
		rm -rf store && git init -q --bare store &&
		oid=$(git hash-object content) &&
		mkdir store/objects/$(echo $oid | cut -c1-2) &&
		write_stream $kind "blob $(test_file_size content)" \
			store/objects/$(test_oid_to_path $oid) content &&
		check git -C store fsck --no-dangling &&
		check git -C store -c core.bigFileThreshold=1 fsck --no-dangling
	'
done

for kind in length-285 length-286
do
	case $kind in
	length-285) expect="^exit 0" ;;
	*) expect="inflate: data stream error" ;;
	esac

	test_expect_success "rev-list --verify-objects says so of a tag with $kind" '
		rm -rf store && git init -q --bare store &&
		tree=$(git -C store mktree </dev/null) &&
		cat >begin <<-EOF &&
		object $tree
		type tree
		tag tag
		tagger $GIT_COMMITTER_NAME <$GIT_COMMITTER_EMAIL> 1 +0000

		EOF
		size=$(($(test_file_size begin) + 259)) &&
		write_stream $kind "tag ${size}NUL$(cat begin)$LF$LF" stream content &&
		cat begin content >tag &&
		oid=$(git hash-object -t tag tag) &&
		mkdir -p store/objects/$(echo $oid | cut -c1-2) &&
		cp stream store/objects/$(test_oid_to_path $oid) &&
		check git -C store rev-list --objects --verify-objects $oid
	'
done

test_done
