/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_STATE_H
#define WF_PROVIDERS_COLL_NODE_STATE_H

#include <sys/types.h>

#include "providers/coll/node/segment.h"
#include "providers/coll/reduce.h"
#include "sys/give_way.h"

/* What a member does in an operation of some kind. */
struct coll_role {
	bool posts;
	bool takes;
	bool all; /* Every member takes from every other; else the root has a part. */
	bool combines; /* A result is reduced. */
	bool scatters; /* Each member gets a part of its own. */
	bool gathers;  /* The result has a part from each member. */
	bool own;      /* The result contains a part of this member's input. */
};

/*
 * An operation is a sequence of chunks, and each chunk goes through up to three steps
 * at each member:
 *
 *   post    write this member's data of the chunk into its slot
 *   share   of a large reduction: reduce a share of the chunk from the slots of all
 *           members, and write the result into the next slot
 *   take    read the slots of the sources: copy or reduce from there to the result
 *
 * Each step has its own position, so that chunks are in different steps at one time.
 */
struct coll_plan {
	struct coll_role role;
	bool shares;     /* All members share the reduction: three steps. */
	bool is_joint;   /* This member takes from all others. */
	uint32_t stride; /* slots for one chunk */
	uint64_t chunks;
	uint64_t uses;  /* slots for all of it */
	uint64_t ahead; /* chunks that may be posted and not taken */
	size_t size;    /* bytes of an element */
	size_t part;    /* bytes that one member has for one other, or for all */
	size_t piece;   /* bytes of a part in one chunk */
	uint32_t
		parts; /* of different content that are posted together: 1 or members */
	/* Ranks of the members that are taken from, but for this one. */
	uint32_t first, end;
	const uint8_t *in;
	uint8_t *out;
	coll_reduce_fn *reduce;
	bool is_direct; /* direct.h; then there are no chunks */
	int copy_class; /* of data so large that copy.h chooses; -1: of others */
	enum fi_collective_op kind;
	uint32_t root;
};

/* Where a step is: its chunk, and the first member whose slot is not full yet. */
struct coll_cursor {
	uint64_t chunk;
	uint32_t seen;
};

/* Where a direct operation is. */
struct coll_direct {
	int step;
	uint32_t seen; /* as in struct coll_cursor */
	uint32_t turn; /* members that the step is done with */
	size_t at;     /* bytes of the next member that it is done with */
};

/* The first member measures some operations with the way in use, then some with the
 * other, and then has the better one for a while. */
enum coll_copy_phase { COLL_COPY_FIRST, COLL_COPY_OTHER, COLL_COPY_SETTLED };

struct coll_copy_sample {
	enum coll_copy_phase phase;
	enum coll_copy now;
	uint32_t count;   /* operations of this phase */
	uint64_t best[2]; /* by enum coll_copy: ns for a KiB of a part */
	bool is_told;     /* a choice was told; the last one: */
	enum coll_copy told;
};

struct coll_node {
	int err;            /* of the group, which it answers from then on */
	bool busy;          /* between coll_node_start and the end of the operation */
	bool crowded;       /* more members than processors */
	unsigned int turns; /* yields inside a call, if crowded; see coll_turns */
	/* The fast path has posted the data of the operation that is about to begin. */
	bool is_posted;
	uint32_t rank, members;
	uint64_t base;  /* first slot use of the operation */
	uint64_t next;  /* first slot use of the next operation */
	uint64_t floor; /* @done of every member is at least this */
	struct coll_segment *own;
	const struct coll_segment **segment; /* of each member */
	uint64_t posted;                     /* chunks */
	struct coll_cursor share, take;
	struct coll_plan plan;
	struct coll_direct direct;
	bool may_read;    /* All members may read the memory of all others. */
	uint8_t *scratch; /* for direct operations; grows, NULL until it is needed */
	size_t scratch_size;
	enum coll_copy copy;
	struct coll_copy_sample sample[COLL_COPY_CLASSES];
	uint64_t started_ns;     /* when the operation began; 0: not measured */
	coll_node_tell_fn *tell; /* NULL: choices are not told */
	void *tell_arg;

