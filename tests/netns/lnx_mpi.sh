#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The distribution's Open MPI over lnx on two hosts (hosts.sh) with two ranks on each.
# mpirun runs on the one host and reaches the other by a remote shell that enters its
# namespaces.
# usage: lnx_mpi.sh RUN PROGRAM...: RUN is tests/mpi/run.sh, which has the programs, and
# WEFT_LIB the folder of libfabric.so.1. Exit status 77: namespaces are not permitted
# here, or there is no Open MPI.
set -u

run=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/netns/hosts.sh
. "$here/hosts.sh"
# shellcheck source=tests/limits.sh
. "$here/../limits.sh"
make_hosts 2
logs=$dir/logs

make_shell "$dir/shell"

# Every rank first reached two peers, itself among them, by each of these links. There
# are more logs than of one run, as run.sh first looks which library is used.
both_ways() {
	local log link
	[ "$(find "$logs" -name '*.log' | wc -l)" -ge 4 ] || return
	for log in "$logs"/*.log; do
		for link; do
			[ "$(grep -cE "address [0-9]+: over $link," "$log")" = 2 ] ||
				return
		done
	done
}

# A rank striped messages to a peer over both rails.
striped() {
	grep -qE 'are striped over 2 links' "$logs"/*.log
}

failed() {
	echo "not ok - $program over $links: $1"
	sed 's/^/# /' "$dir/out"
	cat "$logs"/*.log | grep -E 'over|warn' | sed 's/^/# /' | tail -n 20
	exit 1
}

# test_over LINKS REMOTE PROGRAM. Sets links and program, which failed names.
test_over() {
	local status
	links=$1
	program=$3
	rm -rf "$logs"
	mkdir "$logs"
	export MPI_PROVIDER=lnx
	local options=(
		--host "10.90.0.1:2,10.90.0.2:2" "${by_shell[@]}"
		-x "FI_LNX_PROV_LINKS=$links" -x FI_LOG_LEVEL=info -x FI_LOG_PROV=lnx
		-x "FI_LOG_LOCATION=$logs" -x FI_LNX_STRIPE_SIZE
	)
	export MPI_OPTIONS=${options[*]}
	on 0 timeout -k 5 "$(limit_s 200)" bash "$run" "$program" 4 >"$dir/out" 2>&1
	status=$?
	[ $status != 77 ] || { cat "$dir/out"; exit 77; }
	[ $status = 0 ] || failed "exit status $status"
	both_ways 'shm:[^ ]*' "$2" || failed "not over those links"
	echo "ok - $program over $links"
}

export FI_LNX_STRIPE_SIZE=0
for program; do
	test_over shm+tcp:rail0 tcp:rail0 "$program"
done
test_over shm+tcp:rail0,rail1 'tcp:rail[01]' "$1"
FI_LNX_STRIPE_SIZE=65536
test_over shm+tcp:rail0,rail1 'tcp:rail[01]' point_to_point
striped || failed "no message was striped"
echo "ok - large messages are striped"
