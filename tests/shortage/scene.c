/* SPDX-License-Identifier: BSD-2-Clause */
#include "scene.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../time_limits.h"

enum {
	ENDS = 2,
	NAME = 256,
	SMALL = 8,
	LARGE = 256 << 10,
	ROOM = 1 << 20, /* bytes of a buffer: two parts of half the size */
};

struct end {
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_mr *mr;
	struct fid_ep *ep;
	fi_addr_t peer;
	char *buf;
};

struct scene {
	const struct scene_asked *asked;
	const char *step;
	int error; /* the first one */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_pep *pep;
	struct end end[ENDS];
	struct fi_context2 context[4]; /* of the operations of a step */
	int done;                      /* completions of the step */
};

/* Did a call go well? Keeps the first error. */
static bool went(struct scene *s, ssize_t ret)
{
	if (ret < 0 && !s->error)
		s->error = (int)ret;
	return !s->error;
}

static bool step(struct scene *s, const char *name)
{
	s->step = name;
	s->done = 0;
	return !s->error;
}

/* ---- opening ------------------------------------------------------------------- */

static bool scene_ask(struct scene *s)
{
	struct fi_info *hints = fi_allocinfo();
	bool by_ip = s->asked->addr_format == FI_SOCKADDR_IN;

	if (!hints)
		return went(s, -FI_ENOMEM);
	hints->ep_attr->type = s->asked->type;
	hints->addr_format = s->asked->addr_format;
	/* Who sends is told of a message that the other end could not take. */
	if (s->asked->type != FI_EP_DGRAM)
		hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = strdup(s->asked->provider);
	if (hints->fabric_attr->prov_name)
		(void)went(s, fi_getinfo(FI_VERSION(2, 0), by_ip ? "127.0.0.1" : NULL,
				      NULL, by_ip ? FI_SOURCE : 0, hints, &s->info));
	fi_freeinfo(hints);
	return !s->error && went(s, s->info ? 0 : -FI_ENOMEM);
}

static bool scene_open_shared(struct scene *s)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	return step(s, "fabric") &&
	       went(s, fi_fabric(s->info->fabric_attr, &s->fabric, NULL)) &&
	       step(s, "event queue") &&
	       went(s, fi_eq_open(s->fabric, &eq_attr, &s->eq, NULL)) &&
	       step(s, "domain") &&
	       went(s, fi_domain(s->fabric, s->info, &s->domain, NULL)) &&
	       step(s, "address vector") &&
	       (s->asked->type == FI_EP_MSG ||
		       went(s, fi_av_open(s->domain, &av_attr, &s->av, NULL)));
}

static bool end_open_queues(struct scene *s, struct end *e)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP,
		.wait_obj = FI_WAIT_UNSPEC };

	return step(s, "completion queue") &&
	       went(s, fi_cq_open(s->domain, &cq_attr, &e->cq, NULL)) &&
	       step(s, "counter") &&
	       went(s, fi_cntr_open(s->domain, &cntr_attr, &e->cntr, NULL));
}

/* The endpoint of @info, bound to all. */
static bool end_open(struct scene *s, struct end *e, struct fi_info *info)
{
	return step(s, "endpoint") &&
	       went(s, fi_endpoint(s->domain, info, &e->ep, NULL)) && step(s, "bind") &&
	       went(s, fi_ep_bind(e->ep, &s->eq->fid, 0)) &&
	       (!s->av || went(s, fi_ep_bind(e->ep, &s->av->fid, 0))) &&
	       went(s, fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV)) &&
	       went(s, fi_ep_bind(e->ep, &e->cntr->fid, FI_SEND | FI_RECV)) &&
	       step(s, "enable") && went(s, fi_enable(e->ep));
}

