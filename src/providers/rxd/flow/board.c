/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/board.h"

#include <stdlib.h>

#include "sys/compiler.h"

enum { CAPACITY_MIN = 16 };

bool rxd_board_reserve(struct rxd_board *board)
{
	struct rxd_board wider = *board;

	if (rxd_board_count(board) < board->capacity)
		return true;
	wider.capacity = WF_MAX(board->capacity * 2, (size_t)CAPACITY_MIN);
	wider.ring = calloc(wider.capacity, sizeof(*wider.ring));
	if (!wider.ring)
		return false;
	for (uint64_t n = board->una; n != board->next; n++)
		*rxd_board_at(&wider, n) = *rxd_board_at(board, n);
	free(board->ring);
	*board = wider;
	return true;
}

static void board_count(struct rxd_board *board, const struct rxd_sent *sent, bool add)
{
	if (sent->state == RXD_SENT_FLYING)
		board->in_flight += add ? sent->bytes : -(uint64_t)sent->bytes;
	else if (sent->state == RXD_SENT_LOST)
		board->lost += add ? 1 : -(size_t)1;
}

void rxd_board_sent(struct rxd_board *board, uint64_t number, struct rxd_xfer *xfer,
	uint32_t bytes, uint64_t now_ns)
{
	struct rxd_sent *sent = rxd_board_at(board, number);
	bool fresh = number == board->next;

	if (fresh)
		board->next++;
	else
		board_count(board, sent, false);
	*sent = (struct rxd_sent){
		.xfer = xfer,
		.order = board->order++,
		.at_ns = now_ns,
		.bytes = bytes,
		.state = RXD_SENT_FLYING,
		.resent = !fresh,
	};
	board_count(board, sent, true);
}

void rxd_board_set(struct rxd_board *board, uint64_t number, enum rxd_sent_state state)
{
	struct rxd_sent *sent = rxd_board_at(board, number);

	board_count(board, sent, false);
	sent->state = (uint8_t)state;
	board_count(board, sent, true);
	if (state == RXD_SENT_LOST && number < board->lost_from)
		board->lost_from = number;
}

uint64_t rxd_board_first_lost(struct rxd_board *board)
{
	uint64_t n = WF_MAX(board->lost_from, board->una);

	while (rxd_board_at(board, n)->state != RXD_SENT_LOST)
		n++;
	board->lost_from = n;
	return n;
}

void rxd_board_clear(struct rxd_board *board, uint64_t next)
{
	board->una = board->next = board->lost_from = next;
	board->in_flight = 0;
	board->lost = 0;
}

void rxd_board_done(struct rxd_board *board)
{
	free(board->ring);
	*board = (struct rxd_board){ 0 };
}
