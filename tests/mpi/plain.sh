#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The distribution's Open MPI without a list of providers to include, as another one would
# run that does not rule libfabric out: the distribution's configuration file says
# "mtl = ^ofi", a copy of it without that line is used. Open MPI then asks our library and
# leaves out by name what it does not want. What is left must not be slower than its own
# ways: nothing, today. Without its list of names it takes the first answer. WEFT_LIB is
# the folder of libfabric.so.1. Exit status 77 is a skip.
set -u
here=$(cd "$(dirname "$0")" && pwd)

for tool in mpicc mpirun; do
	command -v "$tool" >/dev/null || { echo "skipped: $tool is not here"; exit 77; }
done
mpirun --version 2>/dev/null | grep -q 'Open MPI' ||
	{ echo "skipped: mpirun is not that of Open MPI"; exit 77; }
defaults=/etc/openmpi/openmpi-mca-params.conf
[ -r "$defaults" ] || { echo "skipped: no $defaults"; exit 77; }

# shellcheck source=tests/limits.sh
. "$here/../limits.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' INT TERM
grep -v '^[[:space:]]*mtl[[:space:]]*=' "$defaults" >"$scratch/params.conf"
mpicc -std=gnu11 -O1 -g -o "$scratch/program" "$here/point_to_point.c" || exit 1

export LD_LIBRARY_PATH=$WEFT_LIB
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset FI_TCP_IFACE FI_PROVIDER FI_LNX_PROV_LINKS
failures=0

run() { # name, what the transport module says, option...
	local name=$1 wanted=$2
	shift 2
	rm -rf "$scratch/ranks"
	LD_DEBUG=libs timeout -k 5 "$(limit_s 100)" mpirun --oversubscribe --bind-to none \
		-x LD_LIBRARY_PATH -x LD_DEBUG \
		--mca mca_base_param_files "$scratch/params.conf" \
		--mca mpi_yield_when_idle 1 --mca opal_common_ofi_verbose 1 \
		--output-filename "$scratch/ranks" --mca mtl_base_verbose 10 --mca pml_base_verbose 10 "$@" \
		-n 2 "$scratch/program" >"$scratch/out" 2>"$scratch/err"
	local status=$? said
	# One file for each rank, so that their lines do not mix.
	said=$(grep -rho 'mtl:ofi:prov: [a-z_;]*$' "$scratch/ranks" | sed 's/.*: //' | sort -u)
	if [ $status != 0 ] || ! grep -q '^point_to_point: 2 ranks passed' "$scratch/out"; then
		echo "FAILED: $name: exit status $status"
		tail -n 20 "$scratch/out"
		failures=1
	elif ! grep -rq "calling init: $WEFT_LIB/libfabric\.so\.1" "$scratch/ranks"; then
		echo "FAILED: $name: our library is not asked"
		failures=1
	elif [ "$said" != "$wanted" ]; then
		echo "FAILED: $name: it takes '$said' instead of '$wanted'"
		grep -rh 'mtl:ofi\|selected' "$scratch/ranks" | head -n 20
		failures=1
	else
		echo "$name: takes $said"
	fi
}

run "with its own list of what to leave out" none
run "without that list" tcp --mca mtl_ofi_provider_exclude nothing --mca pml cm
exit $failures
