/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_TAG_H
#define WF_COLL_TAG_H

#include <stdint.h>

/*
 * Tags of the peer transfers between members. A receive matches every bit of its tag,
 * and only messages of the member that is to send, where the owner reports sources.
 *
 *             63   62-61       60-0
 *   data      1    kind 0      the position of the message, XOR the secret
 *   join      1    kind 1      60-41 members   40-21 sender's rank
 *                              20-1 receiver's rank
 *   control   1    kind 2      0
 *
 * The position of a message in its group:
 *
 *   60-46   45-26           25-10       9-0
 *   0       sender's rank   operation   step
 *
 * The secret of a group is a random number of 64 bits that the receiver chose and told
 * the other members when the group was joined, so that no process but these can guess
 * a tag. Its bits 59-46 are the number of the group at the receiver, XOR a random
 * number of the receiver's endpoint: data tags of two groups of an endpoint always
 * differ. The second exchange of a join counts as an operation.
 */
enum coll_tag_kind { COLL_TAG_DATA, COLL_TAG_JOIN, COLL_TAG_CONTROL };

enum {
	COLL_ID_BITS = 14,
	COLL_RANK_BITS = 20,
	COLL_NUMBER_BITS = 16,
	COLL_STEP_BITS = 10,
	COLL_ID_SHIFT = COLL_RANK_BITS + COLL_NUMBER_BITS + COLL_STEP_BITS,
	COLL_KIND_SHIFT = 61,
	/* Numbers of operations; they go on after 2^16 with 0. */
	COLL_SECOND_EXCHANGE = 0,
	COLL_FIRST_OPERATION = 1,
};

_Static_assert(COLL_ID_SHIFT + COLL_ID_BITS <= COLL_KIND_SHIFT, "layout of data tags");

#define COLL_TAG_PEER (UINT64_C(1) << 63)

static inline uint64_t coll_tag(enum coll_tag_kind kind)
{
	return COLL_TAG_PEER | (uint64_t)kind << COLL_KIND_SHIFT;
}

/* @secret: the receiver's. */
static inline uint64_t coll_tag_data(
	uint64_t secret, uint32_t sender, uint16_t number, uint32_t step)
{
	const uint64_t mask = (UINT64_C(1) << COLL_KIND_SHIFT) - 1;
	uint64_t position = (uint64_t)sender << (COLL_NUMBER_BITS + COLL_STEP_BITS) |
			    (uint64_t)number << COLL_STEP_BITS |
			    (step & ((1u << COLL_STEP_BITS) - 1));

	return coll_tag(COLL_TAG_DATA) | ((position ^ secret) & mask);
}

static inline uint64_t coll_tag_join(
	uint32_t members, uint32_t sender, uint32_t receiver)
{
	const uint32_t mask = (1u << COLL_RANK_BITS) - 1;

	return coll_tag(COLL_TAG_JOIN) | (uint64_t)(members & mask) << 41 |
	       (uint64_t)sender << 21 | (uint64_t)receiver << 1;
}

/* The secret that has @id, XOR @mask, in the bits for it, and else the bits of
 * @random. */
static inline uint64_t coll_secret(uint64_t random, uint32_t id, uint32_t mask)
{
	const uint64_t field = ((UINT64_C(1) << COLL_ID_BITS) - 1) << COLL_ID_SHIFT;

	return (random & ~field) | ((uint64_t)(id ^ mask) << COLL_ID_SHIFT & field);
}

/* The id in @secret, which may be any number. */
static inline uint32_t coll_secret_id(uint64_t secret, uint32_t mask)
{
	return (uint32_t)((secret >> COLL_ID_SHIFT ^ mask) &
			  ((1u << COLL_ID_BITS) - 1));
}

#endif
