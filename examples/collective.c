/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collectives: four processes form a group, add up their ranks and print the sum.
 *
 *   collective [PROVIDER]
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define MUST(call)                                                                     \
	do {                                                                           \
		ssize_t ret_ = (call);                                                 \
		if (ret_ < 0) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, fi_strerror((int)-ret_));   \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

enum { MEMBERS = 4 };

/* Shared memory of all processes, for their addresses. */
struct board {
	atomic_int names;
	char name[MEMBERS][256];
};

/* The libfabric objects of this process. */
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;

static void open_endpoint(const char *provider)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		exit(1);
	hints->caps = FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->fabric_attr->prov_name = provider ? strdup(provider) : NULL;
	MUST(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_eq_open(fabric, &eq_attr, &eq, NULL));
	MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
	MUST(fi_av_open(domain, &av_attr, &av, NULL));
	MUST(fi_endpoint(domain, info, &ep, NULL));
	MUST(fi_ep_bind(ep, &eq->fid, 0));
	MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_ep_bind(ep, &av->fid, 0));
	MUST(fi_enable(ep));
}

static void close_endpoint(void)
{
	MUST(fi_close(&ep->fid));
	MUST(fi_close(&av->fid));
	MUST(fi_close(&cq->fid));
	MUST(fi_close(&eq->fid));
	MUST(fi_close(&domain->fid));
	MUST(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* Insert the addresses of all processes, this one's as well, in the same order. */
static void exchange_names(struct board *board, int rank)
{
	size_t len = sizeof(board->name[rank]);

	MUST(fi_getname(&ep->fid, board->name[rank], &len));
	board->names++;
	while (board->names < MEMBERS)
		usleep(100);
	for (int i = 0; i < MEMBERS; i++)
		if (fi_av_insert(av, board->name[i], 1, NULL, 0, NULL) != 1)
			exit(1);
}

/* Join the group of all addresses in the AV. */
static struct fid_mc *join(struct fid_av_set **set)
{
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE,
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fi_eq_entry event;
	struct fid_mc *group;
	uint32_t kind;
	ssize_t ret;

	MUST(fi_av_set(av, &attr, set, NULL));
	MUST(fi_join_collective(ep, FI_ADDR_NOTAVAIL, *set, 0, &group, NULL));
	do {
		ret = fi_eq_read(eq, &kind, &event, sizeof(event), 0);
	} while (ret == -FI_EAGAIN);
	MUST(ret);
	return kind == FI_JOIN_COMPLETE ? group : NULL;
}

/* The sum of all members' @mine, at each of them. */
static int64_t sum(struct fid_mc *group, int64_t mine)
{
	struct fi_context2 context;
	struct fi_cq_entry entry;
	int64_t all;
	ssize_t ret;

	MUST(fi_allreduce(ep, &mine, 1, NULL, &all, NULL, fi_mc_addr(group), FI_INT64,
		FI_SUM, 0, &context));
	do {
		ret = fi_cq_read(cq, &entry, 1);
	} while (ret == -FI_EAGAIN);
	MUST(ret);
	return all;
}

static int run(struct board *board, const char *provider, int rank)
{
	struct fid_av_set *set;
	struct fid_mc *group;
	int64_t all;

	open_endpoint(provider);
	exchange_names(board, rank);
	group = join(&set);
	if (!group)
		return 1;
	all = sum(group, rank);
	printf("rank %d of %d over %s: the sum is %lld\n", rank, MEMBERS,
		info->fabric_attr->prov_name, (long long)all);
	MUST(fi_close(&group->fid));
	MUST(fi_close(&set->fid));
	close_endpoint();
	return all != MEMBERS * (MEMBERS - 1) / 2;
}

int main(int argc, char *argv[])
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, failed = 0;

	if (board == MAP_FAILED)
		return 1;
	for (int rank = 0; rank < MEMBERS; rank++)
		if (!fork())
			return run(board, argc > 1 ? argv[1] : NULL, rank);
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
