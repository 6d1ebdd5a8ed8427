/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where events and completions arrive: event queues, completion queues, counters, and
 * the means to wait for them. See fi_eq(3), fi_cq(3), fi_cntr(3) and fi_poll(3).
 */
#ifndef FI_EQ_H
#define FI_EQ_H

#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fid_cntr;
struct fid_cq;
struct fid_poll;
struct fid_xpu_cntr;
struct fid_xpu_cq;

/* The object that a thread blocks on, which FI_GETWAIT returns. */
enum fi_wait_obj {
	FI_WAIT_NONE,       /* waiting is not allowed */
	FI_WAIT_UNSPEC,     /* only through the calls that wait */
	FI_WAIT_SET,        /* deprecated */
	FI_WAIT_FD,         /* an int, for poll and its kin */
	FI_WAIT_MUTEX_COND, /* deprecated, struct fi_mutex_cond */
	FI_WAIT_YIELD,      /* spin, giving up the processor */
	FI_WAIT_POLLFD,     /* struct fi_wait_pollfd */
};

/* Wait object of FI_WAIT_MUTEX_COND. */
struct fi_mutex_cond {
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
};

/*
 * Wait object of FI_WAIT_POLLFD. change_index grows whenever the set changes; nfds is
 * the capacity of fd on input, and the number needed on output (-FI_ETOOSMALL if fd is
 * too short).
 */
struct fi_wait_pollfd {
	uint64_t change_index;
	size_t nfds;
	struct pollfd *fd;
};

/* Event queues, fi_eq(3). */

struct fi_eq_attr {
	size_t size;    /* events, at least */
	uint64_t flags; /* FI_WRITE, FI_AFFINITY, FI_PEER */
	enum fi_wait_obj wait_obj;
	int signaling_vector; /* interrupt vector with FI_AFFINITY */
	struct fid_wait *wait_set;
};

/* The values that fi_eq_read stores in its event argument. */
enum {
	FI_NOTIFY,
	FI_CONNREQ,
	FI_CONNECTED,
	FI_SHUTDOWN,
	FI_MR_COMPLETE,
	FI_AV_COMPLETE,
	FI_JOIN_COMPLETE,
};

/* Completion of an asynchronous request. */
struct fi_eq_entry {
	fid_t fid;
	void *context; /* of the request */
	uint64_t data; /* depends on the event */
};

/* Connection event. The size returned by fi_eq_read tells how much data there is. */
struct fi_eq_cm_entry {
	fid_t fid;
	struct fi_info *info; /* with FI_CONNREQ; free it with fi_freeinfo */
	uint8_t data[];
};

/*
 * Failure. err_data and err_data_size, in bytes, may name a buffer to be filled; with
 * size 0 err_data is set to memory of the queue, valid until its next read.
 */
struct fi_eq_err_entry {
	fid_t fid;
	void *context;
	uint64_t data;
	int err; /* positive */
	int prov_errno;
	void *err_data;
	size_t err_data_size;
};

/* Operations of an event queue. */
struct fi_ops_eq {
	size_t size;
	ssize_t (*read)(struct fid_eq *eq, uint32_t *event, void *buf, size_t len,
		uint64_t flags);
	ssize_t (*readerr)(
		struct fid_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags);
	ssize_t (*write)(struct fid_eq *eq, uint32_t event, const void *buf, size_t len,
		uint64_t flags);
	ssize_t (*sread)(struct fid_eq *eq, uint32_t *event, void *buf, size_t len,
		int timeout, uint64_t flags);
	const char *(*strerror)(struct fid_eq *eq, int prov_errno, const void *err_data,
		char *buf, size_t len);
};

struct fid_eq {
	struct fid fid;
	struct fi_ops_eq *ops;
};

/* Completion queues, fi_cq(3). */

