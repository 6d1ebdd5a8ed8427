#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The network interface below the device goes down and comes back: connections end with an
# error at both ends, and what begins after that works as before.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

works() { # type, when
	local rows=6
	[ "$1" = msg ] || rows=4
	pair "$rxe_address" ours "$our_pingpong" ours "$our_pingpong" -p verbs -e "$1" -I 10
	check_pair "$2: $1" $rows
}

# ends PID WHAT: within the limit, with an error.
ends() {
	local i
	for ((i = 0; i < limit * 10; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	[ $i -lt $((limit * 10)) ] || fail "the $2 waits on"
	wait "$1" && fail "the $2 succeeds"
}

ip link set va down
sleep 0.2
ip link set va up
works msg "after the interface was down"
works dgram "after the interface was down"

options=(-p verbs -e msg -S 4096 -I 100000000)
export LD_LIBRARY_PATH=$our_lib
"$our_pingpong" "${options[@]}" >"$scratch/server" 2>&1 &
server=$!
sleep 1
"$our_pingpong" "${options[@]}" "$rxe_address" >"$scratch/client" 2>&1 &
client=$!
sleep 4
kill -0 $server && kill -0 $client || fail "they do not run: $(cat "$scratch/server" "$scratch/client")"
ip link set va down
ends $server server
ends $client client
ip link set va up
unset LD_LIBRARY_PATH
works dgram "after a connection was lost"
# The end of a connection is told to the peer by a datagram of the kernel. Soft-RoCE stops
# the queue pair for these when the interface is down, so that nothing on the host
# connects (rping does not, either) until the device is made anew.
rdma link del rxa
rdma link add rxa type rxe netdev va || fail "no device"
works msg "over a new device"
finish
