/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_MSG_FIXTURE_H
#define TESTS_UNIT_TCP_MSG_FIXTURE_H

/* For tests of the exchange that begins the connection of an FI_EP_MSG endpoint. */
#include "exchange_fixture.h"

#include <rdma/fi_eq.h>

#include "providers/tcp/cm/pep.h"

/* ---- both ends ---- */

struct world {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep; /* NULL: none */
	struct fid_ep *ep;   /* NULL: none */
};

static struct world *the_world;

static inline struct tcp_pep *pep_of(const struct world *w)
{
	return tcp_pep_of(wf_container_of(w->pep, struct wf_pep, fid));
}

static inline struct tcp_ep *ep_of(const struct world *w)
{
	return tcp_ep_of(wf_container_of(w->ep, struct wf_ep, fid));
}

static inline int world_setup(void **state)
{
	static struct fi_provider *prov;
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	if (!prov)
		prov = tcp_prov_ini();
	kernel.takes = SIZE_MAX;
	kernel.err = 0;
	w->info = pair_info(prov);
	assert_int_equal(prov->fabric(w->info->fabric_attr, &w->fabric, NULL), 0);
	assert_int_equal(fi_domain(w->fabric, w->info, &w->domain, NULL), 0);
	assert_int_equal(fi_eq_open(w->fabric, &eq_attr, &w->eq, NULL), 0);
	assert_int_equal(fi_cq_open(w->domain, &cq_attr, &w->cq, NULL), 0);
	*state = the_world = w;
	return 0;
}

static inline void close_ep(struct world *w)
{
	if (w->ep)
		assert_int_equal(fi_close(&w->ep->fid), 0);
	w->ep = NULL;
}

static inline void close_pep(struct world *w)
{
	if (w->pep)
		assert_int_equal(fi_close(&w->pep->fid), 0);
	w->pep = NULL;
}

static inline int world_teardown(void **state)
{
	struct world *w = *state;

	close_other();
	close_ep(w);
	close_pep(w);
	assert_int_equal(fi_close(&w->cq->fid), 0);
	assert_int_equal(fi_close(&w->eq->fid), 0);
	assert_int_equal(fi_close(&w->domain->fid), 0);
	assert_int_equal(fi_close(&w->fabric->fid), 0);
	fi_freeinfo(w->info);
	free(w);
	return 0;
}

#define WORLD_TEST(name)                                                               \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* An event of a connection, with its data. */
struct event {
	uint32_t type;
	struct fi_eq_cm_entry *entry;
	size_t data_len;
	uint64_t bytes[(sizeof(struct fi_eq_cm_entry) + TCP_CM_DATA_MAX) / 8];
};

/* Whatever the endpoints can do now is done. */
static inline void nothing_happens(struct world *w)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;

	for (int i = 0; i < 4; i++)
		assert_int_equal(
			fi_eq_read(w->eq, &type, &entry, sizeof(entry), 0), -FI_EAGAIN);
}

static inline void next_event(struct world *w, struct event *ret, uint32_t type)
{
	ssize_t n;

	do
		n = fi_eq_read(w->eq, &ret->type, ret->bytes, sizeof(ret->bytes), 0);
	while (n == -FI_EAGAIN);
	assert_true(n >= (ssize_t)sizeof(struct fi_eq_cm_entry));
	assert_int_equal(ret->type, type);
	ret->entry = (struct fi_eq_cm_entry *)ret->bytes;
	ret->data_len = (size_t)n - sizeof(struct fi_eq_cm_entry);
}

static inline struct fi_eq_err_entry next_error(struct world *w)
{
	struct fi_eq_err_entry err = { 0 };
	uint64_t bytes[16];
	uint32_t type;
	ssize_t n;

	do
		n = fi_eq_read(w->eq, &type, bytes, sizeof(bytes), 0);
	while (n == -FI_EAGAIN);
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(w->eq, &err, 0), sizeof(err));
	return err;
}

static inline void new_ep(struct world *w, struct fi_info *info)
{
	assert_int_equal(fi_endpoint(w->domain, info, &w->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(w->ep, &w->eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(w->ep, &w->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(w->ep), 0);
}

static inline void step(void)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;

	(void)fi_eq_read(the_world->eq, &type, &entry, sizeof(entry), FI_PEEK);
}

static inline void put_text(enum tcp_cm_type type, uint32_t features, const char *text)
{
	const struct tcp_cm_ext ext = { .features = features, .instance = INSTANCE };

	put_message(type, features ? &ext : NULL, text, strlen(text));
}

static inline struct tcp_cm_msg get_text(enum tcp_cm_type type, const char *text)
{
	char data[TCP_CM_DATA_MAX];
	struct tcp_cm_msg msg = get_message(type, data, strlen(text));

	assert_memory_equal(data, text, strlen(text));
	return msg;
}

static inline void listen_at_any_port(struct world *w)
{
	assert_int_equal(fi_passive_ep(w->fabric, w->info, &w->pep, NULL), 0);
	assert_int_equal(fi_pep_bind(w->pep, &w->eq->fid, 0), 0);
	assert_int_equal(fi_listen(w->pep), 0);
}

#endif
