#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rxd_lossy.sh FI_PINGPONG LOSSY_WIRE [OTHER]: messages of many sizes over udp;ofi_rxd
# between two hosts, whose wire loses, repeats, swaps and changes packets, arrive as they
# were sent. With OTHER, another library's fi_pingpong, it is the peer as well, in both
# directions. Skipped (77) where network namespaces are not permitted.
set -euo pipefail
pingpong=$1
wire=$2
other=${3:-}
# shellcheck source=tests/limits.sh
. "$(dirname "$0")/../limits.sh"
limit=$(limit_s 60)

ns=weft-lossy-$$
log=$(mktemp)

skip() {
	echo "skipped: $1"
	exit 77
}

finish() {
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	for host in a b wire; do
		ip netns del "$ns-$host" 2>/dev/null
	done
	rm -f "$log"
}
trap finish EXIT
trap 'exit 99' INT TERM

[ "$(id -u)" = 0 ] || skip "needs root"
command -v ip >/dev/null || skip "needs iproute2"
for host in a b wire; do
	ip netns add "$ns-$host" 2>/dev/null || skip "network namespaces are not permitted"
done
for host in a b; do
	ip link add rail netns "$ns-$host" type veth \
		peer name "$host" netns "$ns-wire" 2>/dev/null || skip "no veth"
	# The wire sends no packets of its own.
	ip netns exec "$ns-wire" sh -c \
		"echo 1 >/proc/sys/net/ipv6/conf/$host/disable_ipv6" || skip "no sysctl"
	ip -n "$ns-wire" link set dev "$host" up
done
ip -n "$ns-a" addr add 10.98.0.1/24 dev rail
ip -n "$ns-b" addr add 10.98.0.2/24 dev rail
for host in a b; do
	# One packet is one frame.
	ip -n "$ns-$host" link set dev rail gso_max_segs 1 || skip "no gso_max_segs"
	ip -n "$ns-$host" link set dev rail up
	ip -n "$ns-$host" link set dev lo up
done

# pair SERVER CLIENT SIZE COUNT: verified messages to and fro.
pair() {
	local args=(-p 'udp;ofi_rxd' -e rdm -c -S "$3" -I "$4")
	timeout "$limit" ip netns exec "$ns-b" "$1" "${args[@]}" >"$log" 2>&1 &
	local server=$!
	for _ in $(seq 200); do
		ip netns exec "$ns-b" ss -Hlt 2>/dev/null | grep -q 47592 && break
		sleep 0.05
	done
	timeout "$limit" ip netns exec "$ns-a" "$2" "${args[@]}" 10.98.0.2 ||
		{ wait $server || true; cat "$log"; return 1; }
	wait $server
}

# The same with another library at one end, whose fi_pingpong makes no progress while it
# waits for the count of a size: when the last acknowledgement to its peer is lost, nobody
# sends it again, and the two wait for ever. So a pair may try three times, and with five
# packets of a hundred lost there is no such pair.
pair_other() {
	local limit
	limit=$(limit_s 10)
	pair "$@" || pair "$@" || pair "$@"
}

# Packets of a million that are lost, repeated, swapped, changed. Another library has no
# checksum for what the wire changes.
for faults in '0 0 0 0' '1000 1000 1000 0' '10000 10000 20000 0' '50000 20000 50000 0' \
	'0 0 0 10000' '10000 10000 20000 20000'; do
	echo "lost, repeated, swapped, changed of a million: $faults"
	read -r lost repeated swapped changed <<<"$faults"
	ip netns exec "$ns-wire" "$wire" a b "$lost" "$repeated" "$swapped" 50 0 0 \
		"$changed" &
	running=$!
	for sizes in '1 50' '1400 50' '5000 20' '200000 10'; do
		# shellcheck disable=SC2086 # two arguments
		pair "$pingpong" "$pingpong" $sizes
	done
	if [ -n "$other" ] && [ "$changed" = 0 ] && [ "$lost" -le 10000 ]; then
		pair_other "$pingpong" "$other" 5000 10
		pair_other "$other" "$pingpong" 5000 10
	fi
	kill $running
	wait $running 2>/dev/null || true
done
