/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_RXM_CONN_FIXTURE_H
#define TESTS_UNIT_RXM_CONN_FIXTURE_H

/*
 * An endpoint of the provider over connections that the test plays: below_fake.h is the
 * provider below, which keeps what is posted, and completes it and brings packets only
 * when the test says so.
 */
#include "below_fake.h"

#include "../pair.h"

#include <rdma/fi_tagged.h>

#include "objects/local/mode.h"
#include "providers/rxm/conn/hello.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/wire.h"
#include "providers/rxm/offer.h"
#include "providers/rxm/param.h"
#include "sys/compiler.h"

enum { BUFFER = 512, SAR = 2048, PEER_ID = 0x51515151, PEER_PORT = 4242, REGION = 64 };

struct pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct rxm_ep *rxm;
	struct rxm_conn *conn; /* to @addr */
	fi_addr_t addr;
	struct ended ended[PAIR_ENDED_MAX];
	unsigned int ended_count;
};

struct fi_provider *rxm_prov_ini(void);

/* mr_mode and capabilities that the application asks for. */
static int pair_mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
static uint64_t pair_caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE;
/* Does the peer count the buffers of the endpoint? */
static enum rxm_flow peer_flow = RXM_FLOW_OFF;

static inline struct fi_provider *pair_prov(void)
{
	static struct fi_provider *prov;

	if (prov)
		return prov;
	prov = rxm_prov_ini();
	wf_local_mode = WF_LOCAL_OFF;
	return prov;
}

/* The answer of the provider to the hints of the cases; NULL: none. */
static inline struct fi_info *pair_ask(uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	assert_non_null(hints);
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = pair_mr_mode;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	if (pair_prov()->getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info))
		info = NULL;
	else
		info->fabric_attr->api_version = FI_VERSION(2, 0);
	fi_freeinfo(hints);
	return info;
}

static inline void pair_open(struct pair *p)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = PAIR_ENDED_MAX };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct sockaddr_in peer = fake_name(PEER_PORT);
	struct fi_provider *prov = pair_prov();

	memset(p, 0, sizeof(*p));
	rxm_params.buffer_size = BUFFER;
	rxm_params.sar_limit = SAR;
	rxm_params.eq_polls = 1;
	p->info = pair_ask(pair_caps);
	assert_non_null(p->info);
	assert_int_equal(prov->fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
	assert_int_equal(fi_domain(p->fabric, p->info, &p->domain, NULL), 0);
	assert_int_equal(fi_cq_open(p->domain, &cq_attr, &p->cq, NULL), 0);
	assert_int_equal(fi_av_open(p->domain, &av_attr, &p->av, NULL), 0);
	assert_int_equal(fi_av_insert(p->av, &peer, 1, &p->addr, 0, NULL), 1);
	assert_int_equal(fi_endpoint(p->domain, p->info, &p->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->av->fid, 0), 0);
	assert_int_equal(fi_enable(p->ep), 0);
	p->rxm = rxm_ep_of(wf_container_of(p->ep, struct wf_ep, fid));
}

static inline void pair_connect(struct pair *p);

/* Everything that was opened, registered and made below is closed with the pair. */
static inline void pair_close(struct pair *p)
{
	/* What was injected is waited for. */
	fake_complete_all();
	assert_int_equal(fi_close(&p->ep->fid), 0);
	assert_int_equal(fi_close(&p->av->fid), 0);
	assert_int_equal(fi_close(&p->cq->fid), 0);
	assert_int_equal(fi_close(&p->domain->fid), 0);
	assert_int_equal(fi_close(&p->fabric->fid), 0);
	fi_freeinfo(p->info);
	rxm_offers_done();
	assert_int_equal(fake.open, 0);
	fake_reset();
}

#define PAIR_POLLS 2
#include "../pair_cases.h"

/* The peer accepts the connection that the endpoint asks for last. */
static inline void peer_accepts(struct pair *p)
{
	struct rxm_hello hello = {
		.id = PEER_ID, .pid = 77, .rx_depth = 64, .flow = (uint8_t)peer_flow
	};
	uint8_t data[RXM_ACCEPT_LEN];

	rxm_hello_accept(data, &hello);
	fake_event(FI_CONNECTED, fake.last, data, sizeof(data));
	pair_progress(p);
}

/* The packet that the endpoint sent with the post number @i. */
static inline struct rxm_packet packet_at(unsigned int i)
{
	struct rxm_packet packet;

	assert_true(i < fake.post_count);
	assert_true(
		fake.posts[i].kind == FAKE_SEND || fake.posts[i].kind == FAKE_INJECT);
	assert_int_equal(
		rxm_packet_decode(fake.posts[i].bytes, fake.posts[i].len, &packet), 0);
	assert_int_equal(packet.conn_id, PEER_ID);
	return packet;
}

/* The first message makes the connection; its packet is the only one. */
static inline void pair_connect(struct pair *p)
{
	assert_int_equal(fi_inject(p->ep, NULL, 0, p->addr), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	assert_int_equal(fake.post_count, 0);
	peer_accepts(p);
	assert_false(wf_list_empty(&p->rxm->conns));
	p->conn = wf_list_entry(p->rxm->conns.next, struct rxm_conn, link);
	assert_int_equal(p->conn->state, RXM_CONN_UP);
	fake_complete_all();
	pair_progress(p);
	fake.post_count = 0;
	p->ended_count = 0;
}

/* Packets of the peer, to the connection of the pair. */

static inline void peer_packet(
	struct pair *p, struct rxm_hdr *hdr, const void *payload, size_t len)
{
	uint8_t bytes[FAKE_BYTES];

	hdr->conn_id = p->conn->id;
	memcpy(bytes, hdr, sizeof(*hdr));
	if (len)
		memcpy(bytes + sizeof(*hdr), payload, len);
	fake_arrives(p->conn->below.fid, bytes, sizeof(*hdr) + len);
	pair_progress(p);
}

static inline void peer_message(
	struct pair *p, uint64_t tag, const void *buf, size_t len)
{
	struct rxm_message msg = { .tagged = true,
		.has_data = true,
		.size = len,
		.tag = tag,
		.data = tag + 1000 };
	struct rxm_hdr hdr;

	rxm_put_eager(&hdr, p->conn->id, &msg);
	peer_packet(p, &hdr, buf, len);
}

#endif
