/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_CM_H
#define TCP_CM_H

#include "providers/tcp/wire.h"
#include "sys/sockaddr.h"

/*
 * How a connection begins: one request, one reply or reject, then records.
 *
 * struct tcp_cm is one such exchange over a non-blocking socket that its owner keeps:
 * it is closed by the owner, whatever happens. The exchange never reads a byte behind
 * the message that it waits for, so that the socket can be handed to the data path
 * at any time after. One thread at a time.
 */
enum {
	TCP_CM_HDR = 32,
	TCP_CM_DATA_MAX = 256,
	TCP_CM_MAX = TCP_CM_HDR + TCP_CM_DATA_MAX,
};

enum tcp_cm_type {
	TCP_CM_REQUEST = 0,
	TCP_CM_REPLY = 1,
	TCP_CM_REJECT = 6,
};

/* Why a request was rejected, told to peers that know our extension. */
enum tcp_cm_reason {
	TCP_REASON_NONE,      /* not told: also whatever an older peer means */
	TCP_REASON_REFUSED,   /* by the application, or no endpoint listens any more */
	TCP_REASON_CROSSED,   /* my own request to you is on its way and stays */
	TCP_REASON_CONNECTED, /* we have a connection */
	TCP_REASON_PROTOCOL,  /* not the kind of endpoint that was asked for */
	TCP_REASON_BUSY,      /* short of memory or sockets: try later */
	TCP_REASONS,
};

/* What a message says beyond the old protocol, in bytes that the old one ignores.
 * All zero: the sender knows nothing of it. */
struct tcp_cm_ext {
	uint32_t features; /* enum tcp_wire_have: offered by a request, agreed by a
			      reply */
	uint64_t instance; /* random, not 0, constant for the life of the endpoint */
	uint16_t contexts; /* receive contexts of the sender; 0 as 1 */
	uint8_t reason;    /* enum tcp_cm_reason; rejects only */
};

/* One decoded message. */
struct tcp_cm_msg {
	uint8_t type;    /* enum tcp_cm_type */
	bool same_order; /* of the sender's bytes and ours; means nothing in a reject */
	uint16_t data_len;
	struct tcp_cm_ext ext;
};

/*
 * The first @len bytes of a message at @buf. 0: *ret is written, the data is at
 * @buf + TCP_CM_HDR. Positive: so many bytes are needed, always more than @len.
 * -FI_ENOPROTOOPT: another version, or data too long. -FI_EPROTO: no such type.
 */
int tcp_cm_decode(const uint8_t *buf, size_t len, struct tcp_cm_msg *ret);

/* Writes header and data to @buf (TCP_CM_MAX bytes) and returns their length. The
 * extension is written when @ext is not NULL. */
size_t tcp_cm_encode(uint8_t *buf, enum tcp_cm_type type, const struct tcp_cm_ext *ext,
	const void *data, size_t data_len);

/* What stays of @own and @peer features between machines of @same_order. */
uint32_t tcp_cm_agree(uint32_t own, uint32_t peer, bool same_order);

enum tcp_cm_state {
	TCP_CM_IDLE,
	TCP_CM_CONNECTING, /* the kernel is */
	TCP_CM_ASKING,     /* request on its way out */
	TCP_CM_WAITING,    /* for the reply */
	TCP_CM_READING,    /* passive: the request is coming in */
	TCP_CM_ASKED,      /* passive: the owner has to accept or reject */
	TCP_CM_ANSWERING,  /* passive: reply or reject on its way out */
	TCP_CM_CONNECTED,  /* over, well */
	TCP_CM_REJECTED,   /* over: either side said no */
	TCP_CM_FAILED,     /* over */
};

/* What this end says of itself. */
struct tcp_cm_own {
	uint32_t features; /* within TCP_HAVE_OFFER */
	uint64_t instance; /* not 0 */
	uint16_t contexts; /* receive contexts; 0 as 1 */
	int timeout_ms;    /* for connecting, and for a request to come in; 0: never */
	int reply_ms; /* for the other end to answer, which may be up to a person */
};

