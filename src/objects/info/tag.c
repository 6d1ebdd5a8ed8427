/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

/*
 * Tag formats, ep_attr.mem_tag_format in fi_endpoint(3). A format is one with a name
 * (since 2.0: FI_TAG_MPI, FI_TAG_CCL), or 0 for 64 separate bits, or a pattern: from
 * its highest set bit down, runs of ones and zeroes alternate, and each run is a field
 * that is matched or ignored as a whole.
 */
enum { FIELDS_MAX = 64, TAG_BITS = 64 };

/* The pattern of 64 fields of one bit each, which callers before 2.0 get for 0. */
#define GENERIC UINT64_C(0xaaaaaaaaaaaaaaaa)
/* The pattern of 63 fields of one bit each. */
#define WITHOUT_PEER_TAG UINT64_C(0x5555555555555555)

static const struct {
	uint64_t format;
	const char *name;
	unsigned int bits;
} named[] = {
	{ FI_TAG_MPI, "FI_TAG_MPI",
		40 }, /* the tag, and above it a payload identifier */
	{ FI_TAG_CCL, "FI_TAG_CCL", 8 },
};

struct layout {
	unsigned int bits;              /* number of bits in the tag */
	unsigned int count;             /* number of fields; 0: each bit is a field */
	unsigned int width[FIELDS_MAX]; /* bits of each field, the highest first */
};

static bool tag_is_tagged(const struct wf_info_ctx *ctx)
{
	return wf_info_caps_asked(ctx) & FI_TAGGED;
}

/* The tag format of the provider: with FI_COLLECTIVE the highest bit of a tag belongs
 * to peer transfers (WF_OP_PEER_TAG). */
static uint64_t tag_format_of(const struct wf_info_ctx *ctx)
{
	uint64_t format = ctx->tmpl.ep->mem_tag_format;

	if (wf_info_caps_asked(ctx) & FI_COLLECTIVE && (!format || format >> 63))
		return WITHOUT_PEER_TAG;
	return format;
}

static int tag_named_at(uint64_t format)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(named); i++)
		if (named[i].format == format)
			return (int)i;
	return -1;
}

static struct layout tag_layout_of(uint64_t format)
{
	struct layout layout = { .bits = TAG_BITS };
	uint64_t bit, value;
	bool single = true;

	if (!format)
		return layout;
	layout.bits = TAG_BITS - (unsigned int)__builtin_clzll(format);
	value = 2; /* differs from either bit, so that the first bit begins a field */
	for (unsigned int i = layout.bits; i-- > 0; value = bit) {
		bit = format >> i & 1;
		if (bit != value)
			layout.count++;
		layout.width[layout.count - 1]++;
		single &= layout.width[layout.count - 1] == 1;
	}
	if (single)
		layout.count = 0;
	return layout;
}

/* Does @has have a field, at least as wide, for each field of @asked? */
static bool tag_fits(const struct layout *asked, const struct layout *has)
{
	if (!has->count)
		return asked->bits <= has->bits;
	if (!asked->count || asked->count > has->count)
		return false;
	for (unsigned int i = 0; i < asked->count; i++)
		if (asked->width[i] > has->width[i])
			return false;
	return true;
}

/* Is @format one with a name? Since 2.0 small numbers are; before, all were
 * patterns. */
static bool tag_is_named(const struct wf_info_ctx *ctx, uint64_t format)
{
	return ctx->version >= FI_VERSION(2, 0) && format && format < FI_TAG_MAX_FORMAT;
}

bool wf_info_tag_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t asked = ctx->hint.ep->mem_tag_format;
	uint64_t has = tag_format_of(ctx);
	struct layout want, have = tag_layout_of(has);
	int at = tag_named_at(asked);
	char text[24];

	if (!asked || !tag_is_tagged(ctx))
		return true;
	if (!tag_is_named(ctx, asked)) {
		want = tag_layout_of(asked);
		return tag_fits(&want, &have) ||
		       wf_info_deny(why, asked, has ? has : GENERIC, WF_INFO_HEX);
	}
	if (at < 0)
		return wf_info_deny_text(why,
			wf_info_show(text, sizeof(text), asked, WF_INFO_HEX),
			"0x%x, 0x%x, or a pattern from 0x%x on", FI_TAG_MPI, FI_TAG_CCL,
			FI_TAG_MAX_FORMAT);
	/* A named format has fields that no pattern describes: the template must have
	 * the same format, or separate bits. */
	if (asked == has || (!have.count && named[at].bits <= have.bits))
		return true;
	return wf_info_deny_text(
		why, named[at].name, "0x%llx", (unsigned long long)has);
}

void wf_info_tag_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	uint64_t asked = ctx->hint.ep->mem_tag_format, has = tag_format_of(ctx);

	if (!(out->caps & FI_TAGGED)) {
		out->ep_attr->mem_tag_format = 0;
		return;
	}
	if (tag_is_named(ctx, asked))
		out->ep_attr->mem_tag_format = asked;
	else if (!has && ctx->version < FI_VERSION(2, 0))
		out->ep_attr->mem_tag_format = GENERIC;
	else
		out->ep_attr->mem_tag_format = has;
}
