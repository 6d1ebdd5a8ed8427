/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_bench rdm|msg latency|stream SIZE COUNT [IDLE]: tcp endpoints between two
 * processes. One queue for both directions, a completion for each message. IDLE others
 * are connected and silent: rdm endpoints that said one word to side 0, or pairs of msg
 * endpoints that share the queues.
 *
 *   latency  best and median one-way time in ns
 *   stream   best and median time in ns for each message of a stream, WINDOW at a time
 */
#include <stdbool.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include "pair.h"

enum { BATCH = 100, WINDOW = 64, STREAM_BATCH = 64 * WINDOW };

struct work {
	size_t size, count, idle;
	bool msg, stream;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
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

static void get_info(struct work *w, uint64_t flags, const void *dest, size_t dest_len)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = w->msg ? FI_EP_MSG : FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup("tcp");
	if (dest) {
		hints->dest_addr = malloc(dest_len);
		hints->dest_addrlen = dest_len;
		memcpy(hints->dest_addr, dest, dest_len);
	}
	must(fi_getinfo(FI_VERSION(2, 0), dest ? NULL : "127.0.0.1", NULL, flags, hints,
		     &w->info),
		"fi_getinfo");
	fi_freeinfo(hints);
}

static void open_domain(struct work *w)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };

	must(fi_domain(w->fabric, w->info, &w->domain, NULL), "fi_domain");
	must(fi_cq_open(w->domain, &cq_attr, &w->cq, NULL), "fi_cq_open");
}

