#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_verbs_cache.sh BUILD [ROUNDS [SIZE...]]: what the cache of registrations gains. Large
# messages and reads of verbs;ofi_rxm, whose buffers the application has not registered: a
# transfer registers them, with the cache and (FI_MR_CACHE_MAX_COUNT=0) without. Eight
# buffers in turn for each direction. Where there is no device it runs in a guest.
set -euo pipefail
build=$1
rounds=${2:-3}
sizes=("${@:3}")
[ ${#sizes[@]} -gt 0 ] || sizes=(65536 1048576)
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
if [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
	status=0
	bash "$(dirname "$0")/../tests/vm/guest-run" -t 1200 bash "$0" "$build" "$rounds" \
		"${sizes[@]}" || status=$?
	[ $status = 77 ] || exit $status
	exit 0
fi
export LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

row() { measure "$1" ours -b "$4" --buffers 8 'verbs;ofi_rxm' "$2" "$3" "$4"; }

for ((i = 0; i < rounds; i++)); do
	for size in "${sizes[@]}"; do
		count=$((size > 65536 ? 96 : 960))
		for test in slide read_slide; do
			row "on_$test$size" $test "$size" "$count"
			FI_MR_CACHE_MAX_COUNT=0 row "off_$test$size" $test "$size" "$count"
		done
	done
done
printf 'verbs;ofi_rxm, registrations kept and not, %d interleaved rounds\n' "$rounds"
for size in "${sizes[@]}"; do
	ratio "messages, $size B" "on_slide$size" 'no cache' "off_slide$size"
	ratio "reads, $size B" "on_read_slide$size" 'no cache' "off_read_slide$size"
done
