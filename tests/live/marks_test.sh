# Marks, frame boundaries, clocks and names from perf maps.
# shellcheck shell=bash

marks() { # KIND NAME: "HITS CHOSEN SUM" of the markers of that kind and name
	"$BUILD/live/show_marks" s.fperf | awk -F '\t' -v kind="$1" -v name="$2" \
		'$1 == "marker" && $2 == kind && $3 == name { print $5, $6, $7 }'
}

is() { # GOT WANTED WHAT
	[ "$1" = "$2" ] || die "$3: '$1' instead of '$2'"
}

test_marks_and_scopes_are_all_there() {
	record --frame off --mark "$TARGETS/caller:caller_mark" --mark "$TARGETS/caller:caller_mark=again" \
		--scope "$TARGETS/caller:caller_scope_begin,$TARGETS/caller:caller_scope_end=loop" -- "$TARGETS/caller" 500
	valid
	is "$(marks mark caller_mark)" "500 0 7000" "every call, with its arguments 1, 2, 3"
	is "$(marks mark again)" "500 0 7000" "one function, two names"
	is "$(marks begin loop | cut -d ' ' -f 1)" 500 "begins"
	is "$(marks end loop | cut -d ' ' -f 1)" 500 "ends"
}

test_marks_by_file_offset() {
	local offset
	offset=$(python3 - "$TARGETS/caller" <<-'P'
		import subprocess, sys
		address = next(int(l.split()[0], 16) for l in subprocess.check_output(["nm", sys.argv[1]], text=True).splitlines()
		               if l.endswith(" caller_mark"))
		for l in subprocess.check_output(["readelf", "-lW", sys.argv[1]], text=True).splitlines():
		    f = l.split()
		    if f and f[0] == "LOAD" and int(f[2], 16) <= address < int(f[2], 16) + int(f[4], 16):
		        print(hex(address - int(f[2], 16) + int(f[1], 16)))
	P
	)
	record --frame "$TARGETS/caller:+$offset" -- "$TARGETS/caller" 300
	valid
	"$BUILD/live/show_marks" s.fperf | grep -q $'^marker\tframe\t.*\t300\t1\t' || die "not 300 marks at $offset"
	record --frame "$TARGETS/caller:+0x40" -- "$TARGETS/caller" 10 2>err.log || :
	says 'no code at file offset' record.log
}

test_what_can_not_be_marked_is_told() {
	record --frame "$TARGETS/caller:no_such_function" -- "$TARGETS/caller" 10
	says "defines no function 'no_such_function'" record.log
	record --frame off --mark "$TARGETS/nowhere:f" -- "$TARGETS/caller" 10
	says 'no probe was attached' record.log
	record -- "$TARGETS/caller" 10
	says 'name the function that is called once a frame' record.log
}

test_marks_by_a_mere_name_from_the_first_call_on() {
	cp "$TARGETS/caller" .
	record --frame caller:caller_mark -- ./caller 50
	valid
	is "$(marks frame caller_mark)" "50 1 700" "found in the current directory before it was started"
}

test_marks_in_a_library_opened_late() {
	record --frame off --mark plugin.so:plugin_work --mark "$TARGETS/plugin.so:plugin_inner" -- \
		"$TARGETS/late_library" "$TARGETS/plugin.so"
	valid
	is "$(marks mark plugin_inner | cut -d ' ' -f 1)" 1 "the file is known before it is opened"
}

test_marks_are_of_the_target_only() {
	"$TARGETS/ticker" 400 3 >/dev/null &
	"$TARGETS/ticker" 300 3 >count & local target=$!
	record --frame "$TARGETS/ticker:ticker_frame" -p $target
	wait
	local got
	got=$(marks frame ticker_frame | cut -d ' ' -f 1)
	[ "$got" -gt 100 ] && [ "$got" -le "$(cat count)" ] || die "$got frames of $(cat count)"
}

test_names_of_compiled_code() {
	record --frame off -- "$TARGETS/jit" 1.5
	valid
	"$BUILD/live/show_marks" s.fperf >shown
	grep -q $'^jit\t.*\tvoid Game::spin(int, float) \\[inlined twice\\]$' shown || die "the name with spaces is missing"
	grep -q $'^jit\t.*\tplain$' shown || die "the name without 0x is missing"
	[ "$(grep -c '^jit' shown)" -ge 2 ] || die "names are missing"
}

