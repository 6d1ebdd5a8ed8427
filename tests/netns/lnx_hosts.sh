#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts made of network namespaces and of a /dev/shm for each, two processes on each:
# local traffic goes over shm, the other over the network, receives take from both.
# usage: lnx_hosts.sh PROGRAM. Exit status 77: namespaces are not permitted here.
set -u

program=$1
ns=weft-lnx-$$
dir=$(mktemp -d)
pids=()

skip() {
	echo "skipped: $1"
	exit 77
}

cleanup() {
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null
	done
	for host in 0 1; do
		ip netns del "$ns-$host" 2>/dev/null
	done
	rm -rf "$dir"
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v ip >/dev/null || skip "needs iproute2"
trap cleanup EXIT
trap 'exit 99' INT TERM
for host in 0 1; do
	ip netns add "$ns-$host" 2>/dev/null || skip "network namespaces are not permitted"
done
for rail in 0 1; do
	ip link add rail$rail netns "$ns-0" type veth peer name rail$rail netns "$ns-1" ||
		skip "no veth"
	for host in 0 1; do
		ip -n "$ns-$host" addr add 10.9$rail.0.$((host + 1))/24 dev rail$rail ||
			skip "cannot set up"
		ip -n "$ns-$host" link set rail$rail up
	done
done
for host in 0 1; do
	ip -n "$ns-$host" link set lo up
	for rail in 0 1; do
		for _ in $(seq 100); do
			[ "$(ip netns exec "$ns-$host" cat \
				/sys/class/net/rail$rail/carrier 2>/dev/null)" = 1 ] && break
			sleep 0.05
		done
	done
done
ip netns exec "$ns-0" unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null ||
	skip "mounts are not permitted"

# host NUMBER DIR [VARIABLE=VALUE]: both processes of one host.
host() {
	# shellcheck disable=SC2016 # expanded there
	ip netns exec "$ns-$1" env "${@:3}" unshare -m bash -c '
		mount -t tmpfs tmpfs /dev/shm || exit 77
		for rank in $((2 * $1)) $((2 * $1 + 1)); do
			"$2" "$3" $rank 4 >"$3/out.$rank" 2>"$3/log.$rank" &
			pids="$pids $!"
		done
		status=0
		for pid in $pids; do
			wait $pid || status=1
		done
		exit $status' host "$1" "$program" "$2"
}

# run WHAT LINKS LOCAL REMOTE [VARIABLE=VALUE]: links used by patterns of their names.
run() {
	local what=$1 links=$2 near=$3 far=$4 at="$dir/$1" failed=0 each=2 rank
	[ "$near" = "$far" ] && each=4
	shift 4
	mkdir "$at"
	export FI_LNX_PROV_LINKS=$links FI_LOG_LEVEL=info FI_LOG_PROV=lnx
	(host 0 "$at" "$@") & pids=($!)
	(host 1 "$at" "$@") & pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	pids=()
	for rank in 0 1 2 3; do
		[ "$(grep -cE "address [0-9]+: over $near," "$at/log.$rank")" = $each ] &&
			[ "$(grep -cE "address [0-9]+: over $far," "$at/log.$rank")" = $each ] &&
			grep -q passed "$at/out.$rank" || failed=1
	done
	if [ $failed = 0 ]; then
		echo "ok - $what"
		return
	fi
	echo "not ok - $what"
	for rank in 0 1 2 3; do
		grep -E 'over|rank|warn' "$at/log.$rank" | tail -n 8 | sed 's/^/# /'
	done
	exit 1
}

run one_rail shm+tcp:rail0 'shm:[^ ]*' tcp:rail0
run two_rails shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]'
run no_shm shm+tcp:rail0,rail1 'tcp:rail[01]' 'tcp:rail[01]' FI_LNX_DISABLE_SHM=1

# A rail that nothing passes: peers that have it move to the other one.
for host in 0 1; do
	ip -n "$ns-$host" route add unreachable 10.90.0.$((2 - host))/32 || skip "no route"
done
run a_rail_fails shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' \
	FI_TCP_CONNECT_TIMEOUT=1000
if cat "$dir"/a_rail_fails/log.* | grep -q 'tcp:rail0 fails .* over tcp:rail1'; then
	echo "ok - the log tells of it"
else
	echo "not ok - the log tells of it"
	exit 1
fi
