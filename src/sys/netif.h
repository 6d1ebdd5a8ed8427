/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_NETIF_H
#define WF_SYS_NETIF_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/sockaddr.h"

/*
 * The network interfaces of this host and their Internet addresses, as one snapshot.
 * Links and addresses come and go, and listing them costs the kernel some ten
 * microseconds: each call of fi_getinfo lists them anew.
 */
enum wf_netif_kind {
	WF_NETIF_ETHERNET, /* Ethernet, or another device with a driver */
	WF_NETIF_INFINIBAND,
	WF_NETIF_BOND,
	WF_NETIF_VLAN,
	WF_NETIF_MACVLAN,
	WF_NETIF_VETH,
	WF_NETIF_DUMMY,
	WF_NETIF_TUN,
	WF_NETIF_VIRTUAL, /* any other link without hardware */
	WF_NETIF_BRIDGE,
	WF_NETIF_LOOPBACK,
};

struct wf_netif {
	char name[IF_NAMESIZE];
	unsigned int index;
	unsigned int
		master; /* index of the bridge or bond that it belongs to; 0: none */
	enum wf_netif_kind kind;
	bool up;            /* up administratively, and has a carrier */
	bool hardware;      /* it belongs to a device on a bus */
	bool uplinked;      /* bridge: one of its ports is hardware */
	uint64_t speed_bps; /* 0: unknown */
};

struct wf_netaddr {
	union wf_sockaddr addr; /* port 0; link-local ones carry their scope */
	unsigned int prefix;    /* length of the network part in bits */
	unsigned int link;      /* index into links */
	unsigned int position;  /* in the system's list of addresses */
	bool deprecated;        /* not preferred for new connections */
};

/* Addresses are ranked, best first: link-local ones behind all that reach farther,
 * loopback addresses last; real hardware before virtual links, bridges without hardware
 * behind those; faster before slower; then links in the system's order, and of each
 * link IPv4 before IPv6. All links are listed, also those that are down. */
struct wf_netifs {
	struct wf_netif *links;
	size_t link_count;
	struct wf_netaddr *addrs;
	size_t addr_count;
};

/* List the interfaces. The caller frees *ret. 0, or a negative errno. */
int wf_netifs_list(struct wf_netifs **ret);
/* Accepts NULL. Returns NULL. */
struct wf_netifs *wf_netifs_free(struct wf_netifs *ifs);

static inline const struct wf_netif *wf_netaddr_link(
	const struct wf_netifs *ifs, const struct wf_netaddr *addr)
{
	return &ifs->links[addr->link];
}

/* The entry with the host address of @addr, also on a link that is down; NULL: none. */
const struct wf_netaddr *wf_netifs_find(
	const struct wf_netifs *ifs, const union wf_sockaddr *addr);

/* Do both have the same addresses, in the same order and on the same links? */
bool wf_netifs_same_addrs(const struct wf_netifs *a, const struct wf_netifs *b);

/*
 * For the two sources (netif_nl.c with libnl, netif_sysfs.c without; one of them is
 * built) and for tests: fill an empty table, then rank it.
 */
struct wf_netif_table {
	struct wf_netif *links;
	size_t link_count, link_capacity;
	struct wf_netaddr *addrs;
	size_t addr_count, addr_capacity;
};

/* Read all links and addresses from the kernel. On failure the table keeps those that
 * were found, in memory that the caller frees. */
int wf_netif_scan(struct wf_netif_table *table);

/* Add a zeroed entry at the end; NULL: no memory. Earlier pointers into the table are
 * then invalid. */
struct wf_netif *wf_netif_table_link(struct wf_netif_table *table);
struct wf_netaddr *wf_netif_table_addr(struct wf_netif_table *table);

/* Position of the link with that kernel index; false if there is none. */
bool wf_netif_table_find(
	const struct wf_netif_table *table, unsigned int index, unsigned int *ret_link);

/* hardware and, for links that have one, speed_bps: from sysfs. */
void wf_netif_read_device(struct wf_netif *link);

/* The kind for a kernel name ("veth", "bridge", ...); NULL: no name, and @arp_type
 * (ARPHRD_*) decides. */
enum wf_netif_kind wf_netif_kind_of(const char *kernel_name, unsigned int arp_type);

/* Rank @table and make a snapshot of it. Takes over its memory, also on failure. */
int wf_netifs_new(struct wf_netif_table *table, struct wf_netifs **ret);

#endif