test_names_of_compiled_code_in_a_container() {
	cat >inside.sh <<-'X'
		exec 3<"$1" && mount -t tmpfs tmpfs /tmp && exec /proc/self/fd/3 1.5
	X
	record --frame off -- unshare -fpm --mount-proc bash "$PWD/inside.sh" "$TARGETS/jit"
	valid
	"$BUILD/live/show_marks" s.fperf | grep -q $'^jit\t.*\tvoid Game::spin' || die "the container's perf map was not found"
	for map in /tmp/perf-*.map; do
		! grep -qs 'Game::spin' "$map" || die "the map was not private: $map"
	done
}

test_clocks_by_made_up_events() {
	"$BUILD/live/inject_freq" || die "freq.bpf.c"
}

test_doctor_agrees_that_recording_works() {
	exits_with 0 "$FP" doctor
	says 'Recording is possible here' out.log
	"$FP" doctor --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["possible"] and r["schema"] == "frameperf.doctor/1"
assert all(c["lost"] and c["advice"] for c in r["capabilities"] if c["state"] != "works")
assert {c["name"] for c in r["capabilities"] if c["state"] == "works"} >= {"uprobes", "cpu-clock", "BPF ring buffer"}
	' || die "doctor --json"
	exits_with 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$FP" doctor
	says 'run as root' out.log
}

# Libraries that are called as the real ones are, and a program that first presents by SDL alone, then loads GLX, which
# SDL from then on presents through.
present_libraries() {
	cat >sdl.c <<-'X'
		void (*below)(void *, unsigned long);
		__attribute__((noinline)) void SDL_RenderPresent(void *renderer) { if (below) below(renderer, 7); }
	X
	echo 'void glXSwapBuffers(void *d, unsigned long s) { __asm__ volatile("" : : "r"(d), "r"(s)); }' >glx.c
	cat >game.c <<-'X'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		extern void (*below)(void *, unsigned long);
		void SDL_RenderPresent(void *renderer);
		int main(int argc, char **argv)
		{
			for (int i = 0; i < atoi(argv[1]); i++, usleep(4000)) SDL_RenderPresent(argv);
			if (argc > 2) {
				*(void **)&below = dlsym(dlopen("libGLX.so.0", RTLD_NOW), "glXSwapBuffers");
				for (int i = 0; i < atoi(argv[2]); i++, usleep(4000)) SDL_RenderPresent(argv);
			}
			return 0;
		}
	X
	mkdir -p lib
	cc -O1 -shared -fPIC -Wl,-soname,libSDL2-2.0.so.0 sdl.c -o lib/libSDL2-2.0.so.0
	cc -O1 -shared -fPIC -Wl,-soname,libGLX.so.0 glx.c -o lib/libGLX.so.0
	cc -O1 game.c -o game lib/libSDL2-2.0.so.0 -Wl,-rpath,'$ORIGIN/lib'
	export LD_LIBRARY_PATH=$PWD/lib
}

test_frames_of_sdl_alone() {
	present_libraries
	record -- ./game 300
	valid
	is "$(marks frame SDL_RenderPresent | awk '$1 > 0 { print $1, $2 }')" "300 1" "every frame, from the first on"
	says 'SDL_RenderPresent in libSDL2-2.0.so.0, process .*: the only one that fires' record.log
}

test_frames_when_the_boundary_changes() {
	present_libraries
	record -- ./game 300 400
	valid
	"$BUILD/live/show_marks" s.fperf
	is "$(marks frame glXSwapBuffers | awk '$1 > 0 { print $1, $2 }')" "400 1" "nearer to the driver, once it fires"
	[ "$(marks frame SDL_RenderPresent | awk '$1 > 0 { print $1 }')" -ge 300 ] || die "frames before GLX are missing"
	says 'frames: glXSwapBuffers .*; dropped: SDL_RenderPresent' record.log
}

test_frames_of_a_process_behind_a_launcher() {
	present_libraries
	record -- sh -c './game 100; ./game 200 200 & wait'
	valid
	is "$(marks frame glXSwapBuffers | awk '$1 > 0 { print $1, $2 }')" "200 1" "the second process"
}
