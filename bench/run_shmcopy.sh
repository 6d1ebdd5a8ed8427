#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_shmcopy.sh BUILD [ROUNDS]: what a ring between two processes can carry, for each
# size of its chunks and of the ring, beside the system calls that copy from process to
# process. GB/s; of each cell the best batch of all rounds, and the median of the rounds'
# medians.
set -euo pipefail
bare=$1/bench/shm_bare
rounds=${2:-9}
mib=1048576
count=320
chunks=(4096 8192 16384 32768 65536)
rings=(65536 131072 262144 524288 1048576)
ring=(16384 262144) # the one that is compared with other ways
sizes=(4096 16384 65536 262144 1048576 4194304)
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"

huge_pages() { [ "$(cat /proc/sys/vm/nr_hugepages 2>/dev/null || echo 0)" -gt 0 ]; }

# cell SIZE NAME
cell() {
	awk -v size="$1" -v best="$(figure "$2" best)" -v median="$(figure "$2" median)" \
		'BEGIN { printf "   %6.1f %6.1f", size / best, size / median }'
}
heads() {
	for head; do printf '%12d KiB' $((head / 1024)); done
	printf '\n'
}
# table TITLE MODE: chunks down, rings across
table() {
	printf '\n%s, 1 MiB messages, ring of\n%8s' "$1" 'chunk'
	heads "${rings[@]}"
	for chunk in "${chunks[@]}"; do
		printf '%4d KiB' $((chunk / 1024))
		for size in "${rings[@]}"; do cell $mib "$2_${chunk}_$size"; done
		printf '\n'
	done
}
# row TITLE NAME: sizes of messages across
row() {
	printf '%-44s' "$1"
	for size in "${sizes[@]}"; do cell "$size" "$2_$size"; done
	printf '\n'
}

for ((i = 0; i < rounds; i++)); do
	for chunk in "${chunks[@]}"; do
		for size in "${rings[@]}"; do
			for mode in copy lone; do
				measure "${mode}_${chunk}_$size" "$bare" $mode $mib $count \
					"$chunk" "$size" warm
			done
		done
	done
	for size in "${sizes[@]}"; do
		chunk=$((size < ring[0] ? size : ring[0]))
		for kind in warm cold fresh; do
			measure "read_${kind}_$size" "$bare" read "$size" $count $kind
		done
		measure "halves_$size" "$bare" pieces "$size" $count $((size / 2)) warm
		for kind in warm cold; do
			measure "ring_${kind}_$size" "$bare" copy "$size" $count $chunk \
				"${ring[1]}" $kind
			measure "stream_${kind}_$size" "$bare" copy "$size" $count $chunk \
				"${ring[1]}" $kind stream
			measure "movsb_${kind}_$size" "$bare" copy "$size" $count $chunk \
				"${ring[1]}" $kind movsb
		done
		if huge_pages; then
			measure "huge_$size" "$bare" copy "$size" $count $chunk \
				"${ring[1]}" warm huge
		fi
		measure "lone_$size" "$bare" lone "$size" $count $chunk "${ring[1]}" warm
	done
done
printf '%d interleaved rounds; GB/s, best and median\n' "$rounds"
table 'a stream through a ring' copy
table 'one message at a time through a ring' lone
printf '\nby size of the message; rings of %d KiB in chunks of %d KiB\n%44s' \
	$((ring[1] / 1024)) $((ring[0] / 1024)) ''
heads "${sizes[@]}"
row 'process_vm_readv, warm' read_warm
row 'process_vm_readv, out of the caches' read_cold
row 'process_vm_readv into untouched pages' read_fresh
row 'half written, half read, at the same time' halves
row 'ring, stream, warm' ring_warm
if huge_pages; then row 'ring in a huge page, warm' huge; fi
row 'ring, one at a time, warm' lone
row 'ring, stream, out of the caches' ring_cold
row 'ring, rep movsb at the receiver, warm' movsb_warm
row '... out of the caches' movsb_cold
row 'ring, non-temporal at the receiver, warm' stream_warm
row '... out of the caches' stream_cold
