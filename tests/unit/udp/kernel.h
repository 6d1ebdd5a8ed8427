/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_UDP_KERNEL_H
#define TESTS_UNIT_UDP_KERNEL_H

/*
 * An endpoint of the udp provider whose kernel the test plays: the test decides what
 * arrives, also several datagrams as one train, and which calls fail; it sees each
 * datagram and train that leaves. The sockets are real, but carry nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "../pair.h"
#include "providers/udp/burst.h"
#include "sys/compiler.h"

enum { ARRIVALS_MAX = 128, CALLS_MAX = 512, POLLS_MAX = 256 };

/* One datagram, or one train of them, or an error. */
struct arrival {
	int err; /* errno of the receive call; 0: a datagram */
	size_t len;
	size_t segment; /* length of the datagrams of a train; 0: it is none */
	unsigned int seed;
	uint16_t port; /* of the source */
	int fd;        /* socket at which it is; -1: any */
};

/* One call that sends. */
struct call {
	size_t len, pieces;
	uint16_t segment;
	uint16_t port; /* of the destination */
	uint8_t first; /* the first byte */
};

static struct {
	struct arrival arrivals[ARRIVALS_MAX];
	unsigned int arrival_count, arrival_next;
	/* The sockets in the order in which receives were tried. */
	int polls[POLLS_MAX];
	unsigned int poll_count;
	uint8_t *into; /* where the last datagram was put */
	size_t space;  /* how much could be put there */
	/* Results of the next calls that send: errno, 0: success. All later ones
	 * succeed. */
	int errors[CALLS_MAX];
	unsigned int error_count, error_next;
	struct call calls[CALLS_MAX]; /* the successful ones */
	unsigned int call_count, refused;
	int gro_err;       /* errno of setting UDP_GRO */
	unsigned int gros; /* attempts to set it */
	bool gro;          /* it is set */
	int join_err;      /* errno of joining a group */
} kernel;

static inline void kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
}

/* ---- receiving ---- */

static inline void arrive(struct arrival a)
{
	assert_true(kernel.arrival_count < ARRIVALS_MAX);
	kernel.arrivals[kernel.arrival_count++] = a;
}

static inline unsigned int arrivals_left(void)
{
	return kernel.arrival_count - kernel.arrival_next;
}

/* The next arrival, if it is at @fd. */
static inline const struct arrival *next_arrival(int fd)
{
	const struct arrival *a = &kernel.arrivals[kernel.arrival_next];

	if (kernel.poll_count < POLLS_MAX)
		kernel.polls[kernel.poll_count++] = fd;
	if (!arrivals_left() || (a->fd > 0 && a->fd != fd)) {
		errno = EAGAIN;
		return NULL;
	}
	kernel.arrival_next++;
	if (a->err)
		errno = a->err;
	return a->err ? NULL : a;
}

static inline struct sockaddr_in name_of(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* The bytes that fit are copied; a datagram's true length is the result. */
static inline void put_bytes(
	const struct arrival *a, const struct iovec *iov, size_t iov_count)
{
	size_t at = 0;

	kernel.into = iov_count ? iov[0].iov_base : NULL;
	kernel.space = 0;
	for (size_t i = 0; i < iov_count; i++) {
		kernel.space += iov[i].iov_len;
		for (size_t k = 0; k < iov[i].iov_len && at < a->len; k++, at++)
			((uint8_t *)iov[i].iov_base)[k] = fill_byte(a->seed, at);
	}
	/* The kernel cuts a train that does not fit, and its end is lost. */
	assert_true(!a->segment || a->len <= kernel.space);
}

static inline void put_name(
	const struct arrival *a, struct sockaddr *to, socklen_t *len)
{
	struct sockaddr_in name = name_of(a->port);

	if (!to)
		return;
	assert_true(*len >= sizeof(name));
	memcpy(to, &name, sizeof(name));
	*len = sizeof(name);
}

static inline void put_segment(const struct arrival *a, struct msghdr *msg)
{
	int segment = (int)a->segment;
	struct cmsghdr *c;

	if (!segment) {
		msg->msg_controllen = 0;
		return;
	}
	/* Trains come only to endpoints that asked for them, and can tell them. */
	assert_true(kernel.gro);
	assert_true(msg->msg_controllen >= CMSG_SPACE(sizeof(segment)));
	c = msg->msg_control;
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_GRO;
	c->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	msg->msg_controllen = CMSG_SPACE(sizeof(segment));
}

#define VISIBLE __attribute__((visibility("default")))
VISIBLE ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
VISIBLE ssize_t __wrap_recvfrom(int fd, void *buf, size_t len, int flags,
	struct sockaddr *from, socklen_t *from_len);
VISIBLE ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags);
VISIBLE ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
VISIBLE ssize_t __wrap_sendto(int fd, const void *buf, size_t len, int flags,
	const struct sockaddr *to, socklen_t to_len);
