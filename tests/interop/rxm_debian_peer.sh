#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on our tcp;ofi_rxm talks to the distribution's on its own library, as
# server and as client. Release 1.17 sends short tagged messages in a form of its own and
# messages beyond the eager limit by a rendezvous; ours sends segments as well.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

name='tcp;ofi_rxm'
need "$debian_pingpong" "$debian_info" "$our_pingpong"
with debian "$debian_info" -p "$name" -t FI_EP_RDM >/dev/null 2>&1 ||
	skip "the library of the distribution has no $name"

# against MODE SIZES ROWS [VAR=value of both sides...]
against() {
	local mode=$1 sizes=$2 rows=$3
	shift 3
	server_env=("$@") client_env=("$@")
	pair 127.0.0.1 debian "$debian_pingpong" ours "$our_pingpong" \
		-p "$name" -e rdm -m "$mode" -S "$sizes" -c -I 4
	check_pair "$mode, $sizes bytes, client $*" "$rows"
	pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" \
		-p "$name" -e rdm -m "$mode" -S "$sizes" -c -I 4
	check_pair "$mode, $sizes bytes, server $*" "$rows"
}

rows=$(size_rows debian "$debian_info" "$name" FI_EP_RDM)
for mode in msg tagged; do
	against "$mode" all "$rows"
	# One packet, two segments, the last segments, and a rendezvous.
	for size in 1 16384 16385 131072 131073; do
		against "$mode" "$size" 1
	done
	# What is sent by a rendezvous is written to the receiver.
	against "$mode" 262144 1 FI_OFI_RXM_USE_RNDV_WRITE=1
done
# Packets for tagged messages, too.
against tagged all "$rows" FI_OFI_RXM_ENABLE_DYN_RBUF=0
finish
