/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROVIDER_H
#define WF_OBJECTS_PROVIDER_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_prov.h>
#include <rdma/providers/fi_log.h>

struct wf_av;
struct wf_av_format;
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
};

/*
 * The frame around it: struct fi_provider <name>_fi for <name>_prov, and how the
 * library finds that, built in or as a library of its own. @getinfo: wf_ip_getinfo or
 * what takes its place. @init defines and reads the parameters, before all else.
 */
#define WF_PROV_VERSION FI_VERSION(FI_MAJOR_VERSION * 100 + FI_MINOR_VERSION, 0)

#ifdef WF_LOADABLE
#define WF_PROV_INI(name_)                                                             \
	struct fi_provider *fi_prov_ini(void);                                         \
	FI_EXT_INI
#else
#define WF_PROV_INI(name_)                                                             \
	struct fi_provider *name_##_prov_ini(void);                                    \
	struct fi_provider *name_##_prov_ini(void)
#endif

#define WF_PROV_FRAME(name_, getinfo_, init_)                                          \
	static int prov_getinfo(uint32_t version, const char *node,                    \
		const char *service, uint64_t flags, const struct fi_info *hints,      \
		struct fi_info **ret_info)                                             \
	{                                                                              \
		return getinfo_(&name_##_prov, version, node, service, flags, hints,   \
			ret_info);                                                     \
	}                                                                              \
	static int prov_fabric(struct fi_fabric_attr *attr,                            \
		struct fid_fabric **ret_fabric, void *context)                         \
	{                                                                              \
		return wf_fabric_open(&name_##_prov, attr, ret_fabric, context);       \
	}                                                                              \
	static void prov_cleanup(void)                                                 \
	{                                                                              \
		if (name_##_prov.cleanup)                                              \
			name_##_prov.cleanup();                                        \
	}                                                                              \
	struct fi_provider name_##_fi = {                                              \
		.version = WF_PROV_VERSION,                                            \
		.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),          \
		.name = #name_,                                                        \
		.getinfo = prov_getinfo,                                               \
		.fabric = prov_fabric,                                                 \
		.cleanup = prov_cleanup,                                               \
	};                                                                             \
	WF_PROV_INI(name_)                                                             \
	{                                                                              \
		init_();                                                               \
		return &name_##_fi;                                                    \
	}

#endif
