/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_STRIPE_INTERNAL_H
#define WF_LNX_STRIPE_INTERNAL_H

#include "objects/lower/cq.h"
#include "objects/lower/region.h"
#include "objects/lower/wait.h"
#include "objects/srx/heads.h"
#include "providers/lnx/stripe/stripe.h"
#include "providers/lnx/stripe/wire.h"

/* What the files of striping share. lnx_stripe.lock is held in all functions, unless
 * their comment says otherwise. Rails are numbered by their place in lnx_stripe.rail,
 * and sets of rails have one bit for each. */

/* An operation on a private endpoint; first member of the struct of its kind, and the
 * context of the operation. */
struct lnx_call {
	struct fi_context2 scratch; /* for a member with FI_CONTEXT2; first field */
	/* It ended with the positive FI_E code @err, or with @len received bytes. */
	void (*done)(struct lnx_stripe *s, struct lnx_call *call, int err, size_t len);
	unsigned int rail;
};

enum { LNX_STRIPE_BUFS = 32 };

/* A buffer for control messages. */
struct lnx_stripe_buf {
	struct lnx_call call;
	uint8_t bytes[LNX_STRIPE_MSG_MAX];
};

/* One rail that takes part: a private endpoint and what is bound to it. */
struct lnx_stripe_rail {
	unsigned int member; /* index of the member in the domain */
	struct wf_lower_ep below;
	struct fid_av *av;
	struct wf_lower_cq cq;
	struct wf_lower_wait wait;
	bool posted;       /* The buffers are posted. */
	uint64_t tx_flags; /* of control messages */
	uint64_t fetched;  /* bytes of payload that were read over the rail */
	struct lnx_stripe_buf buf[LNX_STRIPE_BUFS];
};

/* A peer as its private endpoints are reached. */
struct lnx_contact {
	fi_addr_t addr[LNX_MAX_LINKS]; /* by rail, in the rails' private AVs */
	uint8_t rails;                 /* rails that reach the peer */
	uint8_t down;                  /* those of @rails that failed */
	uint64_t down_ns;              /* when the last one failed */
	unsigned int pending;          /* control messages to it that have not ended */
	/* The peer was not reached over any rail: positive FI_E code of the last one,
	 * for the next poll. */
	int lost_err;
};

/* A control message on its way. */
struct lnx_control {
	struct lnx_call call;
	struct wf_list link; /* in lnx_stripe.waiting, or linked to itself */
	struct lnx_contact *contact;
	uint8_t tried; /* rails that lost it */
	size_t len;
	uint8_t bytes[LNX_STRIPE_MSG_MAX];
};

enum lnx_receiver_state {
	LNX_RECEIVER_NEW, /* It was not asked. */
	/* A HELLO is under way, or was not answered; or the one that shows the
	 * token. */
	LNX_RECEIVER_ASKED,
	LNX_RECEIVER_READY,   /* It gave a token. */
	LNX_RECEIVER_REFUSED, /* It cannot be reached by private endpoints. */
};

/* A peer that striped messages are sent to, by its index in the AV. */
struct lnx_receiver {
	struct lnx_contact contact;
	struct wf_list link; /* in lnx_stripe.receivers */
	uint64_t index;      /* index in the AV */
	uint64_t hash;       /* lnx_peer.hash of the address */
	/* Random, but for the low 32 bits: the receiver's number here. Control messages
	 * of the receiver name it. */
	uint64_t nonce;
	/* The last token that it gave; 0: none yet. Valid in LNX_RECEIVER_READY. */
	uint64_t token;
	enum lnx_receiver_state state;
	uint64_t asked_ns;      /* when the HELLO was sent */
	uint64_t ask_ns;        /* no other HELLO before this time */
	uint32_t next_op;       /* number to try for the next message */
	unsigned int out_count; /* messages under way */
};

