/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_TAG_H
#define WF_PROVIDERS_COLL_TAG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Tags of the peer transfers between members. A receive matches every bit of its tag,
 * and any source: the sender's rank is part of the tag.
 *
 *             63   62-61       60-47        46-27         26-11      10-1   0
 *   data      1    kind     receiver's   sender's rank  operation    step   0
 *                            group id
 *   join      1    kind     60-41 members   40-21 sender's rank
 *                           20-1 receiver's rank        0: second exchange
 *   control   1    kind     all others 0
 *
 * A group id is a number of the receiver, from the record that it sent when the group
 * was joined. Operation numbers begin with a random value in each group, so that a late
 * message of an earlier group with the same id matches no receive.
 */
enum coll_tag_kind { COLL_TAG_DATA, COLL_TAG_JOIN, COLL_TAG_CONTROL };

enum {
	COLL_ID_BITS = 14,
	COLL_RANK_BITS = 20,
	COLL_NUMBER_BITS = 16,
	COLL_STEP_BITS = 10,
};

#define COLL_TAG_PEER (UINT64_C(1) << 63)

static inline uint64_t coll_tag(enum coll_tag_kind kind)
{
	return COLL_TAG_PEER | (uint64_t)kind << 61;
}

static inline uint64_t coll_tag_data(
	uint32_t id, uint32_t sender, uint16_t number, uint32_t step)
{
	return coll_tag(COLL_TAG_DATA) | (uint64_t)id << 47 | (uint64_t)sender << 27 |
	       (uint64_t)number << 11 |
	       (uint64_t)(step & ((1u << COLL_STEP_BITS) - 1)) << 1;
}

static inline uint64_t coll_tag_join(
	uint32_t members, uint32_t sender, uint32_t receiver, bool second)
{
	const uint32_t mask = (1u << COLL_RANK_BITS) - 1;

	return coll_tag(COLL_TAG_JOIN) | (uint64_t)(members & mask) << 41 |
	       (uint64_t)sender << 21 | (uint64_t)receiver << 1 | second;
}

#endif
