#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over shared memory and the device, linked.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

export FI_LNX_PROV_LINKS="shm+verbs;ofi_rxm"
suite -p lnx -e rdm
finish