static bool end_register(struct scene *s, struct end *e, uint64_t key)
{
	uint64_t access = FI_SEND | FI_RECV;

	if (s->info->caps & FI_RMA)
		access |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	if (!step(s, "memory region") ||
		!went(s, fi_mr_reg(s->domain, e->buf, ROOM, access, 0, key, 0, &e->mr,
				 NULL)))
		return false;
	if (!(s->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
		return true;
	return went(s, fi_mr_bind(e->mr, &e->ep->fid, 0)) &&
	       went(s, fi_mr_enable(e->mr));
}

/* ---- completions --------------------------------------------------------------- */

static void end_read_error(struct scene *s, struct end *e)
{
	struct fi_cq_err_entry err = { 0 };

	if (fi_cq_readerr(e->cq, &err, 0) == 1)
		(void)went(s, -err.err);
}

static void scene_progress(struct scene *s)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < ENDS; i++) {
		struct end *e = &s->end[i];
		ssize_t ret = e->cq ? fi_cq_read(e->cq, &entry, 1) : -FI_EAGAIN;

		if (ret == 1)
			s->done++;
		else if (ret == -FI_EAVAIL)
			end_read_error(s, e);
		else if (ret != -FI_EAGAIN)
			(void)went(s, ret);
	}
}

/* Wait until the step has @count completions. */
static bool scene_wait(struct scene *s, int count)
{
	time_t end = now_s() + limit_s(3);

	while (!s->error && s->done < count) {
		scene_progress(s);
		if (now_s() > end)
			return went(s, SCENE_LOST);
	}
	return !s->error;
}

/* Call @call again until it is taken. */
#define TRIED(s, call)                                                                 \
	({                                                                             \
		time_t end_ = now_s() + limit_s(3);                                    \
		ssize_t ret_;                                                          \
                                                                                       \
		while ((ret_ = (call)) == -FI_EAGAIN && !(s)->error &&                 \
			now_s() <= end_)                                               \
			scene_progress(s);                                             \
		went(s, ret_ == -FI_EAGAIN ? SCENE_LOST : ret_);                       \
	})

static void *end_desc(struct end *e)
{
	return e->mr ? fi_mr_desc(e->mr) : NULL;
}

/* ---- connecting ---------------------------------------------------------------- */

/* Both endpoints are in the address vector. */
static bool scene_meet(struct scene *s)
{
	for (int i = 0; i < ENDS; i++) {
		char name[NAME];
		size_t len = sizeof(name);

		if (!step(s, "name") ||
			!went(s, fi_getname(&s->end[i].ep->fid, name, &len)) ||
			!step(s, "insertion") ||
			!went(s, fi_av_insert(
					 s->av, name, 1, &s->end[!i].peer, 0, NULL) == 1
					 ? 0
					 : -FI_ENOMEM))
			return false;
	}
	return true;
}

/* Read events until one of type @wanted comes. */
static bool scene_event(struct scene *s, uint32_t wanted, struct fi_info **ret_info)
{
	time_t end = now_s() + limit_s(3);
	union {
		struct fi_eq_cm_entry cm;
		char room[512];
	} entry;

	while (!s->error) {
		uint32_t event;
		ssize_t ret = fi_eq_read(s->eq, &event, &entry, sizeof(entry), 0);
		struct fi_eq_err_entry err = { 0 };

		scene_progress(s);
		if (ret == -FI_EAVAIL && fi_eq_readerr(s->eq, &err, 0) > 0)
			return went(s, -err.err);
		if (ret > 0 && event == FI_CONNREQ) {
			fi_freeinfo(*ret_info);
			*ret_info = entry.cm.info;
		}
		if (ret > 0 && event == wanted)
			return true;
		if (ret > 0 && event == FI_SHUTDOWN)
			return went(s, -FI_ECONNRESET);
		if (ret < 0 && ret != -FI_EAGAIN)
			return went(s, ret);
		if (now_s() > end)
			return went(s, SCENE_LOST);
	}
	return false;
}

static bool scene_connect(struct scene *s)
{
	struct fi_info *asks = NULL;
	char name[NAME];
	size_t len = sizeof(name);

	if (step(s, "passive endpoint") &&
		went(s, fi_passive_ep(s->fabric, s->info, &s->pep, NULL)) &&
		went(s, fi_pep_bind(s->pep, &s->eq->fid, 0)) && step(s, "listen") &&
		went(s, fi_listen(s->pep)) &&
		went(s, fi_getname(&s->pep->fid, name, &len)) &&
		end_open(s, &s->end[0], s->info) && step(s, "connect") &&
		went(s, fi_connect(s->end[0].ep, name, "hello", 5)) &&
		scene_event(s, FI_CONNREQ, &asks) && end_open(s, &s->end[1], asks) &&
		step(s, "accept") && went(s, fi_accept(s->end[1].ep, NULL, 0)) &&
		scene_event(s, FI_CONNECTED, &asks))
		(void)scene_event(s, FI_CONNECTED, &asks);
	fi_freeinfo(asks);
	return !s->error;
}

