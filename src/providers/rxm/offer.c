/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/offer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/info/offer.h"
#include "objects/lower/answer.h"
#include "objects/lower/find.h"
#include "objects/open/open.h"
#include "providers/rxm/param.h"
#include "providers/rxm/rxm.h"

/* Templates, made of the answers of the providers below. */

#define COMM   (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define DOMAIN (FI_AV_USER_ID | FI_PEER)
#define BASE_TX                                                                        \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_READ | FI_WRITE | FI_FENCE |       \
		FI_TRIGGER)
#define BASE_RX                                                                        \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |    \
		FI_MULTI_RECV | FI_TRIGGER | FI_SOURCE | FI_SOURCE_ERR |               \
		FI_DIRECTED_RECV)
#define MORE (FI_ATOMIC | FI_COLLECTIVE)

/* A peer's atomics are executed when this endpoint makes progress, its writes when they
 * arrive: so with atomics offered, writes and atomics are not ordered. */
#define ORDER_MORE                                                                     \
	(FI_ORDER_RAS | FI_ORDER_WAS | FI_ORDER_SAS | FI_ORDER_RMA_RAR |               \
		FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |            \
		FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
#define ORDER_BASE                                                                     \
	(ORDER_MORE | FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAW | FI_ORDER_SAW)

#define OP_FLAGS                                                                       \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_DELIVERY_COMPLETE | FI_MORE | FI_FENCE)

const struct fi_info *rxm_templates[RXM_OFFERS_MAX * RXM_TEMPLATES + 1];

static struct rxm_offer *offers[RXM_OFFERS_MAX];
/* Number of offers that are complete; further ones are not read. */
static atomic_uint offer_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool offer_same_text(const char *a, const char *b)
{
	return a && b ? !strcasecmp(a, b) : a == b;
}

static bool offer_same_domain(const struct fi_info *a, const struct fi_info *b)
{
	return a->addr_format == b->addr_format &&
	       offer_same_text(a->domain_attr->name, b->domain_attr->name) &&
	       offer_same_text(a->fabric_attr->name, b->fabric_attr->name);
}

/* Is @name "<base>", or "<base>;ofi_rxm" in either order? */
static bool offer_is_over(const char *name, const char *base)
{
	size_t len = strlen(base);
	const char *at;

	if (!name)
		return false;
	if (!strncasecmp(name, base, len) && (!name[len] || name[len] == ';'))
		return true;
	at = strchr(name, ';');
	return at && !strcasecmp(at + 1, base);
}

static const struct rxm_offer *offer_find(const struct fi_info *info)
{
	/* acquire: pairs with the release in offer_add(). */
	unsigned int count = atomic_load_explicit(&offer_count, memory_order_acquire);

	for (unsigned int i = 0; i < count; i++)
		if (offer_is_over(info->fabric_attr->prov_name,
			    offers[i]->below->fabric_attr->prov_name) &&
			offer_same_domain(info, offers[i]->below))
			return offers[i];
	return NULL;
}

const struct rxm_offer *rxm_offer_find(const struct fi_info *info)
{
	return info->fabric_attr && info->domain_attr ? offer_find(info) : NULL;
}

static size_t offer_least(size_t a, size_t b)
{
	return WF_MIN(a, b);
}

/* How many bytes can be injected: as many as below, although a longer message, with its
 * header, is copied; or, if that is little or needs registered memory, what fits into a
 * buffer of this endpoint. */
static size_t offer_inject_size(const struct fi_info *below)
{
	size_t size = below->tx_attr->inject_size;

	if (below->domain_attr->mr_mode & FI_MR_LOCAL || size <= RXM_HEADER)
		return rxm_params.buffer_size;
	return size;
}

static void offer_fill_tx(
	struct fi_tx_attr *attr, const struct fi_info *below, uint64_t more)
{
	*attr = (struct fi_tx_attr){
		.caps = BASE_TX | more,
		.op_flags = OP_FLAGS,
		.msg_order = more ? ORDER_MORE : ORDER_BASE,
		.inject_size = offer_inject_size(below),
		.size = rxm_params.tx_size,
		.iov_limit = RXM_IOV_LIMIT,
		.rma_iov_limit = offer_least(
			below->tx_attr->rma_iov_limit, (size_t)RXM_IOV_LIMIT),
	};
}

static void offer_fill_rx(struct fi_rx_attr *attr, uint64_t events, uint64_t more)
{
	*attr = (struct fi_rx_attr){
		.caps = BASE_RX | events | more,
		.op_flags = WF_RX_OP_FLAGS,
		.msg_order = more ? ORDER_MORE : ORDER_BASE,
		.size = rxm_params.rx_size,
		.iov_limit = RXM_IOV_LIMIT,
	};
}

static void offer_fill_ep(
	struct fi_ep_attr *attr, const struct fi_info *below, uint64_t more)
{
	size_t order = more ? 0 : SIZE_MAX;

	*attr = (struct fi_ep_attr){
		.type = FI_EP_RDM,
		.protocol = FI_PROTO_RXM,
		.protocol_version = 1,
		.max_msg_size = below->ep_attr->max_msg_size,
		.max_order_raw_size =
			offer_least(below->ep_attr->max_order_raw_size, order),
		.max_order_waw_size =
			offer_least(below->ep_attr->max_order_waw_size, order),
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = 1,
	};
}

/* mr_mode bits of the provider below that the application has to observe. If it does
 * not register local buffers, this provider does. */
enum { MR_MODES = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY };

static void offer_fill_domain(struct fi_domain_attr *attr, const struct fi_info *below)
{
	const struct fi_domain_attr *from = below->domain_attr;

	*attr = (struct fi_domain_attr){
		WF_OFFER_DOMAIN,
		.mr_mode = from->mr_mode & MR_MODES,
		.cq_data_size = offer_least(from->cq_data_size, sizeof(uint64_t)),
		.max_ep_tx_ctx = 1,
		.max_ep_rx_ctx = 1,
		.max_ep_srx_ctx = 1 << 15,
		.mr_iov_limit = offer_least(from->mr_iov_limit, (size_t)RXM_IOV_LIMIT),
		.caps = (below->caps & COMM) | DOMAIN,
		.max_err_data = 0,
	};
	attr->mr_key_size = offer_least(from->mr_key_size, sizeof(uint64_t));
}

/* Would the domain of @below be one of this library? */
static bool offer_is_own(const struct fi_info *below)
{
	struct fid_fabric *fabric;
	bool own;

	if (fi_fabric(below->fabric_attr, &fabric, NULL))
		return false;
	own = wf_fabric_is_own(fabric);
	(void)fi_close(&fabric->fid);
	return own;
}

/* FI_RMA_EVENT is offered only over a provider of this library: another one would count
 * the accesses of a rendezvous, too. */
static uint64_t offer_events_of(const struct fi_info *below)
{
	uint64_t events = below->caps & FI_RMA_EVENT;

	return events && offer_is_own(below) ? events : 0;
}

static struct fi_info *offer_make_template(
	const struct fi_info *below, uint64_t events, uint64_t more)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = BASE_TX | BASE_RX | events | more | DOMAIN | (below->caps & COMM);
	info->addr_format = below->addr_format;
	offer_fill_tx(info->tx_attr, below, more);
	offer_fill_rx(info->rx_attr, events, more);
	offer_fill_ep(info->ep_attr, below, more);
	offer_fill_domain(info->domain_attr, below);
	return info;
}

