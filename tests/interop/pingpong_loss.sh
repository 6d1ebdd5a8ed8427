#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong over datagrams of which some are lost: counted, reported, no hang.
# WEFT_DROP is the preloaded library that drops them.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong"
[ -n "${WEFT_DROP:-}" ] || skip "WEFT_DROP is not set"

both() {
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" \
		-p udp -e dgram -s 127.0.0.1 -c -S 64 "$@"
}

check_lost() { # name lost
	[ "$client_status" = 0 ] || fail "$1: the client exits with $client_status"
	[ "$server_status" = 0 ] || fail "$1: the server exits with $server_status"
	tail -n 1 "$scratch/client.out" | grep -qE "^64 +10 +\+$2 " ||
		fail "$1: $(tail -n 1 "$scratch/client.out")"
	grep -q "$2 of 10 messages of 64 bytes timed out" "$scratch/client.err" ||
		fail "$1: $(cat "$scratch/client.err")"
	echo "$1: done"
}

drop=("LD_PRELOAD=$WEFT_DROP" DROP_EVERY=4)
server_env=("${drop[@]}")
both -I 10
check_lost "answers lost" 2

server_env=()
client_env=("${drop[@]}")
both -I 10
check_lost "questions lost" 2

client_env=("LD_PRELOAD=$WEFT_DROP" DROP_EVERY=1)
both -I 3
[ "$client_status" = 110 ] || fail "all lost: the client exits with $client_status"
[ "$server_status" != 0 ] || fail "all lost: the server succeeds"
echo "all lost: done"
finish
