#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_shm.sh BUILD [ROUNDS [PROVIDER]]: shm endpoints against what the machine gives
# (shm_bare), against Debian's UCX and, where it is installed, against Debian's libfabric,
# all in one table. The batches of all programs are equally long, so that none
# has more luck than another.
set -euo pipefail
build=$1
rounds=${2:-9}
provider=${3:-shm}
here=$(dirname "$0")
core0=${BENCH_CORE0:-0}
core1=${BENCH_CORE1:-1}
# shellcheck source=bench/figures.sh
. "$here/figures.sh"

mib=1048576
# iterations of a ping-pong, messages of a stream, large messages; each run has some batches.
iterations=10000 stream=131072 large=320
port=$((20000 + $$ % 10000))

# ---- who takes part ----

debian=$(ldconfig -p | sed -n 's|^\tlibfabric\.so\.1 .* => \(.*\)/libfabric.*|\1|p' |
	head -n 1)
ucx=$(command -v ucx_perftest || true)
[ -n "$debian" ] || echo 'without libfabric1: no column for Debian' >&2
[ -n "$ucx" ] || echo 'without ucx-utils: no column for UCX' >&2

bare() { measure "bare_$1" "$build/bench/shm_bare" "${@:2}"; }

# both NAME BATCH TEST SIZE [OPTIONS...]: ours and Debian's, five batches each.
both() {
	local args=("${@:5}" -b "$2" "$provider" "$3" "$4" $((5 * $2)))
	measure "ours_$1" ours "${args[@]}"
	[ -z "$debian" ] || [ "$provider" != shm ] ||
		LD_LIBRARY_PATH=$debian measure "debian_$1" ours --timeout 10 \
			"${args[@]}" || rm -f "$figures/debian_$1"
}

# ucx NAME COUNT TEST SIZE: it tells averages only; each of five runs is a batch.
ucx() {
	[ -n "$ucx" ] || return 0
	local run line server
	for ((run = 0; run < 5; run++)); do
		port=$((port + 1))
		UCX_TLS=$ucx_tls taskset -c "$core0" timeout 60 "$ucx" -p "$port" \
			>/dev/null 2>&1 &
		server=$!
		line=
		for ((try = 0; try < 50; try++)); do
			line=$(UCX_TLS=$ucx_tls taskset -c "$core1" timeout 60 "$ucx" \
				localhost -p "$port" -t "$3" -s "$4" -n "$2" \
				-w $(($2 / 10 + 1)) -f -v 2>/dev/null | tail -1) || true
			[[ $line == [0-9]* ]] && break
			sleep 0.02
		done
		wait "$server" || true
		[[ $line == [0-9]* ]] || continue
		# overall_lat is in us: one way for a ping-pong, else for each message
		echo "$line" | awk -F, '{ printf "%.2f\n", $4 * 1000 }'
	done | sort -n | awk '{ all[NR] = $1 }
		END { if (NR) print all[1], all[int((NR + 1) / 2)] }' >>"$figures/ucx_$1"
	[ -s "$figures/ucx_$1" ] || rm -f "$figures/ucx_$1"
}

# ---- the rounds ----

for ((i = 0; i < rounds; i++)); do
	ucx_tls=posix
	bare line line $((5 * iterations))
	for size in 8 64 4096; do
		both "tagged_$size" $iterations tagged $size
		[ $size = 4096 ] || both "inject_$size" $iterations tagged_inject $size
		ucx "inject_$size" $iterations tag_lat $size
		[ $size = 4096 ] && ucx "tagged_$size" $iterations tag_lat $size
		both "msg_$size" $iterations msg $size
	done
	both idle_8 $iterations tagged_inject 8 -i 99
	both slide_inject $stream slide_inject 64
	ucx slide_inject $stream tag_bw 64
	both slide $stream slide 64
	both window $stream window 64
	both write_8 $iterations write 8
	both write_inject_8 $iterations write_inject 8
	ucx write_inject_8 $iterations ucp_put_lat 8
	both fetch_add $iterations fetch_add 8
	ucx fetch_add $iterations ucp_fadd 8

	ucx_tls=posix,cma
	bare read read $mib $large warm
	bare cold read $mib $large cold
	bare ring copy $mib $large 16384 262144 warm
	for test in slide write_slide read_slide; do
		both "${test}_1m" $large $test $mib
	done
	ucx slide_1m $large tag_bw $mib
	ucx write_slide_1m $large ucp_put_bw $mib
	ucx read_slide_1m $large ucp_get $mib
done

# ---- the table ----

# value UNIT NAME KIND: in ns, M/s or GB/s (of a MiB).
value() {
	[ -s "$figures/$2" ] || { printf '%16s' -; return; }
	awk -v unit="$1" -v best="$(figure "$2" best)" -v median="$(figure "$2" median)" '
		function of(ns) {
			return unit == "ns" ? ns : unit == "M/s" ? 1000 / ns : 1048576 / ns
		}
		BEGIN { printf "%8.1f%8.1f", of(best), of(median) }'
}
# by UNIT NAME REFERENCE: how many times the reference, best and median.
by() {
	[ -s "$figures/$2" ] && [ -s "$figures/$3" ] || { printf '%14s' -; return; }
	awk -v unit="$1" -v a="$(quotient "$2" "$3" best)" \
		-v b="$(quotient "$2" "$3" median)" 'BEGIN {
		printf "%7.2f%7.2f", unit == "ns" ? a : 1 / a,
			unit == "ns" ? b : 1 / b }'
}
# row TITLE UNIT NAME BARE
row() {
	printf '%-30s%-5s' "$1" "$2"
	value "$2" "ours_$3"
	value "$2" "bare_$4"
	value "$2" "ucx_$3"
	value "$2" "debian_$3"
	printf '  '
	by "$2" "ours_$3" "bare_$4"
	by "$2" "ours_$3" "ucx_$3"
	by "$2" "ours_$3" "debian_$3"
	printf '\n'
}

printf '%s, %d interleaved rounds; best and median of each, and ours by the others\n' \
	"$provider" "$rounds"
printf '%-35s%16s%16s%16s%16s  %14s%14s%14s\n' '' ours bare UCX 'Debian 1.17' \
	'by bare' 'by UCX' 'by Debian'
row 'tagged 8 B, one way' ns inject_8 line
row 'tagged 64 B, one way' ns inject_64 line
row 'tagged 8 B, completions' ns tagged_8 line
row 'tagged 64 B, completions' ns tagged_64 line
row 'tagged 4 KiB, completions' ns tagged_4096 line
row 'msg 8 B, completions' ns msg_8 line
row 'msg 64 B, completions' ns msg_64 line
row 'msg 4 KiB, completions' ns msg_4096 line
row 'tagged 8 B, 99 idle peers' ns idle_8 line
row 'tagged 64 B, injected' M/s slide_inject none
row 'tagged 64 B, 64 in flight' M/s slide none
row 'tagged 64 B, answer for each 64' M/s window none
row 'write 8 B, one way' ns write_inject_8 line
row 'write 8 B, completions' ns write_8 line
row 'fetch-add 8 B' ns fetch_add none
row 'tagged 1 MiB' GB/s slide_1m read
row 'write 1 MiB' GB/s write_slide_1m read
row 'read 1 MiB' GB/s read_slide_1m read
printf 'bare is a line one way, or process_vm_readv of 1 MiB; that out of the caches:'
value GB/s bare_cold
printf ';\na bare ring, 16 KiB of 256 KiB:'
value GB/s bare_ring
printf '\ntagged 8 B with 99 idle peers by without, best and median:'
by ns ours_idle_8 ours_inject_8
printf '\n'
