/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

/* The tagged message calls, as the transport sees them. */

static struct fi_info *tagged_info(uint64_t caps)
{
	struct fi_info *info = new_info();

	info->caps = FI_TAGGED | caps;
	info->ep_attr->type = FI_EP_RDM;
	return info;
}

static void assert_op(
	const struct fake *fake, enum wf_op_kind kind, uint64_t flags, size_t len)
{
	assert_any_op(fake, kind, flags, len);
	assert_int_equal(fake->op.tag, 0x77);
}

/* TAG-016 */
static void test_send(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, tagged_info(0), 0);
	struct fake *fake = of(ep);
	char buf[2000];
	struct iovec iov[5] = { { buf, 3 }, { buf + 10, 4 } };
	void *desc[5] = { buf };
	struct fi_msg_tagged msg = { iov, desc, 2, 5, 0x77, 0, &a, 99 };

	assert_int_equal(fi_tsend(ep, buf, 8, desc, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION, 8);
	assert_ptr_equal(fake->iov[0].iov_base, buf);
	assert_ptr_equal(fake->op.context, &a);
	assert_int_equal(fi_tsendv(ep, iov, desc, 2, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION, 7);
	assert_ptr_equal(fake->op.desc, desc);
	assert_int_equal(fi_tsendv(ep, iov, desc, 5, 5, 0x77, &a), -FI_EINVAL);
	assert_int_equal(fi_tsendmsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_MATCH_COMPLETE),
		0); /* TAG-014 */
	assert_op(fake, WF_OP_TSEND,
		FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MATCH_COMPLETE, 7);
	assert_int_equal(fake->op.data, 99);
	assert_int_equal(fi_tsenddata(ep, buf, 8, NULL, 75, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION | FI_REMOTE_CQ_DATA, 8);
	assert_int_equal(fake->op.data, 75);
	assert_int_equal(fi_tinject(ep, buf, 100, 5, 0x77), 0);
	assert_op(fake, WF_OP_TSEND, FI_INJECT, 100);
	assert_ptr_equal(fake->op.context, fake);
	assert_int_equal(fi_tinjectdata(ep, buf, 8, 76, 5, 0x77), 0);
	assert_op(fake, WF_OP_TSEND, FI_INJECT | FI_REMOTE_CQ_DATA, 8);
	assert_int_equal(fake->op.data, 76);
	assert_int_equal(fi_tsend(ep, NULL, 0, NULL, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION, 0);
	assert_int_equal(fake->op.iov_count, 0);

	fake->starts = 0;
	assert_int_equal(fi_tinject(ep, buf, 101, 5, 0x77), -FI_EMSGSIZE);
	assert_int_equal(fi_tsend(ep, buf, 1001, NULL, 5, 0x77, &a), -FI_EMSGSIZE);
	assert_int_equal(fi_tsendmsg(ep, &msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_tsendmsg(ep, &msg, FI_TRIGGER), -FI_EBADFLAGS);
	assert_int_equal(fi_tsendmsg(ep, &msg, FI_COMMIT_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(fi_tsendmsg(ep, &msg, WF_OP_WORK), -FI_EBADFLAGS);
	assert_int_equal(fake->starts, 0);
	close_ep(ep);
	close_around(&a);
}

static void test_recv(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, tagged_info(0), 0);
	struct fake *fake = of(ep);
	char buf[20];
	struct iovec iov[4] = { { buf, 3 }, { buf + 10, 4 } };
	struct fi_msg_tagged msg = { iov, NULL, 2, 5, 0x77, 0xf, &a, 0 };

	assert_int_equal(fi_trecv(ep, buf, 8, NULL, 5, 0x77, 0xf, &a), 0);
	assert_op(fake, WF_OP_TRECV, FI_COMPLETION, 8);
	assert_int_equal(fake->op.ignore, 0xf);
	assert_int_equal(fi_trecvv(ep, iov, NULL, 2, 5, 0x77, 0xe, &a), 0);
	assert_op(fake, WF_OP_TRECV, FI_COMPLETION, 7);
	assert_int_equal(fake->op.ignore, 0xe);
	assert_int_equal(fi_trecvv(ep, iov, NULL, 4, 5, 0x77, 0xe, &a), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(ep, &msg, 0), 0);
	assert_op(fake, WF_OP_TRECV, FI_COMPLETION, 7);
	assert_int_equal(fake->op.ignore, 0xf);
	assert_int_equal(fi_trecvmsg(ep, &msg, FI_TRIGGER), -FI_EBADFLAGS);
	assert_int_equal(fi_trecvmsg(ep, &msg, WF_OP_WORK), -FI_EBADFLAGS);
	close_ep(ep);
	close_around(&a);
}

/* TAG-004, TAG-007 to TAG-009, TAG-011 to TAG-013 */
static void test_peek(void **state)
{
	static const struct {
		uint64_t flags;
		int ret;
		size_t iov_count;
	} cases[] = {
		{ FI_PEEK, 0, 0 },
		{ FI_PEEK | FI_CLAIM, 0, 0 },
		{ FI_PEEK | FI_DISCARD, 0, 0 },
		{ FI_CLAIM, 0, 2 },
		{ FI_CLAIM | FI_DISCARD, 0, 0 },
		{ FI_DISCARD, -FI_EINVAL, 0 },
		{ FI_PEEK | FI_CLAIM | FI_DISCARD, -FI_EINVAL, 0 },
		{ FI_PEEK | FI_MULTI_RECV, -FI_EINVAL, 0 },
		{ FI_CLAIM | FI_MULTI_RECV, -FI_EINVAL, 0 },
	};
	struct around a;
	struct fid_ep *ep = open_enabled(
		*state, &a, tagged_info(FI_MULTI_RECV | FI_TAGGED_MULTI_RECV), 0);
	struct fake *fake = of(ep);
	char buf[20];
	struct iovec iov[2] = { { buf, 3 }, { buf + 10, 4 } };
	struct fi_msg_tagged msg = { iov, NULL, 2, 5, 0x77, 0, &a, 0 };

	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++) {
		fake->starts = 0;
		assert_int_equal(fi_trecvmsg(ep, &msg, cases[i].flags), cases[i].ret);
		assert_int_equal(fake->starts, cases[i].ret ? 0 : 1);
		if (cases[i].ret)
			continue;
		assert_op(fake, WF_OP_TRECV, cases[i].flags | FI_COMPLETION,
			cases[i].iov_count ? 7 : 0);
		assert_int_equal(fake->op.iov_count, cases[i].iov_count);
		assert_ptr_equal(fake->op.context, &a);
	}
	msg.context = NULL;
	assert_int_equal(fi_trecvmsg(ep, &msg, FI_PEEK | FI_CLAIM), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(ep, &msg, FI_PEEK), 0);
	close_ep(ep);
	close_around(&a);
}

/* CAP-012, MRV-008: a capability of its own. */
static void test_multi_recv(void **state)
{
	for (int tagged = 0; tagged < 2; tagged++) {
		struct fi_info *info = tagged_info(
			FI_MULTI_RECV | (tagged ? FI_TAGGED_MULTI_RECV : 0));
		char buf[20];
		struct iovec iov[2] = { { buf, 3 }, { buf + 10, 4 } };
		struct fi_msg_tagged msg = { iov, NULL, 1, 5, 0x77, 0, buf, 0 };
		struct fid_ep *ep;
		struct around a;

		info->rx_attr->op_flags = FI_MULTI_RECV;
		ep = open_enabled(*state, &a, info, 0);
		assert_int_equal(fi_trecv(ep, buf, 8, NULL, 5, 0x77, 0, NULL), 0);
		assert_op(of(ep), WF_OP_TRECV,
			FI_COMPLETION | (tagged ? FI_MULTI_RECV : 0), 8);
		assert_int_equal(fi_trecvv(ep, iov, NULL, 2, 5, 0x77, 0, NULL),
			tagged ? -FI_EINVAL : 0);
		assert_int_equal(fi_trecvmsg(ep, &msg, FI_MULTI_RECV),
			tagged ? 0 : -FI_EBADFLAGS);
		close_ep(ep);
		close_around(&a);
	}
}

/* EP-030: through an alias */
static void test_alias(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(
			      *state, &a, tagged_info(0), FI_SELECTIVE_COMPLETION),
		      *alias = NULL;
	struct fake *fake = of(ep);
	char buf[20];
	struct iovec iov = { buf, 3 };
	struct fi_msg_tagged msg = { &iov, NULL, 1, 5, 0x77, 0, &a, 0 };

	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	assert_int_equal(fi_tsend(alias, buf, 3, NULL, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION, 3);
	assert_int_equal(fi_tsenddata(alias, buf, 3, NULL, 1, 5, 0x77, &a), 0);
	assert_op(fake, WF_OP_TSEND, FI_COMPLETION | FI_REMOTE_CQ_DATA, 3);
	assert_int_equal(fi_tsendmsg(alias, &msg, 0), 0);
	assert_op(fake, WF_OP_TSEND, 0, 3);
	assert_int_equal(fi_tinject(alias, buf, 3, 5, 0x77), 0);
	assert_op(fake, WF_OP_TSEND, FI_INJECT, 3);
	assert_int_equal(fi_tinjectdata(alias, buf, 3, 4, 5, 0x77), 0);
	assert_op(fake, WF_OP_TSEND, FI_INJECT | FI_REMOTE_CQ_DATA, 3);
	assert_int_equal(fi_trecv(alias, buf, 3, NULL, 5, 0x77, 0x8, &a), 0);
	assert_op(fake, WF_OP_TRECV, 0, 3);
	assert_int_equal(fake->op.ignore, 0x8);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(ep);
	close_around(&a);
}

/* CAP: a table for what the endpoint has, and for one direction only. */
static void test_absent(void **state)
{
	struct domain_fixture *f = *state;
	struct around a;
	struct fid_ep *ep = &open_fake(f, tagged_info(FI_SEND))->ep.fid;
	char buf[8];

	assert_int_equal(fi_tsend(ep, buf, 8, NULL, 5, 0x77, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_send(ep, buf, 8, NULL, 5, NULL), -FI_ENOSYS);
	close_ep(ep);
	ep = open_enabled(f, &a, tagged_info(FI_SEND), 0);
	assert_int_equal(fi_tsend(ep, buf, 8, NULL, 5, 0x77, NULL), 0);
	assert_int_equal(fi_trecv(ep, buf, 8, NULL, 5, 0x77, 0, NULL), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
	ep = open_enabled(f, &a, new_info(), 0);
	assert_int_equal(fi_tsend(ep, buf, 8, NULL, 5, 0x77, NULL), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_send),
		DOMAIN_TEST(test_recv),
		DOMAIN_TEST(test_peek),
		DOMAIN_TEST(test_multi_recv),
		DOMAIN_TEST(test_alias),
		DOMAIN_TEST(test_absent),
	};

	return cmocka_run_group_tests_name("endpoint_tagged", tests, NULL, NULL);
}
