/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_BUDGET_H
#define WF_OBJECTS_CONN_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/compiler.h"

/*
 * A budget: memory that the peers of an endpoint can make it use, for one purpose, such
 * as unexpected messages or answers that they have not read. The transport counts the
 * bytes of each peer and asks, before it reads on, whether the peer may have more.
 *
 * A peer may have as many bytes as are free: one peer alone gets half of the limit, n
 * peers get 1/(n+1) of it each. So all peers together have at most the limit, however
 * many there are, and a new peer finds memory.
 *
 * Peers that the application chose, which are those in the AV and those whose
 * connections it accepted, are known. Each of them may have @share bytes in any case,
 * so strangers take no memory from them. A transport whose peers limit what they ask
 * for never stops reading a known peer if @share is more than that limit: two ends that
 * stop reading each other would wait for ever.
 *
 * The transport checks between records, not before each: a peer that has little may
 * exceed its part by one record. The lock of the endpoint guards a budget.
 */
struct wf_budget {
	/* Bytes of all peers. */
	size_t used;
	/* Limit of @used, apart from shares of known peers; a parameter. */
	size_t limit;
	size_t share;
	/* Memory was given back. NULL: nothing waits for it. */
	void (*given)(struct wf_budget *budget);
};

/* The unexpected messages of a known peer may have so many bytes in any case. */
enum { WF_BUDGET_UNEXP_SHARE = 1 << 20 };

/* Enough memory free for @bytes of one peer in all, of which @more are not counted yet?
 * Then a known peer and a stranger may have them. */
static inline bool wf_budget_fits(
	const struct wf_budget *budget, size_t bytes, size_t more)
{
	size_t free = budget->limit - WF_MIN(budget->limit, budget->used);

	return bytes <= free && more <= free - bytes;
}

/* The same for the share of a known peer. */
static inline bool wf_budget_shares(
	const struct wf_budget *budget, size_t bytes, size_t more)
{
	return bytes <= budget->share && more <= budget->share - bytes;
}

/* Count @bytes more of a peer that has *@peer. */
static inline void wf_budget_take(struct wf_budget *budget, size_t *peer, size_t bytes)
{
	budget->used += bytes;
	*peer += bytes;
}

/* @bytes of a peer were freed. @peer: NULL if the peer is gone. */
static inline void wf_budget_give(struct wf_budget *budget, size_t *peer, size_t bytes)
{
	budget->used -= bytes;
	if (peer)
		*peer -= bytes;
	if (wf_unlikely(budget->given != NULL))
		budget->given(budget);
}

#endif
