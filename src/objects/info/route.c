/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/info/addr.h"
#include "objects/info/call.h"
#include "sys/route.h"

const char *wf_route_iface(const struct wf_routes *routes, const struct wf_netaddr *at)
{
	return at ? wf_netaddr_link(routes->ifs, at)->name : NULL;
}

/* A loopback address is a network of one host: its prefix is the full length. */
void wf_route_names(const struct wf_routes *routes, const struct wf_netaddr *at,
	char *fabric, size_t len, const char **ret_domain)
{
	if (!at) {
		(void)snprintf(fabric, len, "%s", routes->prov->default_fabric);
		*ret_domain = routes->prov->default_domain;
		return;
	}
	(void)wf_sockaddr_network(&at->addr,
		wf_sockaddr_is_loopback(&at->addr) ? 128 : at->prefix, fabric, len);
	*ret_domain = wf_route_iface(routes, at);
}

void wf_route_list_add(char *list, size_t len, const char *item)
{
	size_t used = strlen(list), width = strlen(item);

	for (const char *at = list; *item && (at = strstr(at, item)); at++)
		if ((at == list || at[-1] == ' ') && (at[width] == ',' || !at[width]))
			return;
	if (used + width + 3 <= len)
		(void)snprintf(list + used, len - used, "%s%s", used ? ", " : "", item);
}

int wf_routes_init(struct wf_routes *routes, const struct wf_prov *prov)
{
	int err;

	memset(routes, 0, sizeof(*routes));
	routes->prov = prov;
	err = wf_netifs_list(&routes->ifs);
	if (err) {
		FI_WARN(prov->fi, FI_LOG_CORE, "cannot list interfaces: %s\n",
			strerror(-err));
		return err == -FI_ENOMEM ? err : -FI_ENODATA;
	}
	routes->ifaces = wf_ifaces_read(prov, routes->ifs);
	return 0;
}

void wf_routes_done(struct wf_routes *routes)
{
	free(routes->list);
	routes->ifs = wf_netifs_free(routes->ifs);
}

static int route_add(struct wf_routes *routes, const struct wf_route *route)
{
	size_t capacity = routes->capacity ? routes->capacity * 2 : 16;
	struct wf_route *list;

	if (routes->count == routes->capacity) {
		list = reallocarray(routes->list, capacity, sizeof(*list));
		if (!list)
			return -FI_ENOMEM;
		routes->list = list;
		routes->capacity = capacity;
	}
	routes->list[routes->count++] = *route;
	return 0;
}

static int route_add_at(struct wf_routes *routes, const struct wf_netaddr *at,
	const union wf_sockaddr *dest, uint16_t port)
{
	struct wf_route route = { .has_src = true, .src = at->addr, .at = at };

	wf_sockaddr_set_port(&route.src, port);
	if (dest) {
		route.has_dest = true;
		route.dest = *dest;
	}
	return route_add(routes, &route);
}

/* Do the interface parameter and the hints' names and open instances allow the address
 * @at? */
static bool route_is_allowed(const struct wf_routes *routes,
	const struct wf_info_ctx *ctx, const struct wf_netaddr *at)
{
	char fabric[WF_SOCKADDR_STRLEN];
	struct wf_info_reason why;
	const char *domain;

	if (!wf_ifaces_allow(&routes->ifaces, wf_route_iface(routes, at)))
		return false;
	wf_route_names(routes, at, fabric, sizeof(fabric), &domain);
	return wf_info_names_met(ctx, fabric, domain, &why);
}

static const struct wf_netaddr *route_find_at(
	const struct wf_routes *routes, const union wf_sockaddr *sa)
{
	const struct wf_netifs *ifs = routes->ifs;
	const struct wf_netaddr *at = wf_netifs_find(ifs, sa);

	/* The system lists one address of 127/8, but all of them are local. */
	for (size_t i = 0; !at && i < ifs->addr_count; i++)
		if (wf_sockaddr_is_loopback(sa) &&
			wf_sockaddr_is_loopback(&ifs->addrs[i].addr) &&
			ifs->addrs[i].addr.sa.sa_family == sa->sa.sa_family)
			at = &ifs->addrs[i];
	return at;
}

static int route_add_everywhere(struct wf_routes *routes)
{
	int err = 0;

	for (size_t i = 0; i < routes->ifs->addr_count && !err; i++) {
		const struct wf_netaddr *at = &routes->ifs->addrs[i];

		if (wf_netaddr_link(routes->ifs, at)->up &&
			wf_ifaces_allow(&routes->ifaces, wf_route_iface(routes, at)))
			err = route_add_at(routes, at, NULL, 0);
	}
	return err;
}

/* Could packets for @dest leave from the address @at? */
static bool route_suits(const struct wf_routes *routes, const struct wf_netaddr *at,
	const union wf_sockaddr *dest)
{
	const union wf_sockaddr *sa = &at->addr;

	if (!wf_netaddr_link(routes->ifs, at)->up ||
		sa->sa.sa_family != dest->sa.sa_family)
		return false;
	if (wf_sockaddr_is_wildcard(dest))
		return true;
	if (wf_sockaddr_is_loopback(dest) != wf_sockaddr_is_loopback(sa))
		return false;
	if (sa->sa.sa_family == AF_INET || wf_sockaddr_is_multicast(dest))
		return true;
	return wf_sockaddr_is_linklocal(dest) == wf_sockaddr_is_linklocal(sa) &&
	       (!wf_sockaddr_is_linklocal(dest) ||
		       dest->in6.sin6_scope_id == sa->in6.sin6_scope_id);
}

