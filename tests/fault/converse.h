/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_CONVERSE_H
#define FAULT_CONVERSE_H

#include "fault.h"

/*
 * Two processes that send each other messages of all sizes, write and read each other's
 * memory and add to it, and look at every byte.
 */

enum { CONVERSE_CAPS = FI_RMA | FI_ATOMIC };

struct partner {
	struct node node;
	fi_addr_t to;
	unsigned int me; /* 0 or 1 */
	struct fid_mr *mr;
};

/* @numbers: of both. */
void partner_open(struct partner *p, unsigned int me, const uint16_t numbers[2]);
/* Everything once. Both have to call it. */
void converse(struct partner *p);
void partner_close(struct partner *p);

/* Fork two processes that converse; @confine is called in each before it opens its
 * endpoint, and may change what is permitted to it. */
void converse_in_two(void (*confine)(unsigned int me));

/* The byte at @at of what number @seed is filled with. */
static inline uint64_t pattern(uint64_t seed, uint64_t at)
{
	return (seed * 0x9e3779b97f4a7c15u + at) * 0xbf58476d1ce4e5b9u;
}

void fill(void *buf, size_t len, uint64_t seed);
/* Every byte as fill made it. */
bool filled(const void *buf, size_t len, uint64_t seed);

#endif
