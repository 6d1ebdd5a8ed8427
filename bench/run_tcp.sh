#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_tcp.sh BUILD [ROUNDS]: tcp endpoints against bare sockets, on the loopback
# interface. Each round runs all of them; each run tells its best and its median batch.
# The best of the bests is shown, and the median of the medians.
set -euo pipefail
build=$1
rounds=${2:-9}
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

# One descriptor for each idle peer, at both ends.
ulimit -n "$(ulimit -Hn)"

measure() { "$build/bench/$2" "${@:3}" >>"$out/$1"; }
# pair_time halves what a turn takes; a stream has no turns.
figure() {
	case $2 in
	best) cut -d' ' -f1 "$out/$1" | sort -n | head -1 ;;
	median) cut -d' ' -f2 "$out/$1" | sort -n | sed -n "$(((rounds + 1) / 2))p" ;;
	esac
}
row() {
	awk -v what="$1 $4" -v ours="$(figure "$2" "$4")" -v bare="$(figure "$3" "$4")" \
		'BEGIN { printf "%-26s %10.1f ns   bare socket %10.1f ns   ratio %.3f\n",
			what, ours, bare, ours / bare }'
}
idle_row() {
	awk -v what="$1, 1000 idle, $4" -v many="$(figure "$2" "$4")" \
		-v one="$(figure "$3" "$4")" 'BEGIN {
		printf "%-26s %10.1f ns   with one    %10.1f ns   ratio %.3f\n",
			what, many, one, many / one }'
}

for ((i = 0; i < rounds; i++)); do
	measure bare_lat tcp_socket latency 64 20000
	measure rdm_lat tcp_bench rdm latency 64 20000
	measure msg_lat tcp_bench msg latency 64 20000
	measure bare_bw tcp_socket stream 1048576 2000
	measure rdm_bw tcp_bench rdm stream 1048576 2000
	measure idle_lat tcp_bench rdm latency 64 20000 1000
	measure msg_idle_lat tcp_bench msg latency 64 20000 1000
	measure rdm_rate tcp_bench rdm stream 64 400000
done
printf 'tcp, %d interleaved rounds\n' "$rounds"
for kind in best median; do
	row 'rdm 64 B one way' rdm_lat bare_lat "$kind"
	row 'msg 64 B one way' msg_lat bare_lat "$kind"
	idle_row rdm idle_lat rdm_lat "$kind"
	idle_row msg msg_idle_lat msg_lat "$kind"
	row 'rdm 1 MiB stream, half' rdm_bw bare_bw "$kind"
	awk -v kind="$kind" -v ns="$(figure rdm_rate "$kind")" 'BEGIN {
		printf "rdm 64 B rate %-12s %10.2f M/s\n", kind, 500 / ns }'
done
echo 'memory of an rdm endpoint with 1000 peers'
"$build/bench/tcp_memory"
