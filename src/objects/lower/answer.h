/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_ANSWER_H
#define WF_OBJECTS_LOWER_ANSWER_H

#include <stdbool.h>

#include "objects/provider.h"

/*
 * The parts of fi_getinfo(3) of a layered provider whose names and addresses are those
 * of the provider below: what is asked there, and what an answer has of the one below.
 * Any thread may call the functions; no lock is held.
 */

/* What the layer needs below. */
struct wf_lower_needs {
	const char *layer;    /* name of the layer: "ofi_rxm" */
	enum fi_ep_type type; /* of the endpoints below */
	uint64_t caps;        /* which they must have */
	uint64_t mode;        /* fi_info.mode bits that the layer complies with */
	int mr_mode;          /* mr_mode bits that the layer complies with */
};

/* Hints for the provider below, from those of the application, which may be NULL: with
 * the addresses, the names, without that of the layer, and the reach that they ask for.
 * NULL: no memory. */
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

/* Free the addresses of @info, and remove what was opened from it. */
void wf_lower_strip(struct fi_info *info);

#endif
