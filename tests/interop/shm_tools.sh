#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# shm, whose addresses are names: fi_info, and fi_pingpong, ours and the unmodified one of
# the distribution, both sides on our library.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"

# fi_info ARGUMENT...; prints one line of the answer.
shows() { # pattern argument...
	with ours "$our_info" -p shm -v "${@:2}" >"$scratch/out" 2>&1 ||
		{ fail "fi_info -p shm ${*:2}: $(cat "$scratch/out")"; return; }
	grep -qxE -- "$1" "$scratch/out" || fail "fi_info -p shm ${*:2}: no line '$1'"
}
shows '    src_addr: fi_shm://[0-9]+'
if getent hosts localhost >/dev/null; then
	shows '    dest_addr: fi_ns://localhost:1' -n localhost -P 1
else
	echo "localhost is not known here, not tested"
fi
with ours "$our_info" -p shm -n n0where.invalid -P 1 >/dev/null 2>&1 &&
	fail "shm reaches a host that is none"
shows '    dest_addr: mine://some' -n mine://some
shows '    src_addr: fi_shm://some' -s some
shows '    addr_format: FI_ADDR_STR' -a FI_ADDR_STR
with ours "$our_info" -p shm -a FI_SOCKADDR_IN >/dev/null 2>&1 &&
	fail "shm has Internet addresses"
with ours "$our_info" -p shm -c FI_REMOTE_COMM >/dev/null 2>&1 &&
	fail "shm reaches other machines"

# The first answer reaches every peer; shm where only this machine's are meant.
first() {
	with ours "$our_info" "$@" | sed -n '1s/^provider: //p'
}
[ "$(first)" = tcp ] || fail "the first answer is of $(first)"
[ "$(first -c FI_LOCAL_COMM)" = shm ] || fail "the first for peers here is of $(first -c FI_LOCAL_COMM)"
[ "$(first -c 'FI_LOCAL_COMM|FI_REMOTE_COMM')" = tcp ] || fail "the first for all is not of tcp"

# What is for other implementations is answered, once.
with ours env FI_SHM_USE_XPMEM=1 FI_SHM_BUFFER_THRESHOLD=4 FI_SHM_TX_SIZE=0 \
	FI_LOG_LEVEL=info FI_LOG_PROV=shm "$our_info" -p shm >/dev/null 2>"$scratch/log"
for line in 'parameter use_xpmem has no effect' 'parameter buffer_threshold has no effect' \
	'FI_SHM_TX_SIZE is "0": possible 1 to '; do
	[ "$(grep -c "$line" "$scratch/log")" = 1 ] || fail "not one line: $line"
done
grep -q 'max_gdrcopy_size' "$scratch/log" && fail "says what was not asked"
echo "fi_info: done"

rows=$(size_rows ours "$our_info" shm FI_EP_RDM) || fail "fi_info shows no shm endpoint"
for program in "$our_pingpong" "$debian_pingpong"; do
	[ -x "$program" ] || continue
	pair 127.0.0.1 ours "$program" ours "$program" -p shm -e rdm -S all -c -I 10
	check_pair "$program" "$rows"
done
finish
