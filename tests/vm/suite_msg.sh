#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The conformance suite over connected endpoints.
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"

suite -p verbs -e msg -a in
finish
