/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_SPEC_H
#define LNX_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What FI_LNX_PROV_LINKS says:
 *
 *   links     link | link | ...
 *   link      part + part + ...
 *   part      provider, or provider : domain , domain , ...
 *
 * Each link is one lnx domain. A provider's name may be layered ("tcp;ofi_rxm").
 * Blanks around names mean nothing.
 */
enum {
	LNX_SPEC_LINKS = 8,
	LNX_SPEC_PARTS = 8,
	LNX_SPEC_DOMAINS = 8,
};

/* A piece of the parsed text, which points into that text. */
struct lnx_text {
	const char *at;
	size_t len; /* bytes */
};

struct lnx_spec_part {
	struct lnx_text provider;
	struct lnx_text domain[LNX_SPEC_DOMAINS];
	unsigned int domain_count; /* 0: all of the provider's */
};

struct lnx_spec_link {
	struct lnx_spec_part part[LNX_SPEC_PARTS];
	unsigned int part_count;
};

struct lnx_spec {
	struct lnx_spec_link link[LNX_SPEC_LINKS];
	unsigned int link_count;
};

/* Parse @text, which must stay while @ret_spec is used. False: *@ret_why is what is
 * wrong, *@ret_where the piece of text. */
bool lnx_spec_parse(const char *text, struct lnx_spec *ret_spec, const char **ret_why,
	struct lnx_text *ret_where);

/* Is @text equal to @name without regard to case? */
bool lnx_text_is(const struct lnx_text *text, const char *name);

#endif
