/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_PROOF_H
#define WF_OBJECTS_LOCAL_PROOF_H

#include <stdint.h>

#include "objects/local/page.h"

/*
 * Proof that the other end of a connection is a process of this machine and user that
 * reaches the same shared memory (docs/design/local.md).
 *
 * Each end stores a random number in memory without a name, its page, and sends a card,
 * which contains the location of the page. Only a process that can read the page can
 * write the number into its own page, which is examined in the same manner. A number is
 * for one connection, so that a recorded number proves nothing. Addresses and host
 * names are not used. No lock; one thread at a time for each proof.
 */
enum { WF_PROOF_CARD = 40 }; /* length of a card in bytes */

struct wf_proof {
	int fd; /* descriptor of the page; -1: none, or not needed any more */
	struct wf_page *own;        /* own page; NULL: no memory */
	const struct wf_page *peer; /* mapped page of the peer; NULL: not reached */
	uint64_t number;            /* number in the own page */
};

/* Why a peer cannot be reached through shared memory. */
enum wf_unreached {
	WF_UNREACHED_NOT,     /* it can be reached */
	WF_UNREACHED_VERSION, /* another version, or the peer could not make a proof */
	WF_UNREACHED_MACHINE,
	WF_UNREACHED_NAMESPACE, /* the peer is in another process namespace */
	WF_UNREACHED_USER,
	WF_UNREACHED_UNREADABLE,
	/* the memory is not that of the connection's other end */
	WF_UNREACHED_STRANGER,
	WF_UNREACHED_DIRECTORY, /* the peer has another directory of shared memory */
	WF_UNREACHED_NAME,      /* the peer's endpoint below has an invalid name */
	/* Memory failed before, for this instance of the peer; or it has a connection
	 * at another of its addresses. */
	WF_UNREACHED_FAILED,
	WF_UNREACHED_REFUSED, /* the peer refuses */
	WF_UNREACHED_COUNT,
};

/* Make the page and the card of the endpoint with the instance @instance and the name
 * @name in shared memory, which the peer gets; NULL or too long: no name. 0 or a
 * negative errno; then @ret has no memory, and every peer refuses the card. */
int wf_proof_make(struct wf_proof *ret, uint64_t instance, const char *name,
	uint8_t ret_card[WF_PROOF_CARD]);

/* Can this process make a proof? 0, or a negative errno: *ret_want is a text for what
 * the process lacks. Any thread. */
int wf_proof_possible(const char **ret_want);

/* Examine the card of a peer with the instance @instance, and answer it in the own
 * page. If the peer can be reached, @proof has its page, and @ret_name its name in
 * shared memory, which may be empty. The card may come from any program. */
enum wf_unreached wf_proof_read(struct wf_proof *proof,
	const uint8_t card[WF_PROOF_CARD], uint64_t instance,
	char ret_name[WF_PROOF_NAME]);

enum wf_verdict {
	WF_VERDICT_NONE, /* no answer yet */
	WF_VERDICT_PROOF,
	WF_VERDICT_REFUSAL,
	WF_VERDICT_WRONG, /* a number that is not the one in the own page */
};

/* The peer's answer to the own card; the peer can be reached. */
enum wf_verdict wf_proof_verdict(const struct wf_proof *proof);

/* The peer has mapped the page, or never will: no other process can map it from now
 * on. */
void wf_proof_hide(struct wf_proof *proof);
/* Free the memory. No-op if there is none. */
void wf_proof_done(struct wf_proof *proof);

/* Text for a log line, such as "another user". */
const char *wf_unreached_text(enum wf_unreached unreached);

#endif
