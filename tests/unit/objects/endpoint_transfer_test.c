/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

#include "../../log_lines.h"
#include "shortage.h"

#include "objects/endpoint/calls/transfer.h"

/* A peer whose transfers go over an endpoint of ours: P-70 to P-75. */

#define XFER (FI_PEER_TRANSFER)

/* What the peer saw, in order. */
static struct {
	struct fid_ep ep;
	struct fi_ops_transfer_peer ops;
	struct fid_ep *owner;
	uint64_t owner_caps;
	int open_result, close_result;
	bool without_ops;

	unsigned int calls, depth, failed;
	void *context[64];
	uint64_t flags[64];
	struct fi_cq_err_entry err;
	char err_data[8];
	ssize_t answer;
	void (*react)(void *context);
} peer;

static struct fk *fk;
static struct fk_around around;

static int peer_close(struct fid *fid)
{
	return peer.close_result;
}

static struct fi_ops peer_fid_ops = { .size = sizeof(peer_fid_ops),
	.close = peer_close };

static void saw(void *context, uint64_t flags)
{
	assert_int_equal(peer.depth, 0);
	assert_true(peer.calls < 64);
	/* No lock of the endpoint is held. */
	assert_true(wf_trylock(&fk->ep.lock));
	wf_unlock(&fk->ep.lock);
	assert_true(wf_trylock(fk->ep.srx_lock));
	wf_unlock(fk->ep.srx_lock);

	peer.context[peer.calls] = context;
	peer.flags[peer.calls++] = flags;
	peer.depth++;
	if (peer.react)
		peer.react(context);
	peer.depth--;
}

static ssize_t peer_complete(
	struct fid_ep *ep, struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	assert_ptr_equal(ep, &peer.ep);
	if (peer.answer)
		return peer.answer;
	saw(entry->op_context, entry->flags);
	return 0;
}

static ssize_t peer_comperr(struct fid_ep *ep, struct fi_cq_err_entry *entry)
{
	assert_ptr_equal(ep, &peer.ep);
	peer.failed++;
	peer.err = *entry;
	if (entry->err_data)
		memcpy(peer.err_data, entry->err_data, entry->err_data_size);
	saw(entry->op_context, entry->flags);
	return 0;
}

static int peer_endpoint(
	struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *arg)
{
	struct fi_peer_transfer_context *context = arg;

	assert_true(info->mode & FI_PEER_TRANSFER);
	assert_int_equal(context->size, sizeof(*context));
	if (peer.open_result)
		return peer.open_result;
	peer.owner = context->ep;
	peer.owner_caps = context->info->caps;
	if (!peer.without_ops)
		context->peer_ops = &peer.ops;
	*ep = &peer.ep;
	return 0;
}

static struct fi_ops_domain peer_domain_ops = {
	.size = sizeof(peer_domain_ops),
	.endpoint = peer_endpoint,
};
static struct fid_domain peer_domain = { .ops = &peer_domain_ops };
static struct fi_info peer_info = { .mode = FI_PEER_TRANSFER };

static int setup(void **state)
{
	memset(&peer, 0, sizeof(peer));
	peer.ep.fid.ops = &peer_fid_ops;
	peer.ops = (struct fi_ops_transfer_peer){ sizeof(peer.ops), peer_complete,
		peer_comperr };
	if (domain_fixture_setup(state))
		return -1;
	around = fk_open_around(*state);
	fk = fk_open(*state, fk_info(FI_MULTI_RECV));
	fk->sends = true;
	return 0;
}

static int teardown(void **state)
{
	fk_close(fk);
	fk_close_around(&around);
	return domain_fixture_teardown(state);
}

static void open_peer(uint64_t cq_flags)
{
	struct fid_ep *ep;

	assert_int_equal(wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), 0);
	assert_ptr_equal(ep, &peer.ep);
	fk_enable_with(fk, &around, cq_flags);
}

static ssize_t post(void *context, uint64_t flags)
{
	struct fi_msg_tagged msg = { .tag = 3, .context = context };

	return fi_tsendmsg(&fk->ep.fid, &msg, flags);
}

