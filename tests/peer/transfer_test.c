/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "rig.h"

#include "objects/endpoint/calls/transfer.h"

/*
 * Two endpoints of a provider of ours, each with a peer on top that talks to the
 * other's through it while the application talks too, with receives for any tag: P-70
 * to P-75. transfer_test PROVIDER.
 */

enum { ROUNDS = 400, OWN = 100, SIZES = 3 };

/* The application receives any tag, but none of the peers. */
#define PEER_TAG (WF_OP_PEER_TAG + 1000)

/* Sizes of messages: some are sent at once, some wait for their receive. */
static const size_t sizes[SIZES] = { 8, 5000, 300000 };

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t other;

	/* The peer. */
	struct fid_ep offload;
	struct fi_ops_transfer_peer ops;
	struct fid_ep *owner;
	unsigned char *in, *out;
	bool starts;
	atomic_int inside;
	atomic_uint got, sent, failed, closed;
};

static struct node *opening;

static struct node *node_of(struct fid_ep *offload)
{
	return (struct node *)(void *)((char *)offload -
				       offsetof(struct node, offload));
}

static size_t size_of(unsigned int round)
{
	return sizes[round % SIZES];
}

static struct fi_msg_tagged message(
	const struct node *node, struct iovec *iov, unsigned int round, uint64_t tag)
{
	return (struct fi_msg_tagged){
		.msg_iov = iov,
		.iov_count = 1,
		.addr = node->other,
		.tag = tag + round,
		.context = (void *)(uintptr_t)(round + 1),
	};
}

static ssize_t post_recv(struct node *node, unsigned int round)
{
	struct iovec iov = { node->in, size_of(round) };
	struct fi_msg_tagged msg = message(node, &iov, round, PEER_TAG);

	return fi_trecvmsg(node->owner, &msg, FI_PEER_TRANSFER);
}

static ssize_t post_send(struct node *node, unsigned int round)
{
	struct iovec iov = { node->out, size_of(round) };
	struct fi_msg_tagged msg = message(node, &iov, round, PEER_TAG);

	memset(node->out, (int)(round + 1), size_of(round));
	return fi_tsendmsg(node->owner, &msg, FI_PEER_TRANSFER);
}

/* A message arrived: post the next receive, then answer; both only if the answer can be
 * sent, because otherwise the callback is called again. */
static ssize_t received(struct node *node, const struct fi_cq_tagged_entry *entry)
{
	unsigned int round = atomic_load(&node->got);
	ssize_t ret;

	assert_ptr_equal(entry->op_context, (uintptr_t)(round + 1));
	assert_int_equal(entry->len, size_of(round));
	assert_int_equal(node->in[0], (unsigned char)(round + 1));
	assert_int_equal(node->in[entry->len - 1], (unsigned char)(round + 1));
	/* The node that starts is a round ahead. */
	if (round + node->starts < ROUNDS) {
		ret = post_send(node, round + node->starts);
		if (ret)
			return ret;
	}
	if (round + 1 < ROUNDS)
		assert_int_equal(post_recv(node, round + 1), 0);
	atomic_fetch_add(&node->got, 1);
	return 0;
}

static ssize_t complete(
	struct fid_ep *ep, struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	struct node *node = node_of(ep);
	ssize_t ret = 0;

	/* P-75 */
	assert_int_equal(atomic_fetch_add(&node->inside, 1), 0);
	if (entry->flags & FI_RECV)
		ret = received(node, entry);
	else
		atomic_fetch_add(&node->sent, 1);
	/* Progress from inside, as a peer may want to make. */
	(void)fi_cq_read(node->cq, NULL, 0);
	atomic_fetch_sub(&node->inside, 1);
	return ret;
}

static ssize_t comperr(struct fid_ep *ep, struct fi_cq_err_entry *entry)
{
	atomic_fetch_add(&node_of(ep)->failed, 1);
	return 0;
}

static int offload_close(struct fid *fid)
{
	struct fid_ep *ep = (struct fid_ep *)(void *)fid;

	atomic_fetch_add(&node_of(ep)->closed, 1);
	return 0;
}

static struct fi_ops offload_ops = { .size = sizeof(offload_ops),
	.close = offload_close };

static int offload_endpoint(
	struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *arg)
{
	struct fi_peer_transfer_context *context = arg;

	opening->offload.fid.ops = &offload_ops;
	opening->ops = (struct fi_ops_transfer_peer){ sizeof(opening->ops), complete,
		comperr };
	opening->owner = context->ep;
	context->peer_ops = &opening->ops;
	*ep = &opening->offload;
	return 0;
}

static struct fi_ops_domain offload_domain_ops = {
	.size = sizeof(offload_domain_ops),
	.endpoint = offload_endpoint,
};
static struct fid_domain offload_domain = { .ops = &offload_domain_ops };

static struct fi_info *find(enum fi_progress progress)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	bool ip = !strcmp(rig_provider, "tcp");

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->data_progress = progress;
	hints->fabric_attr->prov_name = strdup(rig_provider);
	if (fi_getinfo(FI_VERSION(2, 6), ip ? "127.0.0.1" : NULL, NULL,
		    ip ? FI_SOURCE : 0, hints, &info))
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

