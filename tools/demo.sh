#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh BUILD: what this machine offers, then messages between two processes over
# each provider and endpoint type, every byte verified.
set -euo pipefail

build=$1
info=$build/tools/fi_info
pingpong=$build/tools/fi_pingpong
export LD_LIBRARY_PATH=$build/src

pairs() { # provider type
	"$info" -p shm >/dev/null 2>&1 && echo shm rdm
	"$info" -p lnx >/dev/null 2>&1 && echo lnx rdm
	cat <<-'EOF'
	tcp rdm
	tcp msg
	udp dgram
	EOF
}

heading() { printf '\n\033[1m%s\033[0m\n' "$*"; }

heading "The library and its providers"
"$info" --version
"$info" --list

heading "What this machine can do (fi_info)"
"$info"

failed=0
while read -r provider type; do
	heading "$provider $type: two processes, every byte verified (fi_pingpong -c)"
	port=$((20000 + RANDOM % 20000))
	"$pingpong" -p "$provider" -e "$type" -c -I 1000 -B "$port" >/dev/null &
	server=$!
	for _ in $(seq 50); do
		grep -q "$(printf ':%04X .* 0A ' "$port")" /proc/net/tcp /proc/net/tcp6 && break
		sleep 0.1
	done
	"$pingpong" -p "$provider" -e "$type" -c -I 1000 -P "$port" 127.0.0.1 || failed=1
	wait "$server" || failed=1
done < <(pairs)
[ "$failed" = 0 ] || { echo "the demonstration failed" >&2; exit 1; }
heading "Verified. Next: ./dev test"
