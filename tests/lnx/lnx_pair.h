/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LNX_LNX_PAIR_H
#define TESTS_LNX_LNX_PAIR_H

/* Endpoints of lnx through the public interface, and messages between two of them. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "../rdm_end.h"
#include "../time_limits.h"

/* Time limit for an event, in seconds. */
#define PATIENCE_S ((time_t)limit_s(20))

static inline struct fi_info *lnx_hints(uint32_t addr_format)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = addr_format;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("lnx");
	return hints;
}

/* The answer of fi_getinfo; NULL: none. */
static inline struct fi_info *lnx_info(
	uint32_t addr_format, const char *node, const char *service, uint64_t flags)
{
	struct fi_info *hints = lnx_hints(addr_format), *info = NULL;

	if (fi_getinfo(FI_VERSION(2, 0), node, service, flags, hints, &info))
		info = NULL;
	fi_freeinfo(hints);
	return info;
}

static inline fi_addr_t end_insert(struct rdm_end *end, const void *addr)
{
	fi_addr_t index = FI_ADDR_NOTAVAIL;

	assert_int_equal(fi_av_insert(end->av, addr, 1, &index, 0, NULL), 1);
	return index;
}

/* Send a tagged message of @from to @addr, which arrives at @to. An error of an earlier
 * attempt does not matter: the messages that the old process of a restarted peer had
 * not received are sent again. Returns the source in the completion of @to. */
static inline fi_addr_t exchange(
	struct rdm_end *from, fi_addr_t addr, struct rdm_end *to, uint64_t tag)
{
	time_t deadline = now_s() + PATIENCE_S;
	struct fi_context2 tx, rx;
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t out = tag, in = 0;
	struct iovec iov = { &out, sizeof(out) };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = addr,
		.tag = tag,
		.context = &tx };
	bool sending = false;
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	ssize_t ret;

	assert_int_equal(
		fi_trecv(to->ep, &in, sizeof(in), NULL, FI_ADDR_UNSPEC, tag, 0, &rx),
		0);
	for (bool sent = false, received = false; !sent || !received;) {
		if (!sending)
			sending = !fi_tsendmsg(from->ep, &msg, FI_DELIVERY_COMPLETE);
		ret = fi_cq_read(from->cq, &entry, 1);
		sent |= ret == 1;
		if (ret == -FI_EAVAIL) {
			assert_int_equal(fi_cq_readerr(from->cq, &err, 0), 1);
			sending = false;
		}
		ret = fi_cq_readfrom(to->cq, &entry, 1, &src);
		if (ret == 1) {
			assert_ptr_equal(entry.op_context, &rx);
			assert_int_equal(entry.tag, tag);
			received = true;
		}
		assert_true(now_s() < deadline);
	}
	assert_int_equal(in, tag);
	return src;
}

/* A port that is free now. */
static inline uint16_t free_port(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (void *)&in, len), 0);
	assert_int_equal(getsockname(fd, (void *)&in, &len), 0);
	(void)close(fd);
	return ntohs(in.sin_port);
}

#endif
