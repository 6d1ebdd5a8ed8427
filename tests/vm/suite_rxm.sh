#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over reliable datagrams of the layer above connected endpoints.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

# What is posted to a device cannot be withdrawn, and the device serves reads without the
# target's knowing.
suite -p 'verbs;ofi_rxm' -e rdm -a in -x what_waits_behind_others_is_cancelled \
	-x a_target_keeps_the_processor
finish