/* Which of the entries below a queue holds. */
enum fi_cq_format {
	FI_CQ_FORMAT_UNSPEC,
	FI_CQ_FORMAT_CONTEXT,
	FI_CQ_FORMAT_MSG,
	FI_CQ_FORMAT_DATA,
	FI_CQ_FORMAT_TAGGED,
};

/* When a blocking read returns. */
enum fi_cq_wait_cond {
	FI_CQ_COND_NONE,
	FI_CQ_COND_THRESHOLD, /* cond is the number of entries, a size_t * */
};

struct fi_cq_attr {
	size_t size;    /* entries, at least; 0 for a default */
	uint64_t flags; /* FI_AFFINITY, FI_PEER, FI_XPU */
	enum fi_cq_format format;
	enum fi_wait_obj wait_obj;
	int signaling_vector; /* interrupt vector with FI_AFFINITY */
	enum fi_cq_wait_cond wait_cond;
	struct fid_wait *wait_set;
	struct fid_xpu_ctx *xpu_ctx;
};

/* Entry of FI_CQ_FORMAT_CONTEXT. */
struct fi_cq_entry {
	void *op_context;
};

/* Entry of FI_CQ_FORMAT_MSG. */
struct fi_cq_msg_entry {
	void *op_context;
	uint64_t flags; /* operation that completed: FI_SEND | FI_MSG, ... */
	size_t len;     /* bytes received */
};

/* Entry of FI_CQ_FORMAT_DATA. */
struct fi_cq_data_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;     /* address in a FI_MULTI_RECV buffer */
	uint64_t data; /* with FI_REMOTE_CQ_DATA */
};

/* Entry of FI_CQ_FORMAT_TAGGED. */
struct fi_cq_tagged_entry {
	void *op_context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data;
	uint64_t tag;
};

/*
 * Failed operation. err_data works as in struct fi_eq_err_entry. err_data_size is used
 * from interface version 1.5 on, src_addr from 1.20.
 */
struct fi_cq_err_entry {
	void *op_context;
	uint64_t flags;
	size_t len; /* bytes that arrived */
	void *buf;
	uint64_t data;
	uint64_t tag;
	size_t olen; /* bytes that did not fit */
	int err;     /* positive */
	int prov_errno;
	void *err_data;
	size_t err_data_size;
	fi_addr_t src_addr; /* with FI_SOURCE_ERR */
};

/* Operations of a completion queue. */
struct fi_ops_cq {
	size_t size;
	ssize_t (*read)(struct fid_cq *cq, void *buf, size_t count);
	ssize_t (*readfrom)(
		struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src_addr);
	ssize_t (*readerr)(
		struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags);
	ssize_t (*sread)(struct fid_cq *cq, void *buf, size_t count, const void *cond,
		int timeout);
	ssize_t (*sreadfrom)(struct fid_cq *cq, void *buf, size_t count,
		fi_addr_t *src_addr, const void *cond, int timeout);
	int (*signal)(struct fid_cq *cq);
	const char *(*strerror)(struct fid_cq *cq, int prov_errno, const void *err_data,
		char *buf, size_t len);
	int (*export_xpu)(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq);
};

struct fid_cq {
	struct fid fid;
	struct fi_ops_cq *ops;
};

/* Counters, fi_cntr(3). */

/* The events that a counter counts. */
enum fi_cntr_events {
	FI_CNTR_EVENTS_COMP,  /* completions */
	FI_CNTR_EVENTS_BYTES, /* bytes transferred */
};

struct fi_cntr_attr {
	enum fi_cntr_events events;
	enum fi_wait_obj wait_obj;
	struct fid_wait *wait_set;
	uint64_t flags;
	struct fid_xpu_ctx *xpu_ctx;
};

