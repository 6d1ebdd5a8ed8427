/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_SEGMENT_H
#define WF_COLL_NODE_SEGMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/coll/node/card.h"

/*
 * The memory of one member, which only that member writes.
 *
 * A member sends data in slots, which are used cyclically. All members count the uses
 * of slots alike: they begin the same operations in the same order, and how many slots
 * an operation uses depends only on what the members have in common. So use number s is
 * in slot s % COLL_SLOTS of every segment, and no value that is read from another
 * member's segment is a position or a length.
 *
 * A slot is a line and a cell. The member writes its data, into the line if they fit in
 * there, and stores s + 1 in @full (release); the readers wait for exactly this number
 * (acquire). Before use s the writer waits until @done of every member is above s -
 * COLL_SLOTS: a member stores there (release) the number of the first use that it may
 * still read, in any segment.
 */
enum {
	COLL_SLOTS = 8,
	COLL_CELL_BYTES = 32 << 10,
	COLL_LINE_BYTES = COLL_NODE_TINY,
	COLL_COPY_SIZES = 4,
	/* Number of kinds times number of sizes. */
	COLL_COPY_CLASSES = 4 * COLL_COPY_SIZES,
};

/* Two cache lines, because processors fetch them in pairs. */
struct coll_line {
	_Alignas(128) _Atomic uint64_t full;
	uint8_t data[COLL_LINE_BYTES];
};

/* The value of @done of a member that has left: it reads nothing more. */
#define COLL_DONE_ALL UINT64_MAX

struct coll_segment {
	/* Written before other members map the segment: the cookie of the card, and the
	 * address of this structure in the member's process. */
	uint64_t cookie, address;
	_Alignas(128) _Atomic uint64_t done;
	/* 1: the member has closed the group, or has failed. It posts nothing more. */
	_Atomic uint64_t left;
	/* 1: this member may read the memory of all others (direct.h). Written between
	 * the exchanges of a join. */
	_Atomic uint64_t may_read;
	/* Used only in the first member's segment: a choice for each class of
	 * operations (copy.h). */
	_Atomic uint64_t choice[COLL_COPY_CLASSES];
	/* Used only in the first member's segment: the settings of the group. Written
	 * between the exchanges of a join. */
	_Atomic uint64_t setting[COLL_NODE_SETTINGS];
	struct coll_line line[COLL_SLOTS];
	_Alignas(4096) uint8_t cell[COLL_SLOTS][COLL_CELL_BYTES];
};

/* Make a segment and a descriptor of it. 0 or a negative errno. */
int coll_segment_new(uint64_t cookie, int *ret_fd, struct coll_segment **ret_segment);

/* Map the segment of the member with @card for reading. 0 or a negative errno; -EINVAL:
 * the segment does not match @card. */
int coll_segment_map(
	const struct coll_card *card, const struct coll_segment **ret_segment);

void coll_segment_unmap(const struct coll_segment *segment);

#endif
