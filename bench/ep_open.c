/* SPDX-License-Identifier: BSD-2-Clause */
#include "ep_bench.h"

void must(ssize_t ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	exit(1);
}

static bool over_ip(const struct work *w)
{
	return !strncmp(w->provider, "tcp", 3) || !strncmp(w->provider, "udp", 3);
}

static struct fi_info *hints_for(const struct work *w)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		pair_fail("fi_allocinfo");
	hints->caps = FI_MSG;
	if (w->type != FI_EP_DGRAM)
		hints->caps |= FI_RMA | FI_ATOMIC;
	if (w->tagged)
		hints->caps |= FI_TAGGED;
	hints->mode = FI_RX_CQ_DATA;
	if (over_ip(w))
		hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = w->type;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(w->provider);
	return hints;
}

/* To listen or wait for peers, or to reach @dest. */
static void get_info(struct work *w, const void *dest, size_t dest_len)
{
	bool here = !dest && over_ip(w);
	struct fi_info *hints = hints_for(w);

	if (dest) {
		hints->dest_addr = malloc(dest_len);
		hints->dest_addrlen = dest_len;
		memcpy(hints->dest_addr, dest, dest_len);
	}
	must(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
		     here ? "127.0.0.1" : NULL, NULL, here ? FI_SOURCE : 0, hints,
		     &w->info),
		"fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(w->info->fabric_attr, &w->fabric, NULL), "fi_fabric");
}

static void open_domain(struct work *w)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(fi_domain(w->fabric, w->info, &w->domain, NULL), "fi_domain");
	must(fi_cq_open(w->domain, &cq_attr, &w->cq, NULL), "fi_cq_open");
	if (w->type != FI_EP_MSG)
		must(fi_av_open(w->domain, &av_attr, &w->av, NULL), "fi_av_open");
}

static struct fid_ep *new_ep(struct work *w, struct fi_info *info, struct fid_cq *cq)
{
	struct fid_ep *ep;

	must(fi_endpoint(w->domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
	if (w->type == FI_EP_MSG)
		must(fi_ep_bind(ep, &w->eq->fid, 0), "bind EQ");
	else
		must(fi_ep_bind(ep, &w->av->fid, 0), "bind AV");
	must(fi_enable(ep), "fi_enable");
	return ep;
}

struct fid_ep *ep_another(struct work *w, struct fid_cq *cq)
{
	return new_ep(w, w->info, cq);
}

/* ---- addresses ---- */

struct name {
	size_t len;
	char addr[256];
};

static struct name name_of(struct fid *fid)
{
	struct name name = { .len = sizeof(name.addr) };

	must(fi_getname(fid, name.addr, &name.len), "fi_getname");
	return name;
}

static fi_addr_t insert(struct work *w, const struct name *name)
{
	fi_addr_t addr;

	if (fi_av_insert(w->av, name->addr, 1, &addr, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	return addr;
}

void ep_tell(const struct pair *pair, struct fid_ep *ep)
{
	struct name name = name_of(&ep->fid), none;

	pair_swap(pair, &name, &none, sizeof(name));
}

fi_addr_t ep_told(const struct pair *pair, struct work *w)
{
	struct name none = { 0 }, name;

	pair_swap(pair, &none, &name, sizeof(name));
	return insert(w, &name);
}

/* ---- connected endpoints ---- */

static void open_eq(struct work *w)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };

	must(fi_eq_open(w->fabric, &eq_attr, &w->eq, NULL), "fi_eq_open");
}

static struct fi_info *wait_event(struct work *w, uint32_t wanted)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t ret;

	do {
		ret = fi_eq_read(w->eq, &event, &entry, sizeof(entry), 0);
	} while (ret == -FI_EAGAIN);
	must(ret, "fi_eq_read");
	if (event != wanted)
		must(-FI_EOTHER, "event");
	return entry.info;
}

/* One end of a connection. */
struct fid_ep *ep_connect(struct work *w, const struct pair *pair)
{
	struct fi_info *info = w->info;
	struct fid_ep *ep;

	if (pair->side) {
		info = wait_event(w, FI_CONNREQ);
		if (!w->domain) {
			w->info = info;
			open_domain(w);
		}
	}
	ep = new_ep(w, info, w->cq);
	if (pair->side)
		must(fi_accept(ep, NULL, 0), "fi_accept");
	else
		must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
	(void)wait_event(w, FI_CONNECTED);
	return ep;
}

static void listen_for_it(struct work *w, const struct pair *pair)
{
	struct name name, none;
	struct fid_pep *pep;

	get_info(w, NULL, 0);
	open_eq(w);
	must(fi_passive_ep(w->fabric, w->info, &pep, NULL), "fi_passive_ep");
	must(fi_pep_bind(pep, &w->eq->fid, 0), "fi_pep_bind");
	must(fi_listen(pep), "fi_listen");
	name = name_of(&pep->fid);
	pair_swap(pair, &name, &none, sizeof(name));
}

static void hear_where_it_listens(struct work *w, const struct pair *pair)
{
	struct name none = { 0 }, name;

	pair_swap(pair, &none, &name, sizeof(name));
	get_info(w, name.addr, name.len);
	open_eq(w);
	open_domain(w);
}

void ep_open(struct work *w, const struct pair *pair)
{
	struct name mine, theirs;

	if (w->type == FI_EP_MSG) {
		if (pair->side)
			listen_for_it(w, pair);
		else
			hear_where_it_listens(w, pair);
		w->ep = ep_connect(w, pair);
		return;
	}
	get_info(w, NULL, 0);
	open_domain(w);
	w->ep = ep_another(w, w->cq);
	mine = name_of(&w->ep->fid);
	pair_swap(pair, &mine, &theirs, sizeof(mine));
	w->peer = insert(w, &theirs);
}

/* ---- memory ---- */

static void reg(struct work *w, char *buf, uint64_t access, uint64_t key,
	struct fid_mr **ret_mr)
{
	must(fi_mr_reg(w->domain, buf, w->size, access, 0, key, 0, ret_mr, NULL),
		"fi_mr_reg");
}

void ep_register(struct work *w, const struct pair *pair)
{
	uint64_t mine[2] = { 0 }, theirs[2];

	if (w->type == FI_EP_DGRAM)
		return;
	reg(w, w->tx, FI_SEND | FI_WRITE | FI_READ, 1, &w->tx_mr);
	reg(w, w->rx, FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		2, &w->rx_mr);
	w->tx_desc = fi_mr_desc(w->tx_mr);
	w->rx_desc = fi_mr_desc(w->rx_mr);
	if (w->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		mine[0] = (uintptr_t)w->rx;
	mine[1] = fi_mr_key(w->rx_mr);
	pair_swap(pair, mine, theirs, sizeof(mine));
	w->remote_addr = theirs[0];
	w->remote_key = theirs[1];
}
