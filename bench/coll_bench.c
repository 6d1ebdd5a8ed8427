/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of coll_rows.h with libfabric's collectives:
 *
 *   coll_bench PROVIDER MEMBERS [OPERATION]
 */
#include <rdma/fi_collective.h>

#include "coll_fork.h"
#include "ep_bench.h"

enum { MEMBERS_MAX = 256, NAME_MAX_LEN = 256 };

static const char *provider;

/* What members tell each other before there is a group. */
struct board {
	_Atomic int written; /* members that wrote their names */
	size_t len[MEMBERS_MAX];
	char name[MEMBERS_MAX][NAME_MAX_LEN];
};

struct member {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mc *mc;
	fi_addr_t addr[MEMBERS_MAX];
	fi_addr_t coll;
};

/* ---- one operation ---- */

static void finish(struct member *m, ssize_t started)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_entry entry;
	ssize_t ret;

	must(started, "collective");
	do {
		ret = fi_cq_read(m->cq, &entry, 1);
	} while (ret == -FI_EAGAIN);
	if (ret == -FI_EAVAIL && fi_cq_readerr(m->cq, &err, 0) == 1)
		must(-err.err, "completion");
	must(ret, "fi_cq_read");
}

static void broadcast(struct member *m, const struct coll_call *call)
{
	finish(m, fi_broadcast(m->ep, call->to, call->count, NULL, m->coll,
			  m->addr[call->root], FI_DOUBLE, 0, NULL));
}

static void one_call(struct coll_group *group, const struct coll_call *call)
{
	struct member *m = group->library;

	switch (call->op) {
	case COLL_BARRIER:
		finish(m, fi_barrier(m->ep, m->coll, NULL));
		break;
	case COLL_ALLREDUCE:
		finish(m, fi_allreduce(m->ep, call->from, call->count, NULL, call->to,
				  NULL, m->coll, FI_DOUBLE, FI_SUM, 0, NULL));
		break;
	case COLL_BROADCAST:
		broadcast(m, call);
		break;
	case COLL_ALLTOALL:
		finish(m, fi_alltoall(m->ep, call->from, call->count, NULL, call->to,
				  NULL, m->coll, FI_DOUBLE, 0, NULL));
		break;
	case COLL_ALLGATHER:
		finish(m, fi_allgather(m->ep, call->from, call->count, NULL, call->to,
				  NULL, m->coll, FI_DOUBLE, 0, NULL));
		break;
	case COLL_REDUCE_BROADCAST:
		finish(m, fi_reduce(m->ep, call->from, call->count, NULL, call->to,
				  NULL, m->coll, m->addr[call->root], FI_DOUBLE, FI_SUM,
				  0, NULL));
		broadcast(m, call);
		break;
	}
}

static double max(struct coll_group *group, double mine)
{
	struct member *m = group->library;
	double all;

	finish(m, fi_allreduce(m->ep, &mine, 1, NULL, &all, NULL, m->coll, FI_DOUBLE,
			  FI_MAX, 0, NULL));
	return all;
}

/* ---- the group ---- */

static void get_info(struct member *m)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		pair_fail("fi_allocinfo");
	hints->caps = FI_MSG | FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(provider);
	if (!strncmp(provider, "tcp", 3)) {
		hints->addr_format = FI_SOCKADDR_IN;
		must(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
			     "127.0.0.1", NULL, FI_SOURCE, hints, &m->info),
			"fi_getinfo");
	} else {
		must(fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL,
			     NULL, 0, hints, &m->info),
			"fi_getinfo");
	}
	fi_freeinfo(hints);
}

static void open_ep(struct member *m)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(fi_fabric(m->info->fabric_attr, &m->fabric, NULL), "fi_fabric");
	must(fi_domain(m->fabric, m->info, &m->domain, NULL), "fi_domain");
	must(fi_eq_open(m->fabric, &eq_attr, &m->eq, NULL), "fi_eq_open");
	must(fi_cq_open(m->domain, &cq_attr, &m->cq, NULL), "fi_cq_open");
	must(fi_av_open(m->domain, &av_attr, &m->av, NULL), "fi_av_open");
	must(fi_endpoint(m->domain, m->info, &m->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(m->ep, &m->eq->fid, 0), "bind EQ");
	must(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
	must(fi_ep_bind(m->ep, &m->av->fid, 0), "bind AV");
	must(fi_enable(m->ep), "fi_enable");
}

/* Insert all members' names in the order of their ranks. */
static void exchange_names(struct member *m, struct board *board, int rank, int members)
{
	board->len[rank] = NAME_MAX_LEN;
	must(fi_getname(&m->ep->fid, board->name[rank], &board->len[rank]),
		"fi_getname");
	board->written++;
	while (board->written < members)
		sched_yield();
	for (int i = 0; i < members; i++)
		if (fi_av_insert(m->av, board->name[i], 1, &m->addr[i], 0, NULL) != 1)
			must(-FI_EINVAL, "fi_av_insert");
}

static void join_group(struct member *m)
{
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE,
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fi_eq_entry entry;
	struct fid_av_set *set;
	uint32_t event;
	ssize_t ret;

	must(fi_av_set(m->av, &attr, &set, NULL), "fi_av_set");
	must(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, set, 0, &m->mc, NULL),
		"fi_join_collective");
	do {
		ret = fi_eq_read(m->eq, &event, &entry, sizeof(entry), 0);
		(void)fi_cq_read(m->cq, NULL, 0);
	} while (ret == -FI_EAGAIN);
	must(ret, "fi_eq_read");
	if (event != FI_JOIN_COMPLETE)
		must(-FI_EOTHER, "event");
	m->coll = fi_mc_addr(m->mc);
}

static void join(struct coll_group *group, void *board)
{
	static struct member m;

	group->library = &m;
	get_info(&m);
	open_ep(&m);
	exchange_names(&m, board, group->rank, group->members);
	join_group(&m);
}

int main(int argc, char *argv[])
{
	struct coll_group group = { .call = one_call, .max = max };

	group.members = argc > 2 ? atoi(argv[2]) : 0;
	if (group.members < 1 || group.members > MEMBERS_MAX) {
		fprintf(stderr, "usage: coll_bench PROVIDER MEMBERS [OPERATION]\n");
		return 2;
	}
	provider = argv[1];
	return coll_fork(&group, sizeof(struct board), join, argc > 3 ? argv[3] : NULL);
}
