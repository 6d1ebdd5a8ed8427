/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FAULT_CONVERSE_H
#define TESTS_FAULT_CONVERSE_H

#include "fault.h"

/*
 * Two processes that send each other messages of all sizes, access each other's memory
 * by writes, reads and atomic additions, and check every byte.
 */

enum { CONVERSE_CAPS = FI_RMA | FI_ATOMIC };

struct partner {
	struct node node;
	fi_addr_t to;
	unsigned int me; /* this process: 0 or 1 */
	struct fid_mr *mr;
};

/* @numbers: of both processes. */
void partner_open(struct partner *p, unsigned int me, const uint16_t numbers[2]);
/* Do each kind of operation once. Both processes have to call it. */
void converse(struct partner *p);
void partner_close(struct partner *p);

/* Fork two processes that call converse. Each one calls @confine before it opens its
 * endpoint, to restrict itself. */
void converse_in_two(void (*confine)(unsigned int me));

/* The value at offset @at of memory that is filled with @seed. */
static inline uint64_t pattern(uint64_t seed, uint64_t at)
{
	return (seed * 0x9e3779b97f4a7c15u + at) * 0xbf58476d1ce4e5b9u;
}

void fill(void *buf, size_t len, uint64_t seed);
/* Does the memory have the values that fill wrote? */
bool filled(const void *buf, size_t len, uint64_t seed);

#endif
