/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_RULE_H
#define WF_OBJECTS_INFO_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/info/info.h"
#include "sys/compiler.h"

/*
 * The rules of fi_getinfo(3) as tables: the row of a field says when a hint is met, how
 * the answer is filled and how the log shows the value. Some rows have functions for
 * this. Private to objects/info/.
 */

/* Pointers to the attributes of one fi_info; never NULL: an attribute that it lacks is
 * a structure of zeroes. */
struct wf_info_attrs {
	const struct fi_info *info;
	const struct fi_tx_attr *tx;
	const struct fi_rx_attr *rx;
	const struct fi_ep_attr *ep;
	const struct fi_domain_attr *domain;
	const struct fi_fabric_attr *fabric;
};

/* The lines that one call has logged, so that none is repeated. */
struct wf_info_log {
	uint64_t seen[32]; /* hashes of lines */
	size_t count;      /* entries in @seen */
};

struct wf_info_ctx {
	const struct wf_prov *prov;
	uint32_t version; /* API version of the caller; decides which rules apply */
	struct wf_info_log *log; /* NULL: every line is new */
	bool hinted;             /* the caller gave hints */
	bool opening;            /* the hints are the info of an object being opened */
	/* attributes of the template and of the hints */
	struct wf_info_attrs tmpl, hint;
};

/* The reason why a hint is not met, as texts for the log. */
struct wf_info_reason {
	const char *field; /* name of the field */
	char asked[384];
	char possible[640];
};

/* The structure of fi_getinfo(3) that has a field. */
enum wf_info_struct {
	WF_INFO_INFO,
	WF_INFO_TX,
	WF_INFO_RX,
	WF_INFO_EP,
	WF_INFO_DOMAIN,
};

/* A hint of zero is always met. */
enum wf_info_test {
	WF_INFO_ANY, /* never refused */
	WF_INFO_EQUAL,
	WF_INFO_MOST, /* at most the template's value */
	WF_INFO_BITS, /* only bits that the template has */
	WF_INFO_GONE, /* zero only: this API version removed the field */
};

enum wf_info_reply {
	WF_INFO_TEMPLATE, /* the template's value */
	WF_INFO_HINT,     /* the hint, or the template's value if the hint is zero */
	WF_INFO_LOWER,    /* the lower of hint and template, unless the hint is zero */
	WF_INFO_EXACT,    /* the hint, also if it is zero */
	WF_INFO_ZERO,
};

/* How the log shows a value: an enum fi_type for fi_tostr(3), or one of these. */
enum {
	WF_INFO_NUMBER = -1,
	WF_INFO_HEX = -2,
};

struct wf_info_rule {
	const char *field; /* name of the field, for the log */
	enum wf_info_struct structure;
	size_t offset,
		size; /* of the member within @structure, in bytes; size is 4 or 8 */
	enum wf_info_test test;   /* condition for the hint */
	enum wf_info_reply reply; /* value in the answer */
	int show;                 /* format of the value in the log */
	/* The row applies to API versions in [since, until); for others the hint is
	 * ignored and no reply is given. 0: no bound. */
	uint32_t since, until;
	/* The test applies if this returns true. NULL: always. */
	bool (*when)(const struct wf_info_ctx *ctx);
	/* Replace @test and @reply; NULL: do not. */
	bool (*met)(const struct wf_info_ctx *ctx, struct wf_info_reason *why);
	void (*fill)(const struct wf_info_ctx *ctx, struct fi_info *out);
};

struct wf_info_rules {
	const struct wf_info_rule *rules;
	size_t count;
};

#define WF_INFO_MEMBER(structure_, type_, attr_, member_)                              \
	.field = attr_ #member_, .structure = structure_,                              \
	.offset = offsetof(type_, member_), .size = sizeof(((type_ *)0)->member_)

#define WF_INFO_RULES(rows_)                                                           \
	{                                                                              \
		rows_, WF_ARRAY_SIZE(rows_)                                            \
	}

