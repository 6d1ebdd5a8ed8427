/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_PARAM_H
#define LNX_PARAM_H

#include <stdbool.h>

/* What the environment asks of lnx; read once, at loading. */
struct lnx_params {
	const char *links; /* NULL: the default */
	bool per_msg;      /* rails are chosen for each message */
	bool no_shm;
	bool stats;
};
extern struct lnx_params lnx_params;

void lnx_params_init(void);

#endif
