/* SPDX-License-Identifier: BSD-2-Clause */
/* What an AV tells when memory, a lock or the resolver fails, and what it undoes. */
#include "av_fixture.h"

#include <netdb.h>
#include <stdio.h>
#include <unistd.h>

#include "../../log_lines.h"
#include "objects/av/internal.h"
#include "objects/av/removals.h"
#include "objects/av/set.h"
#include "objects/av/shared.h"
#include "objects/av/table_internal.h"
#include "../refuse.h"
#include "sys/addrstr.h"
#include "sys/lock.h"
#include "sys/shm_file.h"

#define VISIBLE __attribute__((visibility("default")))

static int shm_lock_err, commit_err, resize_err;
static unsigned int commits; /* that succeed before one fails with commit_err */

VISIBLE int __wrap_wf_shm_lock(struct wf_shm *shm);
VISIBLE int __wrap_wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len);
VISIBLE int __wrap_wf_shm_resize(struct wf_shm *shm, size_t len);
VISIBLE int __wrap_wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list);
int __real_wf_shm_lock(struct wf_shm *shm);
int __real_wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len);
int __real_wf_shm_resize(struct wf_shm *shm, size_t len);
int __real_wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list);

int __wrap_wf_shm_lock(struct wf_shm *shm)
{
	return shm_lock_err ? shm_lock_err : __real_wf_shm_lock(shm);
}

int __wrap_wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len)
{
	if (!commit_err || commits) {
		commits -= commits > 0;
		return __real_wf_shm_commit(shm, offset, len);
	}
	return commit_err;
}

int __wrap_wf_shm_resize(struct wf_shm *shm, size_t len)
{
	return resize_err ? resize_err : __real_wf_shm_resize(shm, len);
}

/* The resolver: each name has the address 10.0.0.1, or there is this error. */
static int resolver_err;
static char asked[300];

int __wrap_wf_sys_getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **ret_list)
{
	(void)snprintf(asked, sizeof(asked), "%s", node ? node : "");
	assert_int_equal(hints->ai_family, AF_INET);
	assert_int_equal(hints->ai_socktype, SOCK_DGRAM);
	return resolver_err ? resolver_err
			    : __real_wf_sys_getaddrinfo(
				      "10.0.0.1", service, hints, ret_list);
}

static char name[64];

static const char *new_name(void)
{
	static int serial;

	(void)snprintf(name, sizeof(name), "failures/%d-%d", getpid(), serial++);
	return name;
}

/* Each allocation of an open fails once. Returns how many there are. */
static unsigned int refuse_open(struct av_fixture *f, struct fi_av_attr attr)
{
	unsigned int number = 0;
	bool refused;

	do {
		int ret;

		refuse_one("memory", ++number, ENOMEM);
		ret = av_try_open(f, attr);
		refused = refuse_end();
		assert_int_equal(ret, refused ? -FI_ENOMEM : 0);
		assert_int_equal(atomic_load(&f->domain.refs), 0);
	} while (refused);
	return number - 1;
}

static void opens(void **state)
{
	struct av_fixture *f = *state;

	assert_true(refuse_open(f, (struct fi_av_attr){ 0 }) >= 3);
	assert_true(refuse_open(f, (struct fi_av_attr){ .count = 1000 }) >= 9);
	/* The AV, its name, and what belongs to the shared memory. */
	assert_true(refuse_open(f, (struct fi_av_attr){ .name = new_name() }) >= 3);
	assert_int_equal(av_try_open(f, (struct fi_av_attr){ 0 }), 0);
}

