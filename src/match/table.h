/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TABLE_H
#define WF_MATCH_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/list.h"

#define WF_MATCH_FEW 8

/*
 * One thing filed under (tag, addr). Things of one key form a ring in the order in
 * which they were added; only the first of a ring stands in a bucket, so that many
 * things of one key never lengthen the way to another key.
 */
struct wf_match_node {
	struct wf_list ring;
	/* Bucket chain of the first of each ring; &wf_match_behind in the others. */
	struct wf_match_node *next;
	uint64_t tag, addr;
};

extern struct wf_match_node wf_match_behind;

/*
 * Hash table that compares tags without the bits of @ignore, and sources unless @any
 * says that they do not count: 0, or all bits. Its growth and shrinking are spread over
 * later calls: while @old is set, the rings of its buckets below @moved are in @buckets
 * already. Memory that cannot be had makes it slower, never wrong. Never copied: it
 * points into itself.
 */
struct wf_match_table {
	struct wf_match_node **buckets, **old;
	uint32_t mask, old_mask, moved;
	uint32_t keys;               /* rings, which is what fills buckets */
	uint32_t grow_at, shrink_at; /* act above, below that many keys */
	uint64_t ignore, any;
	struct wf_match_node *few[WF_MATCH_FEW];
};

/* A table of things with a source, or where @directed is false, of whatever source. */
void wf_match_table_init(struct wf_match_table *t, uint64_t ignore, bool directed);

/* Forgets what is in it; the table is as after init. */
void wf_match_table_done(struct wf_match_table *t);

#endif
