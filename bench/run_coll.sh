#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_coll.sh BUILD [ROUNDS [MEMBERS...]]: collectives of local processes over shm, with
# the engine within a node and the one over messages, and over tcp, against Debian's Open
# MPI (shared memory, tuned) and MPICH where these are installed. BENCH_COLL_OPERATION
# limits it to one operation.
set -euo pipefail
build=$1
rounds=${2:-5}
members=("${@:3}")
[ ${#members[@]} -gt 0 ] || members=(2 4 8 16)
here=$(dirname "$0")
only=${BENCH_COLL_OPERATION:-}
# shellcheck source=bench/figures.sh
. "$here/figures.sh"

# ---- who takes part ----

mpis=()
for mpi in openmpi mpich; do
	if "mpicc.$mpi" -O2 -std=gnu11 -o "$figures/coll_$mpi" "$here"/coll_mpi.c \
		"$here"/coll_rows.c 2>"$figures/$mpi.log"; then
		mpis+=("$mpi")
	else
		echo "without mpicc.$mpi: no column for it" >&2
	fi
done

# rows NAME MEMBERS: a file of figures for each row that comes: name, bytes, best, median.
rows() {
	local row bytes best median
	while read -r row bytes best median; do
		echo "$best $median" >>"$figures/$1_$2_${row}_$bytes"
	done
}

# program NAME MEMBERS PROGRAM...: one that prints such rows.
program() {
	timeout 300 "${@:3}" $only | rows "$1" "$2" || echo "$1, $2 members: failed" >&2
}

# ours NAME PROVIDER MEMBERS
ours() {
	timeout 300 "$build/tools/fi_bench" -p "$2" -m "$3" -s 8,4k,1m -D 0.1 \
		-t "${only:-barrier,allreduce,broadcast,alltoall,allgather,reduce+broadcast}" \
		--percentiles no --label bench --csv - |
		awk -F, 'NR > 1 { print $7, $8, $13, $14 }' | rows "$1" "$3" ||
		echo "$1, $3 members: failed" >&2
}

openmpi() {
	local bind=core
	[ "$1" -le "$(nproc)" ] || bind=none
	LD_LIBRARY_PATH='' OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 program \
		openmpi "$1" mpirun.openmpi --oversubscribe --bind-to $bind \
		--mca pml ob1 --mca btl self,vader -n "$1" "$figures/coll_openmpi"
}

# Debian's MPICH never yields: where processes share cores, each step takes a time slice,
# and one round shows that.
mpich() {
	local bind=core
	if [ "$1" -gt "$(nproc)" ]; then
		[ "$2" -eq 0 ] || return 0
		bind=none
	fi
	LD_LIBRARY_PATH='' program mpich "$1" mpiexec.mpich -bind-to $bind -n "$1" \
		"$figures/coll_mpich"
}

# ---- the rounds ----

for ((i = 0; i < rounds; i++)); do
	for n in "${members[@]}"; do
		FI_OFF_COLL_ENGINE=node ours node shm "$n"
		for mpi in "${mpis[@]}"; do
			"$mpi" "$n" "$i"
		done
		FI_OFF_COLL_ENGINE=p2p ours p2p shm "$n"
		FI_OFF_COLL_ENGINE=p2p ours tcp tcp "$n"
	done
done

# ---- the table ----

# value NAME: best and median in us.
value() {
	[ -s "$figures/$1" ] || { printf '%22s' -; return; }
	awk -v best="$(figure "$1" best)" -v median="$(figure "$1" median)" \
		'BEGIN { printf "%11.2f%11.2f", best / 1000, median / 1000 }'
}
# by NAME REFERENCE: how many times the reference, best and median.
by() {
	[ -s "$figures/$1" ] && [ -s "$figures/$2" ] || { printf '%14s' -; return; }
	awk -v a="$(quotient "$1" "$2" best)" -v b="$(quotient "$1" "$2" median)" \
		'BEGIN { printf "%7.2f%7.2f", a, b }'
}
row() {
	local name=$2_$1 title=$1 engine
	[ -s "$figures/node_$name" ] || return 0
	printf '%-26s' "${title/_/ }"
	for engine in node p2p tcp openmpi mpich; do
		value "${engine}_$name"
	done
	printf '  '
	by "node_$name" "openmpi_$name"
	by "node_$name" "mpich_$name"
	printf '\n'
}

printf '%d interleaved rounds; best and median of each in us, and node by the MPIs\n' \
	"$rounds"
for n in "${members[@]}"; do
	printf '%-26s%22s%22s%22s%22s%22s  %14s%14s\n' "$n members" 'shm, node' 'shm, p2p' \
		tcp 'Open MPI' MPICH 'by Open MPI' 'by MPICH'
	row barrier_0 "$n"
	for op in allreduce broadcast alltoall allgather reduce+broadcast; do
		for size in 8 4096 1048576; do
			row "${op}_$size" "$n"
		done
	done
done
