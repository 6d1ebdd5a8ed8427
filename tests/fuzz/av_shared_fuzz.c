/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/av/shared.h"
#include "sys/compiler.h"

/*
 * The content of a shared AV as another process may leave it: the input is a header
 * and then all that follows it. Whatever it says, readers and a writer stay within
 * the memory and come to an end.
 */

enum { MAX_BITS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names where the header says so, else addresses of IPv4. */
static const struct wf_av_format *format;

static void choose_format(const uint8_t *data, size_t size)
{
	struct fi_info info = { .addr_format = FI_SOCKADDR_IN };
	struct wf_av_header header = { 0 };

	if (size)
		memcpy(&header, data, WF_MIN(size, sizeof(header)));
	if (header.addr_format == FI_ADDR_STR)
		info.addr_format = FI_ADDR_STR;
	format = wf_av_format_of(&info);
}

static void spell(uint32_t *words, uint32_t i)
{
	const struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(1),
		.sin_addr.s_addr = htonl(i + 1),
	};
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", i);
	(void)format->spell(words, format->family ? (const void *)&in : name);
}

static void read_all(struct wf_av_table *table)
{
	uint32_t words[WF_AV_ADDR_WORDS], index;

	for (uint32_t i = 0; i < 2u << MAX_BITS; i++) {
		const struct wf_av_slot *slot = wf_av_slot_at(table, i);

		if (slot && wf_av_slot_live(slot)) {
			memcpy(words, (const void *)slot->word, format->addr_len);
			if (!wf_av_table_find(table, words, &index) &&
				!wf_av_slot_at(table, index))
				abort();
			if (wf_av_format_len(format, (const void *)slot->word,
				    format->addr_len) > format->addr_len)
				abort();
		}
		spell(words, i);
		(void)wf_av_table_find(table, words, &index);
	}
}

static void write_some(struct wf_av_table *table)
{
	uint32_t words[WF_AV_ADDR_WORDS], index;
	bool gone;

	wf_av_table_begin(table);
	for (uint32_t i = 0; i < 100; i++) {
		spell(words, i);
		if (!wf_av_table_insert(table, words, 0, &index) &&
			!wf_av_slot_at(table, index))
			abort();
		if (i % 3 == 0)
			(void)wf_av_table_remove(table, i * 2, &gone);
	}
	wf_av_table_end(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wf_av_header *header;
	struct wf_av_memory memory = { 0 };
	struct wf_av_table table;
	uint32_t bits;
	size_t head = WF_MIN(size, sizeof(*header)), rest;

	choose_format(data, size);
	/* The biggest table that the header may ask for here, and no byte more. */
	wf_av_memory_plan(&memory, format, MAX_BITS, WF_AV_SHARED_START);
	header = aligned_alloc(WF_CACHELINE,
		(memory.len + WF_CACHELINE - 1) / WF_CACHELINE * WF_CACHELINE);
	if (!header)
		return 0;
	memset(header, 0, memory.len);
	memcpy(header, data, head);
	rest = WF_MIN(size - head, memory.len - WF_AV_SHARED_START);
	memcpy((char *)header + WF_AV_SHARED_START, data + head, rest);

	if (wf_av_shared_check(header, memory.len, format, &bits)) {
		bits = MAX_BITS;
		wf_av_shared_format(header, format, bits);
	}
	wf_av_memory_plan(&memory, format, bits, WF_AV_SHARED_START);
	memory.base = (char *)header;
	wf_av_table_attach(&table, format, bits, &memory, &header->state);
	read_all(&table);
	write_some(&table);
	read_all(&table);
	free(header);
	return 0;
}
