#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_bench: each test over the providers that have it, verified.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"

messages=latency,bandwidth,bidirectional,rate,exchange,burst
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

# lines NAME NUMBER PATTERN: so many lines of the table have that pattern.
lines() {
	[ "$(grep -cE "$3" "$scratch/out")" = "$2" ] || {
		fail "$1: not $2 lines '$3'"
		cat "$scratch/out"
	}
}

# Times of both directions, also where a window of messages is more than a queue of the
# provider takes.
exchanges() { # PROVIDER OPTION...
	local provider=$1
	shift
	mode "$provider, exchanges $*" exchange,burst -p "$provider" -s 8,64k "$@"
	lines "$provider, exchanges $*" 1 '^# exchange: both sides post a receive'
	lines "$provider, exchanges $*" 4 '^ +(8|64k) +[0-9]+( +[0-9.]+){6}$'
}

# The parts of a ramp; results.py compares them with what they have to be.
ramp() { # PROVIDER OPTION...
	local provider=$1
	shift
	succeeds "$provider, ramp $*" -p "$provider" -t ramp -s 8,4k -n 1000 -D 0.001 \
		--timeout "$(limit_s 20)" --csv "$scratch/csv" --json "$scratch/json" \
		--plot "$scratch/svg" -c "$@"
	results csv "$scratch/csv" ramp
	results json "$scratch/json" ramp
	results svg "$scratch/svg" 6
	lines "$provider, ramp $*" 10 \
		'^ +(8|4k) +(1-(1|10|100|1000)|501-1000)( +[0-9.]+){6}$'
	lines "$provider, ramp $*" 2 \
		'^ +(8|4k) +2-100( +[0-9.]+){6} +[0-9.]+ times those of 501-1000$'
	[ "$(sed 's|.*,||' "$scratch/csv" | sort -u | wc -l)" = 7 ] || fail 'parts in CSV'
}

# Rows are measured, or have failed within the limit where the targets of the provider
# have to make calls; the run ends in both cases, and tells which it was.
silent() { # PROVIDER TESTS ROWS OPTION...
	local provider=$1 tests=$2 rows=$3 status=0
	shift 3
	bench "${few[@]}" -p "$provider" -t "$tests" --silent --timeout "$(limit_s 4)" \
		--csv "$scratch/csv" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	failed=$(grep -c 'not complete within' "$scratch/err")
	echo "$provider, silent targets $*: $failed of $rows rows failed"
	[ "$status" = "$((failed ? 4 : 0))" ] || {
		fail "$provider, silent targets: exits with $status, $failed rows failed"
		cat "$scratch/out" "$scratch/err"
	}
	lines "$provider, silent targets" 1 '^# targets make no calls.*progress: (auto|manual)$'
	lines "$provider, silent targets" "$failed" '^ +(8|16k) +FAILED: not complete'
	lines "$provider, silent targets" $((rows - failed)) '^ +(8|16k) +[0-9]+( +[0-9.]+){5,6}$'
	[ "$(wc -l <"$scratch/csv")" = $((rows + 1)) ] || fail 'rows of silent targets in CSV'
	[ "$failed" != 0 ] || results csv "$scratch/csv" "$tests"
}

# Automatic progress needs no calls of targets.
silences() { # PROVIDER OPTION...
	silent "$1" write_latency,read_latency 2 -s 8 "${@:2}"
	silent "$1" "$one_sided,$atomics" 11 -s 8,16k -c --progress auto "${@:2}"
	[ "$failed" = 0 ] || fail "$1: no automatic progress"
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
	exchanges "$provider" -c
	exchanges "$provider" -w 100 -T 2
	mode "$provider, exchanges, injected" exchange,burst -p "$provider" -s 8,16 \
		--call msg --inject --touch no
	exchanges "$provider" --sleep
	ramp "$provider"
	silences "$provider"
	# So many that the library's own threads meet the removal of an address.
	succeeds "$provider, connections" -p "$provider" -t connect --count 200 --batch 10 \
		--warmup 10 --timeout "$(limit_s 20)" --csv "$scratch/csv"
	results csv "$scratch/csv" connect
	case $WEFT_BENCH_GROUPS in
	*"$provider"*)
		# A buffer for each message: memory to fill the caches, as in the run of all
		# tests below, takes more time than the messages.
		mode "$provider, groups" "$groups" -p "$provider" -m 3 -s 8,4k -b 128 -c
		mode "$provider, all" "$messages,$one_sided,$atomics,connect,ramp,$groups" \
			-p "$provider" -s 8 -t all
		;;
	esac
done
case $WEFT_BENCH_PROVIDERS in
*tcp*)
	mode 'tcp msg' "$messages,$one_sided,$atomics" -p tcp -e msg -s 1,8,16k -c
	mode 'tcp msg, idle peers' latency -p tcp -e msg -s 64 -i 5
	exchanges tcp -e msg -c
	ramp tcp -e msg
	silences tcp -e msg
	succeeds 'tcp msg, connections' -p tcp -e msg -t connect --count 200 --batch 10 \
		--warmup 10 --timeout "$(limit_s 20)"
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
