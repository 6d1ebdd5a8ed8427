#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BUILD [NAME...]: every benchmark, or those named; see docs/performance.md. What they
# print goes to bench/results/DATE-MACHINE.txt as well, figures to the .csv beside it, or to
# those of BENCH_RESULTS=FILE.csv; to none where that is empty.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
shift
export LD_LIBRARY_PATH=$build/src
if [ $# -eq 0 ]; then
	for script in "$here"/run_*.sh; do
		name=${script##*/run_}
		set -- "$@" "${name%.sh}"
	done
fi
export BENCH_RESULTS=${BENCH_RESULTS-$here/results/$(date +%F)-$(python3 "$here/keep.py" machine).csv}
log=/dev/null
[ -z "$BENCH_RESULTS" ] || log=${BENCH_RESULTS%.csv}.txt
for name; do
	printf '== %s\n' "$name"
	bash "$here/run_$name.sh" "$build"
done | tee -a "$log"
