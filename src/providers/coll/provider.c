/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/av.h"
#include "objects/av/format.h"
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/domain/domain.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "objects/open/frame.h"
#include "providers/coll/coll.h"
#include "providers/coll/query.h"
#include "providers/coll/remains.h"

/*
 * Description of the provider: collectives, as a peer (fi_peer(3)) of a main provider
 * that moves the data. It has no addresses and no transport, so all its objects are
 * imported, and fi_getinfo answers only callers that name it and offer peer transfers.
 */

#define CAPS (FI_COLLECTIVE | FI_PEER)

static struct fi_tx_attr tx_attr = {
	.caps = FI_COLLECTIVE,
	.op_flags = FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
		    FI_INJECT_COMPLETE | FI_MORE,
	.iov_limit = COLL_IOV_MAX,
	.size = COLL_OPS_MAX,
};

static struct fi_rx_attr rx_attr = {
	.caps = FI_COLLECTIVE,
	.op_flags = FI_COMPLETION,
	.iov_limit = COLL_IOV_MAX,
	.size = COLL_OPS_MAX,
};

static struct fi_ep_attr ep_attr = {
	WF_OFFER_RELIABLE_EP,
	.type = FI_EP_RDM,
	.protocol = FI_PROTO_COLL,
	.protocol_version = 1,
	.max_msg_size = SIZE_MAX,
};

static struct fi_domain_attr domain_attr = {
	WF_OFFER_DOMAIN,
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.caps = FI_PEER,
};

static struct fi_fabric_attr fabric_attr = { .prov_version = WF_PROV_VERSION };

#define INFO(mode_)                                                                    \
	{                                                                              \
		.caps = CAPS, .mode = (mode_), .addr_format = FI_FORMAT_UNSPEC,        \
		.tx_attr = &tx_attr, .rx_attr = &rx_attr, .ep_attr = &ep_attr,         \
		.domain_attr = &domain_attr, .fabric_attr = &fabric_attr,              \
	}

/* The answer of fi_getinfo, and the attributes with which objects may be opened: an
 * endpoint without the mode is refused with -FI_EINVAL (fi_peer(3)), not as an unknown
 * info. */
static const struct fi_info answer = INFO(FI_PEER_TRANSFER);
static const struct fi_info any_mode = INFO(0);
static const struct fi_info *const templates[] = { &any_mode, NULL };

/* An imported AV holds no addresses, so no address is ever read in this format. */
static bool provider_no_spelling(uint32_t *words, const void *addr)
{
	(void)words;
	(void)addr;
	return false;
}

static void provider_print_nothing(const void *addr, char *buf, size_t len)
{
	(void)addr;
	if (len)
		*buf = '\0';
}

static const struct wf_av_format no_format = {
	.name = "none",
	.addr_format = FI_FORMAT_UNSPEC,
	.addr_len = sizeof(uint32_t),
	.key_words = 1,
	.spell = provider_no_spelling,
	.print = provider_print_nothing,
};

static const struct wf_av_format *provider_av_format(const struct fi_info *unused)
{
	(void)unused;
	return &no_format;
}

/* An object of a provider that only serves a main provider must be imported. */
static int provider_need_peer(bool imported, const char *what, int err)
{
	if (imported)
		return 0;
	coll_log(FI_LOG_INFO, FI_LOG_DOMAIN,
		"%s refused: only a main provider opens one, with FI_PEER\n", what);
	return err;
}

static int provider_domain_init(struct wf_domain *domain, const struct fi_info *unused)
{
	int ret = provider_need_peer(domain->peer, "domain", -FI_ENOSYS);

	(void)unused;
	return ret ? ret : coll_remains_init(domain);
}

static int provider_av_opened(struct wf_av *av)
{
	return provider_need_peer(av->peer, "address vector", -FI_EINVAL);
}

static int provider_cq_opened(struct wf_cq *cq)
{
	return provider_need_peer(
		cq->owner != &cq->self, "completion queue", -FI_EINVAL);
}

static int provider_cntr_opened(struct wf_cntr *cntr)
{
	return provider_need_peer(cntr->owner != &cntr->self, "counter", -FI_EINVAL);
}

static const struct wf_prov coll_prov = {
	.fi = &coll_fi,
	.templates = templates,
	.default_fabric = COLL_NAME,
	.default_domain = COLL_NAME,
	.av_sets = true,
	.domain_init = provider_domain_init,
	.domain_done = coll_remains_done,
	.cq_opened = provider_cq_opened,
	.cntr_opened = provider_cntr_opened,
	.av_format = provider_av_format,
	.av_opened = provider_av_opened,
	.endpoint = coll_endpoint,
	.query_collective = coll_query,
};

static int coll_provider_getinfo(const struct wf_prov *prov, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	(void)node;
	(void)service;
	(void)flags;
	if (!hints || !(hints->mode & FI_PEER_TRANSFER)) {
		coll_log(FI_LOG_INFO, FI_LOG_CORE,
			"refused: mode: possible only with FI_PEER_TRANSFER\n");
		return -FI_ENODATA;
	}
	return wf_info_named(
		prov, version, &answer, hints, COLL_NAME, COLL_NAME, ret_info);
}

WF_PROV_FRAME_NAMED(coll, COLL_NAME, coll_provider_getinfo, coll_params_init)
