#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# FI_TCP_LOCAL=auto: peers of tcp on the same machine are reached by shared memory, where
# both ends have it set, and by sockets otherwise. Nothing else shows it.
# Variables come from and go to lib.sh.
# shellcheck source=tests/interop/lib.sh disable=SC2034,SC2154
. "$(dirname "$0")/lib.sh"

need "$our_pingpong" "$our_info"
export FI_LOG_LEVEL=info FI_LOG_PROV=tcp,ofi_rxm

# transports NAME YES|NO: has the log of each side, which is ours, said that the peer is reached
# by memory?
transports() {
	local side said
	for side in server client; do
		said=no
		grep -q 'is reached by shared memory from now on' "$scratch/$side.err" && said=yes
		[ $said = "$2" ] || fail "$1: $side: by shared memory: $said, wanted $2"
	done
}

# both NAME WAY SERVER-SETTING CLIENT-SETTING, over $provider
both() {
	server_env=("FI_TCP_LOCAL=$3")
	client_env=("FI_TCP_LOCAL=$4")
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p "$provider" -e rdm \
		-m tagged -S all -c -I 4
	check_pair "$provider: $1" "$rows"
	transports "$provider: $1" "$2"
}

# refused NAME SERVER-SETTING CLIENT-SETTING
refused() {
	server_env=("FI_TCP_LOCAL=$2")
	client_env=("FI_TCP_LOCAL=$3")
	pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p "$provider" -e rdm \
		-S 65536 -I 10
	[ "$client_status" != 0 ] || fail "$provider: $1: the client talked to it"
	grep -hq 'FI_TCP_LOCAL=shm: .* is on this machine, and refused' \
		"$scratch/server.err" "$scratch/client.err" ||
		fail "$provider: $1: no reason in the log"
	echo "$provider: $1: done"
}

all() {
	rows=$(size_rows ours "$our_info" "$provider" FI_EP_RDM) ||
		fail "fi_info shows no $provider endpoint"
	both 'both ends' yes auto auto
	both 'the server alone' no auto tcp
	both 'the client alone' no tcp auto
	# The provider of shared memory is no answer to anybody then, and is found all the same.
	FI_PROVIDER=$provider both 'both ends, limited to the provider' yes auto auto
	both 'both ends, which refuse others' yes shm shm
	both 'one end refuses others' yes shm auto
	refused 'a client by sockets is refused' shm tcp
	refused 'a server by sockets is refused' tcp shm
}

if with ours "$our_info" -p 'tcp;ofi_rxm' >/dev/null 2>&1; then
	provider='tcp;ofi_rxm'
	all
	FI_TCP_LOCAL=auto with ours "$our_info" --why -p "$provider" -t FI_EP_RDM 2>/dev/null |
		grep -q 'transport: peers on this machine: shared memory' ||
		fail 'fi_info --why does not tell the transport of ofi_rxm'
fi
provider=tcp
all
server_env=(FI_TCP_LOCAL=auto)
client_env=(FI_TCP_LOCAL=auto)
pair 127.0.0.1 ours "$our_pingpong" ours "$our_pingpong" -p tcp -e msg -S all -c -I 4
check_pair 'connected endpoints' "$rows"
transports 'connected endpoints' no
# What fi_info tells does not depend on it.
for setting in tcp auto; do
	FI_TCP_LOCAL=$setting with ours "$our_info" -p tcp -v 2>/dev/null |
		grep -v 'src_addr' >"$scratch/$setting"
done
cmp -s "$scratch/tcp" "$scratch/auto" || fail 'fi_info tells another thing'
# transport SETTING TEXT: what fi_info --why says of peers on this machine.
transport() {
	FI_TCP_LOCAL=$1 with ours "$our_info" --why -p tcp -t FI_EP_RDM 2>/dev/null |
		grep -A1 '^tcp: ' | grep -qF "transport: peers on this machine: $2" ||
		fail "fi_info --why does not tell the transport of $1"
}
transport tcp 'sockets (FI_TCP_LOCAL=tcp)'
transport auto 'shared memory, or sockets where they cannot share it (FI_TCP_LOCAL=auto)'
transport shm 'shared memory, or refused where they cannot share it (FI_TCP_LOCAL=shm)'
FI_TCP_LOCAL=auto with ours "$our_info" --why -p tcp -t FI_EP_MSG 2>/dev/null | grep 'transport:' &&
	fail 'fi_info --why tells a transport of connected endpoints'
FI_PROVIDER=tcp FI_TCP_LOCAL=auto with ours "$our_info" 2>/dev/null | grep 'provider: shm' &&
	fail 'FI_PROVIDER=tcp lets shm be seen'
FI_TCP_LOCAL=fast with ours "$our_info" -p tcp 2>&1 >/dev/null |
	grep -q 'FI_TCP_LOCAL is "fast": possible tcp, auto, shm; auto is used' ||
	fail 'no warning about a value that is none'
finish
