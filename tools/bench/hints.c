/* SPDX-License-Identifier: BSD-2-Clause */
#include "hints.h"
#include "library.h"
#include "say.h"

#include <rdma/fi_atomic.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hints_caps_of(const struct fb_config *c, enum fb_call call)
{
	uint64_t caps = call == FB_CALL_TAGGED ? FI_TAGGED : FI_MSG;

	if (fb_config_needs(c, FB_NEED_RMA))
		caps |= FI_RMA;
	if (fb_config_needs(c, FB_NEED_ATOMIC))
		caps |= FI_ATOMIC;
	if (fb_config_needs(c, FB_NEED_COLLECTIVE))
		caps |= FI_COLLECTIVE | FI_MSG;
	return caps;
}

static char *hints_name_or_null(const char *name)
{
	return name[0] ? strdup(name) : NULL;
}

static struct fi_info *hints_new(
	const struct fb_node *node, enum fb_call call, const struct fb_address *dest)
{
	const struct fb_config *c = node->config;
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		fb_die(FB_EXIT_FAILED, "no memory for hints");
	hints->caps = hints_caps_of(c, call);
	/* No operation here has remote CQ data. */
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	hints->ep_attr->type = c->type;
	hints->domain_attr->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->threading = c->threading     ? c->threading
					: c->threads > 1 ? FI_THREAD_COMPLETION
							 : FI_THREAD_DOMAIN;
	/* A silent target gets the progress that applications get which ask for
	 * none. */
	if (c->progress || (!c->sleep && !c->silent))
		hints->domain_attr->data_progress =
			c->progress ? c->progress : FI_PROGRESS_MANUAL;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	/* A write is verified once it is known to have arrived, and is of use to a
	 * target that makes no calls when it is there. */
	if ((c->verify || c->silent) &&
		(fb_config_needs(c, FB_NEED_RMA) || fb_config_needs(c, FB_NEED_ATOMIC)))
		hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	/* Verification knows which message a receive gets. */
	if (c->verify)
		hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = hints_name_or_null(c->provider);
	hints->fabric_attr->name = hints_name_or_null(c->fabric);
	hints->domain_attr->name = hints_name_or_null(c->domain);
	if (dest) {
		hints->dest_addr = malloc(dest->len);
		if (!hints->dest_addr)
			fb_die(FB_EXIT_FAILED, "no memory for an address");
		memcpy(hints->dest_addr, dest->addr, dest->len);
		hints->dest_addrlen = dest->len;
	}
	return hints;
}

static int hints_ask(struct fb_node *node, struct fi_info *hints, const char *source)
{
	return fi_getinfo(fb_library_version(), source, NULL, source ? FI_SOURCE : 0,
		hints, &node->info);
}

static bool hints_over_ip(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR ||
	       info->addr_format == FI_SOCKADDR_IN ||
	       info->addr_format == FI_SOCKADDR_IN6;
}

/* The address of the control connection is an address of endpoints only where they
 * have IP addresses; and a device may have another one. So the first answer counts, and
 * is replaced by one with that address where there is one of the same provider. */
static int hints_ask_for(
	struct fb_node *node, enum fb_call call, const struct fb_address *dest)
{
	struct fi_info *hints = hints_new(node, call, dest), *any;
	int ret = hints_ask(node, hints, NULL);

	any = node->info;
	if (!ret && !dest && node->source && hints_over_ip(any)) {
		if (!hints->fabric_attr->prov_name)
			hints->fabric_attr->prov_name =
				strdup(any->fabric_attr->prov_name);
		if (hints_ask(node, hints, node->source))
			node->info = any;
		else
			fi_freeinfo(any);
	}
	fi_freeinfo(hints);
	return ret;
}

static int hints_ask_for_call(struct fb_node *node, const struct fb_address *dest)
{
	const struct fb_config *c = node->config;
	int ret;

	node->call = c->call                  ? (enum fb_call)c->call
		     : c->type == FI_EP_DGRAM ? FB_CALL_MSG
					      : FB_CALL_TAGGED;
	ret = hints_ask_for(node, node->call, dest);
	if (ret == -FI_ENODATA && !c->call && node->call == FB_CALL_TAGGED) {
		node->call = FB_CALL_MSG;
		ret = hints_ask_for(node, node->call, dest);
	}
	return ret;
}

void fb_node_getinfo(struct fb_node *node, const struct fb_address *dest)
{
	static const enum fb_need less[] = { FB_NEED_COLLECTIVE, FB_NEED_ATOMIC,
		FB_NEED_RMA };
	struct fb_config *c = node->config;
	int ret = hints_ask_for_call(node, dest);

	for (size_t i = 0; c->narrow && ret == -FI_ENODATA && i < 3; i++) {
		fb_config_drop(c, less[i]);
		if (c->tests)
			ret = hints_ask_for_call(node, dest);
	}
	if (ret)
		fb_die(FB_EXIT_FAILED,
			"no endpoint of provider %s fits the tests: %s (fi_info shows "
			"what there is, FI_LOG_LEVEL=info why it does not fit)",
			c->provider[0] ? c->provider : "any", fi_strerror(-ret));
}
