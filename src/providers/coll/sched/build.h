/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_SCHED_BUILD_H
#define WF_PROVIDERS_COLL_SCHED_BUILD_H

#include "providers/coll/sched/sched.h"

/*
 * How an algorithm builds a schedule. After an error (no memory) nothing more is added;
 * coll_sched_build returns it.
 *
 * Actions of 0 bytes are left out, at the sender and at the receiver. Only signals,
 * which are messages without data, are always sent.
 */
struct coll_build {
	struct coll_sched *sched;
	const struct coll_args *args;
	const struct coll_leaders *leaders; /* the members; NULL: the group's */
	bool pending;   /* a transfer was started after the last WAIT */
	char *piece[2]; /* for coll_pipeline: data to reduce arrives here */
	int err;
};

/* Members that are numbered by their nodes, see levels.c. */
struct coll_leaders {
	const struct coll_nodes *nodes;
	bool has_root;
	uint32_t root; /* rank, leader of its node; if there is one */
};

uint32_t coll_leader(const struct coll_leaders *leaders, uint32_t node);

/* Get @len bytes of memory for the schedule, and two pieces of @piece_len bytes. Called
 * at most once. False: no memory. */
bool coll_temp(struct coll_build *b, size_t len, size_t piece_len, char **ret_temp);

void coll_send(struct coll_build *b, uint32_t to, const char *src, size_t len);
void coll_recv(struct coll_build *b, uint32_t from, char *dst, size_t len);
void coll_signal(struct coll_build *b, uint32_t to, uint32_t from);
void coll_copy(struct coll_build *b, char *dst, const char *src, size_t len);
void coll_combine(struct coll_build *b, char *dst, const char *first,
	const char *second, size_t len);
void coll_wait(struct coll_build *b);
/* Add operation @i of coll_sched.node, which is @args. */
void coll_node_act(struct coll_build *b, uint32_t i, const struct coll_args *args);

/* The first of the elements of part @i, where @count elements are divided into @parts
 * parts; the first ones are larger by one if they do not divide. @i == @parts: @count.
 */
size_t coll_part(size_t count, uint32_t parts, uint32_t i);

/* Rank of the member that is @distance after @rank (or, by coll_before, before it), in
 * a ring of @members; @distance <= @members. */
static inline uint32_t coll_after(uint32_t rank, uint32_t distance, uint32_t members)
{
	return rank < members - distance ? rank + distance
					 : rank - (members - distance);
}

static inline uint32_t coll_before(uint32_t rank, uint32_t distance, uint32_t members)
{
	return rank >= distance ? rank - distance : rank + (members - distance);
}

/* Of the block of @args: bytes, and address of block @i at @base. */
static inline size_t coll_block_len(const struct coll_args *args)
{
	return args->count * args->size;
}

static inline char *coll_block(const struct coll_args *args, const void *base, size_t i)
{
	return (char *)(uintptr_t)base + i * coll_block_len(args);
}

#endif
