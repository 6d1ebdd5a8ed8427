/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_TEXT_H
#define WF_OBJECTS_AV_TEXT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Addresses that are texts, in blocks of about their length: most names have some
 * twenty of the 256 bytes that one may have.
 *
 * A block is never given back to the system before its store is, and never changes its
 * size. So a reader without a lock that holds an address which was removed, and whose
 * block has another one now, reads that one: no less than the words that it may look
 * at, which end with a zero byte. One writer at a time.
 */
struct wf_av_text {
	uint32_t words; /* constant */
	_Atomic uint32_t word[];
};

enum { WF_AV_TEXT_CLASSES = 33 }; /* blocks of 8, 16 ... bytes */

/* All zero before the first one. */
struct wf_av_texts {
	struct wf_av_text *free[WF_AV_TEXT_CLASSES];
	void *chunks; /* linked by their first word */
	char *fresh;  /* of the latest chunk: what was never given out */
	size_t left;
};

/* A block with the text that the WF_AV_ADDR_WORDS words at @words spell, which end in
 * zeros; NULL: no memory. */
struct wf_av_text *wf_av_text_new(struct wf_av_texts *texts, const uint32_t *words);
void wf_av_text_free(struct wf_av_texts *texts, struct wf_av_text *text);
void wf_av_texts_done(struct wf_av_texts *texts);

#endif
