# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# fi_mon_sampler on real programs: pairs of fi_pingpong that run with FI_HOOK=monitor.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/../interop/lib.sh"

sampler=$WEFT_BUILD/tools/fi_mon_sampler
base=$scratch/base
files=$base/$(id -u)/$(uname -n)
export FI_OFI_HOOK_MONITOR_BASEPATH=$base
endless=(-e rdm -I 100000000 -S 64 -m tagged)
monitored=(FI_HOOK=monitor FI_OFI_HOOK_MONITOR_TICK_MAX=4)

# sampled STATUS OPTION...: its output is in $scratch/out and $scratch/err.
sampled() {
	local wanted=$1 status=0
	shift
	timeout -k 5 "$(limit_s 20)" "$sampler" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	case $wanted in
	fails) [ $status != 0 ] && [ $status -lt 124 ] ;;
	*) [ $status = "$wanted" ] ;;
	esac || {
		fail "fi_mon_sampler $*: exits with $status, wanted $wanted"
		head -c 500 "$scratch/out" "$scratch/err"
	}
}

says() { # out|err|notes TEXT
	grep -q -- "$2" "$scratch/$1" || {
		fail "does not say '$2'"
		head -c 500 "$scratch/$1"
	}
}

# value FILE NAME: the sum of this column over all rows.
value() {
	awk -F, -v name="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i; next }
		{ if (NF != 756) bad = 1; sum += $column }
		END { print column && !bad ? sum : "none" }' "$1"
}

is() { # FILE NAME VALUE
	local got
	got=$(value "$1" "$2")
	[ "$got" = "$3" ] || fail "$2 is $got, not $3"
}

at_least() { # FILE NAME VALUE
	local got
	got=$(value "$1" "$2")
	[ "$got" -ge "$3" ] 2>/dev/null || fail "$2 is $got, less than $3"
}

arguments() {
	sampled 0 -h
	says out 'Usage: '
	sampled 0
	says out 'Usage: '
	says err 'No target'
	sampled fails -f xml "$files"
	says err 'Invalid format'
	sampled fails -w soon "$files"
	says err 'Invalid interval'
	sampled fails -x
	sampled fails "$scratch/none"
	says err 'No such file'
	mkdir -p "$scratch/empty"
	sampled fails "$scratch/empty"
	says err 'output directory'
	sampled fails -o "$scratch" "$scratch/empty"
	says err 'no files'
}

