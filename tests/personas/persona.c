/* SPDX-License-Identifier: BSD-2-Clause */
#include "persona.h"

#include "../log_lines.h"

static void tell(const struct persona *p, int ret)
{
	const struct fi_info *info = p->list;
	char type[64], protocol[64];

	if (!getenv("PERSONA_TELL"))
		return;
	if (ret) {
		printf("# answer: %s\n", fi_strerror(-ret));
		return;
	}
	(void)fi_tostr_r(type, sizeof(type), &info->ep_attr->type, FI_TYPE_EP_TYPE);
	(void)fi_tostr_r(
		protocol, sizeof(protocol), &info->ep_attr->protocol, FI_TYPE_PROTOCOL);
	printf("# answer: %s %s %s %s caps 0x%llx mr_mode 0x%x\n",
		info->fabric_attr->prov_name, info->domain_attr->name, type, protocol,
		(unsigned long long)info->caps, (unsigned)info->domain_attr->mr_mode);
}

int persona_ask(struct persona *p, uint32_t version)
{
	int ret;

	log_lines_start();
	fi_freeinfo(p->list);
	p->list = p->info = NULL;
	ret = fi_getinfo(version, NULL, NULL, 0, p->hints, &p->list);
	if (ret)
		p->list = NULL;
	p->info = p->list;
	tell(p, ret);
	return ret;
}

void persona_expect(struct persona *p, uint32_t version, const char *first)
{
	int ret = persona_ask(p, version);

	if (ret)
		fail_msg("no answer: %s\n%s", fi_strerror(-ret), log_lines);
	assert_string_equal(p->info->fabric_attr->prov_name, first);
}

void persona_refused(struct persona *p, uint32_t version, const char *reason)
{
	assert_int_equal(persona_ask(p, version), -FI_ENODATA);
	if (!log_lines_have(reason))
		fail_msg("not refused for %s, but\n%s", reason, log_lines);
}

bool persona_pick(struct persona *p, bool (*wanted)(const struct fi_info *info))
{
	for (p->info = p->list; p->info; p->info = p->info->next)
		if (wanted(p->info))
			return true;
	return false;
}

void persona_open_domain(struct persona *p)
{
	assert_ok(fi_fabric(p->info->fabric_attr, &p->fabric, NULL));
	assert_ok(fi_domain(p->fabric, p->info, &p->domain, NULL));
}

void persona_open_av(struct persona *p, enum fi_av_type type)
{
	struct fi_av_attr attr = { .type = type, .count = type ? 16 : 0 };

	assert_ok(fi_av_open(p->domain, &attr, &p->av, NULL));
}

void persona_open_cq(struct persona *p, struct fi_cq_attr attr)
{
	assert_ok(fi_cq_open(p->domain, &attr, &p->cq, NULL));
}

void persona_open_cntr(struct persona *p, int which, enum fi_wait_obj wait)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = wait };

	assert_ok(fi_cntr_open(p->domain, &attr, &p->cntr[which], NULL));
}

void persona_open_ep(struct persona *p, uint64_t cq_flags)
{
	assert_ok(fi_endpoint(p->domain, p->info, &p->ep, NULL));
	assert_ok(fi_ep_bind(p->ep, &p->av->fid, 0));
	assert_ok(fi_ep_bind(p->ep, &p->cq->fid, cq_flags));
}

void persona_enable(struct persona *p)
{
	assert_ok(fi_enable(p->ep));
}

void persona_open_scalable(struct persona *p, uint64_t tx_cq_flags)
{
	struct fi_tx_attr tx_attr = *p->info->tx_attr;
	struct fi_rx_attr rx_attr = *p->info->rx_attr;

	assert_true(p->info->domain_attr->max_ep_tx_ctx > 1);
	p->info->ep_attr->tx_ctx_cnt = p->info->ep_attr->rx_ctx_cnt = 1;
	assert_ok(fi_scalable_ep(p->domain, p->info, &p->ep, NULL));
	assert_ok(fi_scalable_ep_bind(p->ep, &p->av->fid, 0));
	assert_ok(fi_tx_context(p->ep, 0, &tx_attr, &p->tx, NULL));
	assert_ok(fi_ep_bind(p->tx, &p->cq->fid, tx_cq_flags));
	if (p->cntr[0])
		assert_ok(fi_ep_bind(p->tx, &p->cntr[0]->fid, FI_WRITE | FI_READ));
	assert_ok(fi_rx_context(p->ep, 0, &rx_attr, &p->rx, NULL));
	assert_ok(fi_ep_bind(p->rx, &p->cq->fid, FI_RECV));
	assert_ok(fi_enable(p->tx));
	assert_ok(fi_enable(p->rx));
	assert_ok(fi_enable(p->ep));
}

