/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

#include <rdma/fi_cm.h>

/* AV-001, AV-002, AV-003, AV-009 */
static void types(void **state)
{
	struct av_fixture *f = *state;
	struct fi_av_attr attr = { .type = FI_AV_UNSPEC };
	struct fid_av *av;
	int context;

	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, &context), 0);
	assert_int_equal(attr.type, FI_AV_TABLE);
	assert_ptr_equal(av->fid.context, &context);
	assert_int_equal(av->fid.fclass, FI_CLASS_AV);
	assert_int_equal(atomic_load(&f->domain.refs), 1);
	assert_int_equal(fi_close(&av->fid), 0);

	attr.type = FI_AV_MAP;
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_int_equal(attr.type, FI_AV_MAP);
	assert_int_equal(fi_close(&av->fid), 0);

	f->domain_attr.av_type = FI_AV_TABLE;
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .type = FI_AV_MAP }), -FI_EINVAL);
	assert_int_equal(av_try_open(f, (struct fi_av_attr){ .type = FI_AV_TABLE }), 0);
	assert_int_equal(av_try_open(f, (struct fi_av_attr){ .type = 17 }), -FI_EINVAL);
	assert_int_equal(wf_av_open(&f->domain.fid, NULL, &av, NULL), -FI_EINVAL);

	f->domain_attr.av_type = FI_AV_MAP;
	attr.type = FI_AV_UNSPEC;
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_int_equal(attr.type, FI_AV_MAP);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-004, AV-005, AV-007, AV-008, DAT-031, DAT-032 */
static void open_checks(void **state)
{
	struct av_fixture *f = *state;
	struct fi_av_attr attr = { .map_addr = f };
	struct fid_av *av;

	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .flags = FI_MORE }), -FI_EINVAL);
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .flags = FI_SYMMETRIC }), 0);
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .flags = FI_AV_USER_ID }), 0);
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .flags = FI_READ }), -FI_EINVAL);
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .rx_ctx_bits = 33 }), -FI_EINVAL);
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .rx_ctx_bits = -1 }), -FI_EINVAL);
	f->domain_attr.caps = 0;
	assert_int_equal(
		av_try_open(f, (struct fi_av_attr){ .name = "x" }), -FI_ENOSYS);
	assert_int_equal(av_try_open(f, (struct fi_av_attr){ .flags = FI_AV_USER_ID }),
		-FI_EINVAL);
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &av, NULL), 0);
	assert_ptr_equal(attr.map_addr, f);
	assert_int_equal(fi_close(&av->fid), 0);
	f->info.addr_format = FI_ADDR_EFA;
	assert_int_equal(av_try_open(f, (struct fi_av_attr){ 0 }), -FI_ENOSYS);
}

