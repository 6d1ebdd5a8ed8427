#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_tcp.sh BUILD [ROUNDS]: tcp endpoints against bare sockets, on the loopback
# interface.
set -euo pipefail
build=$1
rounds=${2:-9}
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

# One descriptor for each idle peer, at both ends.
ulimit -n "$(ulimit -Hn)"

bare() { measure "$1" "$build/bench/tcp_socket" "${@:2}"; }
ours() { measure "$1" "$build/bench/ep_bench" "${@:2}"; }

for ((i = 0; i < rounds; i++)); do
	bare bare_lat latency 64 20000
	ours rdm_lat tcp tagged 64 20000
	ours msg_lat -e msg tcp tagged 64 20000
	bare bare_bw stream 1048576 2000
	ours rdm_bw tcp burst 1048576 2000
	ours idle_lat -i 1000 tcp tagged 64 20000
	ours msg_idle_lat -e msg -i 1000 tcp tagged 64 20000
	ours rdm_rate tcp burst 64 400000
done
printf 'tcp, %d interleaved rounds\n' "$rounds"
ratio 'rdm 64 B one way' rdm_lat 'bare socket' bare_lat
ratio 'msg 64 B one way' msg_lat 'bare socket' bare_lat
ratio 'rdm 64 B, 1000 idle' idle_lat 'with one' rdm_lat
ratio 'msg 64 B, 1000 idle' msg_idle_lat 'with one' msg_lat
ratio 'rdm 1 MiB stream' rdm_bw 'bare socket' bare_bw
for kind in best median; do
	awk -v kind="$kind" -v ns="$(figure rdm_rate "$kind")" 'BEGIN {
		printf "rdm 64 B rate, %-19s %10.2f M/s\n", kind, 1000 / ns }'
done
echo 'memory of an rdm endpoint with 1000 peers'
"$build/bench/tcp_memory"
