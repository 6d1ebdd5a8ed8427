/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_PAGE_H
#define WF_OBJECTS_LOCAL_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WF_PROOF_NAME = 128 }; /* length of the name of an endpoint, with its NUL */

/*
 * The page of one end of a connection: memory that this end writes and the process at
 * the other end maps for reading, as long as both have to agree on the transport for
 * operations (docs/design/local.md). An answer in a page does not depend on an open
 * socket.
 *
 * A peer may be hostile: any word of its page may have any value, and change at any
 * time. Each function below loads a word once.
 */

/* Complete before the card is sent that leads to the page. */
struct wf_page_head {
	/* Number of the page, for one connection; random, more than WF_PAGE_REFUSED. */
	uint64_t number;
	uint64_t instance;
	/* The directory of shared memory in the process. */
	uint64_t dir_device, dir_inode;
	/* Name of the endpoint below; empty: there is none. */
	char name[WF_PROOF_NAME];
};

struct wf_page {
	struct wf_page_head head;
	/* Answer to the peer's card: the number of the peer's page, or
	 * WF_PAGE_REFUSED; 0: none yet. */
	_Alignas(64) _Atomic uint64_t proof;
	/* Number of markers so far, or WF_PAGE_OVER. */
	_Atomic uint64_t marker;
	/* Bytes of the stream of records before the marker. */
	_Atomic uint64_t at;
	/* Twice the number of the peer's marker that is answered; plus 1 if the answer
	 * is yes. */
	_Atomic uint64_t answer;
};

#define WF_PAGE_REFUSED UINT64_C(1)
/* The owner's direction has its final transport: no marker follows. */
#define WF_PAGE_OVER UINT64_MAX

static inline void wf_page_prove(struct wf_page *own, uint64_t number)
{
	/* relaxed: the number does not order other memory. */
	atomic_store_explicit(&own->proof, number, memory_order_relaxed);
}

static inline uint64_t wf_page_proof(const struct wf_page *peer)
{
	return atomic_load_explicit(&peer->proof, memory_order_relaxed);
}

static inline void wf_page_mark(struct wf_page *own, uint64_t marker, uint64_t at)
{
	atomic_store_explicit(&own->at, at, memory_order_relaxed);
	/* M1: release, pairs with M2. @at is stored before its marker. */
	atomic_store_explicit(&own->marker, marker, memory_order_release);
}

/* *@ret_at may already be that of the next marker, which is greater. */
static inline uint64_t wf_page_marker(const struct wf_page *peer, uint64_t *ret_at)
{
	/* M2: acquire, pairs with M1. */
	uint64_t marker = atomic_load_explicit(&peer->marker, memory_order_acquire);

	*ret_at = atomic_load_explicit(&peer->at, memory_order_relaxed);
	return marker;
}

static inline void wf_page_answer(struct wf_page *own, uint64_t marker, bool yes)
{
	/* A1: release, pairs with A2. The bytes before the marker are received, and the
	 * sender is known below, before operations arrive through memory. */
	atomic_store_explicit(&own->answer, 2 * marker + yes, memory_order_release);
}

/* Has @peer answered the marker with the number @marker? */
static inline bool wf_page_answers(
	const struct wf_page *peer, uint64_t marker, bool *ret_yes)
{
	/* A2: acquire, pairs with A1. */
	uint64_t answer = atomic_load_explicit(&peer->answer, memory_order_acquire);

	*ret_yes = answer & 1;
	return answer >> 1 == marker;
}

#endif
