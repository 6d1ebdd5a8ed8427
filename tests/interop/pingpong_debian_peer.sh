#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Our fi_pingpong on our library talks to the distribution's on its own library.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$debian_pingpong" "$debian_info" "$our_pingpong"
with debian "$debian_info" -p udp >/dev/null 2>&1 ||
	skip "the library of the distribution has no udp provider"
rows=$(dgram_rows debian "$debian_info")

pair 127.0.0.1 debian "$debian_pingpong" ours "$our_pingpong" -p udp -S all -c -I 50
check_pair "client" "$rows"
pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" -p udp -S all -c -I 50
check_pair "server" "$rows"
pair 127.0.0.1 ours "$our_pingpong" debian "$debian_pingpong" -p udp -c
check_pair "server, usual sizes" 3
finish
