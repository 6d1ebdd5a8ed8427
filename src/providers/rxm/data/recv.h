/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_RECV_H
#define WF_RXM_DATA_RECV_H

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/data/packet.h"
#include "providers/rxm/data/wire.h"

/* Messages that arrive. The lock of the receive context and ep.lock are held. */

/* The state (wf_srx_unexpected.note) of an incomplete unexpected message. */
enum rxm_unexp {
	/* In a struct rxm_partial, as far as it has arrived. */
	RXM_UNEXP_PARTIAL = 1,
	/* At the sender; the payload memory holds a pointer to a struct rxm_rdv. */
	RXM_UNEXP_RDV,
};

/* Close the connection: the peer sent an invalid packet; @what describes the fault. */
void rxm_conn_broken(struct rxm_conn *conn, const char *what);

/* Match a message. Returns 0: *ret_entry is a posted receive; -FI_ENOENT: *ret_entry is
 * for an unexpected message; or another negative fi_errno. */
int rxm_match(struct rxm_conn *conn, const struct rxm_packet *packet,
	struct fi_peer_rx_entry **ret_entry);
/* Save an unexpected message with @size bytes of payload memory. NULL: no memory; the
 * connection fails, and the entry is freed. */
struct wf_srx_unexpected *rxm_unexp_new(struct rxm_conn *conn,
	const struct rxm_packet *packet, struct fi_peer_rx_entry *entry, size_t size);

/* Properties of a message that its completion reports. */
struct rxm_arrived {
	size_t len;
	uint64_t data;
	bool has_data;
};
/* All bytes of a message are in the buffers of @entry: write the completion. */
void rxm_recv_done(struct rxm_conn *conn, struct fi_peer_rx_entry *entry,
	const struct rxm_arrived *arrived);
/* End the receive with the positive fi_errno @err. */
void rxm_recv_fail(struct rxm_conn *conn, struct fi_peer_rx_entry *entry, int err);
/* The source that completions report; FI_ADDR_NOTAVAIL: not known, or not asked for. */
fi_addr_t rxm_conn_source(struct rxm_conn *conn);

/* segments.c: a message of which some segments have arrived. */
struct rxm_partial {
	struct wf_list link; /* link in conn->data.partial */
	uint64_t msg_id, size, got;
	uint64_t data;
	bool has_data;
	/* The receive; NULL: the message is not matched, or is dropped. */
	struct fi_peer_rx_entry *entry;
	/* The saved message; NULL: it is matched, or is dropped. */
	struct wf_srx_unexpected *unexp;
	/* The segments of the saved message, and the bytes of their memory. */
	struct wf_list chunks;
	size_t chunk_bytes;
};
void rxm_segment(struct rxm_conn *conn, const struct rxm_packet *packet);
/* The unexpected message @unexp was matched with @entry; NULL: it is dropped. */
void rxm_partial_start(struct rxm_conn *conn, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry);
/* The connection is lost: its messages fail with the positive fi_errno @err. */
void rxm_partial_lost(struct rxm_conn *conn, int err);

/* rdv_rx.c: a message whose payload is at the sender. */
struct rxm_rdv;
void rxm_rdv(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_rdv_start(struct rxm_conn *conn, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry);
void rxm_rdv_written(struct rxm_conn *conn, const struct rxm_packet *packet);
void rxm_rdv_lost(struct rxm_conn *conn, int err);

#endif