# A run that is over left its files. Each has the whole run in one row.
whole_run() { # provider
	local file sent first=mon_recv_0_64_c,mon_recv_0_64_s,mon_recv_64_512_c
	rm -rf "$base"
	server_env=("${monitored[@]}" FI_OFI_HOOK_MONITOR_LINGER=1 SLURM_JOB_ID=31)
	client_env=("${server_env[@]}")
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p "$1" -e rdm \
		-I 50 -S 2000 -m tagged
	check_pair "monitored $1" 1
	[ "$(find "$files" -type f -name "*_31_$1" | wc -l)" = 2 ] ||
		fail "$1: not two files: $(ls "$files")"
	for file in "$files"/*; do
		sampled 0 "$file"
		[ "$(wc -l <"$scratch/out")" = 2 ] || fail "$1: not a header and a row"
		head -n 1 "$scratch/out" | grep -q "^$first,.*,mon_cq_tagged_rx_4M_UP_s$" ||
			fail "$1: header"
		cp "$scratch/out" "$scratch/csv"
		sent=$(value "$scratch/csv" mon_tsend_1K_4K_c)
		[ "$sent" = 50 ] || sent=$(value "$scratch/csv" mon_tinject_1K_4K_c)
		[ "$sent" = 50 ] || fail "$1: $sent sends, not 50"
		at_least "$scratch/csv" mon_trecv_1K_4K_c 50
		is "$scratch/csv" mon_send_1K_4K_c 0
		at_least "$scratch/csv" mon_cq_read_0_64_c 50
		sampled fails "$file"
		says err 'has ended'
	done
}

# A pair that runs until it is killed; the file of the server is $live.
start_live() { # provider [VAR=VALUE...]
	local end port provider=$1
	shift
	rm -rf "$base"
	port=$(free_port)
	timeout "$limit" env "LD_LIBRARY_PATH=$our_lib" "${monitored[@]}" "$@" "$our_pingpong" \
		-B "$port" "${endless[@]}" -p "$provider" >/dev/null 2>&1 &
	server_pid=$!
	# The server ends where another process was faster to take the port.
	until listening "$port" || ! kill -0 "$server_pid" 2>/dev/null; do sleep 0.02; done
	timeout "$limit" env "LD_LIBRARY_PATH=$our_lib" "$@" "$our_pingpong" \
		-P "$port" "${endless[@]}" -p "$provider" 127.0.0.1 >/dev/null 2>&1 &
	client_pid=$!
	end=$((SECONDS + $(limit_s 10)))
	until [ -n "$(ls "$files" 2>/dev/null)" ] || [ $SECONDS -gt $end ]; do sleep 0.02; done
	live=$(echo "$files"/*)
}

stop_live() {
	kill "$client_pid" "$server_pid" 2>/dev/null
	wait "$server_pid" "$client_pid" 2>/dev/null
	server_pid=
}

# Rows of a program that runs: -w, -o, appending, and the directory as the target.
running() {
	local out=$scratch/rows name rows end
	mkdir -p "$out"
	start_live tcp
	name=$(basename "$live")
	"$sampler" -w 20 -o "$out" "$live" 2>"$scratch/notes" &
	sampler_pid=$!
	end=$((SECONDS + $(limit_s 10)))
	until [ "$(grep -c , "$out/$name.csv" 2>/dev/null || :)" -ge 4 ] 2>/dev/null || [ $SECONDS -gt $end ]; do
		sleep 0.02
	done
	sampled fails "$live"
	says err 'another fi_mon_sampler'
	kill "$sampler_pid"
	wait "$sampler_pid" || fail "-w: exits with $? after a signal"
	says notes "Writing sampled data to $out/$name.csv"
	says notes "Closed $out/$name.csv"
	rows=$(wc -l <"$out/$name.csv")
	[ "$rows" -ge 4 ] || fail "-w wrote $rows lines"
	at_least "$out/$name.csv" mon_tinject_64_512_c 1
	sampled 0 -o "$out" "$files"
	[ "$(wc -l <"$out/$name.csv")" = $((rows + 1)) ] || fail "-o does not append one row"
	[ "$(grep -c mon_recv "$out/$name.csv")" = 1 ] || fail "-o repeats the header"
	stop_live
}

# peers SHM,SOCKETS PROVIDER [VAR=VALUE...]: which transport the peer is reached by.
peers() {
	local wanted=$1 end row=
	shift
	start_live "$@"
	end=$((SECONDS + $(limit_s 10)))
	until [ "$row" = "$wanted" ] || [ $SECONDS -gt $end ]; do
		sampled 0 -f peers "$live"
		[ "$(head -n 1 "$scratch/out")" = shm,sockets ] || fail "header of peers"
		row=$(tail -n 1 "$scratch/out")
	done
	[ "$row" = "$wanted" ] || fail "$*: peers are $row, not $wanted"
	stop_live
}

# A process that was killed leaves its file. The sampler does not wait for it.
killed() {
	start_live tcp
	kill -KILL "$(basename "$live" | cut -d_ -f2)"
	stop_live
	sampled fails "$live"
	says err 'has died'
	cp "$live" "$scratch/good"
}

# Files that no process wrote. $scratch/good is a whole one.
hostile() {
	local bad=$scratch/bad size
	for size in 0 1 7 8 12 20 24 39 40 47 100 6000 12000; do
		head -c $size "$scratch/good" >"$bad"
		sampled fails "$bad"
		says err 'not the file\|truncated'
	done
	for size in 8 12 16 20; do
		cp "$scratch/good" "$bad"
		printf '\377\377' | dd of="$bad" bs=1 seek=$size conv=notrunc status=none
		sampled fails "$bad"
		says err 'another version'
	done
	head -c 20000 /dev/urandom >"$bad"
	sampled fails "$bad"
	says err 'not the file'
	{ head -c 24 "$scratch/good"; head -c 20000 /dev/zero | tr '\0' '\377'; } >"$bad"
	sampled fails "$bad"
	says err 'has ended'
	rm "$bad"
	mkfifo "$bad"
	sampled fails "$bad"
	says err 'not a file'
	sampled fails -o "$scratch/nowhere" "$scratch/good"
	says err 'No such file'
}

# What others write into the file of a program does not disturb it.
survives() {
	local end
	rm -rf "$base"
	server_env=("${monitored[@]}")
	client_env=()
	(
		end=$((SECONDS + $(limit_s 10)))
		until [ -n "$(ls "$files" 2>/dev/null)" ] || [ $SECONDS -gt $end ]; do :; done
		while [ -e "$files" ] && live=$(ls "$files") && [ -n "$live" ]; do
			head -c 3000 /dev/urandom | dd of="$files/$live" conv=notrunc status=none
			: >"$files/$live"
		done
	) 2>/dev/null &
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p tcp -e rdm -I 5000 -S 64
	check_pair "with a damaged file" 1
	rm -rf "$files"
	wait
}

# The hook is left out with one line, and the program runs.
left_out() {
	server_env=("${monitored[@]}" FI_OFI_HOOK_MONITOR_BASEPATH=/nonexistent/ofi
		FI_LOG_LEVEL=warn)
	client_env=()
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p tcp -e rdm -I 10 -S 64
	check_pair "without a directory" 1
	[ "$(grep -c 'is not monitored: .*/nonexistent/ofi' "$scratch/server.err")" = 1 ] ||
		fail "not one line: $(cat "$scratch/server.err")"
}

# GI-036
with ours "$our_info" -l | grep -q '^ofi_hook_monitor:' || fail "fi_info -l lacks the hook"
arguments
for provider in $WEFT_MONITORED; do
	whole_run "$provider"
done
case " $WEFT_MONITORED " in
*' tcp '*)
	running
	killed
	hostile
	survives
	left_out
	peers 0,1 tcp FI_TCP_LOCAL=tcp
	case " $WEFT_MONITORED " in
	*' shm '*)
		peers 1,0 tcp
		if with ours "$our_info" -p 'tcp;ofi_rxm' >/dev/null 2>&1; then
			peers 1,0 'tcp;ofi_rxm'
		fi
		;;
	esac
	;;
esac
finish
