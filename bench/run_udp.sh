#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_udp.sh BUILD [ROUNDS [ITERATIONS]]: udp endpoints against bare sockets, 64 bytes, one
# way.
set -euo pipefail
build=$1
rounds=${2:-15}
iterations=${3:-20000}
size=64
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

for ((i = 0; i < rounds; i++)); do
	measure bare "$build/bench/socket_pingpong" "$size" "$iterations"
	measure ours ours -e dgram udp msg "$size" "$iterations"
done
printf 'udp, %d bytes, one way, %d interleaved rounds of %d iterations\n' \
	"$size" "$rounds" "$iterations"
ratio 'udp 64 B one way' ours 'bare socket' bare