static void offer_free(struct rxm_offer *offer)
{
	fi_freeinfo(offer->below);
	for (int i = 0; i < RXM_TEMPLATES; i++)
		fi_freeinfo(offer->tmpl[i]);
	free(offer);
}

/* Does the provider below accept FI_DELIVERY_COMPLETE? It has to be asked with the
 * flag, because an answer names the flags that the hints asked for, not all possible
 * ones. */
static bool offer_takes_delivery(const struct fi_info *below)
{
	struct fi_info *hints = fi_dupinfo(below), *list = NULL;
	int ret = -FI_ENOMEM;

	if (hints) {
		hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
		ret = wf_lower_find_again(hints, &list);
	}
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return !ret;
}

static struct rxm_offer *offer_make(const struct fi_info *below)
{
	struct rxm_offer *offer = calloc(1, sizeof(*offer));
	uint64_t events = offer_events_of(below);

	if (!offer)
		return NULL;
	offer->below = fi_dupinfo(below);
	offer->tmpl[0] = offer_make_template(below, events, MORE);
	offer->tmpl[1] = offer_make_template(below, events, 0);
	if (!offer->below || !offer->tmpl[0] || !offer->tmpl[1]) {
		offer_free(offer);
		return NULL;
	}
	wf_lower_strip(offer->below);
	offer->delivery = offer_takes_delivery(offer->below);
	return offer;
}