/* ---- transfers ----------------------------------------------------------------- */

/* With remote CQ data where there is some. */
static ssize_t end_send(struct scene *s, struct end *from, size_t len, void *context)
{
	if (!s->info->domain_attr->cq_data_size)
		return fi_send(
			from->ep, from->buf, len, end_desc(from), from->peer, context);
	return fi_senddata(
		from->ep, from->buf, len, end_desc(from), 1, from->peer, context);
}

/* A message of @len bytes from one end to the other; @early: before its buffer is
 * posted. */
static bool scene_message(struct scene *s, const char *name, size_t len, bool early)
{
	struct end *to = &s->end[0], *from = &s->end[1];

	if (!step(s, name) ||
		(!early && !TRIED(s, fi_recv(to->ep, to->buf, len, end_desc(to),
					     FI_ADDR_UNSPEC, &s->context[0]))) ||
		!TRIED(s, end_send(s, from, len, &s->context[1])))
		return false;
	for (int i = 0; early && i < 50; i++)
		scene_progress(s);
	if (early && !TRIED(s, fi_recv(to->ep, to->buf, len, end_desc(to),
				       FI_ADDR_UNSPEC, &s->context[0])))
		return false;
	return scene_wait(s, 2);
}

static bool scene_tagged(struct scene *s, const char *name, size_t len, bool early)
{
	struct end *to = &s->end[1], *from = &s->end[0];

	if (!step(s, name) ||
		(!early && !TRIED(s, fi_trecv(to->ep, to->buf, len, end_desc(to),
					     FI_ADDR_UNSPEC, 7, 0, &s->context[0]))) ||
		!TRIED(s, fi_tsend(from->ep, from->buf, len, end_desc(from), from->peer,
				  7, &s->context[1])))
		return false;
	for (int i = 0; early && i < 50; i++)
		scene_progress(s);
	if (early && !TRIED(s, fi_trecv(to->ep, to->buf, len, end_desc(to),
				       FI_ADDR_UNSPEC, 7, 0, &s->context[0])))
		return false;
	return scene_wait(s, 2);
}

/* A receive that is cancelled. */
static bool scene_cancel(struct scene *s)
{
	struct end *e = &s->end[0];
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret;
	time_t limit = now_s() + limit_s(3);

	if (!step(s, "cancel") ||
		!TRIED(s, fi_trecv(e->ep, e->buf, SMALL, end_desc(e), FI_ADDR_UNSPEC,
				  99, 0, &s->context[0])) ||
		!went(s, fi_cancel(&e->ep->fid, &s->context[0])))
		return false;
	while ((ret = fi_cq_read(e->cq, &entry, 1)) == -FI_EAGAIN && now_s() <= limit)
		;
	if (ret != -FI_EAVAIL)
		return went(s, ret < 0 && ret != -FI_EAGAIN ? ret : SCENE_LOST);
	if (fi_cq_readerr(e->cq, &err, 0) != 1 || err.err != FI_ECANCELED)
		return went(s, err.err ? -err.err : SCENE_LOST);
	return true;
}

static uint64_t end_base(struct scene *s, struct end *e)
{
	return s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)e->buf : 0;
}

static bool scene_rma(struct scene *s, const char *name, size_t len)
{
	struct end *at = &s->end[1], *by = &s->end[0];
	uint64_t key = fi_mr_key(at->mr);

	return step(s, name) &&
	       TRIED(s, fi_write(by->ep, by->buf, len, end_desc(by), by->peer,
				end_base(s, at), key, &s->context[0])) &&
	       scene_wait(s, 1) &&
	       TRIED(s, fi_writedata(by->ep, by->buf, len, end_desc(by), 3, by->peer,
				end_base(s, at), key, &s->context[1])) &&
	       scene_wait(s, 3) &&
	       TRIED(s, fi_read(by->ep, by->buf, len, end_desc(by), by->peer,
				end_base(s, at), key, &s->context[2])) &&
	       scene_wait(s, 4);
}

