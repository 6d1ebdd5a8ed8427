/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "objects/endpoint/life/async.h"
#include "objects/lower/info.h"
#include "objects/open/open.h"
#include "providers/lnx/param.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/calls.h"
#include "sys/sockaddr.h"

/* The private endpoints: which members get one, opening, naming, enabling, closing. */

enum {
	CQ_SIZE = 256,
};

static const uint64_t needed =
	FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ;

static bool open_takes_part(const struct lnx_domain *domain, unsigned int i)
{
	const struct lnx_member *member = &domain->link->member[i];
	const struct fi_info *info = domain->member[i].info;

	/* Offsets are addresses, and any key can be chosen. */
	return !member->memory && !(needed & ~member->info->caps) &&
	       !wf_lower_mr_mode(info->domain_attr->mr_mode) &&
	       info->domain_attr->mr_key_size >= sizeof(uint64_t) &&
	       info->domain_attr->cq_data_size >= sizeof(uint64_t) &&
	       wf_domain_is_own(domain->member[i].domain);
}

void lnx_stripe_domain_init(struct lnx_domain *domain)
{
	uint8_t rails = 0;

	if (!lnx_params.stripe_size)
		return;
	for (unsigned int i = 0; i < domain->count; i++)
		if (open_takes_part(domain, i))
			rails |= (uint8_t)(1u << i);
	if (__builtin_popcount(rails) > 1)
		domain->stripe_rails = rails;
}

static void open_links_of(const struct lnx_domain *domain, struct lnx_name *ret,
	bool ret_local[LNX_MAX_LINKS])
{
	struct lnx_name all;

	lnx_domain_name(domain, &all);
	ret->count = 0;
	for (unsigned int i = 0; i < all.count; i++) {
		if (!(domain->stripe_rails >> i & 1))
			continue;
		ret_local[ret->count] = domain->link->local[i];
		ret->link[ret->count] = all.link[i];
		ret->link[ret->count++].provider ^= LNX_NAME_PRIVATE;
	}
}

unsigned int lnx_stripe_pair(const struct lnx_domain *domain,
	const struct lnx_name *name, int ret_pair[LNX_MAX_LINKS])
{
	bool local[LNX_MAX_LINKS];
	struct lnx_name mine;

	open_links_of(domain, &mine, local);
	lnx_name_pair(&mine, name, local, ret_pair);
	return mine.count;
}

bool lnx_stripe_reaches(const struct lnx_domain *domain, const struct lnx_name *name)
{
	unsigned int reached = 0, count;
	int pair[LNX_MAX_LINKS];

	if (!domain->stripe_rails)
		return false;
	count = lnx_stripe_pair(domain, name, pair);
	for (unsigned int i = 0; i < count; i++)
		reached += pair[i] >= 0;
	return reached > 1;
}

/* Does @source have the port that the application chose? The private endpoints could
 * not have the same address after a restart of the process. */
static bool open_has_port(const struct lnx_name *source)
{
	union wf_sockaddr sa;

	for (unsigned int i = 0; i < source->count; i++) {
		const struct lnx_name_link *link = &source->link[i];

		if (wf_sockaddr_read(link->addr, link->len, &sa) ||
			wf_sockaddr_port(&sa))
			return true;
	}
	return false;
}

static struct fi_info *open_private_info(const struct wf_lower_domain *domain)
{
	struct fi_info *info = fi_dupinfo(domain->info);

	if (!info)
		return NULL;
	info->caps = needed & ~(uint64_t)FI_TAGGED;
	info->mode = FI_CONTEXT | FI_CONTEXT2;
	info->tx_attr->caps = info->rx_attr->caps = 0;
	info->tx_attr->op_flags = info->rx_attr->op_flags = 0;
	info->tx_attr->mode = info->rx_attr->mode = 0;
	return info;
}

static int open_cq(struct lnx_stripe_rail *rail)
{
	const struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_MSG, .size = CQ_SIZE, .wait_obj = FI_WAIT_FD
	};
	int ret = wf_lower_cq_open(&rail->cq, rail->below.domain, &attr);

	if (ret)
		return ret;
	/* A queue that got no descriptor could not end a sleep. */
	return rail->cq.has_fd ? 0 : -FI_EMFILE;
}

