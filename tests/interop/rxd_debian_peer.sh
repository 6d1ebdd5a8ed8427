#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on udp;ofi_rxd talks to the distribution's on its own library, as server
# and as client, also while datagrams of ours are dropped.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$debian_pingpong" "$debian_info" "$our_pingpong"
with debian "$debian_info" -p "udp;ofi_rxd" >/dev/null 2>&1 ||
	skip "the distribution has no udp;ofi_rxd"

# both NAME ROWS OPTION...
both() {
	local name=$1 rows=$2
	shift 2
	pair 127.0.0.1 debian "$debian_pingpong" ours "$our_pingpong" \
		-p "udp;ofi_rxd" -e rdm -c "$@"
	check_pair "$name, client" "$rows"
	pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" \
		-p "udp;ofi_rxd" -e rdm -c "$@"
	check_pair "$name, server" "$rows"
}

both "sizes" 6 -I 10
both "tagged" 6 -I 10 -m tagged
both "many" 1 -S 64 -I 2000
both "several packets" 1 -S 300000 -I 20
finish
