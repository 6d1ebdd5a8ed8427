# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Shared by the tests of fi_bench. Numbers of messages are small: nothing is measured
# here, only that all is done and told.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
few=(--count 32 --batch 8 --warmup 8 --timeout "$(limit_s 20)")

bench() { # OPTION... : over our library
	with ours "$WEFT_BUILD/tools/fi_bench" "$@"
}

# succeeds NAME OPTION...: leaves the output in $scratch/out.
succeeds() {
	local name=$1 status=0
	shift
	bench "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	if [ "$status" = 0 ]; then
		echo "$name: done"
		return
	fi
	fail "$name: exits with $status"
	cat "$scratch/out" "$scratch/err"
}

# fails STATUS PATTERN OPTION...: with that status, and a line of that pattern.
fails() {
	local wanted=$1 pattern=$2 status=0
	shift 2
	bench "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" = "$wanted" ] || fail "$*: exits with $status, not $wanted"
	grep -qE "$pattern" "$scratch/err" || {
		fail "$*: does not say '$pattern'"
		cat "$scratch/err"
	}
	echo "$*: refused"
}

results() { # csv|json|svg FILE WHAT
	python3 "$here/results.py" "$@" || fail "$1: $3"
}
