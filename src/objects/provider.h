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

/*
 * What a software provider is, in one const struct: the shared objects ask it
 * for everything that differs between providers. A provider's folder defines one
 * and its fi_provider callbacks are one line each (see providers/udp/provider.c).
 */
struct wf_prov {
	/* Registered with the core; also what every log line names. */
	struct fi_provider *fi;

	/* What it offers, best first, NULL-terminated. Static templates: complete
	 * attributes, no addresses, no names. Each stands for one endpoint type. */
	const struct fi_info *const *templates;

	/* The devices that it found, for a provider that answers fi_getinfo by
	 * wf_device_getinfo (objects/info/device.h); @rescan: look for them again.
	 * Called by several threads at once. Then @templates says what any device
	 * offers, and an object is opened by the templates of its own device. NULL: it
	 * has no devices. */
	const struct wf_devices *(*devices)(bool rescan);

	/* Names of fabric and domain where no interface gives them. */
	const char *default_fabric;
	const char *default_domain;

	/* Does it serve collectives? Without, fi_av_set answers -FI_ENOSYS. */
	bool av_sets;

	/* Where endpoints have names (wf_str_getinfo): is @node what an endpoint of
	 * this machine is called, so that fi_getinfo may be asked for it without a
	 * format? NULL: no endpoint is called like a host. */
	bool (*node_known)(const char *node);

	/* Parameter that restricts the interfaces ("iface" is FI_<PROV>_IFACE). */
	const char *iface_param;

	/* Called once, when the library lets its providers go; NULL when there is
	 * nothing to free. */
	void (*cleanup)(void);

	/* Called at the end of a domain's opening and the start of its closing;
	 * NULL when the provider keeps no state of its own there. */
	int (*domain_init)(struct wf_domain *domain, const struct fi_info *info);
	void (*domain_done)(struct wf_domain *domain);

	/* A CQ or counter, imported ones too, was opened, which is the last step of the
	 * open call: a code refuses it, with the reason logged by the provider; and it
	 * is about to be closed, with nothing bound to it. The provider's own data is
	 * in prov_data. NULL: no interest. No lock is held. */
	int (*cq_opened)(struct wf_cq *cq);
	void (*cq_closing)(struct wf_cq *cq);
	int (*cntr_opened)(struct wf_cntr *cntr);
	void (*cntr_closing)(struct wf_cntr *cntr);

	/* What the addresses of @info look like; NULL: as its addr_format says. */
	const struct wf_av_format *(*av_format)(const struct fi_info *info);

	/* For a provider that keeps something beside the addresses of an AV, in
	 * av->prov_data; NULL where it does not. Called at the end of an AV's opening
	 * and at the start of its closing; when @addr, spelled, was inserted at @index,
	 * perhaps once more (@flags: FI_FIREWALL_ADDR), in which case a failure takes
	 * the address out again; and when it is gone. No lock is held. */
	int (*av_opened)(struct wf_av *av);
	void (*av_closing)(struct wf_av *av);
	int (*av_inserted)(
		struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
	void (*av_removed)(struct wf_av *av, fi_addr_t index);

	/* Bytes of elements that one atomic call may have; 0 without atomics. Asked
	 * by fi_atomicvalid and its like and by wf_query_atomic. */
	size_t max_atomic_size;

	/* What receives from an imported context (fi_srx_context with FI_PEER); the
	 * same as srx_ops of every endpoint that may be bound to one. NULL: the
	 * provider imports none. */
	struct fi_ops_srx_peer *srx_ops;

	/* Slots of the operations tables that only a provider can fill. NULL means
	 * that the call is not offered and answers -FI_ENOSYS. */
	int (*endpoint)(struct wf_domain *domain, struct fi_info *info,
		struct fid_ep **ep, uint64_t flags, void *context);
	int (*passive_ep)(struct fid_fabric *fabric, struct fi_info *info,
		struct fid_pep **pep, void *context);
	int (*scalable_ep)(struct wf_domain *domain, struct fi_info *info,
		struct fid_ep **sep, void *context);
	/* Register a region in its own way; @attr was checked. NULL: wf_mr_register. */
	int (*mr_register)(struct wf_domain *domain, const struct fi_mr_attr *attr,
		uint64_t flags, struct fid_mr **ret_mr);
	/* wf_query_atomic (objects/domain/domain.h), unless the provider knows better.
	 */
	int (*query_atomic)(struct wf_domain *domain, enum fi_datatype datatype,
		enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags);
	/* fi_query_collective(3): can the domain do it, with what limits? The calls
	 * themselves are wf_xfer_ops.collective. */
	int (*query_collective)(struct wf_domain *domain, enum fi_collective_op coll,
		struct fi_collective_attr *attr, uint64_t flags);
};

#endif
