/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/av/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "objects/av/format.h"
#include "sys/compiler.h"

enum { UNIT = 8, CHUNK = 1 << 15, WORDS_MIN = 3 };

static_assert(WF_AV_TEXT_CLASSES * UNIT >=
		      sizeof(struct wf_av_text) + WF_AV_ADDR_WORDS * sizeof(uint32_t),
	"the longest address has a class");

/* Words of the text with its NUL. So the last byte of a block is always zero, and a
 * reader without a lock stops within the block. */
static size_t text_words_of(const uint32_t *words)
{
	return strlen((const char *)words) / sizeof(uint32_t) + 1;
}

static size_t text_class_of(size_t words)
{
	return (sizeof(struct wf_av_text) + words * sizeof(uint32_t) + UNIT - 1) /
		       UNIT -
	       1;
}

/* A free block stores the address of the next one in its first two words. */
static void text_set_link(struct wf_av_text *text, const struct wf_av_text *next)
{
	uint64_t at = (uint64_t)(uintptr_t)next;

	/* release: as in text_fill(). */
	atomic_store_explicit(&text->word[0], (uint32_t)at, memory_order_release);
	atomic_store_explicit(
		&text->word[1], (uint32_t)(at >> 32), memory_order_release);
}

static struct wf_av_text *text_link_of(const struct wf_av_text *text)
{
	uint64_t low = atomic_load_explicit(&text->word[0], memory_order_relaxed);
	uint64_t high = atomic_load_explicit(&text->word[1], memory_order_relaxed);

	return (struct wf_av_text *)(uintptr_t)(high << 32 | low);
}

static struct wf_av_text *text_fresh(struct wf_av_texts *texts, size_t class)
{
	size_t size = (class + 1) * UNIT;
	struct wf_av_text *text;
	void **chunk;

	if (texts->left < size) {
		chunk = calloc(1, CHUNK);
		if (!chunk)
			return NULL;
		*chunk = texts->chunks;
		texts->chunks = chunk;
		texts->fresh = (char *)chunk + UNIT;
		texts->left = CHUNK - UNIT;
	}
	text = (struct wf_av_text *)(void *)texts->fresh;
	texts->fresh += size;
	texts->left -= size;
	text->words = (uint32_t)((size - sizeof(*text)) / sizeof(uint32_t));
	return text;
}

static void text_fill(struct wf_av_text *text, const uint32_t *words)
{
	/* release: a reader that sees a new word also sees that @seq changed when the
	 * block's previous address was removed (table.h, Q2). */
	for (uint32_t i = 0; i < text->words; i++)
		atomic_store_explicit(&text->word[i],
			i < WF_AV_ADDR_WORDS ? words[i] : 0, memory_order_release);
}

struct wf_av_text *wf_av_text_new(struct wf_av_texts *texts, const uint32_t *words)
{
	size_t class = text_class_of(WF_MAX(text_words_of(words), (size_t)WORDS_MIN));
	struct wf_av_text *text = texts->free[class];

	if (text)
		texts->free[class] = text_link_of(text);
	else
		text = text_fresh(texts, class);
	if (text)
		text_fill(text, words);
	return text;
}

void wf_av_text_free(struct wf_av_texts *texts, struct wf_av_text *text)
{
	size_t class = text_class_of(text->words);

	text_set_link(text, texts->free[class]);
	texts->free[class] = text;
}

void wf_av_texts_done(struct wf_av_texts *texts)
{
	void *chunk = texts->chunks, *next;

	for (; chunk; chunk = next) {
		next = *(void **)chunk;
		free(chunk);
	}
	*texts = (struct wf_av_texts){ .chunks = NULL };
}
