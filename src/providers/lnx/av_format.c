/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "providers/lnx/addr.h"
#include "sys/compiler.h"

/* The AV's format of addresses for each addr_format. */

/* Text is stored as it is; its URI scheme tells which members have such addresses. */
static bool av_format_text_spell(uint32_t *words, const void *addr)
{
	const char *text = addr;
	size_t len = strnlen(text, LNX_ADDR_MAX);

	if (!len || len == LNX_ADDR_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	memset(words, 0, LNX_ADDR_MAX);
	memcpy(words, text, len);
	return true;
}

static void av_format_text_print(const void *addr, char *buf, size_t len)
{
	uint32_t words[LNX_ADDR_MAX / sizeof(uint32_t)];

	(void)snprintf(buf, len, "%s",
		av_format_text_spell(words, addr) ? (const char *)addr
						  : "(no address)");
}

static size_t av_format_text_len(const void *addr, size_t len)
{
	size_t max = WF_MIN(len, (size_t)LNX_ADDR_MAX), text = strnlen(addr, max);

	return text < max ? text + 1 : 0;
}

static const struct wf_av_format text_format = {
	.name = "FI_ADDR_STR",
	.addr_format = FI_ADDR_STR,
	.addr_len = LNX_ADDR_MAX,
	.key_words = LNX_ADDR_MAX / sizeof(uint32_t),
	.spell = av_format_text_spell,
	.print = av_format_text_print,
	.len_of = av_format_text_len,
};

const struct wf_av_format *lnx_av_format_of(const struct fi_info *info)
{
	switch (info->addr_format) {
	case FI_FORMAT_UNSPEC:
		return &lnx_av_format;
	case FI_ADDR_STR:
		return &text_format;
	default:
		return wf_av_format_of(info);
	}
}