/* P-70, P-71, P-72, P-73, EP-005, CAP-032 */
static void opening(void **state)
{
	struct fid_ep *ep = NULL;

	peer_info.mode = 0;
	assert_int_equal(
		wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), -FI_EINVAL);
	peer_info.mode = FI_PEER_TRANSFER;
	/* The peer cannot live with our limits. */
	peer.open_result = -FI_EMSGSIZE;
	assert_int_equal(
		wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), -FI_EMSGSIZE);
	peer.open_result = 0;
	peer.without_ops = true;
	assert_int_equal(
		wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), -FI_EINVAL);
	peer.without_ops = false;
	peer.ops.size = offsetof(struct fi_ops_transfer_peer, comperr);
	assert_int_equal(
		wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), -FI_EINVAL);
	assert_null(ep);
	peer.ops.size = sizeof(peer.ops);

	open_peer(0);
	assert_ptr_equal(peer.owner, &fk->ep.fid);
	assert_int_equal(peer.owner_caps, fk->ep.info->caps);
	assert_int_equal(wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep),
		-FI_EOPBADSTATE);
	/* P-08: a peer that cannot be closed yet keeps the endpoint open. */
	peer.close_result = -FI_EBUSY;
	assert_int_equal(fi_close(&fk->ep.fid.fid), -FI_EBUSY);
	assert_int_equal(post(&fk, XFER), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	peer.close_result = 0;
}

/* P-74 */
static void results(void **state)
{
	char buf[8], mark[4];
	unsigned char out[3];

	open_peer(0);
	assert_int_equal(post(&mark[0], XFER), 0);
	/* P-75: not inside the call. */
	assert_int_equal(peer.calls, 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	assert_ptr_equal(peer.context[0], &mark[0]);
	assert_int_equal(peer.flags[0], FI_SEND | FI_TAGGED);

	/* The application's own are not touched. */
	assert_int_equal(post(&mark[1], 0), 0);
	fk_expect(&around, &mark[1], FI_SEND | FI_TAGGED, 0, 0);

	assert_int_equal(
		fk_trecvmsg(&fk->ep.fid, out, 3, FI_ADDR_UNSPEC, 9, 0, &mark[2], XFER),
		0);
	fk_tagged(fk, 1, 9, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 2);
	assert_ptr_equal(peer.context[1], &mark[2]);
	assert_int_equal(peer.flags[1], FI_RECV | FI_TAGGED);
	assert_true(fk_holds(out, 40, 3));
	assert_int_equal(fi_cntr_read(around.cntr), 0);

	/* Too long for the buffer. */
	assert_int_equal(
		fk_trecvmsg(&fk->ep.fid, out, 3, FI_ADDR_UNSPEC, 9, 0, &mark[3], XFER),
		0);
	fk_tagged(fk, 1, 9, 50, 5);
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 1);
	assert_int_equal(peer.err.err, FI_ETRUNC);
	assert_int_equal(peer.err.olen, 2);
	fk->send_error = FI_ECONNRESET;
	assert_int_equal(post(&mark[0], XFER), 0);
	assert_int_equal(fi_cntr_readerr(around.cntr), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 2);
	assert_int_equal(peer.err.err, FI_ECONNRESET);

	/* A peek, and a buffer for several. */
	assert_int_equal(fk_trecvmsg(&fk->ep.fid, NULL, 0, FI_ADDR_UNSPEC, 1, 0,
				 &mark[0], FI_PEEK | XFER),
		0);
	assert_int_equal(
		fk_recvmsg(&fk->ep.fid, buf, 8, &mark[1], FI_MULTI_RECV | XFER), 0);
	fk_message(fk, 1, 1, 8);
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 3);
	assert_int_equal(peer.err.err, FI_ENOMSG);
	assert_int_equal(peer.calls, 7);
	assert_ptr_equal(peer.context[6], &mark[1]);
	assert_int_equal(peer.flags[6], FI_MULTI_RECV);
}

/* An application that asked for few completions gets all results of its transfers. */
static void selective(void **state)
{
	open_peer(FI_SELECTIVE_COMPLETION);
	assert_int_equal(post(&around, XFER), 0);
	assert_int_equal(post(&around, XFER | FI_INJECT), 0);
	assert_int_equal(post(&around, 0), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 2);
}

