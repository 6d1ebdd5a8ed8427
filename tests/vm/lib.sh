# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by the tests that run inside a guest.
# shellcheck source=tests/interop/lib.sh
. "$(dirname "$0")/../interop/lib.sh"
# shellcheck source=tests/vm/rxe.sh
. "$(dirname "$0")/rxe.sh"

conformance=$WEFT_BUILD/tests/conformance/conformance

# The distribution's layer over the device: its default queues are larger than soft-RoCE's.
debian_rxm=(FI_UNIVERSE_SIZE=8 FI_OFI_RXM_MSG_TX_SIZE=128 FI_OFI_RXM_MSG_RX_SIZE=128)

# suite CONFORMANCE_OPTION... [CASE...]: fails with the cases that did not pass.
suite() {
	local good
	timeout -k 5 "$(limit_s 560)" "$conformance" -n "$rxe_address" "$@" >"$scratch/tap" 2>"$scratch/err" ||
		fail "$*: exit status $?"
	grep -A 1 '^not ok\|^Bail out' "$scratch/tap"
	good=$(grep -c '^ok' "$scratch/tap")
	[ "$good" -gt 0 ] || fail "$*: nothing passed"
	grep -q '^1\.\.' "$scratch/tap" || fail "$*: did not reach its end"
	echo "$good cases passed, $(grep -c '# SKIP' "$scratch/tap") of them skipped"
}
