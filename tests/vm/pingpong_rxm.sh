#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Reliable datagrams over the device: our library, and ours with the distribution's.
# shellcheck source=tests/vm/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

options=(-p 'verbs;ofi_rxm' -e rdm -c -I 10)
pair "$rxe_address" ours "$our_pingpong" ours "$our_pingpong" "${options[@]}"
check_pair ours 6
server_env=("${debian_rxm[@]}")
pair "$rxe_address" debian "$debian_pingpong" ours "$our_pingpong" "${options[@]}"
check_pair "the distribution's server" 6
server_env=()
client_env=("${debian_rxm[@]}")
pair "$rxe_address" ours "$our_pingpong" debian "$debian_pingpong" "${options[@]}"
check_pair "our server" 6
finish
