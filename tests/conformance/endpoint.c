/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of an active endpoint: opening, binding, enabling. */
#include "suites.h"

static void unknown_flags_and_classes_are_refused(void)
{
	struct fid_cntr *cntr;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_READ), -FI_EBADFLAGS);
	CHECK_EQ(fi_ep_bind(ep, &cq->fid, 1ULL << 4), -FI_EBADFLAGS);
	CHECK_FAILS(fi_ep_bind(ep, &cq->fid, FI_SELECTIVE_COMPLETION));
	CHECK_EQ(fi_ep_bind(ep, &env.domain->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(ep, &ep->fid, 0), -FI_EINVAL);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_TAGGED), -FI_EBADFLAGS);
	CF_CLOSE(ep);
	CF_CLOSE(cntr);
	CF_CLOSE(cq);
	cf_close(&env);
}

/* Of two objects the first one is bound for @events: the second one may not be, nor for
 * more than these, and can be bound for FI_RECV, which the first one then may not. */
static void bind_two(
	struct fid_ep *ep, struct fid *one, struct fid *other, uint64_t events)
{
	CHECK_OK(fi_ep_bind(ep, one, events));
	CHECK_EQ(fi_ep_bind(ep, other, events), -FI_EINVAL);
	CHECK_EQ(fi_ep_bind(ep, other, events | FI_RECV), -FI_EINVAL);
	/* The refused call left the other direction free. */
	CHECK_OK(fi_ep_bind(ep, other, FI_RECV));
	CHECK_EQ(fi_ep_bind(ep, one, FI_RECV), -FI_EINVAL);
	CF_CLOSE(ep);
}

static void one_queue_per_direction(void)
{
	struct fid_cq *cq, *other;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	other = cf_new_cq(&env, FI_WAIT_NONE);
	bind_two(cf_new_ep(&env), &cq->fid, &other->fid, FI_TRANSMIT);
	CF_CLOSE(other);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void one_counter_per_event(void)
{
	struct fid_cntr *cntr, *other;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	other = cf_new_cntr(&env, FI_WAIT_NONE);
	bind_two(cf_new_ep(&env), &cntr->fid, &other->fid, FI_SEND);
	CF_CLOSE(other);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void remote_events_need_their_capability(void)
{
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	if (env.info->caps & FI_RMA_EVENT)
		SKIP("the endpoint has events of RMA");
	ep = cf_new_ep(&env);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_FAILS(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_WRITE));
	CF_CLOSE(ep);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void one_av(void)
{
	struct fid_av *av, *other;
	struct fid_ep *ep;
	struct cf_env env;

	if (cf_target.type == FI_EP_MSG)
		SKIP("connected endpoints take no AV");
	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	av = cf_new_av(&env);
	other = cf_new_av(&env);
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_EQ(fi_ep_bind(ep, &other->fid, 0), -FI_EINVAL);
	CF_CLOSE(ep);
	CF_CLOSE(other);
	CF_CLOSE(av);
	cf_close(&env);
}

static void no_binding_across_domains(void)
{
	struct fid_domain *other;
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_MSG };
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_OK(fi_domain(env.fabric, env.info, &other, NULL));
	CHECK_OK(fi_cq_open(other, &attr, &cq, NULL));
	ep = cf_new_ep(&env);
	CHECK_EITHER(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), -FI_EDOMAIN, -FI_EINVAL);
	CF_CLOSE(ep);
	CF_CLOSE(cq);
	CF_CLOSE(other);
	cf_close(&env);
}

static void enable_needs_queues_and_av(void)
{
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	if (cf_target.type != FI_EP_MSG)
		CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_RECV));
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CF_CLOSE(ep);
	if (cf_target.type != FI_EP_MSG) {
		ep = cf_new_ep(&env);
		CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
		CHECK_EITHER(fi_enable(ep), -FI_ENOAV, -FI_EOPBADSTATE);
		/* What was missing can still be added. */
		CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
		CHECK_OK(fi_enable(ep));
		CF_CLOSE(ep);
	}
	CF_CLOSE(av);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void no_transmits(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RECV;
}

