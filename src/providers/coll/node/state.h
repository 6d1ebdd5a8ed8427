/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_STATE_H
#define WF_COLL_NODE_STATE_H

#include <sys/types.h>

#include "providers/coll/node/segment.h"
#include "providers/coll/reduce.h"
#include "sys/give_way.h"

/* The role of a member in an operation of some kind. */
struct coll_role {
	bool posts;
	bool takes;
	/* Every member takes from every other one; else only the root is at one end of
	 * each transfer. */
	bool all;
	bool combines; /* A result is reduced. */
	bool scatters; /* Each member gets a part of its own of the input. */
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
	uint32_t stride; /* number of slot uses of one chunk */
	uint64_t chunks; /* number of chunks */
	uint64_t uses;   /* number of slot uses of the whole operation */
	uint64_t ahead;  /* number of chunks that may be posted and not taken */
	size_t size;     /* bytes of an element */
	size_t part;     /* bytes that one member has for one other, or for all */
	size_t piece;    /* bytes of a part in one chunk */
	/* Number of parts with different content that are posted together: 1, or the
	 * number of members. */
	uint32_t parts;
	/* This member takes from the members with ranks first to end - 1 except
	 * itself. */
	uint32_t first, end;
	const uint8_t *in; /* the application's input and result */
	uint8_t *out;
	coll_reduce_fn *reduce;
	bool streams;   /* Results are stored past the caches. */
	bool is_direct; /* The operation is direct (direct.h), and has no chunks. */
	bool is_tree;   /* It goes through the tree (tree.h), and has no chunks. */
	bool has_up, has_down; /* The operation has these parts of tree.h. */
	/* Class of the operation, by which copy.h chooses; -1: copy.h does not. */
	int copy_class;
	enum fi_collective_op kind;
	uint32_t root; /* rank of the root */
};

/* Position of a step: its chunk, and the first member whose slot is not full yet. */
struct coll_cursor {
	uint64_t chunk;
	uint32_t seen;
};

/* Position of a direct operation. */
struct coll_direct {
	int step;              /* enum coll_direct_step */
	uint32_t seen;         /* as in struct coll_cursor */
	uint32_t members_done; /* number of members that the step has finished */
	/* Number of bytes of the next member that the step has finished. */
	size_t at;
};

/* The tree of a group, by the virtual ranks of its members (tree.c). All 0: the group
 * has no tree. */
struct coll_tree {
	uint32_t degree; /* greatest number of children of a member */
	bool is_auto;    /* Only operations that it makes faster go through the tree. */
	uint16_t *parent; /* by virtual rank: the parent's virtual rank */
	/* By virtual rank: 1 more than the greatest virtual rank among the descendants,
	 * or than its own if there are none. */
	uint16_t *end;
};

/* Position of an operation that goes through the tree. */
struct coll_climb {
	int step;       /* enum step of tree.c */
	uint32_t vrank; /* virtual rank of this member */
	uint32_t child; /* virtual rank of the first child that has not posted yet */
};

/* The first member measures some operations with the current method, then some with the
 * other, and then uses the better one for a while. */
enum coll_copy_phase { COLL_COPY_FIRST, COLL_COPY_OTHER, COLL_COPY_SETTLED };

struct coll_copy_sample {
	enum coll_copy_phase phase;
	enum coll_copy now; /* method of the operations in this phase */
	uint32_t count;     /* number of operations in this phase */
	uint64_t best[2];   /* by enum coll_copy: nanoseconds for a KiB of a part */
	bool is_reported;   /* A choice was reported, at last the one in @reported. */
	enum coll_copy reported;
};

struct coll_node {
	/* Negative fi_errno of the group, which every call returns from then on. */
	int err;
	bool busy;           /* An operation is between coll_node_start and its end. */
	bool oversubscribed; /* There are more members than processors. */
	/* Number of yields inside one call, if oversubscribed; see coll_call_yields. */
	unsigned int call_yields;
	/* The fast path has posted the data of the operation that is about to begin. */
	bool is_posted;
	uint32_t rank, members;
	uint64_t base;  /* first slot use of the operation */
	uint64_t next;  /* first slot use of the next operation */
	uint64_t floor; /* smallest @done of all members when they were last read */
	struct coll_segment *own;
	const struct coll_segment **segment; /* segment of each member */
	uint64_t posted;                     /* number of chunks posted */
	struct coll_cursor share, take;      /* positions of these steps */
	struct coll_plan plan;               /* of the operation, or of the last one */
	struct coll_direct direct;
	size_t setting[COLL_NODE_SETTINGS]; /* the settings of the group */
	/* Size from which on parts are stored around the caches. */
	size_t stream_part;
	struct coll_tree tree;
	struct coll_climb climb;
	bool may_read; /* All members may read the memory of all others. */
	/* Memory for direct operations; grows; NULL until it is needed. */
	uint8_t *scratch;
	size_t scratch_size;
	enum coll_copy copy; /* the method that a parameter forces, or COLL_COPY_AUTO */
	struct coll_copy_sample sample[COLL_COPY_CLASSES]; /* by class; member 0 only */
	/* Time (wf_now_ns) when the operation began; 0: it is not measured. */
	uint64_t started_ns;
	coll_node_tell_fn *tell; /* NULL: choices are not reported */
	void *tell_arg;

