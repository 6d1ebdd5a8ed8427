/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "sys/bitmap.h"
#include "sys/freemap.h"

static void freemap_level_words(size_t bits, size_t words[WF_FREEMAP_LEVELS])
{
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++) {
		bits = wf_bitmap_words(bits);
		words[l] = bits;
	}
}

size_t wf_freemap_words(size_t bits)
{
	size_t words[WF_FREEMAP_LEVELS], total = 0;

	freemap_level_words(bits, words);
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++)
		total += words[l];
	return total;
}

size_t wf_freemap_upper_words(size_t bits)
{
	return wf_freemap_words(bits) - wf_bitmap_words(bits);
}

void wf_freemap_attach(struct wf_freemap *map, uint64_t *words, size_t bits)
{
	assert(bits && bits <= WF_FREEMAP_MAX_BITS);
	map->bits = bits;
	freemap_level_words(bits, map->words);
	for (int l = WF_FREEMAP_LEVELS - 1; l >= 0; l--) {
		map->level[l] = words;
		words += map->words[l];
	}
}

void wf_freemap_copy(struct wf_freemap *dst, const struct wf_freemap *src)
{
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++)
		memcpy(dst->level[l], src->level[l],
			src->words[l] * sizeof(*src->level[l]));
}

void wf_freemap_take(struct wf_freemap *map, size_t i)
{
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++) {
		wf_bit_set(map->level[l], i);
		if (map->level[l][i / 64] != UINT64_MAX)
			return;
		i /= 64;
	}
}

void wf_freemap_give(struct wf_freemap *map, size_t i)
{
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++) {
		wf_bit_clear(map->level[l], i);
		i /= 64;
	}
}

size_t wf_freemap_lowest(const struct wf_freemap *map)
{
	size_t i = 0;

	for (int l = WF_FREEMAP_LEVELS - 1; l >= 0; l--) {
		uint64_t word;

		/* An index beyond the level: all its words are full. */
		if (i >= map->words[l])
			return map->bits;
		/* Loaded once: another process may change it between two loads. */
		word = *(volatile const uint64_t *)&map->level[l][i];
		if (word == UINT64_MAX)
			return l == WF_FREEMAP_LEVELS - 1 ? map->bits
							  : WF_FREEMAP_BROKEN;
		i = i * 64 + (size_t)__builtin_ctzll(~word);
	}
	return i < map->bits ? i : map->bits;
}
