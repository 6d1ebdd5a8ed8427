/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/endpoint/life/async.h"
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/name.h"
#include "objects/lower/call.h"
#include "providers/lnx/addr.h"
#include "providers/lnx/endpoint.h"
#include "providers/lnx/fast_path.h"
#include "providers/lnx/param.h"
#include "providers/lnx/progress.h"
#include "providers/lnx/record.h"
#include "providers/lnx/sources.h"
#include "providers/lnx/stats.h"
#include "providers/lnx/stripe/stripe.h"
#include "sys/compiler.h"

/* Opening, naming, enabling and closing endpoints. */

/* Messages come through the members' ports of the receive context, never through the
 * port of the endpoint itself. */
static int endpoint_refuse_message(struct fi_peer_rx_entry *entry)
{
	(void)entry;
	return -FI_ENOSYS;
}

static struct fi_ops_srx_peer no_messages =
	WF_SRX_PEER_OPS(endpoint_refuse_message, endpoint_refuse_message);

static int lnx_enable(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	int ret = 0;

	ep->av = wf->av->prov_data;
	ep->may_sleep = wf_ep_may_sleep(wf);
	for (unsigned int i = 0; i < ep->count && !ret; i++)
		ret = lnx_rail_enable(ep, i);
	if (!ret)
		ret = lnx_stripe_enable(ep);
	if (!ret)
		ret = lnx_progress_watch(ep);
	if (!ret)
		ret = lnx_stripe_watch(ep);
	if (ret)
		return ret;
	lnx_stripe_enabled(ep);
	lnx_fast_path_enabled(ep);
	lnx_sources_enabled(ep);
	lnx_progress_enabled(ep);
	return 0;
}

/* Has the rail sent all injected messages? A member of this library can be asked. Of a
 * member of another library it is known whether it reported the end of all injected
 * operations. */
static bool endpoint_is_flushed(struct lnx_ep *ep, uint32_t index)
{
	struct wf_ep *builtin = ep->rail[index].below.builtin;

	return builtin ? wf_ep_flushed(builtin) : !lnx_op_any_injected(ep, index);
}

static bool lnx_flushed(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	bool done = true;

	for (unsigned int i = 0; i < ep->count; i++) {
		if (endpoint_is_flushed(ep, i))
			continue;
		lnx_rail_wake(ep, &ep->rail[i]);
		done = false;
	}
	return done && (!ep->stripe || lnx_stripe_flushed(ep));
}

/* Has the rail operations that progress has to continue? Of a member of another library
 * it is known which operations have not ended. */
static bool endpoint_is_unfinished(struct lnx_ep *ep, uint32_t index)
{
	struct wf_ep *builtin = ep->rail[index].below.builtin;

	return builtin ? wf_ep_unfinished(builtin) : lnx_op_any(ep, index);
}

static bool lnx_unfinished(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);

	for (unsigned int i = 0; i < ep->count; i++) {
		if (!endpoint_is_unfinished(ep, i))
			continue;
		lnx_rail_wake(ep, &ep->rail[i]);
		return true;
	}
	return lnx_stripe_is_busy(ep);
}

/* Members of other libraries come first, because they may refuse a counter. */
static int endpoint_bind_cntrs(struct lnx_ep *ep, bool builtin)
{
	int ret = 0;

	for (unsigned int i = 0; i < ep->count && !ret; i++)
		if (builtin == (ep->rail[i].below.builtin != NULL))
			ret = lnx_rail_bind_cntrs(ep, i);
	return ret;
}

static int lnx_cntr_bound(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	int ret = endpoint_bind_cntrs(ep, false);

	return ret ? ret : endpoint_bind_cntrs(ep, true);
}

/* Is @op_context, a record, the operation that @which selects? */
static bool endpoint_is_recorded(const struct wf_cancel *which, void *op_context)
{
	struct lnx_op *op = op_context;

	if (op->head_of || op->context != which->context ||
		!wf_op_is_reported(op->flags))
		return false;
	op->cancelled = true;
	return true;
}

