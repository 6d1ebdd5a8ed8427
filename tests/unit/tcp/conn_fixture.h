/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_CONN_FIXTURE_H
#define TESTS_UNIT_TCP_CONN_FIXTURE_H

/*
 * A connected FI_EP_MSG endpoint of the tcp provider without the exchange that connects
 * one: its connection is made over one end of a socket pair, and the test is the peer
 * at the other end. Both are in one thread, and a byte that one end sent can be read by
 * the other end at once, so that no test has to wait.
 *
 * The test decides how many bytes the kernel takes of what the endpoint sends (kernel),
 * and sends as many bytes of a record as it likes.
 */
#include "unit.h"
#include "../pair.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "objects/local/mode.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/conn.h"
#include "sys/compiler.h"

/* ---- the kernel ---- */

/* What the endpoint's socket does with bytes to send. */
static struct {
	size_t takes;       /* bytes that it takes, then it is full */
	int err;            /* if not 0, the next call fails with this errno */
	unsigned int calls; /* number of calls that sent something */
} kernel;

/* Visible, because the library of a sanitizer has functions with these names as
 * well. */
__attribute__((visibility("default"))) ssize_t __wrap_sendmsg(
	int fd, const struct msghdr *msg, int flags);
__attribute__((visibility("default"))) ssize_t __wrap_send(
	int fd, const void *buf, size_t len, int flags);
ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec iov[16];
	/* Keep the descriptors that the provider below sends. */
	struct msghdr part = *msg;
	size_t left = kernel.takes;

	if (kernel.err || !left) {
		errno = kernel.err ? kernel.err : EAGAIN;
		kernel.err = 0;
		return -1;
	}
	assert_true(msg->msg_iovlen <= WF_ARRAY_SIZE(iov));
	part.msg_iov = iov;
	part.msg_iovlen = 0;
	for (size_t i = 0; i < msg->msg_iovlen && left; i++) {
		iov[i] = msg->msg_iov[i];
		iov[i].iov_len = WF_MIN(iov[i].iov_len, left);
		left -= iov[i].iov_len;
		part.msg_iovlen++;
	}
	kernel.takes = left;
	kernel.calls++;
	return __real_sendmsg(fd, &part, flags);
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return __wrap_sendmsg(fd, &msg, flags);
}

/* ---- the provider below ---- */

/* The library contains another copy of the provider: the one that is linked with the
 * test has to be found. */
extern struct fi_provider *shm_prov_ini(void);
int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

static struct fi_provider *shm_prov(void)
{
	static struct fi_provider *prov;

	if (!prov)
		prov = shm_prov_ini();
	return prov;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	int ret = shm_prov()->getinfo(version, node, service, flags, hints, ret_info);

	if (!ret)
		(*ret_info)->fabric_attr->api_version = version;
	return ret;
}

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return shm_prov()->fabric(attr, ret_fabric, context);
}

/* ---- the endpoint ---- */

enum { REGION = 256, KEY = 0x5eed };

struct pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_mr *mr; /* of region, with KEY; NULL: closed */
	struct fid_ep *ep;
	struct tcp_ep *tcp;
	struct tcp_conn *conn;
	int peer; /* the test's socket */
	uint8_t region[REGION];
	/* Completions and errors, in order. */
	struct ended ended[PAIR_ENDED_MAX];
	unsigned int ended_count;
	/* Running number of the next record that the endpoint sends. */
	uint8_t number;
	/* Bytes that the test has read, and bytes that it has sent. */
	uint64_t got, put;
};

struct fi_provider *tcp_prov_ini(void);

