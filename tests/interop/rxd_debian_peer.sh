#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on udp;ofi_rxd talks to the distribution's on its own library, as server
# and as client; RMA and atomic operations of each library on memory of the other; and both
# with every variable of the provider set.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$debian_pingpong" "$debian_info" "$our_pingpong"
with debian "$debian_info" -p "udp;ofi_rxd" >/dev/null 2>&1 ||
	skip "the distribution has no udp;ofi_rxd"

to_debian() {
	pair 127.0.0.1 debian "$debian_pingpong" ours "$our_pingpong" \
		-p "udp;ofi_rxd" -e rdm -c "$@"
}

to_ours() {
	pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" \
		-p "udp;ofi_rxd" -e rdm -c "$@"
}

# empty_error SIDE STATUS NAME: seldom, once in more than a hundred pairs, release 1.17
# reads an error entry without an error: such a pair may be repeated once.
empty_error() {
	[ "$2" != 0 ] && grep -q 'cq_readerr: Success' "$scratch/$1.err" || return 1
	echo "$3: an error entry without an error at the distribution's $1, once more"
}

# both NAME ROWS OPTION...
both() {
	local name=$1 rows=$2
	shift 2
	to_debian "$@"
	! empty_error server "$server_status" "$name, client" || to_debian "$@"
	check_pair "$name, client" "$rows"
	to_ours "$@"
	! empty_error client "$client_status" "$name, server" || to_ours "$@"
	check_pair "$name, server" "$rows"
}

# rma TARGET INITIATOR: the libraries; target_env and initiator_env may hold VAR=value words.
debian_path=$(ldconfig -p | sed -n 's/^\tlibfabric\.so\.1 .*=> //p' | head -n 1)
target_env=()
initiator_env=()
rma() {
	local path target initiator status
	for path; do
		if [ "$path" = ours ]; then path=$our_lib/libfabric.so.1; else path=$debian_path; fi
		[ -n "${target:-}" ] && initiator=$path || target=$path
	done
	rm -f "$scratch/address"
	began=$SECONDS
	limit=$(limit_s 60)
	timeout -k 5 "$limit" env "${target_env[@]}" "$WEFT_RMA_PEER" "$target" target \
		"$scratch/address" >"$scratch/target" 2>&1 &
	server_pid=$!
	timeout -k 5 "$limit" env "${initiator_env[@]}" "$WEFT_RMA_PEER" "$initiator" \
		initiator "$scratch/address" >"$scratch/initiator" 2>&1
	status=$?
	[ $status = 0 ] || kill "$server_pid" 2>/dev/null
	if ! wait "$server_pid" || [ $status != 0 ]; then
		fail "RMA of $2 at $1 (${target_env[*]}; ${initiator_env[*]}): initiator exits with $status after $((SECONDS - began)) s"
		cat "$scratch/initiator" "$scratch/target"
	fi
	server_pid=
	echo "RMA of $2 at $1, ${initiator_env[*]}: done, $((SECONDS - began)) s"
}

# with_variable VAR=VALUE...: both directions, with them set on both sides.
with_variable() {
	server_env=("$@") client_env=("$@") target_env=("$@") initiator_env=("$@")
	both "$*" 1 -S 20000 -I 20
	rma ours debian
	rma debian ours
	server_env=() client_env=() target_env=() initiator_env=()
}

both "sizes" 6 -I 10
both "tagged" 6 -I 10 -m tagged
both "many" 1 -S 64 -I 2000
both "several packets" 1 -S 300000 -I 20
[ -n "$debian_path" ] || skip "where is the library of the distribution?"
rma ours debian
rma debian ours
rma ours ours
with_variable FI_OFI_RXD_{SPIN_COUNT=1,RETRY=1,MAX_PEERS=2}
with_variable FI_OFI_RXD_{SPIN_COUNT=0,MAX_UNACKED=4,RESCAN=1}
# Release 1.17 hangs with it, also against itself, in transfers of more than a window.
with_variable FI_OFI_RXD_RETRY=0 RMA_PEER_MOST=100000
finish
