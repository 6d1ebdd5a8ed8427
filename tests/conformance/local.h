/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFORMANCE_LOCAL_H
#define TESTS_CONFORMANCE_LOCAL_H

/* Declarations that the files local*.c share; see local.c. */
#include <pthread.h>
#include <stddef.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_trigger.h>

#include "conformance.h"

enum { VECTOR_MAX = 32 };

struct range {
	uintptr_t begin, end;
	bool written; /* the provider may write to it */
	struct fid_mr *mr;
};

/* The descriptors of one vector. */
struct room {
	struct room *next;
	void *descs[VECTOR_MAX];
};

struct local_domain {
	struct fi_ops ops;
	struct fi_ops_domain domain_ops;
	const struct fi_ops *under;
	const struct fi_ops_domain *domain_under;
	struct fid_domain *domain;
	pthread_mutex_t lock; /* guards the ranges */
	struct range *ranges;
	size_t count;
	struct local_ep *srxs;
	struct room *rooms;
};

struct local_ep {
	struct fi_ops ops;
	struct fi_ops_msg msg;
	struct fi_ops_tagged tagged;
	struct fi_ops_rma rma;
	struct fi_ops_atomic atomic;
	const struct fi_ops *under;
	const struct fi_ops_msg *msg_under;
	const struct fi_ops_tagged *tagged_under;
	const struct fi_ops_rma *rma_under;
	const struct fi_ops_atomic *atomic_under;
	struct local_domain *domain;
	struct local_ep *next; /* next one in the list of the domain's srxs */
};

#define OWNER(table, type, member)                                                     \
	((struct type *)(uintptr_t)((const char *)(table)-offsetof(                    \
		struct type, member)))

/* Tables of older libraries are shorter. */
#define COPY_TABLE(copy, table)                                                        \
	memcpy(&(copy), table,                                                         \
		(table)->size < sizeof(copy) ? (table)->size : sizeof(copy))

/* The descriptor for @buf, or @desc if the case passes one. @written: the provider may
 * write to the buffer. */
void *cf_local_one(
	struct local_ep *l, const void *buf, size_t len, void *desc, bool written);
/* The descriptors of a vector, in @room; or @descs if no descriptors are needed. */
void **cf_local_many(struct local_ep *l, const struct iovec *iov, void **descs,
	size_t count, bool written, void **room);

/* The same for a vector of elements. */
void **cf_local_elements(struct local_ep *l, const struct fi_ioc *ioc, void **descs,
	size_t count, enum fi_datatype datatype, bool written, void **room);
/* Set the descriptors of deferred work, in arrays that are freed with the domain. */
void cf_local_work(struct local_domain *d, struct fi_deferred_work *work);

/* Replace the endpoint's operations of one kind, unless that has been done. */
void cf_local_msg(struct local_ep *l, struct fid_ep *ep);
void cf_local_tagged(struct local_ep *l, struct fid_ep *ep);
void cf_local_rma(struct local_ep *l, struct fid_ep *ep);
void cf_local_atomic(struct local_ep *l, struct fid_ep *ep);

#endif
