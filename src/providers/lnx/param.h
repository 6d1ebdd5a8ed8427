/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_PARAM_H
#define WF_LNX_PARAM_H

#include <stdbool.h>
#include <stddef.h>

/* The parameters of fi_lnx(7), read once, when the provider is loaded. */
struct lnx_params {
	const char *links; /* FI_LNX_PROV_LINKS; NULL: the default links */
	bool per_msg;      /* A rail is chosen for each message. */
	/* Tagged messages of at least this many bytes are striped; 0: none. */
	size_t stripe_size;
	bool no_shm; /* No link contains shm. */
	bool stats;  /* Statistics are written when an endpoint is closed. */
};
extern struct lnx_params lnx_params;

void lnx_params_init(void);

#endif