enum {
	LNX_STRIPE_TABLE = 256, /* lists of a table of messages */
	/* The most messages to one receiver that are under way. */
	LNX_STRIPE_OUT_MAX = 8192,
	/* The most senders of an endpoint, as an index has 16 bits; those whose private
	 * endpoints are on one host; those of one name. */
	LNX_STRIPE_SENDERS_MAX = 65535,
	LNX_STRIPE_HOST_SENDERS_MAX = 4096,
	LNX_STRIPE_NAME_SENDERS_MAX = 64,
	/* The most senders that have not proven that they know their token. */
	LNX_STRIPE_GREETED_MAX = 2048,
	LNX_STRIPE_TOKEN_WORDS = 64, /* words of lnx_stripe.tokens */
};

/* A striped message that is being sent. */
struct lnx_outbound {
	struct wf_list link; /* in lnx_stripe.out, by id */
	struct lnx_stripe *s;
	struct lnx_receiver *receiver;
	uint64_t id, key;
	uint64_t size, data; /* length in bytes, CQ data */
	uint64_t flags;      /* of the application's operation */
	void *context;       /* of the application's operation */
	enum wf_op_kind kind;
	void *copy;                /* the payload, if it was injected; else NULL */
	struct lnx_control *offer; /* prepared; NULL once it is on its way */
	unsigned int offers;       /* OFFERs that were started */
	bool published;            /* in lnx_stripe.out */
	bool head_done;            /* the head has left */
	bool done;                 /* the receiver has everything */
	int err;                   /* positive FI_E code; 0: none yet */
	uint64_t asked_ns;         /* when the receiver was last asked or told of it */
	uint64_t ask_ns;           /* time from then on until it is asked */
	struct wf_lower_region region[LNX_MAX_LINKS]; /* by rail */
};

/* A peer that sends striped messages. */
struct lnx_sender {
	struct lnx_contact contact;
	uint64_t nonce; /* the sender's number for this endpoint */
	uint64_t token; /* what this endpoint gave it */
	/* It showed that it knows the token. Until then the process that said HELLO may
	 * be another one than that at the address in its name. */
	bool proven;
	uint64_t greeted_ns; /* when it was made */
	/* Hashes of its name, and of the host of its first private endpoint. */
	uint64_t name_hash, host_hash;
	size_t offers;     /* messages of which nothing but the offer came */
	bool refused;      /* An offer was dropped because there were too many. */
	uint64_t asked_ns; /* when it was asked for an offer that a peek lacked */
};

/* A striped message that is coming: its offer, its receive, or both. */
struct lnx_inbound {
	struct wf_list link;   /* in lnx_stripe.in, by id */
	struct wf_list active; /* in lnx_stripe.active while it has an entry */
	struct lnx_sender *sender;
	uint64_t id;
	bool offered; /* @size, @data, @has_data and @key are known */
	bool has_data;
	uint64_t size, data, key;
	/* The receive and what is reported of it; NULL: the head is not matched yet. */
	struct fi_peer_rx_entry *entry;
	struct wf_ep *ep;
	fi_addr_t src;
	uint64_t want;             /* bytes to be read: those that fit */
	uint64_t next;             /* offset of the first byte not asked for yet */
	size_t chunk;              /* bytes of a chunk */
	unsigned int flying;       /* reads under way */
	uint8_t on[LNX_MAX_LINKS]; /* the same by rail */
	struct wf_list again;      /* struct lnx_chunk that rails lost */
	int err;                   /* positive FI_E code; 0: none yet */
	unsigned int questions;    /* ASK_SENDERs since the entry came */
	uint64_t asked_ns;         /* when the last one was sent, or the entry came */
};

/* A read. */
struct lnx_chunk {
	struct lnx_call call;
	struct wf_list link; /* in lnx_inbound.again, or linked to itself */
	struct lnx_inbound *in;
	uint64_t at; /* offset in the message */
	size_t len;
};

