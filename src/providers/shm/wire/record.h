/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_RECORD_H
#define WF_SHM_WIRE_RECORD_H

#include "providers/shm/wire/reader.h"

/* A record whose fields were loaded once. @blob points into memory that the peer may
 * still change. */
struct shm_record {
	uint64_t word, data;
	const uint8_t *blob;
	uint32_t len;
	uint32_t total; /* MSG, TAGGED with SHM_FLAG_MORE: bytes of the message */
	/* With SHM_FLAG_BYTES, as in struct shm_long. */
	uint32_t read_slots;
	uint64_t read_bytes;
	uint8_t kind, flags;
};

/* Decode the record with @head, and advance @in->pos behind its bytes. False: the
 * record is malformed. */
bool shm_record_decode(struct shm_reader *in, uint64_t head, struct shm_record *rec);

#endif
