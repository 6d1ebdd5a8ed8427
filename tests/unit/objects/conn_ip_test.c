/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers with Internet addresses: which peer an AV entry stands for, and which entry a
 * peer has. */
#include "domain_fixture.h"

#include "objects/av/av.h"
#include "objects/conn/ip.h"

enum { HOST = 0x0a000001, PORT = 1000, MANY = 200 };

struct sim_peer {
	struct wf_ip_remote ip;
	int own;
};

static unsigned int made, freed;
static bool no_memory;

static struct wf_remote *make(const void *key)
{
	struct wf_remote *remote =
		no_memory ? NULL : wf_ip_remote_new(sizeof(struct sim_peer), key);

	made += remote != NULL;
	return remote;
}

static enum wf_remote_state state_of(const struct wf_remote *remote)
{
	return WF_REMOTE_DOWN;
}

static void free_peer(struct wf_remotes *remotes, struct wf_remote *remote)
{
	freed++;
	free(wf_container_of(remote, struct sim_peer, ip.remote));
}

static const struct wf_remote_ops ops = {
	.is = wf_ip_remote_is,
	.make = make,
	.state = state_of,
	.free = free_peer,
	.name = wf_ip_remote_name,
};

static struct wf_remotes remotes;
static struct wf_progress item;
static struct wf_watches watches;
static struct fid_av *fid;
static struct wf_av *av;

static union wf_sockaddr addr_of(unsigned int number)
{
	union wf_sockaddr addr = wf_sockaddr_any(AF_INET);

	addr.in.sin_addr.s_addr = htonl(HOST + number);
	addr.in.sin_port = htons(PORT);
	return addr;
}

static fi_addr_t insert(unsigned int number)
{
	union wf_sockaddr addr = addr_of(number);
	fi_addr_t ret = FI_ADDR_NOTAVAIL;

	assert_int_equal(fi_av_insert(fid, &addr, 1, &ret, 0, NULL), 1);
	return ret;
}

static void remove_addr(fi_addr_t addr)
{
	assert_int_equal(fi_av_remove(fid, &addr, 1, 0), 0);
}

static struct wf_ip_remote *at(fi_addr_t addr)
{
	return wf_ip_remote_at(&remotes, av, addr);
}

static int setup(void **state)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct domain_fixture *f;

	domain_fixture_setup(state);
	f = *state;
	made = freed = 0;
	no_memory = false;
	assert_int_equal(wf_av_open(&f->domain.fid, &attr, &fid, NULL), 0);
	av = wf_container_of(fid, struct wf_av, fid);
	assert_int_equal(wf_remotes_init(&remotes, &ops, 1, &item, &watches), 0);
	wf_av_removals_start(&remotes.removals, av);
	return 0;
}

static int teardown(void **state)
{
	wf_remotes_done(&remotes);
	assert_int_equal(made, freed);
	assert_int_equal(fi_close(&fid->fid), 0);
	return domain_fixture_teardown(state);
}

static void an_entry_leads_to_its_peer(void **state)
{
	fi_addr_t one = insert(1), two = insert(2);
	const union wf_sockaddr addr = addr_of(1);
	struct wf_ip_remote *peer = at(one);

	assert_non_null(peer);
	assert_int_equal(peer->index, one);
	assert_true(wf_sockaddr_equal(&peer->addr, &addr));
	assert_int_equal(wf_container_of(peer, struct sim_peer, ip)->own, 0);
	assert_ptr_equal(at(one), peer);
	assert_ptr_equal(wf_ip_remotes_get(&remotes, &addr), peer);
	assert_ptr_not_equal(at(two), peer);
	assert_int_equal(made, 2);
}

