# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# For run_*.sh: figures of several interleaved rounds. Each run of a program tells its best
# and its median; of all rounds the best of the bests counts, and the median of the
# medians.
figures=$(mktemp -d)
trap 'rm -r "$figures"' EXIT

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
	case $3 in
	best) echo "$(figure "$1" best) $(figure "$2" best)" | awk '{ print $1 / $2 }' ;;
	median) paste -d' ' "$figures/$1" "$figures/$2" | awk 'NF >= 4 { print $2 / $4 }' |
		sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }' ;;
	esac
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
