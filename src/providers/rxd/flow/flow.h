/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_FLOW_H
#define WF_RXD_FLOW_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "providers/rxd/flow/ack.h"
#include "providers/rxd/flow/board.h"
#include "providers/rxd/flow/cubic.h"
#include "providers/rxd/flow/early.h"
#include "providers/rxd/flow/hello.h"
#include "providers/rxd/flow/path.h"
#include "providers/rxd/flow/rtt.h"
#include "providers/rxd/flow/seal.h"
#include "providers/rxd/wire.h"
#include "sys/list.h"

/*
 * A flow: what makes datagrams to and from one peer reliable and ordered.
 *
 * It exchanges RTS and CTS with the peer, numbers packets, stores which are not
 * acknowledged, resends, acknowledges, sorts, controls congestion, and reports a peer
 * that does not answer. It does no I/O and reads no clock: packets leave by the
 * operations below, times are arguments (nanoseconds by wf_now_ns). It knows nothing of
 * messages: a *transfer* is a number of packets that its owner builds on demand, again
 * for each resend, so that no payload is copied.
 *
 * With a peer of another library the flow uses only the wire protocol in use. A peer is
 * *extended* if its RTS or CTS proves that it is of this library: it gets selective and
 * piggybacked acknowledgements, larger packets and windows, refusals with a reason, and
 * its restart is recognised. docs/rxd-wire.md describes both.
 *
 * Locking: the caller serialises all calls for one flow and for those that share its
 * configuration. Operations are called from within rxd_flow_send, rxd_flow_receive,
 * rxd_flow_run and rxd_flow_done. acked, failed, deliver and restarted may call
 * rxd_flow_send (which then only queues) and rxd_flow_cancel, and nothing else.
 */

struct rxd_flow;

enum { RXD_BATCH = 64 /* limit of packets that are sent together */ };

/* One transfer: consecutive packets of one operation. Part of the owner's record, which
 * lives until acked or failed was called, or rxd_flow_cancel returned true. */
struct rxd_xfer {
	struct wf_list link; /* in flow.waiting or flow.begun */
	/* The fields below are valid once the transfer has begun. */
	bool begun;
	uint64_t first; /* number of packet 0 */
	uint64_t count; /* number of packets */
};

struct rxd_flow_ops {
	/* @xfer is about to be sent: decide its packets, of at most
	 * rxd_flow_packet_size bytes; that size is valid for all of its packets from
	 * now on. Returns their number, at least 1. */
	uint64_t (*begin)(struct rxd_flow *flow, struct rxd_xfer *xfer);

	/* Send packet @k of @xfer, or collect it until flush. @base is its base header,
	 * to which the owner adds the type, and the flags by or; it seals the packet
	 * (rxd_flow_seals). Returns the bytes of the packet, or -FI_EAGAIN: the lower
	 * provider cannot take it now, and the flow tries again in rxd_flow_run; or
	 * -FI_ENOSPC: no more packets can be collected, the flow calls flush and tries
	 * again. Another error counts as a loss of the packet. */
	ssize_t (*send)(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k,
		struct rxd_base base);

	/* Send the packets that send has collected, at most RXD_BATCH, and collect
	 * none. Returns the number of packets, the last ones, that the lower provider
	 * did not take. NULL: send collects none. */
	size_t (*flush)(struct rxd_flow *flow);

	/* Seal and send the complete packet @packet of @len bytes, which is valid
	 * during the call only. Returns the bytes of the packet, or a negative
	 * fi_errno. */
	ssize_t (*send_control)(struct rxd_flow *flow, const void *packet, size_t len);

	/* The peer has received all packets of @xfer, which the flow does not use any
	 * more. */
	void (*acked)(struct rxd_flow *flow, struct rxd_xfer *xfer);

	/* @xfer has failed with @err, a positive fi_errno: FI_ECONNREFUSED: the peer
	 * did not answer within the limit; FI_ECONNRESET: it was restarted; another:
	 * what its deliver refused the transfer with. The flow does not use it any
	 * more. */
	void (*failed)(struct rxd_flow *flow, struct rxd_xfer *xfer, int err);

	/* The next packet in order, of a numbered type: @len bytes from the base header
	 * on, at least that long, valid during the call. @base is its base header as
	 * in the wire in use. Returns how many numbers the packet stands for: 1; more
	 * where a peer skips numbers (fetches with a wrong packet count). 0: it cannot
	 * be taken now; the peer is told so by a window of 0 and sends it again. A
	 * negative fi_errno: it never will be taken. An extended peer gets the error in
	 * failed, and goes on behind the transfer; another peer is told as with 0. */
	int64_t (*deliver)(struct rxd_flow *flow, const struct rxd_base *base,
		const uint8_t *packet, size_t len);

	/* The peer was restarted. The rest of an unfinished transfer from it will not
	 * arrive, and requests of this end will not be answered. Called before failed
	 * is called for the transfers that had begun. */
	void (*restarted)(struct rxd_flow *flow);

