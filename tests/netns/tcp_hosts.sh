#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hosts (hosts.sh), two processes on each, over tcp: those of one host talk by shared
# memory, all others by sockets, receives take from both. The hosts share a kernel and a
# process namespace, and have no shared memory in common. The last process keeps to
# its sockets, and in another run it is one of the distribution's library, if that is here.
# In the environment: shm=shared gives the hosts a /dev/shm in common, as containers may have:
# then all talk by memory, although no interface is common to both. provider=tcp;ofi_rxm takes
# these endpoints, which reach themselves by sockets.
# usage: tcp_hosts.sh PROGRAM LIBRARY. Exit status 77: namespaces are not permitted here.
set -u

program=$1 library=$2
provider=${provider:-tcp}
# What endpoints of another library with this wire are called, and whether they lack atomics.
case $provider in
tcp) self=1 twin=net lacks=(JOB_WITHOUT_ATOMICS=1) ;;
*) self=0 twin='net;ofi_rxm' lacks=() ;;
esac
other=$(ldconfig -p | sed -n 's/^\tlibfabric\.so\.1 .*=> //p' | head -n 1)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/netns/hosts.sh
. "$here/hosts.sh"
make_hosts 1

# run WHAT [SETTING_R=VARIABLE=VALUE...]: all pass
run() {
	local host pid pids=() failed=0
	at=$dir/$1
	mkdir "$at"
	for host in 0 1; do
		on $host env FI_LOG_LEVEL=info FI_LOG_PROV=tcp,ofi_rxm "${@:2}" \
			bash "$here/host.sh" "$program" "$library" "$at" 4 "$provider" $((2 * host)) \
			$((2 * host + 1)) &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	[ $failed = 1 ] || return 0
	echo "not ok - $1"
	tail -n 12 "$at"/out.* "$at"/log.* | sed 's/^/# /'
	exit 1
}

# transports WHAT RANK COUNT: so many processes are reached by memory, itself included where
# $self is 1
transports() {
	local count wanted=$3
	[ "$self" = 1 ] || wanted=$((wanted ? wanted - 1 : 0))
	count=$(grep -c 'is reached by shared memory from now on' "$at/log.$2")
	[ "$count" = "$wanted" ] && return
	echo "not ok - $1: rank $2 reaches $count by memory, wanted $wanted"
	grep 'shared memory' "$at/log.$2" | sed 's/^/# /'
	exit 1
}

# together OWN SHARED: how many processes are reached by memory, without and with shm=shared
together() {
	[ "${shm:-own}" = shared ] && echo "$2" || echo "$1"
}

# alone WHAT: the last process of WHAT reaches no peer by memory
alone() {
	transports "$1" 0 "$(together 2 3)"
	transports "$1" 1 "$(together 2 3)"
	transports "$1" 2 "$(together 1 3)"
	transports "$1" 3 0
}

run one_is_different SETTING_3=FI_TCP_LOCAL=tcp
alone one_is_different
[ "${shm:-own}" = shared ] ||
	cat "$at"/log.[012] | grep -q 'has no shared memory .*: another directory' || {
	echo "not ok - nothing tells why the hosts share no memory"
	exit 1
}
echo "ok - two hosts, and one process that keeps to its sockets"
if [ -n "$other" ]; then
	run another_library "${lacks[@]}" SETTING_3="JOB_LIBRARY=$other JOB_PROVIDER=$twin"
	alone another_library
	echo "ok - two hosts, and one process of another library"
fi
run all_alike
for rank in 0 1 2 3; do
	transports all_alike $rank "$(together 2 4)"
done
echo "ok - two hosts"