static void a_peer_has_the_index_of_its_entry(void **state)
{
	const union wf_sockaddr addr = addr_of(5);
	struct wf_ip_remote *peer = wf_ip_remotes_get(&remotes, &addr);
	fi_addr_t five;

	assert_non_null(peer);
	assert_int_equal(wf_ip_remote_index(av, peer), FI_ADDR_NOTAVAIL);
	(void)insert(1);
	five = insert(5);
	assert_int_equal(wf_ip_remote_index(av, peer), five);
	assert_int_equal(wf_ip_remote_index(av, peer), five);
	remove_addr(five);
	assert_int_equal(wf_ip_remote_index(av, peer), FI_ADDR_NOTAVAIL);
	/* Another address took the entry. */
	assert_int_equal(insert(6), five);
	assert_int_equal(wf_ip_remote_index(av, peer), FI_ADDR_NOTAVAIL);
	assert_int_equal(insert(5), five + 1);
	assert_int_equal(wf_ip_remote_index(av, peer), five + 1);
}

static void an_entry_with_another_address_leads_elsewhere(void **state)
{
	fi_addr_t one = insert(1);
	struct wf_ip_remote *old = at(one), *new;

	old->remote.refs++;
	remove_addr(one);
	assert_int_equal(insert(9), one);
	new = at(one);
	assert_non_null(new);
	assert_ptr_not_equal(new, old);
	assert_int_equal(old->remote.indices, 0);
	assert_int_equal(new->remote.indices, 1);
	assert_int_equal(wf_ip_remote_index(av, old), FI_ADDR_NOTAVAIL);
}

static void what_leads_nowhere_has_a_reason(void **state)
{
	static struct fi_provider prov = { .name = "test" };
	fi_addr_t one = insert(1);

	assert_null(at(one + 1));
	assert_int_equal(wf_ip_remote_error(av, &prov, one + 1), -FI_EINVAL);
	assert_null(at(FI_ADDR_NOTAVAIL));
	no_memory = true;
	assert_null(at(one));
	assert_int_equal(wf_ip_remote_error(av, &prov, one), -FI_ENOMEM);
	no_memory = false;
	assert_non_null(at(one));
}

/* A tick frees the peers of removed entries; others stay. */
static void peers_of_removed_entries_are_freed(void **state)
{
	fi_addr_t addrs[MANY];

	for (unsigned int i = 0; i < MANY; i++) {
		addrs[i] = insert(i);
		assert_non_null(at(addrs[i]));
	}
	wf_remotes_check_removed(&remotes);
	wf_remotes_tick(&remotes, 1, 0, 0);
	assert_int_equal(freed, 0);
	for (unsigned int i = 0; i < MANY; i += 2)
		remove_addr(addrs[i]);
	wf_remotes_check_removed(&remotes);
	wf_remotes_tick(&remotes, 1, 0, 0);
	assert_int_equal(freed, MANY / 2);
	for (unsigned int i = 1; i < MANY; i += 2)
		assert_non_null(at(addrs[i]));
	assert_int_equal(made, MANY);
}

static void a_name_says_address_and_port(void **state)
{
	const struct wf_ip_remote *peer = at(insert(1));
	char buf[WF_SOCKADDR_STRLEN];

	assert_string_equal(wf_ip_remote_name(&peer->remote, buf, sizeof(buf)),
		"fi_sockaddr_in://10.0.0.2:1000");
}

/* What an error entry has of a sender that is not in the AV. */
static void an_unexpected_message_names_its_sender(void **state)
{
	struct wf_ip_remote *peer = at(insert(1));
	union wf_sockaddr want = addr_of(1);
	const void *name;
	size_t len = 0;

	name = wf_ip_remote_unexp_name(&peer->remote, &len);
	assert_int_equal(len, sizeof(want.in));
	assert_memory_equal(name, &want, sizeof(want.in));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_entry_leads_to_its_peer),
		TEST(a_peer_has_the_index_of_its_entry),
		TEST(an_entry_with_another_address_leads_elsewhere),
		TEST(what_leads_nowhere_has_a_reason),
		TEST(peers_of_removed_entries_are_freed),
		TEST(a_name_says_address_and_port),
		TEST(an_unexpected_message_names_its_sender),
	};

	return cmocka_run_group_tests_name("conn_ip", tests, NULL, NULL);
}
