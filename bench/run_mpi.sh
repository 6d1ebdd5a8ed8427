#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run_mpi.sh BUILD [ROUNDS [PROCESSES...]]: see mpi.sh.
exec bash "$(dirname "$0")/mpi.sh" "$@"
