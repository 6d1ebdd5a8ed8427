/* SPDX-License-Identifier: BSD-2-Clause */
/* Cards and pages of any content: the true card of this process, then its page behind
 * the name, with the bytes of the input added to them, so that some pass each check.
 * Nothing but the page's number comes of it, and each word is one of its answers. */
#include <stdlib.h>
#include <string.h>

#include "objects/local/proof.h"

enum { INSTANCE = 7 };

/* The name of the endpoint below. */
#define NAME "fi_shm://7:0:1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Add what is left of the input to @len bytes. */
static void spoil(void *to, size_t len, const uint8_t **data, size_t *size)
{
	uint8_t *bytes = to;

	for (; len && *size; len--, (*size)--)
		*bytes++ ^= *(*data)++;
}

static void check_words(const struct wf_proof *reader)
{
	uint64_t number = wf_page_proof(reader->peer), at;
	bool yes;
	enum wf_verdict told = wf_proof_verdict(reader);

	if (told > WF_VERDICT_WRONG ||
		(told == WF_VERDICT_PROOF) != (number == reader->number))
		abort();
	if (wf_page_marker(reader->peer, &at) != reader->peer->marker ||
		at != reader->peer->at)
		abort();
	if (wf_page_answers(reader->peer, 1, &yes) != (reader->peer->answer / 2 == 1))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t card[WF_PROOF_CARD], own[WF_PROOF_CARD];
	struct wf_proof proof, reader;
	char name[WF_PROOF_NAME] = NAME;
	enum wf_unreached unreached;
	uint64_t told;

	if (wf_proof_make(&proof, INSTANCE, NAME, card) ||
		wf_proof_make(&reader, INSTANCE + 1, NULL, own))
		abort();
	spoil(card, sizeof(card), &data, &size);
	spoil(proof.own, sizeof(*proof.own), &data, &size);
	unreached = wf_proof_read(&reader, card, INSTANCE, name);
	told = wf_page_proof(reader.own);
	if (unreached >= WF_UNREACHED_COUNT ||
		(unreached == WF_UNREACHED_NOT) != (reader.peer != NULL) ||
		told != (unreached ? WF_PAGE_REFUSED : proof.own->head.number) ||
		!memchr(name, 0, sizeof(name)))
		abort();
	if (!unreached)
		check_words(&reader);
	wf_proof_done(&proof);
	wf_proof_done(&reader);
	return 0;
}
