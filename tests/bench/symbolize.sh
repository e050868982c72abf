#!/bin/sh
# symbolize.sh [BUILD [COPIES]]: makes a C++ library with about 13 MB of DWARF for each of COPIES (default 15: 200 MB) and
# prints how long its names take. BUILD holds libframeperf.a (make BUILD=…). Needs g++, lld and two minutes.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd) copies=${2:-15}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

sh "$top/tests/bench/big_unit.sh" >unit.cc
g++ -g -O1 -fPIC -c unit.cc -o unit.o
i=1
while [ "$i" -le "$copies" ]; do
	objcopy --prefix-symbols="c${i}_" unit.o "copy$i.o"
	i=$((i + 1))
done
ld.lld -shared --unresolved-symbols=ignore-all --build-id=sha1 copy*.o -o big.so
size -A big.so | awk '/debug/ { sum += $2 } END { printf "%.0f MB of DWARF\n", sum / 1e6 }'
cc -O2 -std=c17 -D_GNU_SOURCE -I"$top/include" -I"$top/userspace" "$top/tests/bench/symbolize.c" "$build/libframeperf.a" \
	-ldw -lelf -lzstd -llzma -liberty -lpthread -o symbolize
for count in 100 1000 20000; do
	./symbolize "$dir/big.so" $count
done
./symbolize "$dir/big.so" 20000 elf
