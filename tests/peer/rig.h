/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_RIG_H
#define TESTS_PEER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_tagged.h>

#include "../time_limits.h"
#include "owner.h"
#include "peer.h"

/*
 * Two endpoints that receive for one owner, and one that sends and has another owner.
 * All are peers, of one provider or, the second receiver, of another one.
 */

/* Upper bound for anything that must happen; no time is measured with it. */
/* Time limit for an event, in milliseconds. */
#define PATIENCE_MS ((uint64_t)limit_ms(20000))

enum { NAME_ROOM = 256 };

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_cntr *rx_cntr, *tx_cntr;
	struct fid_av *av;
	struct fid_ep *srx, *ep;
	struct owner *owner; /* NULL: the caller sets the four fields below */
	struct owner_port port;
	struct fid_peer_srx *srx_owner;
	struct fid_peer_cq *cq_owner;
	struct fid_peer_cntr *rx_owner, *tx_owner;
	unsigned char name[NAME_ROOM];
	size_t name_len;
};

struct rig {
	struct owner a, b;
	struct side r[2]; /* receivers, peers of a */
	struct side s;    /* sender, peer of b */
	fi_addr_t to[2];  /* addresses of the receivers, in the sender's AV */
	fi_addr_t from;   /* address of the sender, in the first receiver's AV */
};

struct rig_options {
	bool unknown;      /* The receivers have not inserted the sender yet. */
	uint64_t av_flags; /* flags of the receivers' AVs */
	uint64_t cq_flags; /* flags with which CQs are bound */
};

/* The name of the provider under test, and whether it is another one than the test
 * peer. */
extern const char *rig_provider;
extern bool rig_is_full;
void rig_choose(int argc, char **argv);

/* Run @tests; the first ones are for the test peer only, the last ones for other
 * providers only. */
int rig_run(const struct CMUnitTest *tests, size_t count, size_t test_peer_only,
	size_t full_only);

struct rig *rig_open(struct rig_options options);
void rig_close(struct rig *rig);

void side_open(struct side *side, const char *provider, struct owner *owner,
	const struct rig_options *options);
/* Close the endpoint, with the owner's lock, because it may give entries back; drops
 * what is queued. */
int side_close_ep(struct side *side);
void side_reopen_ep(struct side *side);
void side_close(struct side *side);
fi_addr_t side_insert(struct side *side, const struct side *other);

/* Let all peers make progress once. */
void rig_progress(struct rig *rig);

/* The next result; fails if there is none. */
struct owner_result rig_next(struct rig *rig, struct owner *owner);
/* The next result, which is a success with these values. */
struct owner_result rig_expect(
	struct rig *rig, void *context, uint64_t flags, size_t len, uint64_t tag);
struct owner_result rig_expect_err(struct rig *rig, void *context, int err);
void rig_expect_none(struct rig *rig);

/* Send @len bytes, counting up from @first, to receiver @i, and wait for the sender's
 * completion. */
void rig_send(struct rig *rig, int i, unsigned char first, size_t len);
void rig_tsend(struct rig *rig, int i, uint64_t tag, unsigned char first, size_t len);
void rig_tsenddata(struct rig *rig, int i, uint64_t tag, uint64_t data,
	unsigned char first, size_t len);

/* Make progress until @count messages are queued at the receivers' owner. */
void rig_until_queued(struct rig *rig, unsigned int count);

bool rig_holds(const void *buf, unsigned char first, size_t len);

uint64_t now_ms(void);

#endif
