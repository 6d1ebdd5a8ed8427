#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_lnx.sh BUILD [ROUNDS]: what linking costs. Endpoints of shm and tcp as they are,
# the same through lnx with that link alone, and through lnx with both links, where
# messages take shm.
set -euo pipefail
build=$1
rounds=${2:-9}
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

bare() { measure "bare_$1_$2_$3" ours "$@"; }
# over LINKS PROVIDER TEST...: instead of that provider.
over() {
	FI_LNX_PROV_LINKS=$1 measure "$1_$2_$3_$4" ours lnx "${@:3}"
}

# test, size, count, what it is; several batches of each, because one is luck
tests=(
	'tagged 8 20000 one way' 'window 64 200000 rate' 'slide 1048576 1280 stream'
)

for ((i = 0; i < rounds; i++)); do
	for row in "${tests[@]}"; do
		read -r name size count what <<<"$row"
		bare shm "$name" "$size" "$count"
		over shm shm "$name" "$size" "$count"
		over shm+tcp:lo shm "$name" "$size" "$count"
		bare tcp "$name" "$size" "$count"
		over tcp:lo tcp "$name" "$size" "$count"
	done
done
printf 'lnx, %d interleaved rounds, time of one message\n' "$rounds"
for row in "${tests[@]}"; do
	read -r name size count what <<<"$row"
	at=${name}_$size
	ratio "shm, $size B $what" "shm_shm_$at" bare "bare_shm_$at"
	ratio "shm+tcp, $size B $what" "shm+tcp:lo_shm_$at" bare "bare_shm_$at"
	ratio "tcp, $size B $what" "tcp:lo_tcp_$at" bare "bare_tcp_$at"
done
