/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/life/async.h"
#include "objects/endpoint/life/bind.h"
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/life.h"
#include "objects/endpoint/life/opt.h"
#include "objects/endpoint/life/progress.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/context.h"

/* The scalable endpoint itself; see scalable.h. Its contexts are in context.c. */

static int scalable_no_address_vector(const struct wf_ep *core)
{
	wf_ep_log(core, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_enable: an AV must be bound to the scalable endpoint first\n");
	return -FI_ENOAV;
}

int wf_sep_enable_core(struct wf_ep *core)
{
	int ret;

	if (!core->av)
		return scalable_no_address_vector(core);
	if (core->enabled)
		return 0;
	ret = core->xfer->enable(core);
	if (!ret)
		ret = wf_ep_progress_attach(core);
	if (!ret) {
		wf_ep_async_enable(core);
		wf_ep_flush_add(core);
	}
	core->enabled = !ret;
	return ret;
}

static int scalable_sep_enable(struct wf_ep *core)
{
	int ret = -FI_EBUSY;

	(void)pthread_mutex_lock(&core->control);
	if (!core->sep->enabled)
		ret = wf_sep_enable_core(core);
	else
		wf_ep_log(core, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_enable: the scalable endpoint is enabled already\n");
	core->sep->enabled |= !ret;
	(void)pthread_mutex_unlock(&core->control);
	return ret;
}

static int scalable_sep_close(struct fid *fid)
{
	return wf_ep_put(wf_container_of(fid, struct wf_ep, fid.fid));
}

static int scalable_sep_control(struct fid *fid, int command, void *arg)
{
	struct wf_ep *core = wf_container_of(fid, struct wf_ep, fid.fid);

	(void)arg;
	if (command == FI_ENABLE)
		return scalable_sep_enable(core);
	wf_ep_log(core, FI_LOG_INFO, FI_LOG_EP_CTRL,
		"scalable endpoints know no control command %d\n", command);
	return -FI_ENOSYS;
}

static struct fi_ops sep_fid_ops =
	WF_EP_FID_OPS(scalable_sep_close, wf_ep_bind, scalable_sep_control);

static struct fi_ops_ep sep_ep_ops = {
	.size = sizeof(sep_ep_ops),
	.cancel = wf_absent_ep_cancel,
	.getopt = wf_ep_getopt,
	.setopt = wf_ep_setopt,
	.tx_ctx = wf_sep_tx_context,
	.rx_ctx = wf_sep_rx_context,
	.rx_size_left = wf_absent_ep_rx_size_left,
	.tx_size_left = wf_absent_ep_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

static void scalable_init_tables(struct wf_ep *core)
{
	core->fid.fid.fclass = FI_CLASS_SEP;
	core->fid.fid.ops = &sep_fid_ops;
	core->fid.ops = &sep_ep_ops;
	core->fid.msg = &wf_absent_msg;
	core->fid.tagged = &wf_absent_tagged;
	core->fid.rma = &wf_absent_rma;
	core->fid.atomic = &wf_absent_atomic;
}

void wf_sep_rx_init(struct wf_sep *sep, struct wf_sep_rx *rx)
{
	struct wf_srx_attr attr = wf_ep_srx_attr(sep->core);

	rx->ep = sep->core;
	wf_srx_init_with(&rx->srx, &attr, &sep->rx_lock);
	wf_ep_srx_export(&rx->srx, &rx->port, sep->core, sep->ctx_xfer->srx_ops);
}

/* The number of contexts for @direction: @asked, or one if that is 0; none if the
 * endpoint lacks the capability. */
static size_t scalable_count_of(
	const struct wf_ep *core, uint64_t direction, size_t asked)
{
	return core->caps & direction ? WF_MAX(asked, 1) : 0;
}

/* Refuse attributes that cannot be served. Contexts that several threads use at once
 * need locks, which a domain for one thread at a time does not have. */
static int scalable_check(const struct wf_ep *core)
{
	const struct fi_ep_attr *attr = core->info->ep_attr;

	if (attr->tx_ctx_cnt == FI_SHARED_CONTEXT ||
		attr->rx_ctx_cnt == FI_SHARED_CONTEXT) {
		wf_ep_log(core, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_scalable_ep: FI_SHARED_CONTEXT asked for, the contexts of "
			"a scalable endpoint are its own\n");
		return -FI_EINVAL;
	}
	return 0;
}

int wf_sep_init(struct wf_ep *core, const struct wf_xfer_ops *ctx_xfer)
{
	const struct fi_ep_attr *attr = core->info->ep_attr;
	size_t tx_count, rx_count;
	struct wf_sep *sep;
	int ret = scalable_check(core);

	if (ret)
		return ret;
	tx_count = scalable_count_of(core, WF_EP_TX_DIRS, attr->tx_ctx_cnt);
	rx_count = scalable_count_of(core, WF_EP_RX_DIRS, attr->rx_ctx_cnt);
	sep = calloc(1, sizeof(*sep) + rx_count * sizeof(sep->rx[0]));
	if (!sep)
		return -FI_ENOMEM;
	sep->tx = calloc(WF_MAX(tx_count, 1), sizeof(struct wf_ep *));
	if (!sep->tx) {
		free(sep);
		return -FI_ENOMEM;
	}
	wf_lock_init(&sep->rx_lock, core->lock.kind);
	wf_lock_set_gate(&sep->rx_lock, core->domain->gate);
	sep->core = core;
	sep->ctx_xfer = ctx_xfer;
	sep->tx_count = tx_count;
	sep->rx_count = rx_count;
	core->sep = sep;
	core->srx_lock = &sep->rx_lock;
	for (size_t i = 0; i < rx_count; i++)
		wf_sep_rx_init(sep, &sep->rx[i]);
	scalable_init_tables(core);
	return 0;
}

void wf_sep_drain(struct wf_sep *sep)
{
	for (size_t i = 0; i < sep->rx_count; i++)
		wf_srx_drain(&sep->rx[i].port);
}

void wf_sep_done(struct wf_ep *core)
{
	struct wf_sep *sep = core->sep;

	for (size_t i = 0; i < sep->rx_count; i++) {
		/* wf_sep_drain unlinked the port, unless the endpoint failed to
		 * open. */
		wf_list_remove(&sep->rx[i].port.link);
		wf_srx_fini(&sep->rx[i].srx);
	}
	wf_lock_done(&sep->rx_lock);
	free(sep->tx);
	free(sep);
	core->sep = NULL;
}