static void node_open(struct node *node, enum fi_progress progress)
{
	struct fi_info offload_info = { .mode = FI_PEER_TRANSFER };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fid_ep *offload;

	node->info = find(progress);
	assert_non_null(node->info);
	node->in = calloc(1, sizes[SIZES - 1]);
	node->out = calloc(1, sizes[SIZES - 1]);
	assert_int_equal(fi_fabric(node->info->fabric_attr, &node->fabric, NULL), 0);
	assert_int_equal(fi_domain(node->fabric, node->info, &node->domain, NULL), 0);
	assert_int_equal(fi_cq_open(node->domain, &cq_attr, &node->cq, NULL), 0);
	assert_int_equal(fi_cntr_open(node->domain, &cntr_attr, &node->cntr, NULL), 0);
	assert_int_equal(fi_av_open(node->domain, &av_attr, &node->av, NULL), 0);
	assert_int_equal(fi_endpoint(node->domain, node->info, &node->ep, NULL), 0);
	/* Keep the tags of the peer apart, without the library's own peer. */
	wf_ep_of(node->ep)->caps |= FI_COLLECTIVE;
	opening = node;
	assert_int_equal(wf_transfer_open(wf_ep_of(node->ep), &offload_domain,
				 &offload_info, &offload),
		0);
	assert_ptr_equal(offload, &node->offload);
	assert_ptr_equal(node->owner, node->ep);
	assert_int_equal(
		fi_ep_bind(node->ep, &node->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(node->ep, &node->cntr->fid, FI_SEND | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(node->ep, &node->av->fid, 0), 0);
	assert_int_equal(fi_enable(node->ep), 0);
}

static void node_meet(struct node *node, const struct node *other)
{
	char name[NAME_ROOM];
	size_t len = sizeof(name);

	assert_int_equal(fi_getname(&other->ep->fid, name, &len), 0);
	assert_int_equal(fi_av_insert(node->av, name, 1, &node->other, 0, NULL), 1);
}

static void node_close(struct node *node)
{
	assert_int_equal(fi_close(&node->ep->fid), 0);
	assert_int_equal(atomic_load(&node->closed), 1);
	assert_int_equal(fi_close(&node->av->fid), 0);
	assert_int_equal(fi_close(&node->cntr->fid), 0);
	assert_int_equal(fi_close(&node->cq->fid), 0);
	assert_int_equal(fi_close(&node->domain->fid), 0);
	assert_int_equal(fi_close(&node->fabric->fid), 0);
	fi_freeinfo(node->info);
	free(node->in);
	free(node->out);
}

/* What the application does with its own messages meanwhile. */
struct app {
	uint64_t in[OWN], out[OWN];
	unsigned int sent, done;
};

static void app_step(struct node *node, struct app *app)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while (app->sent < OWN) {
		app->out[app->sent] = app->sent + 7;
		ret = fi_tsend(node->ep, &app->out[app->sent], 8, NULL, node->other,
			app->sent, &app->out[app->sent]);
		if (ret)
			break;
		app->sent++;
	}
	while (fi_cq_read(node->cq, &entry, 1) == 1) {
		bool mine = (char *)entry.op_context >= (char *)app &&
			    (char *)entry.op_context < (char *)(app + 1);

		assert_true(mine);
		app->done++;
	}
}

static void talk(struct node *node, uint64_t end, bool reads)
{
	struct app app[2] = { 0 };

	for (int n = 0; n < 2; n++)
		for (unsigned int i = 0; i < OWN; i++)
			assert_int_equal(
				fi_trecv(node[n].ep, &app[n].in[i], 8, NULL,
					FI_ADDR_UNSPEC, i, UINT64_MAX, &app[n].in[i]),
				0);
	while (app[0].done + app[1].done < 4 * OWN) {
		assert_true(now_ms() < end);
		app_step(&node[0], &app[0]);
		app_step(&node[1], &app[1]);
	}
	while (atomic_load(&node[0].got) < ROUNDS ||
		atomic_load(&node[1].got) < ROUNDS ||
		atomic_load(&node[0].sent) < ROUNDS ||
		atomic_load(&node[1].sent) < ROUNDS) {
		assert_true(now_ms() < end);
		/* No queue is read if a thread makes progress. */
		for (int n = 0; n < 2 && reads; n++)
			app_step(&node[n], &app[n]);
		if (!reads)
			(void)sched_yield();
	}
	for (unsigned int i = 0; i < OWN; i++)
		assert_int_equal(app[1].in[i], i + 7);
}

static void both_talk(enum fi_progress progress)
{
	struct node *node = calloc(2, sizeof(*node));
	uint64_t end = now_ms() + 6 * PATIENCE_MS;
	ssize_t ret;

	assert_non_null(node);
	node_open(&node[0], progress);
	node_open(&node[1], progress);
	node_meet(&node[0], &node[1]);
	node_meet(&node[1], &node[0]);
	node[0].starts = true;
	assert_int_equal(post_recv(&node[0], 0), 0);
	assert_int_equal(post_recv(&node[1], 0), 0);
	while ((ret = post_send(&node[0], 0)) == -FI_EAGAIN) {
		assert_true(now_ms() < end);
		(void)fi_cq_read(node[0].cq, NULL, 0);
		(void)fi_cq_read(node[1].cq, NULL, 0);
	}
	assert_int_equal(ret, 0);
	talk(node, end, progress == FI_PROGRESS_MANUAL);
	for (int n = 0; n < 2; n++) {
		assert_int_equal(atomic_load(&node[n].failed), 0);
		/* Only the application's own are counted. */
		assert_int_equal(fi_cntr_read(node[n].cntr), 2 * OWN);
	}
	node_close(&node[0]);
	node_close(&node[1]);
	free(node);
}

static void manual(void **state)
{
	both_talk(FI_PROGRESS_MANUAL);
}

static void automatic(void **state)
{
	both_talk(FI_PROGRESS_AUTO);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual),
		cmocka_unit_test(automatic),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
