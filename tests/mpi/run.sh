#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh PROGRAM RANKS...: build that program with the distribution's Open MPI and run it
# with each number of ranks, its point-to-point messages over our library. PROGRAM
# "netpipe" is the distribution's NetPIPE, "netpipe_data" the same checking the data
# that arrive. WEFT_LIB is the folder of libfabric.so.1 (empty: that of the
# distribution), MPI_PROVIDER the provider, "tcp" by default, MPI_OPTIONS more options
# of mpirun, without blanks in them. With MPI_ONE_SIDED=btl it is one-sided communication
# that goes over our library, and messages over sockets of Open MPI.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$1
shift
provider=${MPI_PROVIDER:-tcp}

for tool in mpicc mpirun; do
	command -v "$tool" >/dev/null || { echo "skipped: $tool is not here"; exit 77; }
done
mpirun --version 2>/dev/null | grep -q 'Open MPI' ||
	{ echo "skipped: mpirun is not that of Open MPI"; exit 77; }

# shellcheck source=tests/limits.sh
. "$here/../limits.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' INT TERM

# What is run, and the line that tells of its good end.
case $program in
netpipe*)
	command -v NPopenmpi >/dev/null || { echo "skipped: NPopenmpi is not here"; exit 77; }
	command=(NPopenmpi -o /dev/null -u 131072 -n 5)
	passed=' 131075 bytes .* Mbps in'
	if [ "$program" = netpipe_data ]; then
		command+=(-i)
		passed=' 98305 bytes .* Integrity check passed'
	fi
	;;
*)
	mpicc -std=gnu11 -O1 -g -o "$scratch/$program" "$here/$program.c" || exit 1
	command=("$scratch/$program")
	passed="^$program: [0-9]+ ranks passed"
	;;
esac

[ -z "${WEFT_LIB:-}" ] || export LD_LIBRARY_PATH=$WEFT_LIB
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Open MPI wants an interface that reaches other nodes, so not the loopback one.
unset FI_TCP_IFACE
# lnx answers where it is named, which an include list of Open MPI does not do.
[ "$provider" != lnx ] || export FI_PROVIDER=lnx
options=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
if [ "${MPI_ONE_SIDED:-}" = btl ]; then
	options+=(--mca pml ob1 --mca osc rdma --mca btl "ofi,tcp,self"
		--mca btl_ofi_provider_include "$provider" --mca btl_tcp_if_include lo)
else
	# One-sided communication by messages: the other ways of it pass our library by.
	options+=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "$provider"
		--mca osc pt2pt --mca btl '^openib,ofi')
fi
[ -z "${WEFT_LIB:-}" ] || options+=(-x LD_LIBRARY_PATH)
[ "$provider" != lnx ] || options+=(-x FI_PROVIDER)
read -ra more <<<"${MPI_OPTIONS:-}"
options+=("${more[@]}")

# The library that the transport module gets is the one meant.
if [ -n "${WEFT_LIB:-}" ]; then
	LD_DEBUG=libs timeout -k 5 "$(limit_s 60)" mpirun "${options[@]}" -x LD_DEBUG -n "$1" \
		"${command[@]}" >"$scratch/out" 2>"$scratch/loader"
	if ! grep -q "calling init: $WEFT_LIB/libfabric\.so\.1" "$scratch/loader"; then
		echo "FAILED: runs on another library:"
		grep -m 3 'calling init: .*libfabric' "$scratch/loader"
		tail -n 20 "$scratch/out"
		exit 1
	fi
fi

for ranks; do
	timeout -k 5 "$(limit_s 100)" mpirun "${options[@]}" -n "$ranks" \
		"${command[@]}" >"$scratch/out" 2>&1
	status=$?
	if [ $status != 0 ] || ! grep -Eq "$passed" "$scratch/out"; then
		echo "FAILED: $program with $ranks ranks: exit status $status"
		tail -n 40 "$scratch/out"
		exit 1
	fi
	echo "$program, $ranks ranks: $(grep -E "$passed" "$scratch/out" | tail -n 1)"
done