static bool scene_atomics(struct scene *s)
{
	struct end *at = &s->end[1], *by = &s->end[0];
	uint64_t key = fi_mr_key(at->mr);
	void *result = by->buf + ROOM / 2, *compare = by->buf + ROOM / 2 + 64;

	return step(s, "atomics") &&
	       TRIED(s, fi_atomic(by->ep, by->buf, 1, end_desc(by), by->peer,
				end_base(s, at), key, FI_UINT64, FI_SUM,
				&s->context[0])) &&
	       scene_wait(s, 1) &&
	       TRIED(s, fi_fetch_atomic(by->ep, by->buf, 1, end_desc(by), result,
				end_desc(by), by->peer, end_base(s, at), key, FI_UINT64,
				FI_SUM, &s->context[1])) &&
	       scene_wait(s, 2) &&
	       TRIED(s, fi_compare_atomic(by->ep, by->buf, 1, end_desc(by), compare,
				end_desc(by), result, end_desc(by), by->peer,
				end_base(s, at), key, FI_UINT64, FI_CSWAP,
				&s->context[2])) &&
	       scene_wait(s, 3);
}

static bool scene_transfer(struct scene *s)
{
	bool reliable = s->asked->type != FI_EP_DGRAM;
	size_t large = s->info->ep_attr->max_msg_size < LARGE
			       ? s->info->ep_attr->max_msg_size
			       : LARGE;

	if (!scene_message(s, "message", SMALL, false) ||
		(reliable && !scene_message(s, "early message", SMALL, true)) ||
		!scene_message(s, "large message", large, false) ||
		(reliable && !scene_message(s, "large early message", large, true)))
		return false;
	if ((s->info->caps & FI_TAGGED) &&
		(!scene_tagged(s, "tagged message", SMALL, false) ||
			!scene_tagged(s, "early tagged message", SMALL, true) ||
			!scene_tagged(s, "large tagged message", large, false) ||
			!scene_tagged(s, "large early tagged message", large, true) ||
			!scene_cancel(s)))
		return false;
	if ((s->info->caps & FI_RMA) &&
		(!scene_rma(s, "write and read", SMALL) ||
			!scene_rma(s, "large write and read", large)))
		return false;
	return !(s->info->caps & FI_ATOMIC) || scene_atomics(s);
}

/* ---- closing ------------------------------------------------------------------- */

static void scene_close_one(struct scene *s, struct fid *fid)
{
	if (!fid)
		return;
	if (fi_close(fid) < 0)
		s->error = SCENE_UNCLOSED;
}

#define CLOSE(s, object) scene_close_one(s, (object) ? &(object)->fid : NULL)

static void scene_close(struct scene *s)
{
	for (int i = 0; i < ENDS; i++)
		CLOSE(s, s->end[i].mr);
	for (int i = 0; i < ENDS; i++)
		CLOSE(s, s->end[i].ep);
	CLOSE(s, s->pep);
	for (int i = 0; i < ENDS; i++) {
		CLOSE(s, s->end[i].cntr);
		CLOSE(s, s->end[i].cq);
		free(s->end[i].buf);
	}
	CLOSE(s, s->av);
	CLOSE(s, s->domain);
	CLOSE(s, s->eq);
	CLOSE(s, s->fabric);
	fi_freeinfo(s->info);
}

int scene_play(const struct scene_asked *asked, const char **ret_step)
{
	struct scene s = { .asked = asked };
	bool connected = asked->type == FI_EP_MSG;

	for (int i = 0; i < ENDS; i++) {
		s.end[i].peer = 0;
		s.end[i].buf = calloc(1, ROOM);
	}
	if (s.end[0].buf && s.end[1].buf && step(&s, "question") && scene_ask(&s) &&
		scene_open_shared(&s) && end_open_queues(&s, &s.end[0]) &&
		end_open_queues(&s, &s.end[1]) &&
		(connected ? scene_connect(&s)
			   : end_open(&s, &s.end[0], s.info) &&
					end_open(&s, &s.end[1], s.info) &&
					scene_meet(&s)) &&
		end_register(&s, &s.end[0], 1) && end_register(&s, &s.end[1], 2))
		(void)scene_transfer(&s);
	scene_close(&s);
	*ret_step = s.step;
	return s.error;
}
