/* SPDX-License-Identifier: BSD-2-Clause */
/* udp_pingpong SIZE TURNS: best and median one-way time in ns of udp endpoints, each
 * message sent with a completion and received into a posted buffer, one queue for both.
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "pair.h"

enum { BATCH = 100 };

struct work {
	size_t size, turns;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t peer;
	char *tx, *rx;
	unsigned int sent, received; /* completions not used up yet */
};

static void must(ssize_t ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	exit(1);
}

static void open_endpoint(struct work *w)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	hints->caps = FI_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup("udp");
	must(fi_getinfo(
		     FI_VERSION(2, 0), "127.0.0.1", NULL, FI_SOURCE, hints, &w->info),
		"fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(w->info->fabric_attr, &w->fabric, NULL), "fi_fabric");
	must(fi_domain(w->fabric, w->info, &w->domain, NULL), "fi_domain");
	must(fi_cq_open(w->domain, &cq_attr, &w->cq, NULL), "fi_cq_open");
	must(fi_av_open(w->domain, &av_attr, &w->av, NULL), "fi_av_open");
	must(fi_endpoint(w->domain, w->info, &w->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(w->ep, &w->cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
	must(fi_ep_bind(w->ep, &w->av->fid, 0), "bind AV");
	must(fi_enable(w->ep), "fi_enable");
}

static void post(struct work *w)
{
	must(fi_recv(w->ep, w->rx, w->size, NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
}

/* One entry at least. */
static void reap(struct work *w)
{
	struct fi_cq_msg_entry entries[4];
	ssize_t n;

	do {
		n = fi_cq_read(w->cq, entries, 4);
	} while (n == -FI_EAGAIN);
	must(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		w->sent += !!(entries[i].flags & FI_SEND);
		w->received += !!(entries[i].flags & FI_RECV);
	}
}

static void say(struct work *w)
{
	must(fi_send(w->ep, w->tx, w->size, NULL, w->peer, NULL), "fi_send");
	while (!w->sent)
		reap(w);
	w->sent--;
}

static void hear(struct work *w)
{
	while (!w->received)
		reap(w);
	w->received--;
	post(w);
}

static void turns(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		if (pair->side) {
			hear(w);
			say(w);
		} else {
			say(w);
			hear(w);
		}
	}
}

static void run(const struct pair *pair, void *arg)
{
	struct work *w = arg;
	char mine[64] = { 0 }, theirs[64];
	size_t len = sizeof(mine);

	open_endpoint(w);
	w->tx = calloc(1, w->size + 1);
	w->rx = calloc(1, w->size + 1);
	must(fi_getname(&w->ep->fid, mine, &len), "fi_getname");
	post(w);
	pair_swap(pair, mine, theirs, sizeof(mine));
	if (fi_av_insert(w->av, theirs, 1, &w->peer, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
	pair_time(pair, turns, w, w->turns, BATCH);
}

int main(int argc, char **argv)
{
	struct work w = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: %s SIZE TURNS\n", argv[0]);
		return 2;
	}
	w.size = strtoul(argv[1], NULL, 0);
	w.turns = strtoul(argv[2], NULL, 0);
	return pair_main(run, &w);
}
