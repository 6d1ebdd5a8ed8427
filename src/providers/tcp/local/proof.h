/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_PROOF_H
#define TCP_LOCAL_PROOF_H

#include <stdint.h>

#include "providers/tcp/data/wire.h"

enum { TCP_PROOF_NAME = 128 }; /* bytes of a name of an endpoint, with its NUL */

/*
 * Proof that the other end of a connection is a process of this machine and user that
 * reaches the same shared memory (docs/tcp-local.md).
 *
 * An end keeps a random number in memory without a name, and sends a card, which says
 * where that is. Only a process that can read there can send the number back. A number
 * is for one connection, so that a recorded one proves nothing. Nothing here is told
 * by addresses or host names. No lock; one thread at a time for each proof.
 */
struct tcp_proof {
	int fd;          /* -1: no memory */
	void *page;      /* struct page of proof.c */
	uint64_t number; /* not 0 */
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

/* Make the proof and the card of the endpoint with @instance, and with @name in shared
 * memory, which the peer learns; NULL or too long: none. 0 or a negative errno; then
 * @ret has no memory, and the card is one that every peer refuses. */
int tcp_proof_make(struct tcp_proof *ret, uint64_t instance, const char *name,
	uint8_t ret_card[TCP_WIRE_CARD]);

/* Examine the card of a peer whose endpoint said that it has @instance, and read its
 * number and its name in shared memory, which is empty where it has none. The card may
 * have come from anywhere. Nothing is written unless the peer is reached. */
enum tcp_apart tcp_proof_read(const uint8_t card[TCP_WIRE_CARD], uint64_t instance,
	uint64_t *ret_number, char ret_name[TCP_PROOF_NAME]);

/* Free the memory. Nothing to do where there is none. */
void tcp_proof_done(struct tcp_proof *proof);

/* For a log line: "another user". */
const char *tcp_apart_text(enum tcp_apart apart);

#endif