/* Has a route that was added after the first @before ones the interface of @at? */
static bool route_has_link(
	const struct wf_routes *routes, size_t before, const struct wf_netaddr *at)
{
	for (size_t i = before; i < routes->count; i++)
		if (routes->list[i].at->link == at->link)
			return true;
	return false;
}

/* The best address of each allowed interface from which @to can be reached; for the
 * wildcard, every address. */
static int route_add_allowed(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const union wf_sockaddr *to, const union wf_sockaddr *dest, uint16_t port)
{
	bool every = wf_sockaddr_is_wildcard(to);
	size_t before = routes->count;
	int err = 0;

	for (size_t i = 0; i < routes->ifs->addr_count && !err; i++) {
		const struct wf_netaddr *at = &routes->ifs->addrs[i];

		if (route_suits(routes, at, to) && route_is_allowed(routes, ctx, at) &&
			(every || !route_has_link(routes, before, at)))
			err = route_add_at(routes, at, dest, port);
	}
	return err;
}

/* The caller gave a source address. A wildcard belongs to no interface; if hints or the
 * parameter demand one, its addresses replace the wildcard. */
static int route_add_source(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const union wf_sockaddr *src, const union wf_sockaddr *dest)
{
	bool wildcard = wf_sockaddr_is_wildcard(src);
	struct wf_route route = { .has_src = true, .src = *src, .has_dest = dest };
	size_t before = routes->count;
	int err;

	if (dest && dest->sa.sa_family != src->sa.sa_family)
		return 0;
	if (wildcard && !route_is_allowed(routes, ctx, NULL)) {
		err = route_add_allowed(
			routes, ctx, dest ? dest : src, dest, wf_sockaddr_port(src));
		if (err || routes->count > before || routes->ifaces.names)
			return err;
	}
	route.at = wildcard ? NULL : route_find_at(routes, src);
	if (dest)
		route.dest = *dest;
	return route_add(routes, &route);
}

/* The caller gave a destination only. The source is the address that the system routes
 * from, or, if that is not allowed, an allowed address. Without a route there is no
 * source. */
static int route_add_dest(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const union wf_sockaddr *dest)
{
	struct wf_route route = { .has_dest = true, .dest = *dest };
	size_t before = routes->count;
	int err;

	route.has_src = !wf_route_source(dest, &route.src);
	route.at = route.has_src ? route_find_at(routes, &route.src) : NULL;
	if (!route_is_allowed(routes, ctx, route.at)) {
		err = route_add_allowed(routes, ctx, dest, dest, 0);
		if (err || routes->count > before)
			return err;
	}
	return route_add(routes, &route);
}

static int route_add_all(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const struct wf_info_addrs *srcs, const struct wf_info_addrs *dests)
{
	int err = 0;

	if (!srcs->count && !dests->count)
		return route_add_everywhere(routes);
	for (size_t d = 0; d < dests->count && !srcs->count && !err; d++)
		err = route_add_dest(routes, ctx, &dests->addr[d]);
	for (size_t s = 0; s < srcs->count && !err; s++) {
		if (!dests->count)
			err = route_add_source(routes, ctx, &srcs->addr[s], NULL);
		for (size_t d = 0; d < dests->count && !err; d++)
			err = route_add_source(
				routes, ctx, &srcs->addr[s], &dests->addr[d]);
	}
	return err;
}

static int route_resolve(const struct wf_info_ctx *ctx, const char *node,
	const char *service, uint64_t flags, struct wf_info_addrs *srcs,
	struct wf_info_addrs *dests, struct wf_info_reason *why)
{
	struct wf_info_ends ends;
	int err;

	srcs->count = dests->count = 0;
	err = wf_info_ends(ctx, node, service, flags, &ends, why);
	if (err)
		return err;
	if (ends.named)
		err = wf_info_lookup(
			ctx, node, service, flags, ends.source ? srcs : dests, why);
	if (!err && ends.src)
		err = wf_info_hint_addr("src_addr", ends.src, ends.src_len, srcs, why);
	if (!err && ends.dest)
		err = wf_info_hint_addr(
			"dest_addr", ends.dest, ends.dest_len, dests, why);
	return err;
}

/* Fill @why: the reason why no route was found. */
static void route_explain(const struct wf_routes *routes,
	const struct wf_info_addrs *srcs, const struct wf_info_addrs *dests,
	struct wf_info_reason *why)
{
	const struct wf_ifaces *ifaces = &routes->ifaces;

	why->field = "interface";
	if (srcs->count && dests->count && !ifaces->names) {
		why->field = "src_addr";
		(void)wf_info_deny_text(
			why, "another family", "the family of dest_addr");
	} else {
		(void)wf_info_deny_text(why,
			ifaces->names ? ifaces->names - ifaces->excluded : "any",
			"none: none that is up has an address that fits");
	}
}

int wf_routes_gather(struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const char *node, const char *service, uint64_t flags)
{
	struct wf_info_reason why = { .field = NULL };
	struct wf_info_addrs srcs, dests;
	int err = route_resolve(ctx, node, service, flags, &srcs, &dests, &why);

	if (!err)
		err = route_add_all(routes, ctx, &srcs, &dests);
	if (!err && !routes->count) {
		err = -FI_ENODATA;
		route_explain(routes, &srcs, &dests, &why);
	}
	if (err && why.field)
		wf_info_refuse(ctx, NULL, &why);
	return err;
}
