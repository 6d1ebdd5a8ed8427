/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_PAGE_H
#define TCP_LOCAL_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TCP_PROOF_NAME = 128 }; /* bytes of a name of an endpoint, with its NUL */

/*
 * The page of one end of a connection: memory that this end writes and the process at
 * the other end maps for reading, so long as the two have to agree about the way of
 * operations (docs/tcp-local.md). An answer that stands here meets no closed socket.
 *
 * A peer may be hostile: any word of its page may have any value, and another one at
 * the next look. Each function below reads a word once.
 */

/* Whole before the card is sent that leads to the page. */
struct tcp_page_head {
	uint64_t number; /* random, more than TCP_PAGE_REFUSED; for one connection */
	uint64_t instance;
	/* The directory of shared memory that the process sees. */
	uint64_t dir_device, dir_inode;
	/* Of the endpoint in shared memory; empty: it has none. */
	char name[TCP_PROOF_NAME];
};

struct tcp_page {
	struct tcp_page_head head;
	/* The answer to the peer's card: the number of the peer's page, or
	 * TCP_PAGE_REFUSED; 0: none yet. */
	_Alignas(64) _Atomic uint64_t proof;
	/* Number of markers, or TCP_PAGE_OVER. */
	_Atomic uint64_t marker;
	/* Bytes of the stream of records before the marker. */
	_Atomic uint64_t at;
	/* Twice the number of the peer's marker that is answered, plus 1: yes. */
	_Atomic uint64_t answer;
};

#define TCP_PAGE_REFUSED UINT64_C(1)
/* The owner's direction has its way for good: no marker follows. */
#define TCP_PAGE_OVER UINT64_MAX

static inline void tcp_page_prove(struct tcp_page *own, uint64_t number)
{
	/* relaxed: the number says nothing of other memory. */
	atomic_store_explicit(&own->proof, number, memory_order_relaxed);
}

static inline uint64_t tcp_page_proof(const struct tcp_page *peer)
{
	return atomic_load_explicit(&peer->proof, memory_order_relaxed);
}

static inline void tcp_page_mark(struct tcp_page *own, uint64_t marker, uint64_t at)
{
	atomic_store_explicit(&own->at, at, memory_order_relaxed);
	/* M1: release, pairs with M2. @at is there before its marker. */
	atomic_store_explicit(&own->marker, marker, memory_order_release);
}

/* The position may be that of the next marker, which is further on. */
static inline uint64_t tcp_page_marker(const struct tcp_page *peer, uint64_t *ret_at)
{
	/* M2: acquire, pairs with M1. */
	uint64_t marker = atomic_load_explicit(&peer->marker, memory_order_acquire);

	*ret_at = atomic_load_explicit(&peer->at, memory_order_relaxed);
	return marker;
}

static inline void tcp_page_answer(struct tcp_page *own, uint64_t marker, bool yes)
{
	/* A1: release, pairs with A2. What came before the marker is received, and its
	 * sender known below, before operations come by memory. */
	atomic_store_explicit(&own->answer, 2 * marker + yes, memory_order_release);
}

/* Does @peer answer this @marker? */
static inline bool tcp_page_answers(
	const struct tcp_page *peer, uint64_t marker, bool *ret_yes)
{
	/* A2: acquire, pairs with A1. */
	uint64_t answer = atomic_load_explicit(&peer->answer, memory_order_acquire);

	*ret_yes = answer & 1;
	return answer >> 1 == marker;
}

#endif
