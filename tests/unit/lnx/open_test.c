/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#include "providers/lnx/endpoint.h"
#include "sys/compiler.h"

/*
 * Links of one of shm and two of tcp, with striping, opened again and again: each time
 * another call fails that a step of the opening makes, an allocation or one that makes
 * a descriptor. The step tells the error. Then it is done again, and succeeds; and in
 * another round everything is closed instead. Either way nothing is left, neither
 * descriptors nor (under AddressSanitizer) memory.
 */

/* ---- the calls that fail ---- */

enum what { ALLOCATION, DESCRIPTOR };

static struct {
	enum what what;
	unsigned int left; /* calls until the one that fails, from 1 on; 0: none does */
	bool has_failed;
} fault;

static bool fails(enum what what)
{
	if (what != fault.what || !fault.left || --fault.left)
		return false;
	fault.has_failed = true;
	errno = what == ALLOCATION ? ENOMEM : EMFILE;
	return true;
}

/* Define the call @name, which has @params, by the real one with @args. */
#define WRAP(what, type, none, name, params, args)                                     \
	type __wrap_##name params;                                                     \
	type __real_##name params;                                                     \
	__attribute__((visibility("default"))) type __wrap_##name params               \
	{                                                                              \
		return fails(what) ? (none) : __real_##name args;                      \
	}

WRAP(ALLOCATION, void *, NULL, malloc, (size_t len), (len))
WRAP(ALLOCATION, void *, NULL, calloc, (size_t count, size_t len), (count, len))
WRAP(ALLOCATION, void *, NULL, realloc, (void *at, size_t len), (at, len))
WRAP(ALLOCATION, char *, NULL, strdup, (const char *text), (text))
WRAP(ALLOCATION, void *, NULL, aligned_alloc, (size_t by, size_t len), (by, len))
WRAP(ALLOCATION, struct fi_info *, NULL, fi_dupinfo, (const struct fi_info *from),
	(from))
WRAP(DESCRIPTOR, int, -1, socket, (int family, int type, int protocol),
	(family, type, protocol))
WRAP(DESCRIPTOR, int, -1, epoll_create1, (int flags), (flags))
WRAP(DESCRIPTOR, int, -1, eventfd, (unsigned int value, int flags), (value, flags))
WRAP(DESCRIPTOR, int, -1, timerfd_create, (int clock, int flags), (clock, flags))

/* ---- the members, which are linked with the test like lnx itself ---- */

extern struct fi_provider *lnx_prov_ini(void), *shm_prov_ini(void), *tcp_prov_ini(void);
static struct fi_provider *lnx, *shm, *tcp;

static struct fi_provider *member_of(const char *name)
{
	return strcmp(name, "shm") ? tcp : shm;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

static void set_version(struct fi_info *info, uint32_t version)
{
	for (; info; info = info->next)
		info->fabric_attr->api_version = version;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	const char *name = hints->fabric_attr->prov_name;
	int ret = member_of(name)->getinfo(
		version, node, service, flags, hints, ret_info);

	if (ret)
		return ret;
	for (struct fi_info *it = *ret_info; it; it = it->next)
		if (!it->fabric_attr->prov_name)
			it->fabric_attr->prov_name = __real_strdup(name);
	set_version(*ret_info, version);
	return 0;
}

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return member_of(attr->prov_name)->fabric(attr, ret_fabric, context);
}

/* ---- the steps ---- */

static struct fi_info *info;
static char memory[64];

static struct {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_mr *mr;
	struct fid_ep *ep;
	fi_addr_t addr;
} all;

static int open_fabric(void)
{
	return lnx->fabric(info->fabric_attr, &all.fabric, NULL);
}

static int open_domain(void)
{
	return fi_domain(all.fabric, info, &all.domain, NULL);
}

static int open_cq(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };

	return fi_cq_open(all.domain, &attr, &all.cq, NULL);
}

static int open_cntr(void)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };

	return fi_cntr_open(all.domain, &attr, &all.cntr, NULL);
}

static int open_av(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };

	return fi_av_open(all.domain, &attr, &all.av, NULL);
}

