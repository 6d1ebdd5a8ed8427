#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Datagrams of our library, and between ours and the distribution's.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

options=(-p verbs -e dgram -I 10)
pair "$rxe_address" ours "$our_pingpong" ours "$our_pingpong" "${options[@]}"
check_pair ours 4
pair "$rxe_address" debian "$debian_pingpong" ours "$our_pingpong" "${options[@]}"
check_pair "the distribution's server" 4
pair "$rxe_address" ours "$our_pingpong" debian "$debian_pingpong" "${options[@]}"
check_pair "our server" 4
finish
