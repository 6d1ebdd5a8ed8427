/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEST_PERSONA_H
#define TEST_PERSONA_H

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
 * What well-known programs ask of libfabric when they start, in our words: the hints
 * that each sets, what it compares in the answer, and what it opens with which
 * attributes. A test fails where that program would give up, or would take a provider
 * that does not reach its peers. Also runs on another libfabric (LD_LIBRARY_PATH), to
 * see what that one answers: PERSONA_TELL=1 prints the first answer of each query.
 */

enum { PERSONA_CNTRS = 4 };

/* One start of a program. All zero at first; persona_close takes it in any state. */
struct persona {
	struct fi_info *hints;
	struct fi_info *list; /* the whole answer */
	struct fi_info *info; /* what is opened; in @list */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *cntr[PERSONA_CNTRS];
	struct fid_stx *stx;
	struct fid_ep *ep; /* or scalable endpoint */
	struct fid_ep *tx, *rx;
	struct fid_mr *mr;
	char memory[4096];
};

#define assert_ok(call) assert_int_equal((call), 0)

/* Call fi_getinfo with p->hints; an earlier answer is let go. On success p->info is the
 * first entry. */
int persona_ask(struct persona *p, uint32_t version);

/* The same, and it must be answered, first by provider @first. */
void persona_expect(struct persona *p, uint32_t version, const char *first);

/* -FI_ENODATA is the only right answer; @reason must be in the log. */
void persona_refused(struct persona *p, uint32_t version, const char *reason);

/* Make p->info the first entry that @wanted accepts; false if none. */
bool persona_pick(struct persona *p, bool (*wanted)(const struct fi_info *info));

/* Fabric and domain of p->info. */
void persona_open_domain(struct persona *p);
void persona_open_av(struct persona *p, enum fi_av_type type);
void persona_open_cq(struct persona *p, struct fi_cq_attr attr);
void persona_open_cntr(struct persona *p, int which, enum fi_wait_obj wait);

/* An endpoint with AV and CQ bound, as nearly all open it; then p->ep is enabled. */
void persona_open_ep(struct persona *p, uint64_t cq_flags);
void persona_enable(struct persona *p);

/* A scalable endpoint with one context each way, CQ and counter 0 bound, enabled. */
void persona_open_scalable(struct persona *p, uint64_t tx_cq_flags);

/* p->memory registered with @key, which it then has if others may reach it. */
void persona_register(struct persona *p, uint64_t access, uint64_t key);

/* A tagged message to itself arrives: all that was opened works together. */
void persona_talk(struct persona *p);
void persona_talk_through(struct persona *p, struct fid_ep *tx, struct fid_ep *rx);

void persona_close(struct persona *p);

/* What fi_getinfo has to find on the machine, or the test is skipped. */
bool persona_has_network(void);

#endif
