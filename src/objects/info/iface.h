/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_IFACE_H
#define WF_OBJECTS_INFO_IFACE_H

#include <stdbool.h>

struct wf_netifs;
struct wf_prov;

/*
 * The value of a provider's interface parameter (wf_prov.iface_param): names of
 * interfaces with commas between them; a ^ in front makes it those not to use.
 */
struct wf_ifaces {
	const char *names; /* behind the ^; NULL: all interfaces */
	bool excluded;     /* @names are not used; else no others are */
};

/* Read the parameter. A list of which @ifs has no name at all is told to the user and
 * ignored, so that one setting serves hosts with different interfaces. */
struct wf_ifaces wf_ifaces_read(
	const struct wf_prov *prov, const struct wf_netifs *ifs);

/* Is the interface @name to be used? NULL, which stands for a wildcard: only if all
 * are. */
bool wf_ifaces_allow(const struct wf_ifaces *ifaces, const char *name);

/* Does the user ask for the interface @name (may be NULL) by its name? */
bool wf_ifaces_ask_for(const struct wf_ifaces *ifaces, const char *name);

#endif
