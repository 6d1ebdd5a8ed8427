#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_rxd.sh BUILD loss [ROUNDS [SECONDS [OTHER]]]: bandwidth of udp;ofi_rxd between two hosts
# whose wire loses packets, next to that of another libfabric, whose fi_pingpong is OTHER: messages
# to and fro, and a stream, for which bench/stream.c is compiled with the headers in /usr/include.
# run_rxd.sh BUILD share [ROUNDS [SECONDS]]: what a stream gets of a link next to a TCP
# connection with CUBIC, with Jain's index of fairness.
# Hosts are network namespaces with tests/netns/lossy_wire between them. In share one packet is
# one frame, so that no side gets more room in the queue for sending large segments. In loss the
# interfaces take segments, as network cards do, and each packet of one may be lost.
set -euo pipefail
build=$1
what=$2
rounds=${3:-3}
seconds=${4:-30}
other=${5:-/usr/bin/fi_pingpong}
ns=weft-bench-$$
out=$(mktemp -d)

finish() {
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null || true
	done
	for host in a b wire; do
		ip netns del "$ns-$host" 2>/dev/null || true
	done
	rm -r "$out"
}
trap finish EXIT
trap 'exit 99' INT TERM

for host in a b wire; do
	ip netns add "$ns-$host"
done
address=1
for host in a b; do
	ip link add rail netns "$ns-$host" type veth peer name "$host" netns "$ns-wire"
	ip -n "$ns-wire" link set dev "$host" up
	ip -n "$ns-$host" addr add "10.98.0.$((address++))/24" dev rail
	if [ "$what" = share ]; then
		ip -n "$ns-$host" link set dev rail gso_max_segs 1
	fi
	ip -n "$ns-$host" link set dev rail up
	ip -n "$ns-$host" link set dev lo up
	ip -n "$ns-$host" route replace 10.98.0.0/24 dev rail congctl cubic
done
for host in a b; do
	until [[ $(ip -n "$ns-$host" -br link show rail) == *' UP '* ]]; do
		sleep 0.05
	done
done

if [ "$what" = loss ]; then
	cc -O2 -I"$(dirname "$0")/../src" -o "$out/stream" "$(dirname "$0")/stream.c" -lfabric
fi

# with_wire ARGUMENTS COMMAND...: with a wire that behaves so.
with_wire() {
	local arguments=$1 wire
	shift
	# shellcheck disable=SC2086 # several arguments
	ip netns exec "$ns-wire" "$build/tests/netns/lossy_wire" a b $arguments &
	wire=$!
	"$@"
	kill $wire
	wait $wire 2>/dev/null || true
}

# stream PROVIDER PORT [PROGRAM]: megabits per second into $out/PROVIDER
stream() {
	local server program=${3:-$build/bench/stream}
	timeout $((seconds + 20)) ip netns exec "$ns-b" "$program" "$1" serve \
		10.98.0.2 "$2" &
	server=$!
	sleep 1
	timeout $((seconds + 20)) ip netns exec "$ns-a" "$program" "$1" send \
		10.98.0.2 "$2" "$seconds" >"$out/${1##*;}"
	kill $server
	wait $server 2>/dev/null || true
}

share() {
	local port=$((7600 + i)) tcp
	stream tcp "$port" &
	tcp=$!
	stream 'udp;ofi_rxd' "$port"
	wait $tcp
	awk -v link="$1" '{ sum += $1; squares += $1 * $1; all = all " " $1 }
		END { printf "%-32s ofi_rxd, tcp:%s Mbit/s, Jain %.3f\n",
			link, all, sum * sum / (2 * squares) }' "$out/ofi_rxd" "$out/tcp"
}

# rate PROGRAM SIZE COUNT: megabytes per second of verified messages to and fro; 0 if that
# takes longer than told.
rate() {
	local args=(-p 'udp;ofi_rxd' -e rdm -S "$2" -I "$3") server mb
	timeout "$seconds" ip netns exec "$ns-b" "$1" "${args[@]}" >/dev/null 2>&1 &
	server=$!
	until [ -n "$(ip netns exec "$ns-b" ss -Hltn 'sport = :47592')" ]; do
		kill -0 $server 2>/dev/null || break
		sleep 0.05
	done
	mb=$(timeout "$seconds" ip netns exec "$ns-a" "$1" "${args[@]}" 10.98.0.2 2>/dev/null |
		awk 'END { print (NR > 1 ? $6 : 0) }')
	kill $server 2>/dev/null || true
	wait $server 2>/dev/null || true
	echo "${mb:-0}"
}

# compare LOST WHAT OURS OTHER: megabytes per second
compare() {
	awk -v lost="$1" -v what="$2" -v a="$3" -v b="$4" 'BEGIN {
		printf "%.1f %% lost, %s: %8.2f MB/s, other %8.2f MB/s%s\n",
			lost / 10000, what, a, b,
			(b > 0 ? sprintf(", ratio %.1f", a / b) : ": no end in time") }'
}

# stream_rate PROGRAM: megabytes per second
stream_rate() {
	stream 'udp;ofi_rxd' $((7600 + i)) "$1"
	awk '{ print $1 / 8 }' "$out/ofi_rxd"
}

loss() {
	compare "$1" "to and fro" "$(rate "$build/tools/fi_pingpong" "$2" "$3")" \
		"$(rate "$other" "$2" "$3")"
	compare "$1" stream "$(stream_rate "$build/bench/stream")" \
		"$(stream_rate "$out/stream")"
}

for ((i = 0; i < rounds; i++)); do
	case $what in
	share)
		for link in '1000 40 30' '5000 40 50' '5000 40 100' '20000 40 200' '5000 100 200'; do
			read -r delay mbit queue <<<"$link"
			with_wire "0 0 0 $link" share \
				"$mbit Mbit/s, $((2 * delay / 1000)) ms, queue $queue KB:"
		done
		;;
	loss)
		for lost in 1000 10000 50000; do
			with_wire "$lost 0 0 50" loss $lost 65536 50
		done
		;;
	esac
done
