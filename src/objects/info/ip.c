/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/call.h"

#include <stdlib.h>
#include <string.h>

#include "objects/info/addr.h"
#include "objects/info/route.h"

/*
 * fi_getinfo of a provider with Internet addresses. There is an answer for each
 * matching template and each route that the hints allow and that has the template's
 * address family. Templates of one endpoint type are adjacent and answered together,
 * route by route, so that the best interface is first for either family.
 */
struct ip_call {
	struct wf_info_call base;
	struct wf_routes routes;
};

/* A refusal is logged once per field and endpoint type, not once per interface. */
enum { REFUSALS_MAX = 6 };
struct refusals {
	struct wf_info_reason why[REFUSALS_MAX];
	char ifaces[REFUSALS_MAX][160]; /* names of the interfaces with that reason */
	size_t count;                   /* number of reasons */
};

static const union wf_sockaddr *ip_key_addr(const struct wf_route *route)
{
	return route->has_src ? &route->src : &route->dest;
}

static bool ip_asks_for_remote(const struct wf_info_ctx *ctx)
{
	return (ctx->hint.info->caps | ctx->hint.domain->caps) & FI_REMOTE_COMM;
}

/* Does the route reach what the hints ask for? The loopback reaches no other host, but
 * many programs always ask for FI_REMOTE_COMM, so it is granted if the interface
 * parameter names the loopback. */
static bool ip_reaches(const struct wf_routes *routes, const struct wf_route *route)
{
	return !wf_sockaddr_is_loopback(ip_key_addr(route)) ||
	       wf_ifaces_ask_for(&routes->ifaces, wf_route_iface(routes, route->at));
}

static bool ip_is_allowed(const struct wf_routes *routes, const struct wf_info_ctx *ctx,
	const struct wf_route *route, struct wf_info_reason *why)
{
	uint32_t format = wf_info_format_of(ip_key_addr(route));
	char fabric[WF_SOCKADDR_STRLEN];
	const char *domain;

	why->field = "addr_format";
	if (!wf_info_format_covers(ctx->hint.info->addr_format, format))
		return wf_info_deny(
			why, ctx->hint.info->addr_format, format, FI_TYPE_ADDR_FORMAT);
	wf_route_names(routes, route->at, fabric, sizeof(fabric), &domain);
	if (!wf_info_names_met(ctx, fabric, domain, why))
		return false;
	why->field = "caps";
	return !ip_asks_for_remote(ctx) || ip_reaches(routes, route) ||
	       wf_info_deny(why, FI_REMOTE_COMM, FI_LOCAL_COMM, FI_TYPE_CAPS);
}

static void ip_note(
	struct refusals *refusals, const struct wf_info_reason *why, const char *iface)
{
	size_t i;

	for (i = 0; i < refusals->count; i++)
		if (!strcmp(refusals->why[i].field, why->field))
			break;
	if (i == REFUSALS_MAX)
		return;
	if (i == refusals->count) {
		refusals->why[i] = *why;
		refusals->ifaces[i][0] = '\0';
		refusals->count++;
	}
	wf_route_list_add(refusals->why[i].possible, sizeof(refusals->why[i].possible),
		why->possible);
	if (iface)
		wf_route_list_add(
			refusals->ifaces[i], sizeof(refusals->ifaces[i]), iface);
}

static int ip_give_addr(const union wf_sockaddr *sa, void **ret_addr, size_t *ret_len)
{
	void *copy = malloc(wf_sockaddr_len(sa));

	if (!copy)
		return -FI_ENOMEM;
	*ret_len = wf_sockaddr_len(sa);
	*ret_addr = memcpy(copy, sa, *ret_len);
	return 0;
}

static int ip_emit(struct ip_call *call, const struct wf_info_ctx *ctx,
	const struct wf_route *route)
{
	const union wf_sockaddr *sa = ip_key_addr(route);
	struct fi_info *info = wf_info_build(ctx);
	char fabric[WF_SOCKADDR_STRLEN];
	const char *domain;
	int err;

	if (!info)
		return -FI_ENOMEM;
	info->addr_format = wf_info_format_of(sa);
	if (wf_sockaddr_is_loopback(sa) && !ip_asks_for_remote(ctx)) {
		info->caps &= ~FI_REMOTE_COMM;
		info->domain_attr->caps &= ~FI_REMOTE_COMM;
	}
	wf_route_names(&call->routes, route->at, fabric, sizeof(fabric), &domain);
	err = wf_info_set_names(info, fabric, domain);
	if (!err && route->has_src)
		err = ip_give_addr(&route->src, &info->src_addr, &info->src_addrlen);
	if (!err && route->has_dest)
		err = ip_give_addr(&route->dest, &info->dest_addr, &info->dest_addrlen);
	if (err) {
		fi_freeinfo(info);
		return err;
	}
	wf_info_call_add(&call->base, ctx, info);
	return 0;
}

/* Add the answers of the @count templates at @ctxs, all of one type, for one route. */
static int ip_answer_route(struct ip_call *call, const struct wf_info_ctx *ctxs,
	size_t count, const struct wf_route *route, struct refusals *refusals)
{
	uint32_t format = wf_info_format_of(ip_key_addr(route));
	struct wf_info_reason why;
	bool spoken = false;
	int err = 0;

	if (!ip_is_allowed(&call->routes, ctxs, route, &why)) {
		ip_note(refusals, &why, wf_route_iface(&call->routes, route->at));
		return 0;
	}
	for (size_t i = 0; i < count && !err; i++) {
		if (!wf_info_format_covers(ctxs[i].tmpl.info->addr_format, format))
			continue;
		spoken = true;
		err = ip_emit(call, &ctxs[i], route);
	}
	if (!spoken) {
		why.field = "addr_format";
		(void)wf_info_deny(&why, format, ctxs->tmpl.info->addr_format,
			FI_TYPE_ADDR_FORMAT);
		ip_note(refusals, &why, NULL);
	}
	return err;
}

static int ip_answer_type(
	struct ip_call *call, const struct wf_info_ctx *ctxs, size_t count)
{
	struct refusals refusals = { .count = 0 };
	int err = 0;

	for (size_t i = 0; i < call->routes.count && !err; i++)
		err = ip_answer_route(
			call, ctxs, count, &call->routes.list[i], &refusals);
	for (size_t i = 0; i < refusals.count; i++)
		wf_info_refuse(ctxs, *refusals.ifaces[i] ? refusals.ifaces[i] : NULL,
			&refusals.why[i]);
	return err;
}

static int ip_answer_all(struct ip_call *call)
{
	size_t count;
	int err = 0;

	for (size_t i = 0; i < call->base.matched_count && !err; i += count) {
		const struct wf_info_ctx *ctxs = &call->base.matched[i];

		for (count = 1; i + count < call->base.matched_count; count++)
			if (ctxs[count].tmpl.ep->type != ctxs->tmpl.ep->type)
				break;
		err = ip_answer_type(call, ctxs, count);
	}
	return err;
}

int wf_ip_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	struct ip_call call;
	int err;

	err = wf_info_call_begin(&call.base, prov, version, hints);
	memset(&call.routes, 0, sizeof(call.routes));
	if (!err)
		err = wf_routes_init(&call.routes, prov);
	if (!err)
		err = wf_routes_gather(
			&call.routes, call.base.matched, node, service, flags);
	if (!err)
		err = ip_answer_all(&call);
	wf_routes_done(&call.routes);
	return wf_info_call_end(&call.base, err, ret_info);
}
