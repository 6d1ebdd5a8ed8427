/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_COMPAT_OLD_ENTRY_H
#define WF_CORE_COMPAT_OLD_ENTRY_H

#include <rdma/providers/fi_peer.h>

#include "core/compat/old_peer.h"
#include "sys/list.h"

/*
 * Entries of receive contexts for providers with an older layout; see old_peer.h.
 *
 * Each entry of the owner has a copy in the provider's layout, from the provider's
 * request for a receive until free_entry. The copy has two unused links, then the
 * members of the current struct fi_peer_rx_entry, for some versions without cq_data.
 * The owner's entry refers to the copy by peer_context. Fields that the provider may
 * write before it queues an entry are copied back at that time; fields that the owner
 * writes before it starts an entry are copied at that time.
 *
 * The lock of the owner, which the caller of each function holds, guards the copies.
 */

struct wf_old_srx {
	struct wf_old_guard guard;
	struct fid_peer_srx fid; /* the receive context that the provider sees */
	struct fi_ops_srx_peer peer_ops; /* operations for the owner */
	struct fid_peer_srx *owner;      /* the owner's receive context */
	const struct wf_old_peer *old;
	struct wf_list copies; /* struct wf_old_entry, by link */
	/* The provider's function for foreach_unspec_addr, which is called without the
	 * owner's lock. */
	_Atomic(fi_addr_t (*)(struct fi_peer_rx_entry *)) get_addr;
};

struct wf_old_entry {
	struct wf_list link; /* in srx->copies */
	struct wf_old_srx *srx;
	struct fi_peer_rx_entry *entry; /* the owner's entry that this is a copy of */
	struct wf_old_entry_layout {
		void *links[2];
		/* The members of the current entry, without cq_data for versions that
		 * had none. */
		uint8_t members[sizeof(struct fi_peer_rx_entry)];
	} seen; /* the entry in the provider's layout */
};

/* The pointer to the copy that the provider gets, and the copy behind such a
 * pointer. */
struct fi_peer_rx_entry *wf_old_entry_seen(struct wf_old_entry *copy);
struct wf_old_entry *wf_old_entry_of(struct fi_peer_rx_entry *seen);

/* Fill the copy from the owner's entry, with the provider's @peer_context. */
void wf_old_entry_show(struct wf_old_entry *copy, void *peer_context);

/* Copy the owner's fields again before the owner starts or discards @entry. Returns the
 * copy. */
struct wf_old_entry *wf_old_entry_refresh(struct fi_peer_rx_entry *entry);

/* Copy the fields that the provider may have set to the owner's entry. Returns that
 * entry. */
struct fi_peer_rx_entry *wf_old_entry_complete(struct fi_peer_rx_entry *seen);

#endif
