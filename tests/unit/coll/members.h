/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_MEMBERS_H
#define TESTS_UNIT_COLL_MEMBERS_H

#include "unit.h"

#include <dirent.h>
#include <errno.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

/*
 * Two members of a group over shm in one process. The providers are linked with the
 * test, so that their allocations can fail, one of them at a time. There may be an
 * engine of another library beside off_coll (tests/peer/testcoll).
 */

enum { MEMBERS = 2, COUNT = 700 };

/* ---- the allocations that fail ---- */

static unsigned int left; /* allocations until the one that fails; 0: none does */
static bool has_failed;
static unsigned int polls; /* since then */

static bool fails(void)
{
	if (!left || --left)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

#define WRAP(type, name, params, args)                                                 \
	type __wrap_##name params;                                                     \
	type __real_##name params;                                                     \
	__attribute__((visibility("default"))) type __wrap_##name params               \
	{                                                                              \
		return fails() ? NULL : __real_##name args;                            \
	}

WRAP(void *, malloc, (size_t len), (len))
WRAP(void *, calloc, (size_t count, size_t len), (count, len))
WRAP(void *, realloc, (void *at, size_t len), (at, len))
WRAP(char *, strdup, (const char *text), (text))
WRAP(void *, aligned_alloc, (size_t by, size_t len), (by, len))

/* ---- the providers, which are linked with the test ---- */

extern struct fi_provider *shm_prov_ini(void), *coll_prov_ini(void), *fi_prov_ini(void);
static struct fi_provider *shm, *coll, *other;

static struct fi_provider *engine_of(const char *name)
{
	return name && !strcmp(name, "off_testcoll") ? other : coll;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

/* Engines are all that is looked for. */
int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	const char *name = hints->fabric_attr->prov_name;
	int ret = engine_of(name)->getinfo(
		version, node, service, flags, hints, ret_info);

	if (ret)
		return ret;
	(*ret_info)->fabric_attr->api_version = version;
	/* As the library does for providers that leave it out. */
	if (!(*ret_info)->fabric_attr->prov_name)
		(*ret_info)->fabric_attr->prov_name = __real_strdup(name);
	return 0;
}

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return engine_of(attr->prov_name)->fabric(attr, ret_fabric, context);
}

/* ---- the members ---- */

struct member {
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_av_set *set;
	struct fid_mc *mc;
	char name[64];
	int joined; /* 1: yes; else 0 or the negative code of the event */
	int ended;  /* operations */
	int op_err; /* of the first one that failed */
	int64_t in[COUNT * MEMBERS], out[COUNT * MEMBERS];
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct member members[MEMBERS];

static int open_objects(struct member *m)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_FD };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	size_t len = sizeof(m->name);
	int ret = fi_eq_open(fabric, &eq_attr, &m->eq, NULL);

	if (!ret)
		ret = fi_cq_open(domain, &cq_attr, &m->cq, NULL);
	if (!ret)
		ret = fi_av_open(domain, &av_attr, &m->av, NULL);
	if (!ret)
		ret = fi_endpoint(domain, info, &m->ep, NULL);
	if (!ret)
		ret = fi_ep_bind(m->ep, &m->eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!ret)
		ret = fi_ep_bind(m->ep, &m->av->fid, 0);
	if (!ret)
		ret = fi_enable(m->ep);
	return ret ? ret : fi_getname(&m->ep->fid, m->name, &len);
}

static int join(struct member *m)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	int ret;

	for (int i = 0; i < MEMBERS; i++)
		if (fi_av_insert(m->av, members[i].name, 1, NULL, 0, NULL) != 1)
			return -FI_ENOMEM;
	ret = fi_av_set(m->av, &attr, &m->set, NULL);
	for (fi_addr_t i = 0; i < MEMBERS && !ret; i++)
		ret = fi_av_set_insert(m->set, i);
	return ret ? ret
		   : fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, m->set, 0, &m->mc, m);
}

/* May the members still be waited for? Not for long after an allocation failed. */
static bool may_wait(void)
{
	enum { POLLS = 10000 };

	polls = has_failed ? polls + 1 : 0;
	return polls < POLLS;
}

/* Read the events of all members. */
static void poll_members(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];
		struct fi_cq_err_entry cq_err = { 0 };
		struct fi_eq_err_entry eq_err = { 0 };
		struct fi_cq_data_entry entry;
		struct fi_eq_entry event;
		uint32_t kind;
		ssize_t ret = fi_eq_read(m->eq, &kind, &event, sizeof(event), 0);

		if (ret > 0) {
			assert_int_equal(kind, FI_JOIN_COMPLETE);
			m->joined = 1;
		} else if (ret == -FI_EAVAIL) {
			assert_true(fi_eq_readerr(m->eq, &eq_err, 0) > 0);
			m->joined = -eq_err.err;
		}
		ret = fi_cq_read(m->cq, &entry, 1);
		if (ret == 1)
			m->ended++;
		if (ret != -FI_EAVAIL)
			continue;
		assert_int_equal(fi_cq_readerr(m->cq, &cq_err, 0), 1);
		m->ended++;
		m->op_err = -cq_err.err;
	}
}

