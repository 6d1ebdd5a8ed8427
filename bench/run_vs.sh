#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_vs.sh BUILD [ROUNDS [FOLDER]]: this library next to the libfabric of FOLDER, or the
# system's, and next to UCX, where they are installed. Buffers are written and read each
# time, except with UCX, whose program does not.
set -euo pipefail
build=$1
rounds=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
folder=${3:-$(ldconfig -p |
	sed -n 's|^\tlibfabric\.so\.1 .* => \(.*\)/libfabric.*|\1|p' | head -n 1)}

# keep TOOL PROVIDER OTHER: the table goes to the file of BENCH_RESULTS, too.
keep() {
	if [ -n "${BENCH_RESULTS:-}" ]; then
		python3 "$here/keep.py" compared "$BENCH_RESULTS" "$@"
	else
		cat
	fi
}

# vs OTHER PROVIDER OPTION...
vs() {
	local option=(--vs "$folder")
	[ "$1" != UCX ] || option=(--vs-ucx)
	{
		"$build/tools/fi_bench" -C "${BENCH_CORE0:-0}:${BENCH_CORE1:-1}" \
			--rounds "$rounds" "${option[@]}" -p "${@:2}" ||
			echo "fi_bench ${option[*]} -p ${*:2}: failed" >&2
	} | keep "fi_bench ${option[0]}" "$2" "$1 $2"
}

if [ -n "$folder" ]; then
	vs libfabric shm -s 8,64,4k,16k,64k,1m \
		-t latency,bandwidth,rate,write_bandwidth,fetch_add
	vs libfabric tcp -e msg -s 64,4k,64k,1m -t latency,bandwidth,rate
	vs libfabric udp -e dgram -s 64 -t latency
else
	echo 'without another libfabric: no comparison with it' >&2
fi
if [ -n "$(command -v ucx_perftest)" ]; then
	vs UCX shm -s 8,64,4k,16k,64k,1m \
		-t latency,bandwidth,rate,write_latency,write_bandwidth,fetch_add
	vs UCX tcp -s 64,4k,64k,1m -t latency,bandwidth,rate
else
	echo 'without ucx-utils: no comparison with UCX' >&2
fi
