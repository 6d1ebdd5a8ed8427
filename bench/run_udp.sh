#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_udp.sh BUILD [ROUNDS [TURNS]]: udp endpoints against bare sockets, 64 bytes, one
# way. Each round runs both; each run tells its best and its median batch.
set -euo pipefail
build=$1
rounds=${2:-15}
turns=${3:-20000}
size=64
ours=() bare=()

for ((i = 0; i < rounds; i++)); do
	bare+=("$("$build/bench/socket_pingpong" "$size" "$turns")")
	ours+=("$("$build/bench/udp_pingpong" "$size" "$turns")")
done

# The best of the bests, the median of the medians.
best() { printf '%s\n' "$@" | cut -d' ' -f1 | sort -n | head -1; }
median() { printf '%s\n' "$@" | cut -d' ' -f2 | sort -n | sed -n "$((($# + 1) / 2))p"; }
row() {
	awk -v what="$1" -v ours="$2" -v bare="$3" 'BEGIN {
		printf "%-8s udp %8.1f ns   bare socket %8.1f ns   ratio %.3f\n",
			what, ours, bare, ours / bare }'
}

printf 'udp, %d bytes, one way, %d interleaved rounds of %d turns\n' \
	"$size" "$rounds" "$turns"
row best "$(best "${ours[@]}")" "$(best "${bare[@]}")"
row median "$(median "${ours[@]}")" "$(median "${bare[@]}")"
