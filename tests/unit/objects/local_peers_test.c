/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers of an endpoint below another one: their sources, which follow the AV above,
 * and the addresses in error entries. */
#include "domain_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "objects/local/peers.h"
#include "objects/open/open.h"
#include "../refuse.h"

static struct around {
	struct domain_fixture *above, *below;
	struct fid_av *av, *av_below;
	struct fid_cq *cq;
	struct wf_local_peers peers;
} a;

static unsigned int changes;

static void changed(struct wf_local_peers *peers)
{
	changes++;
}

static void open_around(void **state, const char *name)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA };
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = name };

	a = (struct around){ .above = *state };
	a.above->domain.fid.ops = &wf_domain_ops;
	a.above->domain_attr.caps = FI_SHARED_AV;
	assert_int_equal(domain_fixture_setup((void **)&a.below), 0);
	a.below->info.addr_format = FI_ADDR_STR;
	assert_int_equal(wf_av_open(&a.above->domain.fid, &attr, &a.av, NULL), 0);
	attr = (struct fi_av_attr){ .type = FI_AV_TABLE };
	assert_int_equal(wf_av_open(&a.below->domain.fid, &attr, &a.av_below, NULL), 0);
	assert_int_equal(wf_cq_open(&a.above->domain.fid, &cq_attr, &a.cq, NULL), 0);
	wf_local_peers_start(&a.peers, wf_av_of(a.av), wf_av_of(a.av_below), changed);
	wf_local_peers_export(&a.peers, &a.peers.tx, wf_cq_of(a.cq));
	wf_local_peers_export(&a.peers, &a.peers.rx, wf_cq_of(a.cq));
	changes = 0;
}

static void close_around(void)
{
	wf_local_peers_done(&a.peers);
	assert_int_equal(fi_close(&a.cq->fid), 0);
	assert_int_equal(fi_close(&a.av->fid), 0);
	assert_int_equal(fi_close(&a.av_below->fid), 0);
	assert_int_equal(domain_fixture_teardown((void **)&a.below), 0);
}

static union wf_sockaddr addr_of(uint32_t n)
{
	return (union wf_sockaddr){ .in = { .sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(n),
					    .sin_port = htons(7) } };
}

static fi_addr_t insert_above(struct fid_av *av, uint32_t n)
{
	union wf_sockaddr addr = addr_of(n);
	fi_addr_t ret;

	assert_int_equal(fi_av_insert(av, &addr, 1, &ret, 0, NULL), 1);
	return ret;
}

static void remove_above(struct fid_av *av, fi_addr_t addr)
{
	assert_int_equal(fi_av_remove(av, &addr, 1, 0), 0);
}

static int try_insert(uint32_t n, fi_addr_t *ret_below)
{
	union wf_sockaddr addr = addr_of(n);
	char name[32];

	(void)snprintf(name, sizeof(name), "fi_ns://peer-%u", n);
	return wf_local_peers_insert(&a.peers, &addr, name, ret_below);
}

static fi_addr_t insert(uint32_t n)
{
	fi_addr_t below = FI_ADDR_NOTAVAIL;

	assert_int_equal(try_insert(n, &below), 0);
	return below;
}

/* What completions of the peer report as their source. */
static fi_addr_t source_of(fi_addr_t below)
{
	return wf_av_report(wf_av_of(a.av_below), below);
}

/* ---- sources ---- */

static void sources_follow_the_av_above(void **state)
{
	fi_addr_t one, two, above;

	open_around(state, NULL);
	above = insert_above(a.av, 1);
	one = insert(1);
	two = insert(2);
	assert_int_equal(source_of(one), above);
	assert_true(source_of(two) == FI_ADDR_NOTAVAIL);
	assert_int_equal(a.peers.lost, 1);
	assert_int_equal(changes, 0);

	above = insert_above(a.av, 2);
	assert_int_equal(source_of(two), above);
	assert_int_equal(a.peers.lost, 0);
	assert_int_equal(changes, 1);
	/* One that no peer has. */
	(void)insert_above(a.av, 3);
	assert_int_equal(changes, 1);
	remove_above(a.av, 2);
	assert_int_equal(changes, 1);
	remove_above(a.av, above);
	assert_true(source_of(two) == FI_ADDR_NOTAVAIL);
	assert_int_equal(source_of(one), 0);
	assert_int_equal(a.peers.lost, 1);
	assert_int_equal(changes, 2);

	wf_local_peers_remove(&a.peers, two);
	assert_int_equal(a.peers.lost, 0);
	(void)insert_above(a.av, 2);
	assert_int_equal(changes, 2);
	/* Nobody is told any more. */
	wf_local_peers_stop(&a.peers);
	remove_above(a.av, 0);
	assert_int_equal(changes, 2);
	close_around();
}

