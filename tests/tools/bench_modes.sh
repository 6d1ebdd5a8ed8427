#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_bench: each test over the providers that have it, verified.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"

messages=latency,bandwidth,bidirectional,rate
one_sided=write_latency,write_bandwidth,read_latency,read_bandwidth
atomics=fetch_add,compare_swap,add_rate
groups=barrier,broadcast,allreduce,allgather,alltoall,reduce+broadcast

# mode NAME TESTS OPTION...
mode() {
	local name=$1 tests=$2
	shift 2
	succeeds "$name" "${few[@]}" -t "$tests" --csv "$scratch/csv" "$@"
	results csv "$scratch/csv" "$tests"
}

for provider in $WEFT_BENCH_PROVIDERS; do
	mode "$provider rdm" "$messages,$one_sided,$atomics" -p "$provider" -s 1,8,100,16k -c
	mode "$provider, not touched, injected" latency,rate,write_latency -p "$provider" \
		-s 8,64 --touch no --inject
	mode "$provider, flows" rate -p "$provider" -s 64 --flow answer -w 8 -c
	mode "$provider, burst" rate -p "$provider" -s 64 --flow burst -w 8 --call msg -c
	mode "$provider, buffers" "bandwidth,write_bandwidth" -p "$provider" -s 4k -w 4 \
		-b 16 -c
	mode "$provider, threads" latency,bandwidth,write_bandwidth -p "$provider" -T 3 -s 64 -c
	mode "$provider, sleeping" latency,bandwidth -p "$provider" -s 64 --sleep
	mode "$provider, idle peers" latency -p "$provider" -s 64 -i 5
	succeeds "$provider, connections" -p "$provider" -t connect --count 4 --batch 2 \
		--warmup 2 --timeout "$(limit_s 20)" --csv "$scratch/csv"
	results csv "$scratch/csv" connect
	case $WEFT_BENCH_GROUPS in
	*"$provider"*)
		# A buffer for each message: memory to fill the caches, as in the run of all
		# tests below, takes more time than the messages.
		mode "$provider, groups" "$groups" -p "$provider" -m 3 -s 8,4k -b 128 -c
		mode "$provider, all" "$messages,$one_sided,$atomics,connect,$groups" \
			-p "$provider" -s 8 -t all
		;;
	esac
done
case $WEFT_BENCH_PROVIDERS in
*tcp*)
	mode 'tcp msg' "$messages,$one_sided,$atomics" -p tcp -e msg -s 1,8,16k -c
	mode 'tcp msg, idle peers' latency -p tcp -e msg -s 64 -i 5
	succeeds 'tcp msg, connections' -p tcp -e msg -t connect --count 4 --batch 2 \
		--warmup 2 --timeout "$(limit_s 20)"
	;;
esac
case $WEFT_BENCH_DATAGRAMS in
*udp*)
	mode 'udp' latency,bandwidth,rate -p udp -e dgram -s 8,1k
	# Lost ones are counted, and do not stop it; it waits 200 ms for each.
	DROP_EVERY=50 LD_PRELOAD=$WEFT_DROP succeeds 'udp, losses' "${few[@]}" -p udp \
		-e dgram -t latency -s 8 --json "$scratch/json"
	python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["rows"][0]["lost"] > 0' "$scratch/json" ||
		fail 'no datagram was lost'
	;;
esac
finish
