/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_ROUTE_H
#define WF_OBJECTS_INFO_ROUTE_H

#include "objects/info/rule.h"
#include "sys/netif.h"
#include "sys/sockaddr.h"

/*
 * The routes where an endpoint of an IP provider could live: every address of this
 * host, or the ones that node, service and hints name.
 */
struct wf_route {
	bool has_src, has_dest;
	union wf_sockaddr src, dest;
	const struct wf_netaddr *at; /* gives the names; NULL: the provider's own */
};

struct wf_routes {
	const struct wf_prov *prov;
	struct wf_netifs *ifs;
	const char *iface; /* the only one to use, or NULL */
	struct wf_route *list;
	size_t count, room; /* entries in @list, and its capacity */
};

/* Lists the interfaces and reads the parameter. On failure, too, _done. */
int wf_routes_init(struct wf_routes *routes, const struct wf_prov *prov, bool rescan);
void wf_routes_done(struct wf_routes *routes);

/* Fills the list. -FI_ENODATA, -FI_EINVAL with the reason logged, -FI_ENOMEM. */
int wf_routes_gather(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const char *node, const char *service, uint64_t flags);

/* The interface's name, NULL where there is none. */
const char *wf_route_iface(const struct wf_routes *routes, const struct wf_netaddr *at);

/* Names of fabric (written to @fabric) and domain there. */
void wf_route_names(const struct wf_routes *routes, const struct wf_netaddr *at,
	char *fabric, size_t len, const char **ret_domain);

/* Appends ", item" to a list unless it is there or does not fit. */
void wf_route_list_add(char *list, size_t len, const char *item);

#endif
