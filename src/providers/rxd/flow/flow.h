/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_H
#define RXD_FLOW_H

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
 * It greets the peer (RTS, CTS), numbers packets, keeps account of what is not
 * acknowledged, resends, acknowledges, sorts, controls congestion, and reports a peer
 * that does not answer. It does no I/O and reads no clock: packets leave by the
 * operations below, times are arguments (nanoseconds by wf_now_ns). It knows nothing of
 * messages: a *transfer* is a number of packets that its owner builds on demand, again
 * for each resend, so that no payload is copied.
 *
 * Towards a peer of another library the flow uses the wire in use and nothing else. A
 * peer is *extended* if its RTS or CTS proves that it is of this library: it gets
 * selective and piggybacked acknowledgements, larger packets and windows, refusals with
 * a reason, and its restart is recognised. docs/rxd-wire.md describes both.
 *
 * Locking: the caller serialises all calls for one flow and for those that share its
 * configuration. Operations are called from within rxd_flow_send, rxd_flow_receive,
 * rxd_flow_run and rxd_flow_done. acked, failed, deliver and restarted may call
 * rxd_flow_send (which then only queues) and rxd_flow_cancel, and nothing else.
 */

struct rxd_flow;

enum {
	RXD_INDEX_BITS = 20,
	RXD_BATCH = 64, /* packets that leave together */
};

/* One transfer: consecutive packets of one operation. Part of the owner's record, which
 * lives until acked or failed was called, or rxd_flow_cancel returned true. */
struct rxd_xfer {
	struct wf_list link; /* in flow.waiting or flow.begun */
	/* The rest is valid once the transfer has begun. */
	bool begun;
	uint64_t first; /* number of packet 0 */
	uint64_t count; /* packets */
};

struct rxd_flow_ops {
	/* @xfer is about to be sent: settle its packets by rxd_flow_packet_size, which
	 * is the size for all of its packets from now on. Returns their number, at
	 * least 1. */
	uint64_t (*begin)(struct rxd_flow *flow, struct rxd_xfer *xfer);

	/* Send packet @k of @xfer, or keep it until flush. @base is its base header, to
	 * which the owner adds the type, and the flags by or; it seals the packet
	 * (rxd_flow_seals). Returns the bytes of the packet, or -FI_EAGAIN: the lower
	 * provider cannot take it now, and the flow tries again in rxd_flow_run; or
	 * -FI_ENOSPC: no more packets can be kept, the flow calls flush and tries
	 * again. Another error counts as a loss of the packet. */
	ssize_t (*send)(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k,
		struct rxd_base base);

	/* Send what send kept, at most RXD_BATCH packets, and keep nothing. Returns how
	 * many of them the lower provider did not take, the last ones. NULL: send keeps
	 * none. */
	size_t (*flush)(struct rxd_flow *flow);

	/* Seal and send the complete packet @packet of @len bytes, which is valid
	 * during the call only. Returns the bytes of the packet, or a negative
	 * fi_errno. */
	ssize_t (*send_control)(struct rxd_flow *flow, const void *packet, size_t len);

	/* The peer has all packets of @xfer. The flow does not use it any more. */
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

	/* The peer was restarted. What was received of an unfinished transfer will not
	 * be continued, and answers to requests of this side will not come. Called
	 * before failed is called for the transfers that had begun. */
	void (*restarted)(struct rxd_flow *flow);
};

/* What the flows of one endpoint have in common. */
struct rxd_flow_config {
	const struct rxd_flow_ops *ops;
	/* Bytes of the largest packet of the wire in use (RXD_MTU_WIRE or
	 * RXD_MTU_OTHER), and of the largest that the lower provider can send and this
	 * endpoint receive; both without the lower provider's prefix. base_packet is at
	 * most max_packet. */
	uint16_t base_packet, max_packet;
	/* Packets that a peer may have unacknowledged: one of another library, and an
	 * extended one; 1 to RXD_WINDOW_MAX. */
	uint16_t window, window_ext;
	/* FI_OFI_RXD_RETRY. False: the provider below loses nothing, and peers of
	 * another library, which then sort what comes, get no packet twice and no old
	 * number. */
	bool resend;
	bool seals; /* packets are to be sealed, if the peer wants it, too */
	/* Rounds of resends without an answer after which a peer is given up. */
	unsigned int rounds;
	uint32_t epoch;              /* rxd_epoch_new, of this endpoint */
	uint8_t name[RXD_NAME_SIZE]; /* of this endpoint, padded with zeros */
	/* Bytes of early packets that all flows keep together, and their limit. */
	size_t kept, kept_max;
};

enum rxd_flow_state {
	RXD_FLOW_NEW,     /* the peer's index is unknown, and was not asked for */
	RXD_FLOW_GREETED, /* an RTS was sent */
	RXD_FLOW_OPEN,    /* the peer's index is known */
};

/* The greeting of a peer. */
struct rxd_greeting {
	uint32_t own_epoch;  /* of this side of the flow */
	uint32_t peer_epoch; /* of an extended peer */
	bool asking;         /* an RTS is not answered */
	/* The number that a peer of another library expects is unknown, because
	 * transfers were given up: its next acknowledgement tells. */
	bool syncing;
	unsigned int plain; /* greetings without an extension that were not believed */
	unsigned int tries; /* RTS since the last answer */
	uint64_t at_ns;     /* of the next one; UINT64_MAX: none */
};

