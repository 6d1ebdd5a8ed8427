/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of any content, at any level of agreement: read without harm and only as far
 * as they have arrived, and what is understood is the same when written and read
 * again. The first byte of the input chooses the peer. */
#include <stdlib.h>

#include "providers/tcp/log.h"
#include "providers/tcp/data/wire.h"

struct fi_provider tcp_fi = { .name = "tcp" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Which of the two levels has what does not follow from the negotiation itself. */
static struct tcp_wire_peer choose_peer(uint8_t choice)
{
	struct tcp_wire_peer peer = { .swap = choice & 1 };

	if (choice & 2)
		peer.have |= TCP_HAVE_TAGGED;
	if (choice & 4)
		peer.have |= TCP_HAVE_RDV;
	if (choice & 8)
		peer.have |= TCP_HAVE_OFFER;
	return peer;
}

/* In both byte orders, which take different ways through the decoder. */
static void check_again(const struct tcp_record *rec, struct tcp_wire_peer peer)
{
	for (int order = 0; order < 2; order++, peer.swap = !peer.swap) {
		uint8_t first[TCP_WIRE_HDR_MAX], second[TCP_WIRE_HDR_MAX];
		size_t len = tcp_record_encode(first, &peer, rec);
		struct tcp_record again;

		if (len > rec->hdr_len ||
			tcp_record_decode(first, len, &peer, &again) ||
			again.kind != rec->kind || again.flags != rec->flags ||
			again.span != rec->span || again.tag != rec->tag ||
			again.data != rec->data || again.id != rec->id ||
			again.context != rec->context ||
			again.seg_count != rec->seg_count ||
			again.payload_len != rec->payload_len ||
			tcp_record_encode(second, &peer, &again) != len ||
			memcmp(first, second, len))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tcp_wire_peer peer;
	struct tcp_record rec;
	int ret = 1;

	if (!size)
		return 0;
	peer = choose_peer(data[0]);
	data++;
	size--;
	/* Each beginning in memory of exactly its length. */
	for (size_t len = 0; len <= size && ret > 0; len = (size_t)ret) {
		uint8_t *part = malloc(len + !len);

		memcpy(part, data, len);
		ret = tcp_record_decode(part, len, &peer, &rec);
		free(part);
		if (ret > 0 && ((size_t)ret <= len || ret > TCP_WIRE_HDR_MAX))
			abort();
	}
	if (!ret)
		check_again(&rec, peer);
	return 0;
}
