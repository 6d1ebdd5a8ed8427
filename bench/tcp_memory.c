/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_memory [PEERS]: what the memory of a reliable datagram endpoint grows by for each
 * peer that is connected, that messages went to and came from, and that several are
 * under way to. The peers are endpoints of another process.
 */
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define MUST(cond)                                                                     \
	do {                                                                           \
		if (!(cond)) {                                                         \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);     \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

enum { LEN = 64, BURST = 8 };

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
};

static void open_side(struct side *side)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_info *hints = fi_allocinfo();

	MUST(hints);
	hints->fabric_attr->prov_name = strdup("tcp");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	MUST(!fi_getinfo(
		FI_VERSION(2, 6), "127.0.0.1", NULL, FI_SOURCE, hints, &side->info));
	fi_freeinfo(hints);
	MUST(!fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	MUST(!fi_domain(side->fabric, side->info, &side->domain, NULL));
	MUST(!fi_av_open(side->domain, &av_attr, &side->av, NULL));
	MUST(!fi_cq_open(side->domain, &cq_attr, &side->cq, NULL));
}

static struct fid_ep *open_ep(struct side *side)
{
	struct fid_ep *ep;

	MUST(!fi_endpoint(side->domain, side->info, &ep, NULL));
	MUST(!fi_ep_bind(ep, &side->av->fid, 0));
	MUST(!fi_ep_bind(ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(!fi_enable(ep));
	return ep;
}

static struct sockaddr_in name_of(struct fid_ep *ep)
{
	struct sockaddr_in addr;
	size_t len = sizeof(addr);

	MUST(!fi_getname(&ep->fid, &addr, &len));
	return addr;
}

static void wait_for(struct side *side, size_t count)
{
	struct fi_cq_tagged_entry entry;

	while (count) {
		ssize_t ret = fi_cq_read(side->cq, &entry, 1);

		MUST(ret == 1 || ret == -FI_EAGAIN);
		count -= ret == 1;
	}
}

static void send_one(struct side *side, struct fid_ep *ep, fi_addr_t to,
	const void *buf, void *context)
{
	ssize_t ret;

	while ((ret = fi_tsend(ep, buf, LEN, NULL, to, 0, context)) == -FI_EAGAIN)
		(void)fi_cq_read(side->cq, NULL, 0);
	MUST(!ret);
}

static void receive_one(struct fid_ep *ep, void *buf, void *context)
{
	MUST(!fi_trecv(ep, buf, LEN, NULL, FI_ADDR_UNSPEC, 0, 0, context));
}

/* The process with the peers: each peer writes its address to @addresses, sends one
 * message, and receives all others. */
static void be_peers(size_t peers, int addresses, int go)
{
	struct fid_ep **eps = calloc(peers, sizeof(*eps));
	struct fi_context2 *tx = calloc(peers, sizeof(*tx));
	struct fi_context2 *rx = calloc(peers * (BURST + 1), sizeof(*rx));
	struct sockaddr_in server;
	static char out[LEN], in[LEN];
	struct side side;
	fi_addr_t to;

	MUST(eps && tx && rx);
	open_side(&side);
	for (size_t i = 0; i < peers; i++) {
		struct sockaddr_in addr;

		eps[i] = open_ep(&side);
		for (size_t k = 0; k <= BURST; k++)
			receive_one(eps[i], in, &rx[i * (BURST + 1) + k]);
		addr = name_of(eps[i]);
		MUST(write(addresses, &addr, sizeof(addr)) == sizeof(addr));
	}
	MUST(read(go, &server, sizeof(server)) == sizeof(server));
	MUST(fi_av_insert(side.av, &server, 1, &to, 0, NULL) == 1);
	for (size_t i = 0; i < peers; i++)
		send_one(&side, eps[i], to, out, &tx[i]);
	wait_for(&side, peers * (1 + 1 + BURST));
	exit(0);
}

static size_t heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void row(const char *what, size_t before, size_t peers)
{
	size_t now = heap();

	printf("%-40s %8.0f bytes a peer\n", what,
		(double)(now - before) / (double)peers);
}

int main(int argc, char **argv)
{
	size_t peers = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, before;
	struct rlimit limit;
	struct sockaddr_in addr, *addrs = calloc(peers, sizeof(*addrs));
	fi_addr_t *to = calloc(peers, sizeof(*to));
	struct fi_context2 *contexts = calloc(peers * BURST, sizeof(*contexts));
	static char out[LEN], in[LEN];
	int addresses[2], go[2];
	struct side side;
	struct fid_ep *ep;
	pid_t pid;

	MUST(addrs && to && contexts && peers);
	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	MUST(!pipe(addresses) && !pipe(go));
	pid = fork();
	MUST(pid >= 0);
	(void)alarm(120);
	if (!pid)
		be_peers(peers, addresses[1], go[0]);
	open_side(&side);
	ep = open_ep(&side);
	for (size_t i = 0; i < peers; i++)
		MUST(read(addresses[0], &addrs[i], sizeof(*addrs)) == sizeof(*addrs));
	before = heap();
	addr = name_of(ep);
	MUST(write(go[1], &addr, sizeof(addr)) == sizeof(addr));
	for (size_t i = 0; i < peers; i++) {
		receive_one(ep, in, &contexts[i]);
		wait_for(&side, 1);
	}
	row("connected to us, heard from, idle", before, peers);
	MUST(fi_av_insert(side.av, addrs, peers, to, 0, NULL) == (int)peers);
	row("and in the address vector", before, peers);
	for (size_t i = 0; i < peers; i++)
		send_one(&side, ep, to[i], out, &contexts[i]);
	wait_for(&side, peers);
	row("and sent to, idle", before, peers);
	for (size_t k = 0; k < BURST; k++)
		for (size_t i = 0; i < peers; i++)
			send_one(&side, ep, to[i], out, &contexts[i * BURST + k]);
	row("and 8 messages under way to each", before, peers);
	wait_for(&side, peers * BURST);
	row("and idle again", before, peers);
	MUST(waitpid(pid, NULL, 0) == pid);
	return 0;
}
