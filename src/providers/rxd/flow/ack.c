/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/ack.h"

#include <string.h>

#include "sys/compiler.h"

/* The bytes behind the base header. In an ACK of the wire protocol in use only window
 * is defined. */
struct body {
	uint16_t refused; /* these fields as in struct rxd_ack */
	uint16_t largest;
	uint32_t window; /* only the low 16 bits are used */
	uint64_t early;  /* the first word of rxd_ack.early */
};
static_assert(sizeof(struct rxd_base) + sizeof(struct body) == RXD_ACK_SIZE,
	"as on the wire");

size_t rxd_ack_write(const struct rxd_ack *ack, uint32_t peer_index, uint8_t *to)
{
	const struct rxd_base base = {
		.version = RXD_VERSION,
		.type = RXD_ACK,
		.flags = ack->extended ? RXD_FLAG_EXT : 0,
		.peer = peer_index,
		.seq = ack->next,
	};
	struct body body = { .window = ack->window };

	if (ack->extended) {
		body.refused = ack->refused;
		body.largest = ack->largest;
		body.early = ack->words > 0 ? ack->early[0] : 0;
	}
	memcpy(to, &base, sizeof(base));
	memcpy(to + sizeof(base), &body, sizeof(body));
	if (!ack->extended || ack->words <= 1)
		return RXD_ACK_SIZE;
	memcpy(to + RXD_ACK_SIZE, &ack->early[1], (ack->words - 1) * 8);
	return RXD_ACK_SIZE + (ack->words - 1) * 8;
}

bool rxd_ack_read(const uint8_t *from, size_t len, bool extended, struct rxd_ack *ret)
{
	struct rxd_base base;
	struct body body;
	size_t more;

	if (len < RXD_ACK_SIZE)
		return false;
	memcpy(&base, from, sizeof(base));
	memcpy(&body, from + sizeof(base), sizeof(body));
	ret->next = base.seq;
	ret->window = (uint16_t)body.window;
	ret->extended = extended && base.flags & RXD_FLAG_EXT;
	ret->words = 0;
	ret->refused = ret->largest = 0;
	if (!ret->extended)
		return true;
	ret->refused = body.refused;
	ret->largest = body.largest;
	more = WF_MIN((len - RXD_ACK_SIZE) / 8, (size_t)RXD_SACK_WORDS - 1);
	if (body.early != 0 || more > 0) {
		ret->words = 1 + more;
		ret->early[0] = body.early;
		memcpy(&ret->early[1], from + RXD_ACK_SIZE, more * 8);
	}
	return true;
}
