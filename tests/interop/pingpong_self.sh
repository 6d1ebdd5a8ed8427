#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on both sides, over udp datagrams on IPv4 and IPv6.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"
rows=$(dgram_rows ours "$our_info") || { fail "fi_info shows no udp endpoint"; finish; }

both() {
	pair "$1" ours "$our_pingpong" ours "$our_pingpong" -p udp -e dgram "${@:2}"
}

both 127.0.0.1 -s 127.0.0.1 -S all -c -I 50
check_pair "IPv4, all sizes" "$rows"
both 127.0.0.1 -S 100 -c -I 1
check_pair "IPv4, one size" 1

# One side with other options: an error on both, not a hang.
both 127.0.0.1 -S 4294967296
[ "$client_status" = 1 ] || fail "a size beyond all bounds gives $client_status"

port=$(free_port)
with ours "$our_pingpong" -P "$port" 127.0.0.1 2>"$scratch/client.err"
status=$?
[ $status = 111 ] || fail "no server gives $status instead of ECONNREFUSED"
with ours "$our_pingpong" -e stream 2>"$scratch/client.err" && fail "-e stream succeeds"
grep -q stream "$scratch/client.err" || fail "-e stream is not complained about"
with ours "$our_pingpong" 127.0.0.1 127.0.0.2 2>"$scratch/client.err" &&
	fail "two servers are taken"
grep -q 'more than one server' "$scratch/client.err" || fail "two servers are not complained about"

if has_ipv6; then
	both ::1 -6 -s ::1 -S all -c -I 50
	check_pair "IPv6, all sizes" "$rows"
else
	echo "IPv6: no loopback address, not tested"
fi
finish
