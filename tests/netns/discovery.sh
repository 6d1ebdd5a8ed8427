#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Discovery on hosts made of network namespaces: the order of interfaces, what is left
# out, from where a destination is reached, and that it is reached from there.
# usage: discovery.sh FI_INFO FI_PINGPONG PROVIDER TYPE
#   TYPE of endpoints: dgram, rdm, msg
# Exit status 77: namespaces are not permitted here, or there is no such provider.
set -u
# shellcheck source=tests/limits.sh
. "$(dirname "$0")/../limits.sh"

fi_info=$1
fi_pingpong=$2
provider=$3
type=$4
iface=FI_${provider^^}_IFACE
ns=weft-$$
failed=0
scratch=$(mktemp -d)
tun_holder=
unset "$iface"

skip() {
	echo "skipped: $1"
	exit 77
}

cleanup() {
	[ -z "$tun_holder" ] || kill "$tun_holder"
	rm -rf "$scratch"
	ip netns del "$ns" 2>/dev/null
	ip netns del "$ns-peer" 2>/dev/null
}

here() {
	ip netns exec "$ns" "$@"
}

there() {
	ip netns exec "$ns-peer" "$@"
}

must() {
	"$@" || skip "cannot set up: $*"
}

# wait_link NAME CARRIER: the kernel tells carriers a moment later.
wait_link() {
	local now
	for _ in $(seq 100); do
		now=$(here cat "/sys/class/net/$1/carrier" 2>/dev/null)
		[ "$now" = "$2" ] && return
		sleep 0.05
	done
	echo "not ok - $1 has a carrier: wanted $2"
	failed=1
}

# One word per answer: domain, fabric, source and destination, commas between them.
answers() {
	here "$fi_info" -v -p "$provider" -t "FI_EP_${type^^}" "$@" 2>/dev/null | awk '
		/^fi_info:/ { part = "" }
		/^    fi_.*_attr:/ { part = $1 }
		{ sub(/fi_sockaddr_[a-z0-9]*:\/\//, "") }
		/^    src_addr:/ { src = $2 }
		/^    dest_addr:/ { dest = $2 }
		/^        name:/ && part == "fi_domain_attr:" { domain = $2 }
		/^        name:/ && part == "fi_fabric_attr:" {
			printf "%s,%s,%s,%s ", domain, $2, src, dest
		}' | sed 's/%[0-9]*\]/]/g; s/ $//'
}

# is WHAT EXPECTED OPTION...: those answers, in that order
is() {
	local what=$1 want=$2 got
	shift 2
	got=$(answers "$@")
	if [ "$got" = "$want" ]; then
		echo "ok - $what"
	else
		printf 'not ok - %s\n#   wanted: %s\n#   got:    %s\n' \
			"$what" "$want" "$got"
		failed=1
	fi
}

# said WHAT PATTERN FILE
said() {
	if grep -Eq "$2" "$3"; then
		echo "ok - $1"
	else
		printf 'not ok - %s\n#   wanted: %s\n' "$1" "$2"
		sed 's/^/#   got:    /' "$3"
		failed=1
	fi
}

# hold_tun NAME: a tunnel that a process is behind
hold_tun() {
	cat >"$scratch/tun.py" <<-'EOF'
		import fcntl, os, signal, struct, sys
		fd = os.open("/dev/net/tun", os.O_RDWR)
		fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", sys.argv[1].encode(), 1))
		signal.pause()
	EOF
	ip netns exec "$ns" python3 "$scratch/tun.py" "$1" >/dev/null 2>&1 &
	tun_holder=$!
	for _ in $(seq 100); do
		here ip link show "$1" >/dev/null 2>&1 && return 0
		kill -0 $tun_holder 2>/dev/null || break
		sleep 0.05
	done
	kill $tun_holder 2>/dev/null
	tun_holder=
	return 1
}