static void no_memory_for_a_peer(void **state)
{
	fi_addr_t below = 5;
	unsigned int number = 0;
	int ret;

	open_around(state, NULL);
	do {
		refuse_one("memory", ++number, ENOMEM);
		ret = try_insert(1, &below);
		if (!ret)
			break;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_true(refuse_end());
		/* It is not in the AV below, either. */
		assert_null(wf_av_addr(wf_av_of(a.av_below), 0));
		assert_int_equal(a.peers.lost, 0);
	} while (number < 10);
	(void)refuse_end();
	assert_true(number > 2 && number < 10);
	assert_int_equal(below, 0);
	close_around();
}

/* ---- leaving ---- */

static void leaving_peers(void **state)
{
	fi_addr_t below[20];

	open_around(state, NULL);
	assert_true(wf_local_peers_next_leaving(&a.peers) == FI_ADDR_NOTAVAIL);
	for (uint32_t i = 0; i < 20; i++)
		below[i] = insert(1 + i);
	assert_int_equal(a.peers.lost, 20);
	wf_local_peers_leave(&a.peers, below[15]);
	assert_int_equal(a.peers.leaving, 1);
	/* Eight of them are examined in a call. */
	assert_true(wf_local_peers_next_leaving(&a.peers) == FI_ADDR_NOTAVAIL);
	assert_int_equal(a.peers.next, 8);
	assert_int_equal(wf_local_peers_next_leaving(&a.peers), 15);
	wf_local_peers_remove(&a.peers, below[15]);
	assert_int_equal(a.peers.leaving, 0);
	assert_int_equal(a.peers.lost, 19);
	assert_null(wf_av_addr(wf_av_of(a.av_below), below[15]));

	/* One that comes again before it is removed stays, once. */
	wf_local_peers_leave(&a.peers, below[3]);
	assert_int_equal(insert(4), below[3]);
	assert_int_equal(a.peers.leaving, 0);
	assert_int_equal(a.peers.lost, 19);
	for (int i = 0; i < 4; i++)
		assert_true(wf_local_peers_next_leaving(&a.peers) == FI_ADDR_NOTAVAIL);
	assert_non_null(wf_av_addr(wf_av_of(a.av_below), below[3]));
	wf_local_peers_remove(&a.peers, below[3]);
	assert_null(wf_av_addr(wf_av_of(a.av_below), below[3]));
	assert_int_equal(a.peers.lost, 18);
	close_around();
}

/* ---- other processes ---- */

/* Another process changes the AV above, which tells no watch here. */
static void changes_by_others(void **state)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *other;
	fi_addr_t below, late;
	char name[64];

	(void)snprintf(name, sizeof(name), "local-peers/%d", getpid());
	open_around(state, name);
	attr.name = name;
	assert_int_equal(wf_av_open(&a.above->domain.fid, &attr, &other, NULL), 0);
	assert_int_equal(insert_above(a.av, 1), 0);
	below = insert(1);
	wf_local_peers_compare(&a.peers);
	assert_int_equal(source_of(below), 0);
	remove_above(other, 0);
	assert_int_equal(source_of(below), 0);
	wf_local_peers_compare(&a.peers);
	assert_true(source_of(below) == FI_ADDR_NOTAVAIL);
	assert_int_equal(a.peers.lost, 1);
	assert_int_equal(a.peers.seq, atomic_load(a.peers.shared_seq));

	/* An insertion advances no counter: those that are lost are searched for. */
	late = insert(2);
	assert_int_equal(insert_above(other, 2), 0);
	assert_int_equal(insert_above(other, 1), 1);
	wf_local_peers_compare(&a.peers);
	assert_int_equal(source_of(late), 0);
	assert_int_equal(source_of(below), 1);
	assert_int_equal(a.peers.lost, 0);
	assert_int_equal(fi_close(&other->fid), 0);
	close_around();
}

