#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The distribution's Open MPI with its messages over the device.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

export WEFT_LIB=$our_lib MPI_PROVIDER='verbs;ofi_rxm'
for program in point_to_point collectives one_sided; do
	bash "$(dirname "$0")/../mpi/run.sh" $program 2 || fail $program
done
finish
