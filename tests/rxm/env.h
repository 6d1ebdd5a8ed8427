/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RXM_ENV_H
#define TESTS_RXM_ENV_H

/* An endpoint of tcp;ofi_rxm on the loopback interface. */
#include "../loopback.h"

static inline void setup(struct rdm_end *env)
{
	loopback_open(env, "tcp;ofi_rxm", FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC);
}

#endif
