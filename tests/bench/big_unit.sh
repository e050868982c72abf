#!/bin/sh
# C++ source on standard output that compiles into about 13 MB of DWARF: 160 functions over templates.
set -eu
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
