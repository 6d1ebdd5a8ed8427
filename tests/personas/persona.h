/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PERSONAS_PERSONA_H
#define TESTS_PERSONAS_PERSONA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

/*
 * The calls of libfabric that well-known programs make when they start: the hints that
 * each sets, what it compares in the answer, and what it opens with which attributes. A
 * test fails where that program would give up, or would take a provider that does not
 * reach its peers. Also runs on another libfabric (LD_LIBRARY_PATH), to see its
 * answers: PERSONA_TELL=1 prints the first answer of each query.
 */

enum { PERSONA_CNTRS = 4 };

/* The start of one program. Zeroed initially; persona_close accepts it in any state. */
struct persona {
	struct fi_info *hints;
	struct fi_info *list; /* the whole answer */
	struct fi_info *info; /* the entry that is opened; in @list */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *cntr[PERSONA_CNTRS];
	struct fid_stx *stx;
	struct fid_ep *ep; /* endpoint or scalable endpoint */
	struct fid_ep *tx, *rx;
	struct fid_mr *mr;
	char memory[4096];
};

#define assert_ok(call) assert_int_equal((call), 0)

/* Call fi_getinfo with p->hints; an earlier answer is freed. On success p->info is the
 * first entry. */
int persona_ask(struct persona *p, uint32_t version);

/* The same; it must succeed, and its first entry must be of provider @first. */
void persona_expect(struct persona *p, uint32_t version, const char *first);

/* The same; it must return -FI_ENODATA, and @reason must be in the log. */
void persona_refused(struct persona *p, uint32_t version, const char *reason);

/* Make p->info the first entry that @wanted accepts; false if none. */
bool persona_pick(struct persona *p, bool (*wanted)(const struct fi_info *info));

/* Open the fabric and the domain of p->info. */
void persona_open_domain(struct persona *p);
void persona_open_av(struct persona *p, enum fi_av_type type);
void persona_open_cq(struct persona *p, struct fi_cq_attr attr);
void persona_open_cntr(struct persona *p, int which, enum fi_wait_obj wait);

/* An endpoint with AV and CQ bound, as nearly all open it; then p->ep is enabled. */
void persona_open_ep(struct persona *p, uint64_t cq_flags);
void persona_enable(struct persona *p);

/* A scalable endpoint with one context for each direction, with CQ and counter 0 bound,
 * enabled. */
void persona_open_scalable(struct persona *p, uint64_t tx_cq_flags);

/* Register p->memory with @key, if it is for remote access. */
void persona_register(struct persona *p, uint64_t access, uint64_t key);

/* Send a tagged message to the endpoint itself: all that was opened works together. */
void persona_talk(struct persona *p);
void persona_talk_through(struct persona *p, struct fid_ep *tx, struct fid_ep *rx);

void persona_close(struct persona *p);

/* Does the machine have what fi_getinfo must find? If not, the test is skipped. */
bool persona_has_network(void);

#endif