static void shared_opens(void **state)
{
	struct av_fixture *f = *state;
	struct fi_av_attr attr = { .name = new_name() };
	char scope[400];
	struct fid_av *av;

	resize_err = -FI_ENOSPC;
	assert_int_equal(av_try_open(f, attr), -FI_ENOSPC);
	resize_err = 0;
	commit_err = -FI_ENOSPC;
	assert_int_equal(av_try_open(f, attr), -FI_ENOSPC);
	/* The three arrays of the first addresses. */
	for (unsigned int i = 1; i <= 3; i++) {
		commits = i;
		assert_int_equal(av_try_open(f, attr), -FI_ENOMEM);
		assert_int_equal(commits, 0);
	}
	commit_err = 0;
	/* Nothing is left for those who only read. */
	attr.flags = FI_READ;
	assert_int_equal(av_try_open(f, attr), -FI_ENOENT);
	attr.flags = 0;
	assert_int_equal(av_try_open(f, attr), 0);

	/* Room for as many as are announced. */
	av = av_fixture_open(f, attr);
	assert_int_equal(wf_av_of(av)->table.max_bits, WF_AV_SHARED_BITS);
	assert_int_equal(fi_close(&av->fid), 0);
	attr.count = (size_t)1 << WF_AV_SHARED_BITS;
	av = av_fixture_open(f, attr);
	assert_int_equal(wf_av_of(av)->table.max_bits, WF_AV_SHARED_BITS);
	assert_int_equal(fi_close(&av->fid), 0);
	attr.count++;
	av = av_fixture_open(f, attr);
	assert_int_equal(wf_av_of(av)->table.max_bits, WF_AV_SHARED_BITS + 1);
	assert_int_equal(fi_close(&av->fid), 0);

	/* The name of a domain that leaves no room for the AV's. */
	memset(scope, '/', sizeof(scope)); /* three characters each */
	scope[sizeof(scope) - 1] = '\0';
	f->domain.name = scope;
	assert_int_equal(av_try_open(f, attr), -FI_EINVAL);
	f->domain.name = NULL;
}

/* The memory of another process's addresses is found when it is needed. */
static void found_later(void **state)
{
	struct av_fixture *f = *state;
	struct fi_av_attr attr = { .name = new_name() };
	struct fid_av *one = av_fixture_open(f, attr), *two = av_fixture_open(f, attr);
	struct sockaddr_in sa[100];
	const void *found;

	for (unsigned int i = 0; i < 100; i++)
		sa[i] = in_addr_of(1 + i, 1);
	assert_int_equal(fi_av_insert(one, sa, 100, NULL, 0, NULL), 100);
	assert_null(wf_av_slot_at(&wf_av_of(two)->table, 99));
	found = wf_av_addr(wf_av_of(two), 99);
	assert_non_null(found);
	assert_memory_equal(found, &sa[99], sizeof(sa[99]));
	assert_null(wf_av_addr(wf_av_of(two), 100));
	assert_null(wf_av_addr(wf_av_of(two), 128));
	assert_int_equal(fi_close(&one->fid), 0);
	assert_int_equal(fi_close(&two->fid), 0);
}

static void locks_between_processes(void **state)
{
	struct fid_av *av =
		av_fixture_open(*state, (struct fi_av_attr){ .name = new_name() });
	struct sockaddr_in sa[2] = { in_addr_of(1, 1), in_addr_of(2, 1) };
	fi_addr_t addr[2] = { 5, 5 };
	int err[2];

	shm_lock_err = -FI_EIO;
	assert_int_equal(fi_av_insert(av, sa, 2, addr, FI_SYNC_ERR, err), 0);
	assert_int_equal(err[0], FI_EIO);
	assert_int_equal(err[1], FI_EIO);
	assert_true(addr[0] == FI_ADDR_NOTAVAIL && addr[1] == FI_ADDR_NOTAVAIL);
	assert_int_equal(wf_av_set_id_untold(wf_av_of(av), 0, 9), -FI_EIO);
	shm_lock_err = 0;
	/* The AV's own lock is free again. */
	assert_true(wf_trylock(&wf_av_of(av)->lock));
	wf_unlock(&wf_av_of(av)->lock);
	assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_SYNC_ERR, err), 1);
	assert_int_equal(err[0], 0);
	assert_int_equal(addr[0], 0);

	/* Memory for the second segment of addresses. */
	commit_err = -FI_ENOSPC;
	for (unsigned int i = 2; i <= 64; i++) {
		sa[0] = in_addr_of(i, 1);
		assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_SYNC_ERR, err), 1);
	}
	sa[0] = in_addr_of(65, 1);
	assert_int_equal(fi_av_insert(av, sa, 2, addr, FI_SYNC_ERR, err), 0);
	assert_int_equal(err[0], FI_ENOMEM);
	assert_int_equal(err[1], FI_ECANCELED);
	commit_err = 0;
	assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_SYNC_ERR, err), 1);
	assert_int_equal(addr[0], 64);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Memory for the next addresses, and for their ids. */
