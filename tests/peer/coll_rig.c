/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_rig.h"

#include "objects/endpoint/calls/transfer.h"
#include "objects/peer/open.h"

/* What the main provider owns. */

static int av_query(struct fid_peer_av *av, struct fi_av_attr *attr)
{
	*attr = (struct fi_av_attr){ .type = FI_AV_TABLE, .count = NODES_MAX };
	return 0;
}

static fi_addr_t av_ep_addr(struct fid_peer_av *av, struct fid_ep *ep)
{
	const struct coll_node *node = av->fid.context;

	assert_ptr_equal(ep, node->ep);
	return node->addr[node->self];
}

static struct fi_ops_av_owner av_ops = { sizeof(av_ops), av_query, av_ep_addr };

struct set {
	struct fid_peer_av_set fid;
	const struct coll_node *node;
	const unsigned int *member;
	size_t count;
};

static int set_members(struct fid_peer_av_set *fid, fi_addr_t *addr, size_t *count)
{
	const struct set *set = fid->fid.context;
	size_t room = *count;

	*count = set->count;
	if (room < set->count)
		return -FI_ETOOSMALL;
	for (size_t i = 0; i < set->count; i++)
		addr[i] = set->node->addr[set->member[i]];
	return 0;
}

static struct fi_ops_av_set_owner set_ops = { sizeof(set_ops), set_members };

/* Opening. */

struct fi_info *coll_rig_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->mode = FI_PEER_TRANSFER;
	hints->caps = FI_COLLECTIVE;
	hints->fabric_attr->prov_name = strdup("off_coll");
	return hints;
}

static struct fi_info *find_main(const struct coll_options *options, unsigned int self)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	bool ip = !strcmp(rig_provider, "tcp");

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | (options->no_source ? 0 : FI_SOURCE);
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(rig_provider);
	assert_int_equal(fi_getinfo(FI_VERSION(2, 6), ip ? "127.0.0.1" : NULL, NULL,
				 ip ? FI_SOURCE : 0, hints, &info),
		0);
	fi_freeinfo(hints);
	if (options->max_msg_size)
		info->ep_attr->max_msg_size = options->max_msg_size;
	if (options->unordered & 1u << self)
		info->tx_attr->msg_order = info->rx_attr->msg_order = 0;
	return info;
}

static void open_main(struct coll_node *node, const struct coll_options *options)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	node->info = find_main(options, node->self);
	assert_int_equal(fi_fabric(node->info->fabric_attr, &node->fabric, NULL), 0);
	assert_int_equal(fi_domain(node->fabric, node->info, &node->domain, NULL), 0);
	assert_int_equal(fi_cq_open(node->domain, &cq_attr, &node->cq, NULL), 0);
	assert_int_equal(fi_av_open(node->domain, &av_attr, &node->av, NULL), 0);
	assert_int_equal(fi_endpoint(node->domain, node->info, &node->ep, NULL), 0);
}

static void open_coll(struct coll_node *node)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .flags = FI_PEER };
	struct fi_peer_domain_context domain = { sizeof(domain), node->domain };
	struct fi_peer_av_context av = { sizeof(av), &node->peer_av };
	struct fi_info *hints = coll_rig_hints();

	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &node->coll_info),
		0);
	fi_freeinfo(hints);
	assert_int_equal(
		fi_fabric(node->coll_info->fabric_attr, &node->coll_fabric, NULL), 0);
	assert_int_equal(fi_domain2(node->coll_fabric, node->coll_info,
				 &node->coll_domain, FI_PEER, &domain),
		0);
	wf_cq_export(wf_cq_of(node->cq), &node->peer_cq);
	assert_int_equal(wf_peer_open_cq(node->coll_domain, &cq_attr, &node->peer_cq,
				 &node->coll_cq),
		0);
	node->peer_av.fid.fclass = FI_CLASS_PEER_AV;
	node->peer_av.fid.context = node;
	node->peer_av.owner_ops = &av_ops;
	assert_int_equal(
		fi_av_open(node->coll_domain, &av_attr, &node->coll_av, &av), 0);
	node->coll_info->mode |= FI_PEER_TRANSFER;
	assert_int_equal(wf_transfer_open(wf_ep_of(node->ep), node->coll_domain,
				 node->coll_info, &node->coll_ep),
		0);
}

