#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Connected endpoints of our library and of the distribution's, each as the server.
# shellcheck source=tests/vm/lib.sh disable=SC2154
. "$(dirname "$0")/lib.sh"

options=(-p verbs -e msg -c -I 10)
pair "$rxe_address" debian "$debian_pingpong" ours "$our_pingpong" "${options[@]}"
check_pair "the distribution's server" 6
pair "$rxe_address" ours "$our_pingpong" debian "$debian_pingpong" "${options[@]}"
check_pair "our server" 6
finish