static int open_rail(struct lnx_stripe *s, unsigned int member)
{
	const struct wf_lower_domain *domain = &s->ep->domain->member[member];
	struct lnx_stripe_rail *rail = &s->rail[s->count];
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_info *info = open_private_info(domain);
	bool memory = false;
	int ret;

	if (!info)
		return -FI_ENOMEM;
	rail->member = member;
	ret = wf_lower_ep_open(&rail->below, domain, info, NULL);
	if (ret)
		return ret;
	s->count++;
	if (rail->below.builtin)
		wf_ep_async_below(&s->ep->wf, rail->below.builtin);
	rail->tx_flags = FI_COMPLETION;
	if (s->ep->domain->link->member[member].op_flags & FI_DELIVERY_COMPLETE)
		rail->tx_flags |= FI_DELIVERY_COMPLETE;
	/* Rails are networks. A member that does not know the option has no memory. */
	(void)fi_setopt(&rail->below.fid->fid, FI_OPT_ENDPOINT,
		FI_OPT_SHARED_MEMORY_PERMITTED, &memory, sizeof(memory));
	s->iov_limit = WF_MIN(s->iov_limit, domain->info->tx_attr->iov_limit);
	ret = fi_av_open(domain->domain, &av_attr, &rail->av, NULL);
	if (ret)
		return wf_lower_result(domain, FI_LOG_EP_CTRL, "fi_av_open", ret);
	ret = open_cq(rail);
	if (!ret)
		ret = wf_lower_ep_bind(&rail->below, &rail->av->fid, 0);
	if (!ret)
		ret = wf_lower_ep_bind(
			&rail->below, &rail->cq.fid->fid, FI_TRANSMIT | FI_RECV);
	return ret;
}

static void open_init_lists(struct lnx_stripe *s)
{
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++) {
		wf_list_init(&s->receivers[i]);
		wf_list_init(&s->out[i]);
		wf_list_init(&s->in[i]);
	}
	wf_list_init(&s->active);
	wf_list_init(&s->waiting);
	wf_pool_init(&s->chunks, sizeof(struct lnx_chunk));
	wf_pool_init(&s->controls, sizeof(struct lnx_control));
}

static struct lnx_stripe *open_new_stripe(struct lnx_ep *ep)
{
	struct lnx_stripe *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->rail = calloc(LNX_MAX_LINKS, sizeof(*s->rail));
	if (!s->rail) {
		free(s);
		return NULL;
	}
	wf_lock_init(&s->lock, WF_LOCK_MUTEX);
	wf_lock_set_gate(&s->lock, ep->wf.domain->gate);
	s->ep = ep;
	s->heads.ops = &lnx_stripe_head_ops;
	s->iov_limit = SIZE_MAX;
	s->timer_fd = -1;
	open_init_lists(s);
	return s;
}

/* Does the application send or receive tagged messages? */
static bool open_has_use(const struct lnx_ep *ep)
{
	return ep->domain->stripe_rails && ep->wf.caps & FI_TAGGED &&
	       ep->wf.caps & (FI_SEND | FI_RECV);
}

int lnx_stripe_open(struct lnx_ep *ep, const struct lnx_name *source)
{
	int ret = 0;

	if (!open_has_use(ep) || open_has_port(source))
		return 0;
	ep->stripe = open_new_stripe(ep);
	if (!ep->stripe)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < ep->domain->count && !ret; i++)
		if (ep->domain->stripe_rails >> i & 1)
			ret = open_rail(ep->stripe, i);
	if (!ret)
		return 0;
	lnx_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"no message is striped: no private endpoints: %s\n", fi_strerror(-ret));
	lnx_stripe_close(ep);
	return ret == -FI_ENOMEM ? ret : 0;
}

static bool open_read_names(struct lnx_stripe *s, struct lnx_name *ret,
	uint32_t addrs[LNX_MAX_LINKS][WF_AV_ADDR_WORDS])
{
	bool local[LNX_MAX_LINKS];

	open_links_of(s->ep->domain, ret, local);
	for (unsigned int i = 0; i < s->count; i++) {
		size_t size = WF_AV_ADDR_WORDS * sizeof(uint32_t);

		if (fi_getname(&s->rail[i].below.fid->fid, addrs[i], &size))
			return false;
		ret->link[i].len = (uint16_t)size;
		ret->link[i].addr = addrs[i];
	}
	return true;
}

bool lnx_stripe_name(struct lnx_ep *ep, struct lnx_name *name,
	uint32_t addrs[LNX_MAX_LINKS][WF_AV_ADDR_WORDS])
{
	struct lnx_name mine, both = { .count = 0 };
	struct lnx_stripe_rail *rail;
	uint8_t packed[LNX_NAME_LEN];
	unsigned int next = 0;

	if (!ep->stripe || !open_read_names(ep->stripe, &mine, addrs) ||
		name->count + mine.count > LNX_MAX_LINKS)
		return false;
	rail = ep->stripe->rail;
	for (unsigned int i = 0; i < name->count; i++) {
		both.link[both.count++] = name->link[i];
		if (next < mine.count && rail[next].member == i)
			both.link[both.count++] = mine.link[next++];
	}
	if (!lnx_name_pack(&both, packed))
		return false;
	*name = both;
	return true;
}

