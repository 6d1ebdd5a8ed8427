/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PINGPONG_CONNECT_H
#define TOOLS_PINGPONG_CONNECT_H

#include "link.h"

/* Opens the control connection, then an endpoint that can talk to the peer's. */
int pp_link_open(struct pp_link *link);

#endif
