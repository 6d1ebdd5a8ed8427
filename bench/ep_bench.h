/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EP_BENCH_H
#define EP_BENCH_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "pair.h"

enum { WINDOW = 64, TAG = 7 };

struct bench_test;

/* One endpoint of any kind and what it needs; one queue for both directions. */
struct work {
	const char *provider;
	enum fi_ep_type type;
	const struct bench_test *test;
	size_t size, count, idle, batch;
	bool tagged; /* messages are, where a test leaves it open */

	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t peer;

	char *tx, *rx; /* rx is what the peer may write and read */
	struct fid_mr *tx_mr, *rx_mr;
	void *tx_desc, *rx_desc;
	uint64_t remote_addr, remote_key;

	uint64_t sent, received; /* completions not used up yet */
	uint64_t turn;
};

void must(ssize_t ret, const char *what);

/* Open an endpoint and connect it to the other side's, or insert that one's address. */
void ep_open(struct work *w, const struct pair *pair);
/* One more of this side alone, or one more connection of both. */
struct fid_ep *ep_another(struct work *w, struct fid_cq *cq);
struct fid_ep *ep_connect(struct work *w, const struct pair *pair);
/* One side tells the address of @ep; the other inserts it and returns where it is. */
void ep_tell(const struct pair *pair, struct fid_ep *ep);
fi_addr_t ep_told(const struct pair *pair, struct work *w);
/* Register both buffers and swap what RMA needs. */
void ep_register(struct work *w, const struct pair *pair);

#endif