static void error_data(void **state)
{
	struct fi_cq_err_entry entry = { .err = FI_EIO, .op_context = fk };
	char data[] = "gone";

	open_peer(0);
	fk->sends = false;
	assert_int_equal(post(fk, XFER), 0);
	entry.err_data = data;
	entry.err_data_size = sizeof(data);
	wf_ep_rx_err(&fk->ep, XFER, &entry);
	memset(data, 0, sizeof(data));
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 1);
	assert_string_equal(peer.err_data, "gone");
}

/* Without memory for its result a transfer does not start; one that has started reports
 * its result without more memory. */
static void results_without_memory(void **state)
{
	struct fi_cq_err_entry entry = { .err = FI_EIO, .op_context = fk };
	char data[] = "gone";
	char mark[4];

	open_peer(0);
	shortage_begin();
	assert_int_equal(post(&mark[0], XFER), -FI_ENOMEM);
	assert_int_equal(post(&mark[0], 0), 0);
	(void)refuse_end();
	fk_expect(&around, &mark[0], FI_SEND | FI_TAGGED, 0, 0);
	fk->sends = false;
	for (int i = 0; i < 3; i++)
		assert_int_equal(post(&mark[i], XFER), 0);
	shortage_begin();
	wf_ep_tx_done(&fk->ep, WF_CNTR_SEND, &mark[1], XFER | FI_COMPLETION,
		FI_SEND | FI_TAGGED, 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	assert_ptr_equal(peer.context[0], &mark[1]);
	assert_int_equal(peer.flags[0], FI_SEND | FI_TAGGED);
	/* There is no memory for the error's data. */
	entry.err_data = data;
	entry.err_data_size = sizeof(data);
	wf_ep_rx_err(&fk->ep, XFER, &entry);
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 1);
	assert_ptr_equal(peer.err.op_context, fk);
	assert_int_equal(peer.err.err, FI_EIO);
	assert_null(peer.err.err_data);
	assert_int_equal(peer.err.err_data_size, 0);
	wf_ep_tx_err(&fk->ep, WF_CNTR_SEND, &mark[2], XFER | FI_COMPLETION,
		FI_SEND | FI_TAGGED, 0, FI_EIO);
	/* Of an operation with more than one result the others are lost, and it is said. */
	log_lines_start();
	wf_ep_rx_err(&fk->ep, XFER, &entry);
	assert_true(log_lines_have("a completion is lost: Cannot allocate memory"));
	log_lines_start();
	wf_ep_tx_done(&fk->ep, WF_CNTR_SEND, &mark[1], XFER | FI_COMPLETION,
		FI_SEND | FI_TAGGED, 0);
	assert_true(log_lines_have("a completion is lost: Cannot allocate memory"));
	(void)refuse_end();
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 2);
	assert_ptr_equal(peer.context[2], &mark[2]);
	assert_int_equal(peer.calls, 3);
}

/* What was reserved for an operation that did not start is given back. */
static void nothing_is_kept_of_a_refused_one(void **state)
{
	char mark[4];

	open_peer(0);
	fk->start_refused = -FI_EAGAIN;
	assert_int_equal(post(&mark[0], XFER), -FI_EAGAIN);
	fk->start_refused = 0;
	shortage_begin();
	wf_ep_tx_done(&fk->ep, WF_CNTR_SEND, &mark[1], XFER | FI_COMPLETION,
		FI_SEND | FI_TAGGED, 0);
	(void)refuse_end();
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 0);
}

static ssize_t open_step(void *arg)
{
	struct fid_ep *ep = NULL;
	ssize_t ret = wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep);

	if (ret) {
		assert_null(ep);
		assert_null(fk->ep.transfer);
		assert_null(peer.owner);
	}
	return ret;
}

static void opening_without_memory(void **state)
{
	assert_int_equal(shortage_each(open_step, NULL), 2);
}