/* Sending. */
struct rxd_outgoing {
	struct wf_list waiting, begun; /* struct rxd_xfer */
	struct rxd_xfer *current;      /* begun, and not all of it was sent; or NULL */
	struct rxd_board board;
	struct rxd_rtt rtt;
	struct rxd_cubic cc;
	uint16_t window;     /* as the peer announced it */
	bool blocked;        /* the lower provider was full */
	bool ever_acked;     /* the peer has acknowledged anything */
	bool limited;        /* the congestion window stopped the last sending */
	bool forced;         /* one lost packet may leave whatever is in flight */
	unsigned int rounds; /* timeouts since the last progress */
	/* Acknowledgements of a peer of another library that repeat the last one. */
	unsigned int repeats;
	/* Packets sent to it since the last one that it has to acknowledge. */
	unsigned int unasked;
	/* Numbers of the packets that the owner keeps until flush. */
	unsigned int kept;
	uint64_t kept_numbers[RXD_BATCH];
	uint64_t skipped;    /* how many numbers a packet without transfer skips */
	uint64_t timeout_ns; /* UINT64_MAX: no packet is unacknowledged */
	/* When the next one of the packets that were overtaken counts as lost;
	 * UINT64_MAX: none was overtaken. */
	uint64_t loss_ns;
	/* No packet from this number on arrived before its turn. */
	uint64_t early_end;
	/* Order and time of the latest transmission that arrived. */
	bool any_arrived;
	uint64_t arrived_order, arrived_at_ns;
	/* Losses of transmissions before this one belong to the last reduction. */
	uint64_t recovered_order;
};

/* Receiving. */
struct rxd_incoming {
	uint64_t next; /* the number expected */
	struct rxd_early early;
	unsigned int due;  /* packets since the last acknowledgement */
	bool now;          /* acknowledge without delay */
	bool shut;         /* the packet with number next could not be taken */
	uint16_t refused;  /* the error that it was refused with; 0: it was not */
	uint16_t largest;  /* bytes of the largest packet */
	uint64_t delay_ns; /* when a delayed acknowledgement leaves; UINT64_MAX: none */
	uint64_t heard_ns; /* when anything was received */
};

/* Made by rxd_flow_init. Fields are the flow's; the owner may read those before
 * greeting, and writes owed. */
struct rxd_flow {
	struct rxd_flow_config *config;
	enum rxd_flow_state state;
	bool extended;
	/* Whether this side wants sealed packets, and whether packets are sealed. The
	 * owner may change the former before the flow is used. */
	bool wants_seals, sealed;
	/* What this endpoint calls the peer. The flow changes the bits above
	 * RXD_INDEX_BITS when the peer was restarted, so that packets of its earlier
	 * life do not name it any more. */
	uint32_t own_index;
	uint32_t peer_index;  /* what the peer calls this endpoint */
	uint16_t packet_size; /* bytes of the largest packet that the path takes, seal
				 included */
	/* Answers that the owner waits for, set by it: while there are any, a silent
	 * peer is asked whether it lives, and if not, restarted is called. */
	uint32_t owed;
	bool busy; /* within an operation: rxd_flow_send only queues */
	struct rxd_greeting greeting;
	struct rxd_outgoing out;
	struct rxd_incoming in;
	struct rxd_path path;
	size_t path_limit; /* no larger packets are tried */
};

/* @own_index, not 0: what packets of the peer will name. @path_packet: bytes of the
 * largest datagram that the route to the peer takes without fragments; 0: unknown. */
void rxd_flow_init(struct rxd_flow *flow, struct rxd_flow_config *config,
	uint32_t own_index, size_t path_packet);

/* Fail all transfers with @err and free all memory. */
void rxd_flow_done(struct rxd_flow *flow, int err);

/* Queue @xfer, and send what the windows allow. acked and failed may be called before
 * it returns. */
void rxd_flow_send(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t now_ns);

/* Take @xfer out of the queue. False: it has begun. */
bool rxd_flow_cancel(struct rxd_flow *flow, struct rxd_xfer *xfer);

/* A packet of the peer, of any type, @len bytes from the base header on, at least
 * RXD_BASE_SIZE. The owner found the flow: for an RTS by its name (rxd_rts_name), for a
 * CTS by the index that it echoes (rxd_cts_index), else by base.peer. The packet is
 * valid during the call. True: it is RXD_BYE of an extended peer. */
bool rxd_flow_receive(
	struct rxd_flow *flow, const void *packet, size_t len, uint64_t now_ns);

/* Send the acknowledgements that are due, and what windows and timers allow. To be
 * called after a batch of packets, and at the deadline. @sleep: the caller is about to
 * sleep, so delayed acknowledgements leave as well. */
void rxd_flow_run(struct rxd_flow *flow, uint64_t now_ns, bool sleep);

/* When rxd_flow_run has to be called; UINT64_MAX: there is nothing to do until
 * something is sent or received; 0: at once. */
uint64_t rxd_flow_deadline(const struct rxd_flow *flow);

/* No transfer waits or is unacknowledged. */
bool rxd_flow_idle(const struct rxd_flow *flow);

/* Bytes of the largest packet of a transfer that begins now, base header included, but
 * without the seal. */
static inline uint16_t rxd_flow_packet_size(const struct rxd_flow *flow)
{
	return (uint16_t)(flow->packet_size - (flow->sealed ? RXD_SEAL_SIZE : 0));
}

/* Does a packet of @type get a seal behind it? */
static inline bool rxd_flow_seals(const struct rxd_flow *flow, unsigned int type)
{
	return flow->sealed && type != RXD_RTS && type != RXD_CTS;
}

#endif
