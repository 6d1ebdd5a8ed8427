/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ADDRSTR_H
#define WF_SYS_ADDRSTR_H

#include <stdbool.h>
#include <stddef.h>

#include "sys/sockaddr.h"

/*
 * Addresses as text (FI_ADDR_STR):
 *
 * 	fmt[://[node][:[service][/[field3]...][?[key=value][&k2=v2]...]]]
 *
 * with the node in brackets when it contains colons. Results point into the text;
 * nothing is copied and no name is resolved.
 */
struct wf_addrstr_part {
	const char *text; /* not terminated; NULL when the part is absent */
	size_t len;
};

struct wf_addrstr {
	struct wf_addrstr_part format;
	struct wf_addrstr_part node;
	struct wf_addrstr_part service;
	struct wf_addrstr_part fields; /* field3 and later, '/' between them */
	struct wf_addrstr_part params; /* without the '?' */
};

/* Enough for a host name and for a service name. */
#define WF_ADDRSTR_NODE_MAX    256
#define WF_ADDRSTR_SERVICE_MAX 64

/* The longest text that is an address by itself, with its NUL. */
#define WF_ADDRSTR_MAX 256

/* Has @text the long form, fmt://...? */
bool wf_addrstr_is(const char *text);

/* -EINVAL: not of the form above. */
int wf_addrstr_parse(const char *text, struct wf_addrstr *ret);

/* The address family of a format of the sockaddr kind; AF_UNSPEC when the format leaves
 * it open. -EAFNOSUPPORT: another kind of address. */
int wf_addrstr_family(const struct wf_addrstr *str, int *ret_family);

/* A terminated copy of @part, empty for an absent part. -EINVAL: too long, or with a
 * character that no host or service name has. */
int wf_addrstr_copy(const struct wf_addrstr_part *part, char *buf, size_t len);

/*
 * Endpoints of providers within one machine have names instead: any text. A format
 * prefix ("fi_shm://", "fi_ns://", or one that the application made up) does not belong
 * to the name.
 */
#define WF_ADDRSTR_LOCAL "fi_shm://"

/* The name in @text, behind its format if it has one. */
const char *wf_addrstr_name(const char *text);

/* Write the canonical spelling of the name in @text, of which @len bytes can be read:
 * WF_ADDRSTR_LOCAL, the name, and zeroes up to WF_ADDRSTR_MAX. False: no NUL within
 * @len bytes, or a name that is empty, has control characters or is too long. */
bool wf_addrstr_spell(char *ret, const char *text, size_t len);

#endif
