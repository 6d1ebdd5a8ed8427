#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# mpi.sh BUILD [ROUNDS [PROCESSES...]]: messages and collectives of Open MPI over this
# library's tcp provider, next to Open MPI's own shared memory and, where it has it, UCX.
# BENCH_MPI_PATTERN limits it to one pattern, BENCH_MPI_SIZES to some sizes in bytes.
set -euo pipefail
build=$(realpath "$1")
rounds=${2:-5}
processes=("${@:3}")
[ ${#processes[@]} -gt 0 ] || processes=(2 4)
here=$(dirname "$0")
pattern=${BENCH_MPI_PATTERN:-all}
read -ra sizes <<<"${BENCH_MPI_SIZES:-8 64 1024 4096 16384 65536 262144 1048576}"
# shellcheck source=bench/figures.sh
. "$here/figures.sh"

if [ -z "$(command -v mpicc.openmpi)" ] || [ -z "$(command -v mpirun.openmpi)" ]; then
	echo 'without openmpi-bin and libopenmpi-dev: no programs of MPI' >&2
	exit 0
fi
mpicc.openmpi -O2 -std=gnu11 -o "$figures/mpi_patterns" "$here/mpi_patterns.c"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset FI_PROVIDER FI_TCP_IFACE

# ---- who takes part ----

# launch TRANSPORT PROCESSES PROGRAM...
launch() {
	local options=(--oversubscribe -n "$2")
	if [ "$2" -le "$(nproc)" ]; then
		options+=(--bind-to core)
	else
		options+=(--bind-to none --mca mpi_yield_when_idle 1)
	fi
	case $1 in
	ours)
		LD_LIBRARY_PATH=$build/src timeout -k 5 300 mpirun.openmpi "${options[@]}" \
			-x LD_LIBRARY_PATH --mca pml cm --mca mtl ofi \
			--mca mtl_ofi_provider_include tcp --mca btl '^openib,ofi' "${@:3}"
		;;
	shared)
		LD_LIBRARY_PATH='' timeout -k 5 300 mpirun.openmpi "${options[@]}" \
			--mca pml ob1 --mca btl self,vader "${@:3}"
		;;
	ucx)
		LD_LIBRARY_PATH='' timeout -k 5 300 mpirun.openmpi "${options[@]}" \
			--mca pml ucx --mca opal_common_ucx_tls any \
			--mca opal_common_ucx_devices any --mca btl '^openib,ofi' "${@:3}"
		;;
	esac </dev/null
}

# The library that Open MPI gets is the one meant.
LD_DEBUG=libs launch ours 2 -x LD_DEBUG "$figures/mpi_patterns" barrier 0 \
	>"$figures/log" 2>&1 || true
if ! grep -q "calling init: $build/src/libfabric\.so\.1" "$figures/log"; then
	echo "Open MPI does not run over $build/src:" >&2
	grep -v 'calling\|search\|trying\|find library' "$figures/log" | tail -n 5 >&2
	exit 1
fi

transports=(ours shared)
if launch ucx 2 "$figures/mpi_patterns" barrier 0 >"$figures/log" 2>&1; then
	transports+=(ucx)
else
	echo "Open MPI's pml ucx does not run here: no column for it" >&2
fi

# ---- the rounds ----

# rows NAME PROCESSES: a file of figures for each row that comes, and one of its beginning.
rows() {
	local row bytes best median first
	while read -r row bytes best median first; do
		echo "$best $median" >>"$figures/$1_$2_${row}_$bytes"
		echo "$first $first" >>"$figures/$1_$2_${row}_${bytes}_first"
	done
}
for ((i = 0; i < rounds; i++)); do
	for n in "${processes[@]}"; do
		for transport in "${transports[@]}"; do
			launch "$transport" "$n" "$figures/mpi_patterns" "$pattern" "${sizes[@]}" \
				2>"$figures/log" | rows "$transport" "$n" || {
				echo "$transport, $n processes: failed" >&2
				tail -n 3 "$figures/log" >&2
			}
		done
	done
done

# ---- the table ----

# value NAME: best, median, and median of the first operations, in us.
value() {
	[ -s "$figures/$1" ] || { printf '%30s' -; return; }
	awk -v best="$(figure "$1" best)" -v median="$(figure "$1" median)" \
		-v first="$(figure "${1}_first" median)" 'BEGIN {
		printf "%10.2f%10.2f%10.2f", best / 1000, median / 1000, first / 1000 }'
}
# by NAME REFERENCE: how many times the reference: best, median and first.
by() {
	[ -s "$figures/$1" ] && [ -s "$figures/$2" ] || { printf '%24s' -; return; }
	awk -v a="$(quotient "$1" "$2" best)" -v b="$(quotient "$1" "$2" median)" \
		-v c="$(quotient "${1}_first" "${2}_first" median)" 'BEGIN {
		printf "%8.2f%8.2f%8.2f", a, b, c }'
}
row() {
	local name=$2_$1 transport
	[ -s "$figures/ours_$name" ] || [ -s "$figures/shared_$name" ] || return 0
	printf '%-18s' "${1/_/ }"
	for transport in ours shared ucx; do
		value "${transport}_$name"
	done
	by "ours_$name" "shared_$name"
	by "ours_$name" "ucx_$name"
	printf '\n'
}

printf '%d interleaved rounds of Open MPI; best, median and first 100 of each in us (10 above 64 KiB),\n' \
	"$rounds"
printf 'and how many times the others ours takes\n'
for n in "${processes[@]}"; do
	printf '%-18s%30s%30s%30s%24s%24s\n' "$n processes" 'this library, tcp' \
		'shared memory' UCX 'by shared memory' 'by UCX'
	for name in pingpong exchange burst stream allreduce bcast; do
		for size in "${sizes[@]}"; do
			row "${name}_$size" "$n"
		done
	done
	row barrier_0 "$n"
done
