/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UDP_UDP_FIXTURE_H
#define TESTS_UDP_UDP_FIXTURE_H

/* Endpoints of udp in one process on a loopback address, opened through the public
 * interface. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../time_limits.h"

/* Upper bound for anything that must happen; no time is measured with it. */
/* Time limit for an event, in milliseconds. */
#define PATIENCE_MS limit_ms(20000)

struct net {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
};

struct node {
	struct net *net;
	struct fid_ep *ep;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} name;
	size_t name_len;
	fi_addr_t addr; /* index in the net's AV */
};

struct net_options {
	uint64_t caps;
	uint32_t addr_format; /* 0: IPv4 */
	enum fi_threading threading;
	enum fi_progress progress;
	enum fi_wait_obj wait_obj;
	/* Use the first interface instead of the loopback address. */
	bool first_interface;
};

static inline struct fi_info *net_info(const struct net_options *o)
{
	bool in6 = o->addr_format == FI_SOCKADDR_IN6;
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	assert_non_null(hints);
	hints->caps = o->caps;
	hints->addr_format = in6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->domain_attr->threading = o->threading;
	hints->domain_attr->progress = o->progress;
	hints->fabric_attr->prov_name = strdup("udp");
	if (o->first_interface) {
		if (fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info))
			info = NULL;
	} else if (fi_getinfo(FI_VERSION(2, 0), in6 ? "::1" : "127.0.0.1", NULL,
			   FI_SOURCE, hints, &info)) {
		info = NULL;
	}
	fi_freeinfo(hints);
	return info;
}

static inline void net_open(struct net *net, struct net_options o)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = {
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = o.wait_obj,
	};
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	memset(net, 0, sizeof(*net));
	net->info = net_info(&o);
	if (!net->info)
		skip(); /* the host has no IPv6 */
	assert_int_equal(fi_fabric(net->info->fabric_attr, &net->fabric, NULL), 0);
	assert_int_equal(fi_domain(net->fabric, net->info, &net->domain, NULL), 0);
	assert_int_equal(fi_eq_open(net->fabric, &eq_attr, &net->eq, NULL), 0);
	assert_int_equal(fi_cq_open(net->domain, &cq_attr, &net->cq, NULL), 0);
	assert_int_equal(fi_av_open(net->domain, &av_attr, &net->av, NULL), 0);
}

static inline void net_close(struct net *net)
{
	assert_int_equal(fi_close(&net->av->fid), 0);
	assert_int_equal(fi_close(&net->cq->fid), 0);
	assert_int_equal(fi_close(&net->eq->fid), 0);
	assert_int_equal(fi_close(&net->domain->fid), 0);
	assert_int_equal(fi_close(&net->fabric->fid), 0);
	fi_freeinfo(net->info);
}

/* An endpoint with one queue for both directions. node_open inserts its address into
 * the AV, node_open_unknown does not. */
static inline void node_open_unknown(struct node *node, struct net *net)
{
	memset(node, 0, sizeof(*node));
	node->net = net;
	node->name_len = sizeof(node->name);
	assert_int_equal(fi_endpoint(net->domain, net->info, &node->ep, node), 0);
	assert_int_equal(fi_ep_bind(node->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(node->ep, &net->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(node->ep, &net->eq->fid, 0), 0);
	assert_int_equal(fi_enable(node->ep), 0);
	assert_int_equal(fi_getname(&node->ep->fid, &node->name, &node->name_len), 0);
}

static inline void node_insert(struct node *node)
{
	assert_int_equal(
		fi_av_insert(node->net->av, &node->name, 1, &node->addr, 0, NULL), 1);
}

static inline void node_open(struct node *node, struct net *net)
{
	node_open_unknown(node, net);
	node_insert(node);
}

static inline void node_close(struct node *node)
{
	assert_int_equal(fi_close(&node->ep->fid), 0);
}

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

/* The next entry. Returns 1, or -FI_EAVAIL. Completions of sends are skipped. */
static inline ssize_t next_entry(
	struct net *net, struct fi_cq_tagged_entry *entry, fi_addr_t *src)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	fi_addr_t unused;
	ssize_t ret;

	do {
		ret = fi_cq_readfrom(net->cq, entry, 1, src ? src : &unused);
	} while ((ret == -FI_EAGAIN || (ret == 1 && entry->flags & FI_SEND)) &&
		 now_ms() < end);
	return ret;
}

static inline struct fi_cq_tagged_entry must_receive(struct net *net, fi_addr_t *src)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(next_entry(net, &entry, src), 1);
	return entry;
}

static inline void must_fail(struct net *net, struct fi_cq_err_entry *err)
{
	struct fi_cq_tagged_entry entry;

	assert_int_equal(next_entry(net, &entry, NULL), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(net->cq, err, 0), 1);
}

static inline void must_be_quiet(struct net *net)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 100; i++) {
		ssize_t ret = fi_cq_read(net->cq, &entry, 1);

		assert_true(ret == -FI_EAGAIN || (ret == 1 && entry.flags & FI_SEND));
	}
}

static inline void must_post(struct node *node, void *buf, size_t len, void *context)
{
	assert_int_equal(fi_recv(node->ep, buf, len, NULL, FI_ADDR_UNSPEC, context), 0);
}

static inline void must_send(
	struct node *from, fi_addr_t to, const void *buf, size_t len)
{
	assert_int_equal(fi_send(from->ep, buf, len, NULL, to, NULL), 0);
}

static const uint32_t formats[] = { FI_SOCKADDR_IN, FI_SOCKADDR_IN6 };

#endif
