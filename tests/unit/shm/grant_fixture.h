/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_UNIT_SHM_GRANT_FIXTURE_H
#define WF_TESTS_UNIT_SHM_GRANT_FIXTURE_H

/* For tests of direct access to regions: the test is the peer that grants it. */
#include "conn_fixture.h"

#include "providers/shm/data/grant.h"

enum { ASKS = 16, ASKED_KEY = 77 };

static uint64_t value; /* that the last injected write stored */

/* A write of @addr; does it go by a record? */
static inline bool write_is_record(struct pair *p, uint64_t addr)
{
	bool record;

	value++;
	assert_int_equal(
		fi_inject_write(p->ep, &value, sizeof(value), p->addr, addr, ASKED_KEY),
		0);
	record = peer_has_record(p);
	(void)peer_skip(p);
	return record;
}

/* The endpoint asks for the region after enough operations. */
static inline void be_asked(struct pair *p)
{
	uint8_t kind = 0;

	for (int i = 0; i < ASKS; i++) {
		value++;
		assert_int_equal(fi_inject_write(p->ep, &value, sizeof(value), p->addr,
					 0, ASKED_KEY),
			0);
	}
	while (peer_has_record(p)) {
		kind = shm_head_kind(shm_reader_head(&p->in));
		(void)peer_expect(p, kind);
	}
	assert_int_equal(kind, SHM_REC_ASK);
	peer_tell(p);
}

static inline void answer_with(
	struct pair *p, const struct shm_grant_packet *packet, int fd)
{
	atomic_store(&p->memory->grants[1].serial[3], 9);
	assert_int_equal(shm_socket_send(p->fd, packet, sizeof(*packet), fd), 0);
	p->shm->poll_left = 1;
	p->shm->chores = true;
	p->shm->poll_coarse_ns = 0;
	pair_progress(p);
}

#endif
