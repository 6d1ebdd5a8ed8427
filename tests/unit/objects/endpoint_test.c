/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

/* EP-006 to EP-018 */
static void test_bind(void **state)
{
	struct domain_fixture *f = *state, *other;
	struct around a = open_around(f), b;
	struct fid_ep *ep = &open_fake(f, new_info())->ep.fid;

	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_SEND | FI_READ), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, 0), -FI_EINVAL);
	assert_int_equal(
		fi_ep_bind(ep, &a.cq->fid, FI_SELECTIVE_COMPLETION), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_RECV), -FI_EINVAL);

	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_MSG), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND | FI_WRITE), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_READ | FI_WRITE), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_RECV), 0);

	assert_int_equal(fi_ep_bind(ep, &a.av->fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, &ep->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&a.cq->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&a.av->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&a.cntr->fid), -FI_EBUSY);
	close_ep(ep);

	/* EP-017 */
	domain_fixture_setup((void **)&other);
	b = open_around(other);
	ep = &open_fake(f, new_info())->ep.fid;
	assert_int_equal(fi_ep_bind(ep, &b.cq->fid, FI_TRANSMIT), -FI_EDOMAIN);
	assert_int_equal(fi_ep_bind(ep, &b.av->fid, 0), -FI_EDOMAIN);
	assert_int_equal(fi_ep_bind(ep, &b.cntr->fid, FI_SEND), -FI_EDOMAIN);
	close_ep(ep);
	close_around(&b);
	domain_fixture_teardown((void **)&other);
	close_around(&a);
}

/* EP-019 to EP-025 */
static void test_enable(void **state)
{
	struct domain_fixture *f = *state;
	struct around a = open_around(f);
	struct fid_ep *ep = &open_fake(f, new_info())->ep.fid;
	char buf[8];

	assert_int_equal(fi_enable(ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(ep), -FI_ENOAV);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(of(ep)->enables, 0);

	assert_int_equal(fi_send(ep, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_recv(ep, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_inject(ep, buf, 8, 0), -FI_EOPBADSTATE);

	of(ep)->enable_result = -FI_EADDRINUSE;
	assert_int_equal(fi_enable(ep), -FI_EADDRINUSE);
	of(ep)->enable_result = 0;
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_enable(ep), -FI_EBUSY);
	assert_int_equal(of(ep)->enables, 2);
	/* A counter may come later. */
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_SEND), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND), -FI_EINVAL);
	assert_int_equal(fi_close(&a.cntr->fid), -FI_EBUSY);
	assert_int_equal(fi_send(ep, buf, 8, NULL, 0, NULL), 0);
	close_ep(ep);
	close_around(&a);
}

