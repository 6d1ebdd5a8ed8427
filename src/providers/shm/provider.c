/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "objects/open/frame.h"
#include "providers/shm/conn/dir.h"
#include "providers/shm/conn/listen.h"
#include "providers/shm/shm.h"
#include "sys/compiler.h"
#include "sys/sealed.h"

/* The provider's template: reliable datagrams between processes of one user. */

#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_SHARED_AV | FI_AV_USER_ID | FI_PEER)
#define TX_CAPS     (WF_RELIABLE_TX_CAPS | FI_COLLECTIVE)
#define RX_CAPS     (WF_RELIABLE_RX_CAPS | WF_SOURCE_CAPS | FI_COLLECTIVE)

/* shm_provider_read_params sets inject_size and size. */
static struct fi_tx_attr tx_attr = {
	WF_OFFER_RELIABLE_TX,
	.caps = TX_CAPS,
	.iov_limit = SHM_IOV_LIMIT,
	.rma_iov_limit = SHM_RMA_LIMIT,
};

static struct fi_rx_attr rx_attr = {
	WF_OFFER_RELIABLE_RX,
	.caps = RX_CAPS,
	.iov_limit = SHM_IOV_LIMIT,
};

static struct fi_ep_attr ep_attr = {
	WF_OFFER_RELIABLE_EP,
	.type = FI_EP_RDM,
	.protocol = FI_PROTO_SHM,
	.protocol_version = 1,
	.max_msg_size = WF_MAX_MSG,
};

static struct fi_domain_attr domain_attr = {
	WF_OFFER_DOMAIN,
	.cq_data_size = sizeof(uint64_t),
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.max_ep_srx_ctx = 1,
	.mr_iov_limit = SHM_IOV_LIMIT,
	/* Address of an unknown source. */
	.caps = DOMAIN_CAPS,
	.max_err_data = SHM_NAME_MAX,
};

static struct fi_fabric_attr fabric_attr = { .prov_version = WF_PROV_VERSION };

static const struct fi_info info = {
	.caps = TX_CAPS | RX_CAPS | DOMAIN_CAPS,
	.addr_format = FI_ADDR_STR,
	.tx_attr = &tx_attr,
	.rx_attr = &rx_attr,
	.ep_attr = &ep_attr,
	.domain_attr = &domain_attr,
	.fabric_attr = &fabric_attr,
};

static const struct fi_info *const templates[] = { &info, NULL };

static const struct wf_prov shm_prov = {
	.fi = &shm_fi,
	.templates = templates,
	.default_fabric = "shm",
	.default_domain = "shm",
	.node_known = shm_socket_knows,
	.endpoint = shm_endpoint,
	.srx_ops = &wf_unexp_srx_ops,
	.max_atomic_size = SHM_ATOMIC_MAX,
	.av_sets = true,
	.query_atomic = wf_query_atomic,
};

static void shm_provider_read_params(void)
{
	const struct shm_params *p = &shm_params;

	shm_params_init();
	tx_attr.inject_size = p->inject_size;
	tx_attr.size = p->tx_size;
	rx_attr.size = p->rx_size;
}

/* If no endpoint can be opened, none is offered. */
static int shm_provider_getinfo(const struct wf_prov *prov, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	const char *what = "/dev/shm cannot be used";
	int err = shm_dir_usable(SHM_DIR_ROOT);

	if (!err) {
		err = wf_sealed_check();
		what = "no file in memory (memfd_create)";
	}
	/* Descriptors may be closed, and memory freed, before the first connection. */
	if (err && err != -EMFILE && err != -ENFILE && err != -ENOMEM) {
		shm_log(FI_LOG_INFO, FI_LOG_CORE, "refused: shared memory: %s: %s\n",
			what, strerror(-err));
		return -FI_ENODATA;
	}
	return wf_str_getinfo(prov, version, node, service, flags, hints, ret_info);
}

WF_PROV_FRAME(shm, shm_provider_getinfo, shm_provider_read_params)
