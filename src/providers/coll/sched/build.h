/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_BUILD_H
#define WF_COLL_SCHED_BUILD_H

#include "providers/coll/sched/sched.h"

/*
 * How an algorithm builds a schedule. After an error (no memory) no more actions are
 * added; coll_sched_build returns the error.
 *
 * Actions of 0 bytes are omitted, at the sender and at the receiver. Only signals,
 * which are messages without data, are always sent.
 */
struct coll_build {
	struct coll_sched *sched;
	const struct coll_args *args;
	/* The members of the operation; NULL: those of the group. */
	const struct coll_leaders *leaders;
	bool pending; /* A transfer was started after the last WAIT. */
	/* Memory for coll_pipeline: data to reduce are received into it. */
	char *piece[2];
	int err;
};

/* The leaders of the nodes as members, numbered by their nodes; see levels.c. */
struct coll_leaders {
	const struct coll_nodes *nodes;
	bool has_root;
	/* If has_root: rank of the root, which is the leader of its node. */
	uint32_t root;
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
/* Add operation @i of coll_sched.node, which is set to @args. */
void coll_node_act(struct coll_build *b, uint32_t i, const struct coll_args *args);

/* Index of the first element of part @i, if @count elements are divided into @parts
 * parts. If they do not divide equally, the first parts have one element more. @i ==
 * @parts: returns @count. */
size_t coll_part(size_t count, uint32_t parts, uint32_t i);

/* Rank of the member that is @distance ranks after @rank (coll_before: before it), in a
 * ring of @members; @distance <= @members. */
static inline uint32_t coll_after(uint32_t rank, uint32_t distance, uint32_t members)
{
	return rank < members - distance ? rank + distance
					 : rank - (members - distance);
}

static inline uint32_t coll_before(uint32_t rank, uint32_t distance, uint32_t members)
{
	return rank >= distance ? rank - distance : rank + (members - distance);
}

/* Length in bytes of a block of @args, and address of block @i at @base. */
static inline size_t coll_block_len(const struct coll_args *args)
{
	return args->count * args->size;
}

static inline char *coll_block(const struct coll_args *args, const void *base, size_t i)
{
	return (char *)(uintptr_t)base + i * coll_block_len(args);
}

#endif
