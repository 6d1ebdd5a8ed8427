/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_eq.h>

#include "rig.h"

/*
 * An engine of another library (testcoll/) does some of the collectives of a provider
 * of ours, named by FI_OFFLOAD_COLL_PROVIDER: docs/design/coll.md.
 * offload_test PROVIDER.
 */

enum { MEMBERS = 3, ELEMENTS = 20 };

struct member {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	/* Not incremented by any endpoint in this test. */
	struct fid_cntr *cntr, *received;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_av_set *set;
	struct fid_mc *mc;
	fi_addr_t addr[MEMBERS];
};

static struct member members[MEMBERS];
static atomic_uint *ended;       /* the engine's count of operations */
static atomic_int *failing_rank; /* the member that the engine fails at */

static struct fi_info *find(void)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	bool ip = !strcmp(rig_provider, "tcp");

	hints->caps = FI_MSG | FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(rig_provider);
	assert_int_equal(fi_getinfo(FI_VERSION(2, 6), ip ? "127.0.0.1" : NULL, NULL,
				 ip ? FI_SOURCE : 0, hints, &info),
		0);
	fi_freeinfo(hints);
	return info;
}

static void open_member(struct member *m)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	m->info = find();
	assert_int_equal(fi_fabric(m->info->fabric_attr, &m->fabric, NULL), 0);
	assert_int_equal(fi_domain(m->fabric, m->info, &m->domain, NULL), 0);
	assert_int_equal(fi_eq_open(m->fabric, &eq_attr, &m->eq, NULL), 0);
	assert_int_equal(fi_cq_open(m->domain, &cq_attr, &m->cq, NULL), 0);
	assert_int_equal(fi_cntr_open(m->domain, &cntr_attr, &m->cntr, NULL), 0);
	assert_int_equal(fi_cntr_open(m->domain, &cntr_attr, &m->received, NULL), 0);
	assert_int_equal(fi_av_open(m->domain, &av_attr, &m->av, NULL), 0);
	assert_int_equal(fi_endpoint(m->domain, m->info, &m->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(m->ep, &m->eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	if (m != &members[0])
		assert_int_equal(fi_ep_bind(m->ep, &m->cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_ep_bind(m->ep, &m->received->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(m->ep, &m->av->fid, 0), 0);
	assert_int_equal(fi_enable(m->ep), 0);
	/* One counter comes late. */
	if (m == &members[0])
		assert_int_equal(fi_ep_bind(m->ep, &m->cntr->fid, FI_SEND), 0);
}

static void close_member(struct member *m)
{
	assert_int_equal(fi_cntr_read(m->received), 0);
	assert_int_equal(fi_close(&m->ep->fid), 0);
	assert_int_equal(fi_close(&m->received->fid), 0);
	assert_int_equal(fi_close(&m->av->fid), 0);
	assert_int_equal(fi_close(&m->cntr->fid), 0);
	assert_int_equal(fi_close(&m->cq->fid), 0);
	assert_int_equal(fi_close(&m->eq->fid), 0);
	assert_int_equal(fi_close(&m->domain->fid), 0);
	assert_int_equal(fi_close(&m->fabric->fid), 0);
	fi_freeinfo(m->info);
}

static void insert(struct member *at, const struct member *who, fi_addr_t *ret)
{
	char name[NAME_ROOM];
	size_t len = sizeof(name);

	assert_int_equal(fi_getname(&who->ep->fid, name, &len), 0);
	assert_int_equal(fi_av_insert(at->av, name, 1, ret, 0, NULL), 1);
}

static void find_engine(void)
{
	char path[4096];
	void *dl;

	(void)snprintf(
		path, sizeof(path), "%s/libtestcoll-fi.so", getenv("FI_PROVIDER_PATH"));
	dl = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(dl);
	ended = dlsym(dl, "testcoll_ended");
	failing_rank = dlsym(dl, "testcoll_failing_rank");
	assert_non_null(ended);
	assert_non_null(failing_rank);
	(void)dlclose(dl);
}

static int setup(void **state)
{
	for (int m = 0; m < MEMBERS; m++)
		open_member(&members[m]);
	find_engine();
	for (int m = 0; m < MEMBERS; m++)
		for (int i = 0; i < MEMBERS; i++)
			insert(&members[m], &members[i], &members[m].addr[i]);
	atomic_store(ended, 0);
	atomic_store(failing_rank, -1);
	return 0;
}

static int teardown(void **state)
{
	for (int m = 0; m < MEMBERS; m++)
		close_member(&members[m]);
	return 0;
}

static void start_join(struct member *m)
{
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE };

	assert_int_equal(fi_av_set(m->av, &attr, &m->set, NULL), 0);
	assert_int_equal(
		fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, m->set, 0, &m->mc, m), 0);
}

static void leave(struct member *m)
{
	assert_int_equal(fi_close(&m->mc->fid), 0);
	assert_int_equal(fi_close(&m->set->fid), 0);
}

/* The join of each member ends once; its CQ gets nothing meanwhile. */
static void join(void)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	unsigned int joined = 0;
	struct fi_eq_entry entry;
	struct fi_cq_entry none;
	uint32_t event;

	for (int m = 0; m < MEMBERS; m++)
		start_join(&members[m]);
	for (int m = 0; joined < MEMBERS; m = (m + 1) % MEMBERS) {
		assert_true(now_ms() < end);
		assert_int_equal(fi_cq_read(members[m].cq, &none, 1), -FI_EAGAIN);
		if (fi_eq_read(members[m].eq, &event, &entry, sizeof(entry), 0) !=
			sizeof(entry))
			continue;
		assert_int_equal(event, FI_JOIN_COMPLETE);
		assert_ptr_equal(entry.fid, &members[m].mc->fid);
		assert_ptr_equal(entry.context, &members[m]);
		joined++;
	}
	for (int m = 0; m < MEMBERS; m++)
		assert_int_equal(fi_cntr_read(members[m].cntr), 0);
}

/* Each member's operation ends with @context. */
static void all_end(const void *context)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct fi_cq_entry entry;
	ssize_t ret;
	int left = MEMBERS;

	for (int m = 0; left; m = (m + 1) % MEMBERS) {
		assert_true(now_ms() < end);
		ret = fi_cq_read(members[m].cq, &entry, 1);
		if (ret == -FI_EAGAIN)
			continue;
		assert_int_equal(ret, 1);
		assert_ptr_equal(entry.op_context, context);
		left--;
	}
}