struct tcp_cm {
	/* For the owner to read. */
	int fd;
	uint64_t begin_ns;
	enum tcp_cm_state state;
	uint64_t deadline_ns; /* UINT64_MAX: none */
	/* From TCP_CM_ASKED, CONNECTED or REJECTED on. */
	struct tcp_cm_msg msg;     /* what the other end said */
	struct tcp_wire_peer peer; /* as agreed; in ASKED what we could agree on */
	/* Not for the owner. */
	struct tcp_cm_own own;
	bool rejecting;
	uint16_t in_len, out_len, out_done;
	uint8_t in[TCP_CM_MAX];
	uint8_t out[TCP_CM_MAX];
};

/* The application's or the RDM endpoint's data in the other end's message. */
static inline const void *tcp_cm_data(const struct tcp_cm *cm)
{
	return cm->in + TCP_CM_HDR;
}

/* Active: @fd is connecting or connected. @data_len at most TCP_CM_DATA_MAX. */
void tcp_cm_start_active(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own,
	const void *data, size_t data_len);

/* Passive: @fd was accepted. */
void tcp_cm_start_passive(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own);

/*
 * Go on as far as possible. 1: something for the owner, see the state: ASKED,
 * CONNECTED. 0: call again when tcp_cm_events() happen on the socket, and when the
 * deadline passed. Negative: over; -FI_ECONNREFUSED with state REJECTED when the
 * other end rejected (msg and data are its), -FI_ETIMEDOUT, -FI_ENOPROTOOPT,
 * -FI_EPROTO, -FI_ECONNRESET when the other end closed, or what the socket says.
 * A peer that does not speak this protocol was logged.
 */
int tcp_cm_progress(struct tcp_cm *cm);

/*
 * Any process may connect and say nothing. One that has been silent for a moment is
 * dropped in favour of others: when there are more than TCP_SILENT_MAX such exchanges,
 * and when the process has no descriptor left.
 */
enum { TCP_SILENT_MAX = 1024, TCP_SILENT_MS = 1000 };

/* Has the other end sent nothing of use for TCP_SILENT_MS? */
bool tcp_cm_silent(const struct tcp_cm *cm, uint64_t now);
/* One line in the log, now and then. */
void tcp_cm_log_silent(const struct tcp_cm *cm);

/* EPOLLIN or EPOLLOUT, or 0 when nothing is waited for. */
uint32_t tcp_cm_events(const struct tcp_cm *cm);

/*
 * Answer in state ASKED. Result as tcp_cm_progress(): 1 when the answer is out
 * (CONNECTED, or REJECTED: then shut the socket down and close it). @features as in
 * struct tcp_cm_own, known better by now.
 */
int tcp_cm_accept(
	struct tcp_cm *cm, uint32_t features, const void *data, size_t data_len);
int tcp_cm_reject(struct tcp_cm *cm, enum tcp_cm_reason reason, const void *data,
	size_t data_len);

/*
 * The data of FI_EP_RDM endpoints in request and reply (cm_rdm.c).
 */
enum {
	TCP_RDM_DATA = 8,
	TCP_RDM_VERSION = 1, /* the highest; 1 has rendezvous */
};

struct tcp_rdm_hello {
	uint8_t version;
	bool evaluated; /* reply: the sender looked at the version asked for */
	bool firewall;  /* do not connect to me */
	uint16_t port;  /* where the requester listens, in request and reply */
	uint32_t id;    /* of the sender: a process id, or a random number */
};

void tcp_rdm_encode(uint8_t buf[TCP_RDM_DATA], const struct tcp_rdm_hello *hello);

/* -FI_EPROTO: not from an RDM endpoint (too short, no port, or an rxm one). */
int tcp_rdm_decode_request(const void *data, size_t len, struct tcp_rdm_hello *ret);

/* As above; also when it does not answer a request with that port. */
int tcp_rdm_decode_reply(
	const void *data, size_t len, uint16_t port, struct tcp_rdm_hello *ret);

/* The reply to @request of an endpoint with that id. @peer is as agreed. */
void tcp_rdm_answer(const struct tcp_rdm_hello *request, const struct tcp_cm_msg *msg,
	uint32_t own_id, struct tcp_rdm_hello *ret);

/* What a reply, sent or received, adds to tcp_wire_peer.have. */
uint32_t tcp_rdm_have(const struct tcp_rdm_hello *reply);

/*
 * Two endpoints connected to each other at once: the request of the higher address
 * survives. Positive: @own is higher, so theirs is rejected and mine stays; negative:
 * mine goes and theirs is accepted; 0: it is myself.
 */
int tcp_rdm_cross(const union wf_sockaddr *own, const union wf_sockaddr *peer);

#endif