static bool endpoint_cancel_builtin(
	const struct lnx_rail *rail, const struct wf_cancel *which)
{
	struct wf_cancel asked = *which;

	asked.is = rail->recorded ? endpoint_is_recorded : NULL;
	return wf_lower_cancel_tx(&rail->below, &asked);
}

static bool lnx_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	bool found = false;

	for (unsigned int i = 0; i < ep->count && !found; i++) {
		if (ep->rail[i].below.builtin)
			found = endpoint_cancel_builtin(&ep->rail[i], which);
		else
			lnx_op_cancel(ep, which->context, i);
	}
	return found;
}

static void endpoint_close_rails(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		wf_lower_ep_close(&ep->rail[i].below);
}

static void lnx_destroy(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);

	lnx_dump_stats(ep);
	lnx_stripe_dump_stats(ep);
	lnx_sources_done(ep);
	lnx_stripe_close(ep);
	endpoint_close_rails(ep);
	lnx_progress_done(ep);
	wf_pool_done(&ep->ops_pool);
	wf_lock_done(&ep->ops_lock);
	wf_ep_free(wf);
}

typedef uint32_t lnx_addrs[LNX_MAX_LINKS][WF_AV_ADDR_WORDS];

/* The links of messages. @addrs: memory for their addresses. */
static int endpoint_name_links(struct lnx_ep *ep, struct lnx_name *ret, lnx_addrs addrs)
{
	ret->count = ep->count;
	for (unsigned int i = 0; i < ep->count; i++) {
		const struct lnx_member *member = &ep->domain->link->member[i];
		size_t size = sizeof(addrs[i]);
		int err = fi_getname(&ep->rail[i].below.fid->fid, addrs[i], &size);

		if (err)
			return err;
		ret->link[i] = (struct lnx_name_link){
			.provider = member->provider,
			.format = member->info->addr_format,
			.len = (uint16_t)size,
			.locality = member->locality,
			.addr = addrs[i],
		};
	}
	return 0;
}

/* An application that has space for the links of messages alone gets these, without the
 * private endpoints. */
static int lnx_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	uint8_t written[LNX_ADDR_MAX], longer[LNX_ADDR_MAX];
	uint32_t format = wf->info->addr_format;
	struct lnx_ep *ep = lnx_ep_of(wf);
	lnx_addrs addrs, stripe_addrs;
	struct lnx_name name;
	size_t size, more;
	int ret = endpoint_name_links(ep, &name, addrs);

	if (ret)
		return ret;
	size = lnx_addr_write(format, &name, written);
	if (!size) {
		lnx_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"the addresses of %u links do not fit into one of %d bytes\n",
			ep->count, format == FI_ADDR_STR ? LNX_ADDR_MAX : LNX_NAME_LEN);
		return -FI_ENOSPC;
	}
	more = lnx_stripe_name(ep, &name, stripe_addrs)
		       ? lnx_addr_write(format, &name, longer)
		       : 0;
	return more && (*len >= more || *len < size)
		       ? wf_name_give(longer, more, addr, len)
		       : wf_name_give(written, size, addr, len);
}

/* Every member has to forgo shared memory. A member that does not know the option is
 * assumed to use shared memory. */
static int lnx_forbid_shared_memory(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	bool permitted = false;

	for (unsigned int i = 0; i < ep->count; i++) {
		int ret = fi_setopt(&ep->rail[i].below.fid->fid, FI_OPT_ENDPOINT,
			FI_OPT_SHARED_MEMORY_PERMITTED, &permitted, sizeof(permitted));

		if (ret)
			return -FI_EOPNOTSUPP;
	}
	return 0;
}

/* The smallest number of operations that any member takes. */
static size_t lnx_tx_left(struct wf_ep *wf)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	size_t least = SIZE_MAX;

	for (unsigned int i = 0; i < ep->count; i++) {
		struct fid_ep *member = ep->rail[i].below.fid;
		ssize_t left = member->ops->tx_size_left(member);

		if (left >= 0)
			least = WF_MIN(least, (size_t)left);
	}
	return least == SIZE_MAX ? wf->info->tx_attr->size : least;
}

