#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_instructions.sh BUILD [FOLDER]: instructions of one message at both ends, counted
# by callgrind: with the library of BUILD and, next to it, with the one of FOLDER.
set -euo pipefail
program=$1/bench/instructions
folders=("$1/src" ${2:+"$2"})

if [ -z "$(command -v valgrind)" ]; then
	echo 'without valgrind: no instructions are counted' >&2
	exit
fi

# total FOLDER PROVIDER SIZE COUNT: instructions of a whole run
total() {
	LD_LIBRARY_PATH=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$program" "$2" "$3" "$4" 2>&1 | sed -n 's/.*Collected : //p' || true
}

# row NAME PROVIDER SIZE...: what 4,000 messages more take
row() {
	local name=$1 provider=$2 size folder few many cost
	shift 2
	for size; do
		printf '%-16s %8s' "$name" "$size"
		for folder in "${folders[@]}"; do
			few=$(total "$folder" "$provider" "$size" 2000)
			many=$(total "$folder" "$provider" "$size" 6000)
			# Another library may not have the provider.
			cost=-
			((${many:-0} <= ${few:-0})) || cost=$(((many - few) / 4000))
			printf ' %8s' "$cost"
		done
		printf '\n'
	done
}

printf '%-16s %8s' provider bytes
printf ' %s' "${folders[@]}"
printf '\n'
row shm shm 8 64 128 1024 4096
FI_LNX_PROV_LINKS=shm row 'lnx over shm' lnx 8 64 1024
FI_TCP_LOCAL=tcp row 'tcp, sockets' tcp 8 64 1024 4096
