/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CM_CM_H
#define WF_TCP_CM_CM_H

#include "providers/tcp/data/wire.h"
#include "sys/sockaddr.h"

/*
 * The exchange that begins a connection: one request, then one reply or reject; records
 * follow.
 *
 * struct tcp_cm is one such exchange over a non-blocking socket. The owner of the
 * struct also owns the socket, and closes it in all cases. The exchange never reads a
 * byte behind the message that it waits for, so that the socket can be handed to the
 * data path at any time after it. Only one thread at a time may use the struct.
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

/* The reason of a reject, for peers that know the extension. */
enum tcp_cm_reason {
	TCP_REASON_NONE, /* no reason, as from peers without the extension */
	/* The application rejected the request, or no endpoint listens any more. */
	TCP_REASON_REFUSED,
	/* The rejecting endpoint's own request is under way and is used instead. */
	TCP_REASON_CROSSED,
	TCP_REASON_CONNECTED, /* the two endpoints have a connection */
	/* The endpoint is of another type than the request asks for. */
	TCP_REASON_PROTOCOL,
	/* No memory or no descriptor; the requester may try again later. */
	TCP_REASON_BUSY,
	TCP_REASONS,
};

/* The extension of a message, in bytes that other implementations ignore. All zero: the
 * sender does not know the extension. */
struct tcp_cm_ext {
	/* enum tcp_wire_have: offered by a request, agreed on by a reply. */
	uint32_t features;
	uint64_t instance; /* random, not 0, constant for the life of the endpoint */
	uint16_t contexts; /* Number of receive contexts of the sender; 0 means 1. */
	/* enum tcp_cm_reason. A request has TCP_REASON_NONE, or TCP_REASON_CONNECTED:
	 * the sender has accepted a request that contained the receiver's address. */
	uint8_t reason;
};

/* One decoded message. */
struct tcp_cm_msg {
	uint8_t type; /* enum tcp_cm_type */
	/* The two machines have the same byte order; not valid for a reject. */
	bool same_order;
	uint16_t data_len;
	struct tcp_cm_ext ext;
};

/*
 * Decode the first @len bytes of a message at @buf. 0: *ret is written, and the data is
 * at @buf + TCP_CM_HDR. Positive: number of bytes that are needed, always more than
 * @len. -FI_ENOPROTOOPT: another version, or too much data. -FI_EPROTO: unknown type.
 */
int tcp_cm_decode(const uint8_t *buf, size_t len, struct tcp_cm_msg *ret);

/* Writes header and data to @buf (TCP_CM_MAX bytes) and returns their length. The
 * extension is written when @ext is not NULL. */
size_t tcp_cm_encode(uint8_t *buf, enum tcp_cm_type type, const struct tcp_cm_ext *ext,
	const void *data, size_t data_len);

/* The features that two ends agree on, from those of each; @same_order: both machines
 * have the same byte order. */
uint32_t tcp_cm_agree(uint32_t own, uint32_t peer, bool same_order);

enum tcp_cm_state {
	TCP_CM_IDLE,
	TCP_CM_CONNECTING, /* the kernel is connecting */
	TCP_CM_ASKING,     /* the request is being sent */
	TCP_CM_WAITING,    /* waiting for the reply */
	TCP_CM_READING,    /* passive: the request is being received */
	TCP_CM_ASKED,      /* passive: the owner has to accept or reject */
	TCP_CM_ANSWERING,  /* passive: the reply or reject is being sent */
	TCP_CM_CONNECTED,  /* end: success */
	TCP_CM_REJECTED,   /* end: rejected, by this end or the other */
	TCP_CM_FAILED,     /* end: failure */
};

/* The properties of this end of the connection. */
struct tcp_cm_own {
	uint32_t features; /* within TCP_HAVE_OFFER */
	uint64_t instance; /* not 0 */
	uint16_t contexts; /* number of receive contexts; 0 means 1 */
	/* Time limit for connecting, and for a request to arrive, in milliseconds; 0:
	 * none. */
	int timeout_ms;
	/* Time limit for the reply, which a person may have to give, in milliseconds;
	 * 0: none. */
	int reply_ms;
	/* Send TCP_REASON_CONNECTED in the request. */
	bool accepted_yours;
};

