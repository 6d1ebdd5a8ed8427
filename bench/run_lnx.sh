#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_lnx.sh BUILD [ROUNDS]: what linking costs. Endpoints of shm and tcp as they are, and
# the same through lnx with that link alone, and with both links where messages take the
# first. Rounds of all are interleaved; the best of the bests is shown, and the median
# of the medians.
set -euo pipefail
build=$1
rounds=${2:-9}
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT

# measure NAME LINKS PROVIDER TEST SIZE COUNT
measure() {
	FI_LNX_PROV_LINKS=$2 "$build/bench/ep_bench" "${@:3}" >>"$out/$1"
}

figure() {
	case $2 in
	best) cut -d' ' -f1 "$out/$1" | sort -n | head -1 ;;
	median) cut -d' ' -f2 "$out/$1" | sort -n | sed -n "$(((rounds + 1) / 2))p" ;;
	esac
}

# row WHAT BARE LINKED KIND
row() {
	awk -v what="$1 $4" -v bare="$(figure "$2" "$4")" -v ours="$(figure "$3" "$4")" \
		'BEGIN { printf "%-34s %12.1f ns   bare %12.1f ns   ratio %.3f\n",
			what, ours, bare, ours / bare }'
}

tests=(
	'shm tagged 8 20000' 'shm window 64 200000' 'shm slide 1048576 400'
	'tcp tagged 64 10000' 'tcp window 64 200000' 'tcp slide 1048576 400'
)
link_of() { [ "$1" = tcp ] && echo tcp:lo || echo "$1"; }

for ((i = 0; i < rounds; i++)); do
	for test in "${tests[@]}"; do
		read -r provider name size count <<<"$test"
		id=${provider}_${name}_$size
		measure "$id" '' "$provider" "$name" "$size" "$count"
		measure "lnx_$id" "$(link_of "$provider")" lnx "$name" "$size" "$count"
		[ "$provider" = tcp ] ||
			measure "both_$id" shm+tcp:lo lnx "$name" "$size" "$count"
	done
done
printf 'lnx, %d interleaved rounds, time of one message\n' "$rounds"
for kind in best median; do
	for test in "${tests[@]}"; do
		read -r provider name size count <<<"$test"
		id=${provider}_${name}_$size
		row "lnx over $provider, $name $size B" "$id" "lnx_$id" "$kind"
		[ "$provider" = tcp ] ||
			row "lnx over shm+tcp, $name $size B" "$id" "both_$id" "$kind"
	done
done