/* A direction that the endpoint does not have needs no queue, and does not work. */
static void a_receiver_needs_no_transmit_queue(void)
{
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;
	char buf[4] = "no";

	if (cf_target.type == FI_EP_MSG)
		SKIP("needs connectionless endpoints");
	cf_open_domain(&env, &(struct cf_options){ .adjust = no_transmits });
	CHECK(!(env.info->caps & FI_SEND));
	ep = cf_new_ep(&env);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_RECV));
	CHECK_OK(fi_enable(ep));
	CHECK_FAILS(fi_send(ep, buf, sizeof(buf), NULL, 0, NULL));
	CF_CLOSE(ep);
	CF_CLOSE(cq);
	CF_CLOSE(av);
	cf_close(&env);
}

static void only_a_target(struct fi_info *hints)
{
	hints->caps = FI_RMA | FI_REMOTE_READ | FI_REMOTE_WRITE;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
}

/* Reading that queue is what lets peers get on. */
static void a_target_needs_a_receive_queue(void)
{
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct cf_env env;

	cf_need_connectionless();
	cf_open_domain(&env, &(struct cf_options){ .adjust = only_a_target });
	CHECK(!(env.info->caps & (FI_READ | FI_WRITE | FI_SEND | FI_RECV)));
	ep = cf_new_ep(&env);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	av = cf_new_av(&env);
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_RECV));
	CHECK_OK(fi_enable(ep));
	CF_CLOSE(ep);
	CF_CLOSE(cq);
	CF_CLOSE(av);
	cf_close(&env);
}

static void one_sided(struct fi_info *hints)
{
	hints->caps = FI_RMA;
}

static void and_messages(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA;
}

/* A pair of which side 1 reads and writes memory only, and has a queue for that
 * alone. */
