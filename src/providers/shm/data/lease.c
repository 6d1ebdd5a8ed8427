/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/lease.h"

#include <sched.h>
#include <stdlib.h>

#include "providers/shm/data/bulk.h"

enum { ENTERED = 1 << 0, REVOKED = 1 << 1 };

/* The pieces of @seg, as iovec: false if there are too many. The map's lock is held. */
static bool pieces_of(
	const struct wf_mr *mr, const struct fi_rma_iov *seg, struct shm_span *memory)
{
	memory->count = (uint8_t)wf_mr_pieces(
		mr, seg->addr, seg->len, memory->iov, SHM_IOV_LIMIT);
	memory->len = seg->len;
	memory->remote = false;
	memory->past = shm_is_past(seg->len);
	return wf_iov_len(memory->iov, memory->count) == seg->len;
}

struct shm_lease *shm_lease_new(struct shm_conn *conn, const struct fi_rma_iov *seg,
	uint64_t access, struct shm_span *ret_memory, int *ret_err)
{
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);
	struct shm_lease *lease = calloc(1, sizeof(*lease));
	struct wf_mr *mr;

	*ret_err = 0;
	if (!lease)
		return NULL;
	wf_lock(&map->lock);
	*ret_err = wf_mr_lookup(map, seg->key, seg->addr, seg->len, access, &mr);
	if (*ret_err || !pieces_of(mr, seg, ret_memory)) {
		wf_unlock(&map->lock);
		free(lease);
		return NULL;
	}
	lease->seg = *seg;
	atomic_init(&lease->state, ENTERED);
	lease->grant = (struct shm_grant){ .conn = conn, .mr = mr, .lease = lease };
	wf_list_push(&mr->grants, &lease->grant.link);
	wf_unlock(&map->lock);
	return lease;
}

bool shm_lease_enter(struct shm_lease *lease)
{
	uint32_t state = 0;

	/* acquire: pairs with the release in shm_lease_revoke. */
	return !lease || atomic_compare_exchange_strong_explicit(&lease->state, &state,
				 ENTERED, memory_order_acquire, memory_order_acquire);
}

void shm_lease_leave(struct shm_lease *lease)
{
	if (lease)
		/* release: pairs with the acquire in await_endpoint. */
		(void)atomic_fetch_and_explicit(
			&lease->state, ~(uint32_t)ENTERED, memory_order_release);
}

void shm_lease_end(struct shm_lease *lease)
{
	struct wf_mr_map *map = wf_ep_mr_map(&lease->grant.conn->ep->ep);

	wf_lock(&map->lock);
	if (lease->grant.mr)
		wf_list_remove(&lease->grant.link);
	wf_unlock(&map->lock);
	free(lease);
}

/* Wait until the endpoint has copied its piece, which takes less than a millisecond. */
static void await_endpoint(struct shm_lease *lease)
{
	while (atomic_load_explicit(&lease->state, memory_order_acquire) & ENTERED)
		(void)sched_yield();
}

void shm_lease_revoke(struct shm_lease *lease)
{
	(void)atomic_fetch_or_explicit(&lease->state, REVOKED, memory_order_acq_rel);
	await_endpoint(lease);
	if (lease->tx)
		shm_share_withdraw(lease->grant.conn, lease->tx);
	else if (lease->sink && lease->sink->shared)
		shm_share_revoke(lease->sink);
}
