/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/hello.h"

#include <string.h>

enum {
	VERSION = 1,        /* version of the data in this file */
	PACKET_VERSION = 4, /* version of packet headers */
	OP_VERSION = 3,
	LITTLE = 2, /* byte order */
	BIG = 1,
};

/* Offsets of the fields. */
enum {
	REQ_VERSION = 0,
	REQ_ORDER = 1,
	REQ_PACKET = 2,
	REQ_OP = 3,
	REQ_PORT = 4,
	REQ_FLOW = 6,
	REQ_EAGER = 8,
	REQ_DEPTH = 12,
	REQ_ID = 16,
	ACC_ID = 0,
	ACC_DEPTH = 8,
	ACC_FLOW = 12,
};

#define ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? LITTLE : BIG)

/* Before a card: the sender can reach its peers on the same machine by memory. */
static const uint8_t card_mark[RXM_HELLO_CARD_LEN - WF_PROOF_CARD] = { 'w', 'f', 'l',
	1 };
static const uint8_t question_mark[RXM_QUESTION_LEN - sizeof(uint64_t)] = { 'w', 'f',
	'q', 1 };
static const uint8_t answer_mark[RXM_ANSWER_LEN - 1] = { 'w', 'f', 'a', 1 };

uint64_t rxm_hello_word(const struct rxm_hello *hello)
{
	return (uint64_t)hello->pid << 32 | hello->id;
}

static void hello_take_id(const uint8_t *at, struct rxm_hello *ret)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	ret->id = (uint32_t)word;
	ret->pid = (uint32_t)(word >> 32);
}

void rxm_hello_request(uint8_t data[RXM_REQUEST_LEN], const struct rxm_hello *hello)
{
	uint64_t id = rxm_hello_word(hello);

	memset(data, 0, RXM_REQUEST_LEN);
	data[REQ_VERSION] = VERSION;
	data[REQ_ORDER] = ORDER;
	data[REQ_PACKET] = PACKET_VERSION;
	data[REQ_OP] = OP_VERSION;
	data[REQ_FLOW] = hello->flow;
	memcpy(data + REQ_PORT, &hello->port, sizeof(hello->port));
	memcpy(data + REQ_EAGER, &hello->eager_size, sizeof(hello->eager_size));
	memcpy(data + REQ_DEPTH, &hello->rx_depth, sizeof(hello->rx_depth));
	memcpy(data + REQ_ID, &id, sizeof(id));
}

void rxm_hello_accept(uint8_t data[RXM_ACCEPT_LEN], const struct rxm_hello *hello)
{
	uint64_t id = rxm_hello_word(hello);

	memset(data, 0, RXM_ACCEPT_LEN);
	memcpy(data + ACC_ID, &id, sizeof(id));
	memcpy(data + ACC_DEPTH, &hello->rx_depth, sizeof(hello->rx_depth));
	data[ACC_FLOW] = hello->flow;
}

void rxm_hello_reject(
	uint8_t data[RXM_REJECT_MAX], enum rxm_reason reason, enum rxm_answer answer)
{
	data[0] = VERSION;
	data[1] = (uint8_t)reason;
	memcpy(data + RXM_REJECT_LEN, answer_mark, sizeof(answer_mark));
	data[RXM_REJECT_MAX - 1] = (uint8_t)answer;
}

size_t rxm_hello_add_question(uint8_t data[RXM_HELLO_MAX], size_t len, uint64_t about)
{
	memcpy(data + len, question_mark, sizeof(question_mark));
	memcpy(data + len + sizeof(question_mark), &about, sizeof(about));
	return len + RXM_QUESTION_LEN;
}

/* The question is behind the card, if there is one. */
static void hello_read_question(const void *data, size_t len, struct rxm_hello *ret)
{
	const uint8_t *at = data;
	size_t begin = RXM_REQUEST_LEN;

	if (rxm_hello_card(data, len, begin))
		begin += RXM_HELLO_CARD_LEN;
	ret->asks = len >= begin + RXM_QUESTION_LEN &&
		    !memcmp(at + begin, question_mark, sizeof(question_mark));
	if (ret->asks)
		memcpy(&ret->about, at + begin + sizeof(question_mark),
			sizeof(ret->about));
}

const char *rxm_hello_read_request(
	const void *data, size_t len, uint32_t eager_size, struct rxm_hello *ret)
{
	const uint8_t *at = data;

	memset(ret, 0, sizeof(*ret));
	if (len < RXM_REQUEST_LEN)
		return "it is too short";
	if (at[REQ_VERSION] != VERSION || at[REQ_PACKET] != PACKET_VERSION ||
		at[REQ_OP] != OP_VERSION)
		return "its version is another one";
	if (at[REQ_ORDER] != ORDER)
		return "its byte order is another one";
	memcpy(&ret->port, at + REQ_PORT, sizeof(ret->port));
	memcpy(&ret->eager_size, at + REQ_EAGER, sizeof(ret->eager_size));
	memcpy(&ret->rx_depth, at + REQ_DEPTH, sizeof(ret->rx_depth));
	ret->flow = at[REQ_FLOW];
	hello_take_id(at + REQ_ID, ret);
	hello_read_question(data, len, ret);
	if (ret->eager_size != eager_size)
		return "its FI_OFI_RXM_BUFFER_SIZE is another one";
	return ret->port ? NULL : "it names no port";
}

bool rxm_hello_read_accept(const void *data, size_t len, struct rxm_hello *ret)
{
	const uint8_t *at = data;

	memset(ret, 0, sizeof(*ret));
	if (len < RXM_ACCEPT_LEN)
		return false;
	hello_take_id(at + ACC_ID, ret);
	memcpy(&ret->rx_depth, at + ACC_DEPTH, sizeof(ret->rx_depth));
	ret->flow = at[ACC_FLOW];
	return true;
}

enum rxm_reason rxm_hello_read_reject(const void *data, size_t len)
{
	const uint8_t *at = data;

	if (!len)
		return RXM_REASON_NONE;
	return len >= RXM_REJECT_LEN && at[0] == VERSION &&
			       at[1] == RXM_REASON_CONNECTED
		       ? RXM_REASON_CONNECTED
		       : RXM_REASON_REFUSED;
}

enum rxm_answer rxm_hello_read_answer(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint8_t answer;

	if (len < RXM_REJECT_MAX ||
		memcmp(at + RXM_REJECT_LEN, answer_mark, sizeof(answer_mark)) != 0)
		return RXM_ANSWER_UNSTATED;
	answer = at[RXM_REJECT_MAX - 1];
	return answer == RXM_ANSWER_OWN || answer == RXM_ANSWER_NOT_OWN
		       ? (enum rxm_answer)answer
		       : RXM_ANSWER_NOT_ASKED;
}

size_t rxm_hello_add_card(
	uint8_t data[RXM_HELLO_MAX], size_t len, const uint8_t card[WF_PROOF_CARD])
{
	memcpy(data + len, card_mark, sizeof(card_mark));
	memcpy(data + len + sizeof(card_mark), card, WF_PROOF_CARD);
	return len + RXM_HELLO_CARD_LEN;
}

const uint8_t *rxm_hello_card(const void *data, size_t len, size_t at)
{
	const uint8_t *bytes = data;

	if (len < at + RXM_HELLO_CARD_LEN ||
		memcmp(bytes + at, card_mark, sizeof(card_mark)) != 0)
		return NULL;
	return bytes + at + sizeof(card_mark);
}
