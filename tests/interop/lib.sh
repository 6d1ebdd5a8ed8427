# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034
# Shared by the tests of this folder. WEFT_BUILD is the build root: tools/ has our
# programs, src/libfabric.so.1 is our library.
set -u
# shellcheck source=tests/limits.sh
. "$(dirname "$0")/../limits.sh"
limit=$(limit_s 60)

: "${WEFT_BUILD:?the build root}"
our_lib=$WEFT_BUILD/src
our_info=$WEFT_BUILD/tools/fi_info
our_pingpong=$WEFT_BUILD/tools/fi_pingpong
our_strerror=$WEFT_BUILD/tools/fi_strerror
debian_info=/usr/bin/fi_info
debian_pingpong=/usr/bin/fi_pingpong

# The tests stay on the loopback interface, whatever else the machine has.
export FI_UDP_IFACE=lo FI_TCP_IFACE=lo
unset FI_PROVIDER FI_LOG_LEVEL FI_HOOK LD_LIBRARY_PATH LD_PRELOAD

scratch=$(mktemp -d)
server_pid=
cleanup() {
	[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 99' INT TERM

skip() {
	echo "skipped: $*"
	exit 77
}

failures=0
fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

finish() {
	[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
	exit 0
}

# same_names PAGE: the names in $scratch/known, which the library defines, are those in
# $scratch/told, which the manual page has; both sorted.
same_names() {
	local name
	[ -s "$scratch/known" ] || fail "the library defines none of $1"
	while read -r name; do
		fail "$name is not in $1"
	done < <(comm -23 "$scratch/known" "$scratch/told")
	while read -r name; do
		fail "$1 tells of $name, which is not defined"
	done < <(comm -13 "$scratch/known" "$scratch/told")
}

need() {
	local program
	for program; do
		[ -x "$program" ] || skip "$program is not here"
	done
}

has_ipv6() {
	grep -q '^0\{31\}1 ' /proc/net/if_inet6 2>/dev/null
}

# with ours|debian COMMAND...: run over that library, not longer than the limit.
with() {
	local whose=$1
	shift
	if [ "$whose" = ours ]; then
		LD_LIBRARY_PATH=$our_lib timeout -k 5 "$limit" "$@"
	else
		timeout -k 5 "$limit" "$@"
	fi
}

listening() { # port
	grep -qi ": [0-9A-F]*:$(printf %04X "$1") [0-9A-F]*:0000 0A " \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null
}

in_use() { # port
	grep -qi ":$(printf %04X "$1") " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 12000))
		in_use "$port" || { echo "$port"; return; }
	done
}

# pair ADDRESS SERVER_LIB SERVER_PROGRAM CLIENT_LIB CLIENT_PROGRAM OPTION...
# Leaves output in $scratch/{server,client}.{out,err}, statuses in $server_status and
# $client_status (124: the time limit; 137 before it: another program killed it, as the
# runner of fabtests kills all processes whose names begin with fi_), and its start in
# $began. server_env and client_env may hold VAR=value words, server_options and
# client_options what only one of them is told.
server_env=()
client_env=()
server_options=()
client_options=()
pair() {
	local address=$1 slib=$2 server=$3 clib=$4 client=$5 port end
	shift 5
	port=$(free_port)
	began=$SECONDS
	# The load may have changed since the last pair.
	limit=$(limit_s 60)
	# Through exec, so that the process to clean up is the timeout itself.
	(
		[ "$slib" != ours ] || export LD_LIBRARY_PATH=$our_lib
		exec timeout -k 5 "$limit" env "${server_env[@]}" "$server" -B "$port" \
			"${server_options[@]}" "$@"
	) >"$scratch/server.out" 2>"$scratch/server.err" &
	server_pid=$!
	end=$((SECONDS + $(limit_s 10)))
	until listening "$port" || ! kill -0 "$server_pid" 2>/dev/null ||
		[ $SECONDS -gt $end ]; do
		sleep 0.02
	done
	with "$clib" env "${client_env[@]}" "$client" -P "$port" \
		"${client_options[@]}" "$@" "$address" >"$scratch/client.out" 2>"$scratch/client.err"
	client_status=$?
	# A client that failed early leaves a server that waits for another one.
	[ $client_status = 0 ] || kill "$server_pid" 2>/dev/null
	wait "$server_pid"
	server_status=$?
	server_pid=
}

# Both sides of the last pair succeeded and printed these many rows of the right form.
header='bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec'
row='^[0-9.]+[kmg]? +[0-9]+[kmb]? +=[0-9]+[kmb]? +[0-9.]+[kmg]? +[0-9]+\.[0-9]{2}s'
row+=' +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2}$'
check_pair() { # name rows
	local name=$1 rows=$2 side status=0 lines good
	for side in server client; do
		[ $side = server ] && status=$server_status || status=$client_status
		if [ "$status" != 0 ]; then
			fail "$name: $side exits with $status after $((SECONDS - began)) s"
			tail -n 3 "$scratch/$side.out" "$scratch/$side.err"
			continue
		fi
		[ "$(head -n 1 "$scratch/$side.out")" = "$header" ] ||
			fail "$name: header of the $side"
		lines=$(tail -n +2 "$scratch/$side.out" | wc -l)
		good=$(tail -n +2 "$scratch/$side.out" | grep -cE "$row")
		if [ "$lines" != "$rows" ] || [ "$good" != "$rows" ]; then
			fail "$name: $side: printed $lines rows, $good good, of $rows"
			cat "$scratch/$side.out"
		fi
	done
	echo "$name: done, $((SECONDS - began)) s"
}

# How many sizes `-S all` runs: those up to the largest that the endpoint sends.
size_rows() { # library info_program provider endpoint_type
	local max count=1 power=1
	max=$(with "$1" "$2" -p "$3" -t "$4" -v |
		sed -n 's/^ *max_msg_size: //p' | head -n 1)
	[ -n "$max" ] || return 1
	[ ${#max} -lt 19 ] || max=1000000000 # beyond what the shell can count
	[ "$max" -lt 1 ] || count=2
	for ((power = 2; power <= 4194304; power *= 2)); do
		[ $power -gt "$max" ] || count=$((count + 1))
		[ $((power / 2 * 3)) -gt "$max" ] || count=$((count + 1))
	done
	echo $count
}

dgram_rows() { # library info_program
	size_rows "$1" "$2" udp FI_EP_DGRAM
}