/* The answer to @hints, which are freed, for a program of the newest version. */
static inline struct fi_info *pair_ask(struct fi_provider *prov, struct fi_info *hints)
{
	struct fi_info *info = NULL;

	assert_int_equal(prov->getinfo(FI_VERSION(2, 6), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	info->fabric_attr->api_version = FI_VERSION(2, 6);
	return info;
}

static inline struct fi_info *pair_info(struct fi_provider *prov)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	return pair_ask(prov, hints);
}

static inline void pair_open(struct pair *p)
{
	static struct fi_provider *prov;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = PAIR_ENDED_MAX };

	if (!prov)
		prov = tcp_prov_ini();
	memset(p, 0, sizeof(*p));
	p->info = pair_info(prov);
	assert_int_equal(prov->fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
	assert_int_equal(fi_domain(p->fabric, p->info, &p->domain, NULL), 0);
	assert_int_equal(fi_cq_open(p->domain, &cq_attr, &p->cq, NULL), 0);
	assert_int_equal(
		fi_mr_reg(p->domain, p->region, sizeof(p->region),
			FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &p->mr, NULL),
		0);
	assert_int_equal(fi_endpoint(p->domain, p->info, &p->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(p->ep), 0);
	p->tcp = tcp_ep_of(wf_container_of(p->ep, struct wf_ep, fid));
}

/* Open an FI_EP_RDM endpoint with @caps, and its AV, without a peer. */
static inline void pair_open_rdm(struct pair *p, uint64_t caps, struct fid_av **ret_av)
{
	static struct fi_provider *prov;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.size = PAIR_ENDED_MAX };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_info *hints = fi_allocinfo();

	if (!prov) {
		prov = tcp_prov_ini();
		/* Tests of the endpoint below open it themselves. */
		wf_local_mode = WF_LOCAL_OFF;
	}
	memset(p, 0, sizeof(*p));
	p->peer = -1;
	kernel.takes = SIZE_MAX;
	kernel.err = 0;
	assert_non_null(hints);
	hints->caps = caps;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	p->info = pair_ask(prov, hints);
	assert_int_equal(prov->fabric(p->info->fabric_attr, &p->fabric, NULL), 0);
	assert_int_equal(fi_domain(p->fabric, p->info, &p->domain, NULL), 0);
	assert_int_equal(fi_cq_open(p->domain, &cq_attr, &p->cq, NULL), 0);
	assert_int_equal(fi_av_open(p->domain, &av_attr, ret_av, NULL), 0);
	assert_int_equal(fi_endpoint(p->domain, p->info, &p->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(p->ep, &(*ret_av)->fid, 0), 0);
	assert_int_equal(fi_enable(p->ep), 0);
	p->tcp = tcp_ep_of(wf_container_of(p->ep, struct wf_ep, fid));
}

static inline void pair_connect(struct pair *p)
{
	const struct tcp_wire_peer wire = {
		.have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED | TCP_HAVE_RDV, .contexts = 1
	};
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	kernel.takes = SIZE_MAX;
	kernel.err = 0;
	kernel.calls = 0;
	p->peer = fds[1];
	p->number = 0;
	p->ended_count = 0;
	p->conn = tcp_conn_new(p->tcp, fds[0], &wire, NULL);
	assert_non_null(p->conn);
	tcp_conn_start_reading(p->conn);
	p->tcp->cm->conn = p->conn;
	p->tcp->cm->base.state = WF_CM_CONNECTED;
}

/* The connection and the endpoint must not keep more unexpected messages. */
static inline void pair_set_memory_full(struct pair *p, bool full)
{
	struct wf_budget *budget = &p->tcp->unexp.budget;

	budget->limit = full ? 0 : tcp_params.unexpected_size;
	budget->share = full ? 0 : budget->limit;
}

static inline void pair_close_mr(struct pair *p)
{
	if (p->mr)
		assert_int_equal(fi_close(&p->mr->fid), 0);
	p->mr = NULL;
}

static inline void pair_close(struct pair *p)
{
	if (p->peer >= 0)
		close(p->peer);
	if (p->ep)
		assert_int_equal(fi_close(&p->ep->fid), 0);
	pair_close_mr(p);
	assert_int_equal(fi_close(&p->cq->fid), 0);
	assert_int_equal(fi_close(&p->domain->fid), 0);
	assert_int_equal(fi_close(&p->fabric->fid), 0);
	fi_freeinfo(p->info);
}

#define PAIR_POLLS 1
#include "../pair_cases.h"

/* ---- the peer ---- */

static inline void peer_send(struct pair *p, const void *data, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	assert_int_equal(__real_sendmsg(p->peer, &msg, MSG_NOSIGNAL), len);
	p->put += len;
}

/* Append a record to @bytes: its header, and @payload of rec->payload_len bytes. */
static inline void add_record(struct bytes *bytes, const struct pair *p,
	const struct tcp_record *rec, const void *payload)
{
	assert_true(
		bytes->len + TCP_WIRE_HDR_MAX + rec->payload_len <= sizeof(bytes->at));
	bytes->len += tcp_record_encode(bytes->at + bytes->len, &p->conn->wire, rec);
	if (payload)
		memcpy(bytes->at + bytes->len, payload, rec->payload_len);
	bytes->len += rec->payload_len;
}

static inline void peer_record(
	struct pair *p, const struct tcp_record *rec, const void *payload)
{
	struct bytes bytes = { 0 };

	add_record(&bytes, p, rec, payload);
	peer_send(p, bytes.at, bytes.len);
}

/* Read the bytes that the endpoint has sent. */
static inline size_t peer_read(struct pair *p, void *buf, size_t size)
{
	ssize_t n = recv(p->peer, buf, size, MSG_DONTWAIT);

	if (n < 0)
		assert_int_equal(errno, EAGAIN);
	p->got += n < 0 ? 0 : (size_t)n;
	return n < 0 ? 0 : (size_t)n;
}

/* Get the next record of the endpoint, which must be of this kind and complete. */
static inline struct tcp_record peer_expect(
	struct pair *p, enum tcp_rec_kind kind, void *payload)
{
	uint8_t hdr[TCP_WIRE_HDR_MAX];
	struct tcp_record rec;
	size_t n = 0;
	int more = TCP_WIRE_BASE;

	while (more > 0) {
		n += peer_read(p, hdr + n, (size_t)more - n);
		assert_int_equal(n, more);
		more = tcp_record_decode(hdr, n, &p->conn->wire, &rec);
	}
	assert_int_equal(more, 0);
	assert_int_equal(rec.kind, kind);
	assert_int_equal(hdr[offsetof(struct tcp_wire_base, number)], p->number++);
	if (rec.payload_len)
		assert_int_equal(
			peer_read(p, payload, rec.payload_len), rec.payload_len);
	return rec;
}

static inline void peer_expect_nothing(struct pair *p)
{
	uint8_t byte;

	assert_int_equal(recv(p->peer, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

#endif
