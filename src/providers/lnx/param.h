/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_PARAM_H
#define LNX_PARAM_H

#include <stdbool.h>

/* The parameters of fi_lnx(7), read once, when the provider is loaded. */
struct lnx_params {
	const char *links; /* NULL: the default */
	bool per_msg;      /* rails are chosen for each message */
	bool no_shm;       /* shm is in no link */
	bool stats;        /* written when an endpoint is closed */
};
extern struct lnx_params lnx_params;

void lnx_params_init(void);

#endif
