#!/bin/sh
# symbolize.sh [BUILD [COPIES]]: makes a C++ library with about 13 MB of DWARF for each of COPIES (default 15: 200 MB) and
# prints how long its names take. BUILD holds libframeperf.a (make BUILD=…). Needs g++, lld and two minutes.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd) copies=${2:-15}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

{
	cat <<-'END'
	#include <algorithm>
	#include <functional>
	#include <map>
	#include <string>
	#include <unordered_map>
	#include <vector>
	volatile int sink;
	template <int N, class T> struct Component {
		std::vector<T> items;
		std::map<int, T> by_key;
		int update(int x)
		{
			for (auto &i : items)
				sink += (int)(i * x + N);
			std::sort(items.begin(), items.end(), [&](const T &a, const T &b) { return a * sink < b * sink + N; });
			return sink;
		}
		int insert(int k, T t)
		{
			by_key[k] = t;
			items.push_back(t);
			auto it = by_key.lower_bound(N);
			return it == by_key.end() ? 0 : (int)it->second;
		}
	};
	END
	i=0
	while [ $i -lt 160 ]; do
		case $((i % 4)) in 0) t=int ;; 1) t=float ;; 2) t=double ;; *) t=long ;; esac
		echo "int f$i(int x) { Component<$i, $t> c; c.insert(x, ($t)x); std::unordered_map<std::string, Component<$i, $t>> u;" \
			"u[\"a\"] = c; std::function<int(int)> g = [&](int y) { return c.update(y) + (int)u.size(); }; return g(x); }"
		i=$((i + 1))
	done
} >unit.cc
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