/* 0: all members have joined; or the error of one of them. */
static int wait_joined(void)
{
	while (may_wait()) {
		int count = 0;

		poll_members();
		for (int i = 0; i < MEMBERS; i++) {
			if (members[i].joined < 0)
				return members[i].joined;
			count += members[i].joined;
		}
		if (count == MEMBERS)
			return 0;
	}
	return -FI_ETIMEDOUT;
}

static int start_op(struct member *m, enum fi_collective_op kind, size_t count)
{
	fi_addr_t group = fi_mc_addr(m->mc);

	switch (kind) {
	case FI_BARRIER:
		return (int)fi_barrier(m->ep, group, m);
	case FI_ALLREDUCE:
		return (int)fi_allreduce(m->ep, m->in, count, NULL, m->out, NULL, group,
			FI_INT64, FI_SUM, 0, m);
	case FI_REDUCE_SCATTER:
		return (int)fi_reduce_scatter(m->ep, m->in, count, NULL, m->out, NULL,
			group, FI_INT64, FI_SUM, 0, m);
	case FI_ALLTOALL:
		return (int)fi_alltoall(
			m->ep, m->in, count, NULL, m->out, NULL, group, FI_INT64, 0, m);
	default:
		return (int)fi_allgather(
			m->ep, m->in, count, NULL, m->out, NULL, group, FI_INT64, 0, m);
	}
}

static int run_op(enum fi_collective_op kind, size_t count)
{
	for (int i = 0; i < MEMBERS; i++) {
		struct member *m = &members[i];
		int ret;

		m->ended = m->op_err = 0;
		for (size_t k = 0; k < COUNT * MEMBERS; k++)
			m->in[k] = (int64_t)k * (i + 1);
		while ((ret = start_op(m, kind, count)) == -FI_EAGAIN && may_wait())
			poll_members();
		if (ret)
			return ret;
	}
	while (may_wait()) {
		int ended = 0;

		poll_members();
		for (int i = 0; i < MEMBERS; i++) {
			if (members[i].op_err)
				return members[i].op_err;
			ended += members[i].ended;
		}
		if (ended == MEMBERS)
			return 0;
	}
	return -FI_ETIMEDOUT;
}

static void check_sums(size_t count)
{
	for (int i = 0; i < MEMBERS; i++)
		for (size_t k = 0; k < count; k++)
			assert_int_equal(members[i].out[k], 3 * k);
}

/* Open all, and begin to join. */
static int open_all(void)
{
	int ret = shm->fabric(info->fabric_attr, &fabric, NULL);

	if (!ret)
		ret = fi_domain(fabric, info, &domain, NULL);
	for (int i = 0; i < MEMBERS && !ret; i++)
		ret = open_objects(&members[i]);
	for (int i = 0; i < MEMBERS && !ret; i++)
		ret = join(&members[i]);
	return ret;
}

static inline int run_all(void)
{
	int ret = open_all();

	if (!ret)
		ret = wait_joined();
	if (!ret)
		ret = run_op(FI_BARRIER, 0);
	if (!ret)
		ret = run_op(FI_ALLREDUCE, COUNT);
	if (!ret)
		check_sums(COUNT);
	if (!ret)
		ret = run_op(FI_ALLTOALL, 3);
	return ret ? ret : run_op(FI_ALLGATHER, COUNT);
}

static void close_one(struct fid *fid)
{
	if (fid)
		assert_int_equal(fi_close(fid), 0);
}

#define CLOSE(object) close_one((object) ? &(object)->fid : NULL)

static void close_all(void)
{
	for (int i = 0; i < MEMBERS; i++) {
		CLOSE(members[i].mc);
		CLOSE(members[i].set);
	}
	for (int i = 0; i < MEMBERS; i++) {
		CLOSE(members[i].ep);
		CLOSE(members[i].av);
		CLOSE(members[i].cq);
		CLOSE(members[i].eq);
	}
	CLOSE(domain);
	CLOSE(fabric);
	domain = NULL;
	fabric = NULL;
	memset(members, 0, sizeof(members));
}

static inline unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static inline int find(void **state)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_COLLECTIVE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	shm = shm_prov_ini();
	coll = coll_prov_ini();
	other = fi_prov_ini();
	assert_int_equal(
		shm->getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), 0);
	info->fabric_attr->api_version = FI_VERSION(2, 0);
	fi_freeinfo(hints);
	return 0;
}

static inline int forget(void **state)
{
	fi_freeinfo(info);
	return 0;
}

#endif
