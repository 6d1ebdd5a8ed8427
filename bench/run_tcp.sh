#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_tcp.sh BUILD [ROUNDS]: tcp endpoints against bare sockets, on the loopback
# interface. The sockets have the system's congestion control, and once more the one that
# tcp endpoints choose within one machine.
set -euo pipefail
build=$1
rounds=${2:-9}
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

# One descriptor for each idle peer, at both ends.
ulimit -n "$(ulimit -Hn)"

bare() { measure "$1" "$build/bench/tcp_socket" "${@:2}"; }
row() { measure "$1" ours "${@:2}"; }

for ((i = 0; i < rounds; i++)); do
	bare bare_lat latency 64 20000
	row rdm_lat tcp tagged 64 20000
	row msg_lat -e msg tcp tagged 64 20000
	for size in 65536 262144 1048576; do
		count=$((2000 * 1048576 / size))
		bare "bare_bw$size" stream "$size" "$count"
		bare "reno_bw$size" stream "$size" "$count" reno
		row "rdm_bw$size" tcp burst "$size" "$count"
		row "msg_bw$size" -e msg tcp burst "$size" "$count"
	done
	row idle_lat -i 1000 tcp tagged 64 20000
	row msg_idle_lat -e msg -i 1000 tcp tagged 64 20000
	row rdm_rate tcp burst 64 400000
	row inject_rate tcp slide_inject 64 400000
	row window_rate tcp window_inject 64 100000
	bare reno_lat latency 64 20000 reno
done
printf 'tcp, %d interleaved rounds\n' "$rounds"
ratio 'rdm 64 B one way' rdm_lat 'bare socket' bare_lat
ratio 'msg 64 B one way' msg_lat 'bare socket' bare_lat
ratio 'rdm 64 B one way' rdm_lat 'bare, reno' reno_lat
ratio 'msg 64 B one way' msg_lat 'bare, reno' reno_lat
ratio 'rdm 64 B, 1000 idle' idle_lat 'with one' rdm_lat
ratio 'msg 64 B, 1000 idle' msg_idle_lat 'with one' msg_lat
for size in 65536 262144 1048576; do
	for type in rdm msg; do
		what="$type $((size / 1024)) KiB stream"
		ratio "$what" "${type}_bw$size" 'bare socket' "bare_bw$size"
		ratio "$what" "${type}_bw$size" 'bare, reno' "reno_bw$size"
	done
done
rate() {
	local kind
	for kind in best median; do
		awk -v what="$1, $kind" -v ns="$(figure "$2" "$kind")" 'BEGIN {
			printf "%-34s %10.2f M/s\n", what, 1000 / ns }'
	done
}
rate 'rdm 64 B rate' rdm_rate
rate 'rdm 64 B rate, injected' inject_rate
rate 'rdm 64 B rate, injected, answers' window_rate
echo 'memory of an rdm endpoint with 1000 peers'
"$build/bench/tcp_memory"
