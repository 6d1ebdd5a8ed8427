/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FREEMAP_H
#define WF_SYS_FREEMAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * A map of up to 2^30 indices that are taken or free. It finds the lowest free index in
 * a few steps: level 0 has a bit for each index, set if the index is taken; each level
 * above has a bit for each word of the level below, set if the word is full.
 *
 * The map is a view of words that the caller owns, all zero when no index is taken: the
 * levels one after the other, the widest one last. The words may be in memory that
 * another process writes, so a contradiction between levels is a result
 * (WF_FREEMAP_BROKEN) and not a crash. The caller serialises.
 */
enum { WF_FREEMAP_LEVELS = 5 };

#define WF_FREEMAP_MAX_BITS ((size_t)1 << 30)

/* The levels contradict each other. */
#define WF_FREEMAP_BROKEN SIZE_MAX

struct wf_freemap {
	uint64_t *level[WF_FREEMAP_LEVELS]; /* words of each level */
	size_t words[WF_FREEMAP_LEVELS];    /* number of words in each level */
	size_t bits;                        /* number of indices */
};

/* Words needed for @bits indices, and how many of them precede level 0. */
size_t wf_freemap_words(size_t bits);
size_t wf_freemap_upper_words(size_t bits);

/* Make @map a view of @words, which has wf_freemap_words(@bits) words. */
void wf_freemap_attach(struct wf_freemap *map, uint64_t *words, size_t bits);

/* Copy @src to the larger or equal, all-zero @dst. */
void wf_freemap_copy(struct wf_freemap *dst, const struct wf_freemap *src);

/* Mark a free index as taken, and a taken one as free. */
void wf_freemap_take(struct wf_freemap *map, size_t i);
void wf_freemap_give(struct wf_freemap *map, size_t i);

/* The lowest free index, map->bits if none is free, or WF_FREEMAP_BROKEN. */
size_t wf_freemap_lowest(const struct wf_freemap *map);

#endif
