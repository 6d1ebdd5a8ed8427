/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_FORMAT_H
#define WF_OBJECTS_AV_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

/* The longest address of any format, in words: FI_ADDR_STR of 256 bytes. */
enum { WF_AV_ADDR_WORDS = 64 };

/* The longest text of an address, with its NUL. */
enum { WF_AV_TEXT_LEN = 320 };

/*
 * What an address vector must know of an address format. Addresses of one format
 * have one length and are kept in one spelling each (bytes that mean nothing are
 * zero), so that comparing and hashing is comparing and hashing words.
 */
struct wf_av_format {
	const char *name;
	uint32_t addr_format;
	/* Of a stored address; a multiple of four. */
	uint16_t addr_len;
	/* Leading words that tell two addresses apart. */
	uint16_t key_words;
	/* A text that ends in zeros, mostly much shorter than addr_len. */
	bool is_text;
	/* Address family for name resolution, or 0 when names do not resolve. */
	int family;

	/* Write the one spelling of @addr, all addr_len bytes. False when it is no
	 * address of this format, or none that a peer can have. @addr may be
	 * unaligned; @words comes from us. */
	bool (*spell)(uint32_t *words, const void *addr);

	/* Write the text of any address, spelled or not, terminated. */
	void (*print)(const void *addr, char *buf, size_t len);

	/* The length of an address as applications hold it, when that is not addr_len;
	 * 0 when it does not end within @len bytes. */
	size_t (*len_of)(const void *addr, size_t len);
};

/* How much of the @len bytes at @addr is an address; 0: it does not end there. */
static inline size_t wf_av_format_len(
	const struct wf_av_format *format, const void *addr, size_t len)
{
	if (format->len_of)
		return format->len_of(addr, len);
	return len < format->addr_len ? 0 : format->addr_len;
}

/* The format that objects of @info use, or NULL when no AV can hold it. */
const struct wf_av_format *wf_av_format_of(const struct fi_info *info);

#endif
