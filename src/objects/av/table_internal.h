/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_TABLE_INTERNAL_H
#define WF_OBJECTS_AV_TABLE_INTERNAL_H

/* Declarations that only the files of the table share. */

#include "objects/av/table.h"

/* log2 of the capacity, checked: segments up to it exist or can be found in the shared
 * memory. 0 when the shared memory holds an impossible number. */
uint32_t wf_av_table_bits(const struct wf_av_table *table);

/* Double the capacity. -FI_ENOMEM, or -FI_EIO when shared memory is corrupt. */
int wf_av_table_grow(struct wf_av_table *table);

/* Chains (chain.c). The low bits of an address's hash select its chain (table.h); the
 * tag is WF_AV_LIVE and the WF_AV_HASH bits of a slot that holds the address. */
uint64_t wf_av_chain_hash(const struct wf_av_format *format, const uint32_t *words);
uint32_t wf_av_chain_tag(uint64_t hash);

/* Copy the key_words words of a slot's address, which the hash is computed from. */
void wf_av_chain_words(const struct wf_av_table *table, const struct wf_av_slot *slot,
	uint32_t *words);

/* The number of chains, checked; 0 when the shared memory holds an impossible
 * number. */
uint64_t wf_av_chain_count(const struct wf_av_table *table);

void wf_av_chain_link(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, uint64_t hash);
void wf_av_chain_unlink(struct wf_av_table *table, uint32_t index, uint64_t hash);

/* Begin and end a change of the chains that concurrent readers must not use: they
 * search again (Q1 in table.h). */
void wf_av_chain_disturb(struct wf_av_table *table);
void wf_av_chain_settle(struct wf_av_table *table);

/* Split one chain in two, if there are fewer chains than slots. */
void wf_av_chain_split(struct wf_av_table *table);

/* Rebuild the chains, 2^bits of them, from the live slots below 2^bits. */
void wf_av_chain_rebuild(struct wf_av_table *table, uint32_t bits);

#endif