/* Operations of a counter. */
struct fi_ops_cntr {
	size_t size;
	uint64_t (*read)(struct fid_cntr *cntr);
	uint64_t (*readerr)(struct fid_cntr *cntr);
	int (*add)(struct fid_cntr *cntr, uint64_t value);
	int (*set)(struct fid_cntr *cntr, uint64_t value);
	int (*wait)(struct fid_cntr *cntr, uint64_t threshold, int timeout);
	int (*adderr)(struct fid_cntr *cntr, uint64_t value);
	int (*seterr)(struct fid_cntr *cntr, uint64_t value);
	int (*export_xpu)(
		struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr);
};

struct fid_cntr {
	struct fid fid;
	struct fi_ops_cntr *ops;
};

/* Wait sets and poll sets, fi_poll(3). Deprecated: fi_trywait replaces them. */

struct fi_wait_attr {
	enum fi_wait_obj wait_obj;
	uint64_t flags;
};

struct fi_ops_wait {
	size_t size;
	int (*wait)(struct fid_wait *waitset, int timeout);
};

struct fid_wait {
	struct fid fid;
	struct fi_ops_wait *ops;
};

struct fi_poll_attr {
	uint64_t flags;
};

struct fi_ops_poll {
	size_t size;
	int (*poll)(struct fid_poll *pollset, void **context, int count);
	int (*poll_add)(
		struct fid_poll *pollset, struct fid *event_fid, uint64_t flags);
	int (*poll_del)(
		struct fid_poll *pollset, struct fid *event_fid, uint64_t flags);
};

struct fid_poll {
	struct fid fid;
	struct fi_ops_poll *ops;
};

#ifdef FABRIC_DIRECT
#include <rdma/fi_direct_eq.h>
#endif

#ifndef FABRIC_DIRECT_EQ

/*
 * Ask whether it is safe to block on the wait objects of @fids. 0: yes, any later event
 * wakes them. -FI_EAGAIN: no, read first.
 */
static inline int fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	return fabric->ops->trywait(fabric, fids, count);
}

/* Open an event queue. */
static inline int fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **eq, void *context)
{
	return fabric->ops->eq_open(fabric, attr, eq, context);
}

/*
 * Read one event. Returns its size in bytes; -FI_EAGAIN: none; -FI_EAVAIL: an error is
 * next. FI_PEEK leaves the event in the queue.
 */
static inline ssize_t fi_eq_read(
	struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	return eq->ops->read(eq, event, buf, len, flags);
}

/* Read the error at the head of the queue. -FI_EAGAIN: there is none. */
static inline ssize_t fi_eq_readerr(
	struct fid_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	return eq->ops->readerr(eq, buf, flags);
}

/* Insert an event. Returns bytes written. The queue must be opened with FI_WRITE. */
static inline ssize_t fi_eq_write(
	struct fid_eq *eq, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	return eq->ops->write(eq, event, buf, len, flags);
}

/* Like fi_eq_read, but wait up to @timeout ms; negative for ever. */
static inline ssize_t fi_eq_sread(struct fid_eq *eq, uint32_t *event, void *buf,
	size_t len, int timeout, uint64_t flags)
{
	return eq->ops->sread(eq, event, buf, len, timeout, flags);
}

/* Text for a provider's error. Also stored in @buf, if given, of @len bytes. */
static inline const char *fi_eq_strerror(
	struct fid_eq *eq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return eq->ops->strerror(eq, prov_errno, err_data, buf, len);
}

/*
 * Read up to @count entries in the queue's format. Returns how many; -FI_EAGAIN: none;
 * -FI_EAVAIL: an error is next. Count 0 just makes progress.
 */
static inline ssize_t fi_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	return cq->ops->read(cq, buf, count);
}

/* The same with the source of each entry, FI_ADDR_NOTAVAIL where unknown. */
static inline ssize_t fi_cq_readfrom(
	struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src_addr)
{
	return cq->ops->readfrom(cq, buf, count, src_addr);
}

/* Read the error at the head of the queue. Returns 1; -FI_EAGAIN: there is none. */
static inline ssize_t fi_cq_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	if (buf)
		buf->src_addr = FI_ADDR_NOTAVAIL;
	return cq->ops->readerr(cq, buf, flags);
}

