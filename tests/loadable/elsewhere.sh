#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our provider libraries in another libfabric, under it and under its layers, and its
# provider libraries in ours. The other one is the distribution's, or what is installed
# under WEFT_OTHER_PREFIX; its provider libraries are in lib/libfabric there.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/../interop/lib.sh"

prefix=${WEFT_OTHER_PREFIX:-/usr}
other_info=$prefix/bin/fi_info
other_pingpong=$prefix/bin/fi_pingpong
need "$other_info" "$other_pingpong" "$our_info" "$our_pingpong"
tried=0

# loads INFO LIBRARY: the program's libfabric loads the provider library.
loads() {
	LD_DEBUG=libs LD_DEBUG_OUTPUT=$scratch/loader with "$whose" "$1" >/dev/null 2>&1
	cat "$scratch"/loader.* | grep -q "calling init: $2\$"
	local found=$?
	rm -f "$scratch"/loader.*
	return $found
}

# talk PROVIDER TYPE: two processes of that library exchange messages.
talk() {
	"$info" -p "$1" >/dev/null 2>&1 || { echo "$1: not in this library"; return; }
	pair 127.0.0.1 "$whose" "$pingpong" "$whose" "$pingpong" -p "$1" -e "$2" -I 20 -c \
		-S 1024
	if [ "$server_status" = 0 ] && [ "$client_status" = 0 ]; then
		echo "$1 $2: done"
		return
	fi
	fail "$1 $2: server exits with $server_status, client with $client_status"
	tail -n 3 "$scratch"/{server,client}.{out,err}
}

# try WHOSE INFO PINGPONG DIRECTORY: with the provider libraries of that directory.
try() {
	whose=$1 info=$2 pingpong=$3
	local name wrong
	export FI_PROVIDER_PATH=$4
	if ! loads "$info" "$4/libtcp-fi.so"; then
		echo "$info does not load $4/libtcp-fi.so"
		return
	fi
	tried=1
	for name in tcp udp shm; do
		with "$whose" "$info" -p "$name" >"$scratch/list" 2>&1 ||
			fail "$name is not offered"
		wrong=$(grep '^provider' "$scratch/list" | grep -vE " $name(;ofi_rx[md])?\$")
		[ -z "$wrong" ] || fail "$name is called $wrong"
	done
	talk tcp rdm
	talk tcp msg
	talk udp dgram
	talk shm rdm
	talk "tcp;ofi_rxm" rdm
	talk "udp;ofi_rxd" rdm
}

try other "$other_info" "$other_pingpong" "$our_lib"
for dir in "$prefix"/lib/libfabric "$prefix"/lib/*/libfabric; do
	[ ! -e "$dir/libtcp-fi.so" ] || try ours "$our_info" "$our_pingpong" "$dir"
done
[ $tried = 1 ] || skip "no other libfabric here loads our provider libraries or has some"
finish
