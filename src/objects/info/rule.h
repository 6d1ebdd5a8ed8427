/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_RULE_H
#define WF_OBJECTS_INFO_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/info/info.h"
#include "sys/compiler.h"

/*
 * What hints mean, as tables: one row per field says when a hint is met, how the
 * answer is filled and how both are written in the log. Plain fields need nothing
 * but their row; the others bring functions. Only the files objects/info*.c include
 * this.
 */

/* Pointers to the attributes of one fi_info; never NULL: an attribute that it lacks is
 * a structure of zeroes. */
struct wf_info_side {
	const struct fi_info *info;
	const struct fi_tx_attr *tx;
	const struct fi_rx_attr *rx;
	const struct fi_ep_attr *ep;
	const struct fi_domain_attr *domain;
	const struct fi_fabric_attr *fabric;
};

/* What one call has logged, so that no line comes twice. */
struct wf_info_log {
	uint64_t seen[32]; /* hashes of lines */
	size_t count;
};

struct wf_info_ctx {
	const struct wf_prov *prov;
	uint32_t version; /* that the caller asked for: it decides which rules apply */
	struct wf_info_log *log; /* NULL: every line is new */
	bool hinted;             /* the caller gave hints */
	bool opening;            /* the hints are the info of an object being opened */
	struct wf_info_side tmpl, hint;
};

/* Why a hint is not met. */
struct wf_info_reason {
	const char *field;
	char asked[384];
	char possible[640];
};

enum wf_info_part {
	WF_INFO_INFO,
	WF_INFO_TX,
	WF_INFO_RX,
	WF_INFO_EP,
	WF_INFO_DOMAIN,
	WF_INFO_FABRIC,
};

/* A hint of zero is met always, whatever the test. */
enum wf_info_test {
	WF_INFO_ANY, /* never refused */
	WF_INFO_EQUAL,
	WF_INFO_MOST, /* no more than the template has */
	WF_INFO_BITS, /* no bit that the template lacks */
	WF_INFO_GONE, /* nothing but zero: the field was removed */
};

enum wf_info_reply {
	WF_INFO_TEMPLATE, /* what the template has */
	WF_INFO_HINT,     /* the hint, or the template's for a hint of zero */
	WF_INFO_LOWER,    /* the lower of the two, a hint of zero aside */
	WF_INFO_EXACT,    /* the hint, zero included */
	WF_INFO_ZERO,
};

/* How a value is written: an enum fi_type, or one of these. */
enum {
	WF_INFO_NUMBER = -1,
	WF_INFO_HEX = -2,
};

struct wf_info_rule {
	const char *field;
	enum wf_info_part part;
	size_t offset, size; /* of the member; size 4 or 8 */
	enum wf_info_test test;
	enum wf_info_reply reply;
	int show;
	/* The row applies to API versions in [since, until); for others the hint is
	 * ignored and no reply is given. 0: no bound. */
	uint32_t since, until;
	/* The row's test applies only then; NULL: always. */
	bool (*when)(const struct wf_info_ctx *ctx);
	/* Instead of @test and of @reply. */
	bool (*met)(const struct wf_info_ctx *ctx, struct wf_info_reason *why);
	void (*fill)(const struct wf_info_ctx *ctx, struct fi_info *out);
};

struct wf_info_rules {
	const struct wf_info_rule *rules;
	size_t count;
};

#define WF_INFO_MEMBER(part_, type_, attr_, member_)                                   \
	.field = attr_ #member_, .part = part_, .offset = offsetof(type_, member_),    \
	.size = sizeof(((type_ *)0)->member_)

#define WF_INFO_RULES(rows_)                                                           \
	{                                                                              \
		rows_, WF_ARRAY_SIZE(rows_)                                            \
	}

/* In the order in which they are tried: the first that is not met is the reason. */
extern const struct wf_info_rules wf_info_caps_rules;
extern const struct wf_info_rules wf_info_ep_rules;
extern const struct wf_info_rules wf_info_xfer_rules;
extern const struct wf_info_rules wf_info_domain_rules;
extern const struct wf_info_rules wf_info_mr_rules;

/* @hints may be NULL. Leaves @log alone. */
void wf_info_ctx_init(struct wf_info_ctx *ctx, const struct wf_prov *prov,
	uint32_t version, const struct fi_info *tmpl, const struct fi_info *hints);

/* Is everything asked for possible? Otherwise @why is filled. */
bool wf_info_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);

/* A copy of the template with the rules' replies; NULL: no memory. */
struct fi_info *wf_info_narrow(const struct wf_info_ctx *ctx);
/* The same with keys and default names: an answer that lacks only addresses. */
struct fi_info *wf_info_build(const struct wf_info_ctx *ctx);
/* -FI_ENOMEM leaves the old names. */
int wf_info_set_names(struct fi_info *info, const char *fabric, const char *domain);

/* The one log line of a refusal; @iface may be NULL. */
void wf_info_refuse(const struct wf_info_ctx *ctx, const char *iface,
	const struct wf_info_reason *why);

/* Fill @why; both return false, so that a test can end with them. */
bool wf_info_deny(
	struct wf_info_reason *why, uint64_t asked, uint64_t possible, int show);
bool wf_info_deny_text(struct wf_info_reason *why, const char *asked,
	const char *possible_fmt, ...) WF_PRINTF(3, 4);

/* @value as the log writes it. Returns @buf. */
char *wf_info_show(char *buf, size_t len, uint64_t value, int show);

/* objects/info/caps.c: what the hints come to once implied bits are added, and what
 * the answer has. */
uint64_t wf_info_caps_asked(const struct wf_info_ctx *ctx);
uint64_t wf_info_caps(const struct wf_info_ctx *ctx);

/* objects/info/mr.c: may the endpoint be the target of RMA and atomics, given the
 * mr_mode bits that the caller brings? */
bool wf_info_mr_target(const struct wf_info_ctx *ctx);
/* FI_LOCAL_MR where the caller's age makes that the way to say FI_MR_LOCAL. */
uint64_t wf_info_mr_mode_bit(const struct wf_info_ctx *ctx);

/* objects/info/tag.c */
bool wf_info_tag_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);
void wf_info_tag_fill(const struct wf_info_ctx *ctx, struct fi_info *out);

/* objects/info/name.c: does an endpoint on that fabric and domain (by name) satisfy
 * the hints' names and open objects? */
bool wf_info_names_met(const struct wf_info_ctx *ctx, const char *fabric,
	const char *domain, struct wf_info_reason *why);
/* Open instances of @info's fabric and domain. */
void wf_info_fill_open(const struct wf_info_ctx *ctx, struct fi_info *info);
/* FI_SOCKADDR stands for every socket address, FI_SOCKADDR_IP for both IPs. */
bool wf_info_format_covers(uint32_t general, uint32_t format);
bool wf_info_format_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why);

#endif