struct tcp_cm {
	/* The owner may read these fields. */
	int fd;
	uint64_t begin_ns;
	enum tcp_cm_state state;
	uint64_t deadline_ns; /* time of wf_now_ns; UINT64_MAX: none */
	/* Valid in the states ASKED, CONNECTED, REJECTED: the message of the other
	 * end. */
	struct tcp_cm_msg msg;
	/* The properties that both ends agreed on; in the state ASKED those that they
	 * could agree on. */
	struct tcp_wire_peer peer;
	/* The fields below are private to cm.c. */
	struct tcp_cm_own own;
	bool rejecting;
	uint16_t in_len, out_len, out_done;
	uint8_t in[TCP_CM_MAX];
	uint8_t out[TCP_CM_MAX];
};

/* The data in the other end's message, msg.data_len bytes: the application's, or that
 * of an FI_EP_RDM endpoint. */
static inline const void *tcp_cm_data(const struct tcp_cm *cm)
{
	return cm->in + TCP_CM_HDR;
}

/* Start as the active end: @fd is connecting or connected. @data_len is at most
 * TCP_CM_DATA_MAX. */
void tcp_cm_start_active(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own,
	const void *data, size_t data_len);

/* Start as the passive end: @fd was accepted. */
void tcp_cm_start_passive(struct tcp_cm *cm, int fd, const struct tcp_cm_own *own);

/*
 * Continue as far as possible without blocking. Returns 1: the owner has to act on
 * state ASKED or CONNECTED; 0: call again when tcp_cm_events() are reported for the
 * socket, and when the deadline has passed. Negative: the exchange failed.
 * -FI_ECONNREFUSED with state REJECTED: the other end rejected the request, and its msg
 * and data are valid. -FI_ETIMEDOUT, -FI_ENOPROTOOPT, -FI_EPROTO; -FI_ECONNRESET: the
 * other end closed the socket; or an error of the socket. A peer that does not speak
 * this protocol was logged.
 */
int tcp_cm_progress(struct tcp_cm *cm);

/*
 * Any process may connect and send nothing. An exchange whose other end has been silent
 * for TCP_SILENT_MS milliseconds may be dropped: when there are more than
 * TCP_SILENT_MAX of them, or when the process has no descriptor left for another
 * connection.
 */
enum { TCP_SILENT_MAX = 1024, TCP_SILENT_MS = 1000 };

/* Has the other end sent no valid bytes for TCP_SILENT_MS? */
bool tcp_cm_silent(const struct tcp_cm *cm, uint64_t now);
/* Log a dropped exchange; rate-limited. */
void tcp_cm_log_silent(const struct tcp_cm *cm);

/* The epoll event that the exchange waits for: EPOLLIN, EPOLLOUT, or 0. */
uint32_t tcp_cm_events(const struct tcp_cm *cm);

/*
 * Answer the request in state ASKED. The result is that of tcp_cm_progress(): 1 when
 * the answer was sent. The state is then CONNECTED; or REJECTED, and the owner shuts
 * the socket down and closes it. @features replaces that of struct tcp_cm_own.
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
	TCP_RDM_VERSION = 1, /* highest supported; 1 has rendezvous */
};

struct tcp_rdm_hello {
	uint8_t version;
	/* Reply: the sender knows versions and has checked the requested one. */
	bool evaluated;
	bool firewall; /* the sender's host cannot be connected to */
	/* Port where the requester listens, both in the request and in the reply. */
	uint16_t port;
	uint32_t id; /* id of the sender: a process id, or a random number */
};

void tcp_rdm_encode(uint8_t buf[TCP_RDM_DATA], const struct tcp_rdm_hello *hello);

/* 0, or -FI_EPROTO: not from an FI_EP_RDM endpoint (too short, no port, or an rxm
 * endpoint). */
int tcp_rdm_decode_request(const void *data, size_t len, struct tcp_rdm_hello *ret);

/* 0, or -FI_EPROTO as above, or if it does not answer a request with @port. */
int tcp_rdm_decode_reply(
	const void *data, size_t len, uint16_t port, struct tcp_rdm_hello *ret);

/* Fill the reply of an endpoint with @own_id to @request, which came in @msg. */
void tcp_rdm_answer(const struct tcp_rdm_hello *request, const struct tcp_cm_msg *msg,
	uint32_t own_id, struct tcp_rdm_hello *ret);

/* The bits that a reply, whether sent or received, adds to tcp_wire_peer.have. */
uint32_t tcp_rdm_have(const struct tcp_rdm_hello *reply);

/*
 * Two endpoints connected to each other at the same time: the request of the endpoint
 * with the higher address is used. Positive: @own is higher, the peer's request is
 * rejected; negative: this end's request is given up and the peer's accepted; 0: the
 * addresses are equal, so the endpoint connected to itself.
 */
int tcp_rdm_cross(const union wf_sockaddr *own, const union wf_sockaddr *peer);

#endif
