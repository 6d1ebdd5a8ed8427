/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROVIDER_H
#define WF_OBJECTS_PROVIDER_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_prov.h>
#include <rdma/providers/fi_log.h>

struct wf_av;
struct wf_av_format;
struct wf_cntr;
struct wf_cq;
struct wf_devices;
struct wf_domain;
struct wf_mr;
struct wf_ep;
struct wf_op;
struct wf_srx_ctx;

/* For a provider whose hardware matches receives: the queue behind a shared receive
 * context (fi_srx_context(3)), struct wf_srx_ctx in objects/endpoint/scalable/. */
struct wf_shared_rx_ops {
	/* Last step of opening @ctx: make the queue and set ctx->queue. 0 or a negative
	 * errno, logged. No lock is held. */
	int (*open)(struct wf_srx_ctx *ctx);
	/* No endpoint is bound any more. No lock is held. */
	void (*close)(struct wf_srx_ctx *ctx);
	/* Post a receive. @ep is ctx->ep. As wf_xfer_ops.start. */
	ssize_t (*start)(struct wf_ep *ep, struct wf_op *op);
};

/*
 * A software provider, described in one constant struct from which the shared objects
 * take everything that differs between providers. docs/new-provider.md shows how to
 * write one; providers/udp/provider.c is an example.
 */
struct wf_prov {
	/* The provider as the core knows it; its name is in each log line. */
	struct fi_provider *fi;

	/* Templates of the answers of fi_getinfo, the best first, NULL-terminated. A
	 * template has all attributes of one endpoint type, without addresses and
	 * names; objects/info/info.h lists fields with a special meaning. */
	const struct fi_info *const *templates;

	/* For a provider whose getinfo is wf_device_getinfo (objects/info/device.h):
	 * the devices that it found; @rescan: search again. Any thread may call it.
	 * Such a provider has in @templates what any of its devices offers; objects are
	 * checked against the templates of their device. NULL: no devices. */
	const struct wf_devices *(*devices)(bool rescan);

	/* Names of fabric and domain for answers without an interface. */
	const char *default_fabric;
	const char *default_domain;

	/* True if the provider has collectives: its own (wf_xfer_ops.collective), or
	 * else those of engines (objects/coll/). False: fi_av_set(3) returns
	 * -FI_ENOSYS. */
	bool av_sets;

	/* For wf_str_getinfo: is @node the name of an endpoint on this machine? Such a
	 * name may be the node of fi_getinfo without a format prefix. NULL: no endpoint
	 * has a name that could be a host name. Any thread may call it. */
	bool (*node_known)(const char *node);

	/* Parameter that restricts the interfaces ("iface" is FI_<PROV>_IFACE);
	 * objects/info/iface.h. */
	const char *iface_param;

	/* Free the provider's memory, once, when the library is unloaded. NULL: there
	 * is none. */
	void (*cleanup)(void);

	/* Last step of opening a domain, and first step of closing it. A negative errno
	 * fails the opening. NULL: no state in domains. No lock is held. */
	int (*domain_init)(struct wf_domain *domain, const struct fi_info *info);
	void (*domain_done)(struct wf_domain *domain);

	/* Last step of opening a CQ or counter, imported or not, and first step of
	 * closing it, when no object is bound to it. A negative errno fails the
	 * opening, with the reason logged by the provider. prov_data is for the
	 * provider. NULL: not called. No lock is held. */
	int (*cq_opened)(struct wf_cq *cq);
	void (*cq_closing)(struct wf_cq *cq);
	int (*cntr_opened)(struct wf_cntr *cntr);
	void (*cntr_closing)(struct wf_cntr *cntr);

	/* The format of the addresses of @info. NULL: that of its addr_format. */
	const struct wf_av_format *(*av_format)(const struct fi_info *info);

	/* For a provider with state for the addresses of an AV, in av->prov_data.
	 * av_opened, av_closing: last step of opening an AV, first step of closing it.
	 * av_inserted: @addr, in canonical form, was inserted at @index, for the first
	 * time or once more; @flags is FI_FIREWALL_ADDR or 0; a failure removes the
	 * address. av_removed: the index is free. NULL: not called. No lock is held. */
	int (*av_opened)(struct wf_av *av);
	void (*av_closing)(struct wf_av *av);
	int (*av_inserted)(
		struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
	void (*av_removed)(struct wf_av *av, fi_addr_t index);

	/* The largest atomic operation, in bytes of elements; 0: no atomics. */
	size_t max_atomic_size;

	/* Operations for an imported receive context (fi_srx_context with FI_PEER), the
	 * same as wf_xfer_ops.srx_ops of the endpoints that may be bound to one. NULL:
	 * the provider imports no receive contexts. */
	struct fi_ops_srx_peer *srx_ops;

	/* Shared receive contexts of endpoints without wf_xfer_ops.srx_ops. NULL: such
	 * endpoints have none. */
	const struct wf_shared_rx_ops *shared_rx;

	/* Calls that only a provider can implement. NULL: the call returns -FI_ENOSYS.
	 * No lock is held. */
	int (*endpoint)(struct wf_domain *domain, struct fi_info *info,
		struct fid_ep **ep, uint64_t flags, void *context);
	int (*passive_ep)(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **pep, void *context);
	int (*scalable_ep)(struct wf_domain *domain, struct fi_info *info,
		struct fid_ep **sep, void *context);
	/* Register memory; @attr was checked. NULL: wf_mr_register does it. */
	int (*mr_register)(struct wf_domain *domain, const struct fi_mr_attr *attr,
		uint64_t flags, struct fid_mr **ret_mr);
	/* fi_query_atomic(3); wf_query_atomic (objects/domain/domain.h) implements it
	 * by max_atomic_size. */
	int (*query_atomic)(struct wf_domain *domain, enum fi_datatype datatype,
		enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);
	/* fi_query_collective(3): fill *attr, or return -FI_ENOSYS. The calls are in
	 * wf_xfer_ops.collective. NULL with av_sets: engines are asked. */
	int (*query_collective)(struct wf_domain *domain, enum fi_collective_op coll,
		struct fi_collective_attr *attr, uint64_t flags);
};

#endif
