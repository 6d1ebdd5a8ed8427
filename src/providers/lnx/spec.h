/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_SPEC_H
#define WF_LNX_SPEC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The value of FI_LNX_PROV_LINKS:
 *
 *   links     link | link | ...
 *   link      provider + provider + ...
 *   provider  name, or name : domain , domain , ...
 *
 * Each link is one lnx domain. A provider's name may be layered ("tcp;ofi_rxm"). Blanks
 * around names are ignored.
 */
enum {
	LNX_SPEC_LINKS = 8,
	LNX_SPEC_PROVIDERS = 8,
	LNX_SPEC_DOMAINS = 8,
};

/* A string within the parsed text, without a NUL. */
struct lnx_text {
	const char *at;
	size_t len; /* length in bytes */
};

struct lnx_spec_provider {
	struct lnx_text name;
	struct lnx_text domain[LNX_SPEC_DOMAINS];
	unsigned int domain_count; /* 0: all domains of the provider */
};

struct lnx_spec_link {
	struct lnx_spec_provider provider[LNX_SPEC_PROVIDERS];
	unsigned int provider_count;
};

struct lnx_spec {
	struct lnx_spec_link link[LNX_SPEC_LINKS];
	unsigned int link_count;
};

/* Parse @text; @ret_spec points into it. False: *@ret_why is the reason, and
 * *@ret_where the wrong string in @text. */
bool lnx_spec_parse(const char *text, struct lnx_spec *ret_spec, const char **ret_why,
	struct lnx_text *ret_where);

/* Is @text equal to @name without regard to case? */
bool lnx_text_is(const struct lnx_text *text, const char *name);

#endif
