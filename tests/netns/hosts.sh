# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Sourced: two hosts, each made of a network namespace, a host name and a /dev/shm of its
# own (with shm=shared both have that of this host), with rails between them. The
# addresses of host H are 10.9R.0.(H+1), R the rail.
# $dir is a folder for the test. Exit status 77: namespaces are not permitted here.

ns=weft-hosts-$$
dir=$(mktemp -d)
holder=()

skip() {
	echo "skipped: $1"
	exit 77
}

drop_hosts() {
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	for host in 0 1; do
		ip netns del "$ns-$host" 2>/dev/null
	done
	rm -rf "$dir"
}

# on HOST COMMAND...
on() {
	nsenter -t "${holder[$1]}" -n -m -u --wd="$PWD" "${@:2}"
}

# until_true COMMAND...: for five seconds
until_true() {
	for _ in $(seq 100); do
		"$@" && return
		sleep 0.05
	done
	return 1
}

carries() {
	[ "$(on "$1" cat "/sys/class/net/$2/carrier" 2>/dev/null)" = 1 ]
}

# What stays while the host does, and has its namespaces.
hold() {
	# shellcheck disable=SC2016 # expanded there
	exec ip netns exec "$ns-$1" unshare -m -u sh -c '
		echo "$2" >/proc/sys/kernel/hostname &&
		{ [ "$3" = shared ] || mount -t tmpfs tmpfs /dev/shm; } &&
		: >"$1" && exec sleep 3600' \
		hold "$dir/up.$1" "weft-host$1" "${shm:-own}" >"$dir/held.$1" 2>&1
}

# make_hosts RAILS
make_hosts() {
	local host rail
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v ip >/dev/null || skip "needs iproute2"
	for host in 0 1; do
		ip netns add "$ns-$host" 2>/dev/null ||
			skip "network namespaces are not permitted"
	done
	for ((rail = 0; rail < $1; rail++)); do
		ip link add rail$rail netns "$ns-0" type veth \
			peer name rail$rail netns "$ns-1" || skip "no veth"
		for host in 0 1; do
			ip -n "$ns-$host" addr add 10.9$rail.0.$((host + 1))/24 \
				dev rail$rail || skip "cannot set up"
			ip -n "$ns-$host" link set rail$rail up
		done
	done
	for host in 0 1; do
		ip -n "$ns-$host" link set lo up
		hold $host &
		holder[host]=$!
		until_true test -e "$dir/up.$host" ||
			skip "mounts or host names are not permitted: $(cat "$dir/held.$host")"
		for ((rail = 0; rail < $1; rail++)); do
			until_true carries $host rail$rail || skip "no carrier"
		done
	done
}

# make_shell FILE: a remote shell, which knows hosts by their addresses on the first rail:
# FILE [OPTION...] ADDRESS COMMAND... by_shell: options for Open MPI's mpirun to use it.
make_shell() {
	# shellcheck disable=SC2034 # used by the caller
	by_shell=(--mca plm rsh --mca plm_rsh_agent "$1" --mca oob_tcp_if_include rail0)
	# shellcheck disable=SC2016 # expanded there
	{
		echo '#!/bin/sh'
		echo 'while case $1 in -*) true ;; *) false ;; esac; do shift; done'
		echo 'case $1 in'
		for host in 0 1; do
			echo "10.90.0.$((host + 1))) pid=${holder[host]} ;;"
		done
		echo '*) echo "unknown host $1" >&2; exit 1 ;;'
		echo 'esac'
		echo 'shift'
		echo 'exec nsenter -t $pid -n -m -u /bin/sh -c "$*"'
	} >"$1"
	chmod +x "$1"
}

trap drop_hosts EXIT
trap 'exit 99' INT TERM