	/* The peer was restarted before it had acknowledged all of @xfer: is @xfer to
	 * be sent to its later instance? Else it fails. */
	bool (*survives)(struct rxd_flow *flow, struct rxd_xfer *xfer);

	/* The peer has proven that it has its address. Returns the bytes of the largest
	 * datagram that the route to it takes without fragments; 0: unknown. */
	size_t (*path_packet)(struct rxd_flow *flow);

	/* A new index for the peer: packets with the old one are of an earlier instance
	 * of the peer. Returns the index, not 0; the old one if there is no other. */
	uint32_t (*new_index)(struct rxd_flow *flow);
};

/* Configuration that the flows of one endpoint share. */
struct rxd_flow_config {
	const struct rxd_flow_ops *ops;
	/* Bytes of the largest packet of the wire in use (RXD_MTU_WIRE or
	 * RXD_MTU_OTHER), and of the largest that the lower provider can send and this
	 * endpoint receive; both without the lower provider's prefix. base_packet is at
	 * most max_packet. */
	uint16_t base_packet, max_packet;
	/* Limit of packets that a peer may have unacknowledged: a peer of another
	 * library, and an extended one; 1 to RXD_WINDOW_MAX. */
	uint16_t window, window_ext;
	/* FI_OFI_RXD_RETRY. False: the provider below loses no packets. Peers of
	 * another library then keep early packets and do not expect any number twice:
	 * they get no resends. */
	bool resend;
	/* Towards extended peers, losses of a lossy path are told from those of a
	 * congested one by the bandwidth that it delivers (delivery.h). */
	bool westwood;
	bool seals; /* packets are to be sealed, if the peer wants it, too */
	/* A peer from which nothing is heard for so long, while it has to answer, is
	 * given up. */
	uint64_t patience_ns;
	uint32_t epoch;              /* of this endpoint; from rxd_epoch_new */
	uint8_t name[RXD_NAME_SIZE]; /* name of this endpoint, padded with zeros */
	/* Bytes of early packets that all flows store together, and their limit. */
	size_t kept, kept_max;
};

enum rxd_flow_state {
	RXD_FLOW_NEW,     /* the peer's index is unknown, and was not asked for */
	RXD_FLOW_GREETED, /* an RTS was sent */
	RXD_FLOW_OPEN,    /* the peer's index is known */
};

/* State of the exchange of RTS and CTS. */
struct rxd_greeting {
	uint32_t own_epoch;  /* of this end of the flow */
	uint32_t peer_epoch; /* of an extended peer */
	uint16_t peer_max;   /* bytes of the largest packet that it receives */
	bool asking;         /* An RTS has not been answered. */
	/* The peer has shown that it knows own_index, which was sent to its address
	 * only. False: an RTS opened the flow, which any host can have sent. */
	bool proven;
	/* An RTS came that does not belong to this flow: of a restarted peer, or a
	 * forged one. An RTS of this end asks at the peer's address, and the CTS
	 * decides. Until then packets that may be of the other instance are dropped. */
	bool contested;
	uint64_t contested_ns; /* time of the last RTS that was sent for this reason */
	/* It is unknown which number a peer of another library expects, because
	 * transfers were given up: its next acknowledgement contains the number. */
	bool syncing;
	/* Number of RTS or CTS without an extension that were ignored. */
	unsigned int plain;
	unsigned int tries; /* RTS since the last answer */
	uint64_t since_ns;  /* time of the first of them */
	uint64_t at_ns;     /* time of the next one; UINT64_MAX: none */
};

/* State of sending. */
struct rxd_outgoing {
	struct wf_list waiting, begun; /* struct rxd_xfer */
	/* Transfer that has begun and is not completely sent; or NULL. */
	struct rxd_xfer *current;
	struct rxd_board board;
	struct rxd_rtt rtt;
	struct rxd_cubic cc;
	struct rxd_delivery delivery;
	unsigned int start_losses; /* of the current round, in slow start */
	uint16_t window;           /* as the peer announced it */
	bool blocked;              /* the lower provider was full */
	bool ever_acked;           /* the peer has acknowledged anything */
	bool limited;              /* the congestion window stopped the last sending */
	/* One lost packet may be sent again although the window is full. */
	bool forced;
	unsigned int rounds; /* timeouts since the last progress */
	uint64_t stalled_ns; /* time of the first of them */
	/* Acknowledgements of a peer of another library that repeat the last one. */
	unsigned int repeats;
	/* Packets sent to such a peer since the last one that it has to acknowledge. */
	unsigned int unasked;
	/* Numbers of the packets that the owner collects until flush. */
	unsigned int kept;
	uint64_t kept_numbers[RXD_BATCH];
	/* Number of packet numbers that a packet without transfer skips. */
	uint64_t skipped;
	uint64_t timeout_ns; /* UINT64_MAX: no packet is unacknowledged */
	/* Time when the next packet that was overtaken counts as lost; UINT64_MAX: none
	 * was overtaken. */
	uint64_t loss_ns;
	/* No packet from this number on arrived out of order. */
	uint64_t early_end;
	/* Order of the latest transmission that is known to have arrived; 0: none. */
	uint64_t arrived_order;
	/* Losses of transmissions before this one belong to the last reduction of the
	 * window. */
	uint64_t recovered_order;
};

