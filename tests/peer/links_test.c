/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>

#include "peer.h"

/*
 * A provider library of any version as a member of an lnx link: links_test PROVIDER.
 * Two endpoints exchange messages, received from any source, posted first and
 * unexpected.
 */

enum { SIDES = 2, NAME_ROOM = 256, LEN = 24, TURNS_MAX = 1000000 };

struct side {
	struct fid_ep *ep;
	struct fid_cq *cq;
};

static const char *member;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct side sides[SIDES];
static fi_addr_t addr[SIDES];
static struct fid_cntr *bound; /* to the next side that is opened; NULL: none is */

/* The member is found although it knows nothing of the newest version (GI-040), and
 * answers what was asked for with any. */
static void found(void **state)
{
	const uint32_t versions[] = { FI_VERSION(1, 18), FI_VERSION(2, 0),
		FI_VERSION(2, 6) };
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->cntr_cnt = hints->domain_attr->mr_cnt = 16; /* DAT-022 */
	hints->fabric_attr->prov_name = strdup("lnx");
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		fi_freeinfo(info);
		info = NULL;
		assert_int_equal(
			fi_getinfo(versions[i], NULL, NULL, 0, hints, &info), 0);
		assert_int_equal(info->fabric_attr->api_version, versions[i]);
		assert_string_equal(info->domain_attr->name, "test");
	}
	fi_freeinfo(hints);
}

static void open_side(struct side *side)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };

	assert_int_equal(fi_cq_open(domain, &attr, &side->cq, NULL), 0);
	assert_int_equal(fi_endpoint(domain, info, &side->ep, NULL), 0);
	assert_int_equal(
		fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(side->ep, &av->fid, 0), 0);
	if (bound)
		assert_int_equal(fi_ep_bind(side->ep, &bound->fid, FI_SEND), 0);
	assert_int_equal(fi_enable(side->ep), 0);
}

static void insert(int side)
{
	unsigned char name[NAME_ROOM];
	size_t len = sizeof(name);

	assert_int_equal(fi_getname(&sides[side].ep->fid, name, &len), 0);
	assert_int_equal(fi_av_insert(av, name, 1, &addr[side], 0, NULL), 1);
}

static void opened(void **state)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	assert_int_equal(fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	assert_int_equal(fi_av_open(domain, &attr, &av, NULL), 0);
	for (int i = 0; i < SIDES; i++)
		open_side(&sides[i]);
	/* The other way round than they were opened. */
	for (int i = SIDES; i-- > 0;)
		insert(i);
}

static void expect(const struct side *side, void *context, uint64_t flags, uint64_t tag,
	fi_addr_t src)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t from;
	ssize_t ret;
	int turns = 0;

	do
		ret = fi_cq_readfrom(side->cq, &entry, 1, &from);
	while (ret == -FI_EAGAIN && ++turns < TURNS_MAX);
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, context);
	assert_int_equal(entry.flags & flags, flags);
	if (!(flags & FI_RECV))
		return;
	assert_int_equal(entry.len, LEN);
	assert_int_equal(entry.tag, tag);
	assert_int_equal(from, src);
}

static void exchange(int from, bool tagged, bool early)
{
	const struct side *to = &sides[!from];
	uint64_t type = tagged ? FI_TAGGED : FI_MSG;
	unsigned char out[LEN], in[LEN] = { 0 };
	struct fi_context2 tx, rx;

	memset(out, 17 + from, sizeof(out));
	for (int step = 0; step < 2; step++) {
		if ((step == 0) == early) {
			assert_int_equal(tagged ? fi_tsend(sides[from].ep, out, LEN,
							  NULL, addr[!from], 5, &tx)
						: fi_send(sides[from].ep, out, LEN,
							  NULL, addr[!from], &tx),
				0);
			/* What came unexpected is in the queue then. */
			expect(&sides[from], &tx, FI_SEND | type, 0, 0);
			(void)fi_cq_read(to->cq, NULL, 0);
		} else {
			assert_int_equal(tagged ? fi_trecv(to->ep, in, LEN, NULL,
							  FI_ADDR_UNSPEC, 4, 1, &rx)
						: fi_recv(to->ep, in, LEN, NULL,
							  FI_ADDR_UNSPEC, &rx),
				0);
		}
	}
	expect(to, &rx, FI_RECV | type, tagged ? 5 : 0, addr[from]);
	assert_memory_equal(in, out, LEN);
}

