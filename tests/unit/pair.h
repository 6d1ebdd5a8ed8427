/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_PAIR_H
#define TESTS_UNIT_PAIR_H

/* Definitions that the fixtures of an endpoint and a peer played by the test have in
 * common for all transports. See conn_fixture.h in the folders of the providers. */
#include <stddef.h>
#include <stdint.h>

enum { PAIR_ENDED_MAX = 2048 };

struct ended {
	void *context;
	int err; /* positive fi_errno; 0: success */
	uint64_t flags, data;
	size_t len;
};

/* Values that differ from those of neighbouring bytes. */
static inline uint8_t fill_byte(unsigned int seed, size_t at)
{
	return (uint8_t)(seed * 53 + at * 7 + at / 31);
}

static inline void fill(uint8_t *to, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		to[i] = fill_byte(seed, i);
}

#endif
