#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fi_bench: what it writes, what it refuses, and what it does when something fails.
# shellcheck source=tests/tools/lib.sh
. "$(dirname "$0")/lib.sh"

provider=${WEFT_BENCH_PROVIDERS%% *}
port=$(free_port)

# ---- files ----

succeeds 'all files' "${few[@]}" -p "$provider" -s 8:1k -t latency,bandwidth,rate \
	--csv "$scratch/csv" --json "$scratch/json" --plot "$scratch/svg" --histogram \
	--label 'a, "b" & <c>'
results csv "$scratch/csv" latency,bandwidth,rate
results json "$scratch/json" latency,bandwidth,rate
results svg "$scratch/svg" 3
grep -q '#####' "$scratch/out" || fail 'no bars of a histogram'
for test in latency bandwidth rate; do
	[ "$(sed -n "/^# $test/,/^$/p" "$scratch/out" | grep -cE '^ +(8|16|32|64|128|256|512|1k) ')" = 8 ] ||
		fail "rows of $test"
done
grep -q '"a, ""b"" & <c>"' "$scratch/csv" || fail 'label in CSV'
succeeds 'a plot of two runs' "${few[@]}" -p "$provider" -s 8,64 -t latency -q \
	--plot "$scratch/two.svg" --with "$scratch/csv"
results svg "$scratch/two.svg" 4
succeeds 'a plot alone' --plot "$scratch/alone.svg" --with "$scratch/csv"
results svg "$scratch/alone.svg" 3
bench "${few[@]}" -p "$provider" -s 8 -t latency --csv - | cat >"$scratch/csv"
results csv "$scratch/csv" latency
[ "$(wc -l <"$scratch/csv")" = 2 ] || fail 'more than CSV on the standard output'

# ---- what is refused ----

fails 2 "'bogus' is not understood" -t bogus
fails 2 "'0' is not understood" -s 0
fails 2 "'1k:8' is not understood" -s 1k:8
fails 2 "'9z' is not understood" -s 9z
fails 2 "'1:x' is not understood" -C 1:x
fails 2 'members: from 2' -m 1
fails 2 'collectives only' -m 3 -t latency
fails 2 'datagrams' -e dgram -t write_latency
fails 2 'multiples of 8' -t allreduce -s 12
fails 2 'one buffer' -b 1
fails 2 "'0' is not understood" -t burst -w 0
fails 2 'window: at most 4096' -t burst -w 5000
fails 2 'new endpoints.*one thread' -t ramp -T 2
fails 2 'tests of messages only' -t ramp --sleep
fails 2 'datagrams' -e dgram -t exchange
fails 2 'collectives only' -m 3 -t burst
fails 2 'silent target: tests of RMA' --silent -t latency
fails 2 'silent target: tests of RMA' --silent -t write_latency,barrier
fails 2 'silent target: not with --inject' --silent -t write_latency --inject
fails 2 "'always' is not understood" --progress always
fails 2 'silent target: one thread' --silent -t write_latency -T 2
fails 2 'unrecognized option' --bogus
fails 2 'more than one server' a b
fails 2 'a server does' -S --csv x
fails 1 'no endpoint of provider bogus fits' -p bogus
fails 1 'No such file' -p "$provider" --csv "$scratch/none/csv"
fails 1 'does not begin with' --plot "$scratch/x.svg" --with "$scratch/json"
fails 1 'connecting to 127.0.0.1' -P "$port" 127.0.0.1
for word in compare_swap exchange burst ramp --silent; do
	bench --help | grep -q -- " $word " || fail "--help: $word"
done
bench --version | grep -q "^libfabric: $(realpath "$our_lib")/" || fail '--version'

# ---- client and server ----

serve() { # in the background, at $port
	LD_LIBRARY_PATH=$our_lib timeout -k 5 "$limit" "$WEFT_BUILD/tools/fi_bench" \
		-S -P "$port" >"$scratch/server" 2>&1 &
	server_pid=$!
	for ((i = 0; i < 200; i++)); do
		listening "$port" && return
		sleep 0.05
	done
	fail 'the server does not listen'
}
served() { # STATUS PATTERN
	local status=0
	wait "$server_pid" || status=$?
	server_pid=
	[ "$status" = "$1" ] || fail "the server exits with $status, not $1"
	grep -q "$2" "$scratch/server" || {
		fail "the server does not say '$2'"
		cat "$scratch/server"
	}
}
# A machine without /etc/hosts has no such name.
host=localhost
getent hosts "$host" >/dev/null || host=127.0.0.1
serve
succeeds 'client and server' "${few[@]}" -p "$provider" -s 8,4k -c -P "$port" "$host"
served 0 waiting
serve
succeeds 'client and server, new endpoints' "${few[@]}" -p "$provider" -s 8 -n 200 -D 0.001 \
	-t exchange,ramp --csv "$scratch/csv" -P "$port" "$host"
served 0 waiting
results csv "$scratch/csv" exchange,ramp
serve
succeeds 'client and server, silent targets' "${few[@]}" -p "$provider" -s 8 -c \
	-t write_latency,add_rate --silent --progress auto --csv "$scratch/csv" -P "$port" "$host"
served 0 waiting
results csv "$scratch/csv" write_latency,add_rate
serve
printf 'GET / HTTP/1.0\r\n\r\n%4000s' '' >"/dev/tcp/127.0.0.1/$port"
served 1 'no fi_bench of this version'

# ---- a peer that dies ----

LD_LIBRARY_PATH=$our_lib "$WEFT_BUILD/tools/fi_bench" -p "$provider" -t latency -s 8 \
	-D "$limit" >"$scratch/out" 2>"$scratch/err" &
bench_pid=$!
for ((i = 0; i < 200; i++)); do
	peer=$(pgrep -P $bench_pid) && break
	sleep 0.05
done
sleep 0.3
kill -KILL "$peer" || fail 'there is no peer to kill'
status=0
wait $bench_pid || status=$?
[ $status = 1 ] || fail "exits with $status after its peer was killed"
grep -q 'the peer left' "$scratch/err" || { fail 'does not say that the peer left'; cat "$scratch/err"; }

# ---- damage ----

case $WEFT_BENCH_PROVIDERS in
*tcp*)
	LD_PRELOAD=$WEFT_DAMAGE fails 3 'arrived damaged' -p tcp -t latency -s 64k -c
	;;
esac
finish