static void open_rdm(struct work *w, const struct pair *pair)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	char mine[64] = { 0 }, theirs[64];
	size_t len = sizeof(mine);

	get_info(w, FI_SOURCE, NULL, 0);
	must(fi_fabric(w->info->fabric_attr, &w->fabric, NULL), "fi_fabric");
	open_domain(w);
	must(fi_av_open(w->domain, &av_attr, &w->av, NULL), "fi_av_open");
	must(fi_endpoint(w->domain, w->info, &w->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(w->ep, &w->cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
	must(fi_ep_bind(w->ep, &w->av->fid, 0), "bind AV");
	must(fi_enable(w->ep), "fi_enable");
	must(fi_getname(&w->ep->fid, mine, &len), "fi_getname");
	pair_swap(pair, mine, theirs, sizeof(mine));
	if (fi_av_insert(w->av, theirs, 1, &w->peer, 0, NULL) != 1)
		must(-FI_EINVAL, "fi_av_insert");
}

static void wait_event(struct work *w, uint32_t wanted, struct fi_eq_cm_entry *entry)
{
	uint32_t event;
	ssize_t ret;

	do {
		ret = fi_eq_read(w->eq, &event, entry, sizeof(*entry), 0);
	} while (ret == -FI_EAGAIN);
	must(ret, "fi_eq_read");
	if (event != wanted)
		must(-FI_EOTHER, "event");
}

static struct fid_ep *msg_ep(struct work *w, struct fi_info *info)
{
	struct fid_ep *ep;

	must(fi_endpoint(w->domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &w->cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
	must(fi_ep_bind(ep, &w->eq->fid, 0), "bind EQ");
	must(fi_enable(ep), "fi_enable");
	return ep;
}

/* One end of a connection. */
static struct fid_ep *connect_msg(struct work *w, const struct pair *pair)
{
	struct fi_eq_cm_entry entry;
	struct fid_ep *ep;

	if (pair->side) {
		wait_event(w, FI_CONNREQ, &entry);
		if (!w->domain) {
			w->info = entry.info;
			open_domain(w);
		}
		ep = msg_ep(w, entry.info);
		must(fi_accept(ep, NULL, 0), "fi_accept");
	} else {
		ep = msg_ep(w, w->info);
		must(fi_connect(ep, w->info->dest_addr, NULL, 0), "fi_connect");
	}
	wait_event(w, FI_CONNECTED, &entry);
	return ep;
}

static void open_msg(struct work *w, const struct pair *pair)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	char mine[64] = { 0 }, theirs[64];
	size_t len = sizeof(mine);
	struct fid_pep *pep;

	if (pair->side) {
		get_info(w, FI_SOURCE, NULL, 0);
		must(fi_fabric(w->info->fabric_attr, &w->fabric, NULL), "fi_fabric");
		must(fi_eq_open(w->fabric, &eq_attr, &w->eq, NULL), "fi_eq_open");
		must(fi_passive_ep(w->fabric, w->info, &pep, NULL), "fi_passive_ep");
		must(fi_pep_bind(pep, &w->eq->fid, 0), "fi_pep_bind");
		must(fi_listen(pep), "fi_listen");
		must(fi_getname(&pep->fid, mine, &len), "fi_getname");
		pair_swap(pair, mine, theirs, sizeof(mine));
	} else {
		pair_swap(pair, mine, theirs, sizeof(mine));
		get_info(w, 0, theirs, 16);
		must(fi_fabric(w->info->fabric_attr, &w->fabric, NULL), "fi_fabric");
		must(fi_eq_open(w->fabric, &eq_attr, &w->eq, NULL), "fi_eq_open");
		open_domain(w);
	}
	w->ep = connect_msg(w, pair);
}

static void post(struct work *w)
{
	must(fi_trecv(w->ep, w->rx, w->size, NULL, FI_ADDR_UNSPEC, 7, 0, NULL),
		"fi_trecv");
}

/* One entry at least. */
static void reap(struct work *w)
{
	struct fi_cq_msg_entry entries[WINDOW];
	ssize_t n;

	do {
		n = fi_cq_read(w->cq, entries, WINDOW);
	} while (n == -FI_EAGAIN);
	must(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		w->sent += !!(entries[i].flags & FI_SEND);
		w->received += !!(entries[i].flags & FI_RECV);
	}
}

static void start(struct work *w)
{
	ssize_t ret;

	while ((ret = fi_tsend(w->ep, w->tx, w->size, NULL, w->peer, 7, NULL)) ==
		-FI_EAGAIN)
		(void)fi_cq_read(w->cq, NULL, 0);
	must(ret, "fi_tsend");
}

static void say(struct work *w)
{
	start(w);
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

/* Side 0 sends, and hears once at the end; twice the time, as pair_time halves it. */
static void stream(const struct pair *pair, void *arg, size_t count)
{
	struct work *w = arg;

	for (size_t done = 0; done < count; done += WINDOW) {
		if (pair->side) {
			for (int i = 0; i < WINDOW; i++)
				hear(w);
			continue;
		}
		for (int i = 0; i < WINDOW; i++)
			start(w);
		while (w->sent < WINDOW)
			reap(w);
		w->sent -= WINDOW;
	}
	if (pair->side)
		say(w);
	else
		hear(w);
}

/* Side 1 has them, with a queue of their own that is not read any more. */
static void add_idle_rdm(struct work *w, const struct pair *pair)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_cq_msg_entry entry;
	struct fid_cq *cq;
	struct fid_ep *ep;
	char byte = 0, none = 0;

	if (pair->side)
		must(fi_cq_open(w->domain, &cq_attr, &cq, NULL), "fi_cq_open");
	for (size_t i = 0; i < w->idle; i++) {
		if (!pair->side) {
			hear(w);
			continue;
		}
		must(fi_endpoint(w->domain, w->info, &ep, NULL), "fi_endpoint");
		must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind CQ");
		must(fi_ep_bind(ep, &w->av->fid, 0), "bind AV");
		must(fi_enable(ep), "fi_enable");
		must(fi_tsend(ep, &byte, 1, NULL, w->peer, 7, NULL), "fi_tsend");
		while (fi_cq_read(cq, &entry, 1) != 1)
			;
	}
	pair_swap(pair, &none, &byte, 1);
}

static void add_idle_msg(struct work *w, const struct pair *pair)
{
	char none = 0, byte;

	for (size_t i = 0; i < w->idle; i++)
		(void)connect_msg(w, pair);
	pair_swap(pair, &none, &byte, 1);
}

static void run(const struct pair *pair, void *arg)
{
	struct work *w = arg;

	w->tx = calloc(1, w->size + 1);
	w->rx = calloc(1, w->size + 1);
	if (w->msg)
		open_msg(w, pair);
	else
		open_rdm(w, pair);
	for (int i = 0; i < 4 * WINDOW; i++)
		post(w);
	if (w->msg)
		add_idle_msg(w, pair);
	else
		add_idle_rdm(w, pair);
	pair_time(pair, w->stream ? stream : turns, w, w->count,
		w->stream ? (w->size > 65536 ? 4 * WINDOW : STREAM_BATCH) : BATCH);
}

int main(int argc, char **argv)
{
	struct work w = { 0 };

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: %s rdm|msg latency|stream SIZE COUNT [IDLE]\n",
			argv[0]);
		return 2;
	}
	w.msg = !strcmp(argv[1], "msg");
	w.stream = !strcmp(argv[2], "stream");
	w.size = strtoul(argv[3], NULL, 0);
	w.count = strtoul(argv[4], NULL, 0);
	w.idle = argc == 6 ? strtoul(argv[5], NULL, 0) : 0;
	return pair_main(run, &w);
}