VISIBLE int __wrap_setsockopt(
	int fd, int level, int name, const void *value, socklen_t len);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	const struct arrival *a = next_arrival(fd);

	assert_int_equal(flags, MSG_TRUNC);
	if (!a)
		return -1;
	put_bytes(a, msg->msg_iov, msg->msg_iovlen);
	put_name(a, msg->msg_name, &msg->msg_namelen);
	put_segment(a, msg);
	return (ssize_t)a->len;
}

ssize_t __wrap_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
	socklen_t *from_len)
{
	struct iovec iov = { buf, len };
	struct msghdr msg = { .msg_name = from,
		.msg_namelen = from ? *from_len : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1 };
	ssize_t ret = __wrap_recvmsg(fd, &msg, flags);

	if (from)
		*from_len = msg.msg_namelen;
	return ret;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	return __wrap_recvfrom(fd, buf, len, flags, NULL, NULL);
}

/* ---- sending ---- */

static inline uint16_t segment_of(const struct msghdr *msg)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	uint16_t segment;

	if (!c)
		return 0;
	assert_int_equal(c->cmsg_level, IPPROTO_UDP);
	assert_int_equal(c->cmsg_type, UDP_SEGMENT);
	assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(segment)));
	memcpy(&segment, CMSG_DATA(c), sizeof(segment));
	return segment;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	const struct sockaddr_in *to = msg->msg_name;
	int err = kernel.error_next < kernel.error_count
			  ? kernel.errors[kernel.error_next++]
			  : 0;
	struct call call = { .pieces = msg->msg_iovlen, .segment = segment_of(msg) };

	(void)fd;
	assert_int_equal(flags, 0);
	assert_int_equal(msg->msg_namelen, sizeof(*to));
	if (err) {
		errno = err;
		kernel.refused++;
		return -1;
	}
	call.port = ntohs(to->sin_port);
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		const struct iovec *iov = &msg->msg_iov[i];

		if (!call.len && iov->iov_len)
			call.first = *(uint8_t *)iov->iov_base;
		call.len += iov->iov_len;
	}
	assert_true(kernel.call_count < CALLS_MAX);
	kernel.calls[kernel.call_count++] = call;
	return (ssize_t)call.len;
}

ssize_t __wrap_sendto(int fd, const void *buf, size_t len, int flags,
	const struct sockaddr *to, socklen_t to_len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)to,
		.msg_namelen = to_len,
		.msg_iov = &iov,
		.msg_iovlen = 1 };

	return __wrap_sendmsg(fd, &msg, flags);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (kernel.join_err && level == IPPROTO_IP && name == IP_ADD_MEMBERSHIP) {
		errno = kernel.join_err;
		return -1;
	}
	if (level != IPPROTO_UDP || name != UDP_GRO)
		return __real_setsockopt(fd, level, name, value, len);
	kernel.gros++;
	assert_int_equal(*(const int *)value, 1);
	if (kernel.gro_err) {
		errno = kernel.gro_err;
		return -1;
	}
	kernel.gro = true;
	return 0;
}

/* The next calls that send fail with these. */
static inline void fail_sends(int err, unsigned int count)
{
	while (count--)
		kernel.errors[kernel.error_count++] = err;
}

/* ---- the endpoint ---- */

/* Ports of two peers; their addresses are in the AV in this order. */
enum { PORT_A = 7001, PORT_B = 7002, PORT_STRANGER = 7003 };

struct host {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *fid;
	struct udp_ep *udp;
	fi_addr_t a, b;
};

struct host_options {
	uint64_t caps;
	enum fi_progress progress;
	bool sources; /* datagrams carry their source: wf_xfer_ops.tell_sources */
	bool selective;
	bool no_wait; /* no thread sleeps on the queue */
};

