#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_match.sh BUILD [ROUNDS [TAGS]]: the matching engine with other entries waiting.
set -euo pipefail
exec taskset -c "${WEFT_BENCH_CPU:-0}" "$1/bench/match_bench" "${2:-31}" "${3:-16}"
