/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/wire/record.h"

/* The address of the blob in the byte ring; NULL: length or position are impossible. */
static const uint8_t *record_blob(
	struct shm_reader *in, const struct shm_slot *slot, struct shm_record *rec)
{
	const volatile struct shm_long *bytes = &slot->bytes;
	uint64_t start;

	rec->len = bytes->len;
	rec->total = bytes->total;
	if (rec->len >= SHM_POSITION_MIN) {
		rec->read_bytes = bytes->read_bytes;
		rec->read_slots = bytes->read_slots;
	}
	if (rec->len > SHM_BLOB_MAX)
		return NULL;
	start = shm_bytes_start(in->pos, rec->flags);
	if (start % SHM_BYTES + rec->len > SHM_BYTES)
		return NULL;
	in->pos = start + shm_bytes_taken(rec->len);
	return in->lane->bytes + start % SHM_BYTES;
}

/* Each field of the slot is loaded once. */
bool shm_record_decode(struct shm_reader *in, uint64_t head, struct shm_record *rec)
{
	const struct shm_slot *slot = shm_slot_at(in->lane, in->next);

	rec->kind = shm_head_kind(head);
	rec->flags = shm_head_flags(head);
	rec->len = shm_head_len(head);
	rec->word = *(const volatile uint64_t *)&slot->word;
	rec->data = *(const volatile uint64_t *)&slot->data;
	rec->blob = slot->blob;
	rec->total = rec->len;
	if (wf_unlikely(rec->kind >= SHM_REC_KINDS || rec->flags & ~SHM_FLAGS_KNOWN ||
			rec->len > SHM_INLINE_MAX))
		return false;
	if (rec->flags & SHM_FLAG_BYTES)
		rec->blob = record_blob(in, slot, rec);
	return rec->blob != NULL;
}
