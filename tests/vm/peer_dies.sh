#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# One end of a connection is killed in the middle of messages: the other hears of it, and
# the next pair finds the device as it was.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

options=(-p verbs -e msg -S 4096 -I 100000000)
export LD_LIBRARY_PATH=$our_lib

# ended PID: it ended on its own within the limit; its exit status is left in $status.
ended() {
	local i
	for ((i = 0; i < 600; i++)); do
		kill -0 "$1" 2>/dev/null || { wait "$1"; status=$?; return 0; }
		sleep 0.1
	done
	return 1
}

kill_one() { # server|client
	local other
	"$our_pingpong" "${options[@]}" >"$scratch/server" 2>&1 &
	local server=$!
	sleep 1
	"$our_pingpong" "${options[@]}" "$rxe_address" >"$scratch/client" 2>&1 &
	local client=$!
	sleep 4
	kill -0 $server && kill -0 $client || fail "they do not run: $(cat "$scratch/server" "$scratch/client")"
	if [ "$1" = server ]; then
		other=$client
		kill -9 $server
	else
		other=$server
		kill -9 $client
	fi
	if ended $other; then
		[ "$status" != 0 ] || fail "without its $1 the other end succeeds"
	else
		fail "without its $1 the other end waits on"
		kill -9 $other
	fi
	wait 2>/dev/null
}

kill_one server
kill_one client
pair "$rxe_address" ours "$our_pingpong" ours "$our_pingpong" -p verbs -e msg -c -I 10
check_pair "afterwards" 6
finish
