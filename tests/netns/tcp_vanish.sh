#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Hosts that cannot be reached or vanish, made of network namespaces: no packet leaves
# this machine. Without CASE all run at the same time, each with hosts of its own, since
# they mostly wait for the kernel. usage: tcp_vanish.sh FAULT_VANISH [CASE]
# Exit status 77: namespaces are not permitted here.
set -u

# shellcheck source=tests/limits.sh
. "$(dirname "$0")/../limits.sh"
program=$1

run_all() {
	local dir name status=0
	pids=()
	dir=$(mktemp -d)
	trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$dir"; exit 1' INT TERM
	for name in $("$program" list); do
		bash "$0" "$program" "$name" >"$dir/$name" 2>&1 &
		pids+=($!)
	done
	[ ${#pids[@]} -gt 0 ] || status=1
	# The worst of them: 77 is that of a case that was skipped.
	for pid in "${pids[@]}"; do
		wait "$pid"
		case $? in
		0) ;;
		77) [ $status != 0 ] || status=77 ;;
		*) status=1 ;;
		esac
	done
	cat "$dir"/*
	rm -rf "$dir"
	exit $status
}

[ $# != 1 ] || run_all
near=weft-near-$$
far=weft-far-$$
server=

skip() {
	echo "skipped: $1"
	exit 77
}

cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	ip netns del "$near" 2>/dev/null
	ip netns del "$far" 2>/dev/null
}

must() {
	"$@" || skip "cannot set up: $*"
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v ip >/dev/null || skip "needs iproute2"
trap cleanup EXIT
ip netns add "$near" 2>/dev/null || skip "network namespaces are not permitted"
must ip netns add "$far"
must ip -n "$near" link add eth0 type veth peer name eth0 netns "$far"
for ns in "$near" "$far"; do
	must ip -n "$ns" link set lo up
	must ip -n "$ns" link set eth0 up
done
must ip -n "$near" addr add 10.66.0.1/24 dev eth0
must ip -n "$far" addr add 10.66.0.2/24 dev eth0
must ip -n "$far" addr add 10.67.0.2/32 dev lo
must ip -n "$near" route add unreachable 10.61.0.0/16
must ip -n "$near" route add blackhole 10.62.0.0/16
must ip -n "$near" route add prohibit 10.63.0.0/16
must ip -n "$near" route add 10.64.0.0/16 via 10.66.0.2
must ip -n "$far" route add blackhole 10.64.0.0/16
must ip -n "$near" route add blackhole 10.67.0.2/32
must ip netns exec "$far" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'

export FAULT_PORT=7471
export FAULT_SERVER=10.66.0.2
export FAULT_LATER=10.67.0.2
export FAULT_ROUTE="ip -n $near route replace 10.67.0.2/32 via 10.66.0.2"
export FAULT_LINK_DOWN="ip -n $far link set eth0 down"
export FAULT_LINK_UP="ip -n $far link set eth0 up"

ready=$(mktemp)
FAULT_HOST=0.0.0.0 ip netns exec "$far" "$program" serve >"$ready" &
server=$!
for _ in $(seq 200); do
	grep -q ready "$ready" && break
	sleep 0.05
done
rm -f "$ready"
FAULT_HOST=10.66.0.1 timeout "$(limit_s 200)" ip netns exec "$near" "$program" ${2:+"$2"}
