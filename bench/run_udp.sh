#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_udp.sh BUILD [ROUNDS [MESSAGES]]: udp endpoints against bare sockets, 64 bytes, one way.
set -euo pipefail
build=$1
rounds=${2:-15}
size=64
messages=${3:-50000}
ours=() bare=()

for ((i = 0; i < rounds; i++)); do
	bare+=("$("$build/bench/socket_pingpong" "$size" "$messages")")
	ours+=("$("$build/bench/udp_pingpong" "$size" "$messages")")
done

best() { printf '%s\n' "$@" | sort -n | head -1; }
median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }
row() {
	awk -v what="$1" -v ours="$2" -v bare="$3" 'BEGIN {
		printf "%-8s udp %8.1f ns   bare socket %8.1f ns   ratio %.3f\n",
			what, ours, bare, ours / bare }'
}

printf 'udp, %d bytes, one way, %d interleaved rounds of %d messages\n' \
	"$size" "$rounds" "$messages"
row best "$(best "${ours[@]}")" "$(best "${bare[@]}")"
row median "$(median "${ours[@]}")" "$(median "${bare[@]}")"