/* The tables in the order of tests: the first rule that is not met is the reason. */
extern const struct wf_info_rules wf_info_caps_rules;
extern const struct wf_info_rules wf_info_ep_rules;
extern const struct wf_info_rules wf_info_xfer_rules;
extern const struct wf_info_rules wf_info_domain_rules;
extern const struct wf_info_rules wf_info_mr_rules;

/* Fill @ctx except @log. @hints may be NULL. */
void wf_info_ctx_init(struct wf_info_ctx *ctx, const struct wf_prov *prov,
	uint32_t version, const struct fi_info *tmpl, const struct fi_info *hints);

/* Does the template meet the hints? If not, @why is filled. */
bool wf_info_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);

/* A copy of the template with the rules' replies; NULL: no memory. */
struct fi_info *wf_info_narrow(const struct wf_info_ctx *ctx);
/* wf_info_narrow with authorization keys and default names: a complete answer, except
 * for addresses. */
struct fi_info *wf_info_build(const struct wf_info_ctx *ctx);
/* Replace the names of fabric and domain. -FI_ENOMEM: @info keeps its names. */
int wf_info_set_names(struct fi_info *info, const char *fabric, const char *domain);

/* Log a refusal in one line; @iface may be NULL. */
void wf_info_refuse(const struct wf_info_ctx *ctx, const char *iface,
	const struct wf_info_reason *why);

/* Fill @why. Both return false, so that a test can return their result. */
bool wf_info_deny(
	struct wf_info_reason *why, uint64_t asked, uint64_t possible, int show);
bool wf_info_deny_text(struct wf_info_reason *why, const char *asked,
	const char *possible_fmt, ...) WF_PRINTF(3, 4);

/* Write @value to @buf as the log shows it. Returns @buf. */
char *wf_info_show(char *buf, size_t len, uint64_t value, int show);

/* caps.c: the capabilities that the hints ask for, with implied bits; the capabilities
 * of the answer. */
uint64_t wf_info_caps_asked(const struct wf_info_ctx *ctx);
uint64_t wf_info_caps(const struct wf_info_ctx *ctx);

/* collective.c: are the collectives of the template possible: has the provider its own,
 * or is there an engine? May call fi_getinfo to find an engine. */
bool wf_info_collective_met(const struct wf_info_ctx *ctx);

/* mr.c: do the hints' mr_mode bits allow the endpoint to be a target of RMA and
 * atomics? */
bool wf_info_mr_target(const struct wf_info_ctx *ctx);
/* caps.c: is the answer without remote CQ data, because such data would consume
 * receives at the target (FI_RX_CQ_DATA), and the hints neither allow that nor ask for
 * such data? */
bool wf_info_no_cq_data(const struct wf_info_ctx *ctx);
/* The mode bit FI_LOCAL_MR, if the provider needs FI_MR_LOCAL and the caller's API
 * version or hints use the old models, which lack that mr_mode bit. Else 0. */
uint64_t wf_info_mr_mode_bit(const struct wf_info_ctx *ctx);

/* tag.c: the rule of ep_attr.mem_tag_format. */
bool wf_info_tag_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);
void wf_info_tag_fill(const struct wf_info_ctx *ctx, struct fi_info *out);

/* name.c: does an endpoint on the fabric and domain of these names meet the hints'
 * names and open instances? */
bool wf_info_names_met(const struct wf_info_ctx *ctx, const char *fabric,
	const char *domain, struct wf_info_reason *why);
/* Fill in the open fabric and domain that have the names in @info. */
void wf_info_fill_open(const struct wf_info_ctx *ctx, struct fi_info *info);
/* Does @general include @format? FI_SOCKADDR includes every socket address,
 * FI_SOCKADDR_IP IPv4 and IPv6. */
bool wf_info_format_covers(uint32_t general, uint32_t format);
bool wf_info_format_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);

#endif
