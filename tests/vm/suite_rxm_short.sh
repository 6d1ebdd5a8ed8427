#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Of the conformance suite, what moves data by reliable datagrams over the device.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

export WEFT_SHORT=1
suite -p 'verbs;ofi_rxm' -e rdm -a in msg tagged rma atomic vectors large multi_recv
finish
