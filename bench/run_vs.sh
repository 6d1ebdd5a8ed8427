#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_vs.sh BUILD [ROUNDS [FOLDER]]: this library next to the libfabric of FOLDER, or the
# system's, and next to UCX, where they are installed. Buffers are written and read each
# time, except with UCX, whose program does not.
set -euo pipefail
build=$1
rounds=${2:-5}
folder=${3:-$(ldconfig -p |
	sed -n 's|^\tlibfabric\.so\.1 .* => \(.*\)/libfabric.*|\1|p' | head -n 1)}

vs() {
	"$build/tools/fi_bench" -C "${BENCH_CORE0:-0}:${BENCH_CORE1:-1}" --rounds "$rounds" "$@" ||
		echo "fi_bench $*: failed" >&2
}

if [ -n "$folder" ]; then
	vs --vs "$folder" -p shm -s 8,64,4k,16k,64k,1m \
		-t latency,bandwidth,rate,write_bandwidth,fetch_add
	vs --vs "$folder" -p tcp -e msg -s 64,4k,64k,1m -t latency,bandwidth,rate
	vs --vs "$folder" -p udp -e dgram -s 64 -t latency
else
	echo 'without another libfabric: no comparison with it' >&2
fi
if [ -n "$(command -v ucx_perftest)" ]; then
	vs --vs-ucx -p shm -s 8,64,4k,16k,64k,1m \
		-t latency,bandwidth,rate,write_latency,write_bandwidth,fetch_add
	vs --vs-ucx -p tcp -s 64,4k,64k,1m -t latency,bandwidth,rate
else
	echo 'without ucx-utils: no comparison with UCX' >&2
fi
