/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_TABLE_INTERNAL_H
#define WF_OBJECTS_AV_TABLE_INTERNAL_H

/* What the files of the table share; others include objects/av/table.h. */

#include "objects/av/table.h"

/* The capacity as a number that can be trusted: segments up to it exist or can be
 * found in the memory. 0 when the memory says something impossible. */
uint32_t wf_av_table_bits(const struct wf_av_table *table);

/* Double the capacity. */
int wf_av_table_grow(struct wf_av_table *table);

/* Chains (chain.c). An address's hash says its chain, and the tag is the state of
 * a slot that holds it. */
uint64_t wf_av_chain_hash(const struct wf_av_format *format, const uint32_t *words);
uint32_t wf_av_chain_tag(uint64_t hash);

/* The words of a slot's address by which it is filed. */
void wf_av_chain_words(const struct wf_av_table *table, const struct wf_av_slot *slot,
	uint32_t *words);

void wf_av_chain_link(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, uint64_t hash, uint64_t mask);
void wf_av_chain_unlink(struct wf_av_table *table, uint32_t index, uint64_t hash);

/* Around what could lead a reader astray. */
void wf_av_chain_disturb(struct wf_av_table *table);
void wf_av_chain_settle(struct wf_av_table *table);

/* File all live slots below 2^bits anew. */
void wf_av_chain_rebuild(struct wf_av_table *table, uint32_t bits);

#endif