static void insertions(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av *own = wf_av_of(av);
	struct sockaddr_in sa = in_addr_of(1, 1);
	const uint32_t capacity = 1 << WF_AV_FIRST_BITS;
	fi_addr_t addr = 700;
	unsigned int number = 0;
	int err, ret;

	refuse_one("memory", 1, ENOMEM);
	ret = fi_av_insert(av, &sa, 1, &addr, FI_AV_USER_ID | FI_SYNC_ERR, &err);
	assert_true(refuse_end());
	assert_int_equal(ret, 0);
	assert_int_equal(err, FI_ENOMEM);
	assert_true(addr == FI_ADDR_NOTAVAIL);
	assert_null(wf_av_addr(own, 0));
	for (unsigned int i = 1; i <= capacity; i++) {
		sa = in_addr_of(i, 1);
		assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	}
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_av_set_user_id(av, 3, 7, 0), -FI_ENOMEM);
	assert_int_equal(wf_av_report(own, 3), 3);
	assert_int_equal(fi_av_set_user_id(av, 3, 7, 0), 0);
	assert_int_equal(wf_av_report(own, 3), 7);
	sa = in_addr_of(capacity + 1, 1);
	do {
		refuse_one("memory", ++number, ENOMEM);
		ret = fi_av_insert(av, &sa, 1, &addr, FI_SYNC_ERR, &err);
		if (ret)
			break;
		assert_int_equal(err, FI_ENOMEM);
		assert_int_equal(wf_av_table_capacity(&own->table), capacity);
		assert_null(wf_av_addr(own, capacity));
	} while (number < 10);
	(void)refuse_end();
	assert_true(number > 1 && number < 10);
	assert_int_equal(addr, capacity);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void untold_insertions(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct fid_av *named =
		av_fixture_open(*state, (struct fi_av_attr){ .name = new_name() });
	struct sockaddr_in sa = in_addr_of(1, 1), bad = in_addr_of(0, 1);
	fi_addr_t addr = 5;

	assert_int_equal(
		wf_av_insert_untold(wf_av_of(named), &sa, 7, &addr), -FI_EINVAL);
	assert_int_equal(
		wf_av_insert_untold(wf_av_of(av), &bad, 7, &addr), -FI_EADDRNOTAVAIL);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(wf_av_insert_untold(wf_av_of(av), &sa, 7, &addr), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_int_equal(addr, 5);
	assert_int_equal(wf_av_insert_untold(wf_av_of(av), &sa, 7, &addr), 0);
	assert_int_equal(addr, 0);
	assert_int_equal(wf_av_report(wf_av_of(av), 0), 7);
	assert_int_equal(wf_av_set_id_untold(wf_av_of(av), 0, 9), 0);
	assert_int_equal(wf_av_report(wf_av_of(av), 0), 9);
	assert_int_equal(fi_close(&named->fid), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* A provider that refuses an address, or removes one that is about to be told. */
static struct {
	unsigned int count;
	uint64_t refuses, removes;
	uint64_t flags;
} told;

static int on_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags)
{
	fi_addr_t gone = told.removes;

	told.count++;
	told.flags = flags;
	assert_ptr_equal(addr, wf_av_addr(av, index));
	if (index + 1 == told.removes)
		assert_int_equal(fi_av_remove(&av->fid, &gone, 1, 0), 0);
	return index == told.refuses ? -FI_ENOSPC : 0;
}

static void told_insertions(void **state)
{
	struct av_fixture *f = *state;
	struct sockaddr_in sa[4];
	fi_addr_t addr[4];
	struct fid_av *av;
	int err[4];

	f->prov.av_inserted = on_inserted;
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	for (unsigned int i = 0; i < 4; i++)
		sa[i] = in_addr_of(1 + i, 1);
	told.count = 0;
	told.refuses = 1;
	told.removes = 3;
	assert_int_equal(
		fi_av_insert(av, sa, 4, addr, FI_SYNC_ERR | FI_FIREWALL_ADDR, err), 3);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.flags, FI_FIREWALL_ADDR);
	assert_int_equal(err[0], 0);
	assert_int_equal(err[1], FI_ENOSPC);
	assert_int_equal(err[2], 0);
	assert_int_equal(err[3], 0);
	assert_int_equal(addr[0], 0);
	assert_true(addr[1] == FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[2], 2);
	assert_non_null(wf_av_addr(wf_av_of(av), 0));
	assert_null(wf_av_addr(wf_av_of(av), 1));
	assert_non_null(wf_av_addr(wf_av_of(av), 2));
	assert_null(wf_av_addr(wf_av_of(av), 3));
	assert_int_equal(fi_av_insert(av, sa, 1, NULL, 0, NULL), 1);
	assert_int_equal(told.flags, 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void full_event_queue(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av =
		av_fixture_open(f, (struct fi_av_attr){ .flags = FI_EVENT });
	struct sockaddr_in sa[2] = { in_addr_of(1, 1), in_addr_of(0, 1) };

	assert_int_equal(av->fid.ops->bind(&av->fid, &f->eq.fid.fid, 0), 0);
	recorder_is_full = true;
	log_lines_start();
	assert_int_equal(fi_av_insert(av, sa, 1, NULL, 0, NULL), 0);
	assert_true(log_lines_have("insert: the EQ did not take the completion\n"));
	assert_false(log_lines_have("did not take the error"));
	assert_int_equal(fi_av_insert(av, sa, 2, NULL, 0, NULL), 0);
	assert_true(
		log_lines_have("insert: the EQ did not take the error of address 1\n"));
	recorder_is_full = false;
	log_lines_start();
	assert_int_equal(fi_av_insert(av, sa, 2, NULL, 0, NULL), 0);
	assert_false(log_lines_have("did not take"));
	assert_int_equal(fi_close(&av->fid), 0);
}

/* The map of used slots contradicts itself: nothing is written over. */
static void broken_maps(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av_table *table = &wf_av_of(av)->table;
	struct sockaddr_in sa = in_addr_of(1, 1);
	fi_addr_t addr;
	int err;

	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	sa = in_addr_of(2, 1);
	/* Full, but the level above does not say so. */
	table->used.level[0][0] = UINT64_MAX;
	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_EIO);
	/* A slot that is in use, but the map says that it is free. */
	table->used.level[0][0] = 0;
	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, FI_SYNC_ERR, &err), 0);
	assert_int_equal(err, FI_EIO);
	table->used.level[0][0] = 1;
	assert_int_equal(fi_av_insert(av, &sa, 1, &addr, FI_SYNC_ERR, &err), 1);
	assert_int_equal(addr, 1);

	/* A capacity whose memory is not there, or none. */
	table->state->bits = WF_AV_FIRST_BITS + 1;
	wf_av_chain_split(table);
	assert_int_equal(table->state->chains, 1 << WF_AV_FIRST_BITS);
	assert_int_equal(table->state->seq & 1, 0);
	table->state->bits = 0;
	assert_int_equal(wf_av_table_grow(table), -FI_EIO);
	table->state->bits = WF_AV_FIRST_BITS;
	assert_int_equal(fi_close(&av->fid), 0);
}