/* A peer that refuses a result is told no other, and the log says why. */
static void refused_results(void **state)
{
	open_peer(0);
	log_lines_start();
	assert_int_equal(post(&around, XFER), 0);
	peer.answer = -FI_EINVAL;
	fk_expect_none(&around);
	assert_true(log_lines_have("the peer did not take the result of its "
				   "transfer: Invalid argument"));
	peer.answer = 0;
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 0);
}

static void one_peer(void **state)
{
	struct fid_ep *ep = NULL;

	assert_int_equal(wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), 0);
	assert_int_equal(
		wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), -FI_EBUSY);
}

static unsigned int left;

static void post_another(void *context)
{
	struct fi_cq_tagged_entry none;

	if (left) {
		left--;
		assert_int_equal(post((char *)context + 1, XFER), 0);
	}
	/* The application's entries can be had as well. */
	assert_int_equal(fi_cq_read(around.cq, &none, 1), -FI_EAGAIN);
	(void)fi_cntr_read(around.cntr);
}

/* P-75: transfers, the CQ and progress from inside the callback. */
static void from_inside(void **state)
{
	char marks[64];

	open_peer(0);
	peer.react = post_another;
	left = 40;
	assert_int_equal(post(marks, XFER), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 41);
	for (size_t i = 0; i < 41; i++)
		assert_ptr_equal(peer.context[i], marks + i);
}

static struct fid_peer_cq handle;

static void write_to_cq(void *context)
{
	assert_int_equal(handle.owner_ops->write(&handle, context, FI_COLLECTIVE, 0,
				 NULL, 0, 0, FI_ADDR_NOTAVAIL),
		0);
}

static void peer_writes_to_our_queue(void **state)
{
	open_peer(0);
	wf_cq_export(wf_cq_of(around.cq), &handle);
	peer.react = write_to_cq;
	assert_int_equal(post(&handle, XFER), 0);
	/* It may come with the reading that made the progress, or with the next. */
	(void)fi_cq_read(around.cq, NULL, 0);
	fk_expect(&around, &handle, FI_COLLECTIVE, 0, 0);
	wf_cq_unexport(&handle);
}

/* A peer that has no space asks for another call. */
static void told_again(void **state)
{
	open_peer(0);
	assert_int_equal(post(&around, XFER), 0);
	peer.answer = -FI_EAGAIN;
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 0);
	assert_false(wf_progress_list_arm(&wf_cq_of(around.cq)->progress));
	peer.answer = 0;
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	/* Operations left behind: no callback is called, and no memory is leaked. */
	assert_int_equal(post(&around, XFER), 0);
}

#define BIT WF_OP_PEER_TAG

static int receive(uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	static char buf[64];

	return (int)fk_trecvmsg(
		&fk->ep.fid, buf, 8, FI_ADDR_UNSPEC, tag, ignore, context, flags);
}

static void open_collective_peer(void)
{
	fk->ep.caps |= FI_COLLECTIVE;
	open_peer(0);
}

static void open_collective_peer_without_tags(void)
{
	fk->ep.info->caps &= ~FI_TAGGED;
	open_collective_peer();
}

/* No receive of the application matches a message of the peers, and the other way
 * round, whether the message or the receive came first. */
