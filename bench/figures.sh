# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# For run_*.sh: figures of several interleaved rounds. Each run of a program tells its best
# and its median; of all rounds the best of the bests counts, and the median of the
# medians. Where BENCH_RESULTS names a file of bench/results, figures and ratios are added
# to it when the script ends.
figures=$(mktemp -d)
keep=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/keep.py

finish() {
	local status=$?
	if [ "$status" = 0 ] && [ -n "${BENCH_RESULTS:-}" ]; then
		python3 "$keep" figures "$BENCH_RESULTS" "${0##*/}" "$figures" ||
			echo "$BENCH_RESULTS: nothing is added" >&2
	fi
	rm -r "$figures"
}
trap finish EXIT

# fi_bench OPTION...: as CSV, on two cores, without what takes time besides the messages:
# buffers that are touched (the programs without a library do not touch theirs, either)
# and single messages that are timed.
fi_bench() {
	"${build:?}/tools/fi_bench" -C "${BENCH_CORE0:-0}:${BENCH_CORE1:-1}" --touch no \
		--percentiles no --label bench --csv - "$@"
}

# ours [-e TYPE] [-i IDLE] [-b BATCH] PROVIDER TEST SIZE COUNT: best and median time in ns
# of a message, of batches of BATCH. Rows of messages to and fro are called by their call
# (tagged, msg, write), streams by when the next message is started (burst, window,
# slide); with _inject nothing has a completion.
ours() {
	local args=() batch=
	while [[ $1 == -* ]]; do
		[ "$1" = -b ] && batch=$2 || args+=("$1" "$2")
		shift 2
	done
	local provider=$1 test=$2 size=$3 count=$4
	[[ $test != *_inject ]] || args+=(--inject)
	case ${test%_inject} in
	tagged | msg) args+=(-t latency --call "${test%_inject}") ;;
	write) args+=(-t write_latency) ;;
	fetch_add) args+=(-t fetch_add) ;;
	write_slide) args+=(-t write_bandwidth -w 64) ;;
	read_slide) args+=(-t read_bandwidth -w 64) ;;
	window) args+=(-t bandwidth -w 64 --flow answer) ;;
	msg_slide) args+=(-t bandwidth -w 64 --call msg) ;;
	burst | slide) args+=(-t bandwidth -w 64 --flow "${test%_inject}") ;;
	esac
	if [ -z "$batch" ]; then
		case ${test%_inject} in
		tagged | msg | write | fetch_add) batch=100 ;;
		*) batch=$((size > 65536 ? 256 : 4096)) ;;
		esac
	fi
	fi_bench "${args[@]}" -p "$provider" -s "$size" -n "$count" --batch "$batch" |
		awk -F, 'NR == 2 { print $13, $14 }'
}

# measure NAME PROGRAM ARGUMENTS...
measure() { "${@:2}" >>"$figures/$1"; }

# figure NAME best|median
figure() {
	case $2 in
	best) cut -d' ' -f1 "$figures/$1" | sort -n | head -1 ;;
	median) cut -d' ' -f2 "$figures/$1" | sort -n |
		awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }' ;;
	esac
}

# quotient NAME REFERENCE best|median: the median is that of the quotients of each round,
# in which the two ran one after the other, because the machine changes its pace.
quotient() {
	local value
	case $3 in
	best) value=$(echo "$(figure "$1" best) $(figure "$2" best)" |
		awk '{ print $1 / $2 }') ;;
	median) value=$(paste -d' ' "$figures/$1" "$figures/$2" |
		awk 'NF >= 4 { print $2 / $4 }' | sort -n |
		awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }') ;;
	esac
	[ -z "$value" ] || echo "$1 $2 $3 $value" >>"$figures/ratios"
	echo "$value"
}

# ratio TITLE NAME REFERENCE-TITLE REFERENCE: a line for the best and one for the median.
ratio() {
	local kind
	for kind in best median; do
		awk -v what="$1, $kind" -v ours="$(figure "$2" "$kind")" -v title="$3" \
			-v bare="$(figure "$4" "$kind")" \
			-v ratio="$(quotient "$2" "$4" "$kind")" 'BEGIN {
			printf "%-34s %10.1f ns   %-12s %10.1f ns   ratio %.3f\n",
				what, ours, title, bare, ratio }'
	done
}
