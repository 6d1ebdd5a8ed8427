#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts (hosts.sh), two processes on each: local traffic goes over shm, the other over
# the network, receives take from both.
# usage: lnx_hosts.sh PROGRAM LIBRARY. Exit status 77: namespaces are not permitted here.
set -u

program=$1 library=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/netns/hosts.sh
. "$here/hosts.sh"
make_hosts 2

ranks=4

# host NUMBER DIR [VARIABLE=VALUE]: the processes of one host.
host() {
	on "$1" env "${@:3}" bash "$here/host.sh" "$program" "$library" "$2" "$ranks" lnx \
		$((2 * $1)) $((2 * $1 + 1))
}

# reached RANK COUNT PATTERN: so many peers are at first reached over such links
reached() {
	[ "$(grep -cE "address [0-9]+: over $3," "$at/log.$1")" = "$2" ]
}

# well RANK LOCAL REMOTE PASSED
well() {
	local here=2
	[ "$1" -lt 2 ] || here=$((ranks - 2))
	grep -q "$4\$" "$at/out.$1" || return
	if [ "$2" = "$3" ]; then
		reached "$1" $ranks "$2"
	else
		reached "$1" $here "$2" && reached "$1" $((ranks - here)) "$3"
	fi
}

# run WHAT LINKS LOCAL REMOTE PASSED [VARIABLE=VALUE]: links used by patterns of their
# names, and how the line ends that tells of a good end.
run() {
	local what=$1 links=$2 near=$3 far=$4 passed=$5 failed=0 rank pids
	at=$dir/$1
	shift 5
	mkdir "$at"
	export FI_LNX_PROV_LINKS=$links FI_LOG_LEVEL=info FI_LOG_PROV=lnx
	export FI_LNX_DUMP_STATS=1
	host 0 "$at" "$@" & pids=($!)
	host 1 "$at" "$@" & pids+=($!)
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	for ((rank = 0; rank < ranks; rank++)); do
		well $rank "$near" "$far" "$passed" || failed=1
	done
	[ $failed = 1 ] || return 0
	echo "not ok - $what"
	for ((rank = 0; rank < ranks; rank++)); do
		cat "$at/out.$rank"
		grep -E 'over|rank|warn|sent' "$at/log.$rank" | tail -n 12
	done | sed 's/^/# /'
	exit 1
}

# sent RANK LINK: how many operations went over it
sent() {
	sed -n "s/^lnx .*: $2: \([0-9]*\) operations.*/\1/p" "$at/log.$1"
}

# each_rail_carries OPERATIONS: at least, of every rank
each_rail_carries() {
	local rank rail
	for ((rank = 0; rank < ranks; rank++)); do
		for rail in rail0 rail1; do
			[ "$(sent $rank tcp:$rail)" -ge "$1" ] && continue
			echo "not ok - rank $rank sent $(sent $rank tcp:$rail) over $rail"
			exit 1
		done
	done
}

run one_rail shm+tcp:rail0 'shm:[^ ]*' tcp:rail0 'passed in order'
echo "ok - one rail"
run two_rails shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' 'passed in order'
each_rail_carries 150
echo "ok - two rails, one for each peer"
run no_shm shm+tcp:rail0,rail1 'tcp:rail[01]' 'tcp:rail[01]' 'passed in order' \
	FI_LNX_DISABLE_SHM=1
echo "ok - no shared memory"
# Each of the first two has one peer on the other host, to which it sends 150 messages.
ranks=3
run in_turn shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' passed \
	FI_LNX_MULTI_RAIL_SELECTION=PER_MSG
each_rail_carries 75
echo "ok - two rails, each message over the next one"
ranks=4

# fetched RANK LINK: how many bytes of striped messages came over it
fetched() {
	sed -n "s/^lnx .*: $2: \([0-9]*\) bytes fetched.*/\1/p" "$at/log.$1"
}

# all_fetch LINK...: every rank has read from the other host over these
all_fetch() {
	local rank rail
	for ((rank = 0; rank < ranks; rank++)); do
		for rail; do
			[ "$(fetched $rank "$rail")" -gt 0 ] && continue
			echo "not ok - rank $rank fetched nothing over $rail"
			exit 1
		done
	done
}
run striped shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' 'passed in order' \
	FI_LNX_STRIPE_SIZE=4096
all_fetch tcp:rail0 tcp:rail1
echo "ok - two rails, each message over both"
run striped_in_turn shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' passed \
	FI_LNX_STRIPE_SIZE=4096 FI_LNX_MULTI_RAIL_SELECTION=PER_MSG
all_fetch tcp:rail0 tcp:rail1
echo "ok - the same, heads in turn"
# One rank knows nothing of striping.
run not_all_stripe shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' 'passed in order' \
	FI_LNX_STRIPE_SIZE=4096 SETTING_0=FI_LNX_STRIPE_SIZE=0
if grep -q fetched "$at/log.0" || ! grep -q fetched "$at/log.1"; then
	echo "not ok - rank 0 stripes, or rank 1 does not"
	exit 1
fi
echo "ok - one that does not stripe"

# A rail that nothing passes: peers that have it move to the other one.
for host in 0 1; do
	ip -n "$ns-$host" route add unreachable 10.90.0.$((2 - host))/32 || skip "no route"
done
a_rail_fails() {
	local what=$1
	shift
	run "$what" shm+tcp:rail0,rail1 'shm:[^ ]*' 'tcp:rail[01]' "$@" \
		FI_TCP_CONNECT_TIMEOUT=1000
	if cat "$at"/log.* | grep -q 'tcp:rail0 fails .* over tcp:rail1'; then
		echo "ok - $what, and the log tells of it"
	else
		echo "not ok - $what: the log does not tell of it"
		exit 1
	fi
}
a_rail_fails one_of_two_fails 'passed in order'
a_rail_fails striped_one_fails 'passed in order' FI_LNX_STRIPE_SIZE=4096
a_rail_fails in_turn_one_fails passed FI_LNX_MULTI_RAIL_SELECTION=PER_MSG