static void open_one_sided(struct cf_env *env)
{
	struct fi_info *hints = cf_hints(), *info;
	struct cf_side *target = &env->side[1];
	char name[256];
	size_t len = sizeof(name);

	cf_open_pair(env, &(struct cf_options){ .adjust = and_messages });
	one_sided(hints);
	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	CHECK(!(info->caps & (FI_SEND | FI_RECV)));
	CF_CLOSE(target->ep);
	CHECK_OK(fi_endpoint(target->domain ? target->domain : env->domain, info,
		&target->ep, NULL));
	CHECK_OK(fi_ep_bind(target->ep, &target->tx_cq->fid, FI_TRANSMIT));
	CHECK_OK(fi_ep_bind(target->ep, &target->av->fid, 0));
	CHECK_OK(fi_enable(target->ep));
	CHECK_OK(fi_getname(&target->ep->fid, name, &len));
	CHECK_EQ(
		fi_av_insert(env->side[0].av, name, 1, &env->side[0].peer, 0, NULL), 1);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void write_and_check(struct cf_env *env, struct cf_region *region, uint8_t value)
{
	struct cf_side *from = &env->side[0];
	struct fi_context2 context;
	uint8_t back = 0;

	CF_RETRY(from->tx_cq, fi_write(from->ep, &value, 1, NULL, from->peer,
				      region->addr, region->key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CF_RETRY(from->tx_cq, fi_read(from->ep, &back, 1, NULL, from->peer,
				      region->addr, region->key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CHECK_EQ(back, value);
}

/* RMA completes nothing at its target, which needs no queue for it; and a message that
 * no receive can take does no harm there. */
static void a_target_runs_by_its_transmit_queue(void)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 context;
	struct cf_region region;
	struct cf_env env;
	ssize_t ret;

	cf_need_connectionless();
	open_one_sided(&env);
	cf_open_region(&env, 1, &region, NULL, 64, FI_REMOTE_READ | FI_REMOTE_WRITE);
	write_and_check(&env, &region, 3);
	for (int i = 0; i < 2; i++) {
		struct cf_side *from = &env.side[0];

		CF_RETRY(from->tx_cq,
			fi_send(from->ep, &i, sizeof(i), NULL, from->peer, &context));
		while ((ret = fi_cq_read(from->tx_cq, &entry, 1)) == -FI_EAGAIN)
			cf_progress();
		if (ret == -FI_EAVAIL)
			CHECK_EQ(fi_cq_readerr(from->tx_cq, &err, 0), 1);
		else
			CHECK_EQ(ret, 1);
		for (int k = 0; k < 100; k++)
			cf_progress();
	}
	cf_close_region(&region);
	cf_close(&env);
}

static void enabled_once(void)
{
	struct cf_env env;

	cf_open_pair(&env, NULL);
	CHECK_FAILS(fi_enable(env.side[0].ep));
	cf_exchange(&env, 32);
	cf_close(&env);
}

static void no_transfers_before_enable(void)
{
	struct cf_options options = { .not_enabled = true };
	struct iovec iov;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fid_ep *ep;
	struct cf_env env;
	char buf[8] = "";

	cf_open_pair(&env, &options);
	ep = env.side[0].ep;
	iov.iov_base = buf;
	iov.iov_len = sizeof(buf);
	CHECK_EQ(fi_send(ep, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_sendv(ep, &iov, NULL, 1, 0, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_sendmsg(ep, &msg, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_inject(ep, buf, 8, 0), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recvv(ep, &iov, NULL, 1, FI_ADDR_UNSPEC, NULL), -FI_EOPBADSTATE);
	CHECK_EQ(fi_recvmsg(ep, &msg, 0), -FI_EOPBADSTATE);
	cf_close(&env);
}

static void bad_open_flags_are_refused(void)
{
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_EITHER(fi_endpoint2(env.domain, env.info, &ep, 1ULL << 4, NULL),
		-FI_EINVAL, -FI_ENOSYS);
	CHECK_OK(fi_endpoint2(env.domain, env.info, &ep, 0, NULL));
	CF_CLOSE(ep);
	cf_close(&env);
}

static void attributes_beyond_the_offer_are_refused(void)
{
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	env.info->tx_attr->iov_limit = 100000;
	CHECK_EITHER(
		fi_endpoint(env.domain, env.info, &ep, NULL), -FI_EINVAL, -FI_ENODATA);
	env.info->tx_attr->iov_limit = 1;
	env.info->ep_attr->type = 4;
	CHECK_EITHER(
		fi_endpoint(env.domain, env.info, &ep, NULL), -FI_EINVAL, -FI_ENODATA);
	cf_close(&env);
}

static void other_endpoint_kinds_answer(void)
{
	struct fid_pep *pep;
	struct fid_stx *stx;
	struct fid_ep *ep;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	if (env.info->domain_attr->max_ep_tx_ctx <= 1)
		CHECK_EQ(fi_scalable_ep(env.domain, env.info, &ep, NULL), -FI_ENOSYS);
	if (!env.info->domain_attr->max_ep_stx_ctx)
		CHECK_EQ(fi_stx_context(env.domain, NULL, &stx, NULL), -FI_ENOSYS);
	if (!env.info->domain_attr->max_ep_srx_ctx)
		CHECK_EQ(fi_srx_context(env.domain, NULL, &ep, NULL), -FI_ENOSYS);
	if (cf_target.type != FI_EP_MSG)
		CHECK_EITHER(fi_passive_ep(env.fabric, env.info, &pep, NULL),
			-FI_ENOSYS, -FI_EINVAL);
	cf_close(&env);
}

CF_SUITE(endpoint,
	CF_CASE(unknown_flags_and_classes_are_refused, "EP-006 EP-007 EP-010 EP-016",
		0),
	CF_CASE(one_queue_per_direction, "EP-008 EP-009", 0),
	CF_CASE(one_counter_per_event, "EP-011", 0), CF_CASE(one_av, "EP-013", 0),
	CF_CASE(no_binding_across_domains, "EP-017", 0),
	CF_CASE(enable_needs_queues_and_av, "EP-001 EP-019 EP-020 EP-022", FI_MSG),
	CF_CASE(a_receiver_needs_no_transmit_queue, "EP-019 CAP-002", FI_MSG),
	CF_CASE(a_target_needs_a_receive_queue, "EP-019 EP-023", FI_RMA),
	CF_CASE(a_target_runs_by_its_transmit_queue, "EP-019", FI_MSG | FI_RMA),
	CF_CASE(enabled_once, "EP-018 EP-021", FI_MSG),
	CF_CASE(no_transfers_before_enable, "EP-025", FI_MSG),
	CF_CASE(bad_open_flags_are_refused, "EP-003", 0),
	CF_CASE(attributes_beyond_the_offer_are_refused, "EP-002", 0),
	CF_CASE(other_endpoint_kinds_answer, "SHC-001 SHC-007 SHC-011 VER-017", 0),
	CF_CASE(remote_events_need_their_capability, "EP-012", FI_MSG));