static int open_mr(void)
{
	return fi_mr_reg(all.domain, memory, sizeof(memory),
		FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5, 0, &all.mr, NULL);
}

static int open_ep(void)
{
	return fi_endpoint(all.domain, info, &all.ep, NULL);
}

static int bind_cq(void)
{
	return fi_ep_bind(all.ep, &all.cq->fid, FI_TRANSMIT | FI_RECV);
}

static int bind_cntr(void)
{
	return fi_ep_bind(all.ep, &all.cntr->fid, FI_SEND | FI_RECV);
}

static int bind_av(void)
{
	return fi_ep_bind(all.ep, &all.av->fid, 0);
}

static int enable(void)
{
	return fi_enable(all.ep);
}

/* fi_av_insert tells how many were inserted, not why the other one was not. */
static int insert_own_name(void)
{
	char name[256];
	size_t len = sizeof(name);
	int ret = fi_getname(&all.ep->fid, name, &len);

	if (ret)
		return ret;
	ret = fi_av_insert(all.av, name, 1, &all.addr, 0, NULL);
	if (!ret)
		return fault.what == ALLOCATION ? -FI_ENOMEM : -FI_EMFILE;
	return ret == 1 ? 0 : ret;
}

static const struct {
	const char *name;
	int (*run)(void);
} steps[] = {
	{ "fi_fabric", open_fabric },
	{ "fi_domain", open_domain },
	{ "fi_cq_open", open_cq },
	{ "fi_cntr_open", open_cntr },
	{ "fi_av_open", open_av },
	{ "fi_mr_reg", open_mr },
	{ "fi_endpoint", open_ep },
	{ "bind the CQ", bind_cq },
	{ "bind the counter", bind_cntr },
	{ "bind the AV", bind_av },
	{ "fi_enable", enable },
	{ "fi_av_insert", insert_own_name },
};

static void close_one(struct fid *fid)
{
	if (fid)
		assert_int_equal(fi_close(fid), 0);
}

#define CLOSE(object) close_one(all.object ? &all.object->fid : NULL)

static void close_all(void)
{
	CLOSE(ep);
	CLOSE(mr);
	CLOSE(av);
	CLOSE(cntr);
	CLOSE(cq);
	CLOSE(domain);
	CLOSE(fabric);
	memset(&all, 0, sizeof(all));
}