static void open_post(struct lnx_stripe *s, struct lnx_stripe_buf *buf)
{
	struct fid_ep *ep = s->rail[buf->call.rail].below.fid;
	ssize_t ret = fi_recv(
		ep, buf->bytes, sizeof(buf->bytes), NULL, FI_ADDR_UNSPEC, &buf->call);

	if (ret)
		lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"a buffer for control messages is lost: %s\n",
			fi_strerror((int)-ret));
}

static void open_handle(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	static void (*const handlers[LNX_STRIPE_KINDS])(
		struct lnx_stripe *, const struct lnx_stripe_msg *) = {
		[LNX_STRIPE_HELLO] = lnx_stripe_hello,
		[LNX_STRIPE_OFFER] = lnx_stripe_offer,
		[LNX_STRIPE_WITHDRAW] = lnx_stripe_withdraw,
		[LNX_STRIPE_ASK_RECEIVER] = lnx_stripe_ask_receiver,
		[LNX_STRIPE_WELCOME] = lnx_stripe_welcome,
		[LNX_STRIPE_DONE] = lnx_stripe_done,
		[LNX_STRIPE_ASK_SENDER] = lnx_stripe_ask_sender,
	};

	if (handlers[msg->kind])
		handlers[msg->kind](s, msg);
}

static void open_received(
	struct lnx_stripe *s, struct lnx_call *call, int err, size_t len)
{
	struct lnx_stripe_buf *buf = wf_container_of(call, struct lnx_stripe_buf, call);
	struct lnx_stripe_msg msg;

	if (!err && lnx_stripe_read(buf->bytes, len, &msg))
		open_handle(s, &msg);
	else if (!err || err == FI_ETRUNC)
		FI_WARN_SPARSE(&lnx_fi, FI_LOG_EP_DATA,
			"a control message that makes no sense is dropped\n");
	if (err != FI_ECANCELED)
		open_post(s, buf);
}

static void open_post_all(struct lnx_stripe *s, unsigned int index)
{
	struct lnx_stripe_rail *rail = &s->rail[index];

	for (unsigned int i = 0; i < LNX_STRIPE_BUFS && !rail->posted; i++) {
		rail->buf[i].call.done = open_received;
		rail->buf[i].call.rail = index;
		open_post(s, &rail->buf[i]);
	}
	rail->posted = true;
}

int lnx_stripe_enable(struct lnx_ep *ep)
{
	uint32_t addrs[LNX_MAX_LINKS][WF_AV_ADDR_WORDS];
	struct lnx_stripe *s = ep->stripe;
	struct lnx_name name;
	int ret = 0;

	if (!s)
		return 0;
	for (unsigned int i = 0; i < s->count && !ret; i++) {
		ret = wf_lower_ep_enable(&s->rail[i].below);
		if (!ret)
			open_post_all(s, i);
	}
	if (ret)
		return ret;
	if (open_read_names(s, &name, addrs))
		s->name_len = lnx_name_pack(&name, s->name);
	return s->name_len ? 0 : -FI_EADDRNOTAVAIL;
}

void lnx_stripe_enabled(struct lnx_ep *ep)
{
	if (!ep->stripe)
		return;
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].below.builtin && !ep->domain->link->member[i].memory)
			ep->rail[i].below.srx_port.heads = &ep->stripe->heads;
}

static void open_close_rail(struct lnx_stripe_rail *rail)
{
	const struct wf_lower_domain *domain = rail->below.domain;

	wf_lower_wait_del(&rail->wait);
	wf_lower_ep_close(&rail->below);
	wf_lower_cq_close(&rail->cq, domain);
	wf_lower_close(domain, rail->av ? &rail->av->fid : NULL);
}

/* The private endpoints go first: then nothing reads or writes payload any more. */
void lnx_stripe_close(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;

	if (!s)
		return;
	for (unsigned int i = 0; i < s->count; i++)
		open_close_rail(&s->rail[i]);
	wf_ep_srx_lock(&ep->wf);
	lnx_stripe_free_in(s);
	wf_ep_srx_unlock(&ep->wf);
	lnx_stripe_free_out(s);
	/* The endpoint's set of descriptors, which has it, ends with the endpoint. */
	if (s->timer_fd >= 0)
		(void)wf_sys_close(s->timer_fd);
	wf_pool_done(&s->chunks);
	wf_pool_done(&s->controls);
	wf_lock_done(&s->lock);
	free(s->rail);
	free(s);
	ep->stripe = NULL;
}
