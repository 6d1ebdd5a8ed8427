#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The processes of one host. Succeeds if all do.
# usage: host.sh PROGRAM LIBRARY DIR RANKS PROVIDER RANK...
#   DIR gets the output and the log of each. SETTING_R, where it is set, is what rank R has
#   in its environment, as VARIABLE=VALUE, several with spaces between.
set -u

program=$1 library=$2 dir=$3 ranks=$4 provider=$5
shift 5
pids=()
for rank; do
	[ "$rank" -lt "$ranks" ] || continue
	setting=SETTING_$rank
	read -r -a settings <<<"${!setting:-}"
	env "${settings[@]}" "$program" "$library" "$dir" "$rank" "$ranks" "$provider" \
		>"$dir/out.$rank" 2>"$dir/log.$rank" &
	pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
	wait "$pid" || status=1
done
exit $status
