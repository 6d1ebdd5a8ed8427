/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_LIFE_H
#define WF_SHM_PROTO_LIFE_H

#include "providers/shm/conn/conn.h"

/* What the connections of an endpoint call: shm_ep.conn_ops. */
extern const struct shm_conn_ops shm_life_ops;

#endif