struct lnx_stripe {
	struct lnx_ep *ep;
	struct wf_lock lock;
	struct wf_srx_heads heads;
	unsigned int count; /* rails that are open */
	size_t iov_limit;   /* of a read */
	struct lnx_stripe_rail *rail;
	uint8_t name[LNX_NAME_LEN]; /* the private endpoints, packed */
	size_t name_len;
	struct wf_list receivers[LNX_STRIPE_TABLE]; /* by AV index */
	struct lnx_receiver **receiver;             /* by number */
	uint32_t receiver_count;
	struct wf_list out[LNX_STRIPE_TABLE]; /* struct lnx_outbound, by id */
	/* By index in tokens, from 1 on; NULL: forgotten. */
	struct lnx_sender **sender;
	uint32_t sender_count;
	uint32_t greeted;                    /* number of senders that are not proven */
	struct wf_list in[LNX_STRIPE_TABLE]; /* struct lnx_inbound, by id */
	size_t offers;                       /* sum of lnx_sender.offers */
	struct wf_list active;               /* struct lnx_inbound with entries */
	struct wf_list waiting; /* struct lnx_control that were not taken */
	struct wf_pool chunks, controls;
	bool any_lost;         /* lnx_contact.lost_err of some contact is set. */
	bool stalled;          /* A read was not taken: try again. */
	bool slept;            /* A thread was about to sleep since the last poll. */
	unsigned int injected; /* outbound messages with a copy */
	unsigned int polls;    /* calls of lnx_stripe_poll */
	unsigned int quiet;    /* those since the private endpoints had work */
	uint64_t asked_ns;     /* when the peers were last asked */
	int timer_fd;          /* ends sleeps while messages are under way; or -1 */
	/* Messages, reads and control messages under way. */
	_Atomic uint32_t busy;
	/* A set bit for each token that some receiver gave, by a hash of it. Read
	 * without the lock, so that a message with CQ data does not take it. */
	_Atomic uint64_t tokens[LNX_STRIPE_TOKEN_WORDS];
};

static inline uint32_t lnx_stripe_token_bit(uint64_t id)
{
	uint64_t hash = (id >> LNX_STRIPE_OP_BITS) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(hash >> 32) % (LNX_STRIPE_TOKEN_WORDS * 64);
}

static inline void lnx_stripe_note_token(struct lnx_stripe *s, uint64_t token)
{
	uint32_t bit = lnx_stripe_token_bit(token);

	atomic_fetch_or_explicit(
		&s->tokens[bit / 64], UINT64_C(1) << bit % 64, memory_order_relaxed);
}

/* May @data look like an id to some receiver? No lock. */
static inline bool lnx_stripe_may_be_id(const struct lnx_stripe *s, uint64_t data)
{
	uint32_t bit = lnx_stripe_token_bit(data);

	/* relaxed: the application does not know a token that it could test with. */
	return atomic_load_explicit(&s->tokens[bit / 64], memory_order_relaxed) >>
		       bit % 64 &
	       1;
}

/* Time without news of a message after which its other end is asked; it doubles with
 * each question, up to the second value. */
#define LNX_STRIPE_ASK_NS     UINT64_C(1000000000)
#define LNX_STRIPE_ASK_MAX_NS UINT64_C(8000000000)

static inline void lnx_stripe_add_busy(struct lnx_stripe *s, int by)
{
	atomic_fetch_add_explicit(&s->busy, (uint32_t)by, memory_order_relaxed);
}

/* progress.c: end a sleep of a thread after @ns, if threads may sleep. */
void lnx_stripe_set_timer(struct lnx_stripe *s, uint64_t ns);

/* open.c: rail i of an endpoint of @domain reaches the private endpoint that is link
 * ret_pair[i] of @name, or none (-1). Returns the number of rails. No lock. */
unsigned int lnx_stripe_pair(const struct lnx_domain *domain,
	const struct lnx_name *name, int ret_pair[LNX_MAX_LINKS]);

/* contact.c */

/* Insert the private endpoints in @name into the rails' AVs. -FI_EADDRNOTAVAIL: no rail
 * reaches any. */
int lnx_contact_init(
	struct lnx_stripe *s, struct lnx_contact *contact, const struct lnx_name *name);

/* Undo lnx_contact_init. No control message to it is under way. */
void lnx_contact_done(struct lnx_stripe *s, const struct lnx_contact *contact);