/* A message waits, and the index of its sender is given to another endpoint: it is not
 * reported as that endpoint's (AV-032). */
static void sources_are_forgotten(void **state)
{
	unsigned char out[LEN] = "from nobody", in[2][LEN] = { { 0 } };
	struct fi_context2 tx, rx[2];
	struct fi_cq_err_entry err = { 0 };
	fi_addr_t gone = addr[0];

	assert_int_equal(fi_tsend(sides[0].ep, out, LEN, NULL, addr[1], 7, &tx), 0);
	expect(&sides[0], &tx, FI_SEND | FI_TAGGED, 0, 0);
	(void)fi_cq_read(sides[1].cq, NULL, 0);
	assert_int_equal(fi_av_remove(av, addr, SIDES, 0), 0);
	insert(0);
	insert(1);
	assert_int_equal(addr[1], gone);
	assert_int_equal(
		fi_trecv(sides[1].ep, in[0], LEN, NULL, gone, 7, 0, &rx[0]), 0);
	assert_int_equal(fi_cq_read(sides[1].cq, NULL, 0), -FI_EAGAIN);
	assert_int_equal(in[0][0], 0);
	assert_int_equal(
		fi_trecv(sides[1].ep, in[1], LEN, NULL, FI_ADDR_UNSPEC, 7, 0, &rx[1]),
		0);
	expect(&sides[1], &rx[1], FI_RECV | FI_TAGGED, 7, addr[0]);
	assert_memory_equal(in[1], out, LEN);
	assert_int_equal(fi_cancel(&sides[1].ep->fid, &rx[0]), 0);
	assert_int_equal(fi_cq_readerr(sides[1].cq, &err, 0), 1);
	assert_int_equal(err.err, FI_ECANCELED);
}

static void *reads(void *arg)
{
	const atomic_bool *over = arg;

	while (!atomic_load(over)) {
		for (int i = 0; i < SIDES; i++)
			(void)fi_cq_read(sides[i].cq, NULL, 0);
	}
	return NULL;
}

/* The member holds a lock while it asks for sources, which it also takes when it makes
 * progress: no deadlock (P-62). */
