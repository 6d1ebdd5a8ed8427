/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_ID_H
#define WF_SHM_PROTO_ID_H

#include "providers/shm/conn/conn.h"

/* 0: no memory. */
uint64_t shm_id_new(struct shm_conn *conn, enum shm_id_type type, void *object);
/* NULL: there is no such object. */
void *shm_id_find(const struct shm_conn *conn, uint64_t id, enum shm_id_type type);
void shm_id_free(struct shm_conn *conn, uint64_t id);

#endif
