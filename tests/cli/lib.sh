# Helpers of the command line's tests. Each test runs in a scratch folder of its own, with -eu -o pipefail.
# shellcheck shell=bash

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# fp STATUS ARGS...: frameperf ends with STATUS; what it wrote is in out and err.
fp() {
	local want=$1 rc=0
	shift
	"$FP" "$@" >out 2>err || rc=$?
	echo "\$ frameperf $*"
	cat out err
	[ "$rc" = "$want" ] || die "exit status $rc instead of $want: frameperf $*"
}

has() { # FILE TEXT...: each is in the file
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -- "$text" "$file" || die "no '$text' in $file"
	done
}

lacks() { # FILE TEXT...
	local file=$1 text
	shift
	for text in "$@"; do
		! grep -qF -- "$text" "$file" || die "'$text' is in $file"
	done
}

silent() { # FILE: nothing in it
	[ ! -s "$1" ] || die "$1 is not empty"
}

commands() { # the commands, as the help lists them
	"$FP" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

no_control_characters() { # FILE: none but newlines, and all of it is UTF-8
	python3 - "$1" <<-'P'
		import sys
		text = open(sys.argv[1], 'rb').read().decode('utf-8')
		bad = sorted({c for c in text if c != '\n' and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or c == '\u202e')})
		assert not bad, bad
	P
}
