/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_ROUTE_H
#define WF_OBJECTS_INFO_ROUTE_H

#include "objects/info/iface.h"
#include "objects/info/rule.h"
#include "sys/netif.h"
#include "sys/sockaddr.h"

/*
 * The routes that an endpoint with Internet addresses can have: one for every address
 * of this host, or those that node, service and hints ask for.
 */
struct wf_route {
	bool has_src, has_dest;      /* @src and @dest are valid */
	union wf_sockaddr src, dest; /* addresses of this end and of the peer */
	/* The local address, which determines the names of fabric and domain. NULL: the
	 * provider's default names. */
	const struct wf_netaddr *at;
};

struct wf_routes {
	const struct wf_prov *prov;
	struct wf_netifs *ifs;   /* snapshot of the interfaces */
	struct wf_ifaces ifaces; /* those to use */
	struct wf_route *list;   /* the routes, the best first */
	size_t count, capacity;  /* entries in @list, and its capacity */
};

/* List the interfaces and read the interface parameter. The caller calls wf_routes_done
 * after a failure, too. -FI_ENOMEM, or the system's error. */
int wf_routes_init(struct wf_routes *routes, const struct wf_prov *prov);
void wf_routes_done(struct wf_routes *routes);

/* Fill the list. May block in name resolution. -FI_ENODATA, -FI_EINVAL with the reason
 * logged, -FI_ENOMEM. */
int wf_routes_gather(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const char *node, const char *service, uint64_t flags);

/* The name of the interface that has the address @at, or NULL. */
const char *wf_route_iface(const struct wf_routes *routes, const struct wf_netaddr *at);

/* The names of fabric (written to @fabric, of @len bytes) and domain for the address
 * @at (NULL: the provider's default names). */
void wf_route_names(const struct wf_routes *routes, const struct wf_netaddr *at,
	char *fabric, size_t len, const char **ret_domain);

/* Appends ", item" to a list unless it is there or does not fit. */
void wf_route_list_add(char *list, size_t len, const char *item);

#endif