struct fi_provider *udp_prov_ini(void);

static inline struct fi_info *host_info(const struct host_options *o)
{
	static struct fi_provider *prov;
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	if (!prov)
		prov = udp_prov_ini();
	assert_non_null(hints);
	hints->caps = o->caps;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->progress = o->progress;
	assert_int_equal(prov->getinfo(FI_VERSION(2, 0), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	info->fabric_attr->api_version = FI_VERSION(2, 0);
	return info;
}

static inline void host_open(struct host *h, struct host_options o)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = o.no_wait ? FI_WAIT_NONE : FI_WAIT_FD };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct sockaddr_in peers[] = { name_of(PORT_A), name_of(PORT_B) };
	uint64_t flags = FI_TRANSMIT | FI_RECV;

	memset(h, 0, sizeof(*h));
	kernel_reset();
	h->info = host_info(&o);
	assert_int_equal(
		udp_prov_ini()->fabric(h->info->fabric_attr, &h->fabric, NULL), 0);
	assert_int_equal(fi_domain(h->fabric, h->info, &h->domain, NULL), 0);
	assert_int_equal(fi_cq_open(h->domain, &cq_attr, &h->cq, NULL), 0);
	assert_int_equal(fi_av_open(h->domain, &av_attr, &h->av, NULL), 0);
	assert_int_equal(fi_av_insert(h->av, &peers[0], 1, &h->a, 0, NULL), 1);
	assert_int_equal(fi_av_insert(h->av, &peers[1], 1, &h->b, 0, NULL), 1);
	assert_int_equal(fi_endpoint(h->domain, h->info, &h->fid, NULL), 0);
	h->udp = udp_ep_of(wf_container_of(h->fid, struct wf_ep, fid));
	if (o.sources)
		h->udp->ep.xfer->tell_sources(&h->udp->ep);
	if (o.selective)
		flags |= FI_SELECTIVE_COMPLETION;
	assert_int_equal(fi_ep_bind(h->fid, &h->cq->fid, flags), 0);
	assert_int_equal(fi_ep_bind(h->fid, &h->av->fid, 0), 0);
	assert_int_equal(fi_enable(h->fid), 0);
}

static inline void host_close(struct host *h)
{
	assert_int_equal(fi_close(&h->fid->fid), 0);
	assert_int_equal(fi_close(&h->av->fid), 0);
	assert_int_equal(fi_close(&h->cq->fid), 0);
	assert_int_equal(fi_close(&h->domain->fid), 0);
	assert_int_equal(fi_close(&h->fabric->fid), 0);
	fi_freeinfo(h->info);
}

/* One progress call. */
static inline void progress(struct host *h)
{
	wf_lock(&h->udp->ep.lock);
	udp_progress(&h->udp->ep);
	wf_unlock(&h->udp->ep.lock);
}

/* The next completion, which must be there. */
static inline struct fi_cq_tagged_entry completed(struct host *h, fi_addr_t *src)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t unused;

	assert_int_equal(fi_cq_readfrom(h->cq, &entry, 1, src ? src : &unused), 1);
	return entry;
}

static inline struct fi_cq_err_entry failed(struct host *h)
{
	struct fi_cq_err_entry err = { 0 };

	assert_int_equal(
		fi_cq_read(h->cq, &(struct fi_cq_tagged_entry){ 0 }, 1), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(h->cq, &err, 0), 1);
	return err;
}

static inline void quiet(struct host *h)
{
	assert_int_equal(
		fi_cq_read(h->cq, &(struct fi_cq_tagged_entry){ 0 }, 1), -FI_EAGAIN);
}

static inline void post_slices(struct host *h, void *buf, size_t len, size_t min)
{
	const struct iovec iov = { buf, len };
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buf
	};

	assert_int_equal(fi_setopt(&h->fid->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &min, sizeof(min)),
		0);
	assert_int_equal(fi_recvmsg(h->fid, &msg, FI_MULTI_RECV | FI_COMPLETION), 0);
}

static inline void check_bytes(
	const void *got, unsigned int seed, size_t from, size_t len)
{
	const uint8_t *bytes = got;

	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], fill_byte(seed, from + i));
}

#endif
