#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# watchdog.sh PROGRAM: a case of a unit test that does not end names itself.
set -euo pipefail
status=0
out=$(CMOCKA_MESSAGE_OUTPUT=TAP WEFT_WATCHDOG_S=1 timeout 60 "$1") || status=$?
printf '%s\n' "$out"
[ "$status" = 1 ]
grep -q '^ok 1 ' <<<"$out"
grep -qx 'not ok - does not end: never_ends' <<<"$out"
