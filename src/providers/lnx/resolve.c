/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/locality.h"
#include "providers/lnx/resolve.h"
#include "sys/compiler.h"
#include "sys/sockaddr.h"

/*
 * Resolves node and service to addresses of the members.
 *
 * Members that use sockets are asked as an application would ask them. A member in
 * memory has no ports, so its address follows from theirs: a source with a port also
 * names the endpoint in memory, "fi_ns://host:port", and a process that restarts with
 * that source has its old address. A destination has no address in memory, because host
 * and port do not tell which memory the peer shares; it is reached over the network.
 */

/* A source or destination, in the members' answers. */
struct resolved {
	struct lnx_addr addr;
	/* The members' answers, which contain the addresses that @addr points to. */
	struct fi_info *answer[LNX_MAX_LINKS];
};

static void resolve_resolved_done(struct resolved *resolved)
{
	for (unsigned int i = 0; i < LNX_MAX_LINKS; i++)
		fi_freeinfo(resolved->answer[i]);
}

static struct fi_info *resolve_member_hints(const struct lnx_member *member)
{
	struct fi_info *hints = fi_dupinfo(member->info);

	if (!hints)
		return NULL;
	free(hints->src_addr);
	free(hints->dest_addr);
	hints->src_addr = hints->dest_addr = NULL;
	hints->src_addrlen = hints->dest_addrlen = 0;
	/* A loopback address is a valid destination, and so is any other address as
	 * source. */
	hints->caps &= ~(FI_LOCAL_COMM | FI_REMOTE_COMM);
	hints->domain_attr->caps &= ~(FI_LOCAL_COMM | FI_REMOTE_COMM);
	return hints;
}

/* The member's answer to node and service; NULL: it has no such address. */
static struct fi_info *resolve_ask_member(const struct lnx_member *member,
	const char *node, const char *service, uint64_t flags)
{
	struct fi_info *hints = resolve_member_hints(member), *list = NULL;

	if (hints && fi_getinfo(hints->fabric_attr->api_version, node, service, flags,
			     hints, &list))
		list = NULL;
	fi_freeinfo(hints);
	return list;
}

static bool resolve_add_address(struct resolved *resolved,
	const struct lnx_member *member, struct fi_info *answer, bool source)
{
	struct lnx_name *name = &resolved->addr.name;
	const void *addr = source ? answer->src_addr : answer->dest_addr;
	size_t len = source ? answer->src_addrlen : answer->dest_addrlen;

	if (!addr || answer->addr_format != member->info->addr_format) {
		fi_freeinfo(answer);
		return false;
	}
	resolved->answer[name->count] = answer;
	name->link[name->count++] = (struct lnx_name_link){
		.provider = member->provider,
		.len = (uint16_t)len,
		.format = answer->addr_format,
		.locality = member->locality,
		.addr = addr,
	};
	return true;
}

/* Ask the members in memory or, if @memory is false, those that use sockets. */
static void resolve_ask_members(const struct lnx_link *link, bool memory,
	const char *node, const char *service, uint64_t flags,
	struct resolved *resolved)
{
	for (unsigned int i = 0; i < link->count; i++) {
		const struct lnx_member *member = &link->member[i];
		struct fi_info *answer;

		if (member->memory != memory)
			continue;
		answer = resolve_ask_member(member, node, service, flags);
		if (answer)
			(void)resolve_add_address(
				resolved, member, answer, flags & FI_SOURCE);
	}
}

static bool resolve_has_sockets(const struct lnx_link *link)
{
	for (unsigned int i = 0; i < link->count; i++)
		if (!link->member[i].memory)
			return true;
	return false;
}

/* Set the addresses in memory of a source whose first address is an Internet
 * address. */
static void resolve_name_memory(
	const struct lnx_link *link, uint64_t flags, struct resolved *resolved)
{
	const struct lnx_name_link *first = &resolved->addr.name.link[0];
	char host[WF_SOCKADDR_STRLEN], port[8];
	union wf_sockaddr sa;

	if (wf_sockaddr_read(first->addr, first->len, &sa) || !wf_sockaddr_port(&sa))
		return;
	(void)snprintf(port, sizeof(port), "%u", wf_sockaddr_port(&sa));
	resolve_ask_members(link, true, wf_sockaddr_host(&sa, host, sizeof(host)), port,
		flags, resolved);
}

