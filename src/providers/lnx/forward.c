/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "providers/lnx/lnx.h"

/*
 * The calls that every message makes, for endpoints with members of other libraries
 * whose transmissions need no record: the rail is looked up, and the member's own call
 * does the rest. Its checks are ours, its limits are not above ours, and its default
 * flags are ours (endpoint.c). A descriptor of a region of ours says nothing to a
 * member, and none needs one.
 */

struct hop {
	struct lnx_ep *ep;
	struct fid_ep *to;
	fi_addr_t addr;
	uint32_t rail;
};

static inline bool route(struct fid_ep *fid, fi_addr_t dest, struct hop *hop)
{
	struct lnx_ep *ep = lnx_ep_of_fid(fid);
	struct lnx_peer *peer = lnx_av_peer(ep->av, dest);
	struct lnx_rail *rail;

	if (wf_unlikely(!peer))
		return false;
	/* acquire: pairs with the release of the insertion. */
	hop->rail = atomic_load_explicit(&peer->rail, memory_order_acquire);
	if (wf_unlikely(hop->rail == LNX_NO_RAIL))
		return false;
	rail = &ep->rail[hop->rail];
	lnx_rail_wake(ep, rail);
	hop->ep = ep;
	hop->to = rail->ep;
	hop->addr = peer->addr[hop->rail];
	return true;
}

/* Is there another rail for what this one refused? */
static bool moved(const struct hop *hop, fi_addr_t dest, ssize_t ret)
{
	return ret < 0 && ret != -FI_EAGAIN &&
	       lnx_rail_failed(hop->ep, dest, hop->rail, (int)-ret);
}

/* @call names hop.to and hop.addr. */
#define FORWARD(fid, dest, call)                                                       \
	do {                                                                           \
		struct hop hop;                                                        \
		ssize_t ret_;                                                          \
                                                                                       \
		do {                                                                   \
			if (wf_unlikely(!route(fid, dest, &hop)))                      \
				return lnx_no_peer(dest);                              \
			ret_ = (call);                                                 \
		} while (wf_unlikely(ret_) && moved(&hop, dest, ret_));                \
		if (wf_unlikely(hop.ep->counts))                                       \
			lnx_count_held();                                              \
		return ret_;                                                           \
	} while (0)

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	(void)desc;
	FORWARD(fid, dest, fi_send(hop.to, buf, len, NULL, hop.addr, context));
}

static ssize_t msg_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest)
{
	FORWARD(fid, dest, fi_inject(hop.to, buf, len, hop.addr));
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	uint64_t data, fi_addr_t dest, void *context)
{
	(void)desc;
	FORWARD(fid, dest,
		fi_senddata(hop.to, buf, len, NULL, data, hop.addr, context));
}

static ssize_t msg_injectdata(
	struct fid_ep *fid, const void *buf, size_t len, uint64_t data, fi_addr_t dest)
{
	FORWARD(fid, dest, fi_injectdata(hop.to, buf, len, data, hop.addr));
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t tag, void *context)
{
	(void)desc;
	FORWARD(fid, dest, fi_tsend(hop.to, buf, len, NULL, hop.addr, tag, context));
}

static ssize_t tagged_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest, uint64_t tag)
{
	FORWARD(fid, dest, fi_tinject(hop.to, buf, len, hop.addr, tag));
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t tag, void *context)
{
	(void)desc;
	FORWARD(fid, dest,
		fi_tsenddata(hop.to, buf, len, NULL, data, hop.addr, tag, context));
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest, uint64_t tag)
{
	FORWARD(fid, dest, fi_tinjectdata(hop.to, buf, len, data, hop.addr, tag));
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	FORWARD(fid, src,
		fi_read(hop.to, buf, len, NULL, hop.addr, addr, key, context));
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	FORWARD(fid, dest,
		fi_write(hop.to, buf, len, NULL, hop.addr, addr, key, context));
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len,
	fi_addr_t dest, uint64_t addr, uint64_t key)
{
	FORWARD(fid, dest, fi_inject_write(hop.to, buf, len, hop.addr, addr, key));
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
	void *context)
{
	(void)desc;
	FORWARD(fid, dest,
		fi_writedata(
			hop.to, buf, len, NULL, data, hop.addr, addr, key, context));
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key)
{
	FORWARD(fid, dest,
		fi_inject_writedata(hop.to, buf, len, data, hop.addr, addr, key));
}

/* What every member can do. */
int lnx_atomic_valid(struct wf_ep *wf, enum wf_op_kind kind, enum fi_datatype datatype,
	enum fi_op op, size_t *ret_count)
{
	static int (*const valid[WF_OP_COUNT])(
		struct fid_ep *, enum fi_datatype, enum fi_op, size_t *) = {
		[WF_OP_ATOMIC] = fi_atomicvalid,
		[WF_OP_FETCH] = fi_fetch_atomicvalid,
		[WF_OP_COMPARE] = fi_compare_atomicvalid,
	};
	struct lnx_ep *ep = lnx_ep_of(wf);
	size_t least = SIZE_MAX, one;
	int ret;

	for (unsigned int i = 0; i < ep->count; i++) {
		ret = valid[kind](ep->rail[i].ep, datatype, op, &one);
		if (ret)
			return ret;
		least = WF_MIN(least, one);
	}
	*ret_count = least;
	return 0;
}

/* Only what the skeleton offers is replaced. */
#define REPLACE(table, slot, ops)                                                      \
	do {                                                                           \
		if ((ops)->slot != wf_absent_##table##_##slot)                         \
			(ops)->slot = table##_##slot;                                  \
	} while (0)

void lnx_forward_finish(struct lnx_ep *ep)
{
	struct wf_ep *wf = &ep->wf;

	if (ep->tracked || !ep->thin || ep->all_here)
		return;
	if (wf->caps & FI_MSG) {
		REPLACE(msg, send, &wf->msg_ops);
		REPLACE(msg, inject, &wf->msg_ops);
		REPLACE(msg, senddata, &wf->msg_ops);
		REPLACE(msg, injectdata, &wf->msg_ops);
	}
	if (wf->caps & FI_TAGGED) {
		REPLACE(tagged, send, &wf->tagged_ops);
		REPLACE(tagged, inject, &wf->tagged_ops);
		REPLACE(tagged, senddata, &wf->tagged_ops);
		REPLACE(tagged, injectdata, &wf->tagged_ops);
	}
	if (wf->caps & FI_RMA) {
		REPLACE(rma, read, &wf->rma_ops);
		REPLACE(rma, write, &wf->rma_ops);
		REPLACE(rma, inject, &wf->rma_ops);
		REPLACE(rma, writedata, &wf->rma_ops);
		REPLACE(rma, injectdata, &wf->rma_ops);
	}
}
