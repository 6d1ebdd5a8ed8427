#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_verbs.sh BUILD [ROUNDS [DEVICE [SIZE...]]]: connected endpoints of verbs next to perftest's
# programs on the bare device, both ends on this host. Both sides are pinned to the same
# cores. To and fro: the best and the median of single messages; streams: the time for one
# message of all of them. Where there is no device it runs in a guest with soft-RoCE
# (tests/vm), if there can be one.
set -euo pipefail
build=$1
rounds=${2:-5}
device=${3:-rxa}
sizes=("${@:4}")
[ ${#sizes[@]} -gt 0 ] || sizes=(64 4096 65536 1048576)
# shellcheck source=bench/figures.sh
. "$(dirname "$0")/figures.sh"
if [ ! -e "/sys/class/infiniband/$device" ]; then
	status=0
	bash "$(dirname "$0")/../tests/vm/guest-run" -t 1200 bash "$0" "$build" "$rounds" "$device" \
		"${sizes[@]}" ||
		status=$?
	[ $status = 77 ] || exit $status
	exit 0
fi
# FI_VERBS_INLINE_SIZE: up to so many bytes a message may be injected.
inline=${FI_VERBS_INLINE_SIZE:-256}
cores=("${BENCH_CORE0:-0}" "${BENCH_CORE1:-1}")
export LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

row() { measure "$1" ours -e msg "${@:2}"; }

# both PROGRAM ARGUMENTS...: the client's line of figures. The client comes when the
# server listens.
both() {
	local server i
	timeout 60 taskset -c "${cores[1]}" "$1" -d "$device" -F "${@:2}" >"$figures/server" 2>&1 &
	server=$!
	for ((i = 0; i < 100; i++)); do
		if timeout 60 taskset -c "${cores[0]}" "$1" -d "$device" -F "${@:2}" 127.0.0.1 \
			>"$figures/client" 2>&1; then
			wait $server
			awk '/^ *[0-9]+ +[0-9]+ / { line = $0 } END { print line }' \
				"$figures/client"
			return
		fi
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	cat "$figures/server" "$figures/client" >&2
	return 1
}

# Microseconds: the least is the third column, the median the fifth. Where the clock of an
# emulated processor cannot be calibrated, they are "inf" and left out.
bare_latency() { # NAME PROGRAM SIZE COUNT
	both "$2" -s "$3" -n "$4" | awk '$5 + 0 > 0 && $5 != "inf" {
		print $3 * 1000, $5 * 1000 }' >>"$figures/$1"
}

# Mebibytes a second on average are the fourth column; in decimals enough for all sizes.
bare_stream() { # NAME PROGRAM SIZE COUNT
	both "$2" -s "$3" -n "$4" |
		awk '{ ns = $1 / ($4 * 1.048576e6) * 1e9; print ns, ns }' >>"$figures/$1"
}

for ((i = 0; i < rounds; i++)); do
	for size in "${sizes[@]}"; do
		count=$((size > 65536 ? 100 : 1000))
		bare_latency "send_lat$size" ib_send_lat "$size" "$count"
		row "msg$size" -b 1 verbs msg "$size" "$count"
		[ "$size" -gt "$inline" ] || row "inject$size" -b 1 verbs msg_inject "$size" "$count"
		bare_latency "write_lat$size" ib_write_lat "$size" "$count"
		row "write$size" -b 1 verbs write "$size" "$count"
		count=$((size > 65536 ? 192 : 1920))
		bare_stream "send_bw$size" ib_send_bw "$size" "$count"
		row "stream$size" -b "$count" verbs msg_slide "$size" "$count"
	done
done
printf 'verbs, %d interleaved rounds\n' "$rounds"
for size in "${sizes[@]}"; do
	ratio "messages to and fro, $size B" "msg$size" ib_send_lat "send_lat$size"
	[ "$size" -gt "$inline" ] ||
		ratio "the same, injected, $size B" "inject$size" ib_send_lat "send_lat$size"
	ratio "writes to and fro, $size B" "write$size" ib_write_lat "write_lat$size"
	ratio "stream, $size B" "stream$size" ib_send_bw "send_bw$size"
done