/* The atomic operation is valid if every member can do it. */
static int lnx_atomic_valid(struct wf_ep *wf, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	size_t least = SIZE_MAX, one;
	int ret;

	for (unsigned int i = 0; i < ep->count; i++) {
		ret = wf_lower_atomic_valid(
			ep->rail[i].below.fid, kind, datatype, op, &one);
		if (ret)
			return ret;
		least = WF_MIN(least, one);
	}
	*ret_count = least;
	return 0;
}

#define XFER_OPS(kind)                                                                 \
	{                                                                              \
		.lock_kind = (kind), .start = lnx_start, .progress = lnx_progress,     \
		.item = &lnx_progress_item, .srx_ops = &no_messages,                   \
		.enable = lnx_enable, .tables_finished = lnx_fast_path_finish,         \
		.destroy = lnx_destroy, .getname = lnx_getname,                        \
		.forbid_shared_memory = lnx_forbid_shared_memory,                      \
		.atomic_valid = lnx_atomic_valid, .cntr_bound = lnx_cntr_bound,        \
		.cancel_tx = lnx_cancel, .flushed = lnx_flushed,                       \
		.unfinished = lnx_unfinished, .tx_left = lnx_tx_left,                  \
	}

/* Members that use sockets make system calls while the endpoint's lock is held. */
static const struct wf_xfer_ops network_ops = XFER_OPS(WF_LOCK_MUTEX);
static const struct wf_xfer_ops memory_ops = XFER_OPS(WF_LOCK_SPIN);

static void lnx_endpoint_init(struct lnx_ep *ep, struct lnx_domain *domain)
{
	const struct lnx_link *link = domain->link;

	ep->domain = domain;
	ep->per_msg = lnx_params.per_msg && link->rails > 1;
	ep->tracked = link->rails > 1 || lnx_params.stats || domain->stripe_rails;
	wf_pool_init(&ep->ops_pool, sizeof(struct lnx_op));
	wf_list_init(&ep->ops);
	wf_list_init(&ep->av_link);
	lnx_progress_init(ep);
}

/* Open each rail; if the application chose a source address, with the rail's address in
 * it. */
static int endpoint_open_rails(struct lnx_ep *ep, const struct fi_info *info)
{
	const struct lnx_link *link = ep->domain->link;
	struct lnx_name mine = { .count = 0 };
	int index[LNX_MAX_LINKS];
	struct lnx_addr from;
	int ret = 0;

	from.name.count = 0;
	if (info->src_addr && !lnx_addr_read(link, info->addr_format, info->src_addr,
				      info->src_addrlen, &from)) {
		lnx_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_endpoint refused: src_addr is no address of %s\n",
			link->tmpl->domain_attr->name);
		return -FI_EINVAL;
	}
	lnx_domain_name(ep->domain, &mine);
	lnx_name_pair(&mine, &from.name, link->local, index);
	for (unsigned int i = 0; i < ep->domain->count && !ret; i++) {
		ret = lnx_rail_open(
			ep, i, index[i] < 0 ? NULL : &from.name.link[index[i]]);
		if (!ret)
			ep->count++;
	}
	return ret ? ret : lnx_stripe_open(ep, &from.name);
}

int lnx_endpoint(struct wf_domain *parent, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context)
{
	struct lnx_domain *domain = lnx_domain_of(parent);
	struct lnx_ep *ep;
	struct wf_ep *wf;
	int ret;

	ret = wf_ep_new(sizeof(*ep), parent, info,
		domain->link->member[0].memory ? &memory_ops : &network_ops, context,
		&wf);
	if (ret)
		return ret;
	ep = lnx_ep_of(wf);
	wf_lock_init(&ep->ops_lock, WF_LOCK_SPIN);
	wf_lock_set_gate(&ep->ops_lock, parent->gate);
	lnx_endpoint_init(ep, domain);
	ret = endpoint_open_rails(ep, info);
	if (ret)
		goto err_rails;
	*ret_ep = &ep->wf.fid;
	return 0;

err_rails:
	endpoint_close_rails(ep);
	lnx_progress_done(ep);
	wf_lock_done(&ep->ops_lock);
	wf_ep_free(wf);
	return ret;
}