/* The endpoint sends a message to itself. */
static void talk(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	unsigned int ended = 0;
	char in = 0;

	assert_int_equal(fi_trecv(all.ep, &in, 1, NULL, FI_ADDR_UNSPEC, 1, 0, &rx), 0);
	while (fi_tsend(all.ep, "x", 1, NULL, all.addr, 1, &tx) == -FI_EAGAIN)
		(void)fi_cq_read(all.cq, NULL, 0);
	while (ended < 2) {
		ssize_t ret = fi_cq_read(all.cq, &entry, 1);

		assert_true(ret == 1 || ret == -FI_EAGAIN);
		ended += ret == 1;
	}
	assert_int_equal(in, 'x');
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

/* Do all steps, with the call numbered @number failing. A step that fails is done
 * again, or, if @again is false, is the last. Returns false: there are not so many
 * calls. */
static bool open_all(enum what what, unsigned int number, bool again)
{
	unsigned int before = descriptors();
	bool over = false;

	fault.what = what;
	fault.left = number;
	fault.has_failed = false;
	for (size_t i = 0; i < WF_ARRAY_SIZE(steps) && !over; i++) {
		int ret = steps[i].run();

		if (!ret)
			continue;
		if (!fault.has_failed)
			fail_msg("%s: %s", steps[i].name, fi_strerror(-ret));
		if (ret != (what == ALLOCATION ? -FI_ENOMEM : -FI_EMFILE))
			fail_msg("call %u, %s: %s", number, steps[i].name,
				fi_strerror(-ret));
		if (!again)
			over = true;
		else
			assert_int_equal(steps[i].run(), 0);
	}
	fault.left = 0;
	if (!over && number % 8 == 0)
		talk();
	close_all();
	if (descriptors() != before)
		fail_msg("call %u leaves %d descriptors", number,
			(int)(descriptors() - before));
	return fault.has_failed;
}

static int find_links(void)
{
	struct fi_info *hints = __real_fi_dupinfo(NULL);
	int ret;

	assert_non_null(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	info = NULL;
	ret = lnx->getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info);
	set_version(info, FI_VERSION(2, 0));
	fi_freeinfo(hints);
	return ret;
}

/* Read the parameters, and make the links of FI_LNX_PROV_LINKS. */
static void set_links(const char *links, const char *stripe_size)
{
	(void)setenv("FI_LNX_PROV_LINKS", links, 1);
	(void)setenv("FI_LNX_STRIPE_SIZE", stripe_size, 1);
	lnx = lnx_prov_ini();
	shm = shm_prov_ini();
	tcp = tcp_prov_ini();
	assert_int_equal(find_links(), 0);
}

static void forget_links(void)
{
	fi_freeinfo(info);
	info = NULL;
	lnx->cleanup();
}

/* Calls that send are those of the fast path where the endpoint sends, whether or not it
 * receives, and of the kinds of messages that it has. */
static void the_fast_path(void **state)
{
	static const struct {
		uint64_t caps;
		bool msg, tagged;
	} rows[] = {
		{ FI_MSG | FI_SEND, true, false },
		{ FI_TAGGED | FI_SEND, false, true },
		{ FI_MSG | FI_TAGGED | FI_SEND | FI_RECV, true, true },
		{ FI_MSG | FI_TAGGED | FI_RECV, false, false },
	};

	set_links("shm", "0");
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct lnx_ep *ep;

		info->caps = rows[i].caps;
		info->tx_attr->caps = info->rx_attr->caps = rows[i].caps;
		for (size_t k = 0; k < WF_ARRAY_SIZE(steps); k++)
			if (steps[k].run != open_mr)
				assert_int_equal(steps[k].run(), 0);
		ep = lnx_ep_of_fid(all.ep);
		assert_int_equal(
			ep->wf.msg_ops.send != ep->plain_msg.send, rows[i].msg);
		assert_int_equal(
			ep->wf.msg_ops.inject != ep->plain_msg.inject, rows[i].msg);
		assert_int_equal(ep->wf.tagged_ops.send != ep->plain_tagged.send,
			rows[i].tagged);
		assert_int_equal(ep->wf.tagged_ops.inject != ep->plain_tagged.inject,
			rows[i].tagged);
		close_all();
	}
	forget_links();
}

static void every_call_fails_once(const char *links, const char *stripe_size)
{
	set_links(links, stripe_size);
	/* What is made once in a process. */
	(void)open_all(ALLOCATION, 0, true);
	for (int what = ALLOCATION; what <= DESCRIPTOR; what++) {
		unsigned int number = 1;

		while (open_all((enum what)what, number, true)) {
			assert_true(open_all((enum what)what, number, false));
			number++;
		}
		assert_true(number > 4);
	}
	forget_links();
}

static void opening_over_rails_with_striping(void **state)
{
	every_call_fails_once("shm+tcp:lo+tcp:lo", "4096");
}

static void opening_over_shared_memory(void **state)
{
	every_call_fails_once("shm", "0");
}

static void opening_over_sockets(void **state)
{
	every_call_fails_once("tcp:lo", "0");
}

/* Where memory lacks, links are left out, or there are none; nothing is left of
 * them. */
static void finding_links(void **state)
{
	set_links("shm+tcp:lo", "0");
	for (unsigned int number = 1; fault.has_failed || number == 1; number++) {
		int ret;

		forget_links();
		fault.what = ALLOCATION;
		fault.left = number;
		fault.has_failed = false;
		ret = find_links();
		fault.left = 0;
		assert_true(!ret || (fault.has_failed &&
					    (ret == -FI_ENOMEM || ret == -FI_ENODATA)));
		assert_int_equal(!ret, info != NULL);
	}
	assert_non_null(info);
	forget_links();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening_over_rails_with_striping),
		cmocka_unit_test(opening_over_shared_memory),
		cmocka_unit_test(opening_over_sockets),
		cmocka_unit_test(finding_links),
		cmocka_unit_test(the_fast_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
