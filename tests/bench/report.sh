#!/bin/sh
# report.sh [BUILD [ROUNDS]]: how long `report` and exports take, beside perf on the same program: a C++ program with 200 MB
# of DWARF whose functions all run, and a made-up session of 600,000 samples. Needs root, g++, lld, perf and ten minutes.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:-$top/build}" && pwd) rounds=${2:-700}
fp=$build/frameperf
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
XDG_CACHE_HOME=$dir/cache
export XDG_CACHE_HOME

timed() { # NAME COMMAND...
	name=$1
	shift
	/usr/bin/time -f "$name: %e s, %U + %S s of CPU time, %M KB" "$@" >out
}

sh "$top/tests/bench/big_unit.sh" >unit.cc
g++ -g -O1 -fPIC -c unit.cc -o unit.o
copies=$(seq 1 15) functions=$(seq 0 159)
for i in $copies; do
	nm unit.o | awk -v i="$i" '$2 == "T" && $3 ~ /^_Z[0-9]+f[0-9]+i$/ {
		name = $3; sub(/^_Z[0-9]+/, "", name); sub(/i$/, "", name); print $3, "c" i "_" name }' >names
	echo "sink c${i}_sink" >>names
	objcopy --redefine-syms=names unit.o "copy$i.o"
done
{
	echo '#include <stdlib.h>'
	for i in $copies; do for n in $functions; do echo "int c${i}_f$n(int);"; done; done
	echo 'static int (*const all[])(int) = {'
	for i in $copies; do for n in $functions; do echo "c${i}_f$n,"; done; done
	cat <<-'END'
	};
	int main(int argc, char **argv)
	{
		volatile int sum = 0;

		for (long round = argc > 1 ? atol(argv[1]) : 1; round > 0; round--)
			for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
				for (int k = 0; k < 50; k++)
					sum += all[i](k);
		return 0;
	}
	END
} >main.c
gcc -g -O1 -c main.c -o main.o
g++ -fuse-ld=lld -no-pie -Wl,--build-id=sha1 main.o copy*.o -o program
size -A program | awk '/debug/ { sum += $2 } END { printf "%.0f MB of DWARF\n", sum / 1e6 }'

"$fp" record -q -F 10000 --as-root --frame off -o program.fperf -- ./program "$rounds"
perf record -B -N -q -e cpu-clock -F 10000 --call-graph fp -o perf.data -- ./program "$rounds" >/dev/null 2>&1
ls -l program.fperf perf.data
for _ in 1 2 3; do
	rm -rf cache
	mkdir cache
	timed "report, cold" "$fp" report program.fperf
	timed "report, warm" "$fp" report program.fperf
done
"$build/bench/session_size" samples.fperf 0 samples >/dev/null
"$build/bench/session_size" game.fperf 0 game >/dev/null
for _ in 1 2 3; do
	timed "report, 600,000 samples" "$fp" report samples.fperf
	timed "report, and 1.2 million switches" "$fp" report game.fperf
done
for format in perfetto firefox pprof folded speedscope csv; do
	timed "export --to $format" "$fp" export -q game.fperf --to "$format" -o game.out
	ls -l game.out
done
# (perf 6.1 dies of the notes of some kernels; without kernel names it does not)
timed "perf report" timeout 600 perf report -i perf.data --kallsyms=/dev/null --stdio -g none || :
timed "perf script" timeout 600 perf script -i perf.data --kallsyms=/dev/null || :
