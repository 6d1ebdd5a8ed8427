#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BUILD [NAME...]: every benchmark, or those named; see docs/performance.md.
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
for name; do
	printf '== %s\n' "$name"
	bash "$here/run_$name.sh" "$build"
done