	/* State of waiting. */
	struct wf_patience patience;
	unsigned int moves;  /* counts progress, for wf_give_way */
	unsigned int yields; /* yields since then */
	/* Time of the next check whether members are gone (wf_coarse_ns); 0: not
	 * set. */
	uint64_t check_ns;
	struct coll_card *card; /* card of each member */
	bool *gone;             /* for each member: it left, or died */

	int fd; /* descriptor of the own segment; -1: closed */
	pid_t pid;
};

/* plan.c: the roles by kind, [0] of the root and [1] of the others. */
extern const struct coll_role coll_roles[][2];

/* settings.c: publish the settings of this process, before the members settle. */
void coll_settings_publish(struct coll_node *node);
/* settings.c: all members have published: read the settings of the group. */
void coll_settings_read(struct coll_node *node);

/* plan.c: plan the operation @args, which coll_node_can permits, at this member. */
void coll_plan(struct coll_node *node, const struct coll_args *args);

/* progress.c: is slot use @use free? It is if all members have read the previous use of
 * the slot. */
bool coll_is_free(struct coll_node *node, uint64_t use);
/* progress.c: are the slots of use @use full at all members [*seen, end) but this one?
 * Members whose slots are full are skipped the next time. */
bool coll_all_full(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use);

/* data.c: length of the share of member @rank of @len bytes; *@ret_at: its offset. */
size_t coll_share_of(
	const struct coll_node *node, uint32_t rank, size_t len, size_t *ret_at);

/* data.c: where the @len bytes of slot use @use are; a copy. */
const uint8_t *coll_data_of(
	const struct coll_segment *segment, uint64_t use, size_t len);
uint8_t *coll_own_data(struct coll_node *node, uint64_t use, size_t len);
void coll_copy_data(void *to, const void *from, size_t len);

/* data.c: copy to the result of an operation. */
void coll_copy_result(
	const struct coll_plan *plan, void *to, const void *from, size_t len);

/* data.c: the steps of one chunk; the slots that they read are full and the slots that
 * they write are free. */
void coll_post(struct coll_node *node, uint64_t chunk);
void coll_share(struct coll_node *node, uint64_t chunk);
void coll_take(struct coll_node *node, uint64_t chunk);

/* wait.c: called after a poll that found nothing. Returns 0, or the error that ends the
 * operation. */
int coll_node_wait(struct coll_node *node);

/* wait.c: the number of times that it helps to yield inside one call. 0 if this process
 * has other members, because the calling thread may have to run them. */
unsigned int coll_call_yields(const struct coll_node *node);

/* wait.c: if members share processors, yield a few times, until the slots of use @use
 * are full as for coll_all_full. False: they are not. */
bool coll_yield_until_full(
	const struct coll_node *node, uint32_t *seen, uint32_t end, uint64_t use);

/* wait.c: end the operation and the group with the negative fi_errno @err. Returns
 * @err. */
int coll_fail(struct coll_node *node, int err);

/* wait.c: report to the other members that this member posts and reads nothing more. */
void coll_leave(struct coll_node *node);

/* Do barriers, and allreduces of data that fit into a line, go through a tree? */
static inline bool coll_has_tiny_tree(const struct coll_node *node)
{
	return node->tree.degree && !node->tree.is_auto;
}

/* Called after a poll that found something. */
static inline void coll_wait_ends(struct coll_node *node)
{
	node->moves++;
	node->check_ns = 0;
}

/* Has a member with this value of @done read the previous contents of the slot of use
 * @use? */
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
	/* Pairs with coll_publish: the data are in the slot. */
	return atomic_load_explicit(&segment->line[use % COLL_SLOTS].full,
		       memory_order_acquire) == use + 1;
}

static inline void coll_publish(struct coll_node *node, uint64_t use)
{
	/* Pairs with coll_is_full. */
	atomic_store_explicit(
		&node->own->line[use % COLL_SLOTS].full, use + 1, memory_order_release);
}

/* Prefetch the line of the next post while the application does something else: the
 * other members have read its contents, so their processors have copies of it. */
static inline void coll_prefetch_next(const struct coll_node *node)
{
	wf_prefetch_write(&node->own->line[node->next % COLL_SLOTS]);
}

/* Report that this member reads from others only from slot use @use on. */
static inline void coll_set_done(struct coll_node *node, uint64_t use)
{
	/* Pairs with coll_is_free of the others: a release store is ordered after the
	 * loads before it. */
	atomic_store_explicit(&node->own->done, use, memory_order_release);
}

#endif
