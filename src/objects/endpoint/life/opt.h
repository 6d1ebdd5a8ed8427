/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_OPT_H
#define WF_OBJECTS_ENDPOINT_LIFE_OPT_H

#include "objects/endpoint/endpoint.h"

/* Calls that all kinds of endpoints have: options (fi_endpoint(3)), addresses and
 * groups (fi_cm(3)). @fid: an endpoint or an alias. They take ep->control. */
int wf_ep_getopt(fid_t fid, int level, int name, void *val, size_t *len);
int wf_ep_setopt(fid_t fid, int level, int name, const void *val, size_t len);
extern struct fi_ops_cm wf_ep_cm_ops;

#endif