static void tags_apart(void **state)
{
	char mark[8];

	open_collective_peer();
	assert_int_equal(receive(0, UINT64_MAX, &mark[0], 0), 0);
	assert_int_equal(fi_trecv(&fk->ep.fid, NULL, 0, NULL, FI_ADDR_UNSPEC, 0,
				 UINT64_MAX, &mark[1]),
		0);
	assert_int_equal(receive(BIT | 5, 0, &mark[2], XFER), 0);
	fk_tagged(fk, 1, BIT | 5, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	assert_ptr_equal(peer.context[0], &mark[2]);
	fk_tagged(fk, 1, 5, 40, 3);
	fk_expect(&around, &mark[0], FI_RECV | FI_TAGGED, 3, 5);
	fk_tagged(fk, 1, 6, 0, 0);
	fk_expect(&around, &mark[1], FI_RECV | FI_TAGGED, 0, 6);

	fk_tagged(fk, 1, BIT | 7, 40, 3);
	fk_tagged(fk, 1, 8, 40, 4);
	assert_int_equal(receive(0, UINT64_MAX, &mark[3], 0), 0);
	fk_expect(&around, &mark[3], FI_RECV | FI_TAGGED, 4, 8);
	assert_int_equal(receive(0, UINT64_MAX, &mark[4], FI_PEEK), 0);
	(void)fk_expect_err(&around, &mark[4], FI_RECV | FI_TAGGED, FI_ENOMSG);
	assert_int_equal(receive(BIT | 7, 0, &mark[5], XFER), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 2);
	assert_ptr_equal(peer.context[1], &mark[5]);
}

/* Each side keeps to its tags. */
static void tags_refused(void **state)
{
	struct fi_msg_tagged msg = { .tag = BIT, .context = state };
	struct fid_ep *ep = &fk->ep.fid;

	open_collective_peer();
	assert_int_equal(fi_tsend(ep, NULL, 0, NULL, 1, BIT, NULL), -FI_EINVAL);
	assert_int_equal(fi_tsendv(ep, NULL, NULL, 0, 1, BIT, NULL), -FI_EINVAL);
	assert_int_equal(fi_tsendmsg(ep, &msg, 0), -FI_EINVAL);
	assert_int_equal(fi_tinject(ep, NULL, 0, 1, BIT), -FI_EINVAL);
	assert_int_equal(fi_tsenddata(ep, NULL, 0, NULL, 0, 1, BIT, NULL), -FI_EINVAL);
	assert_int_equal(fi_tinjectdata(ep, NULL, 0, 0, 1, BIT), -FI_EINVAL);
	assert_int_equal(fi_trecv(ep, NULL, 0, NULL, 1, BIT, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_trecvv(ep, NULL, NULL, 0, 1, BIT, 0, NULL), -FI_EINVAL);
	assert_int_equal(receive(BIT, 0, state, 0), -FI_EINVAL);
	assert_int_equal(receive(1, 0, state, XFER), -FI_EINVAL);
	assert_int_equal(receive(BIT, BIT, state, XFER), -FI_EINVAL);
	msg.tag = 1;
	assert_int_equal(fi_tsendmsg(ep, &msg, XFER), -FI_EINVAL);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 0);
}

/* An application without FI_TAGGED gets no tagged calls from its peer. */
static void tags_of_the_peer_alone(void **state)
{
	open_collective_peer_without_tags();
	assert_int_equal(fi_tsend(&fk->ep.fid, NULL, 0, NULL, 1, 1, NULL), -FI_ENOSYS);
	assert_int_equal(receive(1, 0, state, 0), -FI_ENOSYS);
	assert_int_equal(receive(BIT | 1, 0, state, XFER), 0);
	fk_tagged(fk, 1, BIT | 1, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
}

/* A full queue of the application's receives does not keep the peer from posting, and
 * the peer's receives leave the application its places. */
static void receives_beyond_the_limit(void **state)
{
	size_t limit = fk->ep.info->rx_attr->size, own = 0;
	char mark[4];

	open_collective_peer();
	assert_int_equal(receive(BIT | 1, 0, &mark[0], XFER), 0);
	while (!receive(1, 0, &mark[1], 0))
		own++;
	assert_int_equal(own, limit);
	assert_int_equal(receive(1, 0, &mark[1], 0), -FI_EAGAIN);
	assert_int_equal(receive(BIT | 2, 0, &mark[2], XFER), 0);
	fk_tagged(fk, 1, BIT | 1, 40, 3);
	fk_tagged(fk, 1, BIT | 2, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 2);
	assert_int_equal(receive(1, 0, &mark[1], 0), -FI_EAGAIN);
	/* The peer withdraws one. */
	assert_int_equal(receive(BIT | 3, 0, &mark[3], XFER), 0);
	assert_int_equal(fi_cancel(&fk->ep.fid.fid, &mark[3]), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.failed, 1);
	assert_int_equal(receive(1, 0, &mark[1], 0), -FI_EAGAIN);
}

static int receive_from(fi_addr_t src, void *context, uint64_t flags)
{
	static char buf[64];

	return (int)fk_trecvmsg(
		&fk->ep.fid, buf, 8, src, flags ? BIT | 1 : 1, 0, context, flags);
}

/* Where sources are known, receives of the peer may name one, whatever the application
 * asked for: its own take messages from all. P-71 */
static void named_sources(void **state)
{
	char mark[4];

	fk->ep.info->caps |= FI_SOURCE;
	fk->ep.caps |= FI_SOURCE;
	open_collective_peer();
	assert_true(peer.owner_caps & FI_TAGGED_DIRECTED_RECV);
	assert_int_equal(receive_from(2, &mark[0], XFER), 0);
	fk_tagged(fk, 1, BIT | 1, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 0);
	fk_tagged(fk, 2, BIT | 1, 40, 3);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 1);
	assert_ptr_equal(peer.context[0], &mark[0]);
	/* The one that waits, and one of a source that is in no AV. */
	fk_arrive_from(fk, 3, true, BIT | 1, true, 40, 3);
	assert_int_equal(receive_from(3, &mark[1], XFER), 0);
	assert_int_equal(receive_from(1, &mark[2], XFER), 0);
	fk_expect_none(&around);
	assert_int_equal(peer.calls, 2);
	assert_ptr_equal(peer.context[1], &mark[2]);

	assert_int_equal(receive_from(2, &mark[3], 0), 0);
	fk_tagged(fk, 1, 1, 40, 3);
	fk_expect(&around, &mark[3], FI_RECV | FI_TAGGED, 3, 1);
}

/* A peer of collectives gets tagged messages both ways, and sources by their index,
 * whatever the application asked for. */
static void what_the_peer_gets(void **state)
{
	struct fid_ep *ep;

	fk->ep.caps = FI_COLLECTIVE;
	fk->ep.info->caps = FI_COLLECTIVE | FI_SOURCE | FI_AV_USER_ID;
	fk->ep.type = FI_EP_RDM;
	assert_int_equal(wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), 0);
	assert_int_equal(peer.owner_caps, FI_COLLECTIVE | FI_SOURCE | FI_TAGGED |
						  FI_SEND | FI_RECV |
						  FI_TAGGED_DIRECTED_RECV);
}

