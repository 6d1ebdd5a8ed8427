/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_DATA_SLOTS_H
#define WF_TCP_DATA_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * An array of pointers that grows up to the largest index used. All zero: empty. The
 * caller checks indices that come from the wire.
 */
struct tcp_slots {
	void **at;
	unsigned int capacity;
};

static inline void *tcp_slot(const struct tcp_slots *s, unsigned int i)
{
	return i < s->capacity ? s->at[i] : NULL;
}

static inline bool tcp_slots_grow(struct tcp_slots *s, unsigned int i)
{
	unsigned int capacity = s->capacity ? s->capacity : 16;
	void **at;

	while (capacity <= i)
		capacity *= 2;
	at = realloc(s->at, capacity * sizeof(*at));
	if (!at)
		return false;
	memset(at + s->capacity, 0, (capacity - s->capacity) * sizeof(*at));
	s->at = at;
	s->capacity = capacity;
	return true;
}

/* Set entry @i to @what. False: no memory. */
static inline bool tcp_slot_set(struct tcp_slots *s, unsigned int i, void *what)
{
	if (i >= s->capacity && !tcp_slots_grow(s, i))
		return false;
	s->at[i] = what;
	return true;
}

/* Frees the array, not the objects. */
static inline void tcp_slots_free(struct tcp_slots *s)
{
	free(s->at);
	*s = (struct tcp_slots){ 0 };
}

#endif