# meets WHAT ADDRESS: endpoints here and on the other host talk
meets() {
	there timeout "$(limit_s 60)" "$fi_pingpong" -p "$provider" -e "$type" -I 20 -S 1024 \
		>"$scratch/server" 2>&1 &
	local server=$!
	for _ in $(seq 50); do
		here timeout "$(limit_s 20)" "$fi_pingpong" -p "$provider" -e "$type" -I 20 -S 1024 \
			"$2" >"$scratch/client" 2>&1 && break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	wait $server
	said "$1" '^1k ' "$scratch/client"
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v ip >/dev/null || skip "needs iproute2"
trap cleanup EXIT
ip netns add "$ns" 2>/dev/null || skip "network namespaces are not permitted"
must ip netns add "$ns-peer"
here true 2>/dev/null || skip "cannot run in a network namespace"

# A host with nothing but a loopback that is down offers nothing.
is "no interface is up" ""

must here ip link set lo up
"$fi_info" -p "$provider" >/dev/null 2>&1 || skip "no $provider provider"
is "loopback alone" "lo,127.0.0.1/32,127.0.0.1:0,(null) lo,::1/128,[::1]:0,(null)"

# Added in an order that is not the one to be seen.
must here ip link add idle0 type veth peer name idle1
must here ip link add br0 type bridge
must here ip link add port0 type veth peer name port1
must here ip link set port0 master br0
must here ip link add down0 type veth peer name down0 netns "$ns-peer"
must here ip link add eth0 type veth peer name eth0 netns "$ns-peer"
must here ip link add side0 type veth peer name side0 netns "$ns-peer"
for link in idle0 idle1 br0 port0 port1 eth0 side0; do
	must here ip link set "$link" addrgenmode none
	must here ip link set "$link" up
done
must ip -n "$ns-peer" link set eth0 up
must ip -n "$ns-peer" link set side0 up
must here ip addr add fe80::66/64 dev idle0 nodad
must here ip addr add 10.79.0.1/24 dev br0
must here ip addr add 10.78.0.1/16 dev side0
must here ip addr add 10.81.0.1/24 dev down0
must here ip addr add 10.77.0.1/24 dev eth0
must here ip addr add 10.77.0.9/24 dev eth0
must here ip addr add fd77::1/64 dev eth0 nodad
must here ip addr add fe80::77/64 dev eth0 nodad
for link in idle0 br0 eth0 side0; do
	wait_link $link 1
done

eth0="eth0,10.77.0.0/24,10.77.0.1:0,(null) eth0,10.77.0.0/24,10.77.0.9:0,(null)"
eth0_6="eth0,fd77::/64,[fd77::1]:0,(null)"
idle="idle0,fe80::/64,[fe80::66]:0,(null)"
eth0_local="eth0,fe80::/64,[fe80::77]:0,(null)"
local="$idle $eth0_local"
side="side0,10.78.0.0/16,10.78.0.1:0,(null)"
bridge="br0,10.79.0.0/24,10.79.0.1:0,(null)"
lo="lo,127.0.0.1/32,127.0.0.1:0,(null) lo,::1/128,[::1]:0,(null)"

# GI-001 GI-050
is "links, then bridges, then addresses of links, then loopback; none that is down" \
	"$eth0 $eth0_6 $side $bridge $local $lo"
is "one family" "$eth0_6 $local lo,::1/128,[::1]:0,(null)" -a FI_SOCKADDR_IN6
# GI-044
is "by domain" "$bridge" -d br0
is "by fabric" "$side" -f 10.78.0.0/16
is "by a domain that is down" "" -d down0
# CAP-015
is "other hosts only" "$eth0 $eth0_6 $side $bridge $local" -c "FI_MSG|FI_REMOTE_COMM"
export "$iface=side0"
is "by parameter" "$side"
export "$iface=lo"
is "the loopback, by parameter, for programs that ask for other hosts" "$lo" \
	-c "FI_MSG|FI_REMOTE_COMM"
export "$iface=br0,eth7,side0"
is "a list" "$side $bridge"
export "$iface=^eth0,lo"
is "all but these" "$side $bridge $idle"
is "to a neighbour of one that is left out" \
	"side0,10.78.0.0/16,10.78.0.1:0,10.77.0.2:5000 br0,10.79.0.0/24,10.79.0.1:0,10.77.0.2:5000" \
	-n 10.77.0.2 -P 5000
export "$iface=eth7"
is "a parameter that names nothing" "$eth0 $eth0_6 $side $bridge $local $lo"
FI_LOG_LEVEL=warn here "$fi_info" -p "$provider" >/dev/null 2>"$scratch/log"
said "what exists is told" "$iface is .eth7.*did you mean eth0" "$scratch/log"
unset "$iface"

# A link that goes away.
must here ip link set side0 down
is "what went down is left out" "$eth0 $eth0_6 $bridge $local $lo"
must here ip link set side0 up
wait_link side0 1
must ip -n "$ns-peer" link set eth0 down
wait_link eth0 0
is "no carrier, not listed" "$side $bridge $idle $lo"
must ip -n "$ns-peer" link set eth0 up
wait_link eth0 1
# An infinite number of containers, as far as an administrator can tell.
must here ip link add docker0 type bridge
must here ip addr add 172.17.0.1/16 dev docker0
for i in $(seq 12); do
	must here ip link add "veth$i" type veth peer name "cont$i"
	must here ip link set "veth$i" addrgenmode none master docker0 up
	must here ip link set "cont$i" addrgenmode none up
done
must here ip link set docker0 addrgenmode none up
wait_link docker0 1
docker="docker0,172.17.0.0/16,172.17.0.1:0,(null)"
bridge="$bridge $docker"
is "containers come behind links" "$eth0 $eth0_6 $side $bridge $local $lo"

if here ip tuntap add tun0 mode tun 2>/dev/null; then
	must here ip addr add 10.80.0.1/24 dev tun0
	must here ip link set tun0 up
	is "a tunnel without its process is down" "$eth0 $eth0_6 $side $bridge $local $lo"
fi

if here ip link add dummy0 type dummy 2>/dev/null; then
	must here ip link set dummy0 addrgenmode none
	must here ip addr add 10.82.0.1/24 dev dummy0
	must here ip link set dummy0 up
	is "behind what has a wire" \
		"$eth0 $eth0_6 $side dummy0,10.82.0.0/24,10.82.0.1:0,(null) $bridge $local $lo"
	must here ip link del dummy0
fi

if hold_tun tun1; then
	must here ip link set tun1 addrgenmode none
	must here ip addr add 10.83.0.1/24 dev tun1
	must here ip link set tun1 up
	wait_link tun1 1
	is "a tunnel in use comes behind links" \
		"$eth0 $eth0_6 $side tun1,10.83.0.0/24,10.83.0.1:0,(null) $bridge $local $lo"
fi

# GI-026 GI-031
must here ip route add 10.99.0.0/16 via 10.78.0.254 dev side0
must here ip route add 10.98.0.0/16 via 10.77.0.2 dev eth0 src 10.77.0.9
is "a neighbour" "eth0,10.77.0.0/24,10.77.0.1:0,10.77.0.2:5000" -n 10.77.0.2 -P 5000
is "through a gateway" "side0,10.78.0.0/16,10.78.0.1:0,10.99.1.2:5000" \
	-n 10.99.1.2 -P 5000
is "with the route's own source" "eth0,10.77.0.0/24,10.77.0.9:0,10.98.1.2:5000" \
	-n 10.98.1.2 -P 5000
is "IPv6" "eth0,fd77::/64,[fd77::1]:0,[fd77::2]:5000" -n fd77::2 -P 5000
is "link scope" "eth0,fe80::/64,[fe80::77]:0,[fe80::2]:5000" -n fe80::2%eth0 -P 5000
is "ourselves" "lo,127.0.0.1/32,127.0.0.1:0,127.0.0.1:5000" -n 127.0.0.1 -P 5000
is "nowhere" "$provider,${provider^^}-IP,(null),203.0.113.1:5000" -n 203.0.113.1 -P 5000
is "by another interface" "side0,10.78.0.0/16,10.78.0.1:0,10.77.0.2:5000" \
	-n 10.77.0.2 -P 5000 -d side0
is "a container" "docker0,172.17.0.0/16,172.17.0.1:0,172.17.0.9:5000" \
	-n 172.17.0.9 -P 5000
must there ip link set lo up
must there ip addr add 10.77.0.2/24 dev eth0
must there ip addr add fd77::2/64 dev eth0 nodad
meets "they meet" 10.77.0.2

# GI-027
is "our own address" "br0,10.79.0.0/24,10.79.0.1:0,(null)" -s 10.79.0.1
exit $failed
