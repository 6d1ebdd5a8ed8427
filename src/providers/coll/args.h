/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_ARGS_H
#define WF_COLL_ARGS_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>

/*
 * The arguments of one collective call, checked, at one member of a group of @members.
 *
 * @count is that of the call (fi_collective(3)): the number of elements that one member
 * contributes to, or gets from, one other member. So with n members the buffers have,
 * in elements:
 *
 *                        @buf          @result
 *   barrier              -             -
 *   broadcast            count         the same memory as @buf
 *   scatter              n * count     count         (buf at the root only)
 *   gather, allgather    count         n * count     (gather: result at the root only)
 *   alltoall             n * count     n * count
 *   reduce, allreduce    count         count         (reduce: result at the root only)
 *   reduce_scatter       n * count     count
 *
 * In place: @buf == @result in allreduce, reduce (root), allgather (the member's part
 * of
 * @result is its input then), gather (root, likewise), alltoall, reduce_scatter (the
 * result is at the start). Any other overlap is the caller's error.
 */
struct coll_args {
	enum fi_collective_op kind;
	enum fi_datatype datatype;
	enum fi_op op;   /* operation of a reduction */
	size_t count;    /* number of elements */
	size_t size;     /* size of one element in bytes */
	const void *buf; /* NULL if the member has none */
	void *result;
	uint32_t root; /* rank of the root */
	uint32_t rank; /* rank of this member */
	uint32_t members;
};

#endif