/* Like fi_cq_read, but wait up to @timeout ms; negative for ever. */
static inline ssize_t fi_cq_sread(
	struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return cq->ops->sread(cq, buf, count, cond, timeout);
}

static inline ssize_t fi_cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count,
	fi_addr_t *src_addr, const void *cond, int timeout)
{
	return cq->ops->sreadfrom(cq, buf, count, src_addr, cond, timeout);
}

/* Wake threads that wait in fi_cq_sread. */
static inline int fi_cq_signal(struct fid_cq *cq)
{
	return cq->ops->signal(cq);
}

/* Text for a provider's error. Also stored in @buf, if given, of @len bytes. */
static inline const char *fi_cq_strerror(
	struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return cq->ops->strerror(cq, prov_errno, err_data, buf, len);
}

/* Make a queue with an XPU context usable from its device. */
static inline int fi_cq_export_xpu(
	struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq)
{
	return cq->ops->export_xpu(cq, flags, xpu_cq);
}

/* Successful and failed operations so far; reading makes progress. */
static inline uint64_t fi_cntr_read(struct fid_cntr *cntr)
{
	return cntr->ops->read(cntr);
}

static inline uint64_t fi_cntr_readerr(struct fid_cntr *cntr)
{
	return cntr->ops->readerr(cntr);
}

/* Change a counter. The new value may take a moment to be seen. */
static inline int fi_cntr_add(struct fid_cntr *cntr, uint64_t value)
{
	return cntr->ops->add(cntr, value);
}

static inline int fi_cntr_adderr(struct fid_cntr *cntr, uint64_t value)
{
	if (!FI_CHECK_OP(cntr->ops, struct fi_ops_cntr, adderr))
		return -FI_ENOSYS;
	return cntr->ops->adderr(cntr, value);
}

static inline int fi_cntr_set(struct fid_cntr *cntr, uint64_t value)
{
	return cntr->ops->set(cntr, value);
}

static inline int fi_cntr_seterr(struct fid_cntr *cntr, uint64_t value)
{
	if (!FI_CHECK_OP(cntr->ops, struct fi_ops_cntr, seterr))
		return -FI_ENOSYS;
	return cntr->ops->seterr(cntr, value);
}

/*
 * Wait up to @timeout ms, negative for ever, until the value reaches @threshold.
 * -FI_ETIMEDOUT: it did not. -FI_EAVAIL: an operation failed meanwhile.
 */
static inline int fi_cntr_wait(struct fid_cntr *cntr, uint64_t threshold, int timeout)
{
	return cntr->ops->wait(cntr, threshold, timeout);
}

/* Make a counter with an XPU context usable from its device. */
static inline int fi_cntr_export_xpu(
	struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr)
{
	return cntr->ops->export_xpu(cntr, flags, xpu_cntr);
}

/* Deprecated calls on wait and poll sets. */
FI_DEPRECATED_FUNC static inline int fi_wait(struct fid_wait *waitset, int timeout)
{
	return waitset->ops->wait(waitset, timeout);
}

FI_DEPRECATED_FUNC static inline int fi_poll(
	struct fid_poll *pollset, void **context, int count)
{
	return pollset->ops->poll(pollset, context, count);
}

FI_DEPRECATED_FUNC static inline int fi_poll_add(
	struct fid_poll *pollset, struct fid *event_fid, uint64_t flags)
{
	return pollset->ops->poll_add(pollset, event_fid, flags);
}

FI_DEPRECATED_FUNC static inline int fi_poll_del(
	struct fid_poll *pollset, struct fid *event_fid, uint64_t flags)
{
	return pollset->ops->poll_del(pollset, event_fid, flags);
}

#endif /* FABRIC_DIRECT_EQ */

#ifdef __cplusplus
}
#endif

#endif /* FI_EQ_H */
