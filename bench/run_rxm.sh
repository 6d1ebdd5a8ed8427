#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_rxm.sh BUILD [ROUNDS]: what ofi_rxm costs over the connected endpoints of tcp that
# it stands on, on the loopback interface; and peers that it reaches by shared memory, next
# to endpoints of tcp, which reach them so as well, and of shm.
set -euo pipefail
build=$1
rounds=${2:-9}
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

tests=('tagged 64 20000 one way' 'tagged 4096 20000 one way' 'burst 65536 8000 stream'
	'burst 1048576 2000 stream')
local_tests=('tagged 8 400000 one way' 'tagged 64 400000 one way'
	'tagged 4096 100000 one way' 'slide 64 400000 stream' 'burst 1048576 2000 stream')

for ((i = 0; i < rounds; i++)); do
	for row in "${tests[@]}"; do
		read -r name size count _ <<<"$row"
		measure "msg_${name}_$size" ours -e msg tcp "$name" "$size" "$count"
		FI_TCP_LOCAL=tcp measure "rxm_${name}_$size" ours 'tcp;ofi_rxm' "$name" \
			"$size" "$count"
	done
	for row in "${local_tests[@]}"; do
		read -r name size count _ <<<"$row"
		measure "local_${name}_$size" ours 'tcp;ofi_rxm' "$name" "$size" "$count"
		measure "tcp_${name}_$size" ours tcp "$name" "$size" "$count"
		measure "shm_${name}_$size" ours shm "$name" "$size" "$count"
	done
done
printf 'tcp;ofi_rxm, %d interleaved rounds\n' "$rounds"
for row in "${tests[@]}"; do
	read -r name size _ what <<<"$row"
	ratio "rxm, $size B $what" "rxm_${name}_$size" 'tcp msg' "msg_${name}_$size"
done
for row in "${local_tests[@]}"; do
	read -r name size _ what <<<"$row"
	for other in tcp shm; do
		ratio "rxm by memory, $size B $what" "local_${name}_$size" "$other" \
			"${other}_${name}_$size"
	done
done
