/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_ANSWER_H
#define WF_OBJECTS_LOWER_ANSWER_H

#include <stdbool.h>

#include "objects/provider.h"

/*
 * Functions for fi_getinfo(3) of a layered provider with the names and addresses of the
 * provider below: hints for the provider below, and copying of its answer. Any thread
 * may call the functions; no lock is held.
 */

/* Demands of the layer on the provider below. */
struct wf_lower_needs {
	const char *layer;    /* name of the layer: "ofi_rxm" */
	enum fi_ep_type type; /* endpoint type below */
	uint64_t caps;        /* capabilities that endpoints below must have */
	uint64_t mode;        /* fi_info.mode bits that the layer complies with */
	int mr_mode;          /* mr_mode bits that the layer complies with */
};

/* Hints for the provider below, made of the application's hints @above, which may be
 * NULL: with their addresses, their names, without the name of the layer, and their
 * FI_LOCAL_COMM and FI_REMOTE_COMM. NULL: no memory. */
struct fi_info *wf_lower_hints(
	const struct wf_lower_needs *needs, const struct fi_info *above);

/* Write @name without the name of the layer and without excluded ones ("^...") to
 * *@ret, which the caller frees: "udp;ofi_rxd" becomes "udp". NULL there: no name is
 * left. False: no memory. */
bool wf_lower_name(const struct wf_lower_needs *needs, const char *name, char **ret);

/* Give the answer @info the addresses, their format, the provider's name and the NIC of
 * the answer @below, and take away the reach (FI_LOCAL_COMM, FI_REMOTE_COMM) that
 * @below lacks. 0, -FI_ENOMEM, or the result of FI_DUP. */
int wf_lower_adopt(struct fi_info *info, const struct fi_info *below);

/* Free the addresses of @info, and remove its pointers to a fabric and a domain. */
void wf_lower_strip(struct fi_info *info);

#endif