/* AV-010, AV-011, AV-012, AV-013, AV-015, AV-022 */
static void insert_counts_up(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa[200], got;
	fi_addr_t addr[200];
	size_t len = sizeof(got);

	for (unsigned int i = 0; i < 200; i++)
		sa[i] = in_addr_of(0x0a000001 + i, 1000);
	memset(addr, 0x55, sizeof(addr));
	assert_int_equal(fi_av_insert(av, sa, 0, addr, 0, NULL), 0);
	assert_int_equal(fi_av_insert(av, NULL, 0, NULL, 0, NULL), 0);
	assert_true(addr[0] == UINT64_C(0x5555555555555555));
	assert_int_equal(fi_av_insert(av, NULL, 1, addr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(av, sa, 150, addr, 0, NULL), 150);
	for (unsigned int i = 0; i < 150; i++)
		assert_int_equal(addr[i], i);
	/* Also by address, after the table grew. */
	for (unsigned int i = 0; i < 150; i++)
		assert_int_equal(wf_av_index(wf_av_of(av), &sa[i], sizeof(sa[i])), i);
	assert_int_equal(fi_av_insert(av, sa + 150, 49, NULL, 0, NULL), 49);
	assert_int_equal(fi_av_lookup(av, 198, &got, &len), 0);
	assert_memory_equal(&got, &sa[198], sizeof(got));

	addr[0] = 70;
	addr[1] = 5;
	assert_int_equal(fi_av_remove(av, addr, 2, 0), 0);
	assert_int_equal(fi_av_insert(av, &sa[199], 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 5);
	assert_int_equal(fi_av_insert(av, &sa[5], 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 70);
	assert_int_equal(fi_av_insert(av, &sa[70], 1, addr, 0, NULL), 1);
	assert_int_equal(addr[0], 199);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-014, AV-017, AV-018, AV-019, AV-020 */
static void insert_failures(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa[4] = {
		in_addr_of(0x0a000001, 1),
		in_addr_of(0, 1),
		in_addr_of(0x0a000001, 0),
		in_addr_of(0x0a000002, 1),
	};
	fi_addr_t addr[4] = { 9, 9, 9, 9 };
	int err[4] = { -1, -1, -1, -1 };

	assert_int_equal(fi_av_insert(av, sa, 4, addr, FI_SYNC_ERR | FI_MORE, err), 2);
	assert_int_equal(addr[0], 0);
	assert_true(addr[1] == FI_ADDR_NOTAVAIL && addr[2] == FI_ADDR_NOTAVAIL);
	assert_int_equal(addr[3], 1);
	assert_int_equal(err[0], 0);
	assert_int_equal(err[1], FI_EADDRNOTAVAIL);
	assert_int_equal(err[2], FI_EADDRNOTAVAIL);
	assert_int_equal(err[3], 0);
	assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_SYNC_ERR, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_av_insert(av, sa, 1, addr, FI_COMPLETION, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_av_insert(av, sa, 1, addr, FI_AUTH_KEY, NULL), -FI_EINVAL);
	sa[0].sin_family = AF_INET6;
	assert_int_equal(fi_av_insert(av, sa, 1, addr, 0, NULL), 0);
	assert_true(addr[0] == FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-021: the same address has one index, and goes when removed as often. */
static void insert_twice(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa[3] = {
		in_addr_of(0x0a000001, 7),
		in_addr_of(0x0a000001, 7),
		in_addr_of(0x0a000002, 7),
	};
	fi_addr_t addr[3];

	sa[1].sin_zero[3] = 1;
	assert_int_equal(fi_av_insert(av, sa, 3, addr, 0, NULL), 3);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], 0);
	assert_int_equal(addr[2], 1);
	assert_int_equal(fi_av_remove(av, addr, 1, 0), 0);
	assert_non_null(wf_av_addr(wf_av_of(av), 0));
	assert_int_equal(fi_av_remove(av, addr, 1, 0), 0);
	assert_null(wf_av_addr(wf_av_of(av), 0));
	assert_int_equal(fi_av_remove(av, addr, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-029, AV-030, AV-031 */
static void removal(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa[2] = {
		in_addr_of(0x0a000001, 1),
		in_addr_of(0x0a000002, 1),
	};
	fi_addr_t addr[4] = { 0, 17, UINT64_C(1) << 40, 1 };

	assert_int_equal(fi_av_insert(av, sa, 2, NULL, 0, NULL), 2);
	assert_int_equal(fi_av_remove(av, addr, 1, FI_MORE), -FI_EINVAL);
	assert_int_equal(fi_av_remove(av, addr, 1, FI_AUTH_KEY), -FI_EINVAL);
	assert_int_equal(fi_av_remove(av, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_av_remove(av, NULL, 0, 0), 0);
	assert_int_equal(fi_av_remove(av, addr, 4, 0), -FI_EINVAL);
	assert_null(wf_av_addr(wf_av_of(av), 0));
	assert_null(wf_av_addr(wf_av_of(av), 1));
	addr[0] = FI_ADDR_NOTAVAIL;
	assert_int_equal(fi_av_remove(av, addr, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-034, AV-035, AV-036 */
static void lookups(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa = in_addr_of(0x0a000001, 1), got;
	size_t len = 4;

	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	memset(&got, 0x55, sizeof(got));
	assert_int_equal(fi_av_lookup(av, 0, &got, &len), 0);
	assert_int_equal(len, sizeof(sa));
	assert_memory_equal(&got, &sa, 4);
	assert_int_equal(((char *)&got)[4], 0x55);
	len = 0;
	assert_int_equal(fi_av_lookup(av, 0, NULL, &len), 0);
	assert_int_equal(len, sizeof(sa));
	len = 100;
	assert_int_equal(fi_av_lookup2(av, 0, &got, &len, 0, NULL), 0);
	assert_int_equal(len, sizeof(sa));
	assert_memory_equal(&got, &sa, sizeof(sa));
	assert_int_equal(fi_av_lookup(av, 1, &got, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, 1 << 20, &got, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, FI_ADDR_UNSPEC, &got, &len), -FI_EINVAL);
	assert_int_equal(fi_av_lookup(av, 0, &got, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_lookup2(av, 1, &got, &len, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_lookup2(av, 0, &got, &len, FI_XPU, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_av_lookup2(av, 0, &got, &len, FI_XPU, (void *)&got), -FI_ENOSYS);
	assert_int_equal(
		fi_av_lookup2(av, 0, &got, &len, FI_MORE, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-037 */
static void texts(void **state)
{
	static const char whole[] = "fi_sockaddr_in://10.0.0.1:80";
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa = in_addr_of(0x0a000001, 80);
	char buf[64];
	size_t len = sizeof(buf);

	assert_ptr_equal(fi_av_straddr(av, &sa, buf, &len), buf);
	assert_string_equal(buf, whole);
	assert_int_equal(len, sizeof(whole));
	len = 5;
	memset(buf, 0x55, sizeof(buf));
	assert_ptr_equal(fi_av_straddr(av, &sa, buf, &len), buf);
	assert_string_equal(buf, "fi_s");
	assert_int_equal(buf[5], 0x55);
	assert_int_equal(len, sizeof(whole));
	assert_null(wf_av_straddr(FI_ADDR_EFA, &sa, buf, &len));
	assert_int_equal(len, sizeof(whole));
	assert_null(fi_av_straddr(av, NULL, buf, &len));
	assert_null(fi_av_straddr(av, &sa, buf, NULL));
	assert_null(fi_av_straddr(av, &sa, NULL, &len));
	/* No Internet address. */
	sa.sin_family = AF_UNIX;
	len = sizeof(buf);
	assert_ptr_equal(fi_av_straddr(av, &sa, buf, &len), buf);
	assert_string_equal(buf, "(no address)");
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-048, AV-049, AV-050, AV-051, CQ-014 */
static void user_ids(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	struct wf_av *own = wf_av_of(av);
	struct sockaddr_in sa[3];
	fi_addr_t addr[3] = { 700, 701, 702 };

	for (unsigned int i = 0; i < 3; i++)
		sa[i] = in_addr_of(0x0a000001 + i, 9);
	assert_true(source_of(own, &sa[0], 16) == FI_ADDR_NOTAVAIL);
	assert_int_equal(
		fi_av_insert(av, sa, 1, NULL, FI_AV_USER_ID, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(av, sa, 2, addr, FI_AV_USER_ID, NULL), 2);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], 1);
	assert_int_equal(fi_av_insert(av, sa + 2, 1, addr + 2, 0, NULL), 1);
	assert_int_equal(source_of(own, &sa[1], 16), 701);
	assert_int_equal(wf_av_index(own, &sa[1], 16), 1);
	assert_int_equal(source_of(own, &sa[2], 16), 2);
	assert_true(source_of(own, &sa[1], 15) == FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_set_user_id(av, 1, 801, 0), 0);
	assert_int_equal(source_of(own, &sa[1], 16), 801);
	assert_int_equal(fi_av_set_user_id(av, 3, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_av_set_user_id(av, 0, 1, FI_AUTH_KEY), -FI_EINVAL);
	assert_int_equal(fi_av_set_user_id(av, 0, 1, FI_MORE), -FI_EBADFLAGS);
	/* The next one there does not inherit the id. */
	assert_int_equal(fi_av_remove(av, addr + 1, 1, 0), 0);
	assert_int_equal(fi_av_insert(av, sa + 1, 1, addr + 1, 0, NULL), 1);
	assert_int_equal(source_of(own, &sa[1], 16), 1);
	assert_int_equal(fi_close(&av->fid), 0);

	av = av_fixture_open(f, (struct fi_av_attr){ .flags = FI_AV_USER_ID });
	own = wf_av_of(av);
	assert_int_equal(
		fi_av_insert(av, sa, 1, addr, FI_AV_USER_ID, NULL), -FI_EINVAL);
	assert_int_equal(fi_av_insert(av, sa, 2, addr, 0, NULL), 2);
	assert_int_equal(wf_av_index(own, &sa[1], 16), 1);
	assert_true(source_of(own, &sa[1], 16) == FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_av_set_user_id(av, 1, 5, 0), 0);
	assert_int_equal(source_of(own, &sa[1], 16), 5);
	assert_true(source_of(own, &sa[0], 16) == FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-052, AV-055 */
static void auth_keys(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr;
	size_t size = 8;
	char key[8] = { 0 };

	assert_int_equal(fi_av_insert_auth_key(av, key, 8, &addr, 0), -FI_ENOSYS);
	assert_int_equal(fi_av_lookup_auth_key(av, 0, key, &size), -FI_ENOSYS);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-023 */
static void firewalled(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct sockaddr_in sa[2] = { in_addr_of(1, 1), in_addr_of(2, 1) };

	assert_int_equal(fi_av_insert(av, sa, 1, NULL, FI_FIREWALL_ADDR, NULL), 1);
	assert_int_equal(fi_av_insert(av, sa + 1, 1, NULL, 0, NULL), 1);
	assert_true(wf_av_firewalled(wf_av_of(av), 0));
	assert_false(wf_av_firewalled(wf_av_of(av), 1));
	assert_false(wf_av_firewalled(wf_av_of(av), FI_ADDR_UNSPEC));
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-057, VER-018 */
static void close_busy(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });

	wf_av_ref(wf_av_of(av));
	assert_int_equal(fi_close(&av->fid), -FI_EBUSY);
	wf_av_unref(wf_av_of(av));
	assert_int_equal(fi_close(&av->fid), 0);
}

/* OPT-018 and that no slot of the tables is missing */
static void unknown_calls(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	void *const *slot = (void *const *)(void *)av->ops;
	void *const *fid_slot = (void *const *)(void *)av->fid.ops;

	assert_int_equal(av->ops->size, sizeof(struct fi_ops_av));
	for (size_t i = 1; i < sizeof(struct fi_ops_av) / sizeof(*slot); i++)
		assert_non_null(slot[i]);
	for (size_t i = 1; i < sizeof(struct fi_ops) / sizeof(*slot); i++)
		assert_non_null(fid_slot[i]);
	assert_int_equal(fi_control(&av->fid, 12345, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-038, AV-039: what is not index in an address does not matter to the lookup. */
static void address_bits(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *av = av_fixture_open(f, (struct fi_av_attr){ .rx_ctx_bits = 4 });
	struct sockaddr_in sa = in_addr_of(1, 1);

	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	assert_non_null(wf_av_addr(wf_av_of(av), fi_rx_addr(0, 9, 4)));
	assert_null(wf_av_addr(wf_av_of(av), fi_rx_addr(1, 9, 4)));
	assert_null(wf_av_addr(wf_av_of(av), FI_ADDR_UNSPEC));
	assert_null(wf_av_addr(wf_av_of(av), fi_group_addr(0, 3)));
	assert_int_equal(fi_close(&av->fid), 0);
	f->domain_attr.max_group_id = 7;
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	assert_int_equal(fi_av_insert(av, &sa, 1, NULL, 0, NULL), 1);
	assert_non_null(wf_av_addr(wf_av_of(av), fi_group_addr(0, 3)));
	assert_null(wf_av_addr(wf_av_of(av), FI_ADDR_UNSPEC));
	assert_int_equal(fi_close(&av->fid), 0);
}

static void ipv6(void **state)
{
	struct av_fixture *f = *state;
	struct sockaddr_in6 sa[4] = {
		in6_addr_of("2001:db8::1", 80),
		in6_addr_of("2001:db8::1", 80),
		in6_addr_of("fe80::1", 80),
		in6_addr_of("fe80::1", 80),
	};
	struct sockaddr_in6 any = in6_addr_of("::", 80), got;
	size_t len = sizeof(got);
	fi_addr_t addr[4];
	struct fid_av *av;

	/* Flow label and, but for link-local addresses, scope do not matter. */
	sa[1].sin6_flowinfo = 5;
	sa[1].sin6_scope_id = 2;
	sa[2].sin6_scope_id = 1;
	sa[3].sin6_scope_id = 2;
	f->info.addr_format = FI_SOCKADDR;
	f->info.src_addr = sa;
	f->info.src_addrlen = sizeof(sa[0]);
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	assert_int_equal(fi_av_insert(av, sa, 4, addr, 0, NULL), 4);
	assert_int_equal(addr[0], 0);
	assert_int_equal(addr[1], 0);
	assert_int_equal(addr[2], 1);
	assert_int_equal(addr[3], 2);
	assert_int_equal(fi_av_insert(av, &any, 1, addr, 0, NULL), 0);
	assert_int_equal(fi_av_lookup(av, 2, &got, &len), 0);
	assert_int_equal(len, sizeof(got));
	assert_memory_equal(&got, &sa[3], sizeof(got));
	assert_int_equal(source_of(wf_av_of(av), &sa[1], sizeof(sa[1])), 0);
	assert_int_equal(fi_close(&av->fid), 0);

	/* The family of the peer's address decides, too, if all of it is there. */
	f->info.src_addr = NULL;
	f->info.src_addrlen = 0;
	f->info.dest_addr = sa;
	f->info.dest_addrlen = sizeof(sa[0]);
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	assert_int_equal(wf_av_addrlen(wf_av_of(av)), sizeof(sa[0]));
	assert_int_equal(fi_close(&av->fid), 0);
	f->info.dest_addrlen = sizeof(struct sockaddr) - 1;
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	assert_int_equal(wf_av_addrlen(wf_av_of(av)), sizeof(struct sockaddr_in));
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Peer AVs: P-02..P-09, P-20, P-21. */

static struct sockaddr_in own_name;
static size_t longest_name; /* what the endpoint says of its name's length */
static int name_result;

static int fake_getname(fid_t fid, void *addr, size_t *addrlen)
{
	assert_true(*addrlen >= sizeof(own_name));
	memcpy(addr, &own_name, sizeof(own_name));
	*addrlen = longest_name ? longest_name : sizeof(own_name);
	return name_result;
}

static void peers(void **state)
{
	struct av_fixture *f = *state;
	struct fid_av *owner = av_fixture_open(f, (struct fi_av_attr){ 0 }), *peer;
	struct fi_ops_cm cm = { .size = sizeof(cm), .getname = fake_getname };
	struct fid_ep ep = { .fid.fclass = FI_CLASS_EP, .cm = &cm };
	struct sockaddr_in sa[2] = { in_addr_of(1, 1), in_addr_of(2, 1) };
	struct fid_peer_av exported;
	struct fi_peer_av_context context = { .size = sizeof(context), &exported };
	struct fi_av_attr attr = { .flags = FI_PEER };
	size_t len = 16;
	char buf[16];

	assert_int_equal(fi_av_insert(owner, sa, 2, NULL, 0, NULL), 2);
	assert_int_equal(wf_av_export(wf_av_of(owner), &exported), 0);
	assert_int_equal(exported.fid.fclass, FI_CLASS_PEER_AV);
	memset(&attr, 0x55, sizeof(attr));
	assert_int_equal(exported.owner_ops->query(&exported, &attr), 0);
	assert_int_equal(attr.type, FI_AV_TABLE);
	assert_int_equal(attr.count, 2);
	own_name = sa[1];
	assert_int_equal(exported.owner_ops->ep_addr(&exported, &ep), 1);
	assert_int_equal(exported.owner_ops->query(&exported, NULL), -FI_EINVAL);
	assert_true(exported.owner_ops->ep_addr(&exported, NULL) == FI_ADDR_NOTAVAIL);
	name_result = -FI_EOPBADSTATE;
	assert_true(exported.owner_ops->ep_addr(&exported, &ep) == FI_ADDR_NOTAVAIL);
	name_result = 0;
	longest_name = WF_AV_ADDR_WORDS * sizeof(uint32_t);
	assert_int_equal(exported.owner_ops->ep_addr(&exported, &ep), 1);
	longest_name++;
	assert_true(exported.owner_ops->ep_addr(&exported, &ep) == FI_ADDR_NOTAVAIL);
	longest_name = 0;
	own_name = in_addr_of(3, 1);
	assert_true(exported.owner_ops->ep_addr(&exported, &ep) == FI_ADDR_NOTAVAIL);

	attr = (struct fi_av_attr){ .flags = FI_PEER };
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &peer, NULL), -FI_EINVAL);
	context.size--;
	assert_int_equal(
		wf_av_open(&f->domain.fid, &attr, &peer, &context), -FI_EINVAL);
	context = (struct fi_peer_av_context){ .size = sizeof(context) };
	assert_int_equal(
		wf_av_open(&f->domain.fid, &attr, &peer, &context), -FI_EINVAL);
	context.av = &exported;
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &peer, &context), 0);
	assert_int_equal(fi_av_insert(peer, sa, 1, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_av_insertsvc(peer, "1.2.3.4", "1", NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_av_insertsym(peer, "1.2.3.4", 1, "1", 1, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_av_remove(peer, NULL, 0, 0), -FI_ENOSYS);
	assert_int_equal(fi_av_lookup(peer, 0, buf, &len), -FI_ENOSYS);
	assert_null(fi_av_straddr(peer, sa, buf, &len));
	/* The data path finds nothing and does not fall over. */
	assert_null(wf_av_addr(wf_av_of(peer), 0));
	assert_true(source_of(wf_av_of(peer), sa, 16) == FI_ADDR_NOTAVAIL);
	assert_int_equal(wf_av_export(wf_av_of(peer), &exported), -FI_EINVAL);
	assert_int_equal(fi_close(&peer->fid), 0);
	/* P-08 */
	assert_int_equal(fi_close(&owner->fid), -FI_EBUSY);
	wf_av_unexport(&exported);
	assert_int_equal(fi_close(&owner->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(types),
		AV_TEST(open_checks),
		AV_TEST(insert_counts_up),
		AV_TEST(insert_failures),
		AV_TEST(insert_twice),
		AV_TEST(removal),
		AV_TEST(lookups),
		AV_TEST(texts),
		AV_TEST(user_ids),
		AV_TEST(auth_keys),
		AV_TEST(firewalled),
		AV_TEST(close_busy),
		AV_TEST(unknown_calls),
		AV_TEST(address_bits),
		AV_TEST(ipv6),
		AV_TEST(peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
