/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_CONN_HELLO_H
#define WF_RXM_CONN_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/local/proof.h"

/*
 * The data that two endpoints exchange when they connect: in the request, and in its
 * acceptance or rejection (fi_connect, fi_accept, fi_reject). Pure functions. Numbers
 * are in the byte order of the sender; a peer of another byte order is refused.
 */
enum {
	RXM_REQUEST_LEN = 24,
	RXM_ACCEPT_LEN = 16,
	RXM_REJECT_LEN = 2,
	/* Length of a card behind a request or an acceptance, with its mark. */
	RXM_HELLO_CARD_LEN = 4 + WF_PROOF_CARD,
	/* Length of a question behind a request, with its mark; the same of the answer
	 * behind a rejection. */
	RXM_QUESTION_LEN = 12,
	RXM_ANSWER_LEN = 5,
	/* Length of the longest data. */
	RXM_HELLO_MAX = RXM_REQUEST_LEN + RXM_HELLO_CARD_LEN + RXM_QUESTION_LEN,
	RXM_REJECT_MAX = RXM_REJECT_LEN + RXM_ANSWER_LEN,
};

enum rxm_reason {
	RXM_REASON_NONE,
	/* The endpoints are not compatible, or the request is invalid. */
	RXM_REASON_REFUSED,
	/* There is a connection, or the peer's own request is used. */
	RXM_REASON_CONNECTED,
};

/* Does the sender use credits, that is, count the buffers of its peer? */
enum rxm_flow {
	RXM_FLOW_UNSTATED,
	RXM_FLOW_ON,
	RXM_FLOW_OFF,
};

/*
 * Verification of requests (verify.c). A request may ask whether a connection that the
 * receiver is said to have asked for is its own: the question names the connection by
 * the words @pid and @id of that request, which only its two ends know. A rejection
 * answers. Other implementations ignore both.
 */
enum rxm_answer {
	/* The sender does not know questions: another implementation. */
	RXM_ANSWER_UNSTATED,
	RXM_ANSWER_NOT_ASKED,
	RXM_ANSWER_OWN,     /* The connection is the sender's. */
	RXM_ANSWER_NOT_OWN, /* It is another process's. */
};

struct rxm_hello {
	uint32_t id; /* id of the connection, for packets to the sender of this hello */
	uint32_t pid;      /* identifies the process of the sender */
	uint32_t rx_depth; /* number of receive buffers that the sender has posted */
	uint8_t flow;      /* enum rxm_flow */
	uint16_t port;     /* port where the sender listens; only in requests */
	/* Size of the sender's buffers in bytes; only in requests. */
	uint32_t eager_size;
	/* Only in requests: the sender knows questions. */
	bool asks;
	/* The connection that the sender asks about; 0: none. Only in requests. */
	uint64_t about;
};

/* The name of the connection of @hello in questions. */
uint64_t rxm_hello_word(const struct rxm_hello *hello);

void rxm_hello_request(uint8_t data[RXM_REQUEST_LEN], const struct rxm_hello *hello);
void rxm_hello_accept(uint8_t data[RXM_ACCEPT_LEN], const struct rxm_hello *hello);
/* @answer is appended. */
void rxm_hello_reject(
	uint8_t data[RXM_REJECT_MAX], enum rxm_reason reason, enum rxm_answer answer);

/* Append a card (objects/local/proof.h) to the @len bytes of @data, a request or an
 * acceptance. Other implementations, and older versions, ignore what is behind it.
 * Returns the new length. */
size_t rxm_hello_add_card(
	uint8_t data[RXM_HELLO_MAX], size_t len, const uint8_t card[WF_PROOF_CARD]);
/* The card behind the first @at bytes of @data, which has @len bytes; NULL: none. */
const uint8_t *rxm_hello_card(const void *data, size_t len, size_t at);

/* Append a question about the connection @about (0: none) to the request of @len bytes
 * in @data. Returns the new length. */
size_t rxm_hello_add_question(uint8_t data[RXM_HELLO_MAX], size_t len, uint64_t about);

/* Decode a request of @len bytes. Returns NULL: *ret is filled; or the reason why the
 * request is refused. */
const char *rxm_hello_read_request(
	const void *data, size_t len, uint32_t eager_size, struct rxm_hello *ret);
/* Decode an acceptance. False: it is too short. */
bool rxm_hello_read_accept(const void *data, size_t len, struct rxm_hello *ret);
/* The reason in a rejection. Invalid data counts as RXM_REASON_REFUSED, no data as
 * RXM_REASON_NONE. */
enum rxm_reason rxm_hello_read_reject(const void *data, size_t len);
/* The answer in a rejection. */
enum rxm_answer rxm_hello_read_answer(const void *data, size_t len);

#endif