/* A private AV tells of all changes: nothing is compared. */
static void nothing_is_compared(void **state)
{
	open_around(state, NULL);
	assert_null(a.peers.shared_seq);
	(void)insert(1);
	wf_local_peers_compare(&a.peers);
	assert_int_equal(a.peers.seq, 0);
	assert_int_equal(a.peers.lost, 1);
	close_around();
}

/* ---- error entries ---- */

static struct fi_cq_err_entry error_of(
	struct wf_local_cq *port, struct fi_cq_err_entry entry, char *data, size_t len)
{
	struct fi_cq_err_entry got = { .err_data = data, .err_data_size = len };

	assert_int_equal(port->port.owner_ops->writeerr(&port->port, &entry), 0);
	assert_int_equal(fi_cq_readerr(a.cq, &got, 0), 1);
	assert_int_equal(got.err, entry.err);
	return got;
}

static void errors_have_addresses_of_the_av_above(void **state)
{
	const char unknown[] = "fi_ns://nobody", known[] = "fi_ns://peer-2";
	union wf_sockaddr addr = addr_of(2);
	struct fi_cq_err_entry got;
	fi_addr_t below, above;
	char data[64];

	open_around(state, NULL);
	(void)insert_above(a.av, 1);
	above = insert_above(a.av, 2);
	below = insert(2);
	/* Sends: index and address; none of a peer that is not known. */
	got = error_of(&a.peers.tx,
		(struct fi_cq_err_entry){ .err = FI_EIO, .src_addr = below }, data,
		sizeof(data));
	assert_int_equal(got.src_addr, above);
	assert_int_equal(got.err_data_size, sizeof(addr.in));
	assert_memory_equal(data, &addr.in, sizeof(addr.in));
	for (int i = 0; i < 2; i++) {
		got = error_of(&a.peers.tx,
			(struct fi_cq_err_entry){ .err = FI_EIO,
				.src_addr = i ? a.peers.count : FI_ADDR_NOTAVAIL,
				.err_data = data,
				.err_data_size = 4 },
			data, sizeof(data));
		assert_true(got.src_addr == FI_ADDR_NOTAVAIL);
		assert_int_equal(got.err_data_size, 0);
	}

	/* Messages of a peer that is not in the AV above. */
	got = error_of(&a.peers.rx,
		(struct fi_cq_err_entry){ .err = FI_EADDRNOTAVAIL,
			.src_addr = FI_ADDR_NOTAVAIL,
			.err_data = (void *)(uintptr_t)known,
			.err_data_size = sizeof(known) },
		data, sizeof(data));
	assert_true(got.src_addr == FI_ADDR_NOTAVAIL);
	assert_int_equal(got.err_data_size, sizeof(addr.in));
	assert_memory_equal(data, &addr.in, sizeof(addr.in));
	got = error_of(&a.peers.rx,
		(struct fi_cq_err_entry){ .err = FI_EADDRNOTAVAIL,
			.src_addr = FI_ADDR_NOTAVAIL,
			.err_data = (void *)(uintptr_t)unknown,
			.err_data_size = sizeof(unknown) },
		data, sizeof(data));
	assert_int_equal(got.err_data_size, 0);
	/* Other errors are left as they are. */
	got = error_of(&a.peers.rx,
		(struct fi_cq_err_entry){ .err = FI_ETRUNC,
			.src_addr = above,
			.err_data = (void *)(uintptr_t)known,
			.err_data_size = sizeof(known) },
		data, sizeof(data));
	assert_int_equal(got.src_addr, above);
	assert_int_equal(got.err_data_size, sizeof(known));
	assert_memory_equal(data, known, sizeof(known));
	close_around();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(sources_follow_the_av_above),
		DOMAIN_TEST(no_memory_for_a_peer),
		DOMAIN_TEST(leaving_peers),
		DOMAIN_TEST(changes_by_others),
		DOMAIN_TEST(nothing_is_compared),
		DOMAIN_TEST(errors_have_addresses_of_the_av_above),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