/* An endpoint has the calls of its capabilities and the others answer -FI_ENOSYS. */
static void test_directions(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_info *info = new_info();
	struct fid_ep *ep;
	struct around a;
	char buf[8];

	info->caps = FI_MSG | FI_SEND;
	info->domain_attr->cq_data_size = 0;
	ep = open_enabled(f, &a, info, 0);
	assert_int_equal(fi_send(ep, buf, 8, NULL, 0, NULL), 0);
	assert_int_equal(fi_recv(ep, buf, 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_senddata(ep, buf, 8, NULL, 1, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_injectdata(ep, buf, 8, 1, 0), -FI_ENOSYS);
	assert_int_equal(fi_connect(ep, buf, NULL, 0), -FI_ENOSYS); /* CM-028 */
	assert_int_equal(fi_shutdown(ep, 0), -FI_ENOSYS);
	assert_int_equal(fi_getpeer(ep, buf, &(size_t){ 8 }), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
}

/* MSG-001, MSG-004 to MSG-007, MSG-013: each call becomes the operation it names. */
static void test_operations(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, new_info(), 0);
	struct fake *fake = of(ep);
	char buf[64];
	struct iovec iov[5] = { { buf, 10 }, { buf + 20, 20 }, { buf, 1 }, { buf, 1 } };
	void *desc[4] = { NULL };
	struct fi_msg msg = { iov, desc, 2, 7, buf, 99 };
	int c;

	assert_int_equal(fi_send(ep, buf, 8, NULL, 5, &c), 0);
	assert_int_equal(fake->op.kind, WF_OP_SEND);
	assert_int_equal(fake->op.flags, FI_COMPLETION);
	assert_int_equal(fake->op.len, 8);
	assert_int_equal(fake->op.iov_count, 1);
	assert_ptr_equal(fake->iov[0].iov_base, buf);
	assert_int_equal(fake->op.addr, 5);
	assert_ptr_equal(fake->op.context, &c);

	assert_int_equal(fi_sendv(ep, iov, desc, 4, 5, &c), 0);
	assert_int_equal(fake->op.iov_count, 4);
	assert_int_equal(fake->op.len, 32);
	assert_int_equal(fi_sendv(ep, iov, desc, 5, 5, &c), -FI_EINVAL);

	assert_int_equal(fi_sendmsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_INJECT), 0);
	assert_int_equal(fake->op.flags, FI_REMOTE_CQ_DATA | FI_INJECT | FI_COMPLETION);
	assert_int_equal(fake->op.len, 30);
	assert_int_equal(fake->op.data, 99);
	assert_int_equal(fake->op.addr, 7);

	assert_int_equal(fi_senddata(ep, buf, 8, NULL, 77, 5, &c), 0);
	assert_int_equal(fake->op.flags, FI_COMPLETION | FI_REMOTE_CQ_DATA);
	assert_int_equal(fake->op.data, 77);

	/* CS-006, EP-037: no entry, and errors name the endpoint's context. */
	assert_int_equal(fi_inject(ep, buf, 8, 5), 0);
	assert_int_equal(fake->op.flags, FI_INJECT);
	assert_ptr_equal(fake->op.context, fake);
	assert_int_equal(fi_injectdata(ep, buf, 8, 76, 5), 0);
	assert_int_equal(fake->op.flags, FI_INJECT | FI_REMOTE_CQ_DATA);
	assert_int_equal(fake->op.data, 76);

	assert_int_equal(fi_recv(ep, buf, 2000, NULL, 4, &c), 0);
	assert_int_equal(fake->op.kind, WF_OP_RECV);
	assert_int_equal(fake->op.len, 2000);
	assert_int_equal(fi_recvv(ep, iov, desc, 3, 4, &c), 0);
	assert_int_equal(fi_recvv(ep, iov, desc, 4, 4, &c), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(ep, &msg, 0), 0);
	assert_int_equal(fake->op.flags, FI_COMPLETION);

	/* Nothing of a zero-byte transfer's buffers is looked at. */
	assert_int_equal(fi_send(ep, (void *)8, 0, (void *)8, 5, &c), 0);
	assert_int_equal(fake->op.iov_count, 0);
	assert_int_equal(fi_sendv(ep, NULL, NULL, 0, 5, &c), 0);
	assert_int_equal(fake->op.iov_count, 0);
	assert_int_equal(fake->op.len, 0);
	close_ep(ep);
	close_around(&a);
}

/* MSG-005, CS-010 */
static void test_sizes(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, new_info(), 0);
	struct iovec iov[2] = { { NULL, SIZE_MAX }, { NULL, 2 } };
	struct fi_msg msg = { iov, NULL, 1, 0, NULL, 0 };

	assert_int_equal(fi_send(ep, ep, 1000, NULL, 0, NULL), 0);
	assert_int_equal(fi_send(ep, ep, 1001, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_sendv(ep, iov, NULL, 2, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_inject(ep, ep, 100, 0), 0);
	assert_int_equal(fi_inject(ep, ep, 101, 0), -FI_EMSGSIZE);
	iov[0].iov_len = 101;
	assert_int_equal(fi_sendmsg(ep, &msg, FI_INJECT), -FI_EMSGSIZE);
	assert_int_equal(fi_sendmsg(ep, &msg, 0), 0);
	close_ep(ep);
	close_around(&a);
}

/* What cannot be kept is refused; what means nothing here is ignored. */
static void test_refused_flags(void **state)
{
	static const uint64_t tx[] = { FI_FENCE, FI_TRIGGER, FI_MULTICAST,
		FI_DELIVERY_COMPLETE, WF_OP_WORK };
	static const uint64_t rx[] = { FI_PEEK, FI_CLAIM, FI_DISCARD, FI_TRIGGER,
		WF_OP_WORK };
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, new_info(), 0);
	struct iovec iov[2] = { { ep, 1 }, { ep, 1 } };
	struct fi_msg msg = { iov, NULL, 1, 0, NULL, 0 };

	for (size_t i = 0; i < WF_ARRAY_SIZE(tx); i++)
		assert_int_equal(fi_sendmsg(ep, &msg, tx[i]), -FI_EBADFLAGS);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rx); i++)
		assert_int_equal(fi_recvmsg(ep, &msg, rx[i]), -FI_EBADFLAGS);
	assert_int_equal(
		fi_sendmsg(ep, &msg, FI_MORE | FI_TRANSMIT_COMPLETE | FI_MSG), 0);
	assert_int_equal(fi_recvmsg(ep, &msg, FI_MORE | FI_MULTI_RECV), 0);
	msg.iov_count = 2; /* MRV-001 */
	assert_int_equal(fi_recvmsg(ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	close_ep(ep);
	close_around(&a);
}

/* CS-001 to CS-006, CS-009: when success writes an entry. */
static void test_completion_rules(void **state)
{
	for (int selective = 0; selective < 2; selective++) {
		for (int by_default = 0; by_default < 2; by_default++) {
			struct fi_info *info = new_info();
			uint64_t op_flags = by_default ? FI_COMPLETION : 0;
			/* of calls without flags; of calls with none; with it */
			uint64_t plain = selective ? op_flags : FI_COMPLETION;
			uint64_t none = selective ? 0 : FI_COMPLETION;
			struct fid_ep *ep;
			struct iovec iov = { &iov, 1 };
			struct fi_msg msg = { &iov, NULL, 1, 0, NULL, 0 };
			struct around a;
			uint64_t *flags;

			info->tx_attr->op_flags = op_flags;
			info->rx_attr->op_flags = op_flags;
			ep = open_enabled(*state, &a, info,
				selective ? FI_SELECTIVE_COMPLETION : 0);
			flags = &of(ep)->op.flags;
			fi_send(ep, &iov, 1, NULL, 0, NULL);
			assert_int_equal(*flags, plain);
			fi_recv(ep, &iov, 1, NULL, 0, NULL);
			assert_int_equal(*flags, plain);
			fi_sendmsg(ep, &msg, 0);
			assert_int_equal(*flags, none);
			fi_recvmsg(ep, &msg, 0);
			assert_int_equal(*flags, none);
			fi_sendmsg(ep, &msg, FI_COMPLETION);
			assert_int_equal(*flags, FI_COMPLETION);
			fi_sendmsg(ep, &msg, FI_INJECT);
			assert_int_equal(*flags, none | FI_INJECT);
			fi_inject(ep, &iov, 1, 0);
			assert_int_equal(*flags, FI_INJECT);
			close_ep(ep);
			close_around(&a);
		}
	}
}

/* OPT-016, OPT-017 */
static void test_op_flags(void **state)
{
	struct fi_info *info = new_info();
	struct fid_ep *ep;
	struct around a;
	uint64_t flags;

	info->tx_attr->op_flags = FI_COMPLETION;
	ep = open_enabled(*state, &a, info, FI_SELECTIVE_COMPLETION);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&ep->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_TRANSMIT | FI_RECV;
	assert_int_equal(fi_control(&ep->fid, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	flags = 0;
	assert_int_equal(fi_control(&ep->fid, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	flags = FI_TRANSMIT | FI_INJECT;
	assert_int_equal(fi_control(&ep->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(fi_send(ep, &a, 1, NULL, 0, NULL), 0);
	assert_int_equal(of(ep)->op.flags, FI_INJECT);
	assert_int_equal(fi_send(ep, &a, 101, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_control(&ep->fid, FI_BACKLOG, &flags), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
}

/* EP-030, EP-031 */
static void test_alias(void **state)
{
	struct around a;
	struct fid_ep *ep =
		open_enabled(*state, &a, new_info(), FI_SELECTIVE_COMPLETION);
	struct fake *fake = of(ep);
	struct iovec iov = { &a, 3 };
	struct fi_msg msg = { &iov, NULL, 1, 0, NULL, 0 };
	struct fid_ep *alias = NULL;
	size_t len = sizeof(size_t), value;
	uint64_t flags;

	assert_int_equal(fi_ep_alias(ep, &alias, FI_COMPLETION), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_null(alias);
	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);

	assert_int_equal(fi_send(alias, &a, 3, NULL, 5, &msg), 0);
	assert_int_equal(fake->op.kind, WF_OP_SEND);
	assert_int_equal(fake->op.flags, FI_COMPLETION);
	assert_int_equal(fake->op.len, 3);
	assert_int_equal(fake->op.addr, 5);
	assert_ptr_equal(fake->op.context, &msg);
	assert_int_equal(fi_sendv(alias, &iov, NULL, 1, 5, NULL), 0);
	assert_int_equal(fake->op.flags, FI_COMPLETION);
	assert_int_equal(fi_senddata(alias, &a, 3, NULL, 44, 5, NULL), 0);
	assert_int_equal(fake->op.flags, FI_COMPLETION | FI_REMOTE_CQ_DATA);
	assert_int_equal(fake->op.data, 44);
	assert_int_equal(fi_sendmsg(alias, &msg, 0), 0);
	assert_int_equal(fake->op.flags, 0);
	assert_int_equal(fi_inject(alias, &a, 3, 5), 0);
	assert_int_equal(fake->op.flags, FI_INJECT);
	assert_int_equal(fi_injectdata(alias, &a, 3, 45, 5), 0);
	assert_int_equal(fake->op.data, 45);
	assert_int_equal(fi_recv(alias, &a, 3, NULL, 5, NULL), 0);
	assert_int_equal(fake->op.kind, WF_OP_RECV);
	assert_int_equal(fake->op.flags, 0);
	assert_int_equal(fi_recvv(alias, &iov, NULL, 1, 5, NULL), 0);
	assert_int_equal(fi_recvmsg(alias, &msg, FI_COMPLETION), 0);
	assert_int_equal(fake->op.flags, FI_COMPLETION);

	/* The endpoint itself is as before. */
	assert_int_equal(fi_send(ep, &a, 3, NULL, 5, &msg), 0);
	assert_int_equal(fake->op.flags, 0);

	flags = FI_TRANSMIT | FI_MORE;
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, &flags), 0);
	flags = FI_TRANSMIT;
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_MORE);
	assert_int_equal(fi_getopt(&alias->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &value, &len),
		0);
	assert_int_equal(fi_cancel(&alias->fid, &a), 0);
	assert_int_equal(fake->cancels, 1);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(ep);
	close_around(&a);
}

/* EP-028, VER-018: the last handle closes, and not while something refers to it. */
static void test_close(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, new_info(), 0);
	struct fake *fake = of(ep);
	struct fid_ep *alias = NULL, *second = NULL;

	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_alias(alias, &second, FI_RECV), 0);
	destroyed = 0;
	assert_int_equal(fi_close(&ep->fid), 0);
	assert_int_equal(fi_close(&second->fid), 0);
	assert_int_equal(destroyed, 0);
	assert_int_equal(fi_send(alias, &a, 3, NULL, 5, NULL), 0);
	atomic_fetch_add(&fake->ep.refs, 1);
	assert_int_equal(fi_close(&alias->fid), -FI_EBUSY);
	atomic_fetch_sub(&fake->ep.refs, 1);
	assert_int_equal(fi_close(&alias->fid), 0);
	assert_int_equal(destroyed, 1);
	close_around(&a);
}

/* OPT-001 to OPT-011 */
static void test_options(void **state)
{
	struct domain_fixture *f = *state;
	struct around a = open_around(f);
	struct fid_ep *ep = &open_fake(f, new_info())->ep.fid;
	size_t value = 0, len = sizeof(value), big = 1001, small = 50;
	int p2p = FI_HMEM_P2P_REQUIRED;
	bool no = false;

#define GET(name)      fi_getopt(&ep->fid, FI_OPT_ENDPOINT, name, &value, &len)
#define SET(name, val) fi_setopt(&ep->fid, FI_OPT_ENDPOINT, name, &(val), sizeof(val))
	assert_int_equal(fi_getopt(&ep->fid, 1, FI_OPT_MIN_MULTI_RECV, &value, &len),
		-FI_ENOPROTOOPT);
	assert_int_equal(GET(12345), -FI_ENOPROTOOPT);
	assert_int_equal(SET(12345, value), -FI_ENOPROTOOPT);
	assert_int_equal(SET(FI_OPT_CM_DATA_SIZE, value), -FI_ENOPROTOOPT);
	len = 4;
	assert_int_equal(GET(FI_OPT_MIN_MULTI_RECV), -FI_ETOOSMALL);
	assert_int_equal(len, 8);
	len = 100;
	assert_int_equal(GET(FI_OPT_MAX_MSG_SIZE), 0);
	assert_int_equal(len, 8);
	assert_int_equal(value, 1000);
	assert_int_equal(SET(FI_OPT_MAX_MSG_SIZE, big), -FI_EINVAL);
	assert_int_equal(SET(FI_OPT_MAX_MSG_SIZE, p2p), -FI_EINVAL);
	assert_int_equal(SET(FI_OPT_MAX_MSG_SIZE, small), 0);
	assert_int_equal(SET(FI_OPT_INJECT_MSG_SIZE, big), -FI_EINVAL);
	assert_int_equal(SET(FI_OPT_INJECT_MSG_SIZE, small), 0);
	assert_int_equal(GET(FI_OPT_INJECT_MSG_SIZE), 0);
	assert_int_equal(value, 50);
	assert_int_equal(SET(FI_OPT_FI_HMEM_P2P, p2p), -FI_EOPNOTSUPP);
	p2p = FI_HMEM_P2P_DISABLED;
	assert_int_equal(SET(FI_OPT_FI_HMEM_P2P, p2p), 0);
	/* OPT-008: there is no CUDA library. */
	assert_int_equal(SET(FI_OPT_CUDA_API_PERMITTED, no), -FI_EINVAL);
	assert_int_equal(SET(FI_OPT_SHARED_MEMORY_PERMITTED, no), 0);

	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_send(ep, &a, 51, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(
		SET(FI_OPT_MAX_MSG_SIZE, small), -FI_EOPBADSTATE); /* OPT-004 */
	assert_int_equal(SET(FI_OPT_MIN_MULTI_RECV, small), 0);    /* OPT-005 */
	assert_int_equal(GET(FI_OPT_MIN_MULTI_RECV), 0);
	assert_int_equal(value, 50);
	close_ep(ep);
	close_around(&a);
}

/* CNT-004, CNT-019, CNT-021, EP-038, CQ-044: how operations end. */
static void test_done(void **state)
{
	struct domain_fixture *f = *state;
	struct around a = open_around(f);
	struct fid_ep *ep = &open_fake(f, new_info())->ep.fid;
	struct fi_cq_err_entry err = { .op_context = &a, .err = FI_ETRUNC };
	struct fi_cq_tagged_entry entry[4];
	struct wf_ep *wf = wf_ep_of(ep);
	fi_addr_t src[4];

	assert_int_equal(fi_ep_bind(ep, &a.cq->fid,
				 FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION),
		0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND | FI_RECV), 0);
	assert_int_equal(fi_enable(ep), 0);

	wf_ep_tx_done(wf, WF_CNTR_SEND, &a, 0, FI_SEND | FI_MSG, 5);
	wf_ep_rx_done(wf, &a, 0, FI_RECV | FI_MSG, 5, &err, 1, 2, 3);
	assert_int_equal(fi_cq_read(a.cq, entry, 4), -FI_EAGAIN);
	wf_ep_tx_done(wf, WF_CNTR_SEND, &a, FI_COMPLETION, FI_SEND | FI_MSG, 5);
	wf_ep_tx_done(wf, WF_CNTR_WRITE, &a, FI_COMPLETION, FI_WRITE | FI_RMA, 5);
	wf_ep_rx_done(wf, &err, FI_COMPLETION, FI_RECV | FI_MSG, 5, &err, 1, 2, 3);
	wf_ep_rx_release(wf, 0, &a);
	assert_int_equal(fi_cq_readfrom(a.cq, entry, 4, src), 4);
	assert_int_equal(entry[0].flags, FI_SEND | FI_MSG);
	assert_ptr_equal(entry[0].op_context, &a);
	assert_int_equal(src[0], FI_ADDR_NOTAVAIL);
	assert_int_equal(entry[2].len, 5);
	assert_ptr_equal(entry[2].buf, &err);
	assert_int_equal(entry[2].data, 1);
	assert_int_equal(entry[2].tag, 2);
	assert_int_equal(src[2], 3);
	assert_int_equal(entry[3].flags, FI_MULTI_RECV);
	assert_int_equal(fi_cntr_read(a.cntr), 4);

	wf_ep_tx_err(wf, WF_CNTR_SEND, ep, 0, FI_SEND | FI_MSG, 0, FI_ENETUNREACH);
	wf_ep_rx_err(wf, 0, &err);
	assert_int_equal(fi_cntr_readerr(a.cntr), 2);
	assert_int_equal(fi_cq_readerr(a.cq, &err, 0), 1);
	assert_int_equal(err.err, FI_ENETUNREACH);
	assert_ptr_equal(err.op_context, ep);
	assert_int_equal(err.flags, FI_SEND | FI_MSG);
	err.err_data_size = 0;
	assert_int_equal(fi_cq_readerr(a.cq, &err, 0), 1);
	assert_int_equal(err.err, FI_ETRUNC);
	close_ep(ep);
	close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_bind),
		DOMAIN_TEST(test_enable),
		DOMAIN_TEST(test_directions),
		DOMAIN_TEST(test_operations),
		DOMAIN_TEST(test_sizes),
		DOMAIN_TEST(test_refused_flags),
		DOMAIN_TEST(test_completion_rules),
		DOMAIN_TEST(test_op_flags),
		DOMAIN_TEST(test_alias),
		DOMAIN_TEST(test_close),
		DOMAIN_TEST(test_options),
		DOMAIN_TEST(test_done),
	};

	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