static void barrier(void)
{
	for (int m = 0; m < MEMBERS; m++)
		assert_int_equal(fi_barrier(members[m].ep, fi_mc_addr(members[m].mc),
					 &members[0]),
			0);
	all_end(&members[0]);
}

static void add_up(enum fi_datatype datatype)
{
	uint64_t in[MEMBERS][ELEMENTS], out[MEMBERS][ELEMENTS];

	for (int m = 0; m < MEMBERS; m++) {
		for (uint64_t i = 0; i < ELEMENTS; i++)
			in[m][i] = i * 10 + (uint64_t)m;
		assert_int_equal(
			fi_allreduce(members[m].ep, in[m], ELEMENTS, NULL, out[m], NULL,
				fi_mc_addr(members[m].mc), datatype, FI_SUM, 0, in),
			0);
	}
	all_end(in);
	for (int m = 0; m < MEMBERS; m++)
		for (uint64_t i = 0; i < ELEMENTS; i++)
			assert_int_equal(out[m][i], i * 10 * MEMBERS + 3);
}

static void broadcast(void)
{
	uint64_t value[MEMBERS] = { 0, 17, 0 };

	for (int m = 0; m < MEMBERS; m++)
		assert_int_equal(fi_broadcast(members[m].ep, &value[m], 1, NULL,
					 fi_mc_addr(members[m].mc), members[m].addr[1],
					 FI_UINT64, 0, value),
			0);
	all_end(value);
	for (int m = 0; m < MEMBERS; m++)
		assert_int_equal(value[m], 17);
}

/* The engine executes what it supports, the library the rest. */
static void takes_part(void **state)
{
	struct fi_collective_attr attr = { .op = FI_NOOP, .datatype = FI_VOID };

	assert_int_equal(
		fi_query_collective(members[0].domain, FI_BARRIER, &attr, 0), 0);
	assert_int_equal(attr.max_members, 16);
	join();
	barrier();
	assert_int_equal(atomic_load(ended), MEMBERS);
	add_up(FI_UINT64);
	assert_int_equal(atomic_load(ended), 2 * MEMBERS);
	add_up(FI_INT64);
	broadcast();
	assert_int_equal(atomic_load(ended), 2 * MEMBERS);
	barrier();
	assert_int_equal(atomic_load(ended), 3 * MEMBERS);
	for (int m = 0; m < MEMBERS; m++) {
		assert_int_equal(fi_cntr_read(members[m].cntr), 5);
		leave(&members[m]);
	}
}

/* It fails at one member, so no member uses it. */
static void is_left_out(void **state)
{
	for (int rank = 0; rank < MEMBERS; rank++) {
		atomic_store(failing_rank, rank);
		join();
		barrier();
		add_up(FI_UINT64);
		assert_int_equal(atomic_load(ended), 0);
		for (int m = 0; m < MEMBERS; m++) {
			assert_int_equal(fi_cntr_read(members[m].cntr), 2);
			assert_int_equal(fi_cntr_set(members[m].cntr, 0), 0);
			leave(&members[m]);
		}
	}
}

/* Members leave while others have not joined yet, and while the engine joins. */
static void leaves_early(void **state)
{
	for (int reads = 0; reads < 40; reads++) {
		for (int m = 0; m < MEMBERS; m++)
			start_join(&members[m]);
		for (int i = 0; i < reads; i++)
			for (int m = 0; m < MEMBERS; m++)
				(void)fi_cq_read(members[m].cq, NULL, 0);
		for (int m = 0; m < MEMBERS; m++)
			leave(&members[m]);
	}
}

#define OFFLOAD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		OFFLOAD_TEST(takes_part),
		OFFLOAD_TEST(is_left_out),
		OFFLOAD_TEST(leaves_early),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