	/* For waits. */
	struct wf_patience patience;
	unsigned int moves;  /* counts progress, for wf_give_way */
	unsigned int yields; /* since then */
	/* When to check whether members are gone (wf_coarse_ns); 0: not set. */
	uint64_t check_ns;
	struct coll_card *card; /* of each member */
	bool *gone;             /* of each member: it left, or died */

	int fd; /* of the own segment; -1: closed */
	pid_t pid;
};

/* plan.c: the roles by kind, [0] of the root and [1] of the others. */
extern const struct coll_role coll_roles[][2];

/* plan.c: what the operation @args, which coll_node_can allows, does at this member. */
void coll_plan(struct coll_node *node, const struct coll_args *args);

/* progress.c: is slot use @use free? All members have read what was there. */
bool coll_is_free(struct coll_node *node, uint64_t use);
/* progress.c: are the slots of use @use full at all members [*seen, end) but this one?
 * Those that are, are skipped the next time. */
bool coll_all_full(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use);

/* data.c: the share of member @rank of @len bytes, and where it begins. */
size_t coll_share_of(
	const struct coll_node *node, uint32_t rank, size_t len, size_t *ret_at);

/* data.c: the steps of one chunk; the slots that they read are full and the slots that
 * they write are free. */
void coll_post(struct coll_node *node, uint64_t chunk);
void coll_share(struct coll_node *node, uint64_t chunk);
void coll_take(struct coll_node *node, uint64_t chunk);

/* wait.c: after a poll that found nothing. 0, or the error that ends the operation. */
int coll_node_wait(struct coll_node *node);

/* wait.c: the yields that help inside a call. None where this process has other
 * members: the calling thread may be the one that runs them. */
unsigned int coll_turns(const struct coll_node *node);

/* wait.c: members share processors: yield a few times, until the slots of use @use are
 * full as coll_all_full says. False: they are not. */
bool coll_await_turns(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use);

/* wait.c: end the operation and the group by @err. Returns it. */
int coll_fail(struct coll_node *node, int err);

/* wait.c: tell the others that this member posts and reads nothing more. */
void coll_leave(struct coll_node *node);

/* After a poll that found something. */
static inline void coll_wait_ends(struct coll_node *node)
{
	node->moves++;
	node->check_ns = 0;
}

/* Has a member with this value of @done read what was in the slot of use @use? */
static inline bool coll_is_past(uint64_t done, uint64_t use)
{
	return done >= use || use - done < COLL_SLOTS;
}

/* The first slot use of @chunk. */
static inline uint64_t coll_use(const struct coll_node *node, uint64_t chunk)
{
	return node->base + chunk * node->plan.stride;
}

static inline bool coll_is_full(const struct coll_segment *segment, uint64_t use)
{
	/* Pairs with coll_publish: the data are there. */
	return atomic_load_explicit(&segment->line[use % COLL_SLOTS].full,
		       memory_order_acquire) == use + 1;
}

static inline void coll_publish(struct coll_node *node, uint64_t use)
{
	/* Pairs with coll_is_full. */
	atomic_store_explicit(
		&node->own->line[use % COLL_SLOTS].full, use + 1, memory_order_release);
}

/* The line of the next post comes while the application does something else: the others
 * have read what was in it, so their processors have copies of it. */
static inline void coll_prefetch_next(const struct coll_node *node)
{
	wf_prefetch_write(&node->own->line[node->next % COLL_SLOTS]);
}

/* Say that no other member is read from before slot use @use. */
static inline void coll_set_done(struct coll_node *node, uint64_t use)
{
	/* Pairs with coll_is_free of the others: a release store is ordered after the
	 * loads before it. */
	atomic_store_explicit(&node->own->done, use, memory_order_release);
}

#endif
