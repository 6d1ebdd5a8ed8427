/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFORMANCE_SCALABLE_H
#define TESTS_CONFORMANCE_SCALABLE_H

#include "suites.h"

/* Two scalable endpoints of one domain that have each other's address; every context
 * has a queue of its own. */
enum { SC_CONTEXTS = 2, SC_BITS = 2 };

struct sc_end {
	struct fid_ep *sep, *tx[SC_CONTEXTS], *rx[SC_CONTEXTS];
	struct fid_cq *tx_cq[SC_CONTEXTS], *rx_cq[SC_CONTEXTS];
	struct fid_av *av;
	fi_addr_t peer; /* first context of the other end */
};

struct sc_pair {
	struct cf_env env;
	struct sc_end end[2];
};

/* Adjust hints. */
void sc_several(struct fi_info *hints);
/* The same, and readers are serialised by queue only: see FI_THREAD_COMPLETION. */
void sc_serialised(struct fi_info *hints);

/* Skips the case if scalable endpoints with these capabilities are not offered. */
void sc_open_domain(struct cf_env *env, uint64_t caps);
/* Open an endpoint that is bound and not enabled; @wait is for the receive queues. */
void sc_open_end(struct cf_env *env, struct sc_end *end, enum fi_wait_obj wait);
void sc_enable_end(struct sc_end *end);
void sc_introduce(struct sc_end *end, struct fid_ep *peer);
void sc_open_pair(struct sc_pair *pair, uint64_t caps);
void sc_close_end(struct sc_end *end);
void sc_close_pair(struct sc_pair *pair);

/* The address of the other end's context @index, in @end's AV. */
static inline fi_addr_t sc_addr(const struct sc_end *end, int index)
{
	return fi_rx_addr(end->peer, index, SC_BITS);
}

/* Make progress of all queues without reading entries. */
void sc_progress(struct sc_pair *pair);
/* Wait for the next entry of @cq, which must be a success. */
void sc_wait(struct sc_pair *pair, struct fid_cq *cq, struct fi_cq_data_entry *entry);
/* The same; it must be the completion of @context. */
void sc_wait_for(struct sc_pair *pair, struct fid_cq *cq, const void *context);
void sc_wait_err(struct sc_pair *pair, struct fid_cq *cq, struct fi_cq_err_entry *err);

#define SC_RETRY(pair, call)                                                           \
	do {                                                                           \
		uint64_t end_ = cf_now_ms() + CF_TIMEOUT_MS;                           \
		long long again_;                                                      \
		while ((again_ = (long long)(call)) == -FI_EAGAIN &&                   \
			cf_now_ms() < end_)                                            \
			sc_progress(pair);                                             \
		CHECK_OK(again_);                                                      \
	} while (0)

#endif
