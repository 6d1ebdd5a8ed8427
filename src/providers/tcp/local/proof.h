/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_PROOF_H
#define TCP_LOCAL_PROOF_H

#include <stdint.h>

#include "providers/tcp/data/wire.h"
#include "providers/tcp/local/page.h"

/*
 * Proof that the other end of a connection is a process of this machine and user that
 * reaches the same shared memory (docs/tcp-local.md).
 *
 * An end keeps a random number in memory without a name, its page, and sends a card,
 * which says where that is. Only a process that can read there can write the number
 * into a page of its own, which is examined likewise. A number is for one connection,
 * so that a recorded one proves nothing. Nothing here is told by addresses or host
 * names. No lock; one thread at a time for each proof.
 */
struct tcp_proof {
	int fd;                      /* of the page; -1: none, or not needed any more */
	struct tcp_page *own;        /* NULL: no memory */
	const struct tcp_page *peer; /* NULL: not reached */
	uint64_t number;             /* in the own page */
};

/* Why a peer is not reached through shared memory. */
enum tcp_apart {
	TCP_APART_NOT,     /* it is reached */
	TCP_APART_VERSION, /* another version, or the peer could not make a proof */
	TCP_APART_MACHINE,
	TCP_APART_NAMESPACE, /* another process namespace */
	TCP_APART_USER,
	TCP_APART_UNREADABLE,
	TCP_APART_STRANGER,  /* the memory is not that of the connection's other end */
	TCP_APART_DIRECTORY, /* another directory of shared memory */
	TCP_APART_NAME,      /* its endpoint there has an invalid name */
	TCP_APART_FAILED,    /* memory failed before, for this instance */
	TCP_APART_REFUSED,   /* the peer says so */
	TCP_APARTS,
};

/* Make the page and the card of the endpoint with @instance, and with @name in shared
 * memory, which the peer learns; NULL or too long: none. 0 or a negative errno; then
 * @ret has no memory, and the card is one that every peer refuses. */
int tcp_proof_make(struct tcp_proof *ret, uint64_t instance, const char *name,
	uint8_t ret_card[TCP_WIRE_CARD]);

/* Examine the card of a peer whose endpoint said that it has @instance, and answer it
 * in the own page. Where the peer is reached, @proof has its page and @ret_name its
 * name in shared memory, which is empty where it has none. The card may have come from
 * anywhere. */
enum tcp_apart tcp_proof_read(struct tcp_proof *proof,
	const uint8_t card[TCP_WIRE_CARD], uint64_t instance,
	char ret_name[TCP_PROOF_NAME]);

enum tcp_told {
	TCP_TOLD_NOTHING, /* no answer yet */
	TCP_TOLD_PROOF,
	TCP_TOLD_REFUSAL,
	TCP_TOLD_LIE, /* a number that is not in the own page */
};

/* The answer of the peer, which is reached, to the own card. */
enum tcp_told tcp_proof_told(const struct tcp_proof *proof);

/* The peer has mapped the page, or never will: no other process can from now on. */
void tcp_proof_hide(struct tcp_proof *proof);
/* Free the memory. Nothing to do where there is none. */
void tcp_proof_done(struct tcp_proof *proof);

/* For a log line: "another user". */
const char *tcp_apart_text(enum tcp_apart apart);

#endif
