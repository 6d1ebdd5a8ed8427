#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_bench over the distribution's libfabric, and comparisons with it and with UCX.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"

provider=${WEFT_BENCH_PROVIDERS%% *}
debian=$(ldconfig -p | sed -n 's/^\tlibfabric\.so\.1 .* => //p' | head -n 1)
[ -n "$debian" ] || skip 'the system has no libfabric'
folder=$(dirname "$debian")

run_compared() { # NAME OPTION...
	succeeds "$@" --rounds 2 "${few[@]}" -p "$provider" -s 8,4k -t latency,rate \
		--csv "$scratch/csv" --plot "$scratch/svg"
	[ "$(grep -cE '^ +(8|4k)( +[0-9.]+){6}$' "$scratch/out")" = 4 ] || {
		fail 'rows of the comparison'
		cat "$scratch/out" "$scratch/err"
	}
	[ "$(cut -d, -f1-2 "$scratch/csv" | sort -u | wc -l)" = 3 ] || fail 'two sides in CSV'
	results svg "$scratch/svg" 4
}
run_compared "with $folder" --vs "$folder"
! grep -q quiet "$scratch/out" || fail 'quiet rounds of unknown processors'
succeeds 'exchanges and ramps' --vs "$folder" --rounds 2 -p "$provider" -s 8 -n 200 \
	-D 0.001 --batch 50 --warmup 50 -t exchange,burst,ramp --csv "$scratch/csv"
[ "$(grep -cE '^ +8( +[0-9.]+){6}$' "$scratch/out")" = 2 ] || fail 'rows of exchanges'
[ "$(grep -cE '^ +8 +[0-9]+-[0-9]+( +[0-9.]+){6}$' "$scratch/out")" = 5 ] ||
	fail 'rows of ramps'
[ "$(grep -c ',101-200$' "$scratch/csv")" = 2 ] || fail 'parts of ramps in CSV'
# Which rows fail is up to the libraries; all are compared or said to have failed.
status=0
bench --vs "$folder" --rounds 1 "${few[@]}" --timeout "$(limit_s 4)" -p "$provider" -s 8 \
	-t write_latency,read_latency --silent >"$scratch/out" 2>"$scratch/err" || status=$?
case $status in
0 | 4) ;;
*) fail "silent targets compared: exits with $status" && cat "$scratch/out" "$scratch/err" ;;
esac
[ "$(grep -cE '^ +8( +([0-9.]+|-)){4,6}$' "$scratch/out")" = 2 ] || {
	fail 'rows of silent targets'
	cat "$scratch/out" "$scratch/err"
}
core=$(taskset -cp $$ | sed 's/.*[: ]\([0-9]*\).*/\1/')
succeeds 'on a processor' --vs "$folder" -C "$core" --rounds 2 "${few[@]}" -p "$provider" \
	-s 8 -t rate
grep -qE '^ +8( +[0-9.]+){6} +([0-9.]+|-)$' "$scratch/out" || fail 'ratio of quiet rounds'
grep -qE '^# quiet: the ratio of the [0-2] rounds' "$scratch/out" || fail 'number of quiet rounds'
grep -q "^# first: .*$(realpath "$our_lib")/" "$scratch/out" || fail 'library of the first side'
grep -q "^# second: .*$(realpath "$folder")/" "$scratch/out" || fail 'library of the second side'

fails 1 'No such file' --vs "$scratch"
fails 2 'one machine' --vs "$folder" host
fails 2 'one comparison' --vs "$folder" --vs-ucx
fails 1 'a measurement failed' --vs "$folder" -p bogus

if [ -x "$(command -v ucx_perftest)" ]; then
	run_compared 'with UCX' --vs-ucx --touch no
	grep -q '^# second: UCX' "$scratch/out" || fail 'UCX is not the second side'
	succeeds 'UCX lacks tests' --vs-ucx --rounds 1 "${few[@]}" -p "$provider" -s 8 \
		-t latency,exchange,burst,ramp
	[ "$(grep -cE '(exchange|burst|ramp): left out, ucx_perftest does not have it' \
		"$scratch/err")" = 3 ] || fail 'tests that UCX lacks'
	fails 2 'ucx_perftest has none' --vs-ucx -p "$provider" -t exchange
fi
finish
