/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that a run opens. Connected endpoints: member 1 listens, member 0 connects
 * its endpoints one after the other.
 */
#include "node.h"
#include "../clock.h"
#include "hints.h"
#include "library.h"
#include "say.h"
#include "worker.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct fb_address fb_address_of(struct fid *fid)
{
	struct fb_address address = { .len = 0 };
	size_t len = sizeof(address.addr);

	fb_must(fi_getname(fid, address.addr, &len), "fi_getname");
	address.len = len;
	return address;
}

fi_addr_t fb_address_insert(struct fid_av *av, const struct fb_address *address)
{
	fi_addr_t addr;

	if (fi_av_insert(av, address->addr, 1, &addr, 0, NULL) != 1)
		fb_die(FB_EXIT_FAILED, "fi_av_insert: the peer's address is refused");
	return addr;
}

void fb_node_swap_addresses(
	struct fb_node *node, struct fid_ep *ep, struct fb_address *ret_all)
{
	struct fb_address mine = fb_address_of(&ep->fid);

	fb_control_gather(node->control, &mine, ret_all, sizeof(mine));
	for (int i = 0; i < node->control->members; i++)
		if (ret_all[i].len > sizeof(mine.addr))
			fb_die(FB_EXIT_FAILED, "the peer has an address of %llu bytes",
				(unsigned long long)ret_all[i].len);
}

struct fid_cq *fb_node_queue(struct fb_node *node)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_MSG,
		.wait_obj = node->config->sleep ? FI_WAIT_UNSPEC : FI_WAIT_NONE };
	struct fid_cq *cq;

	/* Both directions of the largest window. */
	if (node->config->window > 256)
		attr.size = 4 * (size_t)node->config->window;
	fb_must(fi_cq_open(node->domain, &attr, &cq, NULL), "fi_cq_open");
	return cq;
}

static struct fid_av *node_open_av(struct fb_node *node)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *av;

	if (node->info->domain_attr->av_type != FI_AV_UNSPEC)
		attr.type = node->info->domain_attr->av_type;
	fb_must(fi_av_open(node->domain, &attr, &av, NULL), "fi_av_open");
	return av;
}

struct fid_ep *fb_node_endpoint(struct fb_node *node, struct fi_info *info,
	struct fid_cq *cq, struct fid_av *av)
{
	struct fid_ep *ep;

	fb_must(fi_endpoint(node->domain, info, &ep, NULL), "fi_endpoint");
	fb_must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "binding a CQ");
	if (av)
		fb_must(fi_ep_bind(ep, &av->fid, 0), "binding an AV");
	if (node->eq)
		fb_must(fi_ep_bind(ep, &node->eq->fid, 0), "binding an EQ");
	fb_must(fi_enable(ep), "fi_enable");
	return ep;
}

/* ---- connections ---- */

static void node_open_eq(struct fb_node *node)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	fb_must(fi_eq_open(node->fabric, &attr, &node->eq, NULL), "fi_eq_open");
}

static _Noreturn void node_fail_with_event(struct fb_node *node)
{
	struct fi_eq_err_entry err = { 0 };

	fb_must(fi_eq_readerr(node->eq, &err, 0), "fi_eq_readerr");
	fb_die(FB_EXIT_FAILED, "connection: %s", fi_strerror(err.err));
}

static struct fi_info *node_wait_event(struct fb_node *node, uint32_t wanted)
{
	enum { SLICE_MS = 100 };
	uint32_t slices = node->config->timeout_s * 1000 / SLICE_MS, event;
	struct fi_eq_cm_entry entry;
	ssize_t ret;

	do {
		fb_control_check(node->control);
		ret = fi_eq_sread(node->eq, &event, &entry, sizeof(entry), SLICE_MS, 0);
		/* The end of an earlier connection, which the peer closed first. */
		if (ret > 0 && event == FI_SHUTDOWN)
			ret = -FI_EAGAIN;
	} while ((ret == -FI_EAGAIN || ret == -FI_EINTR) && --slices);
	if (ret == -FI_EAVAIL)
		node_fail_with_event(node);
	if (ret == -FI_EAGAIN)
		ret = -FI_ETIMEDOUT;
	fb_must(ret, "waiting for a connection");
	if (event != wanted)
		fb_die(FB_EXIT_FAILED, "connection: event %u instead of %u", event,
			wanted);
	return entry.info;
}

struct fid_ep *fb_node_connect(struct fb_node *node, struct fid_cq *cq)
{
	struct fi_info *info = node->info;
	struct fid_ep *ep;
	uint64_t start_ns;

	if (node->control->rank)
		info = node_wait_event(node, FI_CONNREQ);
	ep = fb_node_endpoint(node, info, cq, NULL);
	start_ns = tool_now_ns();
	if (node->control->rank)
		fb_must(fi_accept(ep, NULL, 0), "fi_accept");
	else
		fb_must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
	(void)node_wait_event(node, FI_CONNECTED);
	if (!node->control->rank)
		node->connect_ns = tool_now_ns() - start_ns;
	if (info != node->info)
		fi_freeinfo(info);
	return ep;
}

