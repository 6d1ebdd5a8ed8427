/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_DELIVER_H
#define WF_SHM_PROTO_DELIVER_H

#include "providers/shm/conn/conn.h"

/* The ends of receives. ep.lock and the lock of the receive context are held. */

/* The payload of a message is in its buffers: write the completion. */
void shm_deliver_done(struct shm_conn *conn, struct fi_peer_rx_entry *entry,
	uint8_t flags, uint64_t len, uint64_t data);

/* The connection ends before the payload of a matched message is complete: fail the
 * receive with @err, or, if @quiet is true, give it up without a completion. */
void shm_deliver_end(
	struct shm_conn *conn, struct fi_peer_rx_entry *entry, int err, bool quiet);

#endif
