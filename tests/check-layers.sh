#!/bin/sh
# Dependencies point one way: proves from the includes which folder of userspace/ uses which, and which library may be
# used where. Prints each violation as file:line and fails if there is one.
set -eu
cd "$(dirname "$0")/.."
bad=0

allowed() { # what a folder may include, besides itself and include/frameperf
	case $1 in
	base) echo "" ;;
	elf) echo "base" ;;
	session) echo "base" ;;
	unwind) echo "elf base" ;;
	aggregate) echo "session elf base" ;;
	capture) echo "aggregate unwind session elf base" ;;
	symbolize) echo "session elf base" ;;
	analyze) echo "symbolize session base" ;;
	output) echo "analyze symbolize session base" ;;
	*) echo "unknown-folder" ;;
	esac
}

for dir in userspace/*/; do
	layer=$(basename "$dir")
	may=" $layer $(allowed "$layer") frameperf "
	for hit in $(grep -noE '^#[[:space:]]*include[[:space:]]+"[a-z_]+/' "$dir"*.c "$dir"*.h 2>/dev/null | sed -E 's/^([^:]+:[0-9]+):.*"([a-z_]+)\//\1=\2/'); do
		used=${hit#*=}
		case $may in *" $used "*) ;; *) echo "${hit%=*}: $layer/ may not use $used/" >&2; bad=1 ;; esac
	done
done

only() { # header pattern, folders that may include it
	pattern=$1; shift
	for file in $(grep -lE "^#[[:space:]]*include[[:space:]]+[<\"]$pattern" userspace/*/*.[ch] tools/*.[ch] 2>/dev/null || :); do
		folder=$(dirname "$file"); folder=${folder#userspace/}
		case " $* " in *" $folder "*) ;; *) echo "$file: only $* may include $pattern" >&2; bad=1 ;; esac
	done
}
only 'bpf/' capture
only '[a-z_]*\.skel\.h' capture
only 'zstd' session
only 'elfutils/' symbolize unwind elf
only 'dwarf\.h' symbolize unwind elf
only '(libelf|gelf)\.h' symbolize unwind elf
only 'jansson' output tools
only 'ini\.h' tools

if grep -nE '\b(exit|abort|_exit|printf|puts|perror|fprintf)[[:space:]]*\(' userspace/*/*.c |
	grep -vE 'snprintf|fprintf\((out|file|stream)|/\* after fork \*/|userspace/output/' >&2; then
	echo "nothing below tools/ exits or prints" >&2; bad=1
fi
[ "$bad" = 0 ] && echo "layers: in order"
exit $bad
