# Real games under Xvfb: frames counted right, session valid, report sensible.
# shellcheck shell=bash

game() { # NAME SECONDS: records a whole run; the game's own output in game.log
	local rc=0
	"$PLAY" "$1" "$2" -- "$FP" record -o "$PWD/s.fperf" -- >game.log 2>&1 || rc=$?
	[ $rc = 0 ] || [ $rc = 124 ] || [ $rc = 143 ] || die "$1 exits with $rc: $(tail -5 game.log)"
	valid
	"$FP" report s.fperf >report.txt || die "report exits with $?"
	head -40 report.txt
	expect "frames['count'] > 100" "r['quality']['samples'] > 100" "r['quality']['stacks']['complete_share'] is not None" \
		"sum(lost.values()) <= 0.01 * r['quality']['samples'] or 'stack_skipped' in str(lost)" \
		"all(abs(l['residual_ns']) <= 0.005 * s['time_ns'] for s in slow for l in s.get('ledger') or [])"
	note "$1: $(python3 -c 'import json;r=json.load(open("report.json"));f=r["frames"];q=r["quality"];print(f["count"],"frames",round(f["fps_mean"],1),"fps,",f["marker"],"| stacks complete",round(q["stacks"]["complete_share"]*100,1),"%")')"
}

test_game_glmark2_has_exactly_1000_frames() {
	game glmark2 60
	expect "frames['count'] in (999, 1000)" "'glXSwapBuffers' in frames['marker']" # 1000 boundaries
}

test_game_dsda_doom() {
	game dsda-doom 60
	expect "1500 <= frames['count'] <= 1600"
}

test_game_vkcube() {
	game vkcube 6
	expect "'vk' in frames['marker'].lower() or 'vulkan' in frames['marker'].lower()"
}

test_game_testvulkan() {
	game testvulkan 6
	expect "'vulkan' in frames['marker'].lower() or 'vk' in frames['marker'].lower()"
}

test_game_neverball() {
	game neverball 8
}

test_game_minetest() {
	game minetest 15
	expect "thread('Server')" "thread('MeshUpdate|Emerge')"
}

test_game_es2gears() {
	game es2gears 5
	expect "'eglSwapBuffers' in frames['marker']"
}

test_game_testsprite2() {
	game testsprite2 5
	expect "'SDL_RenderPresent' in frames['marker'] or 'glXSwap' in frames['marker']"
}

test_game_attached_while_it_runs() {
	"$PLAY" vkcube 9 >game.log 2>&1 &
	local job=$! game
	wait_for 5 pgrep -n -x vkcube
	game=$(pgrep -n -x vkcube)
	sleep 1
	record -d 3 -p "$game"
	wait $job || :
	valid
	expect "frames['count'] > 300"
}
