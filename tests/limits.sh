# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced: time limits of tests for scripts, as time_limits.h has them for programs.

# limit_factor: one plus the processes that were ready to run for each processor, over
# the last minute; 8 at most. WEFT_LOAD is that number where another machine counts.
limit_factor() {
	local load cores factor
	[ -z "${WEFT_LOAD:-}" ] || { echo "$WEFT_LOAD"; return; }
	read -r load _ </proc/loadavg
	cores=$(nproc)
	factor=$((1 + ${load%.*} / cores))
	echo $((factor < 8 ? factor : 8))
}

# limit_s SECONDS: so many on an idle machine.
limit_s() {
	echo $(($1 * $(limit_factor)))
}