static void enable(struct coll_node *node)
{
	const uint64_t flags = FI_TRANSMIT | FI_RECV;

	assert_int_equal(fi_ep_bind(node->ep, &node->cq->fid, flags), 0);
	assert_int_equal(fi_ep_bind(node->ep, &node->av->fid, 0), 0);
	assert_int_equal(fi_enable(node->ep), 0);
	assert_int_equal(fi_ep_bind(node->coll_ep, &node->coll_cq->fid, flags), 0);
	assert_int_equal(fi_ep_bind(node->coll_ep, &node->coll_av->fid, 0), 0);
	assert_int_equal(fi_enable(node->coll_ep), 0);
	node->is_open = true;
}

/* @known: so many nodes are in all AVs. */
static void meet(struct coll_rig *rig, struct coll_node *node, unsigned int known)
{
	for (unsigned int i = 0; i < rig->count; i++) {
		char name[NAME_ROOM];
		size_t len = sizeof(name);

		node->addr[i] = FI_ADDR_NOTAVAIL;
		if (i >= known && i != node->self)
			continue;
		assert_int_equal(fi_getname(&rig->node[i].ep->fid, name, &len), 0);
		assert_int_equal(
			fi_av_insert(node->av, name, 1, &node->addr[i], 0, NULL), 1);
	}
}

struct coll_rig *coll_rig_open(unsigned int count, const struct coll_options *options)
{
	static const struct coll_options none;
	struct coll_rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	if (!options)
		options = &none;
	rig->count = count;
	/* One thread makes all progress, step by step. */
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 1);
	for (unsigned int i = 0; i < count; i++) {
		rig->node[i].self = i;
		open_main(&rig->node[i], options);
		open_coll(&rig->node[i]);
		enable(&rig->node[i]);
	}
	for (unsigned int i = 0; i < count; i++)
		meet(rig, &rig->node[i], count - options->strangers);
	return rig;
}

void coll_node_end(struct coll_node *node)
{
	if (!node->is_open)
		return;
	node->is_open = false;
	if (node->ep)
		assert_int_equal(fi_close(&node->ep->fid), 0);
	assert_int_equal(fi_close(&node->coll_av->fid), 0);
	assert_int_equal(fi_close(&node->coll_cq->fid), 0);
	assert_int_equal(fi_close(&node->coll_domain->fid), 0);
	assert_int_equal(fi_close(&node->coll_fabric->fid), 0);
	wf_cq_unexport(&node->peer_cq);
	assert_int_equal(fi_close(&node->av->fid), 0);
	assert_int_equal(fi_close(&node->cq->fid), 0);
	assert_int_equal(fi_close(&node->domain->fid), 0);
	assert_int_equal(fi_close(&node->fabric->fid), 0);
	fi_freeinfo(node->info);
	fi_freeinfo(node->coll_info);
}

void coll_rig_close(struct coll_rig *rig)
{
	for (unsigned int i = 0; i < rig->count; i++)
		coll_node_end(&rig->node[i]);
	free(rig);
}

void coll_rig_progress(struct coll_rig *rig)
{
	if (rig->each_time)
		rig->each_time(rig);
	for (unsigned int i = 0; i < rig->count; i++) {
		struct coll_node *node = &rig->node[i];

		if (!node->is_open)
			continue;
		(void)fi_cq_read(node->cq, NULL, 0);
		(void)fi_cq_read(node->coll_cq, NULL, 0);
	}
}

void coll_rig_settle(struct coll_rig *rig)
{
	for (int i = 0; i < 200; i++)
		coll_rig_progress(rig);
}

static void joined(void *context, int err)
{
	struct coll_mc *mc = context;

	mc->joined++;
	mc->err = err;
}

static int join(struct coll_node *node, const unsigned int *member, unsigned int count,
	void (*callback)(void *context, int err), struct coll_mc *ret)
{
	struct set set = { .node = node, .member = member, .count = count };
	struct fi_peer_av_set_context set_context = { sizeof(set_context),
		(struct fi_peer_av_set *)(void *)&set.fid };
	struct fi_av_set_attr attr = { .flags = FI_PEER };
	struct fi_peer_mc_context context = {
		.size = sizeof(context),
		.mc = &ret->main,
		.joined = callback,
		.context = ret,
	};
	struct fid_av_set *av_set;
	int err;

	memset(ret, 0, sizeof(*ret));
	set.fid.fid.context = &set;
	set.fid.owner_ops = &set_ops;
	assert_int_equal(fi_av_set(node->coll_av, &attr, &av_set, &set_context), 0);
	err = fi_join_collective(
		node->coll_ep, FI_ADDR_NOTAVAIL, av_set, FI_PEER, &ret->mc, &context);
	assert_int_equal(fi_close(&av_set->fid), 0);
	/* Never inside the call. */
	assert_int_equal(ret->joined, 0);
	return err;
}

