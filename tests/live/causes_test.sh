# Faults of known kind, place and length in a program built like a game: frameperf must name cause, thread, place and
# culprit, and stay silent about ordinary frames. See tests/workloads/game.h and judge.py.
# shellcheck shell=bash
# CAUSES_SEED=N repeats a run; by default every run is another.

: "${CAUSES_SEED:=$(($(date +%s) % 1000000))}"

# play VARIANT SECONDS GAME-ARGS...: records the game into s.fperf, with its log in truth.jsonl. It runs at real-time
# priority, so that other load of the machine adds no faults of its own.
play() {
	local game=$BUILD/workloads/game-$1 seconds=$2
	shift 2
	note "seed $CAUSES_SEED"
	record --frame "$game:game_present" -- chrt -r 10 "$game" --seed "$CAUSES_SEED" --seconds "$seconds" \
		--truth truth.jsonl --directory /var/tmp "$@"
	valid
}

judge() { # ARGS...: of judge.py
	"$FP" report s.fperf --json >report.json
	"$FP" report s.fperf --json --budget 0.001 >all.json # every frame is slow then: for the ledgers
	python3 "$TOP/tests/live/judge.py" truth.jsonl report.json --all-frames all.json "$@" >judged.log || {
		cat judged.log
		die "verdicts do not hold up against the truth"
	}
	cat judged.log
	note "$(grep -E '^(all|ordinary|ledgers)' judged.log | tr -s ' ' | tr '\n' ';')"
}

test_causes_without_frame_pointers() {
	play nofp 60 --faults 240 --rate 90
	judge --least-faults 200
}

test_causes_with_frame_pointers() {
	play fp 60 --faults 240 --rate 120
	judge --least-faults 200
}

test_no_causes_without_faults() {
	play nofp 12 --no-faults --rate 60
	judge --no-faults
	CAUSES_SEED=$((CAUSES_SEED + 1))
	play nofp 12 --no-faults --rate 120
	judge --no-faults
}