static void addresses_come_beside_progress(void **state)
{
	enum { TIMES = 20000 };
	atomic_bool over = false;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, reads, &over), 0);
	for (int i = 0; i < TIMES; i++) {
		assert_int_equal(fi_av_remove(av, &addr[1], 1, 0), 0);
		insert(1);
	}
	atomic_store(&over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void exchanged(void **state)
{
	for (int i = 0; i < 8; i++)
		exchange(i & 1, i & 2, i & 4);
}

/* Peers have no descriptors that would end a sleep (CQ-026, POL-009). */
static void sleeps(void **state)
{
	struct fid *fid = &sides[1].cq->fid;
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	char in, out = 1;
	int ret, turns = 0;

	while ((ret = fi_trywait(fabric, &fid, 1)) == -FI_EAGAIN && ++turns < TURNS_MAX)
		assert_int_equal(fi_cq_read(sides[1].cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(ret, 0);
	assert_int_equal(fi_recv(sides[1].ep, &in, 1, NULL, FI_ADDR_UNSPEC, &rx), 0);
	assert_int_equal(fi_send(sides[0].ep, &out, 1, NULL, addr[1], &tx), 0);
	assert_int_equal(fi_control(fid, FI_GETWAIT, &poll_fd.fd), 0);
	assert_int_equal(poll(&poll_fd, 1, -1), 1);
	assert_int_equal(fi_cq_sread(sides[1].cq, &entry, 1, NULL, -1), 1);
	assert_ptr_equal(entry.op_context, &rx);
	assert_int_equal(fi_cq_sread(sides[0].cq, &entry, 1, NULL, -1), 1);
	assert_ptr_equal(entry.op_context, &tx);
}

/* A peer of another library counts operations, not bytes (CNT-005, CNT-007). */
static void counts_operations(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_BYTES };
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_ENOSYS);
	attr.events = FI_CNTR_EVENTS_COMP;
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* Operations that are not offered are refused, even if a member supports them
 * (ATM-014). */
static void has_no_atomics(void **state)
{
	struct fi_atomic_attr attr;

	assert_int_equal(
		fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, 0), -FI_ENOSYS);
}

/* A sub-region must be inside the region, whether or not a member checks it
 * (MR-035). */
static void parts_are_inside(void **state)
{
	static char memory[256];
	struct iovec iov = { memory + 64, 64 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND | FI_RECV
	};
	struct fid_mr *whole, *part;

	assert_int_equal(fi_mr_regattr(domain, &attr, 0, &whole), 0);
	attr.base_mr = whole;
	for (int i = 0; i < 4; i++) {
		iov = (struct iovec){ memory + 56 + 8 * i, 48 + 16 * (i == 3) };
		assert_int_equal(fi_mr_regattr(domain, &attr, 0, &part),
			i == 0 || i == 3 ? -FI_EINVAL : 0);
		if (i == 1 || i == 2)
			assert_int_equal(fi_close(&part->fid), 0);
	}
	assert_int_equal(fi_close(&whole->fid), 0);
}

static void reopen(int side)
{
	assert_int_equal(fi_close(&sides[side].ep->fid), 0);
	assert_int_equal(fi_close(&sides[side].cq->fid), 0);
	open_side(&sides[side]);
}

/* A message longer than its receive: returns the source in the error entry. */
static fi_addr_t source_of_truncated(void)
{
	unsigned char out[LEN] = { 1 }, in[LEN / 2];
	struct fi_cq_err_entry err = { .src_addr = 12345 };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	int turns = 0;
	ssize_t ret;

	assert_int_equal(
		fi_trecv(sides[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 9, 0, &rx),
		0);
	assert_int_equal(fi_tsend(sides[0].ep, out, LEN, NULL, addr[1], 9, &tx), 0);
	expect(&sides[0], &tx, FI_SEND | FI_TAGGED, 0, 0);
	do
		ret = fi_cq_read(sides[1].cq, &entry, 1);
	while (ret == -FI_EAGAIN && ++turns < TURNS_MAX);
	assert_int_equal(ret, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(sides[1].cq, &err, 0), 1);
	assert_ptr_equal(err.op_context, &rx);
	assert_int_equal(err.err, FI_ETRUNC);
	return err.src_addr;
}

/* Errors of receives name the source as completions do: by index, by the application's
 * id, and not at all where FI_SOURCE was not asked for (CQ-014). */
static void errors_name_sources(void **state)
{
	unsigned char name[NAME_ROOM];
	size_t len = sizeof(name);
	fi_addr_t id = 77;
	/* Members of before 1.20 have no field for it. */
	bool told = strcmp(member, "testpeer117") && strcmp(member, "testpeer119");

	assert_int_equal(source_of_truncated(), told ? addr[0] : FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_getname(&sides[0].ep->fid, name, &len), 0);
	assert_int_equal(fi_av_insert(av, name, 1, &id, FI_AV_USER_ID, NULL), 1);
	assert_int_equal(source_of_truncated(), told ? 77 : FI_ADDR_NOTAVAIL);
	info->caps &= ~(FI_SOURCE | FI_DIRECTED_RECV);
	info->rx_attr->caps &= ~(FI_SOURCE | FI_DIRECTED_RECV);
	reopen(1);
	assert_int_equal(fi_av_remove(av, &addr[1], 1, 0), 0);
	insert(1);
	assert_int_equal(source_of_truncated(), FI_ADDR_NOTAVAIL);
}

/* An injected message that a member of another library takes and loses later counts
 * once, as a failure; one that arrives counts once, too (CS-006, CS-007, CS-008). */
static void injected_counts_once(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct fid_cntr *cntr;
	unsigned char out[8] = { 3 }, in[8] = { 0 };
	struct fi_context2 rx;
	int turns = 0;
	ssize_t ret;

	assert_int_equal(fi_close(&sides[0].ep->fid), 0);
	assert_int_equal(fi_close(&sides[0].cq->fid), 0);
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), 0);
	bound = cntr;
	open_side(&sides[0]);
	bound = NULL;
	assert_int_equal(
		fi_tinject(sides[0].ep, out, sizeof(out), addr[1], PEER_FAIL_LATER), 0);
	do
		ret = fi_cq_read(sides[0].cq, &entry, 1);
	while (ret == -FI_EAGAIN && ++turns < TURNS_MAX);
	assert_int_equal(ret, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(sides[0].cq, &err, 0), 1);
	assert_int_equal(err.err, FI_EIO);
	assert_int_equal(fi_cntr_read(cntr), 0);
	assert_int_equal(fi_cntr_readerr(cntr), 1);

	assert_int_equal(
		fi_trecv(sides[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 6, 0, &rx),
		0);
	assert_int_equal(fi_tinject(sides[0].ep, out, sizeof(out), addr[1], 6), 0);
	do
		ret = fi_cq_read(sides[1].cq, &entry, 1);
	while (ret == -FI_EAGAIN && ++turns < TURNS_MAX);
	assert_int_equal(ret, 1);
	assert_memory_equal(in, out, sizeof(out));
	assert_int_equal(fi_cntr_read(cntr), 1);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	/* No completion: it was injected. */
	assert_int_equal(fi_cq_read(sides[0].cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_close(&sides[0].ep->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&sides[0].cq->fid), 0);
	open_side(&sides[0]);
}

/* What was injected leaves before fi_close returns, although the member keeps it until
 * it makes progress (CS-006, EP-027). */
static void injected_leaves_before_closing(void **state)
{
	unsigned char out[8] = { 4 }, in[8] = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fi_context2 rx;
	int turns = 0;
	ssize_t ret;

	assert_int_equal(fi_trecv(sides[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC,
				 PEER_SEND_LATER, 0, &rx),
		0);
	assert_int_equal(
		fi_tinject(sides[0].ep, out, sizeof(out), addr[1], PEER_SEND_LATER), 0);
	reopen(0);
	do
		ret = fi_cq_read(sides[1].cq, &entry, 1);
	while (ret == -FI_EAGAIN && ++turns < TURNS_MAX);
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, &rx);
	assert_memory_equal(in, out, sizeof(out));
}

static void closed(void **state)
{
	for (int i = 0; i < SIDES; i++) {
		assert_int_equal(fi_close(&sides[i].ep->fid), 0);
		assert_int_equal(fi_close(&sides[i].cq->fid), 0);
	}
	assert_int_equal(fi_close(&av->fid), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(opened),
		cmocka_unit_test(exchanged),
		cmocka_unit_test(sources_are_forgotten),
		cmocka_unit_test(addresses_come_beside_progress),
		cmocka_unit_test(sleeps),
		cmocka_unit_test(counts_operations),
		cmocka_unit_test(parts_are_inside),
		cmocka_unit_test(has_no_atomics),
		cmocka_unit_test(errors_name_sources),
		cmocka_unit_test(injected_counts_once),
		cmocka_unit_test(injected_leaves_before_closing),
		cmocka_unit_test(closed),
	};

	if (argc != 2)
		return 2;
	member = argv[1];
	(void)setenv("FI_LNX_PROV_LINKS", member, 1);
	(void)setenv("TESTPEER_ONE_AT_A_TIME", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