static void what_another_peer_gets(void **state)
{
	struct fid_ep *ep;

	fk->ep.info->caps = FI_MSG | FI_SOURCE;
	fk->ep.type = FI_EP_MSG;
	assert_int_equal(wf_transfer_open(&fk->ep, &peer_domain, &peer_info, &ep), 0);
	assert_int_equal(peer.owner_caps, FI_MSG | FI_SOURCE);
}

/* Sources that are not known are not promised. */
static void no_sources(void **state)
{
	open_collective_peer();
	assert_false(peer.owner_caps & (FI_SOURCE | FI_TAGGED_DIRECTED_RECV));
}

/* Without a peer there is no callback. */
static void nobody_there(void **state)
{
	char buf[8];

	fk_enable_with(fk, &around, 0);
	assert_int_equal(post(&around, XFER), -FI_EBADFLAGS);
	assert_int_equal(fk_recvmsg(&fk->ep.fid, buf, 8, NULL, XFER), -FI_EBADFLAGS);
}

#define TRANSFER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRANSFER_TEST(opening),
		TRANSFER_TEST(results),
		TRANSFER_TEST(selective),
		TRANSFER_TEST(error_data),
		TRANSFER_TEST(results_without_memory),
		TRANSFER_TEST(nothing_is_kept_of_a_refused_one),
		TRANSFER_TEST(opening_without_memory),
		TRANSFER_TEST(refused_results),
		TRANSFER_TEST(one_peer),
		TRANSFER_TEST(from_inside),
		TRANSFER_TEST(peer_writes_to_our_queue),
		TRANSFER_TEST(told_again),
		TRANSFER_TEST(tags_apart),
		TRANSFER_TEST(tags_refused),
		TRANSFER_TEST(tags_of_the_peer_alone),
		TRANSFER_TEST(receives_beyond_the_limit),
		TRANSFER_TEST(named_sources),
		TRANSFER_TEST(what_the_peer_gets),
		TRANSFER_TEST(what_another_peer_gets),
		TRANSFER_TEST(no_sources),
		TRANSFER_TEST(nobody_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