/* The rails to @contact that are not known to have failed. A rail that has failed is
 * probed now and then, and used again when the peer answers. */
uint8_t lnx_contact_up(struct lnx_stripe *s, struct lnx_contact *contact);

/* An operation to @contact over @rail failed with @err (positive). True: it means that
 * the rail does not reach the peer, which is noted. */
bool lnx_contact_failed(
	struct lnx_stripe *s, struct lnx_contact *contact, unsigned int rail, int err);

/* Prepare @msg to @contact; NULL: no memory. */
struct lnx_control *lnx_control_new(struct lnx_stripe *s, struct lnx_contact *contact,
	const struct lnx_stripe_msg *msg);
void lnx_control_free(struct lnx_stripe *s, struct lnx_control *control);
/* Send it, over any rail that works. If none does, contact->lost_err is set. */
void lnx_control_send(struct lnx_stripe *s, struct lnx_control *control);
/* Both. Without memory the message is not sent, which is logged. */
void lnx_control_post(struct lnx_stripe *s, struct lnx_contact *contact,
	const struct lnx_stripe_msg *msg);
/* Try the messages again that were not taken. */
void lnx_control_retry(struct lnx_stripe *s);

/* hello.c */

/* The receiver at AV index @index. If @large, it is made if it is new, and asked for a
 * token unless it was. NULL: none, or no memory. */
struct lnx_receiver *lnx_receiver_get(
	struct lnx_stripe *s, const struct lnx_peer *peer, uint64_t index, bool large);
/* The receiver that @nonce names, or NULL. */
struct lnx_receiver *lnx_receiver_find(struct lnx_stripe *s, uint64_t nonce);
void lnx_stripe_hello(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_stripe_welcome(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);

/* senders.c */

/* 64 random bits; 0: there are none, which is not random but harmless. */
uint64_t lnx_stripe_random(void);
/* Make @*list, which has @count pointers, one longer if that is a power of two. */
bool lnx_stripe_grow(void *list, uint32_t count);
/* The sender that the token in @id, which came from a peer, was given to, or NULL. */
struct lnx_sender *lnx_sender_find(struct lnx_stripe *s, uint64_t id);
/* Forget the sender of index @i, if it is not proven and can be forgotten now. */
void lnx_sender_forget(struct lnx_stripe *s, uint32_t i);
/* A HELLO or ASK_RECEIVER came: the sender, made if it is new; NULL: none is
 * possible. */
struct lnx_sender *lnx_sender_get(
	struct lnx_stripe *s, const struct lnx_stripe_msg *msg);

/* send.c: control messages of a receiver; its loss; questions to receivers; closing. */
void lnx_stripe_done(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_stripe_ask_sender(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_receiver_fail(struct lnx_stripe *s, struct lnx_receiver *receiver, int err);
void lnx_stripe_ask_receivers(struct lnx_stripe *s, uint64_t now);
void lnx_stripe_free_out(struct lnx_stripe *s);

/* recv.c: the same of a sender. */
extern const struct wf_srx_head_ops lnx_stripe_head_ops;
void lnx_stripe_offer(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_stripe_withdraw(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_stripe_ask_receiver(struct lnx_stripe *s, const struct lnx_stripe_msg *msg);
void lnx_sender_fail(struct lnx_stripe *s, struct lnx_sender *sender, int err);
void lnx_stripe_ask_senders(struct lnx_stripe *s, uint64_t now);
void lnx_stripe_free_in(struct lnx_stripe *s);
/* All reads of @in ended: end its receive, and free it. */
void lnx_inbound_end(struct lnx_stripe *s, struct lnx_inbound *in);

/* fetch.c: read more of @in, which is offered and has an entry, if rails are free; end
 * it after the last read. */
void lnx_stripe_fetch(struct lnx_stripe *s, struct lnx_inbound *in);
/* Try the reads again that were not taken. */
void lnx_stripe_fetch_again(struct lnx_stripe *s);

#endif