static void node_open_fabric(struct fb_node *node)
{
	fb_must(fi_fabric(node->info->fabric_attr, &node->fabric, NULL), "fi_fabric");
	if (node->config->type == FI_EP_MSG ||
		fb_config_needs(node->config, FB_NEED_COLLECTIVE))
		node_open_eq(node);
}

/* Member 1 listens first; then member 0 asks for an endpoint that reaches it. */
static void node_open_connected(struct fb_node *node)
{
	struct fb_address mine = { .len = 0 }, all[2];

	if (node->control->rank) {
		fb_node_getinfo(node, NULL);
		node_open_fabric(node);
		fb_must(fi_passive_ep(node->fabric, node->info, &node->pep, NULL),
			"fi_passive_ep");
		fb_must(fi_pep_bind(node->pep, &node->eq->fid, 0), "fi_pep_bind");
		fb_must(fi_listen(node->pep), "fi_listen");
		mine = fb_address_of(&node->pep->fid);
	}
	fb_control_gather(node->control, &mine, all, sizeof(mine));
	if (node->control->rank)
		return;
	if (all[1].len > sizeof(mine.addr))
		fb_die(FB_EXIT_FAILED, "the server listens at no address");
	fb_node_getinfo(node, &all[1]);
	node_open_fabric(node);
}

/* ---- opening ---- */

static void node_agree(struct fb_node *node)
{
	struct {
		uint64_t call, tests, size_max, inject_max;
	} mine = { node->call, node->config->tests, node->info->ep_attr->max_msg_size,
		node->info->tx_attr->inject_size },
	  all[FB_MEMBERS_MAX];

	fb_control_gather(node->control, &mine, all, sizeof(mine));
	node->size_max = mine.size_max;
	node->inject_max = mine.inject_max;
	for (int i = 0; i < node->control->members; i++) {
		if (all[i].call != mine.call)
			fb_die(FB_EXIT_FAILED,
				"only one side has tagged messages: try --call=msg");
		if (all[i].tests != mine.tests)
			fb_die(FB_EXIT_FAILED,
				"only one side has all of these tests: name some");
		if (all[i].size_max < node->size_max)
			node->size_max = all[i].size_max;
		if (all[i].inject_max < node->inject_max)
			node->inject_max = all[i].inject_max;
	}
}

static void node_open_end(struct fb_node *node, struct fb_end *end)
{
	struct fb_address all[FB_MEMBERS_MAX];

	end->cq = fb_node_queue(node);
	if (node->config->type == FI_EP_MSG) {
		end->ep = fb_node_connect(node, end->cq);
		return;
	}
	end->av = node_open_av(node);
	end->ep = fb_node_endpoint(node, node->info, end->cq, end->av);
	fb_node_swap_addresses(node, end->ep, all);
	if (!fb_config_needs(node->config, FB_NEED_COLLECTIVE)) {
		end->peer = fb_address_insert(end->av, &all[!node->control->rank]);
		return;
	}
	/* A group knows its members by their addresses, in this order. */
	node->member = fb_alloc((size_t)node->control->members, sizeof(*node->member));
	for (int i = 0; i < node->control->members; i++)
		node->member[i] = fb_address_insert(end->av, &all[i]);
	end->peer = node->member[!node->control->rank];
}

static bool bench_node_is_oversubscribed(const struct fb_node *node)
{
	const struct fb_config *c = node->config;
	uint32_t here = node->core_count;
	cpu_set_t set;

	if (!here && !sched_getaffinity(0, sizeof(set), &set))
		here = (uint32_t)CPU_COUNT(&set);
	return here && c->threads * (node->core_count ? 1 : c->members) > here;
}

void fb_node_open(struct fb_node *node)
{
	fb_library_open();
	if (node->config->type == FI_EP_MSG) {
		node_open_connected(node);
	} else {
		fb_node_getinfo(node, NULL);
		node_open_fabric(node);
	}
	fb_must(fi_domain(node->fabric, node->info, &node->domain, NULL), "fi_domain");
	node_agree(node);
	node->yields = bench_node_is_oversubscribed(node);
	node->worker = fb_workers_new(node);
	for (uint32_t i = 0; i < node->config->threads; i++)
		node_open_end(node, &node->worker[i].end);
	fb_workers_memory(node);
}

static void node_close_object(struct fid *fid)
{
	if (fid)
		(void)fi_close(fid);
}

#define CLOSE(object) node_close_object((object) ? &(object)->fid : NULL)

void fb_node_close(struct fb_node *node)
{
	for (uint32_t i = 0; i < node->config->threads; i++) {
		struct fb_end *end = &node->worker[i].end;

		CLOSE(end->ep);
		fb_worker_memory_close(&node->worker[i]);
		CLOSE(end->cq);
		CLOSE(end->av);
	}
	CLOSE(node->pep);
	CLOSE(node->domain);
	CLOSE(node->eq);
	CLOSE(node->fabric);
	fi_freeinfo(node->info);
	free(node->worker);
	free(node->member);
}
