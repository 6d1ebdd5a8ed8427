#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over reliable datagrams of the layer above connected endpoints.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

suite -p 'verbs;ofi_rxm' -e rdm -a in
finish