static void removals(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av_removals list = { .av = NULL };
	struct sockaddr_in sa[3] = { in_addr_of(1, 1), in_addr_of(2, 1),
		in_addr_of(3, 1) };
	fi_addr_t addr[3];
	uint64_t index[3];
	bool all;

	assert_int_equal(fi_av_insert(av, sa, 3, addr, 0, NULL), 3);
	wf_av_removals_start(&list, wf_av_of(av));
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_av_remove(av, addr, 1, 0), 0);
	assert_true(refuse_end());
	/* It is not listed any more which: all. */
	assert_int_equal(fi_av_remove(av, addr + 1, 1, 0), 0);
	assert_int_equal(wf_av_removals_take(&list, index, 3, &all), 0);
	assert_true(all);
	assert_int_equal(fi_av_remove(av, addr + 2, 1, 0), 0);
	assert_int_equal(wf_av_removals_take(&list, index, 3, &all), 1);
	assert_int_equal(index[0], 2);
	assert_false(all);
	wf_av_removals_stop(&list);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void sets(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set = NULL;
	struct sockaddr_in sa = in_addr_of(1, 1);
	size_t count = 1;
	fi_addr_t member;

	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	refuse_one("memory", 1, ENOMEM);
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_ENOMEM);
	assert_true(refuse_end());
	assert_null(set);
	assert_int_equal(fi_av_set(av, &attr, &set, NULL), 0);
	for (unsigned int i = 1; i <= 2; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(fi_av_set_insert(set, 0), -FI_ENOMEM);
		assert_true(refuse_end());
		assert_int_equal(wf_av_set_of(set)->count, 0);
	}
	assert_int_equal(fi_av_set_insert(set, 0), 0);
	assert_int_equal(wf_av_set_members(wf_av_set_of(set), &member, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(member, 0);
	assert_int_equal(fi_close(&set->fid), 0);

	/* A set that is filled by its range. */
	attr = (struct fi_av_set_attr){ .end_addr = 0, .stride = 1 };
	set = NULL;
	for (unsigned int i = 1; i <= 3; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(fi_av_set(av, &attr, &set, NULL), -FI_ENOMEM);
		assert_true(refuse_end());
		assert_null(set);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

static void resolver(void **state)
{
	static const struct {
		int err, ret;
	} errors[] = {
		{ EAI_MEMORY, -FI_ENOMEM },
		{ EAI_AGAIN, -FI_EAGAIN },
		{ EAI_NONAME, -FI_ENODATA },
		{ EAI_FAIL, -FI_ENODATA },
	};
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in want = in_addr_of(0x0a000001, 5);
	char longest[WF_ADDRSTR_NODE_MAX + 1];
	fi_addr_t addr[2];
	int err[2];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		resolver_err = errors[i].err;
		addr[0] = 3;
		assert_int_equal(
			fi_av_insertsvc(av, "node", "5", addr, 0, NULL), errors[i].ret);
		assert_true(addr[0] == FI_ADDR_NOTAVAIL);
	}
	resolver_err = 0;
	/* A name without a number, which is not counted up. */
	assert_int_equal(
		fi_av_insertsym(av, "node", 1, "5", 1, addr, FI_SYNC_ERR, err), 1);
	assert_string_equal(asked, "node");
	assert_int_equal(err[0], 0);
	assert_memory_equal(wf_av_addr(wf_av_of(av), addr[0]), &want, sizeof(want));

	/* The longest name there is, and what comes after it. */
	memset(longest, 'n', sizeof(longest));
	longest[WF_ADDRSTR_NODE_MAX - 2] = '9';
	longest[WF_ADDRSTR_NODE_MAX - 1] = '\0';
	assert_int_equal(
		fi_av_insertsym(av, longest, 2, "6", 1, addr, FI_SYNC_ERR, err), 1);
	assert_string_equal(asked, longest);
	assert_int_equal(err[0], 0);
	assert_int_equal(err[1], FI_EADDRNOTAVAIL);
	longest[WF_ADDRSTR_NODE_MAX - 1] = '9';
	longest[WF_ADDRSTR_NODE_MAX] = '\0';
	assert_int_equal(
		fi_av_insertsym(av, longest, 1, "6", 1, addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(opens),
		AV_TEST(shared_opens),
		AV_TEST(found_later),
		AV_TEST(locks_between_processes),
		AV_TEST(insertions),
		AV_TEST(untold_insertions),
		AV_TEST(told_insertions),
		AV_TEST(full_event_queue),
		AV_TEST(broken_maps),
		AV_TEST(removals),
		AV_TEST(sets),
		AV_TEST(resolver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
