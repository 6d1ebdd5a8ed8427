/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_TEXT_H
#define WF_OBJECTS_AV_TEXT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory for addresses that are texts, in blocks of about their length: most names have
 * some twenty of the 256 bytes that a name may have.
 *
 * A block stays allocated until all blocks are freed (wf_av_texts_done), and never
 * changes its size. So a reader without a lock may use the block of an address that was
 * removed meanwhile. If the block holds another address by then, the reader sees that
 * text: it has the same number of words and ends with a zero byte. One writer at a
 * time.
 */
struct wf_av_text {
	uint32_t words;          /* number of words in @word; constant */
	_Atomic uint32_t word[]; /* the text, padded with zeros */
};

enum { WF_AV_TEXT_CLASSES = 33 }; /* block sizes: 8, 16, 24 ... bytes */

/* The blocks of one table. Zeroed before the first use. */
struct wf_av_texts {
	struct wf_av_text *free[WF_AV_TEXT_CLASSES]; /* free blocks by size class */
	void *chunks; /* allocations, each with the next one's address at its start */
	char *fresh;  /* start of the unused bytes in the newest chunk */
	size_t left;  /* number of unused bytes there */
};

/* Allocate a block with the text in the WF_AV_ADDR_WORDS words at @words, which is
 * padded with zeros; NULL: no memory. */
struct wf_av_text *wf_av_text_new(struct wf_av_texts *texts, const uint32_t *words);
void wf_av_text_free(struct wf_av_texts *texts, struct wf_av_text *text);
void wf_av_texts_done(struct wf_av_texts *texts);

#endif