/* Why no endpoint can be made over @below; NULL: one can. */
static const char *offer_unfit(const struct fi_info *below)
{
	int modes =
		below->domain_attr->mr_mode & ~(MR_MODES | FI_MR_LOCAL | FI_MR_HMEM);

	if (below->addr_format != FI_SOCKADDR_IN &&
		below->addr_format != FI_SOCKADDR_IN6)
		return "its addresses are no IP addresses";
	if (!below->fabric_attr->prov_name || !below->domain_attr->name)
		return "its domain has no name";
	if (~below->caps & RXM_BELOW_CAPS)
		return "it lacks FI_MSG or FI_RMA";
	if (modes)
		return "it needs registration modes that are not possible";
	if (below->mode & ~(FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA))
		return "it needs modes beyond FI_CONTEXT, FI_CONTEXT2 and "
		       "FI_RX_CQ_DATA";
	if (below->ep_attr->max_msg_size < RXM_HEADER + rxm_params.buffer_size)
		return "its messages are shorter than a packet";
	if (below->tx_attr->iov_limit < 1 || below->tx_attr->rma_iov_limit < 1)
		return "it takes no buffers";
	return NULL;
}

static const struct rxm_offer *offer_add(const struct fi_info *below)
{
	unsigned int count = atomic_load_explicit(&offer_count, memory_order_relaxed);
	struct rxm_offer *offer;

	if (count == RXM_OFFERS_MAX) {
		rxm_log(FI_LOG_INFO, FI_LOG_CORE,
			"only the first %d domains are used\n", RXM_OFFERS_MAX);
		return NULL;
	}
	offer = offer_make(below);
	if (!offer)
		return NULL;
	for (unsigned int i = 0; i < RXM_TEMPLATES; i++)
		rxm_templates[count * RXM_TEMPLATES + i] = offer->tmpl[i];
	offers[count] = offer;
	atomic_store_explicit(&offer_count, count + 1, memory_order_release);
	return offer;
}

const struct rxm_offer *rxm_offer_of(const struct fi_info *below)
{
	const char *why = offer_unfit(below);
	const struct rxm_offer *offer;

	if (why) {
		rxm_log(FI_LOG_INFO, FI_LOG_CORE, "%s carries no endpoint: %s\n",
			below->fabric_attr->prov_name ? below->fabric_attr->prov_name
						      : "a provider without a name",
			why);
		return NULL;
	}
	(void)pthread_mutex_lock(&lock);
	offer = offer_find(below);
	if (!offer)
		offer = offer_add(below);
	(void)pthread_mutex_unlock(&lock);
	return offer;
}

void rxm_offers_done(void)
{
	unsigned int count = atomic_load_explicit(&offer_count, memory_order_relaxed);

	atomic_store_explicit(&offer_count, 0, memory_order_relaxed);
	memset(rxm_templates, 0, sizeof(rxm_templates));
	while (count)
		offer_free(offers[--count]);
}
