/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_UNEXP_H
#define WF_SHM_PROTO_UNEXP_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/wire/record.h"

/* wf_srx_unexpected.note of an unexpected message (objects/conn/unexp.h). RTS: its
 * payload is at the sender, and its payload memory holds a struct shm_waiting. COMING:
 * it is in arriving.coming, and its payload memory holds the pieces that came. */
enum { SHM_UNEXP_RTS = 1, SHM_UNEXP_COMING = 2 };

struct shm_waiting {
	struct shm_rts rts;
	uint8_t flags; /* SHM_FLAG_* of the request's record */
};

extern const struct wf_unexp_ops shm_unexp_ops;

/* wf_unexp_save for the message of @rec, with @size bytes of payload memory. */
struct wf_srx_unexpected *shm_unexp_new(struct shm_conn *conn,
	const struct shm_record *rec, struct fi_peer_rx_entry *entry, size_t size);

#endif
