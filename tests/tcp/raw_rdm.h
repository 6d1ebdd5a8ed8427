/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TCP_RAW_RDM_H
#define TESTS_TCP_RAW_RDM_H

/* An FI_EP_RDM endpoint, and sockets that connected to it. */

#include "../unheard_port.h"
#include "raw.h"

#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE)

struct rdm {
	struct target t;
	int good; /* a valid connection, which must stay */
	uint16_t next_port;
};

/* Version of the peer in its request, and in the first bytes of the data in the
 * reply. */
enum level { VERSION_0, VERSION_1, VERSION_1_BIG, OURS };

/* A peer that says that it listens at @port. */
static inline int rdm_connect_as(struct rdm *rdm, enum level level, uint16_t port)
{
	static const char *const requests[] = {
		[VERSION_0] = "03 00 0008 " CM_OLD LITTLE "00 00",
		[VERSION_1] = "03 00 0008 " CM_OLD LITTLE "01 00",
		[VERSION_1_BIG] = "03 00 0008 " CM_OLD BIG "01 00",
		[OURS] = "03 00 0008 " CM_OURS LITTLE "01 00",
	};
	struct bytes request = hex(requests[level]), reply;
	int fd = raw_connect(&rdm->t.name);
	uint8_t rest[6] = { (uint8_t)(port >> 8), (uint8_t)port, 0, 0, 1, 1 };

	memcpy(request.at + request.len, rest, sizeof(rest));
	raw_send(fd, request.at, request.len + sizeof(rest));
	reply = raw_recv(&rdm->t, fd, 40);
	assert_int_equal(reply.len, 40);
	assert_int_equal(reply.at[0], 3);
	assert_int_equal(reply.at[1], 1);
	assert_int_equal(reply.at[3], 8);
	assert_int_equal(
		reply.at[32], level == VERSION_0 || level == VERSION_1_BIG ? 0 : 0x81);
	assert_memory_equal(reply.at + 34, rest, 2);
	assert_int_equal(memcmp(reply.at + 4, "Wef!", 4) == 0, level == OURS);
	return fd;
}

static inline int rdm_connect(struct rdm *rdm, enum level level)
{
	uint16_t port = unheard_port(rdm->next_port);

	rdm->next_port = port + 1;
	return rdm_connect_as(rdm, level, port);
}

static inline void assert_alive(struct rdm *rdm)
{
	raw_hex(rdm->good, "03 04 0400 00 00 10 00 1000000000000000");
	raw_expect(&rdm->t, rdm->good, "03 00 0000 02 00 10 00 1000000000000000");
}

static inline int open_rdm(void **state)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct rdm *rdm = calloc(1, sizeof(*rdm));
	struct target *t = &rdm->t;
	size_t len = sizeof(t->name);

	target_open_domain(t, FI_EP_RDM, CAPS);
	assert_int_equal(fi_av_open(t->domain, &av_attr, &t->av, NULL), 0);
	assert_int_equal(fi_endpoint(t->domain, t->info, &t->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(t->ep, &t->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(t->ep, &t->av->fid, 0), 0);
	assert_int_equal(fi_enable(t->ep), 0);
	assert_int_equal(fi_getname(&t->ep->fid, &t->name, &len), 0);
	for (size_t i = 0; i < REGION; i++)
		t->region[i] = (uint8_t)i;
	rdm->next_port = 1100;
	rdm->good = rdm_connect(rdm, VERSION_1);
	*state = rdm;
	return 0;
}

static inline int close_rdm(void **state)
{
	struct rdm *rdm = *state;

	close(rdm->good);
	assert_int_equal(fi_close(&rdm->t.ep->fid), 0);
	assert_int_equal(fi_close(&rdm->t.av->fid), 0);
	target_close_domain(&rdm->t);
	free(rdm);
	return 0;
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_rdm, close_rdm)

#endif