int coll_rig_join(struct coll_node *node, const unsigned int *member,
	unsigned int count, struct coll_mc *ret)
{
	return join(node, member, count, joined, ret);
}

int coll_rig_join_event(struct coll_node *node, const unsigned int *member,
	unsigned int count, struct coll_mc *ret)
{
	return join(node, member, count, NULL, ret);
}

void coll_rig_joined(struct coll_rig *rig, struct coll_mc *mc, int err)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (!mc->joined) {
		assert_true(now_ms() < end);
		coll_rig_progress(rig);
	}
	assert_int_equal(mc->joined, 1);
	assert_int_equal(mc->err, err);
}

void coll_rig_join_all(struct coll_rig *rig, const unsigned int *member,
	unsigned int count, struct coll_mc *mc)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(
			coll_rig_join(&rig->node[member[i]], member, count, &mc[i]), 0);
	for (unsigned int i = 0; i < count; i++)
		coll_rig_joined(rig, &mc[i], 0);
}

void coll_rig_leave(struct coll_mc *mc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_close(&mc[i].mc->fid), 0);
}

int coll_rig_wait(struct coll_rig *rig, struct coll_node *node, void **ret_context)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(node->cq, &entry, 1)) == -FI_EAGAIN) {
		assert_true(now_ms() < end);
		coll_rig_progress(rig);
	}
	if (ret == 1) {
		assert_int_equal(entry.flags, FI_COLLECTIVE);
		*ret_context = entry.op_context;
		return 0;
	}
	assert_int_equal(ret, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(node->cq, &err, 0), 1);
	assert_int_equal(err.flags, FI_COLLECTIVE);
	*ret_context = err.op_context;
	return -err.err;
}

const unsigned int coll_rig_in_order[NODES_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
	11, 12, 13, 14, 15 };

/* Wait for one success of each of the first @count nodes. */
void coll_rig_expect_all(struct coll_rig *rig, unsigned int count, void *context)
{
	for (unsigned int i = 0; i < count; i++) {
		void *got;

		assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
		assert_ptr_equal(got, context);
	}
}

fi_addr_t coll_rig_addr(const struct coll_mc *mc)
{
	return fi_mc_addr(mc->mc);
}

void coll_rig_barrier(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_barrier(rig->node[i].coll_ep, coll_rig_addr(&mc[i]),
					 &rig->count),
			0);
	coll_rig_expect_all(rig, count, &rig->count);
}

bool coll_rig_is_p2p(void)
{
	const char *engine = getenv("FI_OFF_COLL_ENGINE");

	return engine && !strcmp(engine, "p2p");
}

static void broadcast(struct coll_rig *rig, const struct coll_mc *mc,
	unsigned int count, unsigned int root, size_t len)
{
	unsigned char *buf = calloc(count, len);

	assert_non_null(buf);
	memset(buf + root * len, 'a' + (int)root, len);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf + i * len, len,
					 NULL, coll_rig_addr(&mc[i]),
					 rig->node[i].addr[root], FI_UINT8, 0, buf),
			0);
	coll_rig_expect_all(rig, count, buf);
	for (size_t i = 0; i < count * len; i++)
		assert_int_equal(buf[i], 'a' + (int)root);
	free(buf);
}

void coll_rig_allreduce(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count, size_t n)
{
	uint64_t *in = calloc(count * n, sizeof(*in)), *out = calloc(count * n, 8);

	assert_non_null(in);
	assert_non_null(out);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			in[i * n + k] = (i + 1) * 1000 + k;
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_allreduce(rig->node[i].coll_ep, in + i * n, n, NULL,
					 out + i * n, NULL, coll_rig_addr(&mc[i]),
					 FI_UINT64, FI_SUM, 0, in),
			0);
	coll_rig_expect_all(rig, count, in);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			assert_int_equal(out[i * n + k],
				count * (count + 1) / 2 * 1000 + count * k);
	free(in);
	free(out);
}

void coll_rig_every_kind(struct coll_rig *rig, const struct coll_mc *mc, unsigned int n)
{
	coll_rig_barrier(rig, mc, n);
	for (unsigned int root = 0; root < n; root++)
		broadcast(rig, mc, n, root, 1000 * root + 1);
	coll_rig_allreduce(rig, mc, n, 1);
	coll_rig_allreduce(rig, mc, n, 10000);
}
