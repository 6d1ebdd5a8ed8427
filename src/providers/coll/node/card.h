/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_CARD_H
#define WF_COLL_NODE_CARD_H

#include "providers/coll/node/node.h"

/*
 * The contents of a card. The processes run on one machine, so numbers are in its byte
 * order.
 */
struct coll_card {
	uint32_t layout; /* COLL_CARD_LAYOUT */
	uint32_t uid;    /* effective user */
	uint8_t boot_id[16];
	uint64_t pid_ns;   /* inode of the pid namespace in which @pid is valid */
	uint64_t started;  /* start time of the process, in clock ticks since boot */
	uint64_t cookie;   /* random number; also at the start of the segment */
	uint32_t cpu_hash; /* hash of the set of processors that the process may use */
	uint32_t pid;
	int32_t fd;     /* descriptor of the segment, in the process @pid */
	uint16_t cpus;  /* number of processors in that set */
	uint16_t spare; /* always 0 */
};

_Static_assert(sizeof(struct coll_card) == sizeof(struct coll_node_card), "");

/* Changes with every change of a card, a segment or the way it is used: members of
 * different versions share no memory. */
#define COLL_CARD_LAYOUT UINT32_C(0x77430004)

static inline struct coll_card coll_card_get(const struct coll_node_card *card)
{
	struct coll_card ret;

	__builtin_memcpy(&ret, card, sizeof(ret));
	return ret;
}

/* Fill all fields but the cookie and the descriptor. 0 or a negative errno. */
int coll_card_fill(struct coll_card *card);

enum coll_alive { COLL_ALIVE, COLL_DEAD };

/* The state of the process that wrote @card. A process that has ended but has not been
 * waited for is dead; one whose state cannot be read because descriptors or memory are
 * short is alive. */
enum coll_alive coll_card_alive(const struct coll_card *card);

#endif
