/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_RXM_BELOW_STATE_H
#define TESTS_UNIT_RXM_BELOW_STATE_H

/* What the provider of below_fake.h keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "sys/compiler.h"
#include "sys/iov.h"

enum {
	FAKE_BYTES = 2048,
	FAKE_POSTS = 512,
	FAKE_QUEUE = 512,
	FAKE_EPS = 8,
	FAKE_PORT = 4000
};

enum fake_kind { FAKE_RECV, FAKE_SEND, FAKE_INJECT, FAKE_READ, FAKE_WRITE, FAKE_KINDS };

struct fake_ep {
	struct fid_ep fid;
	bool open, enabled;
	struct fid *handle; /* of the request that it accepts; NULL: it asks */
	struct sockaddr_in dest;
	/* Receives, in order. */
	struct iovec recv[FAKE_QUEUE];
	void *recv_context[FAKE_QUEUE];
	unsigned int posted, used;
	unsigned int tagged; /* receives of tagged messages */
	void *tagged_context;
	void *tagged_buf;
};

struct fake_mr {
	struct fid_mr fid;
	struct iovec iov;
	uint64_t access;
};

struct fake_post {
	enum fake_kind kind;
	struct fid_ep *ep;
	uint8_t bytes[FAKE_BYTES]; /* what the buffers contained, the first bytes */
	size_t len;
	struct iovec iov[8];
	size_t count;
	struct fi_rma_iov rma[4];
	size_t rma_count;
	uint64_t flags, data;
	void *context;
	bool ended;
};

struct fake_done {
	struct fi_cq_tagged_entry entry;
	int err;
};

struct fake_event {
	uint32_t event;
	struct fid *fid;
	struct fi_info *info; /* of a request */
	uint8_t data[128];
	size_t len;
	int err; /* positive: an error with the data */
};

/* What the provider says of itself. */
struct fake_says {
	uint64_t caps, mode;
	int mr_mode;
	size_t key_size, inject_size, max_msg_size, iov_limit, rma_iov_limit;
	uint32_t addr_format;
	const char *domain;
	/* It accepts hints with FI_DELIVERY_COMPLETE, and with FI_TAGGED. */
	bool delivery, tagged;
	bool srx; /* It has shared receive contexts. */
};

static const struct fake_says fake_default = {
	.caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE |
		FI_REMOTE_READ | FI_REMOTE_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM,
	.key_size = 8,
	.inject_size = 128,
	.max_msg_size = 1 << 20,
	.iov_limit = 5,
	.rma_iov_limit = 4,
	.addr_format = FI_SOCKADDR_IN,
	.domain = "wire",
};

static struct fake {
	struct fake_says says;
	int open; /* objects that are open */
	struct fake_ep eps[FAKE_EPS];
	struct fid_ep *last;                /* the endpoint that was opened last */
	struct fake_post posts[FAKE_POSTS]; /* all but receives */
	unsigned int post_count;
	/* With which the domain was opened. */
	uint64_t domain_caps, tx_caps, rx_caps;
	int domain_mr_mode;
	int connect_err;         /* fi_connect returns this; 0: success */
	size_t tx_size, rx_size; /* of the endpoint that was opened last */
	size_t dest_len;         /* of the endpoint that was opened last */
	unsigned int connects, accepts, rejects, listens;
	uint8_t hello[128]; /* data of the last request, acceptance or rejection */
	size_t hello_len;
	int refuse[FAKE_KINDS]; /* posts of the kind return this; 0: they are taken */
	unsigned int refused[FAKE_KINDS];
	/* The same after this number of further posts; 0: never. */
	unsigned int refuse_from[FAKE_KINDS];
	int refuse_later[FAKE_KINDS];
	struct fake_done done[FAKE_QUEUE];
	unsigned int done_put, done_got;
	struct fake_event events[32];
	unsigned int event_put, event_got;
	/* Regions: how many were made, the last one, and the result of the next
	 * registration. */
	unsigned int regions;
	uint64_t access;
	uint64_t last_key;
	int mr_err;
	unsigned int mr_errs; /* number of registrations that fail */
} fake;

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.says = fake_default;
}

static inline struct sockaddr_in fake_name(uint16_t port)
{
	struct sockaddr_in name = { .sin_family = AF_INET };

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	name.sin_port = htons(port);
	return name;
}

#endif