/* State of receiving. */
struct rxd_incoming {
	uint64_t next; /* next packet number that is expected */
	struct rxd_early early;
	unsigned int due; /* packets since the last acknowledgement */
	bool now;         /* Acknowledge without delay. */
	bool shut;        /* The packet with the number next could not be accepted. */
	/* Positive fi_errno with which it was refused; 0: it was not. */
	uint16_t refused;
	uint16_t largest; /* bytes of the largest packet */
	/* Time when a delayed acknowledgement is sent; UINT64_MAX: none. */
	uint64_t delay_ns;
	uint64_t heard_ns; /* time when any packet was received */
};

/* Initialised by rxd_flow_init. The fields belong to the flow; the owner may read those
 * before greeting, and writes owed. */
struct rxd_flow {
	struct rxd_flow_config *config;
	enum rxd_flow_state state;
	bool extended;
	/* wants_seals: this end wants sealed packets. sealed: packets have seals. The
	 * owner may change wants_seals before the flow is used. */
	bool wants_seals, sealed;
	/* Index that this endpoint gave to the peer: a random number, which no other
	 * host knows. The flow changes it (new_index) when the peer was restarted. */
	uint32_t own_index;
	uint32_t peer_index; /* index that the peer gave to this endpoint */
	/* Bytes of the largest packet that passes the path, including its seal. */
	uint16_t packet_size;
	/* Number of answers for which the owner waits, set by the owner. While it is
	 * not 0, a silent peer is asked whether it lives; if it does not, restarted is
	 * called. */
	uint32_t owed;
	bool busy; /* An operation is being called: rxd_flow_send only queues. */
	struct rxd_greeting greeting;
	struct rxd_outgoing out;
	struct rxd_incoming in;
	struct rxd_path path;
};

/* @own_index, not 0: the index in packets of the peer. */
void rxd_flow_init(
	struct rxd_flow *flow, struct rxd_flow_config *config, uint32_t own_index);

/* Fail all transfers with @err and free all memory. */
void rxd_flow_done(struct rxd_flow *flow, int err);

/* This end is closed: send what the windows have held back, tell an extended peer, and
 * acknowledge the packets that arrived last once more, because the peer may still wait
 * for an acknowledgement that was lost. */
void rxd_flow_bye(struct rxd_flow *flow, uint64_t now_ns);

/* rxd_flow_receive reported that the peer is closed: fail the transfers that the peer
 * has not received. */
void rxd_flow_left(struct rxd_flow *flow);

/* Queue @xfer, and send what the windows allow. acked and failed may be called before
 * this returns. */
void rxd_flow_send(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t now_ns);

/* Remove @xfer from the queue. False: it has begun. */
bool rxd_flow_cancel(struct rxd_flow *flow, struct rxd_xfer *xfer);

/* A packet of the peer, of any type, @len bytes from the base header on, at least
 * RXD_BASE_SIZE. The owner found the flow: for an RTS by its name (rxd_rts_name), for a
 * CTS by the index that it echoes (rxd_cts_index), else by base.peer. The packet is
 * valid during the call. True: it is RXD_BYE of an extended peer. */
bool rxd_flow_receive(
	struct rxd_flow *flow, const void *packet, size_t len, uint64_t now_ns);

/* Send the acknowledgements that are due, and what windows and timers allow. Called
 * after a batch of packets, and at the deadline. @sleep: the caller is about to sleep,
 * so delayed acknowledgements are sent, too. */
void rxd_flow_run(struct rxd_flow *flow, uint64_t now_ns, bool sleep);

/* The time when rxd_flow_run has to be called; UINT64_MAX: not before something is sent
 * or received; 0: at once. */
uint64_t rxd_flow_deadline(const struct rxd_flow *flow);

/* Is no transfer queued or unacknowledged? */
bool rxd_flow_idle(const struct rxd_flow *flow);

/* Bytes of the largest packet of a transfer that begins now, with its base header, but
 * without a seal. */
static inline uint16_t rxd_flow_packet_size(const struct rxd_flow *flow)
{
	return (uint16_t)(flow->packet_size - (flow->sealed ? RXD_SEAL_SIZE : 0));
}

/* Does a packet of @type have a seal? */
static inline bool rxd_flow_seals(const struct rxd_flow *flow, unsigned int type)
{
	return flow->sealed && type != RXD_RTS && type != RXD_CTS;
}

#endif