void persona_register(struct persona *p, uint64_t access, uint64_t key)
{
	int mode = p->info->domain_attr->mr_mode;

	assert_ok(fi_mr_reg(p->domain, p->memory, sizeof(p->memory), access, 0, key, 0,
		&p->mr, NULL));
	if (mode & FI_MR_ENDPOINT) {
		assert_ok(fi_mr_bind(p->mr, &p->ep->fid, 0));
		assert_ok(fi_mr_enable(p->mr));
	}
	if (!(access & (FI_REMOTE_READ | FI_REMOTE_WRITE)))
		return; /* for local use: no key */
	assert_true(fi_mr_key(p->mr) != FI_KEY_NOTAVAIL);
	/* 1: the old FI_MR_BASIC, which includes it. */
	if (!(mode & (FI_MR_PROV_KEY | 1)))
		assert_int_equal(fi_mr_key(p->mr), key);
}

void persona_talk(struct persona *p)
{
	persona_talk_through(p, p->ep, p->ep);
}

/* The address of the endpoint, which every program sends to its peers. */
static fi_addr_t own_address(struct persona *p)
{
	char name[512];
	size_t len = sizeof(name);
	fi_addr_t addr;

	assert_ok(fi_getname(&p->ep->fid, name, &len));
	assert_int_equal(fi_av_insert(p->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

void persona_talk_through(struct persona *p, struct fid_ep *tx, struct fid_ep *rx)
{
	struct fi_context2 contexts[2];
	struct fi_cq_tagged_entry entry;
	char out[64] = "the first message", in[64] = "";
	fi_addr_t self = own_address(p);
	ssize_t ret;
	int left = 2;

	assert_ok(
		fi_trecv(rx, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 7, 0, &contexts[0]));
	do
		ret = fi_tsend(tx, out, sizeof(out), NULL, self, 7, &contexts[1]);
	while (ret == -FI_EAGAIN && (fi_cq_read(p->cq, NULL, 0), true));
	assert_int_equal(ret, 0);
	while (left) {
		ret = fi_cq_read(p->cq, &entry, 1);
		if (ret == -FI_EAGAIN)
			continue;
		assert_int_equal(ret, 1);
		left--;
	}
	assert_string_equal(in, out);
}

#define CLOSE(object)                                                                  \
	do {                                                                           \
		if (object)                                                            \
			assert_ok(fi_close(&(object)->fid));                           \
		(object) = NULL;                                                       \
	} while (0)

void persona_close(struct persona *p)
{
	CLOSE(p->mr);
	CLOSE(p->rx);
	CLOSE(p->tx);
	CLOSE(p->ep);
	CLOSE(p->stx);
	for (int i = 0; i < PERSONA_CNTRS; i++)
		CLOSE(p->cntr[i]);
	CLOSE(p->cq);
	CLOSE(p->av);
	CLOSE(p->domain);
	CLOSE(p->eq);
	CLOSE(p->fabric);
	fi_freeinfo(p->list);
	fi_freeinfo(p->hints);
	*p = (struct persona){ 0 };
}

bool persona_has_network(void)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL, *it;
	bool found = false;

	hints->fabric_attr->prov_name = strdup("tcp");
	if (!fi_getinfo(FI_VERSION(1, 18), NULL, NULL, 0, hints, &list))
		for (it = list; it; it = it->next)
			found |= it->addr_format == FI_SOCKADDR_IN &&
				 strcmp(it->domain_attr->name, "lo") &&
				 strcmp(it->domain_attr->name, "docker0");
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return found;
}
