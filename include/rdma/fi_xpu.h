/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers issued by an accelerator, host side, fi_xpu(3). Device code includes
 * fi_xpu_device.h.
 */
#ifndef FI_XPU_H
#define FI_XPU_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a device that take part in one call. */
enum {
	FI_XPU_WORK_ITEM,
	FI_XPU_SUBGROUP,
	FI_XPU_WORK_GROUP,
	FI_XPU_DEVICE,
};

/* Providers that device code can call: fid_xpu.prov_id. */
enum fi_xpu_provider {
	FI_XPU_PROV_EFA = 1,
};

/* Flags of fi_xpu_ops. */
#define FI_XPU_ALLOC_DMABUF (1ULL << 0)

#define FI_XPU_IMPORT_IOMEMORY  (1ULL << 0)
#define FI_XPU_IMPORT_DEVICEMAP (1ULL << 1)

/* Objects that a context can export: fi_xpu_ctx_attr.caps. */
#define FI_XPU_CAP_EP   (1ULL << 0)
#define FI_XPU_CAP_CQ   (1ULL << 1)
#define FI_XPU_CAP_CNTR (1ULL << 2)

/* Memory management supplied by the application, with arguments as in fi_xpu(3). */
struct fi_xpu_ops {
	size_t size;
	int (*alloc)(
		uint64_t, uint64_t, uint64_t, uint64_t, void **, int *, uint64_t *);
	int (*import)(uint64_t, void *, uint64_t, uint64_t, void **);
	void (*free)(uint64_t, void *);
};

/* A device. */
struct fi_xpu_attr {
	enum fi_hmem_iface iface;
	uint64_t device;
	struct fi_xpu_ops *ops;
};

/* What a context can do. */
struct fi_xpu_ctx_attr {
	uint64_t caps;       /* FI_XPU_CAP_... */
	size_t av_addr_size; /* bytes */
	size_t mr_desc_size; /* bytes */
};

struct fi_ops_xpu_ctx {
	size_t size;
	int (*query)(struct fid_xpu_ctx *ctx, struct fi_xpu_ctx_attr *attr);
};

/* Connects a domain with a device. */
struct fid_xpu_ctx {
	struct fid fid;
	struct fi_ops_xpu_ctx *ops;
};

/* Objects as device code sees them. */
struct fid_xpu {
	uint32_t fclass;
	uint32_t prov_id;
	uint64_t prov_ctx;
};

struct fid_xpu_ep {
	struct fid_xpu fid;
};

struct fid_xpu_cq {
	struct fid_xpu fid;
};

struct fid_xpu_cntr {
	struct fid_xpu fid;
};

/* Open a context. -FI_ENOSYS: the domain lacks FI_XPU. */
static inline int fi_xpu_ctx(struct fid_domain *domain, struct fi_xpu_attr *attr,
	struct fid_xpu_ctx **ctx, void *context)
{
	return domain->ops->xpu_ctx(domain, attr, ctx, context);
}

static inline int fi_xpu_ctx_query(
	struct fid_xpu_ctx *ctx, struct fi_xpu_ctx_attr *attr)
{
	return ctx->ops->query(ctx, attr);
}

#ifdef __cplusplus
}
#endif

#endif /* FI_XPU_H */
