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
 * What an address vector must know of an address format. All stored addresses of a
 * format have one length and a canonical form (bytes without meaning are zero), so that
 * they are compared and hashed as arrays of 32-bit words.
 */
struct wf_av_format {
	const char *name;     /* of the FI_ constant, for the log */
	uint32_t addr_format; /* FI_SOCKADDR_IN, ... */
	/* Bytes of a stored address; a multiple of four. */
	uint16_t addr_len;
	/* Number of leading 32-bit words that differ between any two addresses. */
	uint16_t key_words;
	/* A text that ends in zeros, mostly much shorter than addr_len. */
	bool is_text;
	/* Address family for name resolution, or 0 when names do not resolve. */
	int family;

	/* Write the canonical form of @addr, addr_len bytes, to @words. False when
	 * @addr is no address of this format, or none that a peer can have. @addr may
	 * be unaligned; @words is aligned. */
	bool (*spell)(uint32_t *words, const void *addr);

	/* Write the text of any address, canonical or not, to the @len bytes at @buf,
	 * with a NUL. */
	void (*print)(const void *addr, char *buf, size_t len);

	/* Bytes of an address in the application's memory; 0: it does not end within
	 * @len bytes. NULL: always addr_len. */
	size_t (*len_of)(const void *addr, size_t len);
};

/* Bytes of the address at @addr, where @len bytes are readable; 0: it is longer. */
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
