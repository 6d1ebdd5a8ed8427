/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FUZZ_FAR_TCP_H
#define TESTS_FUZZ_FAR_TCP_H

#include <netinet/in.h>

#include "live.h"
#include "providers/tcp/data/wire.h"

/*
 * The peer of a tcp connection: a plain socket that begins with a valid handshake and
 * continues with bytes from the input. Records are made by the provider's encoder and
 * altered afterwards. Records that the endpoint sends are remembered, so that matching
 * answers can be given.
 */
enum { FAR_OWED = 16 };

struct far_tcp {
	uint64_t instance; /* told by the last request; 0: none */
	bool rdm;
	int listener; /* listens at @name while the process runs */
	struct sockaddr_in name;
	int fd; /* the connection, or -1 */
	struct tcp_wire_peer peer;
	uint8_t number;
	/* From the endpoint: the bytes of an incomplete header, payload that follows,
	 * and the records that have to be answered, the oldest first. */
	uint8_t in[TCP_WIRE_HDR_MAX];
	size_t in_len;
	uint64_t skip;
	struct tcp_record owed[FAR_OWED];
	unsigned int owed_count;
	uint64_t seen_id;
};

void far_tcp_listen(struct far_tcp *far);

/* Close the connection of the previous input. */
void far_tcp_reset(struct far_tcp *far);

/* Connect to @to and send a request, which the input chooses. */
bool far_tcp_ask(struct far_tcp *far, const struct sockaddr_in *to, struct input *in);
/* Wait for the reply; without a reply there is no connection. */
bool far_tcp_asked(struct far_tcp *far, struct live *v);

/* Answer the request of the endpoint, if it has connected to the listener. */
bool far_tcp_accept(struct far_tcp *far, struct live *v, struct input *in);

/* _record: send a record that may come at any time. _answer: send the answer that is
 * due next. _bytes: send bytes of the input. */
void far_tcp_record(struct far_tcp *far, struct live *v, struct input *in);
void far_tcp_answer(struct far_tcp *far, struct live *v, struct input *in);
void far_tcp_bytes(struct far_tcp *far, struct live *v, struct input *in);

/* Read what the endpoint has sent. */
void far_tcp_read(struct far_tcp *far);

/* @orderly: end of the stream, else a reset. */
void far_tcp_close(struct far_tcp *far, struct live *v, bool orderly);

#endif
