# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced inside the guest: a device of soft-RoCE, rxa, with address 192.168.77.(HOST+1).
# A guest alone has it over a pair of its own, one of several over what joins them.

rxe_address=192.168.77.$((${HOST:-0} + 1))

rxe_up() {
	local netdev=eth0
	# The largest transfer unit of InfiniBand needs more than Ethernet's.
	if [ "${HOSTS:-1}" = 1 ]; then
		netdev=va
		ip link add va type veth peer name vb || return
		ip link set vb mtu 4500 up || return
	fi
	ip link set lo up || return
	ip addr add "$rxe_address/24" dev $netdev || return
	ip link set $netdev mtu 4500 up || return
	rdma link add rxa type rxe netdev $netdev || return
}