static bool resolve_names(const struct lnx_link *link, const char *node,
	const char *service, uint64_t flags, struct resolved *resolved)
{
	if (!resolve_has_sockets(link)) {
		resolve_ask_members(link, true, node, service, flags, resolved);
	} else {
		resolve_ask_members(link, false, node, service, flags, resolved);
		if (resolved->addr.name.count && flags & FI_SOURCE)
			resolve_name_memory(link, flags & ~FI_NUMERICHOST, resolved);
	}
	if (resolved->addr.name.count)
		return true;
	lnx_log(FI_LOG_INFO, FI_LOG_CORE,
		"refused: node, service: asked %s, %s, possible what a member of %s "
		"resolves\n",
		node ? node : "none", service ? service : "none",
		link->tmpl->domain_attr->name);
	return false;
}

static bool resolve_read_hint(const struct lnx_link *link, uint32_t format,
	const char *field, const void *addr, size_t len, struct lnx_addr *ret)
{
	/* If the hints name no format, an Internet address is recognised by its
	 * form. */
	if (lnx_addr_read(link, format, addr, len, ret) ||
		(format == FI_FORMAT_UNSPEC &&
			lnx_addr_read(link, FI_SOCKADDR, addr, len, ret)))
		return true;
	lnx_log(FI_LOG_INFO, FI_LOG_CORE,
		"refused: %s: %zu bytes that are no address of lnx (fi_getname gives "
		"them), nor of a member of %s\n",
		field, len, link->tmpl->domain_attr->name);
	return false;
}

static int resolve_set_address(uint32_t format, const char *field,
	const struct lnx_name *name, void **ret_addr, size_t *ret_len)
{
	uint8_t buf[LNX_ADDR_MAX];
	size_t len = lnx_addr_write(format, name, buf);
	void *copy = malloc(LNX_ADDR_MAX);

	if (!copy || !len) {
		free(copy);
		if (!len)
			lnx_log(FI_LOG_INFO, FI_LOG_CORE,
				"refused: %s: it has no form in the addr_format asked "
				"for\n",
				field);
		return len ? -FI_ENOMEM : -FI_ENODATA;
	}
	free(*ret_addr);
	*ret_addr = memcpy(copy, buf, len);
	*ret_len = len;
	return 0;
}

static int resolve_answer_address(const struct lnx_link *link, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints, bool source,
	struct fi_info *info)
{
	const char *field = source ? "src_addr" : "dest_addr";
	bool named = (node || service) && source == !!(flags & FI_SOURCE);
	const void *hint = NULL;
	struct resolved resolved = { .addr.name.count = 0 };
	size_t len = 0;
	int ret = 0;
	bool found;

	if (hints) {
		hint = source ? hints->src_addr : hints->dest_addr;
		len = source ? hints->src_addrlen : hints->dest_addrlen;
	}
	if (!named && !hint)
		return 0;
	if (named)
		found = resolve_names(link, node, service, flags, &resolved);
	else
		found = resolve_read_hint(
			link, hints->addr_format, field, hint, len, &resolved.addr);
	if (!found)
		ret = -FI_ENODATA;
	else if (source)
		ret = resolve_set_address(info->addr_format, field, &resolved.addr.name,
			&info->src_addr, &info->src_addrlen);
	else
		ret = resolve_set_address(info->addr_format, field, &resolved.addr.name,
			&info->dest_addr, &info->dest_addrlen);
	resolve_resolved_done(&resolved);
	return ret;
}

int lnx_resolve(const struct lnx_link *link, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info *info)
{
	uint32_t asked = hints ? hints->addr_format : FI_FORMAT_UNSPEC;
	int ret;

	if (!lnx_addr_format(link, asked, &info->addr_format)) {
		lnx_log(FI_LOG_INFO, FI_LOG_CORE,
			"refused: addr_format: asked %u, possible FI_FORMAT_UNSPEC, "
			"FI_ADDR_STR and those of the members of %s\n",
			asked, link->tmpl->domain_attr->name);
		return -FI_ENODATA;
	}
	ret = resolve_answer_address(link, node, service, flags, hints, true, info);
	if (!ret)
		ret = resolve_answer_address(
			link, node, service, flags, hints, false, info);
	return ret;
}
